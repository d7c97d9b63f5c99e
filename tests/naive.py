"""Textbook loops for the formulas, written from the papers; imports nothing of the library.

Slow on purpose: explicit centring matrices, full inverses, one query at a time.
"""

import itertools
import math

import numpy as np
from scipy import linalg, optimize

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


def printed_offsets(scores, y, n_classes):
    """Central Δ of the fewest errors for each pair, then least squares over all pairs, sum 0."""
    weights, rows, differences = [1.0] * n_classes, [[1.0] * n_classes], [0.0]
    for i in range(n_classes):
        for j in range(i):
            g = np.sort([s[j] - s[i] for s, label in zip(scores, y) if label in (i, j)])
            cuts = (g[1:] + g[:-1]) / 2
            errors = [pair_errors(scores, y, i, j, cut, weights) for cut in cuts]
            (best,) = [cut for cut, e in zip(cuts, errors) if e == min(errors)]
            rows.append([float(k == i) - float(k == j) for k in range(n_classes)])
            differences.append(best)
    return np.linalg.lstsq(np.array(rows), np.array(differences), rcond=None)[0]


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


def centred_rows(K, k):
    """K̃ and the rows k̃."""
    n = len(K)
    H = np.eye(n) - np.ones((n, n)) / n
    return H @ K @ H, np.array([H @ (row - K.mean(axis=0)) for row in k])


def kernel_pca(K, k, n_components):
    """Coordinates of the training objects and of queries, ψ = |Λ|^{-1/2}Qᵀk̃, largest |λ| first."""
    Kc, kc = centred_rows(K, k)
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


"""Textbook loops for the formulas, written from the papers; nothing of the library is imported."""


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


# --- the chooser's rule among statistically equal families ----------------------------------------


def half_standard_error_choice(table, test_ratio):
    """First row (simplest first) whose mean lag behind the best is within half a standard error."""
    means = [sum(row) / len(row) for row in table]
    best = table[means.index(max(means))]
    for i, row in enumerate(table):
        lags = [b - s for b, s in zip(best, row, strict=True)]
        mean = sum(lags) / len(lags)
        variance = sum((lag - mean) ** 2 for lag in lags) / (len(lags) - 1)
        if mean <= (variance * (1 / len(lags) + test_ratio)) ** 0.5 / 2:
            return i
    raise AssertionError


def tempered_loss(scores, codes, temperature, smoothed=True):
    """Mean cross-entropy of softmax(scores/T); smoothed: as if every class were seen once more.

    The true class then counts (n + 1)/(n + c), each other one 1/(n + c), n being all objects.
    """
    n, c = len(scores), len(scores[0])
    total = 0.0
    for row, code in zip(scores, codes, strict=True):
        norm = np.log(sum(np.exp(value / temperature) for value in row))
        for j, value in enumerate(row):
            target = float(j == code)
            if smoothed:
                target = (n * target + 1) / (n + c)
            total += target * (norm - value / temperature)
    return total / n


def ledoit_wolf(Z):
    """Ledoit and Wolf (2004): intensity b²/d² and target μ for centred rows, by their matrices."""
    n, d = Z.shape
    S = np.zeros((d, d))
    for z in Z:
        S += np.outer(z, z) / n
    mu = np.trace(S) / d
    d2 = np.sum((S - mu * np.eye(d)) ** 2) / d
    b2 = 0.0
    for z in Z:
        b2 += np.sum((np.outer(z, z) - S) ** 2) / d / n**2
    return (min(b2, d2) / d2 if d2 > 0 else 0.0), mu


# --- landmarks ------------------------------------------------------------------------------------


def nystroem(k_x, K, k_y):
    """k(x, y) ≈ k_xᵀK⁻¹k_y for each pair of rows, one linear system at a time."""
    return np.array([[a @ np.linalg.solve(K, b) for b in k_y] for a in k_x])


