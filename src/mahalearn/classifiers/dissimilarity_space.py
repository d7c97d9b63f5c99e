"""Discriminants in the space of class-wise kernel Mahalanobis distances (paper A).

FD and QD of paper A are normal densities with one covariance or one for each class. Its authors'
toolbox computes them in other ways, which give other numbers where classes have unequal sizes or
singular covariances; both ways are here, as heads: what is trained on the distances.
"""

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from .._base import DensityClassifierMixin, ScoreClassifierMixin, class_scores
from .._typing import (
    ArrayLike,
    Gamma,
    Kernel,
    RandomState,
    Reg,
    RegUnit,
    Spectrum,
    Standardize,
    Variant,
)
from .._validation import check_choice, check_count, check_priors
from ..formulas.kernel_pca import gaussian_class, quadratic_scores
from ..formulas.linalg import RANK_RTOL
from ..formulas.offsets import settled, settling_steps
from ..training.exact import lookup_kernel
from ..training.folds import KernelFolds
from .kernel_classifier import KernelClassifier, Labels, PathModels, fitted_attribute
from .kernel_quadratic import ClassDistancesMixin

DISCRIMINANTS = ("fisher", "quadratic", "least_squares")
SINGULAR = ("ridge", "pseudo_inverse")


# --- discriminants on a few features: the heads ---------------------------------------------------


def standardization(X):
    """Mean and standard deviation of each column; 1 for a column that is constant but for rounding.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Features.

    Returns
    -------
    center, scale : array of shape (n_features,)
        What to subtract and what to divide by.
    """
    center, spread = X.mean(axis=0), X.std(axis=0)
    constant = spread <= RANK_RTOL * np.abs(X).max(axis=0)
    return center, np.where(constant, 1.0, spread)


class GaussianHead(DensityClassifierMixin, BaseEstimator):
    """Normal densities on a few features, with one covariance or one for each class.

    Features are standardised, covariances have the divisor n.

    Parameters
    ----------
    pooled : bool, default=True
        One covariance for all classes (Fisher's discriminant), or one for each class (quadratic).
    priors : "equal", array-like of shape (n_classes,) or None, default=None
        Class probabilities; None for the class frequencies. Equal priors lower the balanced error
        where classes have unequal sizes.
    singular : {"ridge", "pseudo_inverse"}, default="ridge"
        What happens to a direction in which a class has no variance (every training object of the
        class is at the same distance). "ridge" adds the rank tolerance of the library to every
        variance, which changes nothing for a regular covariance: the direction then decides alone.
        "pseudo_inverse" ignores the direction in the distance; its variance counts as the rank
        tolerance in the determinant.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    priors_ : ndarray of shape (n_classes,)
        Class probabilities in use.
    """

    def __init__(self, pooled=True, priors=None, singular="ridge"):
        self.pooled = pooled
        self.priors = priors
        self.singular = singular

    def fit(self, X, y):
        """Fit the class densities to the distances X (n, c)."""
        check_choice(self.singular, "singular", SINGULAR)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.center_, self.scale_ = standardization(X)
        Z = (X - self.center_) / self.scale_
        groups = [Z[codes == j] for j in range(len(self.classes_))]
        within = np.vstack([group - group.mean(axis=0) for group in groups])
        if self.pooled:  # one decomposition for all classes
            pooled = gaussian_class(within, pooled_with=within)
            self.gaussians_ = [pooled._replace(mean=group.mean(axis=0)) for group in groups]
        else:
            self.gaussians_ = [gaussian_class(group) for group in groups]
        self.priors_ = self._class_priors(codes)
        return self

    def _class_priors(self, codes):
        c = len(self.classes_)
        if self.priors is None:
            return np.bincount(codes) / len(codes)
        if isinstance(self.priors, str):
            check_choice(self.priors, "priors", ("equal",))
            return np.full(c, 1 / c)
        return check_priors(self.priors, c)

    def _scores(self, X):
        Z = (X - self.center_) / self.scale_
        within_axes_only = self.singular == "pseudo_inverse"
        return quadratic_scores(
            self.gaussians_, self.priors_, Z, [RANK_RTOL], within_axes_only=within_axes_only
        )[0]


