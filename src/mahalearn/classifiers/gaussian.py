"""Gaussian classifiers, with the feature weighted Mahalanobis distances of paper D."""

from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, clone
from sklearn.utils import assert_all_finite
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from .._array_api import like
from .._base import DensityClassifierMixin
from .._memory import row_chunks
from .._typing import ArrayLike, Objects, Shrinkage
from .._validation import (
    check_choice,
    check_class_list,
    check_classes,
    check_memory,
    check_not_negative,
    check_priors,
    check_sample_weight,
    check_shrinkage,
    check_symmetric,
    comes_in_parts,
    common_classes,
    is_dask_collection,
    is_word,
    known_codes,
    refuse_dask_query,
    unique_labels,
    validate_rows,
)
from ..formulas.class_covariances import (
    RowCovariances,
    class_covariances,
    class_shares,
    column_sizes,
    column_units,
    common_unit,
    ledoit_wolf_covariances,
    pooled_covariance,
    rescaled,
    row_moments,
    scaled,
    scaled_covariances,
    shrunk_covariances,
    variances_of,
)
from ..formulas.class_gaussians import ClassGaussians, class_gaussians
from ..formulas.feature_weights import DifferenceWeights, Weighting, trimmed_weights
from ..formulas.linalg import Workspace, is_psd
from ..formulas.moments import add_rows, merge, no_moments, part_moments
from ..formulas.spiked_gaussians import row_gaussians
from ..training.sources import (
    check_batches,
    compute,
    dask_parts,
    delayed,
    merged_tree,
    one_thread,
    pairs_of,
    part_arrays,
)
from .explanation import explain, named_contributions

COVARIANCES = ("full", "diag", "spherical")
FEATURE_WEIGHTS = ("descent", "difference", "trimmed", None)
MISSING = ("raise", "ignore")
# The largest training value whose square, in covariances_, is a number.
LARGEST_TRAINING_VALUE = 1e153
# Doubles of a chunk: small enough for a processor's cache, large enough to outweigh the calls.
_CACHE_DOUBLES = 2**18
# Doubles (a mebibyte) up to which asking for free memory takes longer than the work.
_NOT_WORTH_ASKING = 2**17


def _needs_rows(estimator):
    """Why the class moments are not enough for the options, None where they are."""
    if estimator.covariance_estimator is not None:
        return "covariance_estimator sees the rows of a class once, and unweighted"
    if is_word(estimator.shrinkage, "auto"):
        return "shrinkage='auto' needs fourth moments of the unweighted rows"
    return None


def _moments_suffice(estimator):
    reason = _needs_rows(estimator)
    if reason:
        raise AttributeError(f"partial_fit is not available: {reason}.")
    return True


_ROOM_REMEDY = (
    "Use covariance='diag' or fewer features (a selection, or principal components). fit on fewer "
    "rows than features, without feature_weights, needs no such matrices."
)


def check_room(n_classes, n_features):
    """Refuse, before anything is allocated, matrices that cannot fit."""
    # Scatters, covariances, their copies, factors and whiteners, and a few matrices of work.
    doubles = (6 * n_classes + 8) * n_features**2
    what = f"Full covariances of {n_features} features in {n_classes} classes, and their factors,"
    if doubles > _NOT_WORTH_ASKING:
        check_memory(doubles, what, _ROOM_REMEDY)


# --- options and parameters ----------------------------------------------------------------------


class GaussianOptions(NamedTuple):
    """The options of a call to fit or partial_fit, checked."""

    kind: str
    pooled: bool
    shrinkage: str | float | None
    priors: np.ndarray | None
    weighting: Weighting | None


def check_weighting(feature_weights, power, n_features):
    """The Weighting that the parameters describe, None for the plain distance."""
    power = check_not_negative(power, "weight_power")
    if feature_weights is None or isinstance(feature_weights, str):
        kind = check_choice(feature_weights, "feature_weights", FEATURE_WEIGHTS)
        if kind == "trimmed":
            return Weighting(False, power, trimmed_weights(n_features), trimmed=True)
        return None if kind is None else Weighting(kind == "difference", power)
    difference = isinstance(feature_weights, DifferenceWeights)
    ranks = np.asarray(feature_weights[0] if difference else feature_weights)
    wanted = f"{n_features} nonnegative rank weights, one per feature and not all 0"
    if ranks.dtype.kind not in "iuf" or ranks.shape != (n_features,):
        raise ValueError(
            f"feature_weights must be 'descent', 'difference', 'trimmed', None or {wanted}; "
            f"got shape {ranks.shape} of type {ranks.dtype}."
        )
    if not np.isfinite(ranks).all() or (ranks < 0).any() or not ranks.any():
        raise ValueError(f"feature_weights must be {wanted}; got {feature_weights!r}.")
    return Weighting(difference, power, ranks * (n_features / ranks.sum()))


