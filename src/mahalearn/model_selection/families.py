"""The families of the library's classifiers: one table for the ensemble, compare and the papers."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

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
from . import grid
from .evaluation import with_params


class Family(NamedTuple):
    """A kind of classifier.

    estimator: its class; groups: parameters that are compared beside kernel and path. Those of one
    group are equally preferred, those of an earlier group win ties. inputs: what the ensemble
    takes it for by itself: "vectors" (with the first kernel by name), "kernels" (with each further
    one), "objects" (a kernel on objects, or a matrix), "views" (a further view of them, such as the
    convolution features of series). axis: the parameter of its path. growth:
    power of the number of objects that its time grows with. at_landmarks: it has a form at
    landmarks. weighted: it is trained with weights of the objects. bounded: of the forms of a
    measure, exp(−γd²) suits rather than −d and −d². flips: negative eigenvalues of objects are
    flipped where the user leaves the spectrum as it is. least_objects: the ensemble takes it by
    itself for that many objects or more. foreign: it is no classifier of this library, and no
    choice of combine="best" by itself.
    """

    estimator: Callable[..., Any]
    groups: tuple = (({},),)
    inputs: tuple = ("vectors", "objects")
    axis: str = "reg"
    growth: int = 3
    at_landmarks: bool = False
    needs_vectors: bool = False
    weighted: bool = False
    bounded: bool = False
    flips: bool = False
    least_objects: int = 0
    foreign: bool = False

    def suits(self, kind, n_objects, in_ensemble):
        """True where the ensemble takes it by itself; in_ensemble: beside others."""
        return (
            kind in self.inputs
            and n_objects >= self.least_objects
            and (in_ensemble or not self.foreign)
        )


# In the order of preference among equals, by what a fitted model keeps: means and covariances; the
# support vectors; all objects with a weight for each class; a matrix of every class; that and a
# second classifier; an embedding and its classifier; trees.
FAMILIES = {
    "gaussian": Family(
        GaussianClassifier,
        inputs=("vectors",),
        axis="shrinkage",
        growth=1,
        needs_vectors=True,
        weighted=True,
    ),
    "mahalanobis_svm": Family(
        MahalanobisSVC, inputs=("vectors",), axis="C", growth=2, needs_vectors=True, weighted=True
    ),
    "learned_metric": Family(RecursiveFeatureMachine, inputs=(), needs_vectors=True),
    "svm": Family(
        OneVsRestSVC,
        inputs=("kernels", "objects", "views"),
        axis="C",
        growth=2,
        bounded=True,
        flips=True,
    ),
    "kernel_fisher": Family(
        KernelFisherDiscriminant,
        inputs=("vectors", "kernels", "objects", "views"),
        at_landmarks=True,
    ),
    "kqd": Family(
        KernelQuadraticDiscriminant,
        (({"variant": "RC+"}, {"variant": "FK+"}),),
        ("vectors", "kernels", "objects"),
        at_landmarks=True,
    ),
    "dissimilarity_space": Family(
        DissimilaritySpaceDiscriminant,
        (({"discriminant": "fisher"},), ({"discriminant": "quadratic"},)),
        at_landmarks=True,
    ),
    "kernel_pca": Family(
        KernelPCAQuadraticDiscriminant,
        (({"n_components": 0.8},), ({"n_components": 0.95},)),
        at_landmarks=True,
    ),
    "kernel_ridge": Family(KernelRidgeClassifier, inputs=("objects", "views"), flips=True),
    "neighbors": Family(
        KernelKNeighborsClassifier, inputs=("objects",), axis="n_neighbors", growth=2
    ),
    "boosting": Family(
        BoostedTrees,
        inputs=("vectors",),
        growth=1,
        needs_vectors=True,
        weighted=True,
        least_objects=1000,
        foreign=True,
    ),
}


class Member(NamedTuple):
    """A member of an ensemble: a family with a kernel.

    kernel: by name, None where the family or the objects have no such kernel; first: it is not a
    further kernel of several.
    """

    name: str
    family: str
    kernel: str | None = None
    first: bool = True


def list_members(wanted, kernels, views, n_objects, in_ensemble):
    """The Members to search.

    wanted: names of families, None for all that suit; kernels: by name, or [None] for objects and
    matrices; views: further ones of objects; in_ensemble: they are combined, not one of them taken.
    """
    members = []
    for i, kernel in enumerate(kernels):
        kind = "objects" if kernel is None else "kernels" if i else "vectors"
        for name, family in FAMILIES.items():
            if family.needs_vectors and kind != "vectors":
                continue
            if family.suits(kind, n_objects, in_ensemble) if wanted is None else name in wanted:
                named = None if family.needs_vectors else kernel
                members.append(Member(f"{name}/{kernel}" if i else name, name, named, i == 0))
    of_views = [
        Member(f"{m.family}/{view}", m.family, view, False)
        for view in views
        for m in members
        if "views" in FAMILIES[m.family].inputs
    ]
    return members + of_views


def family_grid(estimator, settings, groups=(({},),), values=None, n_train=np.inf):
    """A ``param_grid`` of kernels, parameters in groups and a path, the preferred ones first.

    settings: parameters of the kernels, in order; groups: as in Family; values: of the path,
    ascending; None for the default ones.
    """
    candidates = []
    for group in groups:
        models = [with_params(estimator, params) for params in group]
        of_path = [grid.path_values(m, n_train) if values is None else values for m in models]
        paths = list(zip(group, of_path, strict=True))
        candidates += grid.in_order_of_preference(estimator.path_parameter, settings, paths)
    return grid.as_param_grid(candidates)
