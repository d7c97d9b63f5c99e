"""Training data on a cluster: dask collections become moments, and moments an ordinary model.

Every part of the data is reduced, where it is, to the statistics of
:mod:`mahalearn.classifiers._landmark_statistics`, a few matrices of m × m; these are merged
pairwise in a fixed tree. The result has the same bits whatever the number of workers, and whether
or not one of them was lost on the way. The active client or scheduler of dask is used.

Other systems need the same two functions, :func:`part_moments` and :func:`merge`. With Spark::

    plan = mahalearn.distributed.plan_from_sample(X_sample, y_sample, n_rows, landmarks=500)
    parts = rdd.map(lambda part: part_moments(plan, *part))      # (X, y, position of the first row)
    statistics = parts.treeReduce(merge)
"""

import numpy as np
from sklearn.base import clone

from .classifiers._landmark_heads import (
    HeadModel,
    heads_from_moments,
    merge_head_moments,
    part_head_moments,
)
from .classifiers._landmark_models import distance_model, landmark_model
from .classifiers._landmark_plan import Scan, make_plan
from .formulas.moments import merge as merge_moments
from .formulas.moments import rescaled
from .formulas.units import column_units, ratio


def is_dask_collection(X):
    """Whether X is a dask collection; dask is not imported to find out."""
    return hasattr(X, "__dask_graph__") and type(X).__module__.split(".")[0].startswith("dask")


def refuse_dask_collection(estimator, *collections):
    """Say, instead of converting it, that an exact estimator cannot take a dask collection."""
    if any(is_dask_collection(X) for X in collections):
        raise TypeError(
            f"{type(estimator).__name__} needs all training objects in memory and does not take "
            "dask collections; set landmarks= (or call .compute() on them first)."
        )


def part_moments(plan, X, y, start=0, folds=None):
    """Statistics of one part of the training data.

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
    statistics : LandmarkStatistics
        To be merged with those of the other parts.

    Examples
    --------
    >>> import numpy as np
    >>> from mahalearn.distributed import merge, part_moments, plan_from_sample
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> plan = plan_from_sample(X, y, landmarks=20, random_state=0)
    >>> a, b = part_moments(plan, X[:70], y[:70]), part_moments(plan, X[70:], y[70:], start=70)
    >>> merge(a, b).counts
    array([50., 50., 50.])
    """
    with _one_thread():
        return plan.statistics().add(np.asarray(X), np.asarray(y), folds, start)


def merge(a, b):
    """Statistics of two parts together.

    Parameters
    ----------
    a : LandmarkStatistics
        Of one part.
    b : LandmarkStatistics
        Of another part, from the same plan.

    Returns
    -------
    statistics : LandmarkStatistics
        Of both.
    """
    return a.merge(b)


def plan_from_sample(X, y, n_rows=None, **options):
    """A plan from rows in memory: the kernel, the landmarks and the classes.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows that stand for all of them.
    y : array-like of shape (n_samples,)
        Labels; every class must be among them.
    n_rows : int, default=None
        Number of all rows, where landmarks="auto" is to know it.
    **options : dict
        landmarks, landmark_method, random_state, kernel, gamma, degree, coef0, kernel_params,
        n_folds, dtype, sample_rows and seed.

    Returns
    -------
    plan : LandmarkPlan
        For :func:`part_moments`.
    """
    scanned = Scan().add(np.asarray(X), np.asarray(y))
    if n_rows is not None:
        scanned.n_rows, scanned.scatter = n_rows, scanned.scatter * (n_rows / len(X))
    return make_plan(scanned, **options)


def scan_parts(X, y):
    """A first pass over a dask collection: classes, moments of the columns, a sample of rows."""
    parts, starts = _parts(X, y)
    return _tree(
        [_delayed(_scan_part)(*part, start) for part, start in zip(parts, starts, strict=True)]
    )


def collect_parts(plan, X, y):
    """The pass over a dask collection: its LandmarkStatistics, in this process."""
    parts, starts = _parts(X, y)
    plan = _delayed(plan, traverse=False)
    return _tree(
        [
            _delayed(part_moments)(plan, *part, start)
            for part, start in zip(parts, starts, strict=True)
        ]
    )


def fit_landmark_model(X, y, *, method="quadratic", values=(0.01,), params=None, **options):
    """The model of a method from a dask collection: (model, statistics), both local.

    Parameters
    ----------
    X : dask array or dataframe
        Objects; an array may be chunked over rows only.
    y : dask array or series
        Labels, divided into the same parts.
    method : {"quadratic", "fisher", "kernel_pca", "dissimilarity"}, default="quadratic"
        Which method.
    values : sequence, default=(0.01,)
        Values of the regularisation.
    params : dict, default=None
        Parameters of the method.
    **options : dict
        As in :func:`plan_from_sample`.

    Returns
    -------
    model : object
        With ``scores(X)``.
    statistics : LandmarkStatistics
        Of which further models can be made without another pass.
    """
    plan = make_plan(scan_parts(X, y), **options)
    statistics = collect_parts(plan, X, y)
    params = dict(params or {})
    if method != "dissimilarity" or not isinstance(params.get("discriminant", "fisher"), str):
        return landmark_model(statistics, method, values, **params), statistics
    discriminant = params.pop("discriminant", "fisher")
    distances = distance_model(statistics, values, **params)
    parts, _ = _parts(X, y)
    model, classes = _delayed(distances, traverse=False), plan.classes
    moments = _tree([_delayed(_head_part)(model, *part, classes) for part in parts], _merge_heads)
    return HeadModel(distances, heads_from_moments(moments, discriminant)), statistics


