"""Searches for the classifiers of class-wise kernel Mahalanobis distances.

With the same splits the scores are those of ``GridSearchCV`` over the plain estimator. Per kernel
parameter there is one kernel matrix; RC+ with a definite kernel then needs one inverse per class
and value for all folds, every other variant one decomposition per class and fold for all values.
"""

from functools import partial

import numpy as np

from .._validation import check_choice, check_priors
from ..classifiers._distances import REG_ON, VARIANTS
from ..classifiers.dissimilarity_space import DissimilaritySpaceDiscriminant, new_head
from ..classifiers.kernel_quadratic import OFFSETS, KernelQuadraticDiscriminant, check_offset
from ._score_paths import head_score_path, quadratic_score_path
from ._search import PathSearchCV, check_path, documented

# Paper A's grids for real data: α of IC (and FK), α = nσ² of RC.
REGS = {
    "IC": tuple(np.geomspace(1e-6, 0.5, 8)),
    "RC": tuple(np.geomspace(1e-5, 2, 8)),
    "FK": tuple(np.geomspace(1e-6, 0.5, 8)),
}


class _DistanceSearchCV(PathSearchCV):
    """Searches whose candidates are variants of the distance and a regularisation path."""

    def _variants(self):
        variants = [self.variants] if isinstance(self.variants, str) else self.variants
        return [{"variant": check_choice(v, "variants", VARIANTS)} for v in variants]

    def _values(self, variant):
        return check_path(REGS[variant["variant"][:2]] if self.regs is None else self.regs, "regs")

    def _reg_on(self, variant):
        reg_on = check_choice(self.reg_on, "reg_on", REG_ON)
        if reg_on == "auto":
            return "covariance" if variant.startswith("RC") else "kernel"
        return reg_on


@documented
class KernelQuadraticDiscriminantCV(_DistanceSearchCV):
    """Kernel quadratic discriminant with kernel, variant and regularisation by cross-validation.

    Parameters
    ----------
    variants : sequence of str, default=("RC+",)
        Distances to compare, of IC+, IC-, RC+, RC-, FK+, FK-.
    regs : sequence of float, default=None
        Regularisation values; if None the grids of paper A for real data, eight values up to 0.5
        (IC, FK) or 2 (RC).
    reg_on : {"auto", "covariance", "kernel", "relative"}, default="kernel"
        What the values are, as in the plain estimator. Paper A's are α on the kernel.
    offset : {"error", "loo", "map", None}, default="error"
        As in the plain estimator; "map" needs ``reg_on="covariance"`` for RC.
    class_weight : dict, "balanced" or None, default=None
        As in the plain estimator.
    priors : array-like of shape (n_classes,), default=None
        As in the plain estimator.
    {search parameters}

    {search attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mahalearn import KernelQuadraticDiscriminantCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = KernelQuadraticDiscriminantCV(gammas=[0.1, 1.0], cv=5).fit(X, y)
    >>> print(f"{search.best_score_:.2f}")
    0.97
    """

    _plain = KernelQuadraticDiscriminant

    def __init__(
        self,
        variants=("RC+",),
        regs=None,
        *,
        reg_on="kernel",
        offset="error",
        class_weight=None,
        priors=None,
        gammas=None,
        degrees=None,
        kernels=None,
        kernel="rbf",
        coef0=1,
        kernel_params=None,
        spectrum="krein",
        cv=10,
        scoring=None,
        n_jobs=None,
        verbose=0,
    ):
        self.variants = variants
        self.regs = regs
        self.reg_on = reg_on
        self.offset = offset
        self.class_weight = class_weight
        self.priors = priors
        super().__init__(
            gammas=gammas,
            degrees=degrees,
            kernels=kernels,
            kernel=kernel,
            coef0=coef0,
            kernel_params=kernel_params,
            spectrum=spectrum,
            cv=cv,
            scoring=scoring,
            n_jobs=n_jobs,
            verbose=verbose,
        )

    def _common(self):
        return {
            "reg_on": self.reg_on,
            "offset": self.offset,
            "class_weight": self.class_weight,
            "priors": self.priors,
        }

    def _check_parameters(self):
        super()._check_parameters()
        check_offset(self.offset, self.class_weight, self.priors)

    def _score_path(self, problem, folds, codes, variant, order):
        return quadratic_score_path(
            problem,
            folds,
            codes,
            variant["variant"],
            self._values(variant),
            reg_on=self._reg_on(variant["variant"]),
            offset=check_choice(self.offset, "offset", OFFSETS),
            class_weight=self.class_weight,
            priors=None if self.priors is None else check_priors(self.priors, len(self.classes_)),
            classes=self.classes_,
        )


@documented
class DissimilaritySpaceDiscriminantCV(_DistanceSearchCV):
    """Discriminant in dissimilarity space with kernel, variant and regularisation searched.

    The discriminant is trained on resubstitution distances, as the papers do.

    Parameters
    ----------
    discriminant : {"fisher", "quadratic"} or classifier, default="fisher"
        As in the plain estimator.
    variants : sequence of str, default=("RC+",)
        Distances to compare, of IC+, IC-, RC+, RC-, FK+, FK-.
    regs : sequence of float, default=None
        Regularisation values; if None the grids of paper A for real data, eight values up to 0.5
        (IC, FK) or 2 (RC).
    reg_on : {"auto", "covariance", "kernel", "relative"}, default="kernel"
        What the values are, as in the plain estimator. Paper A's are α on the kernel.
    {search parameters}

    {search attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mahalearn import DissimilaritySpaceDiscriminantCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = DissimilaritySpaceDiscriminantCV(gammas=[0.1, 1.0], cv=5).fit(X, y)
    >>> print(f"{search.best_score_:.2f}")
    0.97
    """

    _plain = DissimilaritySpaceDiscriminant

    def __init__(
        self,
        discriminant="fisher",
        variants=("RC+",),
        regs=None,
        *,
        reg_on="kernel",
        gammas=None,
        degrees=None,
        kernels=None,
        kernel="rbf",
        coef0=1,
        kernel_params=None,
        spectrum="krein",
        cv=10,
        scoring=None,
        n_jobs=None,
        verbose=0,
    ):
        self.discriminant = discriminant
        self.variants = variants
        self.regs = regs
        self.reg_on = reg_on
        super().__init__(
            gammas=gammas,
            degrees=degrees,
            kernels=kernels,
            kernel=kernel,
            coef0=coef0,
            kernel_params=kernel_params,
            spectrum=spectrum,
            cv=cv,
            scoring=scoring,
            n_jobs=n_jobs,
            verbose=verbose,
        )

    def _common(self):
        return {"reg_on": self.reg_on, "discriminant": self.discriminant}

    def _score_path(self, problem, folds, codes, variant, order):
        return head_score_path(
            problem,
            folds,
            codes,
            variant["variant"],
            self._values(variant),
            reg_on=self._reg_on(variant["variant"]),
            new_head=partial(new_head, self.discriminant),
        )
