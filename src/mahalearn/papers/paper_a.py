"""Paper A: kernel Mahalanobis distance classifiers. Tables 1 and 3, figures 1 and 2."""

from functools import lru_cache

import numpy as np

from .decision_maps import decision_map, distance_map
from .experiment import CellData, Convention, Experiment, Measurement
from .holdouts import hold_out
from .paper_methods import BALANCED, distance_method, kfd, knn, log_grid, svm
from .publications import errors, table

SIZES = (50, 100, 200)
N_TEST = 1000
GAMMAS = log_grid(0.01, 50, 8)
KERNELS = {
    "rbf": {"kernel": "rbf", "gammas": GAMMAS},
    "poly": {"kernel": "poly", "gammas": (1.0,), "coef0": 1, "degrees": (1, 2, 3, 4)},
}


def methods(ic, rc, neighbours, beta):
    """Rows of the tables. IC cuts small eigenvalues; RC holds α = nσ² equal over classes.

    As in PRTools, the authors' toolbox, where equal priors are set: parameters by the balanced
    cross-validation error; quadratic discriminants with equal priors and a pseudo-inverse; Fisher's
    discriminant as least squares on the targets ±1, which knows no priors.
    """
    from ..classifiers.dissimilarity_space import GaussianHead, LeastSquaresHead

    quadratic = GaussianHead(pooled=False, priors="equal", singular="pseudo_inverse")
    heads = {"KQD": None, "FD": LeastSquaresHead(), "QD": quadratic}
    return (
        *(
            distance_method(
                f"{name}-{family}", variant, grid, reg_on="kernel", head=head, scoring=BALANCED
            )
            for family, variant, grid in (("IC", "IC-", ic), ("RC", "RC+", rc))
            for name, head in heads.items()
        ),
        kfd("KFD", log_grid(1e-6, beta, 8), BALANCED),
        svm("SVM", log_grid(1e-1, 1e6, 8), BALANCED),
        knn("KNN", neighbours, BALANCED),
    )


TOY_METHODS = methods(log_grid(1e-6, 1e-1, 8), log_grid(1e-5, 1, 8), 8, 10)
REAL_METHODS = methods(log_grid(1e-6, 0.5, 8), log_grid(1e-5, 2, 8), 15, 2)


def toy(draw):
    """Two classes, each a mixture of two normals: "rbf n=50" and so on."""
    from ..datasets.synthetic import two_mixtures

    kernel, size = draw.dataset.split(" n=")
    rng = np.random.RandomState(draw.seed)
    train, test = two_mixtures(int(size), random_state=rng), two_mixtures(N_TEST, random_state=rng)
    return CellData(*train, *test, kernel=KERNELS[kernel])


@lru_cache(maxsize=2)
def _loaded(dataset):
    from ..datasets.files import load

    return load(dataset.lower())


def real(draw):
    """A stratified hold-out of a UCI set, standardised by the training part.

    The kernel is exp(−(γ/m)‖x − x'‖²) for m features: squared distances of standardised features
    grow with m, and with the toy data's γ a kernel of 60 features is nearly the unit matrix.
    """
    from sklearn.preprocessing import StandardScaler

    data = _loaded(draw.dataset)
    train, test = hold_out(data.target, data.train_fraction, draw.seed)
    scaler = StandardScaler().fit(data.data[train])
    X, X_test = (scaler.transform(data.data[part]) for part in (train, test))
    kernel = {"kernel": "rbf", "gammas": tuple(gamma / X.shape[1] for gamma in GAMMAS)}
    return CellData(X, data.target[train], X_test, data.target[test], kernel, data.status)


def xor(draw):
    """The four corners, one class on each diagonal."""
    X = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    return CellData(X, np.array([0, 1, 1, 0]), X, np.array([0, 1, 1, 0]))


def figures(draw):
    """Data of figure 1 (200 objects, RBF) or 2 (XOR)."""
    return toy(draw._replace(dataset="rbf n=200")) if draw.dataset == "figure 1" else xor(draw)


def regions_or_distances(data, seed, earlier):
    """Numbers of figure 1 (kernels to choose from) or 2 (XOR)."""
    return decision_map(TOY_METHODS, data, seed) if data.kernel else distance_map(data)


