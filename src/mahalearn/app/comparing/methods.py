"""The classifiers of a comparison: the library's, the chooser, and the usual references.

Each is a pipeline that takes the problem as it is (a table, or a matrix of proximities) and chooses
its parameters by its own cross-validation, on the training part alone. How pipelines are fitted,
and asked for labels, scores and distances, stands here too.
"""

import pickle
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from ...table_encoder import TableEncoder
from ...training.exact import reg_for_part
from ..reading.problem import DataError, listed

# Widths of RBF kernels on standardised features, for one feature: γ = value/number of features.
WIDTHS = (0.05, 0.15, 0.4, 1.0, 2.5, 6.0, 15.0)
MACHINE_CS = (0.1, 1.0, 10.0, 100.0, 1000.0)
MAHALANOBIS_CS = (1.0, 10.0, 100.0, 1000.0)
MAHALANOBIS_DELTAS = (0.1, 0.5, 1.0, 2.0)
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
WITH_LANDMARKS = ("kqd", "fd", "qd", "kfd", "kpca-qda")
# Methods up to this cost are quick, and fit to be trained on large tables.
QUICK = 2
# What counts as quick on objects and matrices, whose kernel is there already.
QUICK_KERNELS = 3


# Distances to compare. Those of the whole kernel space do not ask for a new object's similarity
# with itself, which rows of a matrix of similarities do not hold.
CLASSWISE, WHOLE = ("RC+", "IC-"), ("FK+", "FK-")


class ProblemFacts(NamedTuple):
    """Facts on the problem that a method depends on."""

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
        """True if there are so many more features than objects that they are rotated first.

        Onto the space that the training objects span; distances within it stay as they are.
        """
        return self.n_features > max(WIDE, self.n_objects)

    @property
    def gammas(self):
        """Widths of RBF kernels."""
        return [width / self.n_features for width in WIDTHS]

    def kernel(self, landmarks=False):
        """The kernel of a classifier of the library, and its landmarks if it takes some."""
        if self.kind != "vectors":
            return {"kernel": "precomputed"}
        if landmarks and self.landmarks:
            return {"kernel": "rbf", "landmarks": self.landmarks, "random_state": self.seed}
        return {"kernel": "rbf"}

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
        ProblemFacts -> classifier on vectors, on kernel matrices, or on rows of proximities
        (`rows`).
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
        steps = [("classify", self.build(setting))]
        if setting.kind == "vectors":
            if self.rotates and setting.wide:
                from sklearn.decomposition import PCA

                steps.insert(0, ("rotate", PCA(svd_solver="full")))
            steps.insert(0, ("encode", TableEncoder()))
        elif not self.rows:
            from ...kernels.proximity_kernel import ProximityKernel

            kind = "similarity" if setting.proximity == "similarity" else "neg_squared"
            steps.insert(0, ("kernel", ProximityKernel(kind)))
        return Pipeline(steps)


def _chooser(s):
    from ...model_selection.ensemble import MahalanobisClassifierCV

    return MahalanobisClassifierCV(
        kernel="auto" if s.kind == "vectors" else "precomputed",
        scoring=s.scoring,
        cv=s.folds,
        time_budget=s.time_budget,
        random_state=s.seed,
    )


def _family(name, groups=None, landmarks=False):
    """A kernel classifier of the library's table, searched over widths and its default path.

    groups(setting): what else is compared, as in the table.
    """

    def build(s):
        from ...model_selection.families import FAMILIES, family_grid
        from ...model_selection.grid import widths
        from ...model_selection.search import KernelSearchCV

        estimator = FAMILIES[name].estimator(**s.kernel(landmarks))
        settings = widths(estimator.kernel, s.gammas)
        grid = family_grid(estimator, settings, groups(s) if groups else (({},),))
        return KernelSearchCV(estimator, grid, **s.search())

    return build


def _variants(**fixed):
    return lambda s: (tuple({**fixed, "variant": variant} for variant in s.variants),)


