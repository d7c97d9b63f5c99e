"""Textbook loops for the formulas, written from the papers; nothing of the library is imported."""

import numpy as np

# --- Gaussian classes and feature weights (paper D) ---------------------------------------------


def class_mean_and_covariance(X, weights):
    """Weighted mean and covariance of the rows, divisor: the total weight."""
    total, d = sum(weights), X.shape[1]
    mean = np.zeros(d)
    for x, w in zip(X, weights):
        mean += w * x / total
    covariance = np.zeros((d, d))
    for x, w in zip(X, weights):
        covariance += w * np.outer(x - mean, x - mean) / total
    return mean, covariance


def log_joint(x, mean, covariance, prior):
    """ln p(x|ω)P(ω) (D, (5)) of the features of x that are not NaN."""
    there = [k for k in range(len(x)) if not np.isnan(x[k])]
    if not there:
        return np.log(prior)
    S = covariance[np.ix_(there, there)]
    z = (x - mean)[there]
    distance = z @ np.linalg.inv(S) @ z
    return (
        -distance / 2
        - np.linalg.slogdet(S)[1] / 2
        - len(there) * np.log(2 * np.pi) / 2
        + np.log(prior)
    )


def feature_distances(x, mean, variances):
    """Z[c] = (x[c] − μ[c])²/Σ[c, c] (D, (7))."""
    return np.array([(x[c] - mean[c]) ** 2 / variances[c] for c in range(len(x))])


def descent_weights(Z, power):
    """(10) and (11) of D, with the power that the published numbers need."""
    m, n_classes, N = Z.shape
    Z_sum = np.zeros(N)
    for i in range(m):
        for j in range(n_classes):
            Z_sum += np.array(sorted(Z[i, j])) / (m * n_classes)
    inverse = [1 / z**power for z in Z_sum]
    return np.array([N * v / sum(inverse) for v in inverse])


def difference_weights_of_pair(z):
    """(12) and (13) of D for one sample and class, normalised to sum to N (9)."""
    N = len(z)
    d = [sum(abs(z[c] - z[a]) for a in range(N)) for c in range(N)]
    if max(d) == 0:
        return np.ones(N)
    inverse = [1 / v for v in d]
    return np.array([N * v / sum(inverse) for v in inverse])


def difference_weighted(Z):
    """Z̄ = w·Z with the difference weights of each pair (D, 3.4)."""
    out = np.empty_like(Z)
    for i in range(Z.shape[0]):
        for j in range(Z.shape[1]):
            out[i, j] = difference_weights_of_pair(Z[i, j]) * Z[i, j]
    return out


def rank_weighted_distances(Z, weights):
    """D (8), where weights[i] belongs to the ranks of sample i."""
    out = np.empty(Z.shape[:2])
    for i in range(Z.shape[0]):
        for j in range(Z.shape[1]):
            out[i, j] = sum(w * z for w, z in zip(weights[i], sorted(Z[i, j])))
    return out


def zca_cor(covariance):
    """P^{-1/2}V^{-1/2}, from the eigenvectors of the correlations P."""
    root = np.sqrt(np.diag(covariance))
    values, U = np.linalg.eigh(covariance / np.outer(root, root))
    return U @ np.diag(values**-0.5) @ U.T @ np.diag(1 / root)
