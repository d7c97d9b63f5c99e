"""Kernel quadratic discriminants (papers A and C), and the class distances that they compare."""

import warnings
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import compute_class_weight

from .._array_api import like
from .._base import KernelEstimator, refuses_weights
from .._typing import (
    ArrayLike,
    ClassWeight,
    Gamma,
    Kernel,
    Objects,
    RandomState,
    Reg,
    RegUnit,
    Spectrum,
    Standardize,
    Variant,
)
from .._validation import (
    check_choice,
    check_error_weights,
    check_priors,
    check_reg,
    is_real,
    is_word,
)
from ..formulas.calibration import fit_temperature
from ..formulas.kernel_mahalanobis import (
    DEFAULT_REG,
    REG_ON,
    measure_reg,
    resolved_reg_on,
    without_one,
)
from ..formulas.offsets import N_ITER, error_offsets, map_offsets
from ..training.exact import (
    VARIANTS,
    leave_one_out_sq_distances,
    left_out_scores,
    refuse_map,
)
from ..training.folds import is_leave_one_out, resolve_alphas
from ..training.leave_one_out import leave_one_out_scores
from .kernel_classifier import (
    KernelClassifier,
    Labels,
    PathModels,
    fitted_attribute,
    path_value,
)


class ClassDistancesMixin:
    """Parameters and distances of the estimators on kernel Mahalanobis distances to the classes."""

    path_parameter: Any = "reg"
    auto_value = DEFAULT_REG

    def _check_distance_parameters(self):
        """Refuse a wrong variant, unit, number or policy about negative eigenvalues."""
        check_choice(self.variant, "variant", VARIANTS)
        check_choice(self.reg_on, "reg_on", REG_ON)
        self.checked_spectrum()
        if is_real(self.reg):
            check_reg(self.reg, 1)

    def _fit_distances(self, training, regs, *, spectral=False):
        """The class models of one training set for a path of regularisation values.

        Returns them with their α, (c,) for a path of one value and (r, c) otherwise.
        """
        alphas = resolve_alphas(regs, self.reg_on, self.variant, training)
        alphas = alphas[0] if len(regs) == 1 else alphas
        return training.distances(self.variant, alphas, spectral=spectral), alphas

    def _dissimilarities_value(self, training):
        """reg="auto" for dissimilarities."""
        return measure_reg(self.reg_on, self.variant, training.mean_spread)

    def mahalanobis(self: Any, X: Objects, self_similarity: ArrayLike | None = None) -> np.ndarray:
        """Squared kernel Mahalanobis distance of each row of X to each class.

        Distances can be negative: RC+ with an indefinite kernel, RC- with any kernel. At landmarks
        they are approximations, and those to an object's own class are too large on average: the
        part of the object that the landmarks do not represent (``residual``) counts as if no class
        explained it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).
        self_similarity : array-like of shape (n_samples,), default=None
            k(x, x) of the rows. Only RC variants use it, and only a precomputed kernel whose
            training self-similarities differ needs it.

        Returns
        -------
        d2 : ndarray of shape (n_samples, n_classes)
            Squared distances, columns in the order of ``classes_``.
        """
        d2 = self._distances.sq_distances(self._check_query(X), self_similarity)
        return like(X, self._all_columns(d2, np.inf))


