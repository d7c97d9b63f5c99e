r"""Kernel Fisher discriminants, one class against the rest (C, (7) and (8) as corrected).

For the groups j (n_j objects, P = n_j/n) and r (the rest):

    N = P K_jH_jK_jᵀ + (1 − P) K_rH_rK_rᵀ,   a = (N + βI)⁻¹Kz,   f(x) = aᵀk_x − ½aᵀKz₊

with z = (1/n_j, −1/n_r) and z₊ = (1/n_j, 1/n_r). The kernel may be indefinite.

Several classes share their work. Let E select the columns of class j, V = [E, 1_r] and
B = (1 − P)K² + βI. Then N + βI = B + KVCVᵀK with the core

    C = diag((2P − 1)I − 11ᵀ/n, −1/n)

and z = Vζ, so that a = B⁻¹KV(I + CG)⁻¹ζ with G = VᵀKB⁻¹KV by Woodbury's identity. What makes this
accurate as well as cheap is that (1 − P)KB⁻¹K = I − R with R = βB⁻¹, and that the part without R
can be worked out:

    (1 − P)(I + CG) = diag(P·H_j, 0) − C VᵀRV.

So nothing is subtracted from something nearly equal. With K = UΛUᵀ, B is diagonal in U for every
class and every β (`fisher_path`), and K is never squared. For one β that is not too small a
Cholesky factor of B for each size of class is cheaper, if few sizes occur (`fisher_model`): K² is
common to all. Either way a class adds O(n n_j²) for VᵀRV and O(n_j³) for n_j + 1 equations.

Objects with weights w count as often. Copies of an object have equal coefficients a, so that with
u = √w the problem is that of √w·a: K becomes uᵀ∘K∘u, 1 becomes u, and n, n_j become sums of w.
"""

import numpy as np
from scipy import linalg

from .linalg import RANK_RTOL, LinearScores, cholesky, eigh, solve_lower

# With more different sizes of classes one eigendecomposition takes less time than their factors.
MOST_FACTORS = 14


def fisher_model(K, slices, beta):
    """The discriminants of all classes against the rest for one β. K may be overwritten.

    K (n, n) has its objects in the order of their classes, class j at slices[j].
    """
    sizes = {members.stop - members.start for members in slices}
    # β must stand clear of the rounding of K², whose trace bounds its largest eigenvalue.
    few = len(sizes) <= MOST_FACTORS and beta > RANK_RTOL * np.vdot(K, K)
    model = _cholesky_model(K, slices, beta) if few else None
    return fisher_path(K, slices, [beta])[0] if model is None else model


def fisher_path(K, slices, betas, weights=None):
    """LinearScores for each β, from one decomposition of K, which is overwritten.

    weights: (n,) of the objects, in the order of K; 1 if None.
    """
    u = np.ones(len(K)) if weights is None else np.sqrt(weights)
    if weights is not None:
        K *= u
        K *= u[:, None]
    values, U = eigh(K, overwrite=True)
    U = np.ascontiguousarray(U)
    n, total = u @ u, u @ U

    def one_class(members, beta):
        E, e = U[members], u[members]
        n_j, sums = e @ e, e @ E
        B = (1 - n_j / n) * values**2 + beta
        V = np.vstack([E, total - sums])  # Vᵀ of the docstring, in the coordinates of U
        s = _solve_core((V * (beta / B)) @ V.T, n, e)
        a = values / B * (s @ V)
        z_plus = sums / n_j + V[-1] / (n - n_j)
        return a, -0.5 * (a * values) @ z_plus

    models = []
    for beta in betas:
        parts = [one_class(members, beta) for members in _distinct(slices)]
        models.append(_stack(parts, slices, U if weights is None else u[:, None] * U))
    return models


def _cholesky_model(K, slices, beta):
    """The discriminants by Cholesky factors of B; None if one fails."""
    n, K2 = len(K), K @ K.T  # K is symmetric; numpy forms half of AAᵀ
    B = np.empty_like(K2)
    problems, total = _distinct(slices), K.sum(axis=1)
    sums = np.column_stack([K[:, members].sum(axis=1) for members in problems])  # K1_j
    sizes = np.array([members.stop - members.start for members in problems])
    parts = [None] * len(problems)
    for n_j in np.unique(sizes):
        np.multiply(K2, 1 - n_j / n, out=B)
        B.flat[:: n + 1] += beta
        L = cholesky(B, overwrite=True)
        if L is None:
            return None
        for j in np.flatnonzero(sizes == n_j):
            members, K1_j, K1_r = problems[j], sums[:, j], total - sums[:, j]
            # L⁻¹V as rows. L⁻¹E is zero above the class: the rest of the triangle is enough.
            W = np.zeros((n_j + 1, n))
            W[-1] = 1
            W[-1, members] = 0
            W[-1] = solve_lower(L, W[-1:].copy())
            first = members.start
            W[:-1, first:] = solve_lower(L[first:, first:], np.eye(n_j, n - first))
            s = _solve_core(beta * (W @ W.T), n, np.ones(n_j))
            a, _ = linalg.lapack.dpotrs(L, K[:, members] @ s[:-1] + s[-1] * K1_r, lower=1)
            parts[j] = a, -0.5 * a @ (K1_j / n_j + K1_r / (n - n_j))
    return _stack(parts, slices)


def _solve_core(R, n, e):
    """(1 − P)·(the solution s of (1 − P)(I + CG)s = ζ), where R is VᵀRV of the docstring.

    n: weight of all objects; e: roots of those of the class.
    """
    n_j, size = e @ e, len(e)
    P = n_j / n
    CR = (2 * P - 1) * R
    CR[:-1] -= np.outer(e, e @ R[:-1]) / n
    CR[-1] = -R[-1] / n
    A = -CR
    A[:-1, :-1] -= P / n_j * np.outer(e, e)
    A[np.arange(size), np.arange(size)] += P
    zeta = np.append(e / n_j, -1 / (n - n_j))
    # The rows differ in size by β, which is no ill condition: LAPACK without its estimate of one.
    *_, s, info = linalg.lapack.dgesv(A, zeta, overwrite_a=1)
    if info:
        raise ValueError(
            "reg is so small that it vanishes in rounding for this kernel; take a larger one."
        )
    return (1 - P) * s


def _distinct(slices):
    """The problems to solve: of two classes the smaller, the other is its with the sign changed."""
    if len(slices) > 2:
        return slices
    return [min(slices, key=lambda members: members.stop - members.start)]


def _stack(parts, slices, basis=None):
    """LinearScores from (a, offset) of each problem, a in the coordinates of `basis`."""
    A = np.column_stack([a for a, _ in parts])
    A = A if basis is None else basis @ A
    offsets = np.array([b for _, b in parts])
    if len(parts) < len(slices):
        signs = np.array([1, -1] if _distinct(slices)[0] == slices[0] else [-1, 1])
        A, offsets = A * signs, offsets * signs
    return LinearScores(A, offsets)
