"""The classifiers of a comparison: the library's, the chooser, and the usual references.

Each is a pipeline that takes the problem as it is (a table, or a matrix of proximities) and chooses
its parameters by its own cross-validation, on the training part alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from ..reading.problem import DataError, listed

# Widths of RBF kernels on standardised features, for one feature: γ = value/number of features.
WIDTHS = (0.05, 0.15, 0.4, 1.0, 2.5, 6.0, 15.0)
MACHINE_CS = (0.1, 1.0, 10.0, 100.0, 1000.0)
MAHALANOBIS_CS = (1.0, 10.0, 100.0, 1000.0)
MAHALANOBIS_DELTAS = (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
LOGISTIC_CS = (0.01, 0.1, 1.0, 10.0, 100.0)
# Rows below which trees may have small leaves.
SMALL_TABLE = 400
NEIGHBOURS = (1, 3, 5, 7, 9, 11, 15)
# libsvm's iterations: indefinite kernels and large C would run on without end.
ITERATIONS = 200_000
# A Gaussian process costs n³ for every class and step of its own search.
PROCESS_OBJECTS = 400
# Columns for which boosting builds histograms in a reasonable time.
BOOSTING_FEATURES = 2000
# Features above which, if they are more than the objects, methods work in the objects' span.
WIDE = 500
# Rows above which kernel discriminants of a table use landmarks, and how many.
EXACT, LANDMARKS = 2000, 300
# Methods up to this cost are quick, and fit to be trained on large tables.
QUICK = 2
# What counts as quick on objects and matrices, whose kernel is there already.
QUICK_KERNELS = 3


# Distances to compare. Those of the whole kernel space do not ask for a new object's similarity
# with itself, which rows of a matrix of similarities do not hold.
CLASSWISE, WHOLE = ("RC+", "IC-"), ("FK+", "FK-")


class Setting(NamedTuple):
    """What a method is told of the problem."""

    kind: str  # "vectors" or "proximity"
    proximity: str | None
    n_objects: int
    n_features: int
    folds: object
    scoring: str
    seed: int
    time_budget: float | None = None
    variants: tuple = CLASSWISE
    landmarks: int | None = None

    @property
    def wide(self):
        """Whether there are so many more features than objects that they are rotated first.

        Onto the space that the training objects span; distances within it stay as they are.
        """
        return self.n_features > max(WIDE, self.n_objects)

    @property
    def gammas(self):
        """Widths of RBF kernels."""
        return [width / self.n_features for width in WIDTHS]

    def kernel(self, landmarks=False):
        """What a search of the library is told of kernels, and of landmarks if it takes some."""
        if self.kind != "vectors":
            return {"kernel": "precomputed"}
        known = {"kernel": "rbf", "gammas": self.gammas}
        if landmarks and self.landmarks:
            known |= {"landmarks": self.landmarks, "random_state": self.seed}
        return known

    def search(self):
        """How a search compares candidates."""
        return {"cv": self.folds, "scoring": self.scoring}


@dataclass(frozen=True)
class Method:
    """A classifier by name.

    Attributes
    ----------
    name, title : str
        For the command line, and for the report.
    ours : bool
        Whether it is of this library.
    build : callable
        Setting -> classifier on vectors, on kernel matrices, or on rows of proximities (`rows`).
    kinds : tuple of str
        Problems it takes.
    rows : bool
        Whether it takes proximities as they are instead of a kernel.
    most : int or None
        Objects it is worth waiting for.
    most_features : int or None
        Columns of a table that it is worth waiting for.
    cost : int
        Its place in the order of running times, from 1; methods above `QUICK` grow with the cube
        of the number of objects.
    rotates : bool
        Whether its answers stay the same, or nearly, when the features are rotated.
    """

    name: str
    title: str
    ours: bool
    build: Callable
    kinds: tuple = ("vectors", "proximity")
    rows: bool = False
    most: int | None = None
    most_features: int | None = None
    cost: int = 3
    rotates: bool = True

    def pipeline(self, setting):
        """The whole way from the problem's data to labels."""
        from sklearn.pipeline import Pipeline

        steps = [("classify", self.build(setting))]
        if setting.kind == "vectors":
            from ..reading.encoder import TableEncoder

            if self.rotates and setting.wide:
                from sklearn.decomposition import PCA

                steps.insert(0, ("rotate", PCA(svd_solver="full")))
            steps.insert(0, ("encode", TableEncoder()))
        elif not self.rows:
            from ...kernels.proximity import ProximityKernel

            kind = "similarity" if setting.proximity == "similarity" else "neg_squared"
            steps.insert(0, ("kernel", ProximityKernel(kind)))
        return Pipeline(steps)


