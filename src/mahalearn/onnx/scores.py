"""Scores of fitted classifiers in a graph: kernel rows, then quadratic forms or linear functions.

`class_scores` has an entry for each classifier: scores (q, c) of the classes that it knows, as its
`decision_function` gives them. Mathematics is that of `formulas`, called with values of a graph.
"""

from functools import singledispatch

import numpy as np
from sklearn.pipeline import Pipeline

from ..classifiers.boosted_trees import BoostedTrees
from ..classifiers.dissimilarity_space import (
    DissimilaritySpaceDiscriminant,
    GaussianHead,
    LeastSquaresHead,
)
from ..classifiers.gaussian import GaussianClassifier
from ..classifiers.kernel_fisher import KernelFisherDiscriminant
from ..classifiers.kernel_neighbors import KernelKNeighborsClassifier
from ..classifiers.kernel_pca import KernelPCAQuadraticDiscriminant
from ..classifiers.kernel_quadratic import KernelQuadraticDiscriminant
from ..classifiers.kernel_ridge import KernelRidgeClassifier
from ..classifiers.learned_metric import RecursiveFeatureMachine
from ..classifiers.one_vs_rest_svm import OneVsRestSVC
from ..classifiers.svm import MahalanobisSVC
from ..formulas.learned_metric import metric_root
from ..formulas.linalg import RANK_RTOL
from ..formulas.one_vs_one import one_vs_one_scores
from ..model_selection.ensemble import MahalanobisClassifierCV
from ..model_selection.search import KernelSearchCV
from .encoders import encoded_table
from .kernels import NoGraphError, kernel_values, self_similarities, sq_distances

# --- kernel rows ----------------------------------------------------------------------------------


def kernel_rows(training, X):
    """Kernel rows (q, n) of queries as a training set has them, in the order of its classes."""
    k = uncorrected_rows(training, X)
    return k if training.correction is None else k + training.correction.cross_change(k)


def uncorrected_rows(training, X):
    """The same before the correction of a negative spectrum."""
    if training.kernel is not None:
        return kernel_values(training.kernel, X, training.reference_rows())
    return X if training.columns is None else X[:, training.columns]


def own_similarities(training, X):
    """k(x, x) of queries, (q,); None where precomputed rows do not tell them."""
    if training.kernel is not None:
        kxx = self_similarities(training.kernel, X)
    else:
        constant = training.original.self_similarities([0])
        if constant is None:
            return None
        kxx = 0.0 * X[:, slice(0, 1)].sum(axis=1) + constant
    if training.correction is None:
        return kxx
    if training.spectrum == "shift":
        return kxx + training.correction.shift
    return kxx + training.correction.self_change(kxx, uncorrected_rows(training, X))


# --- distances ------------------------------------------------------------------------------------


def sq_distances_of(distances, training, X):
    """d² (q, c) to the classes of a fitted distance model."""
    k, (forms, slices) = kernel_rows(training, X), distances.class_forms()
    kxx = own_similarities(training, X) if distances.needs_self else None
    if kxx is not None:
        kxx = distances.unseen(kxx, k)
    elif distances.needs_self and not distances.self_cancels:
        raise NoGraphError(
            "These distances depend on k(x, x), which precomputed rows do not hold: they have "
            "no ONNX graph."
        )
    elif distances.needs_self and slices is not None:
        kxx = k[:, slice(0, 1)].sum(axis=1) * 0.0
    rows = [k if slices is None else k[:, members] for members in slices or forms]
    d2 = [form.sq_distances(r, kxx) for form, r in zip(forms, rows, strict=True)]
    return np.concatenate(d2, axis=0).T


def with_all_classes(estimator, values, fill=-np.inf):
    """Columns (q, c) of all classes, where a classifier has not seen some of them yet."""
    present = np.flatnonzero(estimator.training_.counts)
    return among_all(values, present, len(estimator.classes_), fill)


def among_all(values, present, n, fill):
    """The columns of values at `present` among n, the others filled."""
    if len(present) == n:
        return values
    columns = np.full(n, len(present))
    columns[present] = np.arange(len(present))
    missing = np.where(values[:, slice(0, 1)] * 0.0 == 0.0, fill, fill)
    return np.concatenate([values, missing], axis=1)[:, columns]


# --- scores ---------------------------------------------------------------------------------------


@singledispatch
def class_scores(estimator, X):
    """Scores (q, c) of queries X, a value (q, d)."""
    raise NoGraphError(f"{type(estimator).__name__} has no ONNX graph.")