class KernelMahalanobisTransformer(
    ClassDistancesMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator
):
    """Class-wise squared kernel Mahalanobis distances as features: the dissimilarity space ψ.

    Read more in the :doc:`user guide </dissimilarity_space>`.

    Parameters
    ----------
    variant : {"RC+", "RC-", "IC+", "IC-", "FK+", "FK-"}, default="RC+"
        The distance. All parameters are those of :class:`KernelQuadraticDiscriminant`.
    reg : float, array-like of shape (n_classes,) or "auto", default="auto"
        Regularisation.
    reg_on : {"auto", "covariance", "kernel", "relative"}, default="auto"
        Unit of `reg`, as in :class:`KernelQuadraticDiscriminant`.
    kernel : str or callable, default="rbf"
        The kernel.
    gamma : float, "scale" or "auto", default="scale"
        Kernel parameter.
    degree : int, default=3
        Kernel parameter.
    coef0 : float, default=1
        Kernel parameter.
    spectrum : {"krein", "ignore", "raise", "clip", "flip", "square", "shift"}, default="krein"
        Treatment of negative eigenvalues.
    standardize : {"auto", True, False}, default="auto"
        Centre the columns and divide them by their standard deviations first (kernels "rbf",
        "laplacian", "linear", "poly" and "sigmoid" only). "auto": only if the standard deviations
        differ by more than a factor of ten.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    reg_ : float or array-like
        `reg` as used, in the units of `reg_on`.
    kernel_ : object
        The kernel as fitted.
    n_features_in_ : int
        Number of features seen in `fit`, where the input is a table.

    See Also
    --------
    DissimilaritySpaceDiscriminant : A classifier on the distances to the classes.
    KernelQuadraticDiscriminant : Nearest class by kernel Mahalanobis distance.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mahalearn import KernelMahalanobisTransformer
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelMahalanobisTransformer().fit(X, y).transform(X[:2]).shape
    (2, 3)
    """

    def __init__(
        self,
        variant: Variant = "RC+",
        reg: Reg = "auto",
        *,
        reg_on: RegUnit = "auto",
        kernel: Kernel = "rbf",
        gamma: Gamma = "scale",
        degree: int = 3,
        coef0: float = 1,
        spectrum: Spectrum = "krein",
        standardize: Standardize = "auto",
    ) -> None:
        super().__init__(
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            spectrum=spectrum,
            standardize=standardize,
        )
        self.variant = variant
        self.reg = reg
        self.reg_on = reg_on

    @refuses_weights
    def fit(self, X: Objects, y: Objects) -> Self:
        """Fit the class distances.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training objects, or their square kernel matrix (``kernel="precomputed"``).
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : KernelMahalanobisTransformer
            The fitted transformer.
        """
        self._check_distance_parameters()
        training = self._fit_training(X, y)
        self.reg_ = path_value(self, training)
        self.distances_, _ = self._fit_distances(training, [self.reg_])
        training.release()
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @property
    def _distances(self):
        return self.distances_

    @property
    def _n_features_out(self):
        return len(self.classes_)

    def transform(self, X: Objects) -> np.ndarray:
        """Squared distances to the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        d2 : ndarray of shape (n_samples, n_classes)
            Squared distances, columns in the order of ``classes_``.
        """
        return self.mahalanobis(X)


OFFSETS = ("error", "least_squares", "loo", "map", None)


def check_offset(offset, class_weight, priors):
    """The offset's name, if what goes with it belongs to it."""
    offset = check_choice(offset, "offset", OFFSETS)
    if priors is not None and offset != "map":
        raise ValueError("priors belong to offset='map'; use class_weight with offset='error'.")
    if class_weight is not None and offset in ("map", None):
        raise ValueError(
            "class_weight belongs to offset='error' and 'loo'; use priors with offset='map'."
        )
    return offset


def _warn_of_leave_one_out(folds, variant, reg_on):
    """Say where leaving out one object at a fixed α flatters its own class."""
    fixed = variant.startswith("RC") and resolved_reg_on(reg_on, variant) == "kernel"
    if fixed and is_leave_one_out(folds.splits, len(folds.codes)):
        warnings.warn(
            f"LeaveOneOut() with reg_on='kernel' and {variant} gives scores that are too high: at "
            f"a fixed α the class of the left-out object has one object less, so a larger σ², and "
            f"is predicted too often. Use reg_on='covariance' or 'relative', or k folds.",
            UserWarning,
            stacklevel=2,
        )


@dataclass(kw_only=True)
class QuadraticPath(PathModels):
    """Class distances and their offsets (c,), or (c, r)."""

    offsets: np.ndarray

    def scores(self, training, queries, common="omitted"):
        """(m, c, r) scores of queries; common: as in `DistanceModel.sq_distances`."""
        scores = self.distances.sq_distances(queries, common=common) / -2 + self.offsets
        return scores[..., None] if scores.ndim == 2 else scores

    def complete_scores(self, training, queries):
        """The same with what all classes share, as far as it is known."""
        return self.scores(training, queries, common="known")


