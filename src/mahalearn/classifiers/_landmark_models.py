"""Models of every kernel method from one pass at landmarks.

The road is always the same::

    plan = LandmarkPlan(kernel, landmarks, classes)          # a fitted kernel, m objects, labels
    statistics = collect(plan, X, y)                         # or .add(X, y) batch by batch, .merge
    model = landmark_model(statistics, "quadratic", values, **params)
    model.scores(X)                                          # (len(values), len(X), c)

`METHODS` lists the methods and what each takes. `fold_scores` gives out-of-fold scores of a path of
values from one pass, `enough_landmarks` the number of landmarks by the same means.
"""

import numpy as np

from .._validation import check_choice, check_components, check_priors, check_reg
from ..formulas.landmark_forms import (
    classwise_form,
    fisher_discriminants,
    full_kernel_forms,
    kernel_pca_forms,
)
from ..formulas.landmarks import landmark_features, mean_spread
from ..formulas.offsets import error_offsets, map_offsets
from ..formulas.spectrum import CORRECTIONS
from ..kernels.landmarks import LANDMARK_SPECTRA, refuse_negative
from ._landmark_heads import head_model
from ._landmark_predict import LinearLandmarkModel, QuadraticLandmarkModel
from .distances import REG_ON, VARIANTS, alphas_of

LANDMARK_OFFSETS = ("error", "map", None)


def landmark_model(statistics, method, values, *, batches=None, **params):
    """The model of a method for a path of regularisation values.

    Parameters
    ----------
    statistics : LandmarkStatistics
        Of the training data.
    method : {"quadratic", "fisher", "kernel_pca", "dissimilarity"}
        Which estimator's model: KernelQuadraticDiscriminant, KernelFisherDiscriminant,
        KernelPCAQuadraticDiscriminant, DissimilaritySpaceDiscriminant.
    values : sequence
        Values of `reg`, each a number or, for "quadratic" and "dissimilarity", one per class.
    batches : callable, default=None
        For "dissimilarity": returns the training batches once more.
    **params : dict
        As the estimator's parameters of the same names; see `METHODS`.

    Returns
    -------
    model : object
        With ``scores(X)`` of shape (len(values), n, c), ``residual(X)``, and for distances
        ``sq_distances(X)``.
    """
    method = check_choice(method, "method", tuple(METHODS))
    if method == "dissimilarity":
        return METHODS[method](statistics, values, batches=batches, **params)
    return METHODS[method](statistics, values, **params)


def _features(statistics, spectrum, rtol, centre=True):
    spectrum = check_choice(spectrum, "spectrum", LANDMARK_SPECTRA)
    plan = statistics.plan
    features = landmark_features(
        plan.gram,
        rtol=rtol,
        dtype=plan.rows.dtype,
        correction=spectrum if spectrum in CORRECTIONS else None,
        centre=centre,
    )
    if spectrum == "raise":
        refuse_negative(features)
    if not len(features.signs):
        raise ValueError(
            "The landmarks' kernel matrix is zero: all objects look alike. Check the kernel."
        )
    return features


def distance_model(
    statistics, values, *, variant="RC+", reg_on="auto", spectrum="krein", rtol=None
):
    """Squared distances to the classes, without offsets: a QuadraticLandmarkModel."""
    variant = check_choice(variant, "variant", VARIANTS)
    reg_on = check_choice(reg_on, "reg_on", REG_ON)
    features = _features(statistics, spectrum, rtol)
    groups = statistics.groups()
    counts = np.array([g.n for g in groups])

    def spread():
        scale = mean_spread(groups, features)
        if np.isfinite(scale):
            return scale
        raise ValueError(
            "reg_on='relative' needs k(x, x), which precomputed kernel rows do not tell; use a "
            "kernel object or another reg_on."
        )

    alphas = np.array(
        [alphas_of(check_reg(v, len(counts)), reg_on, variant, counts, spread) for v in values]
    )
    if variant.startswith("FK"):
        forms = full_kernel_forms(features, groups, variant, alphas)
    else:
        krein = spectrum != "ignore"
        forms = [
            classwise_form(features, g, variant, alpha, krein=krein)
            for g, alpha in zip(groups, alphas.T, strict=True)
        ]
    return QuadraticLandmarkModel(
        statistics.plan.rows, features, forms, np.zeros((len(values), len(groups)))
    )


def quadratic_model(
    statistics,
    values,
    *,
    variant="RC+",
    reg_on="auto",
    spectrum="krein",
    offset="error",
    class_weight=None,
    priors=None,
    rtol=None,
):
    """KernelQuadraticDiscriminant; class_weight (c,) weights of errors, priors (c,).

    Offsets by errors are those of the statistics' sample, each class weighted by its size; where
    the sample holds all rows they are the exact estimator's.
    """
    offset = check_choice(offset, "offset", LANDMARK_OFFSETS)
    model = distance_model(
        statistics, values, variant=variant, reg_on=reg_on, spectrum=spectrum, rtol=rtol
    )
    if offset == "map":
        model.offsets = _map_offsets(model, statistics, priors, variant)
    elif offset == "error":
        sample, weights = statistics.sample, statistics.sample_weights()
        if class_weight is not None:
            weights = weights * np.asarray(class_weight, dtype=float)
        model.offsets = error_offsets(model.scores(sample.rows), sample.codes, weights)
    return model


