"""Novelty detection by kernel Mahalanobis distances."""

import warnings
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import OutlierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from .._base import NO_LABELS, KernelEstimator
from .._memory import row_chunks
from .._typing import (
    CV,
    Floats,
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
    check_memory,
    check_objects,
    check_positive,
    check_real,
    check_reg,
    refuse_dask,
    refuse_objects,
    sorted_labels,
    take,
    validate_rows,
)
from ..classifiers.distances import KernelMahalanobisTransformer
from ..formulas.conformal import (
    benjamini_hochberg,
    least_other,
    prediction_sets,
    rank_p_values,
)
from ..formulas.linalg import center_gram, centering, is_psd
from ..kernels.protocol import (
    WITH_GAMMA,
    fit_kernel,
    fit_kernel_and_gram,
    is_named,
    is_precomputed,
    kernel_settings,
    standardizes,
    takes_vectors,
)
from ._models import (
    SPECTRA_AS_THEY_ARE,
    CrossFold,
    check_confidence,
    class_folds,
    draw_by_class,
    evaluate_folds,
    fit_full,
    fold_distances,
    objects_of,
    probability,
    relative_parameters,
    separation,
    warn_small_classes,
    why_refitted,
)

KERNEL_VARIANTS = ("RC+", "RC-", "IC+", "IC-", "FK+", "FK-")
VARIANTS = ("auto", "other-classes", *KERNEL_VARIANTS)
REG_ON = ("relative", "covariance", "kernel")
SEARCHES = (None, "auto", "loco", "permuted")
# Chosen on seven data sets, which benchmarks/novelty.py marks.
SMOOTH = 0.1
DEFAULT_REG = {"other-classes": 1e-4, "RC+": 1e-3}
OTHER_REG = 0.1
# A search looks at no more objects than this; it draws them by class.
SEARCH_OBJECTS = 1500


