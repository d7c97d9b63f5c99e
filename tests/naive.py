"""Textbook versions of the formulas: loops written from the papers, nothing of ours imported."""

import numpy as np
from scipy import linalg

# Kernel Fisher discriminant, kernel PCA + QDA, kernel neighbours, corrections of the spectrum.


def kernel_fisher(K, y, k, beta):
    """Scores (m, c) of C (7), (8), one class against the rest; K (n, n), k (m, n)."""
    n = len(y)
    scores = []
    for label in np.unique(y):
        groups = [np.flatnonzero(y == label), np.flatnonzero(y != label)]
        N = np.zeros((n, n))
        z, z_plus = np.zeros(n), np.zeros(n)
        for sign, group in zip([1, -1], groups, strict=True):
            m = len(group)
            H = np.eye(m) - np.ones((m, m)) / m
            N += m / n * K[:, group] @ H @ K[:, group].T
            z[group], z_plus[group] = sign / m, 1 / m
        a = np.linalg.solve(N + beta * np.eye(n), K @ z)
        scores.append([a @ row - 0.5 * a @ K @ z_plus for row in k])
    return np.array(scores).T


def corrected(K, k, name):
    """The corrected training matrix and the corrected rows of queries (full-rank K)."""
    values, U = np.linalg.eigh(K)
    if name == "shift":
        return K + max(0.0, -values.min()) * np.eye(len(K)), k
    f = {"clip": np.maximum(values, 0), "flip": np.abs(values), "square": values**2}[name]
    return U @ np.diag(f) @ U.T, np.array([row @ U @ np.diag(f / values) @ U.T for row in k])


def centred(K, k):
    """K̃ and the rows k̃."""
    n = len(K)
    H = np.eye(n) - np.ones((n, n)) / n
    return H @ K @ H, np.array([H @ (row - K.mean(axis=0)) for row in k])


def kernel_pca(K, k, n_components):
    """Coordinates of the training objects and of queries, ψ = |Λ|^{-1/2}Qᵀk̃, largest |λ| first."""
    Kc, kc = centred(K, k)
    values, Q = np.linalg.eigh(Kc)
    best = sorted(range(len(values)), key=lambda i: -abs(values[i]))[:n_components]
    return tuple(
        np.array([[row @ Q[:, i] / np.sqrt(abs(values[i])) for i in best] for row in rows])
        for rows in (Kc, kc)
    )


def quadratic_discriminant(X, y, Z, alpha, priors=None):
    """Scores −½d² − ½ln det + ln P with Σ + αI, covariances with divisor n_j."""
    scores = []
    for j, label in enumerate(np.unique(y)):
        mine = X[y == label]
        mu = mine.mean(axis=0)
        S = sum(np.outer(x - mu, x - mu) for x in mine) / len(mine) + alpha * np.eye(X.shape[1])
        P = len(mine) / len(X) if priors is None else priors[j]
        logdet = np.linalg.slogdet(S)[1]
        inverse = np.linalg.inv(S)
        scores.append([-0.5 * (z - mu) @ inverse @ (z - mu) - 0.5 * logdet + np.log(P) for z in Z])
    return np.array(scores).T


def linear_discriminant(X, y, Z):
    """Scores of the Fisher (pooled covariance) discriminant, priors from the frequencies."""
    labels = np.unique(y)
    W = np.zeros((X.shape[1], X.shape[1]))
    for label in labels:
        mine = X[y == label]
        for x in mine:
            W += np.outer(x - mine.mean(axis=0), x - mine.mean(axis=0)) / len(X)
    inverse = linalg.inv(W)
    scores = []
    for label in labels:
        mine = X[y == label]
        mu = mine.mean(axis=0)
        P = np.log(len(mine) / len(X))
        scores.append([-0.5 * (z - mu) @ inverse @ (z - mu) + P for z in Z])
    return np.array(scores).T


def kernel_neighbors(K, k, kxx, y, n_neighbors):
    """Votes (m, c) of the nearest training objects by d² = k_xx − 2k + k_x'x'."""
    labels = np.unique(y)
    votes = np.zeros((len(k), len(labels)))
    for i, row in enumerate(k):
        d2 = [kxx[i] - 2 * row[t] + K[t, t] for t in range(len(K))]
        for t in sorted(range(len(K)), key=lambda t: (d2[t], t))[:n_neighbors]:
            votes[i, list(labels).index(y[t])] += 1
    return votes


# Figures that describe proximities.


def triangle_fraction(D):
    """Fraction of the inequalities d_ij ≤ d_ik + d_kj that are broken."""
    n, broken, total = len(D), 0, 0
    for i in range(n):
        for j in range(n):
            for k in range(n):
                if len({i, j, k}) == 3:
                    total += 1
                    broken += D[i, j] > D[i, k] + D[k, j] + 1e-9
    return broken / total


def loo_nearest_error(D, y):
    """Leave-one-out error of the nearest neighbour; ties are shared."""
    errors = []
    for i in range(len(D)):
        others = [j for j in range(len(D)) if j != i]
        least = min(D[i, j] for j in others)
        ties = [j for j in others if D[i, j] == least]
        errors.append(np.mean([y[j] != y[i] for j in ties]))
    return float(np.mean(errors))
