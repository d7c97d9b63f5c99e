r"""Kernel Fisher discriminants, one class against the rest (C, (7) and (8) as corrected).

For the groups j (n_j objects, P = n_j/n) and r (the rest):

    N = P K_jH_jK_jᵀ + (1 − P) K_rH_rK_rᵀ,   a = (N + βI)⁻¹Kz,   f(x) = aᵀk_x − ½aᵀKz₊

with z = (1/n_j, −1/n_r) and z₊ = (1/n_j, 1/n_r). The kernel may be indefinite.

All classes and all β from one decomposition K = UΛUᵀ. Let E select the columns of class j,
V = [E, 1_r] and B = (1 − P)K² + βI, which is diagonal in U. Then N + βI = B + KVCVᵀK with the core

    C = diag((2P − 1)I − 11ᵀ/n, −1/n)

and z = Vζ, so that a = B⁻¹KV(I + CG)⁻¹ζ with G = VᵀKB⁻¹KV by Woodbury's identity. What makes this
accurate as well as cheap is that (1 − P)KB⁻¹K = I − R, R = U diag(β/((1 − P)λ² + β))Uᵀ, and that
the part without R can be worked out:

    (1 − P)(I + CG) = diag(P·H_j, 0) − C VᵀRV.

Nothing is subtracted from something nearly equal, K is never squared, and a class costs O(n n_j²)
for VᵀRV and O(n_j³) for a system of n_j + 1 equations: O(n³/c) for all, beside the decomposition.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from .linalg import eigh


class FisherModel(NamedTuple):
    """Discriminants f(x) = Aᵀk_x + b: A (n, c) in the order of the training objects, b (c,)."""

    coefficients: np.ndarray
    offsets: np.ndarray

    def scores(self, k):
        """f of queries with rows k (m, n), (m, c)."""
        return k @ self.coefficients + self.offsets


def fisher_model(K, slices, beta):
    """The discriminants of all classes against the rest for one β. K is overwritten."""
    (model,) = fisher_path(K, slices, [beta])
    return model


def fisher_path(K, slices, betas):
    """A FisherModel for each β, from one decomposition of K, which is overwritten.

    K (n, n) has its objects in the order of their classes, class j at slices[j].
    """
    values, U = eigh(K, overwrite=True)
    U = np.ascontiguousarray(U)
    total = U.sum(axis=0)
    models = []
    for beta in betas:
        spectral, offsets = np.empty((len(U), len(slices))), np.empty(len(slices))
        for j, members in enumerate(slices):
            if j == 1 and len(slices) == 2:  # the same problem with the other sign
                spectral[:, 1], offsets[1] = -spectral[:, 0], -offsets[0]
                break
            spectral[:, j], offsets[j] = _one_against_rest(values, U[members], total, beta)
        models.append(FisherModel(U @ spectral, offsets))
    return models


def _one_against_rest(values, E, total, beta):
    """Uᵀa and the offset for one class; E (n_j, n) are its rows of U, total = 1ᵀU."""
    n_j, n = E.shape
    n_r, P = n - n_j, n_j / n
    B = (1 - P) * values**2 + beta
    V = np.vstack([E, total - E.sum(axis=0)])  # Vᵀ of the docstring, in the coordinates of U
    R = (V * (beta / B)) @ V.T

    CR = (2 * P - 1) * R
    CR[:-1] -= R[:-1].sum(axis=0) / n
    CR[-1] = -R[-1] / n
    A = -CR
    A[:-1, :-1] -= P / n_j
    A[np.arange(n_j), np.arange(n_j)] += P
    zeta = np.append(np.full(n_j, 1 / n_j), -1 / n_r)
    s = linalg.solve(A, zeta, check_finite=False)

    a = (1 - P) * values / B * (s @ V)
    z_plus = V[:-1].mean(axis=0) + V[-1] / n_r
    return a, -0.5 * (a * values) @ z_plus
