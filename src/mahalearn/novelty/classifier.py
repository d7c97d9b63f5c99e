"""Prediction sets around any classifier."""

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    clone,
    is_classifier,
)
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, StratifiedShuffleSplit
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    Normalizer,
    PolynomialFeatures,
)
from sklearn.utils import get_tags
from sklearn.utils.validation import (
    check_array,
    check_is_fitted,
    validate_data,
)

from .._array_api import refuse_tensors
from .._base import foreign_scores
from .._sparse import as_rows
from .._typing import CV, Objects, RandomState
from .._validation import (
    check_choice,
    check_classes,
    check_labels,
    check_objects,
    check_share,
    is_word,
    refuse_dask,
    refuse_dask_query,
)
from ..classifiers.kernel_quadratic import KernelQuadraticDiscriminant
from ..formulas.conformal import class_p_values, least_other, prediction_sets
from ..kernels.protocol import is_precomputed, kernel_settings, takes_sparse, takes_vectors
from ..model_selection.search import KernelSearchCV
from ..table_encoder import rows_as_array
from ..training.exact import fit_training
from ._folds import class_folds, fit_folds, ranked_folds, warn_small_classes
from ._full import (
    fit_full,
    learned_parameters,
    probability,
    why_not_closed,
    why_refitted,
)

REG_ON = ("auto", "relative", "covariance", "kernel")

METHODS = ("auto", "full", "cross", "split")
NONCONFORMITIES = ("margin", "distance")
# Steps that learn nothing: a query and a training object are treated alike. (A StandardScaler is
# none of them: its columns have variance 1 on the training objects, and more on new ones.)
STATELESS = (FunctionTransformer, Normalizer, Binarizer, PolynomialFeatures)
# Searches whose best estimator predicts, and may have the closed form.
SEARCHES = (KernelSearchCV, GridSearchCV, RandomizedSearchCV)


class ConformalClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Prediction sets and p-values around a classifier.

    Read more in the :doc:`user guide </prediction_sets>`.

    Parameters
    ----------
    estimator : classifier
        A classifier of mahalearn or scikit-learn, or a pipeline that ends with one.
    method : {"auto", "full", "cross", "split"}, default="auto"
        How p-values are computed.

        - "full": the query joins each class in turn, in closed form. For
          :class:`KernelQuadraticDiscriminant` with RC+ and a positive definite kernel that learns
          at most a scale, alone or after steps that learn nothing (``FunctionTransformer``,
          ``Normalizer``, ``Binarizer``, ``PolynomialFeatures``). After a search over one, p ≤ a
          holds for about a share a only, because labels chose the parameters.
        - "cross": cross-conformal, with `cv` models of the whole pipeline.
        - "split": a share `calibration_size` of the training objects only calibrates.
        - "auto": "full" where it is valid and nothing was searched, otherwise "cross".
    nonconformity : {"margin", "distance"}, default="margin"
        How unusual an object is for a class.

        - "margin": how much better the best other class is, by decision function, else by
          probability; by squared distances for "full". Gives small sets. Not valid, and refused,
          for distances at landmarks.
        - "distance": the squared Mahalanobis distance to the class, for estimators with
          ``mahalanobis``. Also finds objects of no class.
    class_conditional : bool, default=True
        Take ranks within each class: then every class is covered. False ranks all objects
        together (cross and split only): smaller sets where classes are small, and only the
        average over the classes is covered.
    cv : int, default=5
        Number of folds of ``"cross"``.
    calibration_size : float, default=0.3
        Share of the training objects that ``"split"`` holds out.
    random_state : int, RandomState instance or None, default=0
        Draws folds and calibration objects.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    estimator_ : classifier
        The classifier that `predict` uses: fitted on all objects, or on those that do not
        calibrate (split).
    method_ : {"full", "cross", "split"}
        Method of the p-values.
    guarantee_ : str
        Guarantee of the p-values, in words.
    n_features_in_ : int
        Number of features seen in `fit`, where the estimator counts them.

    See Also
    --------
    KernelMahalanobisNovelty : Detection of objects that belong to no class.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import train_test_split
    >>> from mahalearn import ConformalClassifier, KernelQuadraticDiscriminant
    >>> X, y = load_iris(return_X_y=True)
    >>> X, new, y, truth = train_test_split(X, y, random_state=0, stratify=y)
    >>> model = ConformalClassifier(KernelQuadraticDiscriminant(reg=0.1)).fit(X, y)
    >>> model.method_
    'full'
    >>> sets = model.predict_set(new, confidence=0.9)
    >>> print(f"{sets[range(len(truth)), truth].mean():.2f} covered, {sets.sum(1).mean():.2f} long")
    0.95 covered, 1.00 long
    """

    def __init__(
        self,
        estimator: Any,
        method: Literal["auto", "full", "cross", "split"] = "auto",
        nonconformity: Literal["margin", "distance"] = "margin",
        *,
        class_conditional: bool = True,
        cv: CV = 5,
        calibration_size: float = 0.3,
        random_state: RandomState | None = 0,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.nonconformity = nonconformity
        self.class_conditional = class_conditional
        self.cv = cv
        self.calibration_size = calibration_size
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def fit(self, X: Objects, y: Objects) -> Self:
        """Fit the classifier and calibrate it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training objects, as the estimator takes them.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : ConformalClassifier
            The fitted classifier.
        """
        method = check_choice(self.method, "method", METHODS)
        self._score = check_choice(self.nonconformity, "nonconformity", NONCONFORMITIES)
        if method == "full" and not self.class_conditional:
            raise ValueError(
                "class_conditional=False is for methods 'cross' and 'split': the closed form ranks "
                "within a class."
            )
        check_classifier(self.estimator)
        refuse_dask(self, X, y)
        X = self._check_objects(X, reset=True)
        y = check_labels(self, X, y)
        self.classes_, codes = check_classes(y)
        self._counts = np.bincount(codes)
        self._cross: Any = None
        self._full: Any = None
        searched = isinstance(unwrapped(clone(self.estimator))[1], SEARCHES)
        reason = why_not_full(self.estimator)
        if method != "split" and not (method == "full" and reason):
            self.estimator_ = clone(self.estimator).fit(X, y)
            reason = why_not_full(self.estimator_)  # a search knows it now
        if method == "full" and reason:
            refuse_full(reason)
        exact = not reason and not searched and self.class_conditional
        if method == "full" or (method == "auto" and exact):
            self._full = self._fit_full(X, codes, required=method == "full")
        self.method_ = "full"
        if self._full is None:
            self.method_ = "split" if method == "split" else "cross"
            self._fit_folds(X, y, codes, self.method_)
        scope = "class-conditional" if self.class_conditional else "marginal"
        who = "of class j" if self.class_conditional else "of the mixture of the classes"
        self.guarantee_ = (
            f"{scope}: a new object {who} has p <= a for its class with probability "
            + self._probability(searched)
        )
        return self

    def _probability(self, searched):
        """How probable p ≤ a is for an object of its class, in words."""
        if self.method_ == "split" and not self.class_conditional:
            return "about a (each class gives a share of the objects that calibrate)"
        if self._full is None:
            return probability(self.method_)
        if searched:
            return probability("full", ["the parameters"])
        last = unwrapped(self.estimator_)[1]
        if isinstance(last.reg, str) and not takes_vectors(last.kernel):
            return probability("full", ["reg"])
        learned = learned_parameters(last.kernel, last.gamma, last.standardize, last.reg_on)
        return probability("full", learned, self._full.training.positive_definite)

    def _check_objects(self, X, reset):
        refuse_dask_query(X)
        refuse_tensors(self, X)
        tags = get_tags(self.estimator).input_tags
        if tags.two_d_array and _wants_table(self.estimator):
            if hasattr(X, "iloc") and not tags.pairwise:
                # A pipeline may take columns by name; the estimator checks the values.
                return validate_data(self, X, reset=reset, skip_check_array=True)
            options = {"accept_sparse": "csr", "ensure_all_finite": tags.pairwise}
            return validate_data(self, rows_as_array(X), reset=reset, dtype=None, **options)
        return check_objects(X)

    def _fit_full(self, X, codes, required):
        """The closed form, None where there is none."""
        last, X = self._last_input(X)
        reg_on = check_choice(last.reg_on, "reg_on", REG_ON)
        kernel = None if is_precomputed(last.kernel) else last.kernel
        _, training = fit_training(
            X, codes, codes, kernel, last.spectrum, **kernel_settings(last, X)
        )
        reason = why_not_closed(training, last.variant, last.spectrum)
        reason = reason or why_refitted(last.kernel, last.standardize, X)
        if not reason and training.self_similarities(X) is None:
            reason = "a precomputed matrix does not contain k(x, x) of queries."
        full = None
        if not reason:
            reg_on = "covariance" if reg_on == "auto" else reg_on
            full = fit_full(training, getattr(last, "reg_", last.reg), reg_on)
            reason = (
                "reg is smaller than the rounding errors of the kernel's values; give a larger one."
            )
        training.release()
        if full is None and required:
            refuse_full(reason)
        return full

    def _last_input(self, X):
        """The classifier behind steps that learn nothing, and objects as it takes them."""
        last, X = last_input(self.estimator_, X)
        if not takes_vectors(last.kernel):
            return last, check_objects(X)
        sparse = "csr" if takes_sparse(last.kernel) else False
        return last, as_rows(check_array(X, dtype=np.float64, accept_sparse=sparse))

    def _fit_folds(self, X, y, codes, method):
        if method == "split":
            if self._counts.min() < 2:
                raise ValueError(
                    "method='split' needs at least two objects of each class; got "
                    f"{self.classes_[self._counts.argmin()]!r} with {self._counts.min()}. "
                    "Use 'cross'."
                )
            splitter = StratifiedShuffleSplit(
                1, test_size=self._n_calibrating(len(codes)), random_state=self.random_state
            )
            held_outs = [np.sort(test) for _, test in splitter.split(codes, codes)]
        else:
            held_outs = class_folds(codes, self.cv, self.random_state)

        def fit_part(X, members):
            if len(np.unique(codes[members])) < 2:
                raise ValueError(
                    "A fold's training objects are all of one class; classes of one object need "
                    "more objects, or a larger cv."
                )
            return clone(self.estimator).fit(X, y[members])

        pairwise = get_tags(self.estimator).input_tags.pairwise
        self._cross = fit_folds(X, codes, held_outs, pairwise, fit_part, self._strangeness)
        if method == "split":
            fold = self._cross.folds[0]
            self.estimator_ = fold.model
            self._counts = np.bincount(fold.codes, minlength=len(self.classes_))

    def _n_calibrating(self, n):
        """How many of n objects calibrate (split)."""
        share, least = check_share(self.calibration_size, "calibration_size"), len(self.classes_)
        number = int(np.ceil(share * n))
        if not least <= number <= n - least:
            raise ValueError(
                f"calibration_size={share:g} lets {number} of {n} objects calibrate; {least} "
                f"classes need at least {least} that calibrate and {least} that are trained on."
            )
        return number

    def _strangeness(self, model, X):
        """Nonconformity scores for the classes of a model, (m, c)."""
        if self._score == "distance":
            return distances_of(model, X)
        strange = -class_scores_of(model, X)
        return strange - least_other(strange)

    def _query(self, X):
        check_is_fitted(self)
        return self._check_objects(X, reset=False)

    def predict(self, X: Objects) -> np.ndarray:
        """The classifier's own prediction for each row of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, as the estimator takes them.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Predicted class labels.
        """
        X = self._query(X)
        if self.method_ == "split" and get_tags(self.estimator).input_tags.pairwise:
            X = X[:, self._cross.folds[0].members]
        return self.estimator_.predict(X)

    def p_values(self, X: Objects) -> np.ndarray:
        """p-value of each class for each row of X; see ``guarantee_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, as the estimator takes them.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        X = self._query(X)
        if self._full is not None:
            _, X = self._last_input(X)
            if self._score == "distance":
                return self._full.evaluate(X)[1]
            return self._full.margin_p_values(X)
        folds = ranked_folds(self._cross.folds, self._cross.query_scores(X, self._strangeness))
        return class_p_values(folds, conditional=self.class_conditional)

    def predict_set(self, X: Objects, confidence: float = 0.95) -> np.ndarray:
        """Classes that each row of X may belong to.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, as the estimator takes them.
        confidence : float, default=0.95
            The probability with which the sets are to hold the true class.

        Returns
        -------
        sets : ndarray of shape (n_samples, n_classes), dtype bool
            True where a class is in the set.
        """
        p = self.p_values(X)
        counts = (
            self._counts
            if self.class_conditional
            else np.full_like(self._counts, self._counts.sum())
        )
        warn_small_classes(self.classes_, counts, confidence)
        return prediction_sets(p, confidence)