def _space(head):
    return _family("dissimilarity_space", _variants(discriminant=head), True)


def _gaussian(s):
    from ...classifiers.gaussian import GaussianClassifier

    return GaussianClassifier(shrinkage="auto")


def _mahalanobis_machine(s):
    from ...classifiers.svm import MahalanobisSVC
    from ...model_selection.search import KernelSearchCV

    grid = {"C": list(MAHALANOBIS_CS), "delta": list(MAHALANOBIS_DELTAS)}
    return KernelSearchCV(MahalanobisSVC(), grid, **s.search())


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


def _novelty(s):
    from ...novelty import MahalanobisNovelty

    return MahalanobisNovelty(random_state=s.seed)


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
# Methods whose distances are shown where the winner has none: of few objects, and of large tables.
DISTANCE_METHOD, LARGE_DISTANCES = "kqd", "novelty"
METHODS = {
    method.name: method
    for method in (
        Method("chooser", "Mahalanobis ensemble", True, _chooser, cost=6),
        Method(
            "kqd", "Kernel quadratic discriminant", True, _family("kqd", _variants(), True), cost=4
        ),
        Method("fd", "Fisher in dissimilarity space", True, _space("fisher"), cost=4),
        Method("qd", "Quadratic in dissimilarity space", True, _space("quadratic"), cost=4),
        Method(
            "kfd",
            "Kernel Fisher discriminant",
            True,
            _family("kernel_fisher", landmarks=True),
            cost=3,
        ),
        Method("ridge", "Kernel ridge", True, _family("kernel_ridge"), ("proximity",), cost=3),
        Method("kpca-qda", "Kernel PCA + QDA", True, _family("kernel_pca", landmarks=True), cost=3),
        Method("kernel-knn", "Kernel nearest neighbours", True, _family("neighbors"), cost=3),
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


# A detector has distances to the classes, but predicts none of them: no comparison takes it.
_DETECTOR = Method(LARGE_DISTANCES, "Mahalanobis novelty detector", True, _novelty, _VECTORS)
DISTANCE_METHODS = {**METHODS, LARGE_DISTANCES: _DETECTOR}


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
            reason = "it takes dissimilarities; use kernel-knn for similarities"
        elif method.most and n_objects > method.most and not wanted:
            reason = f"with more than {method.most} objects it takes too long"
        elif method.most_features and n_features > method.most_features and not wanted:
            reason = f"with more than {method.most_features} columns it takes too long"
        if reason is None:
            chosen.append(method)
        elif wanted:
            raise DataError(f"The method {name!r} cannot be used here: {reason}.")
        elif kind in method.kinds and (method.most or method.most_features):
            notes.append(f"{method.title} was left out: {reason}.")
    return chosen, notes


# --- pipelines fitted and asked: nobody else in a comparison calls a classifier -------------------

# Scores that differ by less are equal.
TIE = 1e-10
# Probabilities below are as good as this one: a forest's zeros have no logarithm.
SMALLEST = 1e-12


@contextmanager
def quiet():
    """Without warnings: searches try hopeless candidates too, which is of no use to anyone here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def encoded_width(problem):
    """Features that the methods see: of a table its encoded columns, else the objects."""
    if problem.kind != "vectors":
        return len(problem.X)
    try:
        return len(TableEncoder().fit(problem.X).source_columns_)
    except ValueError as error:
        raise DataError(str(error)) from None


def fitted(pipeline, X, y):
    """A copy of the pipeline, fitted."""
    with quiet():
        return clone(pipeline).fit(X, y)


def chosen_params(search):
    """Parameters chosen by a search: the family, if it had several, and numbers and names."""
    params = dict(getattr(search, "best_params_", {}))
    if hasattr(search, "best_family_"):
        params = {"family": search.best_family_.replace("_", " "), **params}
    return {
        k: round(v, 10) if isinstance(v, float) else v
        for k, v in params.items()
        if isinstance(v, bool | int | float | str)
    }


def labels(model, X):
    """Predicted labels of a fitted pipeline."""
    with quiet():
        return model.predict(X)


def class_scores(model, X):
    """Scores of the classes (m, c), and whether they are logarithms of probabilities."""
    if hasattr(model, "predict_proba"):
        return np.log(np.maximum(model.predict_proba(X), SMALLEST)), True
    scores = np.asarray(model.decision_function(X))
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros(len(scores)), scores])
    return scores, False


def has_distances(model):
    """True if a fitted model measures distances to the classes."""
    return hasattr(_steps(model)[-1], "mahalanobis")


def ensemble(model):
    """Number of members of an ensemble, and the family of the heaviest one; None of others."""
    members = getattr(model[-1], "members_", ())
    return (len(members), model[-1].best_family_.replace("_", " ")) if len(members) > 1 else None


def class_distances(model, X):
    """Squared distances to the classes (m, c), None if the model has none."""
    if not has_distances(model):
        return None
    *steps, last = _steps(model)
    for step in steps:
        X = step.transform(X)
    return np.asarray(last.mahalanobis(X))


def _steps(model):
    """The fitted steps of a pipeline, the best estimator in the place of a search."""
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    if hasattr(steps[-1], "cv_results_"):  # an ensemble has none: its members stay together
        steps[-1] = getattr(steps[-1], "best_estimator_", steps[-1])
    return steps


def fixed(pipeline):
    """The pipeline with what its search has chosen in the place of the search, unfitted."""
    last = getattr(pipeline[-1], "best_estimator_", pipeline[-1])
    chosen = last.steps if isinstance(last, Pipeline) else [("classify", last)]
    steps = [*pipeline.steps[:-1], *((f"chosen {name}", step) for name, step in chosen)]
    return Pipeline([(name, clone(step)) for name, step in steps])


def for_part(pipeline, y, part):
    """The pipeline for a part of the objects: so much less regularised as classes are smaller."""
    pipeline = clone(pipeline)
    if hasattr(pipeline[-1], "reg_on"):
        sizes = (np.unique(some, return_counts=True)[1] for some in (y, y[part]))
        regularisation = [getattr(pipeline[-1], name) for name in ("reg", "reg_on", "variant")]
        pipeline[-1].set_params(reg=reg_for_part(*regularisation, *sizes))
    return pipeline


def file_bytes(model):
    """About what a fitted pipeline takes in a file."""
    return len(pickle.dumps(model))


def scout(name, setting):
    """The pipeline that chooses the measure for a slow method, None for others."""
    return METHODS["ridge"].pipeline(setting) if name == "chooser" else None


def fit_best_measure(pipeline, D, y, scout=None):
    """The pipeline fitted on the matrix of the measure that suits it best, and its place.

    That is the measure with the best score of the pipeline's own cross-validation (or of the
    scout's, where there is one), among equals the first; for classifiers without one, that with the
    least error of a nearest neighbour.

    Parameters
    ----------
    pipeline : Pipeline
        What to fit.
    D : ndarray of shape (n, n, number of measures)
        Dissimilarities.
    y : ndarray of shape (n,)
        Classes.
    scout : Pipeline or None
        What chooses in the place of the pipeline.

    Returns
    -------
    place : int
        Of the measure.
    pipeline : Pipeline
        Fitted.
    """
    if scout is not None:
        place, _ = fit_best_measure(scout, D, y)
        return place, fitted(pipeline, D[..., place], y)
    places = range(D.shape[-1])
    if not hasattr(pipeline[-1], "cv"):
        alone = np.diag(np.full(len(D), np.inf))
        errors = [np.mean(y[np.argmin(D[..., m] + alone, axis=1)] != y) for m in places]
        place = int(np.argmin(errors))
        return place, fitted(pipeline, D[..., place], y)
    best, place, model = -np.inf, 0, pipeline
    for m in places:
        candidate = fitted(pipeline, D[..., m], y)
        if candidate[-1].best_score_ > best + TIE:
            best, place, model = candidate[-1].best_score_, m, candidate
    return place, model