class LeastSquaresHead(ScoreClassifierMixin, BaseEstimator):
    """Fisher's discriminant as a least-squares fit of the targets ±1, one class against the rest.

    The class with the largest fitted target wins. For two classes of equal size the decision is
    that of Fisher's discriminant; class sizes act through the constant term of the fit, not through
    priors. Singular problems have the solution of least norm on standardised features.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (n_features, n_classes)
        Weights of the standardised features.
    intercept_ : ndarray of shape (n_classes,)
        Constant terms.
    """

    def fit(self, X, y):
        """Fit the targets of each class to the distances X (n, c)."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.center_, self.scale_ = standardization(X)
        Z = (X - self.center_) / self.scale_
        self.coef_, self.intercept_ = one_vs_all_least_squares(Z, codes, len(self.classes_))
        return self

    def _scores(self, X):
        check_is_fitted(self)
        return (X - self.center_) / self.scale_ @ self.coef_ + self.intercept_


def new_head(discriminant, priors=None):
    """The discriminant on the distances, not fitted: one of the papers' by name, or a clone.

    Parameters
    ----------
    discriminant : {"fisher", "quadratic", "least_squares"} or classifier
        Its name, or the classifier itself.
    priors : "equal", array-like of shape (n_classes,) or None, default=None
        Class probabilities of "fisher" and "quadratic"; None for the class frequencies.

    Returns
    -------
    head : classifier
        Not fitted.
    """
    if isinstance(discriminant, str):
        if discriminant in ("fisher", "quadratic"):
            return GaussianHead(pooled=discriminant == "fisher", priors=priors)
        if discriminant == "least_squares":
            _refuse_priors(priors, "a least-squares fit of ±1 has no priors")
            return LeastSquaresHead()
    elif hasattr(discriminant, "fit") and hasattr(discriminant, "predict"):
        _refuse_priors(priors, "set those of the classifier itself")
        return clone(discriminant)
    raise ValueError(
        f"discriminant must be {', '.join(map(repr, DISCRIMINANTS))}, or a classifier with "
        f"fit and predict; got {discriminant!r}."
    )


def _refuse_priors(priors, reason):
    if priors is not None:
        raise ValueError(
            f"priors are for discriminant='fisher' or 'quadratic'; {reason}. Got priors={priors!r}."
        )


def _fit_head(head, d2, y):
    """A head fitted to distances (n, c), with a sentence where it cannot learn from equal ones."""
    try:
        return head.fit(d2, y)
    except (ArithmeticError, IndexError, ValueError, np.linalg.LinAlgError) as error:
        if np.ptp(d2, axis=0).any():
            raise
        raise ValueError(
            "All training objects have the same distance to each class, and "
            f"discriminant={head!r} cannot be fitted to such distances. Take another kernel, "
            "variant or reg, or one of the discriminants by name."
        ) from error


def head_rounding(head, X):
    """Size of the rounding errors in the scores of a head of ours, from objects X that it knows.

    Where a covariance is singular, scores are large and their differences small. The two largest
    scores of each object count, and of those the usual size: the scores of a class far away are
    large, too, but decide nothing.
    """
    if not isinstance(head, ScoreClassifierMixin):
        return 0.0
    sizes = np.abs(np.sort(head.query_scores(X), axis=1)[:, -2:]).max(axis=1)
    size = sizes.max() if len(head.classes_) == 2 else np.median(sizes)
    return float(64 * np.finfo(float).eps * size)


def one_vs_all_least_squares(X, codes, n_classes):
    r"""Weights and constants of f_j(x) = w_jᵀx + b_j with the least Σ_i (f_j(x_i) − t_ij)².

    t_ij = +1 where object i is of class j, −1 elsewhere. X (n, p), codes (n,) in 0, …, c − 1.
    Returns W (p, c) and b (c,). Directions whose singular value is below the rank tolerance get no
    weight: of several solutions the one with the least ‖w_j‖.
    """
    targets = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
    mean, target_mean = X.mean(axis=0), targets.mean(axis=0)
    W = np.linalg.lstsq(X - mean, targets - target_mean, rcond=RANK_RTOL)[0]
    return W, target_mean - mean @ W


# --- the classifier -------------------------------------------------------------------------------


def _by_value(d2):
    """Distances (n, c) for each value of a path, from (n, c, r)."""
    return list(np.ascontiguousarray(np.moveaxis(d2, -1, 0)))


@dataclass(kw_only=True)
class HeadsPath(PathModels):
    """Class distances and the discriminants on them.

    steps: what the distances are rounded to, so that no head learns from rounding.
    """

    heads: list
    steps: list

    def scores(self, training, queries):
        """(m, c, r) scores of queries."""
        return _head_path_scores(self.heads, self.steps, self.distances.sq_distances(queries))

    def complete_scores(self, training, queries):
        """The same; those of our own heads are not relative to the largest."""
        if not isinstance(self.heads[0], ScoreClassifierMixin):
            return self.scores(training, queries)
        d2 = _settled_path(self.distances.sq_distances(queries), self.steps)
        tables = zip(self.heads, d2, strict=True)
        return np.stack([head.query_scores(d) for head, d in tables], axis=-1)


def _settled_path(d2, steps):
    """Settled distances (m, c) for each value of a path, from (m, c) or (m, c, r)."""
    return _by_value(settled(d2 if d2.ndim == 3 else d2[..., None], np.transpose(steps)))


def _head_path_scores(heads, steps, d2):
    """(m, c, r) scores of the heads of a path, for distances (m, c) or (m, c, r)."""
    tables = zip(heads, _settled_path(d2, steps), strict=True)
    return np.stack([class_scores(head, d)[0] for head, d in tables], axis=-1)


class DissimilaritySpaceDiscriminant(ClassDistancesMixin, KernelClassifier):
    """A discriminant in the space of the squared kernel Mahalanobis distances to the classes.

    Each object is described by its squared distances to the classes, ψ(x) = (d²_1(x), …, d²_c(x)),
    and a simple classifier is trained on them. FD-IC, FD-RC, QD-IC and QD-RC of paper A are special
    cases.

    Read more in the :doc:`user guide </dissimilarity_space>`.

    Parameters
    ----------
    discriminant : {"fisher", "quadratic", "least_squares"} or classifier, default="fisher"
        Classifier that is trained on the distances.

        - "fisher": normal densities with one covariance (Fisher's linear discriminant).
        - "quadratic": normal densities with a covariance for each class.
        - "least_squares": least squares on targets ±1, one class against the rest.
        - a scikit-learn classifier, which is cloned.
    variant : {"RC+", "RC-", "IC+", "IC-", "FK+", "FK-"}, default="RC+"
        The distance, as in :class:`KernelQuadraticDiscriminant`.
    reg : float, array-like of shape (n_classes,) or "auto", default="auto"
        Regularisation of the distances, as in :class:`KernelQuadraticDiscriminant`.
    priors : "equal", array-like of shape (n_classes,) or None, default=None
        Prior probabilities of the named discriminants; the class frequencies if None. "equal" gives
        better balanced errors where classes differ in size.
    reg_on : {"auto", "covariance", "kernel", "relative"}, default="auto"
        Unit of `reg`, as in :class:`KernelQuadraticDiscriminant`.
    cv : int or None, default=None
        Number of stratified folds for the distances on which the discriminant is trained. With a
        number it is trained on out-of-fold distances (a class of one object is never held out).
        None: it is trained on the distances of the training objects themselves, as in the papers;
        those to an object's own class are too small. New objects are always measured by the model
        of all training objects.
    random_state : int, RandomState instance or None, default=None
        Shuffles the objects into the folds of `cv`; determines the choice of landmarks.
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
        Treatment of negative eigenvalues, as in :class:`KernelQuadraticDiscriminant`.
    standardize : {"auto", True, False}, default="auto"
        Centre the columns and divide them by their standard deviations first (kernels "rbf",
        "laplacian", "linear", "poly" and "sigmoid" only). "auto": only if the standard deviations
        differ by more than a factor of ten.
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

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    head_ : classifier
        The discriminant as fitted on the distances.
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
    KernelQuadraticDiscriminant : Nearest class by kernel Mahalanobis distance.
    KernelMahalanobisTransformer : Distances to the classes as features.

    References
    ----------
    B. Haasdonk and E. Pękalska, Classification with kernel Mahalanobis distance classifiers.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from mahalearn import DissimilaritySpaceDiscriminant
    >>> X, y = load_wine(return_X_y=True)
    >>> qd_rc = DissimilaritySpaceDiscriminant("quadratic", variant="RC+", reg=0.1)
    >>> model = make_pipeline(StandardScaler(), qd_rc)
    >>> print(f"{cross_val_score(model, X, y).mean():.2f}")
    0.96
    """

    def __init__(
        self,
        discriminant: Any = "fisher",
        variant: Variant = "RC+",
        reg: Reg = "auto",
        *,
        priors: Literal["equal"] | ArrayLike | None = None,
        reg_on: RegUnit = "auto",
        cv: int | None = None,
        random_state: RandomState | None = None,
        kernel: Kernel = "rbf",
        gamma: Gamma = "scale",
        degree: int = 3,
        coef0: float = 1,
        spectrum: Spectrum = "krein",
        standardize: Standardize = "auto",
        landmarks: Any = None,
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
        self.discriminant = discriminant
        self.priors = priors
        self.cv = cv
        self.random_state = random_state

    def _check_parameters(self):
        self._check_distance_parameters()
        new_head(self.discriminant, priors=self.priors)
        if self.cv is not None and check_count(self.cv, "cv") < 2:
            raise ValueError(f"cv must be at least 2 folds, or None; got cv={self.cv!r}.")
        if self.cv is not None and self.landmarks is not None:
            raise ValueError(
                "Out-of-fold distances are not available with landmarks, where one object has "
                "little influence on its class; use cv=None."
            )

    def _fit_path(self, training, labels, values):
        distances, _ = self._fit_distances(training, values)
        if self.cv is not None:
            d2 = self._out_of_fold(distances, training, labels, values)
        else:
            d2 = distances.training_sq_distances()
        heads, steps, noise = self._fit_heads(d2, labels, np.atleast_1d(distances.rounding()))
        return HeadsPath(
            values=values, rounding=noise, distances=distances, heads=heads, steps=steps
        )

    def _fit_heads(self, d2, labels, rounding):
        """A discriminant for each value of the path, on distances (n, c) or (n, c, r).

        Returns them with the steps to which distances are settled and the scores' rounding.
        """
        priors = self.priors
        if priors is not None and not isinstance(priors, str):
            priors = labels.priors(priors)  # of the classes that are there
        rows = labels.in_proportion()
        d2 = (d2 if d2.ndim == 3 else d2[..., None])[rows]
        steps = settling_steps(d2, rounding)
        tables, y = _by_value(settled(d2, steps)), labels.names[labels.codes[rows]]
        heads = [_fit_head(new_head(self.discriminant, priors=priors), d, y) for d in tables]
        noise = [head_rounding(head, d) for head, d in zip(heads, tables, strict=True)]
        return heads, list(steps.T), np.array(noise)

    def _fold_scores(self, folds, values):
        if self.cv is not None:
            yield from super()._fold_scores(folds, values)
            return
        for fold in folds.distances(self.variant, values, self.reg_on):
            labels = Labels(folds.classes, fold.present, fold.codes, fold.counts)
            heads, steps, noise = self._fit_heads(fold.train, labels, fold.rounding)
            scores = _head_path_scores(heads, steps, fold.test)
            yield fold.fold, fold.steps, fold.present, scores, noise

    @fitted_attribute
    def head_(self, models: Any) -> Any:
        """The discriminant as fitted on the distances."""
        return models.heads[0]

    @fitted_attribute
    def reg_(self, models: Any) -> Any:
        """`reg` as used, in the units of `reg_on`."""
        return models.values[0]

    def _out_of_fold(self, distances, training, labels, values):
        """Distances of each object by models that have not seen it.

        An object alone in its class stays in: its distances are those of the whole training set.
        """
        codes, everyone = labels.codes, np.arange(len(labels.codes))
        counts = np.bincount(codes)
        shared = counts[codes] > 1
        if not shared.any():
            return distances.training_sq_distances()
        n_splits = min(self.cv, counts.max())
        splitter = StratifiedKFold(n_splits, shuffle=True, random_state=self.random_state)
        with warnings.catch_warnings():
            # A class smaller than the number of folds is spread over as many as it has objects.
            warnings.filterwarnings("ignore", message="The least populated class")
            splits = list(splitter.split(codes[shared], codes[shared]))
        tests = [everyone[shared][test] for _, test in splits]
        splits = [(np.setdiff1d(everyone, test), test) for test in tests]
        lookup = lookup_kernel(training.original)
        y, spectrum = labels.names[codes], training.spectrum
        folds = KernelFolds(None, y, codes, splits, None, spectrum, lookup=lookup)
        parts = []
        for f in range(len(folds)):
            fold = folds[f]
            model, _ = self._fit_distances(fold.training, values)
            parts.append(model.sq_distances(fold.queries))
        if not shared.all():
            tests.append(everyone[~shared])
            parts.append(distances.training_sq_distances()[~shared])
        return np.concatenate(parts)[np.concatenate(tests).argsort()]