class KernelMahalanobisNovelty(OutlierMixin, KernelEstimator):
    """Novelty detection by kernel Mahalanobis distances, with conformal p-values.

    For each class a p-value says how typical an object is of it: p_j ≤ a has at most the
    probability a for a new object of class j, whatever the distribution, if it is drawn as the
    training objects of the class were. That is exact where no parameter is taken from the training
    objects, and nearly so where gamma and reg are scaled by them, as by default. No contamination
    rate is guessed, and no outliers are needed for fitting. ``method_`` says how the p-values arise
    and ``guarantee_`` what holds.

    Parameters
    ----------
    variant : {"auto", "other-classes", "RC+", "RC-", "IC+", "IC-", "FK+", "FK-"}, default="auto"
        Which distance. ``"other-classes"``: RC+ in the map x → k(x, training objects of the other
        classes), full conformal, for two classes and more. ``"RC+"``: full conformal where the
        kernel is positive definite on each class. Both are cross-conformal where the kernel learns
        more than a scale from the training objects (standardised columns, ``MahalanobisKernel``,
        ``"gower"``): each fold fits it anew. The other kernel variants, and RC+ for an
        indefinite kernel, are cross-conformal. ``"auto"`` is ``"other-classes"``, and ``"RC+"`` if
        there is one class.
    level : float, default=0.05
        `predict` gives −1 to objects with ``p_none`` ≤ level: about this share of regular objects
        is rejected.
    reg : float, array-like of shape (n_classes,) or "auto", default="auto"
        Regularisation (see `reg_on`). ``"auto"`` is 1e-4 for "other-classes", 1e-3 for
        full-conformal RC+ and 0.1 for cross-conformal distances, whose folds agree only if they are
        regularised well.
    reg_on : {"relative", "covariance", "kernel"}, default="relative"
        What `reg` is: a fraction of the mean spread of the objects around their class means, the
        variance σ² added to the class covariance, or α on the class kernel matrix. Full-conformal
        models use the α of the class with one more object, (n_j + 1)σ².
    kernel : str or callable, default="rbf"
        A scikit-learn kernel name, ``"precomputed"``, a measure or a kernel object (see
        :mod:`mahalearn.kernels`).
    gamma : float, "smooth", "scale" or "auto", default="smooth"
        Parameter of the kernels rbf, laplacian, poly, sigmoid and chi2. ``"scale"`` is
        1/(n_features·Var(X)), ``"smooth"`` a tenth of it.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict, default=None
        Keyword arguments of a kernel that is a function.
    spectrum : {"krein", "ignore", "raise", "clip", "flip", "square", "shift"}, default="krein"
        What to do about negative eigenvalues, as in :class:`KernelQuadraticDiscriminant`.
        Reference distances take the kernel as it is: they are defined for every kernel.
    standardize : {"auto", True, False}, default="auto"
        Whether the columns are centred and divided by their standard deviations first, as in
        :class:`KernelQuadraticDiscriminant`. "auto": where these differ by more than a factor of
        ten. The p-values are then cross-conformal. A scaler that was fitted on the training objects
        before is not seen here: with many columns its p-values are too small.
    search : {None, "auto", "loco", "permuted"}, default=None
        How to choose gamma and reg without outliers (references, and RC+ with a positive definite
        kernel). ``"loco"``: each class in turn is treated as unknown. ``"permuted"``: objects with
        shuffled features stand for unknown ones, for one class too. ``"auto"``: "permuted" for
        tables, "loco" otherwise.
        p ≤ a then holds for about a share a only: the search favours the training objects.
    gammas : sequence of float, default=(0.03, 0.1, 0.3, 1)
        Candidates of `search`, as multiples of ``"scale"``; only for named kernels with a gamma.
    regs : sequence of float, default=(1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
        Candidates of `search`.
    n_references : int, default=None
        About how many training objects ``variant="other-classes"`` compares an object with: a
        share of each class is drawn, two objects at least. None: all of them. Fewer save time and
        memory; the p-values stay exact, since the draw does not look at the objects.
    cv : int, default=5
        Number of folds of cross-conformal p-values.
    random_state : int, RandomState instance or None, default=0
        Draws the folds, the references and the shuffled features.

    Attributes
    ----------
    class_labels_ : ndarray of shape (n_classes,)
        Labels of the training classes; ``[1]`` where `fit` got none. (``classes_`` would be what
        `predict` gives, which is 1 and −1.)
    method_ : {"full", "cross"}
        How the p-values arise.
    guarantee_ : str
        What the p-values guarantee, in words.
    variant_ : str
        The distance that is used.
    offset_ : float
        ``decision_function`` is ``score_samples`` minus this.
    gamma_ : float, str or None
        gamma as used by a named kernel.
    reg_ : float or array-like
        reg as used.
    search_results_ : dict
        Candidates of `search`: lists ``"gamma"``, ``"reg"`` and ``"auroc"``.
    kernel_ : object
        The kernel as fitted.
    reference_indices_ : ndarray
        Positions of the references among the training objects, of ``variant_ == "other-classes"``.
    n_features_in_ : int
        Number of features seen in `fit`, where the input is a table.

    See Also
    --------
    ConformalClassifier : Prediction sets around any classifier.
    drift_test : Whether a batch differs from the training objects.

    Examples
    --------
    Wines of a cultivar that was never seen:

    >>> from sklearn.datasets import load_wine
    >>> from mahalearn import KernelMahalanobisNovelty
    >>> X, y = load_wine(return_X_y=True)
    >>> known = y != 2
    >>> model = KernelMahalanobisNovelty("RC+").fit(X[known], y[known])
    >>> print(f"{(model.predict(X[~known]) == -1).mean():.2f} of them are rejected")
    0.69 of them are rejected
    """

    def __init__(
        self,
        variant: Variant | Literal["auto", "other-classes"] = "auto",
        level: float = 0.05,
        *,
        reg: Reg = "auto",
        reg_on: Literal["relative", "covariance", "kernel"] = "relative",
        kernel: Kernel = "rbf",
        gamma: Gamma | Literal["smooth"] = "smooth",
        degree: int = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        spectrum: Spectrum = "krein",
        standardize: Standardize = "auto",
        search: Literal["auto", "loco", "permuted"] | None = None,
        gammas: Floats = (0.03, 0.1, 0.3, 1),
        regs: Floats = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1),
        n_references: int | None = None,
        cv: CV = 5,
        random_state: RandomState | None = 0,
    ) -> None:
        super().__init__(
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            kernel_params=kernel_params,
            spectrum=spectrum,
            standardize=standardize,
        )
        self.variant = variant
        self.level = level
        self.reg = reg
        self.reg_on = reg_on
        self.search = search
        self.gammas = gammas
        self.regs = regs
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
        return self._fit(X, y)

    def _fit(self, X, y, full_only=False):
        """As fit; with full_only None where there is no closed form (`_why_cross` says why)."""
        level = check_real(self.level, "level")
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1; got {self.level!r}.")
        variant = check_choice(self.variant, "variant", VARIANTS)
        reg_on = check_choice(self.reg_on, "reg_on", REG_ON)
        X, codes = self._check_fit(X, y)
        n_classes = len(self.class_labels_)
        if variant == "auto":
            variant = "other-classes" if n_classes > 1 else "RC+"
        if self.n_references is not None:
            check_count(self.n_references, "n_references")
            if variant != "other-classes":
                raise ValueError(
                    f"n_references={self.n_references!r} is for variant='other-classes', with two "
                    f"classes and more; got variant={variant!r} and {n_classes} classes. Leave "
                    "n_references=None."
                )
        self.variant_ = variant
        self._codes = codes
        self.reg_, self.gamma_ = self._default_reg(variant), None
        self._full, self._folds, self._why_cross = None, None, ""
        self._fit_kernel_distances(X, variant, reg_on, full_only)
        if full_only and self._full is None:
            return None
        self._finish(level)
        return self

    def _check_fit(self, X, y):
        """X ready for the kernel, class codes; sets class_labels_."""
        refuse_dask(self, X, y)
        if takes_vectors(self.kernel):
            refuse_objects(X)
            X = validate_rows(self, X, dtype=np.float64)
        else:
            X = check_objects(X)
        if y is None:
            self.class_labels_ = np.array([1])
            return X, np.zeros(len(X), dtype=np.intp)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        self.class_labels_, codes = sorted_labels(y)
        return X, codes

    def _default_reg(self, variant):
        reg = self.reg
        if not isinstance(reg, str):
            return reg
        if reg != "auto":
            raise ValueError(f"reg={reg!r} is not known; choose 'auto', a number or one per class.")
        return DEFAULT_REG.get(variant, OTHER_REG)

    def _refuse_search(self):
        if check_choice(self.search, "search", SEARCHES) is not None:
            raise ValueError(
                f"search={self.search!r} is for full-conformal distances (variant 'other-classes', "
                "or 'RC+' with a positive definite kernel); give gamma and reg, or search=None."
            )

    def _kernel_gamma(self, X, factor=None):
        """gamma for the kernel: a number for "smooth" and for a candidate, else as given."""
        gamma = self.gamma
        if isinstance(gamma, str) and gamma not in ("smooth", "scale", "auto"):
            raise ValueError(
                f"gamma={gamma!r} is not known; choose 'smooth', 'scale', 'auto' or a number."
            )
        smooth = isinstance(gamma, str) and gamma == "smooth"
        if not is_named(self.kernel):
            return "scale" if smooth else gamma
        if smooth or factor is not None:
            factor = SMOOTH if factor is None else factor
            standardize = standardizes(self.standardize, self.kernel, X)
            return factor * fit_kernel(self.kernel, X, standardize=standardize).gamma
        return gamma

    def _train(self, X, gamma):
        """The training kernel at this gamma, in class order."""
        labels = NO_LABELS if len(self.class_labels_) == 1 else self.class_labels_[self._codes]
        gamma, self.gamma = self.gamma, gamma
        names = getattr(self, "feature_names_in_", None)
        try:
            return self._fit_training(X, labels)[0]
        finally:
            self.gamma = gamma
            vars(self).pop("classes_", None)  # predict gives 1 and −1
            if names is not None:  # X is an array by now, and has none
                self.feature_names_in_ = names

    def _fit_kernel_to(self, X):
        """The kernel fitted to X with the parameters of this model, and its Gram matrix or None."""
        settings = kernel_settings(self, X)
        if is_named(self.kernel):
            settings["gamma"] = self.gamma_ if self.search is not None else self._kernel_gamma(X)
        return fit_kernel_and_gram(self.kernel, X, **settings)

    def _fit_kernel_distances(self, X, variant, reg_on, full_only):
        spectrum = self.spectrum
        as_it_is = spectrum in SPECTRA_AS_THEY_ARE
        if variant == "other-classes":
            if len(self.class_labels_) == 1:
                raise ValueError(
                    "variant='other-classes' compares an object with the objects of the *other* "
                    "classes and needs two classes; for one class use variant='auto' or 'RC+'."
                )
            if not as_it_is:
                raise ValueError(
                    f"variant='other-classes' is defined for every kernel as it is; spectrum="
                    f"{self.spectrum!r} would correct it. Leave spectrum='krein'."
                )
        gamma = self._kernel_gamma(X)
        training = self._train(X, gamma)
        self._why_cross = self._why_no_closed_form(training, variant, spectrum)
        closed = not self._why_cross
        if closed:
            self._why_cross = why_refitted(self.kernel, self.standardize, X)
        if closed and training.self_similarities(X) is None and full_only:
            self._why_cross = "a precomputed matrix does not tell k(x, x) of queries."
        if full_only and self._why_cross:
            return
        search = check_choice(self.search, "search", SEARCHES)
        if not closed:
            self._refuse_search()
        elif search is not None:
            gamma = self._search(X, gamma, search, variant, reg_on)
            training = self._train(X, gamma)
        self.gamma_ = gamma
        columns = self._draw_references(training)
        if variant == "other-classes":
            self.reference_indices_ = training.order[columns]
        if not self._why_cross:
            self._fit_closed_form(training, variant, reg_on, columns)
        if self._full is None:
            if isinstance(self.reg, str) and search is None and variant != "other-classes":
                self.reg_ = OTHER_REG
            self._fit_cross(X)
        training.release()

    def _why_no_closed_form(self, training, variant, spectrum):
        """Why these distances have no closed form of p-values, as a sentence; "" if they have."""
        if variant == "other-classes":
            return ""
        if variant != "RC+":
            return f"the closed form is that of variant='RC+', not of {variant!r}."
        if spectrum not in SPECTRA_AS_THEY_ARE:
            return f"spectrum={spectrum!r} corrects the kernel by the training objects."
        if not self._definite(training, spectrum):
            return "the kernel has negative eigenvalues on a class."
        return ""

    def _fit_closed_form(self, training, variant, reg_on, columns):
        """The closed form; None stays where spectrum="ignore" leaves no definite matrix."""
        n = len(training)
        block = training.training_cross
        if isinstance(columns, np.ndarray):
            check_memory(
                4 * n * len(columns) + 2 * int((training.counts**2).sum()),
                f"The kernel values of {n} objects against {len(columns)} references and the maps",
            )
            K = training.training_cross(slice(None), columns)

            def block(rows, columns=None):
                return K[rows].copy()
        elif variant == "other-classes" or not takes_vectors(self.kernel):
            check_memory(4 * n**2, f"The kernel matrix of {n} objects and the reference maps")
            K = training.gram()  # each kernel value is computed once

            def block(rows, columns=slice(None)):
                return K[rows, columns].copy()
        else:
            check_memory(2 * int((training.counts**2).sum()), "The class kernel matrices")
        self._full = fit_full(block, training.slices, variant, self.reg_, reg_on, columns)
        if self._full is not None:
            kxx = training.training_self_similarities()
            self._leave_one_out = self._full.leave_one_out(block, kxx)
        elif variant == "other-classes" or self._policy != "ignore":
            raise ValueError(
                f"reg={self.reg_!r} ({reg_on}) is lost in the rounding of the kernel's values. "
                "Give a larger reg, or scale the kernel."
            )

    def _draw_references(self, training):
        """Positions of the references in class order, a slice where all objects are references."""
        if self.n_references is None or self.n_references >= len(training):
            return slice(None)
        codes = np.repeat(np.arange(len(training.counts)), training.counts)
        return draw_by_class(codes, self.n_references, check_random_state(self.random_state))

    def _definite(self, training, spectrum):
        if training.positive_definite or spectrum == "ignore":
            return True
        for members in training.slices:
            K = training.gram(members)
            if not is_psd(center_gram(K, centering(K), overwrite=True)):
                if spectrum == "raise":
                    raise ValueError(
                        "The kernel is not positive definite: the centred matrix of a class has "
                        "negative eigenvalues, and spectrum='raise' asks to stop. With "
                        "spectrum='krein' the p-values are cross-conformal; "
                        "variant='other-classes' is exact for every kernel."
                    )
                return False
        return True

    def _fit_cross(self, X):
        """Fold models and their scores of the objects they have not seen."""
        pairwise = is_precomputed(self.kernel)
        folds = check_count(self.cv, "cv")
        if folds < 2 or len(X) < 2:
            raise ValueError(
                f"Cross-conformal p-values need at least two folds and two samples; got "
                f"cv={self.cv!r} and n_samples = {len(X)}."
            )
        everyone = np.arange(len(X))
        self._folds = []
        for held_out in class_folds(self._codes, min(folds, len(X)), self.random_state):
            members = np.setdiff1d(everyone, held_out)
            part = objects_of(X, members, pairwise)
            model, known = self._fold_model(part, self._codes[members])
            query = objects_of(X, held_out, pairwise, members)
            scores = fold_distances(model, query, known, len(self.class_labels_))
            self._folds.append(CrossFold(model, members, scores, self._codes[held_out]))

    def _fold_model(self, X, codes):
        """Distances to the classes of a part of the objects: the model and the classes it knows."""
        known = np.unique(codes)
        reg = check_reg(self.reg_, len(self.class_labels_))[known]
        gamma = self.gamma_ if self.search is not None else self._kernel_gamma(X)
        if self.variant_ == "other-classes":
            return self._reference_model(X, codes, known, gamma, reg), known
        model = KernelMahalanobisTransformer(
            self.variant_,
            reg,
            reg_on=self.reg_on,
            kernel=self.kernel,
            gamma=gamma,
            degree=self.degree,
            coef0=self.coef0,
            kernel_params=self.kernel_params,
            spectrum=self.spectrum,
            standardize=self.standardize,
        )
        return model.fit(X, codes if len(known) > 1 else NO_LABELS), known

    def _reference_model(self, X, codes, classes, gamma, reg):
        """Reference distances to the classes of a part of the objects; None for one class."""
        if len(classes) == 1:
            return None
        model = clone(self)
        model.class_labels_, model._codes = np.unique(codes, return_inverse=True)
        model.reg_ = reg
        training = model._train(X, gamma)
        model._fit_closed_form(
            training, "other-classes", self.reg_on, model._draw_references(training)
        )
        training.release()
        return model

    def _finish(self, level):
        n = len(self._codes)
        self._n_rejected = int(np.floor(level * (n + 1) + 1e-9))
        self.offset_ = self._n_rejected / (n + 1)
        if not self._n_rejected:
            warnings.warn(
                f"With {n} training objects no p-value is at most level={level:g}: predict will "
                f"reject nothing. The least level is 1/{n + 1}.",
                UserWarning,
                stacklevel=4,
            )
        self.method_ = "full" if self._full is not None else "cross"
        self.guarantee_ = (
            "class-conditional: a new object of class j has p_j <= a with probability "
            + self._probability()
        )

    def _probability(self):
        """How probable p ≤ a is for an object of its class, in words."""
        if self.search is not None:
            return probability(self.method_, ["gamma", "reg"])
        if self._full is None:
            return probability(self.method_)
        relative = relative_parameters(self.kernel, self.gamma, self.standardize)
        if self.reg_on == "relative":
            relative.append("reg")
        definite = self._full.by_references or self._training.positive_definite
        return probability(self.method_, relative, definite)

    # --- the search for gamma and reg -------------------------------------------------------------

    def _search(self, X, gamma, search, variant, reg_on):
        """gamma of the best candidate; sets reg_ and search_results_."""
        vectors = takes_vectors(self.kernel) and not is_precomputed(self.kernel)
        least = 3 if variant == "other-classes" else 2
        if search == "auto":
            search = "permuted" if vectors else "loco"
        if search == "permuted" and not vectors:
            raise ValueError(
                "search='permuted' shuffles the features of a table; objects and precomputed "
                "matrices have none. Use search='loco'."
            )
        if search == "loco" and len(self.class_labels_) < least:
            raise ValueError(
                f"search='loco' lets each class play the unknown one and needs {least} classes for "
                f"variant={variant!r}; got {len(self.class_labels_)}. "
                + ("Use search='permuted'." if vectors else "Give reg, or search=None.")
            )
        rng = check_random_state(self.random_state)
        tuned = is_named(self.kernel) and self.kernel in WITH_GAMMA
        gammas = [gamma]
        if tuned:
            gammas = [self._kernel_gamma(X, f) for f in _candidates(self.gammas, "gammas")]
        regs = _candidates(self.regs, "regs")
        rows = draw_by_class(self._codes, SEARCH_OBJECTS, rng)
        part = objects_of(X, rows, is_precomputed(self.kernel))
        shuffled = shuffle_features(part, rng) if search == "permuted" else None
        codes, self._codes = self._codes, self._codes[rows]
        scores = {}
        try:
            for g in gammas:
                training = self._train(part, g)
                for reg in regs:
                    score = separation(training, shuffled, variant, reg, reg_on)
                    if score is not None:
                        scores[g, reg] = score
        finally:
            self._codes = codes
        if not scores:
            raise ValueError("Every candidate of regs is lost in rounding; give larger ones.")
        self.search_results_ = {
            "gamma": [g for g, _ in scores],
            "reg": [reg for _, reg in scores],
            "auroc": list(scores.values()),
        }
        best, self.reg_ = max(scores, key=scores.get)
        return best

    # --- queries ----------------------------------------------------------------------------------

    def _evaluate(self, X):
        """(d² (m, c), p-values (m, c), p_none (m,)); chunks of queries keep to working_memory."""
        X = self._check_query(X)
        m, c = len(X), len(self.class_labels_)
        if self._full is None:
            return self._evaluate_cross(X)
        d2, p = np.full((2, m, c), np.nan)
        training = self._training
        kxx = self._self_similarities(X)
        for rows in row_chunks(m, 4 * len(training)):
            k = training.cross(take(X, rows), self._full.columns)
            d2[rows], p[rows] = self._full.evaluate(k, kxx[rows])
        if not np.isfinite(d2).all():
            raise ValueError(
                "The squared distances overflow: scale the kernel, or give a larger reg."
            )
        none = p[:, 0] if c == 1 else rank_p_values(self._nearest(), d2.min(axis=1))
        return d2, p, none

    def _nearest(self):
        """Least leave-one-out distance of each training object to any class."""
        return self._leave_one_out.min(axis=1)

    def _self_similarities(self, X):
        if self._full.by_references:
            return np.zeros(len(X))
        kxx = self._training.self_similarities(X)
        if kxx is None:
            raise ValueError(
                "RC+ depends on each query's self-similarity k(x, x), which rows of a precomputed "
                "kernel do not hold, and the training self-similarities differ. Use "
                "kernel=PrecomputedKernel(K) on row numbers, or variant='other-classes'."
            )
        return kxx

    def _evaluate_cross(self, X):
        pairwise = is_precomputed(self.kernel)
        c = len(self.class_labels_)
        distances = []
        for model, members, _, _ in self._folds:
            query = X[:, members] if pairwise else X
            known = np.unique(self._codes[members])
            distances.append(fold_distances(model, query, known, c))
        return evaluate_folds(self._folds, distances)[:3]

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
        if self._full is None:
            return self._evaluate(X)[0]
        X = self._check_query(X)
        kxx = self._self_similarities(X)
        d2 = np.full((len(X), len(self.class_labels_)), np.nan)
        for rows in row_chunks(len(X), 4 * len(self._training)):
            k = self._training.cross(take(X, rows), self._full.columns)
            d2[rows] = self._full.sq_distances(k, kxx[rows])
        return d2

    def p_values(self, X: Objects) -> np.ndarray:
        """How typical each row of X is of each class.

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

    def p_none(self, X: Objects) -> np.ndarray:
        """How unusual it would be for a regular object to be as far from every class.

        The rank of the least distance to any class among those of the training objects, each left
        out (in its fold for cross-conformal models). It has more power than the largest of
        `p_values`, and holds for the mixture of the classes, not for each of them. For one class it
        is that class's p-value.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        p : ndarray of shape (n_samples,)
            One for each row; small for objects of none of the classes.
        """
        return self._evaluate(X)[2]

    def predict_set(self, X: Objects, confidence: float = 0.95) -> np.ndarray:
        """Classes that each row of X may belong to.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).
        confidence : float, default=0.95
            The set of a new object of any class holds that class with at least this probability.

        Returns
        -------
        sets : ndarray of shape (n_samples, n_classes), dtype bool
            Whether a class is in the set; a row without any belongs to none of them.
        """
        p = self.p_values(X)
        warn_small_classes(self.class_labels_, np.bincount(self._codes), confidence)
        return prediction_sets(p, check_confidence(confidence))

    def select(self, X: Objects, fdr: float = 0.1) -> np.ndarray:
        """Rows of X that are novelties, with a bound on the share of false alarms among them.

        The procedure of Benjamini and Hochberg on `p_none`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A batch of objects; the result depends on the whole batch.
        fdr : float, default=0.1
            False discovery rate: the expected share of regular objects among those selected.

        Returns
        -------
        novel : ndarray of shape (n_samples,), dtype bool
            Whether a row is selected.
        """
        if not 0 < check_real(fdr, "fdr") < 1:
            raise ValueError(f"fdr must be between 0 and 1; got {fdr!r}.")
        p = self.p_none(X)
        chosen = benjamini_hochberg(p, fdr)
        least, n = 1 / (len(self._codes) + 1), int((p <= self.level).sum())
        if n and not chosen.any() and n * fdr / len(p) < least:
            warnings.warn(
                f"Nothing is selected, although {n} of {len(p)} objects have p_none <= "
                f"{self.level:g}: with {len(self._codes)} training objects no p-value is below "
                f"{least:.2g}, and so few selected objects would need {n * fdr / len(p):.2g}. Use "
                "more training objects, a larger fdr, or predict.",
                UserWarning,
                stacklevel=2,
            )
        return chosen

    def score_samples(self, X: Objects) -> np.ndarray:
        """How regular each row of X is: `p_none`, equal values ordered by the least distance.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Larger is more regular; p_none − 1/(n + 1) < score < p_none.
        """
        d2, _, none = self._evaluate(X)
        nearest = d2.min(axis=1)
        scale = self._distance_scale()
        order = np.clip(0.5 + np.arctan(nearest / scale) / np.pi, 1e-9, 1 - 1e-9)
        return none - order / (len(self._codes) + 1)

    def _distance_scale(self):
        if self._full is None:
            nearest = np.concatenate([fold.scores.min(axis=1) for fold in self._folds])
        else:
            nearest = self._nearest()
        nearest = np.abs(nearest[np.isfinite(nearest)])
        return (np.median(nearest) if len(nearest) else 0.0) or 1.0

    def decision_function(self, X: Objects) -> np.ndarray:
        """`score_samples` less ``offset_``: negative where `predict` gives −1.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Negative for novelties.
        """
        check_is_fitted(self)
        return self.score_samples(X) - self.offset_

    def predict(self, X: Objects) -> np.ndarray:
        """1 for rows of X that may belong to one of the classes, −1 for novelties.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            −1 where ``p_none`` ≤ `level`.
        """
        return np.where(self.decision_function(X) < 0, -1, 1)

    def _margin_p_values(self, X):
        """Full-conformal p-values by margin (RC+ with two classes and more), (m, c)."""
        assert not self._full.by_references
        X = self._check_query(X)
        kxx = self._self_similarities(X)
        rivals = least_other(self._leave_one_out)
        p = np.full((len(X), len(self.class_labels_)), np.nan)
        for rows in row_chunks(len(X), 4 * len(self._training)):
            k = self._training.cross(take(X, rows))
            p[rows] = self._full.margin_p_values(k, kxx[rows], rivals)
        return p

    def training_distances(self) -> np.ndarray:
        """Squared distances of the training objects, each left out: what limits are drawn from.

        Returns
        -------
        d2 : ndarray of shape (n_samples, n_classes)
            In the order of the training objects; of its fold's model for cross-conformal ones.
        """
        check_is_fitted(self)
        d2 = np.full((len(self._codes), len(self.class_labels_)), np.nan)
        if self._full is not None:
            d2[self._training.order] = self._leave_one_out
        else:
            everyone = np.arange(len(self._codes))
            for fold in self._folds:
                d2[np.setdiff1d(everyone, fold.members)] = fold.scores
        return d2

    def training_codes(self) -> np.ndarray:
        """Class of each training object, as a position in ``class_labels_``.

        Returns
        -------
        codes : ndarray of shape (n_samples,)
            In the order of the training objects.
        """
        check_is_fitted(self)
        return self._codes.copy()


def _candidates(values, name):
    """Positive numbers, at least one."""
    if np.ndim(values) != 1 or not len(values):
        raise ValueError(f"{name} must hold at least one positive number; got {values!r}.")
    return [check_positive(value, f"Each of {name}") for value in values]


def shuffle_features(X, rng):
    """Rows whose features were shuffled independently: right margins, no dependence."""
    return np.take_along_axis(X, rng.random_sample(X.shape).argsort(axis=0), axis=0)
