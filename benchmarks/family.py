"""The kernel family: python -m benchmarks.family

Kernel Fisher against one solve for each class, then fit and predict of every estimator beside what
scikit-learn offers, all in one run.
"""

import numpy as np
from scipy import linalg
from sklearn.decomposition import KernelPCA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from mahalearn import (
    DissimilaritySpaceDiscriminant,
    KernelFisherDiscriminant,
    KernelKNeighborsClassifier,
    KernelPCAQuadraticDiscriminant,
    KernelQuadraticDiscriminant,
    OneVsRestSVC,
)

from .timing import compare, print_machine, print_ratios

BETA = 1e-3


def blobs(n, c, d=10, seed=0, equal=True):
    """c overlapping normal classes, of equal or of very unequal sizes."""
    rng = np.random.default_rng(seed)
    if equal:
        y = rng.permutation(np.arange(n) % c)
    else:
        y = np.sort(rng.choice(c, size=n, p=np.arange(1, c + 1) / np.arange(1, c + 1).sum()))
    return rng.normal(size=(n, d)) + rng.normal(size=(c, d))[y], y


def separate_solves(K, y):
    """Kernel Fisher as written in the papers: form N and solve, class by class."""
    n = len(y)
    scores = []
    for j in np.unique(y):
        N = np.zeros((n, n))
        for group in (y == j, y != j):
            B = K[:, group]
            N += group.mean() * (B - B.mean(axis=1, keepdims=True)) @ B.T
        N.flat[:: n + 1] += BETA
        z = np.where(y == j, 1 / (y == j).sum(), -1 / (y != j).sum())
        factor = linalg.cho_factor(N, overwrite_a=True, check_finite=False)
        a = linalg.cho_solve(factor, K @ z, check_finite=False)
        scores.append(K @ a - 0.5 * a @ K @ np.abs(z))
    return np.column_stack(scores)


def one_factor(K):
    """The floor of kernel Fisher: K² and the Cholesky factor of K² + βI."""
    B = K @ K.T
    B.flat[:: len(B) + 1] += BETA
    linalg.cho_factor(B.T, lower=True, overwrite_a=True, check_finite=False)


def fisher(n=2000, c=10):
    """All classes at once against c separate solves, and against the factor of a single one."""
    for equal in (True, False):
        X, y = blobs(n, c, equal=equal)
        K = rbf_kernel(X, gamma=0.05)
        model = KernelFisherDiscriminant(BETA, kernel="precomputed")
        gap = np.abs(model.fit(K, y).decision_function(K) - separate_solves(K, y)).max()
        times = compare(
            {
                "KernelFisherDiscriminant.fit": lambda m=model, K=K, y=y: m.fit(K, y),
                "c separate solves": lambda K=K, y=y: separate_solves(K, y),
                "floor": lambda K=K: one_factor(K),
            },
            repeats=3,
        )
        ratio = times["c separate solves"] / times["KernelFisherDiscriminant.fit"]
        floors = times["KernelFisherDiscriminant.fit"] / times["floor"]
        sizes = "equal" if equal else "unequal"
        print(f"\nkernel Fisher, n = {n}, c = {c}, {sizes} classes")
        print(f"  c separate solves / fit{ratio:>29.2f} ×   goal ≥ 4")
        print(f"  fit / floor{floors:>41.2f} ×")
        print(f"  largest difference of scores{gap:>24.1e}")


def beside_scikit_learn(n=2000, m=2000, c=10):
    """Fit and predict of every estimator."""
    X, y = blobs(n + m, c)
    X, y, Z = X[:n], y[:n], X[n:]
    kpca = make_pipeline(KernelPCA(20, kernel="rbf", gamma=0.05), QuadraticDiscriminantAnalysis())
    models = {
        "SVC (scikit-learn)": SVC(gamma=0.05),
        "KernelPCA + QDA (scikit-learn)": kpca,
        "KNeighborsClassifier (scikit-learn)": KNeighborsClassifier(),
        "OneVsRestSVC": OneVsRestSVC(gamma=0.05),
        "KernelFisherDiscriminant": KernelFisherDiscriminant(gamma=0.05),
        "KernelFisherDiscriminant, flip": KernelFisherDiscriminant(gamma=0.05, spectrum="flip"),
        "KernelPCAQuadraticDiscriminant": KernelPCAQuadraticDiscriminant(20, gamma=0.05),
        "KernelKNeighborsClassifier": KernelKNeighborsClassifier(gamma=0.05),
        "KernelQuadraticDiscriminant RC+": KernelQuadraticDiscriminant(gamma=0.05),
        "DissimilaritySpaceDiscriminant RC+": DissimilaritySpaceDiscriminant(gamma=0.05),
        "DissimilaritySpaceDiscriminant, cv=5": DissimilaritySpaceDiscriminant(
            gamma=0.05, cv=5, random_state=0
        ),
    }
    fit = compare({k: lambda m=m: m.fit(X, y) for k, m in models.items()}, repeats=2)
    print_ratios(f"fit, n = {n}, c = {c}", fit, "SVC (scikit-learn)")
    predict = compare({k: lambda m=m: m.predict(Z) for k, m in models.items()}, repeats=3)
    print_ratios(f"predict, {m} queries", predict, "SVC (scikit-learn)")


if __name__ == "__main__":
    print_machine()
    fisher()
    beside_scikit_learn()
