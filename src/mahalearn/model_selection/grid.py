"""The values that searches try by default: one table for the search, the ensemble and compare.

Widths are multiples of γ = "scale", so that they suit data in any units. Regularisation is absolute
for kernels with self-similarities 1 (rbf, laplacian, cosine, chi2); for kernels of another scale it
is measured in their spread, so that results do not depend on their units. Every grid holds the
estimator's own default (in those units).

Candidates come in the order of preference among equal scores, of which a search takes the first:
larger values of the path (more regularisation, more neighbours), then wider kernels and lower
degrees, then variants as listed.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import ParameterGrid

from ..classifiers.boosted_trees import BoostedTrees
from ..classifiers.dissimilarity_space import DissimilaritySpaceDiscriminant
from ..classifiers.gaussian import GaussianClassifier
from ..classifiers.kernel_fisher import KernelFisherDiscriminant
from ..classifiers.kernel_neighbors import KernelKNeighborsClassifier
from ..classifiers.kernel_pca import KernelPCAQuadraticDiscriminant
from ..classifiers.kernel_quadratic import KernelQuadraticDiscriminant
from ..classifiers.kernel_ridge import KernelRidgeClassifier
from ..classifiers.learned_metric import RecursiveFeatureMachine
from ..classifiers.one_vs_rest_svm import OneVsRestSVC
from ..classifiers.svm import MahalanobisSVC
from ..kernels.protocol import POLYNOMIAL, WITH_GAMMA, name_of


class Multiple(NamedTuple):
    """A value of a grid that is measured in the data: factor·unit**power.

    unit: "scale", γ = "scale" of the training objects, or "spread", the spread of the kernel that
    the candidate has. A search replaces it by the number.
    """

    factor: float
    unit: str
    power: int = 1


def _decades(first, last):
    return tuple(float(f"1e{power}") for power in range(first, last + 1))


# Multiples of γ = "scale".
GAMMAS = tuple(float(g) for g in 10 ** np.linspace(-1.5, 1.5, 9))
DEGREES = (1, 2, 3, 4)
# Regularisation: the values, and the power of the kernel's spread that they are measured in.
REGS = {
    "RC": (_decades(-7, 0), 1),
    "IC": (_decades(-6, 0), 1),
    "FK": (_decades(-6, 2), 2),
    "fisher": (_decades(-9, 2), 2),
    "kernel_pca": (_decades(-8, 0), 1),
    "ridge": (tuple(sorted((*_decades(-8, 0), 3e-4, 3e-3, 3e-2, 0.3))), 0),
}
NEIGHBORS = tuple(range(1, 16))
CS = _decades(-1, 3)
DELTAS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
# Covariances from the simplest to the richest; of equal scores the first wins.
GAUSSIANS = (
    {"covariance": ["diag"], "pooled": [True, False]},
    {"covariance": ["full"], "pooled": [True, False], "shrinkage": [0.6, 0.3, 0.1, "auto", None]},
)
# Of equal scores the first wins: the diagonal metric, more regularisation.
LEARNED_METRICS = {"metric": ["diagonal", "full"], "reg": [1e-2, 1e-3, 1e-4], "length": [1.0]}

# The values that paper B tries (section 4).
PAPER_CS = (1, 10, 50, 100, 500, 1000, 2000, 3000, 5000, 8000, 10000, 50000, 100000)
PAPER_DELTAS = {
    "line": tuple(step / 10 for step in range(1, 21)),
    "grid": (0.1, 0.5, 1.0, 1.5, 2.0),
}


def widths(kernel, gammas=None, degrees=None) -> list[dict[str, Any]]:
    """Parameters of a kernel by name, the wider and the lower degrees first; [{}] for others.

    gammas, degrees: values in place of the default ones.
    """
    name = name_of(kernel)
    settings: list[dict[str, Any]] = [{}]
    if name in WITH_GAMMA:
        if gammas is None:
            gammas = [Multiple(g, "scale") for g in ((1.0,) if name in POLYNOMIAL else GAMMAS)]
        settings = [{"gamma": gamma} for gamma in gammas]
    if name in POLYNOMIAL:
        degrees = DEGREES if degrees is None else sorted(degrees)
        settings = [{"degree": degree, **width} for degree in degrees for width in settings]
    return settings


def path_values(estimator, n_train=np.inf) -> list[Any]:
    """The default values, ascending, of the parameter along which an estimator has a path.

    n_train: size of the smallest training part.
    """
    values, power = _of_class(_PATHS, estimator)(estimator)
    if estimator.path_parameter == "n_neighbors":
        values = [count for count in values if count <= n_train]
    return [Multiple(value, "spread", power) if power else value for value in values]


def _distance_path(estimator):
    values, power = REGS[estimator.variant[:2].upper()]
    return values, 0 if estimator.reg_on == "relative" else power


# Values of a path, and the power of the kernel's spread that they are measured in.
_PATHS = {
    KernelQuadraticDiscriminant: _distance_path,
    DissimilaritySpaceDiscriminant: _distance_path,
    KernelFisherDiscriminant: lambda _: REGS["fisher"],
    KernelPCAQuadraticDiscriminant: lambda _: REGS["kernel_pca"],
    KernelRidgeClassifier: lambda _: REGS["ridge"],
    KernelKNeighborsClassifier: lambda _: (NEIGHBORS, 0),
    OneVsRestSVC: lambda _: (CS, 0),
}
# Candidates of classifiers without a path, or those of their first stage.
_GRIDS = {
    MahalanobisSVC: lambda: [{"C": C, "delta": 1.0} for C in PAPER_CS],
    GaussianClassifier: lambda: list(ParameterGrid(list(GAUSSIANS))),
    RecursiveFeatureMachine: lambda: list(ParameterGrid(LEARNED_METRICS)),
    BoostedTrees: lambda: [{}],
}


def _of_class(table, estimator):
    """The entry of an estimator's class, or of the nearest class above; None without one."""
    return next((table[cls] for cls in type(estimator).__mro__ if cls in table), None)


