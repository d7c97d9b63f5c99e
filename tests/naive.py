"""Textbook loops for the formulas, written from the papers; imports nothing of ours."""

import numpy as np
from scipy import optimize

# --- Support vector machines with Mahalanobis kernels (paper B) ---------------------------------


def covariance_divisor_m(X):
    """B (1), (2): one mean, divisor M."""
    M, m = X.shape
    c = sum(X) / M
    Q = np.zeros((m, m))
    for x in X:
        Q += np.outer(x - c, x - c)
    return c, Q / M


def mahalanobis_kernel(data, X, Y, delta, full):
    """B (8), for an invertible covariance of `data`."""
    _, Q = covariance_divisor_m(data)
    if not full:
        Q = np.diag(np.diag(Q))
    inverse = np.linalg.inv(Q)
    m = data.shape[1]
    K = np.empty((len(X), len(Y)))
    for i, x in enumerate(X):
        for j, z in enumerate(Y):
            K[i, j] = np.exp(-delta / m * (x - z) @ inverse @ (x - z))
    return K


def svm_decisions(K, k, signs, C):
    """Decision values of the L1 support vector machine from its dual, by a general solver.

    K (n, n) training Gram, k (q, n) queries, signs ±1, C (n,) upper bounds of the multipliers.
    """
    n = len(K)
    H = K * np.outer(signs, signs)
    solution = optimize.minimize(
        lambda a: a @ H @ a / 2 - a.sum(),
        np.full(n, 1e-3),
        jac=lambda a: H @ a - 1,
        bounds=[(0, bound) for bound in C],
        constraints={"type": "eq", "fun": lambda a: a @ signs, "jac": lambda a: signs},
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    a = solution.x
    free = (a > 1e-5 * C) & (a < (1 - 1e-5) * C)
    assert solution.success and free.any()
    f = K @ (a * signs)
    bias = np.mean(signs[free] - f[free])
    return k @ (a * signs) + bias


def one_vs_one(decisions, n_classes):
    """Votes of the pairs and the sums of their decisions; decisions[i][j] > 0 favours j."""
    votes, sums = [0] * n_classes, [0.0] * n_classes
    for i in range(n_classes):
        for j in range(i + 1, n_classes):
            votes[j if decisions[i][j] > 0 else i] += 1
            sums[j] += decisions[i][j]
            sums[i] -= decisions[i][j]
    return votes, sums


def median_rule(errors, parameters, Cs):
    """B, section 4: the parameter of least mean error, the median of its best C (odd number)."""
    means = []
    for a in range(len(parameters)):
        best = []
        for realisation in errors:
            best.append(min(realisation[a]))
        means.append(sum(best) / len(best))
    a = means.index(min(means))
    chosen = []
    for realisation in errors:
        for C, error in zip(Cs, realisation[a], strict=True):
            if error == min(realisation[a]):
                chosen.append(C)
                break
    return parameters[a], sorted(chosen)[len(chosen) // 2]


def line_search(score, Cs, deltas):
    """B, section 3.2: score(C, delta); the smallest values on ties."""
    best_C, best = None, -np.inf
    for C in sorted(Cs):
        if score(C, 1.0) > best + 1e-9:
            best_C, best = C, score(C, 1.0)
    best_delta, best = None, -np.inf
    for delta in sorted(deltas):
        if score(best_C, delta) > best + 1e-9:
            best_delta, best = delta, score(best_C, delta)
    return best_C, best_delta
