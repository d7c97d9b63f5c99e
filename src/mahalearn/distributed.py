"""Training data on a cluster: dask collections become moments, and moments an ordinary model.

Estimators with ``landmarks=`` and :class:`GaussianClassifier` take dask arrays and dataframes in
``fit``. Every part of the data is reduced, where it is, to a few matrices of m × m; these are
merged pairwise in a fixed tree. The result has the same bits whatever the number of workers, and
whether or not one of them was lost on the way. The active client or scheduler of dask is used.

Other systems need two functions, :func:`part_moments` and :func:`merge`. With Spark::

    plan = plan_from_sample(KernelQuadraticDiscriminant(landmarks=500), X_sample, y_sample)
    parts = rdd.map(lambda part: part_moments(plan, *part))      # (X, y, position of the first row)
    model = model_from_moments(KernelQuadraticDiscriminant(landmarks=500), parts.treeReduce(merge))
"""

from typing import Any

import numpy as np
from sklearn.base import clone

from ._sparse import as_rows
from ._typing import ArrayLike, Objects
from ._validation import check_class_list
from .training.sources import example_row, is_frame, one_thread

__all__ = ["merge", "model_from_moments", "part_moments", "plan_from_sample", "predict"]


def part_moments(
    plan: Any, X: Objects, y: Objects, start: int = 0, folds: ArrayLike | None = None
) -> Any:
    """Statistics of one part of the training data.

    Read more in the :doc:`user guide </scale>`.

    Parameters
    ----------
    plan : LandmarkPlan
        What is collected: made once, the same for all parts.
    X : array-like of shape (n_samples, n_features)
        Objects of the part.
    y : array-like of shape (n_samples,)
        Their labels.
    start : int, default=0
        Position of the part's first row among all rows. It decides which rows the sample keeps;
        parts must not overlap.
    folds : array-like of shape (n_samples,), default=None
        Folds of the rows, where the plan has several.

    Returns
    -------
    statistics : LandmarkTraining
        To be merged with those of the other parts.

    See Also
    --------
    mahalearn.distributed.merge : Statistics of two parts together.
    mahalearn.distributed.plan_from_sample : The plan of all parts.

    Examples
    --------
    >>> from mahalearn import KernelQuadraticDiscriminant
    >>> from mahalearn.distributed import (
    ...     merge, model_from_moments, part_moments, plan_from_sample
    ... )
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> estimator = KernelQuadraticDiscriminant(landmarks=20, random_state=0)
    >>> plan = plan_from_sample(estimator, X, y)
    >>> a, b = part_moments(plan, X[:70], y[:70]), part_moments(plan, X[70:], y[70:], start=70)
    >>> model = model_from_moments(estimator, merge(a, b))
    >>> print(f"{model.score(X, y):.2f}")
    0.98
    """
    with one_thread():
        return plan.statistics().add(as_rows(X), np.asarray(y), folds, start)


def merge(a: Any, b: Any) -> Any:
    """Statistics of two parts together.

    Read more in the :doc:`user guide </scale>`.

    Parameters
    ----------
    a : LandmarkTraining
        Statistics of one part.
    b : LandmarkTraining
        Statistics of another part, from the same plan.

    Returns
    -------
    statistics : LandmarkTraining
        Statistics of both parts.

    See Also
    --------
    mahalearn.distributed.part_moments : Statistics of one part of the training data.
    mahalearn.distributed.model_from_moments : The classifier of merged statistics.

    Examples
    --------
    >>> from functools import reduce
    >>> from mahalearn import KernelFisherDiscriminant
    >>> from mahalearn.distributed import (
    ...     merge, model_from_moments, part_moments, plan_from_sample
    ... )
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> estimator = KernelFisherDiscriminant(landmarks=20, random_state=0)
    >>> plan = plan_from_sample(estimator, X, y)
    >>> parts = [part_moments(plan, X[i : i + 50], y[i : i + 50], start=i) for i in (0, 50, 100)]
    >>> model = model_from_moments(estimator, reduce(merge, parts))
    >>> print(f"{model.score(X, y):.2f}")
    0.99
    """
    return a.merge(b)