def fit_gaussian(estimator, X, y):
    """Fit a GaussianClassifier to a dask collection.

    Parameters
    ----------
    estimator : GaussianClassifier
        With options that moments suffice for; a clone is fitted.
    X : dask array or dataframe
        Rows.
    y : dask array or series
        Labels.

    Returns
    -------
    model : GaussianClassifier
        An ordinary fitted classifier.
    """
    if not hasattr(estimator, "partial_fit"):
        raise ValueError(
            "With these options a GaussianClassifier needs all rows at once; leave out "
            "covariance_estimator, shrinkage='auto' and weights_from='train'."
        )
    parts, _ = _parts(X, y)
    classes = np.unique(np.concatenate(_compute([_delayed(np.unique)(y) for _, y in parts])))
    fits = [_delayed(_gaussian_part)(clone(estimator), *part, classes) for part in parts]
    return _tree(fits, _merge_gaussians)


def predict(model, X, method="predict"):
    """Predictions of a dask collection, lazily.

    Parameters
    ----------
    model : estimator
        A fitted estimator.
    X : dask array or dataframe
        Objects.
    method : str, default="predict"
        Which method of the estimator: "predict", "decision_function", "predict_proba", …

    Returns
    -------
    predictions : dask array or series
        Nothing is computed yet. A dataframe gives a series (or, for several columns, a dataframe)
        with the same index.
    """
    if hasattr(X, "map_partitions"):
        meta = _predict_frame(X._meta_nonempty, model, method).iloc[:0]
        return X.map_partitions(_predict_frame, model, method, meta=meta)
    X = X.rechunk({1: -1})
    example = getattr(model, method)(np.zeros((2, X.shape[1]), X.dtype))
    if example.ndim == 1:
        return X.map_blocks(_predict_block, model, method, dtype=example.dtype, drop_axis=1)
    chunks = (X.chunks[0], (example.shape[1],))
    return X.map_blocks(_predict_block, model, method, dtype=example.dtype, chunks=chunks)


def _predict_block(X, model, method):
    with _one_thread():
        return getattr(model, method)(X)


def _predict_frame(X, model, method):
    import pandas as pd

    values = _predict_block(X, model, method)
    if values.ndim == 1:
        return pd.Series(values, index=X.index, name=method)
    columns = [f"{method}{i}" for i in range(values.shape[1])]
    return pd.DataFrame(values, index=X.index, columns=columns)


def _scan_part(X, y, start):
    return Scan().add(np.asarray(X), np.asarray(y), start)


def _head_part(distances, X, y, classes):
    with _one_thread():
        return part_head_moments(distances, np.asarray(X), np.asarray(y), classes)


def _merge_heads(a, b):
    return merge_head_moments(a, b)


def _gaussian_part(estimator, X, y, classes):
    with _one_thread():
        return estimator.partial_fit(X, np.asarray(y), classes=classes)


def _merge_gaussians(a, b):
    """Two parts' classifiers as one: their moments in common units, merged."""
    sizes = np.maximum(a._sizes, b._sizes)
    units = column_units(sizes)
    parts = [part._moments for part in (a, b)]
    if units is not None:
        parts = [rescaled(p._moments, ratio(p._units, units)) for p in (a, b)]
    out = clone(a)
    merged = merge_moments(*parts)
    vars(out).update(vars(a), _moments=merged, _sizes=sizes, _units=units, _fitted=None)
    return out


def _tree(parts, combine=merge):
    """Merge parts pairwise, neighbours first; the order depends on their number alone."""
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = [_delayed(combine)(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return _compute(parts)[0]


def _parts(X, y):
    """[(X part, y part)] as delayed objects, and the positions of their first rows."""
    for name, collection in (("X", X), ("y", y)):
        if not is_dask_collection(collection):
            raise TypeError(
                f"{name} must be a dask collection; got {type(collection).__name__}. For arrays in "
                "memory use the estimators themselves."
            )
    if hasattr(X, "map_partitions"):
        if not hasattr(y, "map_partitions"):
            raise TypeError("With a dask dataframe X, y must be a series of the same dataframe.")
        # One table: dask may divide two selections of the same files differently.
        table = X.assign(**{_TARGET: y})
        parts = [_delayed(_split, nout=2)(part) for part in table.to_delayed()]
    else:
        X = X.rechunk({1: -1})
        if not np.isnan(X.chunks[0]).any():
            y = y.rechunk((X.chunks[0],))
        X_parts, y_parts = (list(np.ravel(collection.to_delayed())) for collection in (X, y))
        if len(X_parts) != len(y_parts):
            raise ValueError(
                f"X has {len(X_parts)} parts and y {len(y_parts)}; rechunk both alike."
            )
        parts = list(zip(X_parts, y_parts, strict=True))
    lengths = _compute([_delayed(len)(labels) for _, labels in parts])
    kept = [i for i, length in enumerate(lengths) if length]
    if not kept:
        raise ValueError("The collection has no rows.")
    starts = np.cumsum([0, *lengths]).tolist()
    return [tuple(parts[i]) for i in kept], [starts[i] for i in kept]


_TARGET = "mahalearn target"


def _split(table):
    """Features and labels of a part of a dataframe, as arrays."""
    y = table.pop(_TARGET).to_numpy()
    return table.to_numpy(), np.array(y.tolist()) if y.dtype == object else y


def _one_thread():
    """BLAS on one thread: workers are the parallelism, and results must not depend on theirs."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=1)


def _delayed(thing, **options):
    dask = _dask()
    return dask.delayed(thing, pure=False, **options)


def _compute(things):
    return _dask().compute(*things)


def _dask():
    try:
        import dask
    except ImportError:
        raise ImportError(
            'Training on a cluster needs dask: pip install "mahalearn[distributed]".'
        ) from None
    return dask