def _map_offsets(model, statistics, priors, variant):
    volumes = np.column_stack([form.log_volumes for form in model.forms])
    problem = None
    if variant.upper().startswith("FK"):
        problem = "it is not defined for FK variants"
    elif variant.upper().startswith("RC") and not model.self_cancels:
        problem = "RC needs the same σ² for all classes (reg_on='covariance' or 'relative')"
    elif not np.isfinite(volumes).all():
        problem = "the kernel has negative eigenvalues"
    if problem:
        raise ValueError(f"offset='map' cannot be used: {problem}. Use offset='error'.")
    if priors is None:
        priors = statistics.counts / statistics.counts.sum()
    else:
        priors = check_priors(priors, len(statistics.counts))
    return np.array([map_offsets(v, priors) for v in volumes])


def fisher_model(statistics, values, *, spectrum="krein", rtol=None):
    """KernelFisherDiscriminant: a LinearLandmarkModel."""
    features = _features(statistics, spectrum, rtol, centre=False)
    coefficients, offsets = fisher_discriminants(features, statistics.groups(), values)
    return LinearLandmarkModel(statistics.plan.rows, features, coefficients, offsets)


def kernel_pca_model(
    statistics, values, *, n_components=0.8, priors=None, spectrum="krein", rtol=None
):
    """KernelPCAQuadraticDiscriminant; the model's ``embedding`` holds the components."""
    features = _features(statistics, spectrum, rtol)
    embedding, forms = kernel_pca_forms(
        features,
        statistics.groups(),
        check_components(n_components),
        np.asarray(values, dtype=float),
        positive_only=spectrum == "ignore",
    )
    if priors is None:
        priors = statistics.counts / statistics.counts.sum()
    else:
        priors = check_priors(priors, len(statistics.counts))
    offsets = np.log(priors) - np.column_stack([form.log_volumes for form in forms]) / 2
    model = QuadraticLandmarkModel(statistics.plan.rows, features, forms, offsets)
    model.embedding = embedding
    return model


def dissimilarity_model(statistics, values, *, batches, discriminant="fisher", **params):
    """DissimilaritySpaceDiscriminant: distances, then a second pass for the discriminant."""
    return head_model(
        distance_model(statistics, values, **params), statistics, batches, discriminant
    )


METHODS = {
    "quadratic": quadratic_model,
    "fisher": fisher_model,
    "kernel_pca": kernel_pca_model,
    "dissimilarity": dissimilarity_model,
}


def fold_scores(statistics, X, y, folds, method, values, **params):
    """Out-of-fold scores (len(values), n, c) of all rows, from statistics with n_folds folds.

    Equal to refitting on the other folds with the same landmarks, kernel and sample. X, y and folds
    are those that the statistics were collected from.
    """
    plan = statistics.plan
    out = np.full((len(values), len(X), len(plan.classes)), np.nan)
    missing = np.ones(len(X), bool)
    for fold in range(plan.n_folds):
        rows = np.flatnonzero(folds == fold)
        if not len(rows):
            continue
        if method == "dissimilarity":
            others = np.flatnonzero(folds != fold)
            params["batches"] = lambda o=others: [(_take(X, o), np.asarray(y)[o])]
        model = landmark_model(statistics.without_fold(fold), method, values, **params)
        out[:, rows] = model.scores(_take(X, rows))
        missing[rows] = False
    if missing.any():
        raise ValueError(f"folds must be from 0 to {plan.n_folds - 1} for every row.")
    return out


def _take(X, index):
    return X[index] if hasattr(X, "shape") else [X[i] for i in index]


def enough_landmarks(statistics, method, values, *, smallest=64, **params):
    """The fewest landmarks, on the path …, m/4, m/2, m, within one standard error of the best.

    The errors are out-of-fold ones of the statistics' sample, for the best value at each m; the
    statistics must have folds. The path is left early where two doublings in a row gain less than a
    standard error. Returns m' and the table of (m', mean error, standard error).
    """
    plan = statistics.plan
    if plan.n_folds < 2:
        raise ValueError("The number of landmarks is chosen by cross-validation: n_folds ≥ 2.")
    path = [len(plan.rows)]
    while path[-1] // 2 >= smallest:
        path.append(path[-1] // 2)
    table = []
    for m in path[::-1]:
        errors = _sample_errors(statistics.first(m), method, values, params)
        best = errors[:, errors.mean(axis=0).argmin()]
        table.append((m, best.mean(), best.std(ddof=1) / np.sqrt(len(best))))
        if len(table) > 2:
            before = min(table[:-2], key=lambda row: row[1])
            if min(row[1] for row in table[-2:]) > before[1] - before[2]:
                break
    _, mean, error = min(table, key=lambda row: row[1])
    return min(row[0] for row in table if row[1] <= mean + error), table


def _sample_errors(statistics, method, values, params):
    """Out-of-fold errors of the sample's rows, (n_folds, len(values)), classes in proportion."""
    n_folds, sample = statistics.plan.n_folds, statistics.sample
    weights = statistics.sample_weights()
    errors = np.full((n_folds, len(values)), np.nan)
    for fold in range(n_folds):
        held = sample.select(sample.folds == fold)
        if not len(held):
            raise ValueError("A fold has no row in the sample; keep more rows.")
        model = landmark_model(statistics.without_fold(fold), method, values, **params)
        wrong = model.scores(held.rows).argmax(axis=-1) != held.codes
        errors[fold] = (wrong @ weights[held.codes]) / weights[held.codes].sum()
    return errors