def plan_from_sample(estimator: Any, X: Objects, y: Objects, classes: Any = None) -> Any:
    """A plan from rows in memory: the kernel, the landmarks and the classes.

    Read more in the :doc:`user guide </scale>`.

    Parameters
    ----------
    estimator : estimator
        A classifier with ``landmarks=`` a number or a collection, not fitted.
    X : array-like of shape (n_samples, n_features)
        Rows that stand for all of them.
    y : array-like of shape (n_samples,)
        Their labels.
    classes : array-like of shape (n_classes,), default=None
        All labels, where some of them are not among y.

    Returns
    -------
    plan : LandmarkPlan
        For :func:`part_moments`.

    See Also
    --------
    mahalearn.distributed.part_moments : Statistics of one part of the training data.

    Examples
    --------
    The sample decides the kernel and the landmarks. It need not hold every class:

    >>> from mahalearn import KernelQuadraticDiscriminant
    >>> from mahalearn.distributed import part_moments, plan_from_sample
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> estimator = KernelQuadraticDiscriminant(landmarks=10, random_state=0)
    >>> plan = plan_from_sample(estimator, X[:100], y[:100], classes=[0, 1, 2])
    >>> part_moments(plan, X, y).counts.tolist()
    [50.0, 50.0, 50.0]
    """
    _refuse_exact(estimator)
    model = clone(estimator)
    labels = check_class_list(np.asarray(y) if classes is None else classes)
    return model.partial_fit(X, y, classes=labels).training_.plan


def model_from_moments(estimator: Any, statistics: Any) -> Any:
    """The classifier of merged statistics.

    Read more in the :doc:`user guide </scale>`.

    Parameters
    ----------
    estimator : estimator
        The classifier that the plan was made for, not fitted.
    statistics : LandmarkTraining
        Merged statistics of all parts.

    Returns
    -------
    model : estimator
        An ordinary fitted classifier.

    See Also
    --------
    mahalearn.distributed.merge : Statistics of two parts together.

    Examples
    --------
    >>> from mahalearn import KernelQuadraticDiscriminant
    >>> from mahalearn.distributed import model_from_moments, part_moments, plan_from_sample
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> estimator = KernelQuadraticDiscriminant(landmarks=20, random_state=0)
    >>> statistics = part_moments(plan_from_sample(estimator, X, y), X, y)
    >>> model = model_from_moments(estimator, statistics)
    >>> bool((model.predict(X) == estimator.fit(X, y).predict(X)).all())
    True
    """
    _refuse_exact(estimator)
    return clone(estimator).from_training(statistics)


def _refuse_exact(estimator):
    if getattr(estimator, "landmarks", None) is None:
        raise TypeError(
            "Only moments of a classifier with landmarks= can be merged; got "
            f"{estimator!r}. GaussianClassifier takes dask collections in fit, and batches in "
            "partial_fit."
        )


def predict(model: Any, X: Any, method: str = "predict") -> Any:
    """Predictions of a dask collection, lazily.

    Read more in the :doc:`user guide </scale>`.

    Parameters
    ----------
    model : estimator
        A fitted estimator.
    X : dask array or dataframe
        Objects.
    method : str, default="predict"
        Method of the estimator, such as "predict", "decision_function" or "predict_proba".

    Returns
    -------
    predictions : dask array or series
        Nothing is computed yet. A dataframe gives a series (or, for several columns, a dataframe)
        with the same index.

    See Also
    --------
    mahalearn.LandmarkMap : Nyström features.
    mahalearn.GaussianClassifier : Normal classes in the input space.

    Examples
    --------
    >>> import dask.array as da
    >>> from mahalearn import GaussianClassifier
    >>> from mahalearn.distributed import predict
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianClassifier().fit(X, y)
    >>> labels = predict(model, da.from_array(X, chunks=(50, 4)))
    >>> labels.shape, labels.compute()[:3].tolist()
    ((150,), [0, 0, 0])
    """
    empty = getattr(model, method)(example_row(X))[:0]
    if is_frame(X):
        meta = _predict_frame(X._meta, model, method, empty=empty)
        return X.map_partitions(_predict_frame, model, method, empty=empty, meta=meta)
    X = X.rechunk({1: -1})
    options = {"empty": empty, "dtype": empty.dtype}
    if empty.ndim == 1:
        return X.map_blocks(_predict_block, model, method, drop_axis=1, **options)
    chunks = (X.chunks[0], (empty.shape[1],))
    return X.map_blocks(_predict_block, model, method, chunks=chunks, **options)


def _predict_block(X, model, method, empty):
    if not len(X):  # as a filter leaves parts
        return empty
    with one_thread():
        return getattr(model, method)(X)


def _predict_frame(X, model, method, empty):
    import pandas as pd

    values = _predict_block(X, model, method, empty)
    if values.ndim == 1:
        return pd.Series(values, index=X.index, name=method)
    columns = [f"{method}{i}" for i in range(values.shape[1])]
    return pd.DataFrame(values, index=X.index, columns=columns)