@class_scores.register(KernelQuadraticDiscriminant)
def _quadratic(estimator, X):
    models = estimator.models_
    scores = sq_distances_of(models.distances, estimator.training_, X) / -2 + models.offsets
    return with_all_classes(estimator, scores)


@class_scores.register(KernelRidgeClassifier)
@class_scores.register(KernelFisherDiscriminant)
def _linear(estimator, X):
    return with_all_classes(estimator, _linear_scores(estimator.models_, estimator, X))


def _linear_scores(path, estimator, X):
    model = path.models[0]
    return kernel_rows(estimator.training_, X) @ model.coefficients + model.offsets


@class_scores.register(OneVsRestSVC)
def _one_vs_rest(estimator, X):
    scores = _linear_scores(estimator.models_, estimator, X)
    return np.concatenate([-scores, scores], axis=1) / 2 if len(estimator.classes_) == 2 else scores


@class_scores.register(KernelPCAQuadraticDiscriminant)
def _kernel_pca(estimator, X):
    models, k = estimator.models_, kernel_rows(estimator.training_, X)
    Z = (k - models.embedding.mean) @ models.embedding.projection
    scores = _density_scores(models.classes, models.priors, Z, models.values[0])
    return with_all_classes(estimator, scores)


def _density_scores(classes, priors, Z, alpha, **options):
    """Logarithms of the densities times priors, `kernel_pca.quadratic_scores`."""
    forms = [one.form(alpha, **options) for one in classes]
    d2 = np.concatenate([form.sq_distances(Z, None) for form in forms], axis=0).T
    volumes = np.concatenate([one.log_volumes([alpha]) for one in classes])
    return d2 / -2 + (np.log(priors) - volumes / 2)


@class_scores.register(DissimilaritySpaceDiscriminant)
def _dissimilarity_space(estimator, X):
    models = estimator.models_
    d2, head = sq_distances_of(models.distances, estimator.training_, X), models.heads[0]
    steps = models.steps[0]
    if steps.any():  # `offsets.settled`
        unit = np.where(steps > 0, steps, 1.0)
        d2 = np.where(np.isfinite(unit) & (steps > 0), np.rint(d2 / unit) * unit, d2)
    return with_all_classes(estimator, class_scores(head, d2))


@class_scores.register(GaussianHead)
def _gaussian_head(head, X):
    Z = (X - head.center_) / head.scale_
    pseudo = head.singular == "pseudo_inverse"
    return _density_scores(head.gaussians_, head.priors_, Z, RANK_RTOL, within_axes_only=pseudo)


@class_scores.register(LeastSquaresHead)
def _least_squares_head(head, X):
    return (X - head.center_) / head.scale_ @ head.coef_ + head.intercept_


@class_scores.register(KernelKNeighborsClassifier)
def _neighbors(estimator, X):
    if estimator.weights != "uniform":
        raise NoGraphError("Neighbours have an ONNX graph with weights='uniform' only.")
    models, graph = estimator.models_, X.graph
    k = kernel_rows(estimator.training_, X)[:, models.back]
    constant = np.ptp(models.diagonal) <= 1e-12 * np.abs(models.diagonal).max(initial=0.0)
    values = -k if constant else models.diagonal - 2 * k
    options = {"axis": 1, "largest": 0, "sorted": 1, "n_outputs": 2}
    _, index = graph.add("TopK", values, np.array([models.values[0]]), **options)
    codes = graph.add("Gather", models.codes, index)
    classes = np.arange(models.n_classes)[:, None]
    same = graph.add("Equal", graph.add("Unsqueeze", codes, np.array([1])), classes)
    return same.cast(float).sum(axis=2) / models.values[0]


@class_scores.register(GaussianClassifier)
def _gaussian(estimator, X):
    fitted = estimator.fitted_
    if estimator.missing == "ignore":
        raise NoGraphError(
            "GaussianClassifier(missing='ignore') has no ONNX graph: each pattern of missing "
            "values has Gaussians of its own. Impute, or fit with missing='raise'."
        )
    scores = gaussian_sq_distances(estimator, X)
    g = fitted.gaussians
    constants = g.log_dets + g.n_directions * np.log(2 * np.pi)
    scores = (scores + constants) * -0.5 + np.log(fitted.priors[fitted.seen])
    return among_all(scores, np.flatnonzero(fitted.seen), len(fitted.seen), -np.inf)


