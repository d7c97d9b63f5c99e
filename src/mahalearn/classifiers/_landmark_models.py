"""Models of every kernel method from one pass at landmarks.

The road is always the same::

    plan = LandmarkPlan(kernel, landmarks, classes)          # a fitted kernel, m objects, labels
    statistics = collect(plan, X, y)                         # or .add(X, y) batch by batch, .merge
    model = quadratic_model(statistics, values, **params)    # a path of regularisation values
    model.scores(X)                                          # (len(values), len(X), c)

Parameters have the names of the estimators' own. `enough_landmarks` chooses the number of landmarks
by cross-validation on the nested path.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._validation import check_choice, check_components, check_reg
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
from ._landmark_predict import LinearLandmarkModel, QuadraticLandmarkModel, sample_sq_distances
from ._landmark_statistics import LandmarkStatistics
from .distances import REG_ON, VARIANTS, alphas_of, auto_reg

LANDMARK_OFFSETS = ("error", "map", None)


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
    statistics, values, *, variant="RC+", reg_on="auto", spectrum="krein", rtol=None, features=None
):
    """Squared distances to the classes, without offsets: a QuadraticLandmarkModel.

    features: of the plan, where they are known.
    """
    variant = check_choice(variant, "variant", VARIANTS)
    reg_on = check_choice(reg_on, "reg_on", REG_ON)
    if features is None:
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

    def reg_of(value):
        if isinstance(value, str) and value == "auto":
            value = auto_reg(statistics.plan.rows.kernel, reg_on, variant, spread)
        return check_reg(value, len(counts))

    alphas = np.array([alphas_of(reg_of(v), reg_on, variant, counts, spread) for v in values])
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


class Part(NamedTuple):
    """A training set: its statistics, and what is asked of its model.

    values: of the path. class_weight (c,): weights of errors. priors (c,), sum 1.
    """

    statistics: LandmarkStatistics
    values: Sequence
    class_weight: np.ndarray | None = None
    priors: np.ndarray | None = None


def quadratic_models(
    parts, *, variant="RC+", reg_on="auto", spectrum="krein", offset="error", rtol=None
):
    """KernelQuadraticDiscriminant for each of several training sets of one plan.

    Offsets by errors are those of the statistics' sample, each class weighted by its size; where
    the sample holds all rows they are the exact estimator's.
    """
    offset = check_choice(offset, "offset", LANDMARK_OFFSETS)
    options = {"variant": variant, "reg_on": reg_on, "spectrum": spectrum, "rtol": rtol}
    options["features"] = _features(parts[0].statistics, spectrum, rtol)
    models = [distance_model(part.statistics, part.values, **options) for part in parts]
    if offset == "map":
        for model, part in zip(models, parts, strict=True):
            model.offsets = _map_offsets(model, part.statistics, part.priors, variant)
    elif offset == "error":
        samples = [part.statistics.sample for part in parts]
        distances = sample_sq_distances(models, samples)
        for model, part, d2 in zip(models, parts, distances, strict=True):
            weights = part.statistics.sample_weights()
            if part.class_weight is not None:
                weights = weights * np.asarray(part.class_weight, dtype=float)
            d2 /= -2
            model.offsets = error_offsets(d2, part.statistics.sample.codes, weights)
    return models


def quadratic_model(statistics, values, *, class_weight=None, priors=None, **options):
    """The one of a single training set; options of `quadratic_models`."""
    return quadratic_models([Part(statistics, values, class_weight, priors)], **options)[0]


def _map_offsets(model, statistics, priors, variant):
    volumes = np.column_stack([form.log_volumes for form in model.forms])
    problem = None
    if variant.startswith("FK"):
        problem = "it is not defined for FK variants"
    elif variant.startswith("RC") and not model.self_cancels:
        problem = "RC needs the same σ² for all classes (reg_on='covariance' or 'relative')"
    elif not np.isfinite(volumes).all():
        problem = "the kernel has negative eigenvalues"
    if problem:
        raise ValueError(f"offset='map' cannot be used: {problem}. Use offset='error'.")
    if priors is None:
        priors = statistics.counts / statistics.counts.sum()
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
    offsets = np.log(priors) - np.column_stack([form.log_volumes for form in forms]) / 2
    model = QuadraticLandmarkModel(statistics.plan.rows, features, forms, offsets)
    model.embedding = embedding
    return model


def enough_landmarks(statistics, make_model, *, smallest=32):
    """The fewest landmarks, on the path …, m/4, m/2, m, within one standard error of the best.

    make_model(statistics) gives (labels, model), the model of the classes ``labels.present``. The
    errors are out-of-fold ones of the
    statistics' sample; the statistics must have folds. The path is left early where two doublings
    in a row gain less than a standard error. Returns m' and the table of (m', mean error, standard
    error).
    """
    plan = statistics.plan
    if plan.n_folds < 2:
        raise ValueError("The number of landmarks is chosen by cross-validation: n_folds ≥ 2.")
    path = [len(plan.rows)]
    while path[-1] // 2 >= smallest:
        path.append(path[-1] // 2)
    table = []
    for m in path[::-1]:
        errors = _sample_errors(statistics.first(m), make_model)
        table.append((m, errors.mean(), errors.std(ddof=1) / np.sqrt(len(errors))))
        if len(table) > 2:
            before = min(table[:-2], key=lambda row: row[1])
            if min(row[1] for row in table[-2:]) > before[1] - before[2]:
                break
    _, mean, error = min(table, key=lambda row: row[1])
    return min(row[0] for row in table if row[1] <= mean + error), table


def _sample_errors(statistics, make_model):
    """Out-of-fold errors of the sample's rows, (n_folds,), classes in proportion."""
    n_folds, sample = statistics.plan.n_folds, statistics.sample
    weights = statistics.sample_weights()
    errors = np.full(n_folds, np.nan)
    for fold in range(n_folds):
        held = sample.select(sample.folds == fold)
        if not len(held):
            raise ValueError("A fold has no row in the sample; keep more rows.")
        labels, model = make_model(statistics.without_fold(fold))
        wrong = labels.present[model.scores(held.rows)[0].argmax(axis=-1)] != held.codes
        errors[fold] = (wrong @ weights[held.codes]) / weights[held.codes].sum()
    return errors