def check_classifier(estimator):
    """Refuse what is not a classifier: regressors, detectors, classes in place of instances."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit") or not is_classifier(estimator):
        raise TypeError(
            "estimator must be a classifier such as KernelQuadraticDiscriminant(), or a pipeline "
            f"or a search of one; got {estimator!r}."
        )


def unwrapped(estimator):
    """The steps before a classifier, and the classifier: of pipelines and of fitted searches."""
    before = []
    while True:
        if hasattr(estimator, "steps"):
            if len(estimator.steps) > 1:
                before.append(estimator[:-1])
            estimator = estimator[-1]
        elif isinstance(estimator, SEARCHES) and hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            return before, estimator


def last_input(estimator, X):
    """The classifier behind pipelines and fitted searches, and what it gets for objects X."""
    before, last = unwrapped(estimator)
    for step in before:
        X = step.transform(X)
    return last, X


def _wants_table(estimator):
    """True if rows reach the estimator as a table: not where its kernel takes objects."""
    while hasattr(estimator, "steps") or isinstance(estimator, SEARCHES):
        estimator = estimator[0] if hasattr(estimator, "steps") else estimator.estimator
    if type(estimator).__module__.partition(".")[0] != __name__.partition(".")[0]:
        return True
    kernels = getattr(estimator, "kernels", None) or [getattr(estimator, "kernel", "rbf")]
    # MahalanobisClassifierCV chooses among kernels of vectors.
    return all(is_word(kernel, "auto") or takes_vectors(kernel) for kernel in kernels)


def refuse_full(reason):
    """Raise because full-conformal p-values have no closed form, or would be wrong."""
    raise ValueError(f"method='full' has no valid closed form here: {reason} Use 'cross'.")


def why_not_full(estimator):
    """Why full-conformal p-values have no valid closed form; "" where they may have."""
    before, last = unwrapped(estimator)
    for step in (step for part in before for _, step in part.steps):
        if type(step) not in STATELESS and step not in (None, "passthrough"):
            return (
                f"{type(step).__name__} is fitted to the training objects, which a query is not "
                "among."
            )
    if isinstance(last, SEARCHES):
        return ""  # that depends on the best estimator
    if type(last) is not KernelQuadraticDiscriminant:
        return (
            "the closed form is that of KernelQuadraticDiscriminant with variant='RC+', not of "
            f"{type(last).__name__}."
        )
    if last.landmarks is not None:
        return "at landmarks distances are approximations, which the closed form does not cover."
    return ""


def distances_of(model, X):
    """Squared Mahalanobis distances by a fitted classifier, pipeline or search."""
    last, X = last_input(model, X)
    if not hasattr(last, "mahalanobis"):
        raise ValueError(
            f"nonconformity='distance' needs squared Mahalanobis distances, and "
            f"{type(last).__name__} has none. Use nonconformity='margin'."
        )
    return last.mahalanobis(X)


def class_scores_of(model, X):
    """Scores (m, c) of a fitted classifier, large for likely classes."""
    # With three classes the scores of pairs look like those of classes.
    pairs = getattr(unwrapped(model)[1], "decision_function_shape", "ovr") == "ovo"
    by_pairs = pairs and len(model.classes_) > 2
    if (scores := foreign_scores(model, X, decisions=not by_pairs)) is not None:
        return scores
    remedy = " Set decision_function_shape='ovr'." if pairs else ""
    raise ValueError(
        f"{type(unwrapped(model)[1]).__name__} has neither a decision_function with a column for "
        f"each class nor predict_proba; a margin needs one of them.{remedy}"
    )