def _chooser(s):
    from ...model_selection.chooser import MahalanobisClassifierCV

    return MahalanobisClassifierCV(
        kernel="auto" if s.kind == "vectors" else "precomputed",
        scoring=s.scoring,
        cv=s.folds,
        time_budget=s.time_budget,
        random_state=s.seed,
    )


def _quadratic(s):
    from ...classifiers.kernel_quadratic import KernelQuadraticDiscriminantCV

    return KernelQuadraticDiscriminantCV(s.variants, **s.kernel(landmarks=True), **s.search())


def _space(head):
    def build(s):
        from ...classifiers.dissimilarity_space import DissimilaritySpaceDiscriminantCV

        return DissimilaritySpaceDiscriminantCV(
            head, s.variants, **s.kernel(landmarks=True), **s.search()
        )

    return build


def _fisher(s):
    from ...classifiers.kernel_fisher import KernelFisherDiscriminantCV

    return KernelFisherDiscriminantCV(**s.kernel(landmarks=True), **s.search())


def _ridge(s):
    from ...classifiers.kernel_ridge import KernelRidgeClassifierCV

    return KernelRidgeClassifierCV(**s.kernel(), **s.search())


def _pca(s):
    from ...classifiers.kernel_pca import KernelPCAQuadraticDiscriminantCV

    return KernelPCAQuadraticDiscriminantCV(**s.kernel(landmarks=True), **s.search())


def _kernel_neighbours(s):
    from ...classifiers.kernel_neighbors import KernelKNeighborsClassifierCV

    return KernelKNeighborsClassifierCV(**s.kernel(), **s.search())


def _gaussian(s):
    from ...classifiers.gaussian import GaussianClassifier

    return GaussianClassifier(shrinkage="auto")


def _mahalanobis_machine(s):
    from ...classifiers.svm import MahalanobisSVCCV

    return MahalanobisSVCCV(MAHALANOBIS_CS, MAHALANOBIS_DELTAS, **s.search())


def _grid(estimator, grid, s):
    from sklearn.model_selection import GridSearchCV

    return GridSearchCV(estimator, grid, **s.search())


def _machine(s):
    from sklearn.svm import SVC

    grid = {"C": list(MACHINE_CS)}
    if s.kind == "vectors":
        grid["gamma"] = s.gammas
        return _grid(SVC(max_iter=ITERATIONS), grid, s)
    return _grid(SVC(kernel="precomputed", max_iter=ITERATIONS), grid, s)


def _qda(s):
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

    # reg_param 0 fails on collinear features; a thousandth hardly differs from it.
    return _grid(QuadraticDiscriminantAnalysis(), {"reg_param": [0.001, 0.01, 0.1, 0.3, 0.6]}, s)


def _lda(s):
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")


