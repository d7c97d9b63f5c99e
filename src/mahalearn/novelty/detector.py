"""Novelty detection by kernel Mahalanobis distances."""

from typing import Literal, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    check_array,
    check_is_fitted,
)

from .._base import NO_LABELS, KernelEstimator
from .._typing import (
    CV,
    ArrayLike,
    Gamma,
    Kernel,
    Objects,
    RandomState,
    Reg,
    Spectrum,
    Standardize,
    Variant,
)
from .._validation import (
    check_choice,
    check_count,
    check_labels,
    check_memory,
    check_reg,
    check_share,
    check_symmetric,
    check_unless_word,
    is_word,
    refuse_dask,
    sorted_labels,
)
from ..classifiers.kernel_quadratic import KernelMahalanobisTransformer
from ..kernels.protocol import (
    fit_kernel,
    fit_kernel_and_gram,
    is_named,
    is_precomputed,
    kernel_matrix,
    standardizes,
    takes_vectors,
    unit_length,
)
from ..training.exact import fit_training
from ..training.sample import join_rows
from ._folds import class_distances, class_folds, draw_by_class, fit_folds
from ._full import (
    SPECTRA_AS_THEY_ARE,
    fit_full,
    learned_parameters,
    probability,
    why_not_closed,
    why_refitted,
)
from ._p_values import PValueMixin
from .drift import (
    ALTERNATIVES,
    Alternative,
    DriftTest,
    batch_codes,
    compare_by_class,
    pool_p_value,
)

VARIANTS = ("RC+", "RC-", "IC+", "IC-", "FK+", "FK-", "other-classes")
REG_ON = ("relative", "covariance", "kernel")
# Chosen on seven data sets, which benchmarks/novelty.py marks.
SMOOTH = 0.1
FULL_REG = {"other-classes": 1e-4, "RC+": 1e-3}
CROSS_REG = {"other-classes": 1e-4}
OTHER_REG = 0.1