def moments_about(rows, origin):
    """n, Σ(k − o) and Σ(k − o)(k − o)ᵀ, one row at a time."""
    total, squares = np.zeros(len(origin)), np.zeros((len(origin), len(origin)))
    for row in rows:
        total += row - origin
        squares += np.outer(row - origin, row - origin)
    return len(rows), total, squares


def fisher_discriminant(K, codes, j, beta, k):
    """f of queries with rows k: N, a and the offset as they are printed (C, (7) and (8))."""
    n = len(K)
    one, rest = codes == j, codes != j
    N = np.zeros((n, n))
    for members in (one, rest):
        size = members.sum()
        H = np.eye(size) - np.ones((size, size)) / size
        N += size / n * K[:, members] @ H @ K[:, members].T
    z = np.where(one, 1 / one.sum(), -1 / rest.sum())
    a = np.linalg.solve(N + beta * np.eye(n), K @ z)
    return k @ a - a @ K @ np.abs(z) / 2


def least_squares_targets(X, y, Z):
    """Fitted targets (m, c) of queries: for each class a plane through +1 for it, −1 for others."""
    design = np.array([[*row, 1.0] for row in X])
    scores = []
    for label in sorted(set(y)):
        targets = np.array([1.0 if other == label else -1.0 for other in y])
        solution = np.linalg.solve(design.T @ design, design.T @ targets)
        scores.append([float(np.dot([*z, 1.0], solution)) for z in Z])
    return np.array(scores).T


def pseudo_inverse_discriminant(X, y, Z, priors, tiny):
    """Quadratic scores with Σ⁺ instead of Σ⁻¹; directions without variance count as `tiny`."""
    scores = []
    for label, prior in zip(sorted(set(y)), priors, strict=True):
        group = np.array([x for x, other in zip(X, y, strict=True) if other == label])
        mean = group.mean(axis=0)
        covariance = sum(np.outer(x - mean, x - mean) for x in group) / len(group)
        values, axes = np.linalg.eigh(covariance)
        column = []
        for z in Z:
            d2 = log_det = 0.0
            for value, axis in zip(values, axes.T, strict=True):
                if value > 1e-9:
                    d2 += np.dot(axis, z - mean) ** 2 / value
                    log_det += np.log(value)
                else:
                    log_det += np.log(tiny)
            column.append(-d2 / 2 - log_det / 2 + np.log(prior))
        scores.append(column)
    return np.array(scores).T


# --- convolution features of time series: shares of positive values ------------------------------


def positive_share(x, large, dilation, everywhere, bias):
    """Share of time points at which the channels' summed convolution exceeds a bias.

    x (channels, n); large: the three places of nine that have weight 2, the others have −1.
    """
    n, values = len(x[0]), []
    for t in range(n):
        places = [t + (k - 4) * dilation for k in range(9)]
        if not everywhere and n > 8 * dilation and not (places[0] >= 0 and places[8] < n):
            continue
        value = 0.0
        for channel in x:
            for k, at in enumerate(places):
                value += (2 if k in large else -1) * (channel[at] if 0 <= at < n else 0.0)
        values.append(value)
    return sum(value > bias for value in values) / len(values)


# --- elastic measures of time series: (channels, length) arrays, the whole matrix of D ------------


def _in_band(i, j, n, m, radius):
    """Whether cell (i, j) is in the Sakoe–Chiba band; radius None: no band."""
    if radius is None:
        return True
    return i - radius - max(0, n - m) <= j <= i + radius + max(0, m - n)