def check_parameters(means, covariances, *, pooled):
    """Means (c, d), covariances with a class axis, units (d,), and the kind that the shape tells.

    Means and covariances are returned in the units.
    """
    means = np.array(means, dtype=float)
    if means.ndim != 2 or 0 in means.shape or not np.isfinite(means).all():
        raise ValueError(
            "means must be a finite array of shape (n_classes, n_features); got shape "
            f"{means.shape}."
        )
    c, d = means.shape
    if c < 2:
        raise ValueError("means must have at least two rows: one for each class.")
    covariances = np.array(covariances, dtype=float)
    if pooled:
        covariances = covariances[None]
    k = 1 if pooled else c
    shapes = {(k, d, d): "full", (k, d): "diag", (k,): "spherical"}
    if covariances.shape not in shapes:
        wanted = " or ".join(str(shape[pooled:]) for shape in shapes)
        raise ValueError(
            f"covariances must have the shape {wanted} (full, diagonal or spherical"
            f"{', common to the classes' if pooled else ''}); got {covariances.shape[pooled:]}."
        )
    if not np.isfinite(covariances).all():
        raise ValueError("covariances must be finite.")
    kind = shapes[covariances.shape]
    variances = covariances[:, None] if kind == "spherical" else variances_of(covariances)
    if (variances < 0).any():
        raise ValueError("covariances holds a negative variance.")
    sizes = np.maximum(np.abs(means).max(axis=0), np.sqrt(variances).max(axis=0))
    units = common_unit(sizes) if kind == "spherical" else column_units(sizes)
    covariances = scaled_covariances(covariances, 1 / units)
    for j, S in enumerate(covariances if kind == "full" else ()):
        deviations = np.sqrt(np.diagonal(S))
        factors = 1 / np.where(deviations > 0, deviations, 1.0)
        correlations = check_symmetric(scaled_covariances(S[None], factors)[0], f"Covariance {j}")
        if not is_psd(correlations):
            raise ValueError(f"Covariance {j} has a negative eigenvalue.")
        S += S.T
        S /= 2
    return scaled(means, 1 / units), covariances, units, kind


def estimated_covariances(estimator, X, codes, classes):
    """covariance_ of a clone of the estimator, fitted on each class: (c, d, d)."""
    if not hasattr(estimator, "fit"):
        raise TypeError(
            "covariance_estimator must be an estimator with fit and covariance_, such as "
            f"sklearn.covariance.OAS(); got {estimator!r}."
        )
    d = X.shape[1]
    out = np.zeros((len(classes), d, d))
    for j, label in enumerate(classes.tolist()):
        rows = X[codes == j]
        try:
            S = np.asarray(clone(estimator).fit(rows).covariance_, dtype=float)
        except ValueError as error:
            raise ValueError(
                f"{estimator!r} failed on class {label!r} with {len(rows)} objects: {error} "
                "covariance_estimator=None handles classes of any size."
            ) from error
        if S.shape != (d, d) or not np.isfinite(S).all():
            raise ValueError(
                f"covariance_ of {estimator!r} must be a finite {d}×{d} matrix; for class "
                f"{label!r} it has shape {S.shape}."
            )
        out[j] = (S + S.T) / 2
    return out


# --- fitted Gaussians ----------------------------------------------------------------------------