class KernelQuadraticDiscriminant(ClassDistancesMixin, KernelClassifier):
    """Kernel quadratic discriminant for positive definite and indefinite kernels.

    An object goes to the class with the largest f_j(x) = −d²_j(x)/2 + b_j, where d_j is the
    Mahalanobis distance to class j in the space that the kernel induces, and b_j an offset. Classes
    may be spread unequally: each has a covariance of its own.

    Read more in the :doc:`user guide </kernel_quadratic>`.

    Parameters
    ----------
    variant : {"RC+", "RC-", "IC+", "IC-", "FK+", "FK-"}, default="RC+"
        The distance. "+" regularises.

        - "RC+", "RC-": regularised covariance. RC- is the cheap approximation for a large `reg`.
        - "IC+", "IC-": invertible covariance. IC- drops small eigenvalues.
        - "FK+", "FK-": covariances in the complete kernel space. FK- drops small eigenvalues.
    reg : float, array-like of shape (n_classes,) or "auto", default="auto"
        Regularisation, positive: σ² for RC, α for IC and FK (see `reg_on`). "auto" is 0.01, and for
        dissimilarities (a measure, or a precomputed matrix −d² or −d) a tenth of the mean centred
        self-similarity (``reg=0.1, reg_on="relative"``), because such kernels are rarely positive
        definite and need more regularisation.
    reg_on : {"auto", "covariance", "kernel", "relative"}, default="auto"
        Unit of `reg`.

        - "covariance": the variance σ² added to the class covariance (α = n_jσ²).
        - "kernel": α itself, added to the class kernel matrix.
        - "relative": a fraction of the mean centred self-similarity of the training objects, for
          kernels of any scale (α is that fraction for IC, of its square for FK).
        - "auto": "covariance" for RC, otherwise "kernel".
    kernel : str or callable, default="rbf"
        A scikit-learn kernel name, ``"precomputed"``, or a kernel object (see
        :doc:`kernels </kernels>`).
    gamma : float, "scale" or "auto", default="scale"
        Coefficient of the kernels rbf, laplacian, poly, sigmoid and chi2. "scale" is
        1/(n_features·Var(X)), "auto" is 1/n_features.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant term of the polynomial and sigmoid kernels.
    spectrum : {"krein", "ignore", "raise", "clip", "flip", "square", "shift"}, default="krein"
        Treatment of negative eigenvalues.

        - "krein": regularise with their sign, as paper C does. The same as "ignore" if there are
          none.
        - "ignore": apply the formulas of a positive definite kernel.
        - "raise": raise an error.
        - "clip", "flip", "square", "shift": correct the kernel matrix first, for training objects
          and queries alike.
    standardize : {"auto", True, False}, default="auto"
        Centre the columns and divide them by their standard deviations first (kernels "rbf",
        "laplacian", "linear", "poly" and "sigmoid" only). "auto": only if the standard deviations
        differ by more than a factor of ten.
    offset : {"error", "least_squares", "loo", "map", None}, default="error"
        Offsets b_j of the classes.

        - "error": fewest pairwise training errors.
        - "least_squares": plain least squares, as the paper prints it; differs from "error" for
          three or more classes.
        - "loo": as "error", with leave-one-out distances (RC, no negative eigenvalues).
        - "map": maximum a posteriori, which gives probabilities (RC with one σ² or IC, no negative
          eigenvalues).
        - None: no offsets.
    class_weight : dict, "balanced" or None, default=None
        Weights of the errors that ``offset="error"`` and "loo" count. Without it a small class may
        never be predicted.
    priors : array-like of shape (n_classes,), default=None
        Prior probabilities for ``offset="map"``; the class frequencies if None.
    landmarks : int, "auto", objects, LandmarkMap or None, default=None
        Nyström landmarks, for many objects: memory is m² per class for m landmarks, and distances
        are approximations (see :doc:`landmarks </landmarks>`).

        - None: use all training objects.
        - int: number of landmarks.
        - "auto": the smallest number with a cross-validated score within one standard error of the
          best, as memory allows.
        - objects: the landmarks; for ``kernel="precomputed"`` their positions among the rows of X,
          whose columns are then all training objects or the landmarks.
        - LandmarkMap: also sets how landmarks are chosen and where their spectrum is cut.
    random_state : int, RandomState instance or None, default=None
        Determines the choice of landmarks.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    offsets_ : ndarray of shape (n_classes,)
        Offsets b_j; they sum to 0.
    reg_ : float or array-like
        `reg` as used, in the units of `reg_on`.
    kernel_ : object
        The kernel as fitted.
    landmarks_ : collection
        The landmarks, where the classifier has some; for a precomputed kernel their positions.
    n_features_in_ : int
        Number of features seen in `fit`, where the input is a table.

    See Also
    --------
    KernelSearchCV : Exact cross-validation of kernel classifiers.
    DissimilaritySpaceDiscriminant : A classifier on the distances to the classes.
    GaussianClassifier : Normal classes in the input space.

    References
    ----------
    E. Pękalska and B. Haasdonk, Kernel quadratic discriminant analysis for positive definite and
    indefinite kernels; B. Haasdonk and E. Pękalska, Classification with kernel Mahalanobis distance
    classifiers.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from mahalearn import KernelQuadraticDiscriminant
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), KernelQuadraticDiscriminant(reg=0.1))
    >>> print(f"{cross_val_score(model, X, y).mean():.2f}")
    0.97
    """

    def __init__(
        self,
        variant: Variant = "RC+",
        reg: Reg = "auto",
        *,
        reg_on: RegUnit = "auto",
        kernel: Kernel = "rbf",
        gamma: Gamma = "scale",
        degree: int = 3,
        coef0: float = 1,
        spectrum: Spectrum = "krein",
        standardize: Standardize = "auto",
        offset: Literal["error", "least_squares", "loo", "map"] | None = "error",
        class_weight: ClassWeight | None = None,
        priors: ArrayLike | None = None,
        landmarks: Any = None,
        random_state: RandomState | None = None,
    ) -> None:
        super().__init__(
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            spectrum=spectrum,
            standardize=standardize,
        )
        self.variant = variant
        self.reg = reg
        self.reg_on = reg_on
        self.landmarks = landmarks
        self.random_state = random_state
        self.offset = offset
        self.class_weight = class_weight
        self.priors = priors

    def _check_parameters(self):
        self._check_distance_parameters()
        offset = check_offset(self.offset, self.class_weight, self.priors)
        if offset == "loo" and self.landmarks is not None:
            raise ValueError(
                "offset='loo' is not available with landmarks, where one object has little "
                "influence on its class; use offset='error'."
            )

    def _fit_path(self, training, labels, values):
        offset = self.offset
        distances, alphas = self._fit_distances(training, values, spectral=offset == "map")
        rounding = distances.rounding()
        volumes = d2 = left_out = temperature = None
        if offset == "map":
            refuse_map(self.variant, alphas, training.counts, distances.nonnegative)
            volumes, temperature = distances.log_volumes(), 1.0
        elif offset is not None:
            d2 = distances.training_sq_distances(common="omitted")
            if len(values) == 1 and self.landmarks is None:
                left_out = left_out_scores(distances, d2)
            if offset == "loo":
                d2 = self._left_out_distances(d2, training, alphas)
        offsets = self._offsets_of(d2, labels, rounding, volumes)
        if left_out is not None:
            temperature = fit_temperature(left_out + offsets, labels.codes)
        return QuadraticPath(
            values=values,
            rounding=np.atleast_1d(rounding),
            temperature=temperature,
            distances=distances,
            offsets=offsets,
        )

    @property
    def _expects_temperature(self):
        closed_form = self.variant == "RC+" and self.landmarks is None and self.offset is not None
        return closed_form or self.offset == "map"

    def _left_out_distances(self, d2, training, alphas):
        """Training distances d2, those to the own class without the object, for offset="loo"."""
        less = without_one(alphas, training.counts, self.reg_on, self.variant)
        return leave_one_out_sq_distances(training, self.variant, less, d2)

    def _offsets_of(self, d2, labels, rounding, log_volumes):
        """Offsets (c,), or (c, r) for a path, from training distances d2 (n, c) or (n, c, r)."""
        match self.offset:
            case None:
                return np.zeros((len(labels.names), *np.shape(rounding)))
            case "map":
                return map_offsets(log_volumes, labels.priors(self.priors))
        weights = labels.weights * self._error_weights(labels)
        scores = d2 / -2 if d2.ndim == 2 else np.moveaxis(d2, -1, 0) / -2
        n_iter = 0 if self.offset == "least_squares" else N_ITER
        return error_offsets(scores, labels.codes, weights, rounding, n_iter).T

    def _error_weights(self, labels):
        """Weights of the errors of each class that is there; "balanced" by the sizes of all."""
        if is_word(self.class_weight, "balanced"):
            return labels.counts.sum() / (len(labels.counts) * labels.counts)
        classes = labels.classes
        weights = compute_class_weight(self.class_weight, classes=classes, y=classes)
        return check_error_weights(weights[labels.present], self.class_weight)

    def _fold_scores(self, folds, values):
        variant, reg_on, offset = self.variant, self.reg_on, self.offset
        _warn_of_leave_one_out(folds, variant, reg_on)
        classes = folds.classes
        if variant == "RC+" and is_leave_one_out(folds.splits, len(folds.codes)):
            priors = None if self.priors is None else check_priors(self.priors, len(classes))
            closed = leave_one_out_scores(
                folds, values, reg_on, offset, self.class_weight, priors, classes
            )
            if closed is not None:
                for f, (scores, rounding) in enumerate(closed):
                    yield f, slice(0, len(values)), np.arange(len(classes)), scores[None], rounding
                return
        options = {"volumes": offset == "map", "common": "omitted"}
        for fold in folds.distances(variant, values, reg_on, **options):
            d2 = fold.train
            if offset == "loo":
                d2 = self._left_out_distances(d2, folds[fold.fold].training, fold.alphas)
            labels = Labels(classes, fold.present, fold.codes, fold.counts)
            offsets = self._offsets_of(d2, labels, fold.rounding, fold.log_volumes)
            yield fold.fold, fold.steps, fold.present, fold.test / -2 + offsets, fold.rounding

    @fitted_attribute
    def offsets_(self, models: Any) -> np.ndarray:
        """Offsets b_j; they sum to 0."""
        return self._all_columns(models.offsets, np.nan)

    @fitted_attribute
    def reg_(self, models: Any) -> Any:
        """`reg` as used, in the units of `reg_on`."""
        return models.values[0]
