"""Rounding errors of RC+ and FK+ distances against 60-digit arithmetic.

`python -m benchmarks.accuracy`: the reference evaluates the papers' formulas with mpmath on the
same kernel matrix, so that only our rounding is measured, not that of the kernel.
"""

import mpmath as mp
import numpy as np

from mahalearn.formulas.full_kernel import full_kernel_model
from mahalearn.formulas.kernel_mahalanobis import class_model
from mahalearn.kernels.protocol import NamedKernel

mp.mp.dps = 60
GAMMA, N_QUERIES = 0.3, 5


def centred(K):
    """HKH in mpmath."""
    n = K.rows
    means = [mp.fsum(K[i, j] for i in range(n)) / n for j in range(n)]
    total = mp.fsum(means) / n
    return mp.matrix([[K[i, j] - means[i] - means[j] + total for j in range(n)] for i in range(n)])


def centred_rows(k, K):
    """H(k_x − K1/n) as columns, in mpmath."""
    n = K.rows
    means = [mp.fsum(K[i, j] for i in range(n)) / n for j in range(n)]
    columns = []
    for q in range(k.rows):
        v = [k[q, j] - means[j] for j in range(n)]
        mean = mp.fsum(v) / n
        columns.append(mp.matrix([x - mean for x in v]))
    return columns


def exact_rc(K, k, kxx, sigma2):
    """RC+ as printed (C, table II)."""
    K, k = mp.matrix(K.tolist()), mp.matrix(k.tolist())
    n, sigma2 = K.rows, mp.mpf(float(sigma2))
    total = mp.fsum(K) / n**2
    inverse = mp.inverse(centred(K) + n * sigma2 * mp.eye(n))
    out = []
    for q, v in enumerate(centred_rows(k, K)):
        own = mp.mpf(float(kxx[q])) - 2 * mp.fsum(k[q, j] for j in range(n)) / n + total
        out.append((own - (v.T * inverse * v)[0]) / sigma2)
    return out


def exact_fk(K, k, members, alpha):
    """FK+ as printed: an n×n inverse."""
    K, k = mp.matrix(K.tolist()), mp.matrix(k.tolist())
    n, m = K.rows, members.stop - members.start
    Kc = centred(K)
    columns = range(members.start, members.stop)
    mean = mp.matrix([mp.fsum(Kc[i, j] for j in columns) / m for i in range(n)])
    B = mp.matrix([[Kc[i, j] - mean[i] for j in columns] for i in range(n)])
    inverse = mp.inverse(B * B.T + mp.mpf(float(alpha)) * mp.eye(n))
    return [m * ((v - mean).T * inverse * (v - mean))[0] for v in centred_rows(k, K)]


def printed_fk(K, k, members, alpha):
    """The same formula in double precision, as one would type it."""
    n = len(K)
    Kc = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    kc = k - K.mean(axis=0)
    kc -= kc.mean(axis=1, keepdims=True)
    mean = Kc[:, members].mean(axis=1)
    B = Kc[:, members] - mean[:, None]
    inverse = np.linalg.inv(B @ B.T + alpha * np.eye(n))
    return B.shape[1] * np.einsum("ij,jk,ik->i", kc - mean, inverse, kc - mean)


def main():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(30, 3)), rng.normal(size=(N_QUERIES, 3))
    rbf = NamedKernel("rbf", GAMMA)
    K, k, kxx = rbf(X, X), rbf(Z, X), np.ones(N_QUERIES)
    print("RC+ of one class of 30, RBF: d², largest absolute error, the same times σ²/(eps·k_xx)")
    for sigma2 in (1.0, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10):
        exact = exact_rc(K, k, kxx, sigma2)
        for spectral in (False, True):
            model = class_model(K.copy(), "RC+", 30 * sigma2, spectral=spectral)
            ours = model.sq_distances(k.copy(), kxx)
            error = max(abs(float(mp.mpf(float(a)) - b)) for a, b in zip(ours, exact, strict=True))
            scaled = error * sigma2 / np.finfo(float).eps
            name = "eigenvalues" if spectral else "Cholesky"
            print(
                f"  σ² = {sigma2:<8g}{name:<13}{float(max(exact)):>9.2e}{error:>9.1e}{scaled:>7.1f}"
            )
    print(
        "\nFK+ of two classes of 15, RBF: d², largest relative error of ours and of the n×n inverse"
    )
    members = slice(0, 15)
    for alpha in (1.0, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12):
        exact = exact_fk(K, k, members, alpha)
        model = full_kernel_model(K.copy(), "FK+", (alpha, alpha), (members, slice(15, 30)))
        errors = [
            max(abs(float((mp.mpf(float(a)) - b) / b)) for a, b in zip(d2, exact, strict=True))
            for d2 in (model.sq_distances(k.copy())[:, 0], printed_fk(K, k, members, alpha))
        ]
        print(f"  α = {alpha:<7g}{float(max(exact)):>9.2e} {errors[0]:>9.1e} {errors[1]:>9.1e}")


if __name__ == "__main__":
    main()