class FittedGaussians(NamedTuple):
    """Fitted classes: estimates in units (d,), and the Gaussians made of them.

    means (c, d), covariances (c or, common to the classes, 1, …) and shares are those of the
    classes seen, of which priors and `seen` speak among all classes. covariances may be
    RowCovariances. featurewise: the Gaussians with ZCA-cor whiteners where distances are weighted.
    """

    means: np.ndarray
    covariances: Any
    units: np.ndarray
    shares: np.ndarray
    priors: np.ndarray
    seen: np.ndarray
    gaussians: ClassGaussians
    weighting: Weighting | None = None
    featurewise: ClassGaussians | None = None

    def all_classes(self, rows, fill):
        """Rows of the classes seen (or a common one), among those of all classes."""
        if len(rows) == len(self.seen):
            return rows
        rows = np.broadcast_to(rows, (int(self.seen.sum()), *rows.shape[1:]))
        out = np.full((len(self.seen), *rows.shape[1:]), fill, dtype=rows.dtype)
        out[self.seen] = rows
        return out

    @property
    def by_rows(self):
        """The covariances are given by rows: there are fewer than features."""
        return isinstance(self.covariances, RowCovariances)

    def dense(self):
        """The Gaussians by matrices or variances of the features, not by rows."""
        covariances = self.covariances
        if self.by_rows:
            check_room(*self.means.shape)
            covariances = covariances.dense()
        return class_gaussians(self.means, covariances, self.shares, self.units)

    def feature_chunks(self, X, workspace):
        """Chunks of rows and their distances per feature, which the caller may overwrite."""
        n_classes, n_features = len(self.shares), X.shape[1]
        # Per row: Z, two arrays like it for the difference weights, the row whitened and weights.
        arrays = 3 if self.weighting.difference else 1
        row_doubles = (arrays * n_classes + 8) * n_features
        for rows in row_chunks(len(X), row_doubles, _CACHE_DOUBLES):
            yield rows, self.featurewise.feature_sq_distances(X[rows], workspace)

    def sq_distances(self, X):
        """(Weighted) squared distances (m, c) of complete rows."""
        out = np.zeros((len(X), len(self.shares)), order="F")  # sums and maxima over classes: fast
        workspace = Workspace()
        if X.shape[1] == 0:  # a row without features is nowhere
            return out
        if self.weighting is None:
            # Per row: the row standardised, centred and whitened, its distances and norms.
            row_doubles = 3 * X.shape[1] + 2 * out.shape[1] + 8
            for rows in row_chunks(len(X), row_doubles, _CACHE_DOUBLES):
                out[rows] = self.gaussians.sq_distances(X[rows], workspace)
        else:
            for rows, Z in self.feature_chunks(X, workspace):
                out[rows] = self.weighting.sq_distances(Z, workspace)
        return out

    def evaluate(self, X, *, missing):
        """d² (m, c), log-determinants (m or 1, c), numbers of dimensions (m or 1, 1) of rows.

        With `missing`, NaN cells are marginalised: such a row is compared with the Gaussians of the
        features that it has. Rows that lack the same features are done together.
        """
        absent = np.isnan(X) if missing else None
        if absent is None or not absent.any():
            g = self.gaussians
            return self.sq_distances(X), g.log_dets[None], np.array([[g.n_directions]])
        shape = (len(X), len(self.shares))
        d2, log_dets = np.full(shape, np.nan), np.full(shape, np.nan)
        n_directions = np.full((len(X), 1), np.nan)
        for rows in equal_rows(absent):
            observed = ~absent[rows[0]]
            part = self if observed.all() else self._marginal(observed)
            d2[rows] = part.sq_distances(X[np.ix_(rows, np.flatnonzero(observed))])
            log_dets[rows] = part.gaussians.log_dets
            n_directions[rows] = part.gaussians.n_directions
        return d2, log_dets, n_directions

    def _marginal(self, observed):
        gaussians = self.gaussians.marginal(observed) or self.dense().marginal(observed)
        return self.weighted(self.weighting, gaussians)

    def weighted(self, weighting, gaussians=None):
        """The same with distances weighted so, or not at all (None)."""
        gaussians = self.gaussians if gaussians is None else gaussians
        featurewise = None if weighting is None else gaussians.zca_cor()
        return self._replace(gaussians=gaussians, weighting=weighting, featurewise=featurewise)