def _neighbours(s):
    from sklearn.neighbors import KNeighborsClassifier

    # The smallest class decides how many objects are left in a fold of a fold.
    most = [k for k in NEIGHBOURS if k <= max(1, s.n_objects // 4)]
    metric = "minkowski" if s.kind == "vectors" else "precomputed"
    return _grid(KNeighborsClassifier(metric=metric, algorithm="brute"), {"n_neighbors": most}, s)


def _forest(s):
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(300, random_state=s.seed)


def _boosting(s):
    from sklearn.ensemble import HistGradientBoostingClassifier

    # The default of 20 rows a leaf leaves a small table without a split.
    leaf = 20 if s.n_objects >= SMALL_TABLE else 5
    return HistGradientBoostingClassifier(min_samples_leaf=leaf, random_state=s.seed)


def _logistic(s):
    from sklearn.linear_model import LogisticRegression

    return _grid(LogisticRegression(max_iter=1000), {"C": list(LOGISTIC_CS)}, s)


def _process(s):
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF

    return GaussianProcessClassifier(1.0 * RBF(s.n_features**0.5), random_state=s.seed)


_VECTORS = ("vectors",)
DISTANCE_METHOD = "kqd"  # the method whose distances are shown where the winner has none
METHODS = {
    method.name: method
    for method in (
        Method("chooser", "Mahalanobis ensemble", True, _chooser, cost=6),
        Method("kqd", "Kernel quadratic discriminant", True, _quadratic, cost=4),
        Method("fd", "Fisher in dissimilarity space", True, _space("fisher"), cost=4),
        Method("qd", "Quadratic in dissimilarity space", True, _space("quadratic"), cost=4),
        Method("kfd", "Kernel Fisher discriminant", True, _fisher, cost=3),
        Method("ridge", "Kernel ridge", True, _ridge, ("proximity",), cost=3),
        Method("kpca-qda", "Kernel PCA + QDA", True, _pca, cost=3),
        Method("kernel-knn", "Kernel nearest neighbours", True, _kernel_neighbours, cost=3),
        Method("gaussian", "Gaussian, Ledoit–Wolf", True, _gaussian, _VECTORS, cost=1),
        Method(
            "mahalanobis-svm",
            "Mahalanobis-kernel SVM",
            True,
            _mahalanobis_machine,
            _VECTORS,
            cost=5,
        ),
        Method("svm", "SVM (reference)", False, _machine, cost=3),
        Method("qda", "QDA (reference)", False, _qda, _VECTORS, cost=1),
        Method("lda", "LDA (reference)", False, _lda, rows=True, cost=1),
        Method("knn", "Nearest neighbours (reference)", False, _neighbours, rows=True, cost=1),
        Method(
            "forest", "Random forest (reference)", False, _forest, rows=True, cost=2, rotates=False
        ),
        Method(
            "boosting",
            "Gradient boosting (reference)",
            False,
            _boosting,
            _VECTORS,
            most_features=BOOSTING_FEATURES,
            cost=2,
            rotates=False,
        ),
        Method("logistic", "Logistic regression (reference)", False, _logistic, _VECTORS, cost=1),
        Method(
            "gp",
            "Gaussian process (reference)",
            False,
            _process,
            _VECTORS,
            most=PROCESS_OBJECTS,
            cost=5,
        ),
    )
}


def select_methods(wanted, kind, proximity, n_objects, n_features=0):
    """Methods by name (all that fit if None), and sentences on what was left out."""
    kind = "vectors" if kind == "vectors" else "proximity"
    chosen, notes = [], []
    twice = next((name for name in wanted or () if wanted.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"The method {twice!r} is named twice.")
    for name in METHODS if wanted is None else wanted:
        method = METHODS.get(name)
        if method is None:
            raise DataError(f"There is no method {name!r}; choose from {listed(METHODS, 20)}.")
        reason = None
        if kind not in method.kinds:
            reason = f"it takes {' or '.join(method.kinds)}"
        elif name == "knn" and proximity == "similarity":
            reason = "it takes dissimilarities; kernel-knn serves similarities"
        elif method.most and n_objects > method.most and not wanted:
            reason = f"with more than {method.most} objects it takes too long"
        elif method.most_features and n_features > method.most_features and not wanted:
            reason = f"with more than {method.most_features} columns it takes too long"
        if reason is None:
            chosen.append(method)
        elif wanted:
            raise DataError(f"The method {name!r} does not fit here: {reason}.")
        elif kind in method.kinds and (method.most or method.most_features):
            notes.append(f"{method.title} was left out: {reason}.")
    return chosen, notes