def gaussian_sq_distances(estimator, X):
    """d² (q, c) of rows to the classes seen."""
    fitted = estimator.fitted_
    if fitted.weighting is not None:
        raise NoGraphError("GaussianClassifier(feature_weights=...) has no ONNX graph.")
    g = fitted.gaussians
    Z = np.clip((X - g.centre) * g.scale, -g.limit, g.limit)
    if g.separators is not None:
        index, V = g.separators
        S = np.eye(len(g.scale))
        S[:, index[: V.shape[1]]] = 0.0
        S[np.ix_(index, index[: V.shape[1]])] = V
        Z = Z @ S
    if g.basis is not None:
        Z = Z @ g.basis
    if len(g.classes) > 1:
        pairs = zip(g.classes, g.means, strict=True)
        whitened = [one.whitened(Z - mean) for one, mean in pairs]
    else:  # one covariance: the rows are whitened once
        means = g.classes[0].whitened(g.means.copy())
        Z = g.classes[0].whitened(Z * 1.0)
        whitened = [Z - mean for mean in means]
    return np.column_stack([np.square(z).sum(axis=1) for z in whitened])


@class_scores.register(MahalanobisSVC)
def _mahalanobis_svc(estimator, X):
    n = len(estimator.classes_)
    decisions = np.concatenate([_decisions(m, X) for m in estimator.machines_], axis=1)
    if n == 2:
        return np.concatenate([decisions * 0.0, decisions], axis=1)
    return one_vs_one_scores(decisions, n)


def _decisions(machine, X):
    svc, kernel = machine.svc, machine.kernel
    D = sq_distances(kernel.whitening_.apply(X), svc.support_vectors_)
    decisions = np.exp(-kernel.gamma_ * D) @ machine.coefficients + svc.intercept_
    return decisions if len(svc.n_support_) == 2 else -decisions


@class_scores.register(RecursiveFeatureMachine)
def _learned_metric(estimator, X):
    model, root = estimator.model_, metric_root(estimator.model_.metric)
    X = (X - estimator.center_) / estimator.spread_
    X, Z = (A * root if root.ndim == 1 else A @ root for A in (X, estimator.training_rows_))
    D = np.sqrt(sq_distances(X, Z))
    return np.exp(-D / model.scale) @ model.coefficients + model.intercept


@class_scores.register(BoostedTrees)
def _boosted_trees(estimator, X):
    trees, graph = estimator.trees_, X.graph
    lower = X[:, trees.feature] <= trees.threshold
    children = trees.left[trees.roots], trees.right[trees.roots]
    node = graph.add("Where", lower[:, trees.roots], *children)
    for _ in range(trees.depth - 1):
        children = [graph.add("Gather", side, node) for side in (trees.left, trees.right)]
        node = graph.add("Where", graph.add("GatherElements", lower, node, axis=1), *children)
    return graph.add("Gather", trees.value, node) @ trees.of_class() + trees.start


@class_scores.register(KernelSearchCV)
def _search(estimator, X):
    return class_scores(estimator.best_estimator_, X)


# --- the ensemble ---------------------------------------------------------------------------------


@class_scores.register(MahalanobisClassifierCV)
def _ensemble(estimator, X):
    members = estimator.members_
    if isinstance(estimator.best_estimator_, Pipeline):  # one encoder stands before all members
        X = encoded_table(estimator.best_estimator_[0], X)
        members = {name: member[-1] for name, member in members.items()}
    if estimator.calibrations_ is None:
        return class_scores(members[estimator.best_family_], X)
    logits = 0.0
    for name, member in members.items():
        scores = class_scores(member, X)
        if member.path_parameter is None:  # not on a kernel
            scores = scores - scores.max(axis=1, keepdims=True)
        logits = logits + estimator.weights_[name] * _calibrated(
            estimator.calibrations_[name], scores
        )
    return log_softmax(logits)


def _calibrated(calibration, scores):
    """`stacking.Calibration.log_proba`."""
    log_p = log_softmax(scores / calibration.temperature)
    p = np.exp(log_softmax(log_p * calibration.scale + calibration.bias))
    n, c = calibration.n_objects, len(calibration.scale)
    return np.log((p * n + 0.5) / (n + c / 2))


def log_softmax(scores):
    """ln softmax of scores (q, c)."""
    return scores.graph.add("LogSoftmax", scores, axis=1)