def equal_rows(A):
    """Index arrays of the rows of a boolean matrix that are equal, one for each pattern."""
    packed = np.packbits(A, axis=1)
    _, inverse, counts = np.unique(packed, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(inverse.ravel(), kind="stable")
    return np.split(order, np.cumsum(counts)[:-1])


def estimated(moments, sizes, options, covariances=None):
    """Estimates, the first fields of FittedGaussians, from moments or covariances by the rows.

    sizes (d,) are the largest absolute values of the features.
    """
    seen, shares, units = moments.count > 0, class_shares(moments), column_units(sizes)
    priors = shares if options.priors is None else options.priors
    if not seen.all():
        moments, shares = moments.groups(seen), shares[seen]
    means, amount = moments.mean.copy(), 0.0
    if covariances is None:
        covariances, amount = class_covariances(moments), options.shrinkage or 0.0
    if options.kind != "full":
        covariances = variances_of(covariances)
    if options.kind == "spherical" or amount:
        # Variances of different features are compared: all are stated in one unit.
        factors, units = units / common_unit(sizes), common_unit(sizes)
        means, covariances = scaled(means, factors), scaled_covariances(covariances, factors)
    if options.kind == "spherical":
        covariances = covariances.mean(axis=1)
    elif amount:
        covariances = shrunk_covariances(covariances, amount)
    if options.pooled:
        covariances = pooled_covariance(covariances, shares)
    return means, covariances, units, shares, priors, seen


def fitted_gaussians(estimates, weighting):
    """Fitted Gaussians of estimates: (means, covariances, units, shares, priors, seen)."""
    fitted = FittedGaussians(*estimates, None)
    means, covariances, units, shares = estimates[:4]
    gaussians = row_gaussians(means, covariances, shares, units) if fitted.by_rows else None
    return fitted.weighted(weighting, gaussians or fitted.dense())


def _refuse_incomplete(classes):
    """Refuse classes of which every row has missing values."""
    if len(classes):
        raise ValueError(
            f"No training row of the classes {classes.tolist()!r} is complete. Impute some, "
            "or leave out the features that they lack."
        )


def _labels_of_part(*part):
    return unique_labels(part_arrays(*part)[1])


def _fit_part(estimator, classes, *part):
    X, y = part_arrays(*part)
    with one_thread():
        return estimator.partial_fit(X, y, classes=classes)


def _merged(a, b):
    """Two parts' classifiers as one: their moments in common units, merged."""
    sizes = np.maximum(a._sizes, b._sizes)
    units = column_units(sizes)
    parts = [rescaled(part._moments, column_units(part._sizes) / units) for part in (a, b)]
    out = clone(a)
    vars(out).update(vars(a), _moments=merge(*parts), _sizes=sizes, _fitted=None)
    return out


class GaussianClassifier(DensityClassifierMixin, BaseEstimator):
    """Gaussian classifier for singular covariances, missing cells and noisy features.

    A row is assigned to the class with the largest f_j(x) = −D_j/2 − ln|Σ_j|/2 + ln P_j, where D_j
    is its squared Mahalanobis distance to class j. With `feature_weights` D_j is the weighted
    distance of paper D, in which noisy features count less. Constant, duplicate and collinear
    features, classes with fewer objects than features and classes of a single object are allowed;
    the user guide states the rule. With fewer rows than features `fit` and `predict` form no
    covariance matrix: time is O(n²p) and memory O(np) for n rows and p features.

    Read more in the :doc:`user guide </gaussian>`.

    Parameters
    ----------
    covariance : {"full", "diag", "spherical"}, default="full"
        Form of the covariance of a class.

        - "full": any covariance matrix.
        - "diag": independent features.
        - "spherical": σ²I.
    pooled : bool, default=False
        Whether the classes share one covariance (a linear discriminant).
    feature_weights : {"descent", "difference", "trimmed"}, array-like or None, default=None
        Weights of the distances per feature (of ZCA-cor whitened coordinates if the covariance is
        full).

        - "descent": all ranks of a row's sorted distances get the same influence.
        - "difference": distances that differ from the others count less; then a descent step.
        - "trimmed": the largest distance is left out (D, 3).
        - array: n_features rank weights, scaled to sum to n_features, or the result of
          :func:`descent_weights` or :func:`difference_weights`.
    weight_power : float, default=0.5
        Rank weights are the mean sorted distances to the power −weight_power. ½ reproduces the
        paper; 1 is its equation (11) as printed.
    missing : {"raise", "ignore"}, default="raise"
        Treatment of NaN. This parameter is also read at prediction.

        - "raise": an error.
        - "ignore": use the features that a row has (exact marginals); training rows with NaN are
          left out.
    shrinkage : None, "auto" or float, default=None
        Shrink covariances towards their mean variance times the identity, as scikit-learn does: a
        number from 0 to 1, or by Ledoit and Wolf on standardised features.
    covariance_estimator : estimator, default=None
        An object with ``fit`` and ``covariance_``, fitted on each class. Its means are not used.
    priors : array-like of shape (n_classes,), default=None
        Prior probabilities; the shares of the classes if None.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    means_ : ndarray of shape (n_classes, n_features)
        Class means.
    covariances_ : ndarray of shape (n_classes, n_features, n_features)
        Class covariances as estimated, before the rank rule. The divisor is n_j, the number of
        objects (or the total weight) of the class. The shape is (n_classes, n_features) for "diag"
        and (n_classes,) for "spherical". All are equal if `pooled`. With fewer rows than features
        they are computed on access.
    priors_ : ndarray of shape (n_classes,)
        Prior probabilities.
    ranks_ : ndarray of shape (n_classes,)
        Numerical ranks of the covariances.
    feature_weights_ : ndarray of shape (n_features,)
        Rank weights, where they are fixed at `fit`.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen in `fit`, where X has them.

    See Also
    --------
    KernelQuadraticDiscriminant : Nearest class by kernel Mahalanobis distance.
    MahalanobisNovelty : Novelty detection in the input space.

    References
    ----------
    M. Wölfel and H. K. Ekenel, Feature weighted Mahalanobis distance: improved robustness for
    Gaussian classifiers.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from mahalearn import GaussianClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianClassifier(missing="ignore").fit(X, y)
    >>> X[0, 2] = np.nan
    >>> model.predict(X[:2])
    array([0, 0])
    """

    def __init__(
        self,
        covariance: Literal["full", "diag", "spherical"] = "full",
        *,
        pooled: bool = False,
        feature_weights: Literal["descent", "difference", "trimmed"] | ArrayLike | None = None,
        weight_power: float = 0.5,
        missing: Literal["raise", "ignore"] = "raise",
        shrinkage: Shrinkage = None,
        covariance_estimator: Any = None,
        priors: ArrayLike | None = None,
    ) -> None:
        self.covariance = covariance
        self.pooled = pooled
        self.feature_weights = feature_weights
        self.weight_power = weight_power
        self.missing = missing
        self.shrinkage = shrinkage
        self.covariance_estimator = covariance_estimator
        self.priors = priors

    @classmethod
    def from_parameters(
        cls,
        means: ArrayLike,
        covariances: ArrayLike,
        priors: ArrayLike | None = None,
        *,
        classes: Any = None,
        pooled: bool = False,
        feature_weights: Literal["descent", "difference", "trimmed"] | ArrayLike | None = None,
        weight_power: float = 0.5,
        missing: Literal["raise", "ignore"] = "raise",
    ) -> Self:
        """Classifier of known Gaussians, ready to predict.

        Parameters
        ----------
        means : array-like of shape (n_classes, n_features)
            Class means.
        covariances : array-like
            Of shape (n_classes, n_features, n_features) for full covariances, (n_classes,
            n_features) for diagonal and (n_classes,) for spherical ones; without the first axis if
            `pooled`.
        priors : array-like of shape (n_classes,), default=None
            Prior probabilities; equal ones if None.
        classes : array-like of shape (n_classes,), default=None
            Labels, ascending; 0, 1, … if None.
        pooled : bool, default=False
            Whether the classes share one covariance.
        feature_weights : {"descent", "difference", "trimmed"}, array-like or None, default=None
            As in the constructor.
        weight_power : float, default=0.5
            As in the constructor.
        missing : {"raise", "ignore"}, default="raise"
            As in the constructor.

        Returns
        -------
        model : GaussianClassifier
            The classifier. A clone of it is not fitted, as with every estimator.

        Examples
        --------
        >>> from mahalearn import GaussianClassifier
        >>> model = GaussianClassifier.from_parameters([[0.0, 0.0], [3.0, 0.0]], [1.0, 4.0])
        >>> model.predict([[1.0, 0.0], [2.0, 0.0]])
        array([0, 1])
        """
        means, covariances, units, kind = check_parameters(means, covariances, pooled=pooled)
        model = cls(
            kind,
            pooled=pooled,
            feature_weights=feature_weights,
            weight_power=weight_power,
            missing=missing,
            priors=priors,
        )
        c, model.n_features_in_ = means.shape
        model.classes_ = np.arange(c) if classes is None else np.asarray(classes)
        if model.classes_.shape != (c,) or (model.classes_[1:] <= model.classes_[:-1]).any():
            raise ValueError(f"classes must be {c} different labels, ascending; got {classes!r}.")
        model._ignores_missing()
        options = model._options = model._check_options(*means.shape)
        priors = np.full(c, 1 / c) if options.priors is None else options.priors
        model._moments, seen = None, np.ones(c, dtype=bool)
        estimates = (means, covariances, units, priors, priors, seen)
        model._fitted = fitted_gaussians(estimates, options.weighting)
        return model

    def _check_options(self, n_classes, n_features):
        """The options as of this call to fit or partial_fit."""
        if not isinstance(self.pooled, (bool, np.bool_)):
            raise ValueError(f"pooled must be True or False; got {self.pooled!r}.")
        shrinkage = check_shrinkage(self.shrinkage)
        if shrinkage is not None and self.covariance_estimator is not None:
            raise ValueError("Give shrinkage or covariance_estimator, not both.")
        weighting = check_weighting(self.feature_weights, self.weight_power, n_features)
        return GaussianOptions(
            check_choice(self.covariance, "covariance", COVARIANCES),
            bool(self.pooled),
            shrinkage,
            None if self.priors is None else check_priors(self.priors, n_classes),
            weighting,
        )

    def fit(self, X: Any, y: Objects | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the class means and covariances.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows. Where moments suffice (as for `partial_fit`) also a dask array or
            dataframe, or, without y, an iterable of batches (X, y) that can be read twice, such as
            :class:`mahalearn.datasets.ParquetBatches`.
        y : array-like of shape (n_samples,), default=None
            Class labels; None where X is an iterable of batches.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 2 counts as two. Not allowed with
            `covariance_estimator` or ``shrinkage="auto"``.

        Returns
        -------
        self : GaussianClassifier
            The fitted classifier.
        """
        self._search_temperature = None
        if comes_in_parts(X, y):
            return self._fit_parts(X, y, sample_weight)
        X, y, weights, self._sizes = self._check_training(X, y, sample_weight)
        self.classes_, codes = check_classes(y)
        n_classes, d = len(self.classes_), X.shape[1]
        options = self._options = self._check_options(n_classes, d)
        units, estimator = column_units(self._sizes), self.covariance_estimator
        full, rows = options.kind == "full", scaled(X, 1 / units)
        if full and len(X) < d and options.weighting is None and estimator is None:
            self._moments = row_moments(rows, codes, n_classes, weights)
        else:
            if full or estimator is not None:
                check_room(n_classes, d)
            self._moments = part_moments(rows, codes, n_classes, weights, diagonal=not full)
        covariances = None
        if estimator is not None:
            covariances = estimated_covariances(estimator, X, codes, self.classes_)
            covariances = scaled_covariances(covariances, 1 / units)
        elif options.shrinkage == "auto":
            centred = (rows[codes == j] - mean for j, mean in enumerate(self._moments.mean))
            covariances = ledoit_wolf_covariances(class_covariances(self._moments), centred)
        estimates = estimated(self._moments, self._sizes, options, covariances)
        self._fitted = fitted_gaussians(estimates, options.weighting)
        return self

    def _fit_parts(self, X, y, sample_weight):
        """Fit to batches or to a dask collection: moments of parts, added up."""
        reason = _needs_rows(self)
        if reason:
            raise ValueError(f"With these options all rows are needed at once: {reason}.")
        if sample_weight is not None:
            raise ValueError("sample_weight is for rows in memory; pass it to partial_fit.")
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            vars(self).pop(name, None)
        if is_dask_collection(X):
            parts, _ = dask_parts(X, y)
            part_labels = compute([delayed(_labels_of_part)(*part) for part in parts])
            # Parts without rows have no labels.
            parts = [part for part, labels in zip(parts, part_labels, strict=True) if len(labels)]
            if not parts:
                raise ValueError("The collection has no rows.")
            classes = common_classes([labels for labels in part_labels if len(labels)])
            fits = [delayed(_fit_part)(clone(self), classes, *part) for part in parts]
            vars(self).update(vars(merged_tree(fits, _merged)))
            if hasattr(X, "columns"):
                self.feature_names_in_ = np.asarray(X.columns, dtype=object)
            _refuse_incomplete(classes[self._moments.count == 0])
            return self
        name = type(self).__name__
        batches = check_batches(X, name)
        batch_labels = (column_or_1d(y) for rows, y in pairs_of(batches, name) if len(rows))
        labels = [unique_labels(y) for y in batch_labels]
        if not labels:
            raise ValueError("There are no rows to fit; the batches are empty.")
        classes = common_classes(labels)
        for rows, y in pairs_of(batches, name):
            if len(rows):
                self.partial_fit(rows, y, classes=classes)
        _refuse_incomplete(classes[self._moments.count == 0])
        return self

    @available_if(_moments_suffice)
    def partial_fit(
        self,
        X: ArrayLike,
        y: Objects,
        classes: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add rows to what has been fitted: the same, up to rounding, as one fit on all of them.

        Parameters changed by ``set_params`` count from the next call on, for all rows so far. Only
        a change from a diagonal or spherical to a full covariance is refused, because the
        covariances of the earlier rows are not known. Full covariances need n_classes matrices of
        n_features × n_features, also where `fit` on few rows does not; too large ones are refused
        with a MemoryError before anything is allocated.

        Not available with `covariance_estimator` or ``shrinkage="auto"``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever come; needed in the first call. A class without rows so far is
            never predicted.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : GaussianClassifier
            The fitted classifier.
        """
        first = not hasattr(self, "classes_")
        if first and classes is None:
            raise ValueError("classes must be given in the first call to partial_fit.")
        if not first and self._moments is None:
            raise ValueError(
                "A classifier made by from_parameters has no counts that rows could be added to; "
                "start with partial_fit on an unfitted one."
            )
        if first:
            classes = check_class_list(classes)
        elif classes is None or np.array_equal(np.unique(classes), self.classes_):
            classes = self.classes_
        else:
            raise ValueError(
                f"classes={classes!r} differ from those of the first call, {self.classes_!r}."
            )
        X, y, weights, sizes = self._check_training(X, y, sample_weight, first, whole=False)
        codes, shape = known_codes(y, classes), (len(classes), X.shape[1])
        options = self._check_options(*shape)
        if first:
            self._sizes = sizes
        moments = self._moments_to_add_to(shape, options.kind, first)
        sizes = np.maximum(self._sizes, sizes)
        units = column_units(sizes)
        moments = rescaled(moments, column_units(self._sizes) / units)
        add_rows(moments, scaled(X, 1 / units), codes, weights)
        self.classes_, self._moments, self._options = classes, moments, options
        self._sizes = sizes
        self._fitted = None  # made when it is needed: chunks cost no decomposition
        return self

    def _moments_to_add_to(self, shape, kind, first):
        """The moments so far, as matrices where the options need them."""
        by_rows = not first and isinstance(self._moments.lower, RowCovariances)
        if by_rows or (first and kind == "full"):
            check_room(*shape)
        if first:
            return no_moments(*shape, diagonal=kind != "full")
        if by_rows:
            return self._moments._replace(lower=self._moments.lower.dense())
        if kind == "full" and self._moments.lower.ndim == 2:
            raise ValueError(
                "covariance='full' needs the scatter matrices of all rows, but the rows so far "
                "were added with a diagonal or spherical covariance, which keeps the variances "
                "only. Call fit on all rows, or start with partial_fit on an unfitted classifier."
            )
        return self._moments

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "ignore"
        return tags

    def _check_training(self, X, y, sample_weight, reset=True, *, whole=True):
        """Rows that count (complete, with a positive weight), and the sizes of the columns.

        whole: no more rows will come.
        """
        if is_dask_collection(X) or is_dask_collection(y):
            raise TypeError(
                "Rows in memory are needed here: call .compute(). fit takes a dask array or "
                "dataframe if its labels are a dask collection, too."
            )
        missing = self._ignores_missing()
        finite = "allow-nan" if missing else True
        if reset:
            X, y = validate_rows(self, X, y, dtype=np.float64, ensure_all_finite=finite)
        else:  # the classes are known, and y is checked against them
            X = self._check_more_rows(X, finite)
            if not (isinstance(y, np.ndarray) and y.shape == (len(X),)):
                y = column_or_1d(y, warn=True)
                check_consistent_length(X, y)
        reason = _needs_rows(self)
        if sample_weight is not None and reason:
            raise TypeError(f"sample_weight cannot be used: {reason}.")
        weights = check_sample_weight(sample_weight, len(X))
        counting = np.ones(len(X), dtype=bool) if weights is None else weights > 0
        if missing:
            complete = ~np.isnan(X).any(axis=1)
            if whole:
                _refuse_incomplete(np.setdiff1d(y, y[complete]))
            counting &= complete
        if not counting.all():
            X, y = X[counting], y[counting]
            weights = None if weights is None else weights[counting]
        largest = max(X.max(initial=0), -X.min(initial=0))
        if not largest <= LARGEST_TRAINING_VALUE:  # or NaN
            assert_all_finite(X, estimator_name=type(self).__name__)
            raise ValueError(
                f"X holds values beyond {LARGEST_TRAINING_VALUE:g}, whose squares overflow. "
                "Rescale the features."
            )
        return X, y, weights, column_sizes(X, largest)

    def _check_more_rows(self, X, finite):
        """validate_rows, unless X is a plain array: it takes as long as the sums over few rows.

        That a plain array is finite is seen when its extent is.
        """
        plain = type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and len(X) > 0
        named = hasattr(self, "feature_names_in_")
        if plain and finite is True and X.shape[1] == self.n_features_in_ and not named:
            return X
        return validate_rows(self, X, reset=False, dtype=np.float64, ensure_all_finite=finite)

    @property
    def fitted_(self) -> FittedGaussians:
        """The classes as fitted: estimates, and the Gaussians made of them when they are needed."""
        check_is_fitted(self)
        if self._fitted is None:
            estimates = estimated(self._moments, self._sizes, self._options)
            self._fitted = fitted_gaussians(estimates, self._options.weighting)
        return self._fitted

    def _ignores_missing(self):
        return check_choice(self.missing, "missing", MISSING) == "ignore"

    @property
    def means_(self) -> np.ndarray:
        """Class means (n_classes, n_features)."""
        fitted = self.fitted_
        return fitted.all_classes(scaled(fitted.means, fitted.units), np.nan)

    @property
    def covariances_(self) -> np.ndarray:
        """Class covariances as estimated, divisor n_j."""
        fitted = self.fitted_
        covariances = fitted.covariances
        if fitted.by_rows:
            n_classes, d = len(self.classes_), self.n_features_in_
            check_memory(n_classes * d**2, f"The covariances of {d} features", _ROOM_REMEDY)
            covariances = covariances.dense()
        return fitted.all_classes(scaled_covariances(covariances, fitted.units), np.nan)

    @property
    def priors_(self) -> np.ndarray:
        """Prior probabilities (n_classes,)."""
        return self.fitted_.priors

    @property
    def ranks_(self) -> np.ndarray:
        """Numerical ranks of the class covariances (n_classes,)."""
        fitted = self.fitted_
        return fitted.all_classes(fitted.gaussians.ranks, 0)

    @property
    def feature_weights_(self) -> np.ndarray:
        """Rank weights (n_features,), where they are fixed at fit."""
        weighting = self.fitted_.weighting
        if weighting is None or weighting.ranks is None:
            raise AttributeError(
                "feature_weights_ exists where feature_weights is an array; here there are none, "
                "or each row has its own."
            )
        return weighting.ranks

    def _check_query(self, X, *, complete=False):
        """Checked rows; complete: NaN is refused even with missing="ignore"."""
        check_is_fitted(self)
        refuse_dask_query(X)
        finite = "allow-nan" if self._ignores_missing() and not complete else True
        try:
            return validate_rows(self, X, reset=False, dtype=np.float64, ensure_all_finite=finite)
        except ValueError as error:
            if "contains NaN" in str(error):
                raise ValueError(
                    "Input X contains NaN. With missing='ignore' such rows are compared with the "
                    "classes in the features that they have (feature_distances needs them all)."
                ) from error
            raise

    def query_scores(self, queries: Any) -> np.ndarray:
        """ln p(x|ω_j)P(ω_j) (D, (5)) of checked queries; −inf for a class without rows so far."""
        fitted = self.fitted_
        scores, log_dets, n_directions = fitted.evaluate(queries, missing=self._ignores_missing())
        scores += log_dets
        scores += n_directions * np.log(2 * np.pi)
        scores *= -0.5
        scores += np.log(fitted.priors[fitted.seen])
        return fitted.all_classes(scores.T, -np.inf).T

    def mahalanobis(self, X: ArrayLike) -> np.ndarray:
        """Squared Mahalanobis distance of each row to each class, weighted by `feature_weights`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; with ``missing="ignore"`` distances are those of the features that are present.

        Returns
        -------
        d2 : ndarray of shape (n_samples, n_classes)
            Squared distances, columns in the order of ``classes_``.
        """
        return like(X, self._known_distances(self._check_query(X)))

    def _known_distances(self, queries):
        fitted = self.fitted_
        d2 = fitted.evaluate(queries, missing=self._ignores_missing())[0]
        return fitted.all_classes(d2.T, np.inf).T

    _converts_arrays = True

    explain = explain

    @property
    def smooth_scores(self) -> bool:  # type: ignore[override]
        """True unless each row has weights of its own."""
        weighting = self.fitted_.weighting
        return weighting is None or weighting.ranks is not None

    def _contributions(self, x, a, b):
        fitted = self.fitted_
        if not self.smooth_scores:
            return None, None
        priors = fitted.priors[fitted.seen]
        center = scaled(priors @ fitted.means / priors.sum(), fitted.units)
        spread = np.broadcast_to(fitted.units, center.shape)
        return named_contributions(self, self._margin(a, b), x, center, spread)

    def feature_distances(self, X: ArrayLike) -> np.ndarray:
        """Squared distances per feature, which sum to the unweighted Mahalanobis distances.

        They are what :func:`descent_weights` and :func:`difference_weights` take. With a full
        covariance the features are the ZCA-cor whitened coordinates V^{-1/2}P^{-1/2}(x − μ) of each
        class (variances V, correlations P): coordinate k is the one closest to feature k.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Complete rows.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_classes, n_features)
            Squared distances.
        """
        X, fitted = self._check_query(X, complete=True), self.fitted_
        gaussians = fitted.dense() if fitted.by_rows else fitted.gaussians
        Z = gaussians.zca_cor().feature_sq_distances(X, Workspace())
        return fitted.all_classes(Z.transpose(1, 0, 2), np.inf).transpose(1, 0, 2)

    def score_samples(self, X: ArrayLike) -> np.ndarray:
        """Log-density of each row under the mixture of the classes.

        With `feature_weights` it is a score, not a normalised density. Directions in which the
        training rows do not vary are left out of the density.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; with ``missing="ignore"`` the density is that of the features that are present.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Log-densities.
        """
        return like(X, logsumexp(self._scores(X), axis=1))
