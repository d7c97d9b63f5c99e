"""Textbook loops for the formulas, written from the papers; imports nothing of the library.

Slow on purpose: explicit centring matrices, full inverses, one query at a time.
"""

import math

import numpy as np

# --- kernel Mahalanobis distances (papers A and C) ------------------------------------------------


def centred(K, k, kxx):
    """K̃, k̃_x, k̃_xx for one query x (C, Table I)."""
    n = len(K)
    one = np.ones(n)
    H = np.eye(n) - np.outer(one, one) / n
    return H @ K @ H, H @ (k - K @ one / n), kxx - 2 / n * one @ k + one @ K @ one / n**2


def signed_spectrum(Kc, krein):
    lam, U = np.linalg.eigh(Kc)
    lam[np.abs(lam) <= 1e-10 * np.abs(lam).max()] = 0
    J = np.ones(len(lam))
    if krein:
        for i in range(len(lam)):
            if lam[i] < 0:
                J[i] = -1
    return lam, U, J


def classwise_sq_distance(variant, K, k, kxx, alpha, krein=True):
    """d² of one query to one class (C, Table II); K, k, kxx are the class's own, not centred."""
    n = len(K)
    Kc, kc, kxxc = centred(K, k, kxx)
    lam, U, J = signed_spectrum(Kc, krein)
    sigma2 = alpha / n
    if variant == "IC-":
        pinv = np.zeros((n, n))
        for i in range(n):
            if lam[i] != 0 and abs(lam[i]) >= alpha:
                pinv += np.outer(U[:, i], U[:, i]) / lam[i]
        return n * kc @ pinv @ pinv @ kc
    Kreg_inverse = np.linalg.inv(U @ np.diag(lam + alpha * J) @ U.T)
    if variant == "IC+":
        return n * kc @ Kreg_inverse @ Kreg_inverse @ kc
    if variant == "RC+":
        return (kxxc - kc @ Kreg_inverse @ kc) / sigma2
    assert variant == "RC-"
    return (kxxc - kc @ U @ np.diag(J) @ U.T @ kc / (n * sigma2)) / sigma2


def full_kernel_sq_distance(variant, K, k, members, alpha):
    """d² of one query to the class with the given members (C, (22), (23)), an n×n inverse."""
    n, n_j = len(K), len(members)
    Kc, kc, _ = centred(K, k, 0.0)
    Kj = Kc[:, members]
    Hj = np.eye(n_j) - np.ones((n_j, n_j)) / n_j
    M = Kj @ Hj @ Kj.T
    v = kc - Kj @ np.ones(n_j) / n_j
    if variant == "FK+":
        return n_j * v @ np.linalg.inv(M + alpha * np.eye(n)) @ v
    lam, U = np.linalg.eigh(M)
    total = 0.0
    for i in range(n):
        # M is a square: rounding leaves eigenvalues of eps·max where there are none.
        if lam[i] >= max(alpha, 1e-13 * lam.max()):
            total += (U[:, i] @ v) ** 2 / lam[i]
    return n_j * total


def sq_distances(variant, K, y, k, kxx, alphas, krein=True):
    """(m, c) squared distances of queries, rows k (m, n) in the order of the training objects."""
    classes = np.unique(y)
    out = np.zeros((len(k), len(classes)))
    for a in range(len(k)):
        for j, label in enumerate(classes):
            idx = np.flatnonzero(y == label)
            if variant.startswith("FK"):
                out[a, j] = full_kernel_sq_distance(variant, K, k[a], idx, alphas[j])
            else:
                out[a, j] = classwise_sq_distance(
                    variant, K[np.ix_(idx, idx)], k[a][idx], kxx[a], alphas[j], krein
                )
    return out


def regularised_mahalanobis(X, z, sigma2):
    """(z − μ)ᵀ(C + σ²I)⁻¹(z − μ) in input space, C with divisor n."""
    mu = X.mean(axis=0)
    C = np.zeros((X.shape[1], X.shape[1]))
    for x in X:
        C += np.outer(x - mu, x - mu) / len(X)
    return (z - mu) @ np.linalg.inv(C + sigma2 * np.eye(len(mu))) @ (z - mu)


# --- offsets (C, IV-D) ----------------------------------------------------------------------------


def pair_errors(scores, y, i, j, delta, weights):
    """Weighted training errors among classes i and j when b_i − b_j = delta."""
    errors = 0.0
    for s, label in zip(scores, y):
        if label == i and not s[i] - s[j] + delta > 0:
            errors += weights[i]
        if label == j and not s[i] - s[j] + delta < 0:
            errors += weights[j]
    return errors


def least_pair_errors(scores, y, i, j, weights):
    """The smallest possible number of errors: every midpoint between two scores is tried."""
    g = np.unique([s[j] - s[i] for s, label in zip(scores, y) if label in (i, j)])
    candidates = [g[0] - 1, *((g[1:] + g[:-1]) / 2), g[-1] + 1]
    return min(pair_errors(scores, y, i, j, delta, weights) for delta in candidates)


# --- Measures of two objects -----------------------------------------------------------------


def hausdorff(A, B, modified=False):
    """Largest (or mean) distance to the nearest point of the other set, both ways."""

    def directed(S, T):
        nearest = [min(math.dist(s, t) for t in T) for s in S]
        return sum(nearest) / len(nearest) if modified else max(nearest)

    return max(directed(A, B), directed(B, A))


def edit_distance(a, b, substitution, insertion=1, deletion=1):
    """The full table of the dynamic programme; substitution is a function of two symbols."""
    D = [[0.0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        D[i][0] = i * deletion
    for j in range(1, len(b) + 1):
        D[0][j] = j * insertion
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            D[i][j] = min(
                D[i - 1][j] + deletion,
                D[i][j - 1] + insertion,
                D[i - 1][j - 1] + substitution(a[i - 1], b[j - 1]),
            )
    return D[-1][-1]


def angle_between(a, b, period):
    """The shorter way from a to b on a circle, by walking both ways."""
    gap = math.fmod(abs(a - b), period)
    return min(gap, period - gap)


def gower(x, y, ranges):
    """√(1 − s); ranges has None for a nominal column; None in x or y is missing."""
    scores = []
    for a, b, r in zip(x, y, ranges, strict=True):
        if a is None or b is None:
            continue
        if r is None:
            scores.append(1.0 if a == b else 0.0)
        else:
            scores.append(max(0.0, 1 - abs(a - b) / r))
    return math.sqrt(1 - sum(scores) / len(scores))


def compression_distance(x, y, compress):
    """NCD of two byte strings."""
    cx, cy, cxy = len(compress(x)), len(compress(y)), len(compress(x + y))
    return (cxy - min(cx, cy)) / max(cx, cy)


def correlation(x, y):
    """Paper C, appendix II, News-COR."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    below = x @ x + y @ y - 2 * (x @ y)
    return 0.5 if below == 0 else 0.5 * (1 - (x @ y) / below)


def all_pairs(X, Y, measure):
    """A matrix by two loops."""
    return np.array([[measure(x, y) for y in Y] for x in X])