class KernelMahalanobisNovelty(PValueMixin, KernelEstimator):
    """Novelty detection by kernel Mahalanobis distances, with conformal p-values.

    For each class a p-value says how typical an object is of it. A new object of class j has p_j ≤
    a with probability at most a, for any distribution, if it is drawn as the training objects of
    the class were. This is exact if no parameter is learned from the training objects, and
    approximate if gamma and reg are scaled by them, as by default. No contamination rate and no
    outliers are needed. ``method_`` names the method of the p-values and ``guarantee_`` states what
    holds.

    Read more in the :doc:`user guide </novelty>`.

    Parameters
    ----------
    variant : {"RC+", "RC-", "IC+", "IC-", "FK+", "FK-", "other-classes"}, default="RC+"
        The distance.

        - "RC+": full conformal if the kernel is positive definite on each class, else
          cross-conformal.
        - "other-classes": RC+ in the map x → k(x, training objects of the other classes); full
          conformal for every kernel; needs two classes.
        - "RC-", "IC+", "IC-", "FK+", "FK-": as in :class:`KernelQuadraticDiscriminant`;
          cross-conformal.

        Kernels that learn more than a scale from the training objects (standardised columns,
        ``MahalanobisKernel``, "gower") are fitted in each fold and are always cross-conformal.
    level : float, default=0.05
        `predict` gives −1 to objects with ``p_none`` ≤ level: about this share of regular objects
        is rejected.
    reg : float, array-like of shape (n_classes,) or "auto", default="auto"
        Regularisation (see `reg_on`). ``"auto"`` is 1e-3 for full-conformal RC+, 1e-4 for
        "other-classes" and 0.1 for the other cross-conformal distances, which need more.
    reg_on : {"relative", "covariance", "kernel"}, default="relative"
        Unit of `reg`. Full-conformal models use the α of a class with one more object,
        (n_j + 1)σ².

        - "relative": fraction of the mean spread of the objects around their class means.
        - "covariance": the variance σ² that is added to the class covariance.
        - "kernel": α, added to the class kernel matrix.
    kernel : str or callable, default="rbf"
        A scikit-learn kernel name, ``"precomputed"``, a measure or a kernel object (see
        :doc:`kernels </kernels>`).
    gamma : float, "smooth", "scale" or "auto", default="smooth"
        Coefficient of the kernels rbf, laplacian, poly, sigmoid and chi2.

        - "scale": 1/(n_features·Var(X)).
        - "smooth": a tenth of "scale".
        - "auto": 1/n_features.
    spectrum : {"krein", "ignore", "raise", "clip", "flip", "square", "shift"}, default="krein"
        Treatment of negative eigenvalues, as in :class:`KernelQuadraticDiscriminant`.
        "other-classes" takes the kernel as it is: it is defined for every kernel.
    standardize : {"auto", True, False}, default="auto"
        Centre the columns and divide them by their standard deviations first, as in
        :class:`KernelQuadraticDiscriminant`. "auto": where these differ by more than a factor of
        ten, and rows are not normalised. The p-values are then cross-conformal. Do not scale the
        columns with all training objects beforehand: with many columns p-values are then too small.
    normalize : bool, default=False
        Divide each row by its length, as suits embeddings. It learns nothing from the training
        objects.
    n_references : int, default=None
        Approximate number of training objects with which ``variant="other-classes"`` compares an
        object, drawn at random from each class (at least two of each). None: all. Fewer save time
        and memory; the p-values stay exact, because the draw does not depend on the data.
    cv : int, default=5
        Number of folds of cross-conformal p-values.
    random_state : int, RandomState instance or None, default=0
        Draws the folds and the references.

    Attributes
    ----------
    class_labels_ : ndarray of shape (n_classes,)
        Labels of the training classes; ``[1]`` if `fit` got none. (`predict` returns 1 and −1, not
        these labels.)
    method_ : {"full", "cross"}
        Method of the p-values.
    guarantee_ : str
        Guarantee of the p-values, in words.
    offset_ : float
        ``decision_function`` is ``score_samples`` minus this.
    decision_scores_ : ndarray of shape (n_samples,)
        Leave-one-out distances of the training objects to their classes (of the fold that has not
        seen them for cross-conformal models); large for outliers.
    labels_ : ndarray of shape (n_samples,)
        1 for training objects that are outliers at `level` by their leave-one-out ranks, else 0.
    gamma_ : float or None
        gamma as used by a named kernel.
    reg_ : float or array-like
        reg as used.
    kernel_ : object
        The kernel as fitted.
    reference_indices_ : ndarray
        Positions of the references among the training objects, of "other-classes".
    n_features_in_ : int
        Number of features seen in `fit`, where the input is a table.

    See Also
    --------
    MahalanobisNovelty : The same in the input space, for tables and embeddings of any size.
    ConformalClassifier : Prediction sets around any classifier.

    Examples
    --------
    Wines of a cultivar that was never seen:

    >>> from sklearn.datasets import load_wine
    >>> from mahalearn import KernelMahalanobisNovelty
    >>> X, y = load_wine(return_X_y=True)
    >>> regular = y != 2
    >>> model = KernelMahalanobisNovelty().fit(X[regular], y[regular])
    >>> print(f"{(model.predict(X[~regular]) == -1).mean():.2f} of them are rejected")
    0.69 of them are rejected
    """

    def __init__(
        self,
        variant: Variant | Literal["other-classes"] = "RC+",
        level: float = 0.05,
        *,
        reg: Reg = "auto",
        reg_on: Literal["relative", "covariance", "kernel"] = "relative",
        kernel: Kernel = "rbf",
        gamma: Gamma | Literal["smooth"] = "smooth",
        spectrum: Spectrum = "krein",
        standardize: Standardize = "auto",
        normalize: bool = False,
        n_references: int | None = None,
        cv: CV = 5,
        random_state: RandomState | None = 0,
    ) -> None:
        self.variant = variant
        self.level = level
        self.reg = reg
        self.reg_on = reg_on
        self.kernel = kernel
        self.gamma = gamma
        self.spectrum = spectrum
        self.standardize = standardize
        self.normalize = normalize
        self.n_references = n_references
        self.cv = cv
        self.random_state = random_state

    # --- fitting ----------------------------------------------------------------------------------

    def fit(self, X: Objects, y: Objects | None = None) -> Self:
        """Fit the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training objects, all regular, or their square kernel matrix
            (``kernel="precomputed"``).
        y : array-like of shape (n_samples,), default=None
            Class labels; without them, or with one label only, all objects are of one class.

        Returns
        -------
        self : KernelMahalanobisNovelty
            The fitted detector.
        """
        X, codes = self._check_fit(X, y)
        self._check_options(len(self.class_labels_))
        options = self._kernel_options(X)
        self.kernel_, self._training = self._train(X, codes, options)
        self.gamma_, self._eigenvalues, self._codes = options.get("gamma"), None, codes
        training, full = self._training, None
        closed = not why_not_closed(training, self.variant, self.spectrum)
        closed = closed and not why_refitted(self.kernel, self._standardize, X)
        columns = self._draw_references(training)
        if columns is not None:
            self.reference_indices_ = training.order[columns]
        if closed:
            self.reg_ = self._reg(FULL_REG)
            full = fit_full(training, self.reg_, self.reg_on, columns)
            if full is None and (columns is not None or self.spectrum != "ignore"):
                self._refuse_lost_reg()
        training.release()
        self.method_, self._ranks = "full", full
        if full is None:
            self.method_, self.reg_ = "cross", self._reg(CROSS_REG)
            held_outs = class_folds(codes, self.cv, self.random_state)
            pairwise = is_precomputed(self.kernel)
            self._ranks = fit_folds(X, codes, held_outs, pairwise, self._fit_part, class_distances)
        learned = learned_parameters(self.kernel, self.gamma, self._standardize, self.reg_on)
        definite = columns is not None or training.positive_definite
        self.guarantee_ = (
            "class-conditional: a new object of class j has p_j <= a with probability "
            + probability(self.method_, learned, definite)
        )
        self._judge_training(self._ranks.training_distances[np.arange(len(codes)), codes])
        return self._warn_of_level()

    def _check_options(self, n_classes):
        check_share(self.level, "level")
        check_choice(self.variant, "variant", VARIANTS)
        check_choice(self.reg_on, "reg_on", REG_ON)
        self.checked_spectrum()
        check_unless_word(self.reg, "reg", ("auto",), lambda reg, _: check_reg(reg, n_classes))
        if isinstance(self.gamma, str):
            check_choice(self.gamma, "gamma", ("smooth", "scale", "auto"))
        by_references = self.variant == "other-classes"
        if self.n_references is not None:
            check_count(self.n_references, "n_references")
            if not by_references:
                raise ValueError(
                    f"n_references={self.n_references!r} is for variant='other-classes'; got "
                    f"variant={self.variant!r}. Leave n_references=None."
                )
        if by_references and n_classes == 1:
            raise ValueError(
                "variant='other-classes' compares an object with the objects of the *other* "
                "classes and needs two classes; for one class use variant='RC+'."
            )
        if by_references and self.spectrum not in SPECTRA_AS_THEY_ARE:
            raise ValueError(
                "variant='other-classes' is defined for every kernel as it is; spectrum="
                f"{self.spectrum!r} would correct it. Leave spectrum='krein'."
            )

    def _check_fit(self, X, y):
        """X ready for the kernel, class codes; sets class_labels_."""
        refuse_dask(self, X, y)
        X = self._normalized(self._check_objects(X))
        if y is None:
            self.class_labels_ = np.array([1])
            return X, np.zeros(len(X), dtype=np.intp)
        self.class_labels_, codes = sorted_labels(check_labels(self, X, y))
        return X, codes

    def _check_query(self, X):
        return self._normalized(super()._check_query(X))

    def _normalized(self, X):
        """Rows of unit length, or objects as they are."""
        if not self.normalize:
            return X
        if is_precomputed(self.kernel) or not takes_vectors(self.kernel):
            raise ValueError(
                "normalize=True divides rows of numbers by their lengths; this kernel takes "
                f"{'kernel values' if is_precomputed(self.kernel) else 'objects'}. Leave "
                "normalize=False."
            )
        return unit_length(X)

    @property
    def _standardize(self):
        """`standardize`; rows of unit length are in common units already."""
        return False if self.normalize and self.standardize == "auto" else self.standardize

    def _kernel_options(self, X):
        """gamma and standardize of a named kernel of training objects X."""
        if not is_named(self.kernel):
            return {}
        standardize, gamma = standardizes(self._standardize, self.kernel, X), self.gamma
        if isinstance(gamma, str):
            scale = "scale" if gamma == "smooth" else gamma
            gamma = fit_kernel(self.kernel, X, gamma=scale, standardize=standardize).gamma
            if self.gamma == "smooth" and gamma is not None:
                gamma = SMOOTH * gamma
        return {"gamma": gamma, "standardize": standardize}

    def _train(self, X, codes, options):
        """The fitted kernel and the training kernel, in class order."""
        precomputed = is_precomputed(self.kernel)
        labels = codes if codes.any() else None
        kernel, training = fit_training(
            X, labels, codes, None if precomputed else self.kernel, self.spectrum, **options
        )
        return "precomputed" if precomputed else kernel, training

    def _reg(self, defaults):
        return defaults.get(self.variant, OTHER_REG) if is_word(self.reg, "auto") else self.reg

    def _refuse_lost_reg(self):
        raise ValueError(
            f"reg={self.reg_!r} ({self.reg_on}) is smaller than the rounding errors of the "
            f"kernel's values. "
            "Give a larger reg, or scale the kernel."
        )

    def _draw_references(self, training):
        """Positions of the references in class order, None where there are none."""
        if self.variant != "other-classes":
            return None
        if self.n_references is None or self.n_references >= len(training):
            return slice(None)
        codes = np.repeat(np.arange(len(training.counts)), training.counts)
        return draw_by_class(codes, self.n_references, check_random_state(self.random_state))

    def _fit_part(self, X, members):
        """Distances to the classes of a part of the objects; None if it cannot have any."""
        classes, codes = np.unique(self._codes[members], return_inverse=True)
        reg = check_reg(self.reg_, len(self.class_labels_))[classes]
        options = self._kernel_options(X)
        if self.variant != "other-classes":
            model = KernelMahalanobisTransformer(
                self.variant,
                reg,
                reg_on=self.reg_on,
                kernel=self.kernel,
                spectrum=self.spectrum,
                **options,
            )
            return model.fit(X, codes if len(classes) > 1 else NO_LABELS)
        if len(classes) == 1:
            return None
        training = self._train(X, codes, options)[1]
        model = fit_full(training, reg, self.reg_on, self._draw_references(training))
        if model is None:
            self._refuse_lost_reg()
        training.release()
        return model

    # --- queries ----------------------------------------------------------------------------------

    def mahalanobis(self, X: Objects) -> np.ndarray:
        """Squared distance of each row of X to each class.

        Full conformal: RC+ with α = (n_j + 1)σ². Cross-conformal: the mean over the folds' models.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        d2 : ndarray of shape (n_samples, n_classes)
            Squared distances, columns in the order of ``class_labels_``.
        """
        check_is_fitted(self)
        return self._ranks.mahalanobis(self._check_query(X))

    def p_values(self, X: Objects) -> np.ndarray:
        """Typicality of each row of X for each class.

        ``guarantee_`` says how probable p_j ≤ a is for a new object of class j.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``class_labels_``; the least possible value is 1/(n_j + 1).
        """
        return self._evaluate(X)[1]

    def _evaluate(self, X):
        check_is_fitted(self)
        return self._ranks.evaluate(self._check_query(X))

    def _nearest(self, X):
        """The least distance to any class and p_none, (m,) each."""
        d2, _, none = self._evaluate(X)
        return d2.min(axis=1), none

    def _class_counts(self):
        return np.bincount(self._codes)

    @property
    def _n_ranked(self):
        return len(self._codes)

    @property
    def _n_unbounded(self):
        return int(np.isinf(self._ranks.nearest).sum())

    @property
    def _distance_scale(self):
        nearest = self._ranks.nearest
        nearest = np.abs(nearest[np.isfinite(nearest)])
        return (np.median(nearest) if len(nearest) else 0.0) or 1.0

    def training_distances(self) -> np.ndarray:
        """Squared distances of the training objects, each left out: what limits are drawn from.

        Returns
        -------
        d2 : ndarray of shape (n_samples, n_classes)
            In the order of the training objects; of its fold's model for cross-conformal ones.
        """
        check_is_fitted(self)
        return self._ranks.training_distances

    def training_codes(self) -> np.ndarray:
        """Class of each training object, as a position in ``class_labels_``.

        Returns
        -------
        codes : ndarray of shape (n_samples,)
            In the order of the training objects.
        """
        check_is_fitted(self)
        return self._codes.copy()

    # --- drift ------------------------------------------------------------------------------------

    def drift_test(
        self,
        X_batch: Objects,
        y_batch: ArrayLike | None = None,
        *,
        alternative: Alternative = "greater",
        batch_kernel: ArrayLike | None = None,
    ) -> DriftTest:
        """Test a batch of objects against the training objects.

        The batch joins the class, every object's leverage in class ∪ batch is computed, and a
        rank-sum test compares the batch's with the others. The leverages treat all objects alike,
        and the kernel (gamma, standardised columns) is fitted to training objects and batch
        together, so that the p-value is exact, whatever the distribution: if the batch was drawn as
        the class was, p ≤ a has at most the probability a. (A Kolmogorov–Smirnov test on conformal
        p-values is not valid: they share the training objects.)

        A batch as large as the class would be half of the pool, and its objects no farther out than
        those of the class. A batch of more than half the class (of 15 objects and more) is
        therefore tested in parts of at most a third, every k-th object in one part; the least of
        their p-values times their number is a valid p-value.

        Parameters
        ----------
        X_batch : array-like of shape (n_samples, n_features)
            The batch, as the model takes queries.
        y_batch : array-like of shape (n_samples,), default=None
            Labels of the batch: each class is compared with its own objects. Without them the whole
            batch is compared with each class in turn; a mixed batch is judged by ``p_pooled``.
        alternative : {"greater", "less", "two-sided"}, default="greater"
            Change that the test looks for.

            - "greater": the objects of the batch lie farther out.
            - "less": they lie nearer.
            - "two-sided": either.
        batch_kernel : array-like of shape (n_samples, n_samples), default=None
            Kernel values of the batch with itself: needed with a precomputed kernel, refused with
            another one.

        Returns
        -------
        result : DriftTest
            A p-value for each class, and one for all training objects together.

        Examples
        --------
        >>> import numpy as np
        >>> from mahalearn import KernelMahalanobisNovelty
        >>> rng = np.random.default_rng(0)
        >>> model = KernelMahalanobisNovelty().fit(rng.normal(size=(60, 4)))
        >>> bool(model.drift_test(rng.normal(size=(20, 4))).p_pooled > 0.05)
        True
        >>> bool(model.drift_test(rng.normal(0, 2, size=(20, 4))).p_pooled < 0.001)
        True
        """
        check_choice(alternative, "alternative", ALTERNATIVES)
        X = self._check_query(X_batch)
        codes = batch_codes(y_batch, X, self.class_labels_)
        training, n, m = self._training, len(self._training), len(X)
        check_memory(3 * (n + m) ** 2, f"The kernel matrix of {n} training objects and the batch")
        K = self._pool_gram(X, batch_kernel)
        reg = check_reg(self.reg_, len(self.class_labels_))

        def class_p_value(j, rows):
            members = training.slices[j]
            pool = np.r_[members.start : members.stop, n + rows]
            if self.variant == "other-classes":
                marks = np.flatnonzero(np.isin(training.order, self.reference_indices_))
                others = (marks < members.start) | (marks >= members.stop)
                phi = K[np.ix_(pool, marks[others])]
                part = phi @ phi.T / phi.shape[1]
            else:
                part = K[np.ix_(pool, pool)]
            return pool_p_value(part, training.counts[j], reg[j], self.reg_on, alternative)

        pooled = pool_p_value(K, n, float(reg.mean()), self.reg_on, alternative)
        return compare_by_class(self.class_labels_, codes, m, class_p_value, pooled)

    def _pool_gram(self, X, batch_kernel):
        """Kernel matrix of the training objects, in class order, and the batch X."""
        if self.spectrum not in SPECTRA_AS_THEY_ARE:
            raise ValueError(
                "drift_test takes the kernel as it is; fit with spectrum='krein' instead of "
                f"{self.spectrum!r}."
            )
        if not is_precomputed(self.kernel):
            if batch_kernel is not None:
                raise ValueError(
                    "batch_kernel= is for kernel='precomputed'; the model computes these values by "
                    "its own kernel."
                )
            objects = self._training.X
            pool = join_rows(objects, X, np.arange(len(objects) + len(X)))
            kernel, gram = fit_kernel_and_gram(self.kernel, pool, **self._kernel_options(pool))
            return kernel_matrix(kernel, pool, pool) if gram is None else gram
        if batch_kernel is None:
            raise ValueError(
                "With a precomputed kernel the test needs the batch's kernel values with itself: "
                "pass batch_kernel=, or use kernel=PrecomputedKernel(K) on row numbers."
            )
        batch = check_array(batch_kernel, dtype=np.float64, input_name="batch_kernel")
        if batch.shape != (len(X), len(X)):
            raise ValueError(f"batch_kernel must have shape {(len(X), len(X))}; got {batch.shape}.")
        batch = check_symmetric(batch, "batch_kernel")
        cross = self._training.cross(X)
        within = self._training.training_cross(slice(None), slice(None))
        return np.block([[within, cross.T], [cross, batch]])