def _warp(a, b, radius, cell):
    """D(n, m) of a recurrence; cell(D, i, j) gives D(i, j) for i, j ≥ 1, borders are infinite."""
    n, m = len(a[0]), len(b[0])
    D = [[float("inf")] * (m + 1) for _ in range(n + 1)]
    D[0][0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            if _in_band(i, j, n, m, radius):
                D[i][j] = cell(D, i, j)
    return D[n][m]


def _gap(a, i, b, j):
    """Euclidean distance of a_i and b_j, the points counted from 1; point 0 is the origin."""
    p = [channel[i - 1] if i else 0.0 for channel in a]
    q = [channel[j - 1] if j else 0.0 for channel in b]
    return sum((x - y) ** 2 for x, y in zip(p, q, strict=True)) ** 0.5


def dtw(a, b, radius=None):
    def cell(D, i, j):
        return _gap(a, i, b, j) ** 2 + min(D[i - 1][j - 1], D[i - 1][j], D[i][j - 1])

    return _warp(a, b, radius, cell) ** 0.5


def frechet(a, b, radius=None):
    def cell(D, i, j):
        return max(_gap(a, i, b, j), min(D[i - 1][j - 1], D[i - 1][j], D[i][j - 1]))

    return _warp(a, b, radius, cell)


def msm(a, b, radius=None, cost=1.0):
    def C(x, y, z):
        if y <= x <= z or y >= x >= z:
            return cost
        return cost + min(abs(x - y), abs(x - z))

    def one_channel(x, y):
        def cell(D, i, j):
            options = [D[i - 1][j - 1] + abs(x[i - 1] - y[j - 1])]
            if i > 1:
                options.append(D[i - 1][j] + C(x[i - 1], x[i - 2], y[j - 1]))
            if j > 1:
                options.append(D[i][j - 1] + C(y[j - 1], x[i - 1], y[j - 2]))
            return min(options)

        return _warp([x], [y], radius, cell)

    return sum(one_channel(x, y) for x, y in zip(a, b, strict=True))


def twe(a, b, radius=None, stiffness=0.001, cost=1.0):
    def cell(D, i, j):
        match = _gap(a, i, b, j) + _gap(a, i - 1, b, j - 1) + 2 * stiffness * abs(i - j)
        return min(
            D[i - 1][j - 1] + match,
            D[i - 1][j] + _gap(a, i, a, i - 1) + stiffness + cost,
            D[i][j - 1] + _gap(b, j, b, j - 1) + stiffness + cost,
        )

    return _warp(a, b, radius, cell)


def _edits(a, b, radius, match, leave_a, leave_b):
    """An edit distance: costs of a match and of leaving a point of a or of b out."""
    n, m = len(a[0]), len(b[0])
    D = [[float("inf")] * (m + 1) for _ in range(n + 1)]
    for i in range(n + 1):
        for j in range(m + 1):
            if not _in_band(i, j, n, m, radius):
                continue
            options = [0.0] if i == j == 0 else []
            if i and j:
                options.append(D[i - 1][j - 1] + match(i, j))
            if i:
                options.append(D[i - 1][j] + leave_a(i))
            if j:
                options.append(D[i][j - 1] + leave_b(j))
            D[i][j] = min(options)
    return D[n][m]


def erp(a, b, radius=None, gap=0.0):
    g = [[gap] for _ in a]
    return _edits(
        a,
        b,
        radius,
        lambda i, j: _gap(a, i, b, j),
        lambda i: _gap(a, i, g, 1),
        lambda j: _gap(b, j, g, 1),
    )


def _tolerances(a, b, epsilon):
    """A number for each channel; without ε a quarter of the larger standard deviation."""
    if epsilon is not None:
        return [epsilon] * len(a)

    def spread(x):
        mean = sum(x) / len(x)
        return (sum((v - mean) ** 2 for v in x) / len(x)) ** 0.5

    return [max(spread(x), spread(y)) / 4 for x, y in zip(a, b, strict=True)]


def _match(a, i, b, j, epsilon):
    return all(abs(x[i - 1] - y[j - 1]) <= e for x, y, e in zip(a, b, epsilon, strict=True))


def edr(a, b, radius=None, epsilon=None):
    eps = _tolerances(a, b, epsilon)
    unequal = lambda i, j: 0 if _match(a, i, b, j, eps) else 1  # noqa: E731
    return _edits(a, b, radius, unequal, lambda i: 1, lambda j: 1)


def lcss(a, b, radius=None, epsilon=None):
    n, m = len(a[0]), len(b[0])
    eps = _tolerances(a, b, epsilon)
    L = [[0] * (m + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            if _in_band(i, j, n, m, radius) and _match(a, i, b, j, eps):
                L[i][j] = L[i - 1][j - 1] + 1
            else:
                L[i][j] = max(L[i - 1][j], L[i][j - 1])
    return 1 - L[n][m] / min(n, m)


# --- alignments, sets, distributions, covariance matrices -----------------------------------------


def alignment_score(a, b, score, gap_open, gap_extend, local):
    """Best score, all gaps tried; a gap of k letters costs open + (k − 1)·extend."""
    n, m = len(a), len(b)
    S = [[float("-inf")] * (m + 1) for _ in range(n + 1)]
    for i in range(n + 1):
        for j in range(m + 1):
            options = [0.0] if local or i == j == 0 else []
            if i and j:
                options.append(S[i - 1][j - 1] + score(a[i - 1], b[j - 1]))
            options += [S[i - k][j] - gap_open - (k - 1) * gap_extend for k in range(1, i + 1)]
            options += [S[i][j - k] - gap_open - (k - 1) * gap_extend for k in range(1, j + 1)]
            S[i][j] = max(options)
    return max(max(row) for row in S) if local else S[n][m]


def jaccard(a, b):
    a, b = set(a), set(b)
    return 1 - len(a & b) / len(a | b) if a | b else 0.0


def jensen_shannon(p, q):
    p, q = [x / sum(p) for x in p], [x / sum(q) for x in q]
    total = 0.0
    for x, y in zip(p, q, strict=True):
        m = (x + y) / 2
        total += x / 2 * np.log2(x / m) if x else 0.0
        total += y / 2 * np.log2(y / m) if y else 0.0
    return max(total, 0.0) ** 0.5


def wasserstein(a, b, p):
    """The transport problem as a linear programme."""
    from scipy.optimize import linprog

    a, b = np.array(a, dtype=float), np.array(b, dtype=float)
    a, b = (x[:, None] if x.ndim == 1 else x for x in (a, b))
    n, m = len(a), len(b)
    cost = [[sum((x - y) ** 2) ** (p / 2) for y in b] for x in a]
    A = []
    for i in range(n):
        A.append([1.0 if r == i else 0.0 for r in range(n) for _ in range(m)])
    for j in range(m):
        A.append([1.0 if c == j else 0.0 for _ in range(n) for c in range(m)])
    result = linprog(np.ravel(cost), A_eq=A, b_eq=[1 / n] * n + [1 / m] * m, method="highs")
    return max(result.fun, 0.0) ** (1 / p)


def log_euclidean(A, B):
    from scipy.linalg import logm

    return np.sqrt(np.sum((logm(A) - logm(B)) ** 2))


def affine_invariant(A, B):
    from scipy.linalg import logm, sqrtm

    W = np.linalg.inv(sqrtm(A))
    return np.sqrt(np.sum(logm(W @ B @ W) ** 2))


# --- ridge regression and SVM in Kreĭn spaces -----------------------------------------------------


def ridge_with_intercept(Z, Y, z, lam):
    """Ridge regression on explicit features Z (n, p), intercept free: predictions for z (m, p)."""
    n, p = len(Z), len(Z[0])
    design = np.hstack([np.ones((n, 1)), Z])
    penalty = lam * np.diag([0.0] + [1.0] * p)
    weights = np.linalg.pinv(design.T @ design + penalty) @ design.T @ Y
    return np.hstack([np.ones((len(z), 1)), z]) @ weights


def flipped_features(K, k):
    """Coordinates of training objects and queries in the space of the flipped centred kernel."""
    n = len(K)
    H = np.eye(n) - np.ones((n, n)) / n
    values, U = np.linalg.eigh(H @ K @ H)
    kept = abs(values) > 1e-10 * max(abs(values))
    values, U = values[kept], U[:, kept]
    rows = (k - K.mean(axis=0)) @ H
    roots = abs(values) ** 0.5
    return U * roots, rows @ U * (np.sign(values) / roots)


def krein_svm(K, k, signs, solve):
    """Loosli, Canu and Ong's algorithm: flip, solve an SVM, go back; decisions of the rows k.

    solve(K, signs) → (dual coefficients with signs, intercept) of an SVM on a definite kernel
    """
    values, U = np.linalg.eigh(K)
    S = np.diag(np.sign(values))
    D = np.diag(values)
    flipped = U @ S @ D @ U.T
    alpha_tilde, b = solve(flipped, signs)
    alpha = U @ S @ U.T @ alpha_tilde
    return k @ alpha + b


# --- conformal p-values ---------------------------------------------------------------------------


def regularised_residual(K, k, kxx, alpha):
    """k̃_xx − k̃ᵀ(K̃ + αI)⁻¹k̃ of one query, K, k, kxx not centred."""
    Kc, kc, kxxc = centred(K, k, kxx)
    return kxxc - kc @ np.linalg.inv(Kc + alpha * np.eye(len(K))) @ kc


def leave_one_out_by_refits(K, alpha, sigma2):
    """RC+ distance of each object of a set to the others; α and σ² stay as they are."""
    out = []
    for i in range(len(K)):
        rest = [r for r in range(len(K)) if r != i]
        residual = regularised_residual(K[np.ix_(rest, rest)], K[i, rest], K[i, i], alpha)
        out.append(residual / sigma2)
    return np.array(out)


def rank_p_value(scores):
    """Share of the scores that are at least the last one, itself included."""
    return sum(s >= scores[-1] - 1e-9 * abs(scores[-1]) for s in scores) / len(scores)


def cross_conformal(folds):
    """p-value of one query: folds of (held-out scores, the query's score)."""
    beyond = sum(sum(s >= score for s in held_out) for held_out, score in folds)
    return (1 + beyond) / (1 + sum(len(held_out) for held_out, _ in folds))


def benjamini_hochberg(p, q):
    """The largest k with p_(k) ≤ kq/m, and the hypotheses with p ≤ p_(k)."""
    m, cut = len(p), 0.0
    for k, value in enumerate(sorted(p), start=1):
        if value <= k * q / m:
            cut = value
    return [cut > 0 and value <= cut for value in p]


def rank_sum_by_enumeration(reference, batch):
    """One-sided permutation p-value of the batch's sum of midranks."""
    scores = [*reference, *batch]
    ranks = [
        sum(s < value for s in scores) + (1 + sum(s == value for s in scores)) / 2
        for value in scores
    ]
    observed = sum(ranks[len(reference) :])
    sums = [sum(chosen) for chosen in itertools.combinations(ranks, len(batch))]
    return sum(s >= observed for s in sums) / len(sums)


def auroc(regular, unknown):
    """Share of pairs in which the unknown object is the stranger one."""
    wins = [(u > r) + 0.5 * (u == r) for u in unknown for r in regular]
    return sum(wins) / len(wins)


# --- stacking -------------------------------------------------------------------------------------


def class_scaled_proba(row, temperature, scale, bias, n):
    """softmax(scale·ln softmax(row/T) + bias) of one object, with ½ object more of each class."""
    first = [np.exp(value / temperature) for value in row]
    second = [np.exp(a * np.log(value / sum(first)) + b) for value, a, b in zip(first, scale, bias)]
    counts = [n * value / sum(second) + 0.5 for value in second]
    return [count / sum(counts) for count in counts]


def stacked_proba(members, w):
    """Π p_k^w_k of one object, normalised; members: probabilities of each member."""
    products = [
        np.prod([p[j] ** w_k for p, w_k in zip(members, w)]) for j in range(len(members[0]))
    ]
    return [value / sum(products) for value in products]


def stacking_loss(tables, truth, w, penalty, weights):
    """Σ_i ω_i (−ln p_i) + penalty·K·Σ_k (w_k − 1/K)²; tables[k][i]: probabilities."""
    K, total = len(w), 0.0
    for i, (code, omega) in enumerate(zip(truth, weights, strict=True)):
        total -= omega * np.log(stacked_proba([table[i] for table in tables], w)[code])
    return total + penalty * K * sum((value - 1 / K) ** 2 for value in w)


# --- learned metric -------------------------------------------------------------------------------


def metric_regression(x, rows, M, scale, coefficients, intercept):
    """Σ_i a_i exp(−√((x − x_i)ᵀM(x − x_i))/L) + b of one object."""
    total = np.array(intercept, dtype=float)
    for row, a in zip(rows, coefficients, strict=True):
        d = np.sqrt((x - row) @ M @ (x - row))
        total += np.exp(-d / scale) * a
    return total


def gradient_outer_product(rows, M, scale, coefficients, intercept, step=1e-6):
    """Mean of Σ_c ∇f_c∇f_cᵀ by differences, each object's own term left out."""
    p = len(M)
    total = np.zeros((p, p))
    for i, x in enumerate(rows):
        others = [k for k in range(len(rows)) if k != i]
        arguments = rows[others], M, scale, coefficients[others], intercept
        J = np.array(
            [
                (metric_regression(x + e, *arguments) - metric_regression(x - e, *arguments))
                / (2 * step)
                for e in step * np.eye(p)
            ]
        )
        total += J @ J.T
    return total / len(rows)


# --- Mahalanobis distances in the input space, with conformal p-values ----------------------------


def class_metric_distance(X, y, j, x, kappa, sigma2, rows):
    """Squared distance to class j in (W_j + kappa (W − W_j))/rows + sigma2 I, by definition."""
    d = X.shape[1]
    A = np.zeros((d, d))
    for k in np.unique(y):
        members = X[y == k]
        for row in members - members.mean(axis=0):
            A += (1.0 if k == j else kappa) * np.outer(row, row) / rows
    A += np.eye(d) * sigma2
    delta = x - X[y == j].mean(axis=0)
    return float(delta @ np.linalg.inv(A) @ delta)


def full_conformal_p_value(X, y, j, x, kappa, sigma2):
    """p_j of x by n + 1 refits: each object of class ∪ {x} against the others."""
    n, N = int((y == j).sum()), len(y)
    number = n + 1 + kappa * (N - n)
    members = [*np.flatnonzero(y == j), N]
    everyone, labels = np.vstack([X, x]), np.append(y, j)
    distances = []
    for i in members:
        rest = np.arange(N + 1) != i
        distances.append(
            class_metric_distance(
                everyone[rest], labels[rest], j, everyone[i], kappa, sigma2, number
            )
        )
    last = distances[-1]
    return sum(d >= last * (1 - 1e-9) for d in distances) / (n + 1)


def mixture_p_value(X, y, x, label, pseudo_rows, sigma2):
    """p of x, of class `label`, by N + 1 refits: each row's distance to its class without it."""
    everyone, labels, distances = np.vstack([X, x]), np.append(y, label), []
    for i, j in enumerate(labels):
        rest = np.arange(len(labels)) != i
        n = int((labels[rest] == j).sum())
        others = len(y) - n
        if n == 0:
            distances.append(np.inf)
            continue
        kappa = min(1.0, pseudo_rows / max(others, 1))
        rows = n + 1 + kappa * others
        distances.append(
            class_metric_distance(everyone[rest], labels[rest], j, everyone[i], kappa, sigma2, rows)
        )
    return sum(d >= distances[-1] * (1 - 1e-9) for d in distances) / len(labels)
