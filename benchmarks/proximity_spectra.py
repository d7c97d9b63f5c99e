"""Spectra of the proximity sets beside C's table 6: ``python -m benchmarks.proximity_spectra``.

r_neg and (p, q) of the centred −d² kernel on training sets of about the paper's size, mean of five
draws (seeds 0 to 4). Needs MAHALEARN_DATA; half a minute on one core.
"""

import numpy as np

from mahalearn.datasets import load
from mahalearn.formulas.linalg import center_gram, centering, eigh, negative_fraction, signature

# name -> objects of each class drawn anew (None: the paper's fraction of the whole set), published
SETS = {
    "poly-h": (100, (0.32, 113, 87)),
    "poly-mh": (100, (0.25, 91, 108)),
    "heart-gower": (None, (0.00, 242, 0)),
    "news-cor": (None, (0.19, 127, 208)),
    "cat-cortex": (None, (0.19, 35, 18)),
    "protein": (None, (0.00, 167, 3)),
    "nist38-eu": (100, (0.00, 199, 0)),
    "nist38-mh": (100, (0.22, 104, 95)),
    "pen-ang": (53, (0.24, 261, 269)),
    "pen-dis": (53, (0.28, 253, 276)),
    "chicken15": (None, (0.27, 202, 156)),
    "chicken29": (None, (0.31, 192, 166)),
    "chromo-dif": (20, (0.21, 206, 213)),
    "chromo-abs": (20, (0.18, 198, 221)),
}


def spectrum(D):
    """(r_neg, p, q) of the centred −d² kernel."""
    K = -(D**2)
    values = eigh(center_gram(K, centering(K)), vectors=False).values
    return negative_fraction(values), *signature(values)


def training_matrix(name, n_per_class, seed):
    """Dissimilarities of one training set."""
    data = load(name, n_per_class=n_per_class, random_state=seed)
    if n_per_class is not None:
        return data.matrix
    n = len(data.target)
    rows = np.random.default_rng(seed).permutation(n)[: round(data.train_fraction * n)]
    return data.matrix[np.ix_(rows, rows)]


if __name__ == "__main__":
    print("| set | objects | r_neg | (p, q) | published |\n|---|---|---|---|---|")
    for name, (n_per_class, published) in SETS.items():
        matrices = [training_matrix(name, n_per_class, seed) for seed in range(5)]
        r_neg, p, q = np.mean([spectrum(D) for D in matrices], axis=0)
        theirs = f"{published[0]:.2f} ({published[1]}, {published[2]})"
        print(
            f"| `{name}` | {len(matrices[0])} | {r_neg:.3f} | ({p:.0f}, {q:.0f}) | {theirs} |",
            flush=True,
        )