EXPERIMENTS = (
    Experiment(
        id="A1",
        paper="A",
        title="Toy data: errors by kernel and training size (A, table 1)",
        source=toy,
        methods=TOY_METHODS,
        datasets=tuple(f"{kernel} n={size}" for kernel in KERNELS for size in SIZES),
        repetitions=10,
        quick_repetitions=2,
        draws=lambda dataset: dataset.split()[-1],
        published=lambda: errors(
            "A_table1_toy_errors", 10, lambda row: f"{row['kernel']} n={row['n_train']}"
        ),
        conventions=(
            Convention(
                "The paper does not print the parameters of its mixtures. Those of the generator "
                "were calibrated on the KNN row of this table only and not changed afterwards.",
                frozenset((f"{kernel} n={size}", "KNN") for kernel in KERNELS for size in SIZES),
            ),
            Convention("The discriminants are those of table 3 (see there)."),
        ),
    ),
    Experiment(
        id="A3",
        paper="A",
        title="UCI data: balanced errors (A, table 3)",
        source=real,
        methods=REAL_METHODS,
        datasets=tuple(row["dataset"] for row in table("A_table2_uci_data")),
        repetitions=10,
        quick_without=frozenset({"Mfeat-Fac", "Mfeat-Fou", "Diabetes"}),
        measure="balanced_error",
        published=lambda: errors("A_table3_uci_errors", 10, lambda row: row["dataset"]),
        availability=_loaded,
        conventions=(
            Convention(
                "The published errors are means of the per-class error rates, though the text "
                "does not say so; the plain errors are in the rows. PRTools, the authors' "
                "toolbox, averages class errors by the priors of the data set, so that such a "
                "table means that equal priors were set. These act elsewhere too: parameters "
                "are chosen by the balanced cross-validation error; the quadratic discriminants "
                "have equal priors, and a pseudo-inverse where a class has no variance in some "
                "direction; Fisher's discriminant is a least-squares fit of ±1, one class "
                "against the rest, and has no priors. The toolbox led to these choices; nine "
                "cells were looked at while they were made.",
                frozenset(
                    {
                        ("Diabetes", "FD-RC"),
                        ("Diabetes", "QD-RC"),
                        ("Diabetes", "QD-IC"),
                        ("Diabetes", "KQD-RC"),
                        ("Liver", "FD-RC"),
                        ("Glass", "FD-RC"),
                        ("Sonar", "QD-IC"),
                        ("Mfeat-Fac", "FD-IC"),
                        ("Mfeat-Fac", "QD-IC"),
                    }
                ),
            ),
            Convention(
                "The paper prints no range of γ for these sets. With that of the toy data, "
                "[0.01, 50], KQD-IC is not reproduced on Sonar (60 features) and Mfeat-Fac (216): "
                "the kernel is nearly the unit matrix within a class, training objects are farther "
                "from their own class than the others are, as in figure 2, and no offset is better "
                "than one class for all (errors of 50 and 90; the paper has 29.5 and 10.0). Here "
                "the range is divided by the number of features.",
                frozenset({("Sonar", "KQD-IC"), ("Mfeat-Fac", "KQD-IC")}),
            ),
            Convention(
                "Hold-outs take ⌈β·n_j⌉ objects of each class, as PRTools does; features are "
                "standardised by the training part alone."
            ),
        ),
        notes=(
            "Table 2 of the paper gives Ecoli six features; one of the set's seven is constant.",
            "KQD-IC and KQD-RC on Glass and KQD-RC on Liver have smaller errors here than in "
            "the paper. Tried without success: no offsets, offsets by balanced counts, plain "
            "least squares for the offsets, distances without the factor 1/σ².",
        ),
    ),
    Experiment(
        id="Afigs",
        paper="A",
        title="Decision regions on the toy data, and distances on XOR (A, figures 1 and 2)",
        source=figures,
        methods=(Measurement("regions", regions_or_distances),),
        datasets=("figure 1", "figure 2"),
        repetitions=1,
        draws=lambda _: "n=200",
        figure="maps",
    ),
)