def in_order_of_preference(axis, settings, paths) -> list[dict[str, Any]]:
    """Candidates of kernels and paths, the preferred ones first.

    settings: parameters of the kernels, in order; paths: pairs (parameters beside kernel and path,
    ascending values of the parameter `axis`). Values of one rank are equally preferred.
    """
    longest = max(len(values) for _, values in paths)
    return [
        {**setting, **params, axis: values[rank]}
        for rank in reversed(range(longest))
        for setting in settings
        for params, values in paths
        if rank < len(values)
    ]


def as_param_grid(candidates: Iterable[dict[str, Any]]) -> list[dict[str, list[Any]]]:
    """A ``param_grid`` of scikit-learn's that lists these candidates in this order."""
    return [{name: [value] for name, value in params.items()} for params in candidates]


def default_candidates(estimator, n_train=np.inf) -> list[dict[str, Any]]:
    """The candidates of an estimator's default grid, or those of its first stage.

    n_train: size of the smallest training part.
    """
    if (candidates := _of_class(_GRIDS, estimator)) is not None:
        return candidates()
    if getattr(estimator, "path_parameter", None) is None:
        raise ValueError(
            f"KernelSearchCV has no default grid for {type(estimator).__name__}; pass param_grid, "
            "such as {'C': [1, 10, 100]}."
        )
    values = path_values(estimator, n_train)
    return in_order_of_preference(
        estimator.path_parameter, widths(estimator.kernel), [({}, values)]
    )


def second_stage(estimator, best) -> list[dict[str, Any]]:
    """Candidates that follow the default grid's best one: paper B's line search for δ."""
    if not isinstance(estimator, MahalanobisSVC):
        return []
    return [{"C": best["C"], "delta": delta} for delta in PAPER_DELTAS["line"]]
