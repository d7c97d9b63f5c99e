r"""Squared kernel Mahalanobis distances in the complete kernel space (C, (22) and (23)).

K̃ is centred over all n objects, K̃_j its n×n_j column block of class j, B = K̃_jH_j and
M_j = BBᵀ, v(x) = k̃_x − K̃_j1/n_j:

    FK+   d²(x) = n_j vᵀ(M_j + αI)⁻¹v
    FK-   d²(x) = n_j vᵀM_j⁻v, the pseudo-inverse drops eigenvalues < α

M_j is never formed. With B = QR (thin) the first is  n_j(‖v − QQᵀv‖²/α + uᵀ(RRᵀ + αI)⁻¹u), u = Qᵀv,
and TᵀT = RRᵀ + αI comes from a QR factorisation of Rᵀ stacked on √α·I, so that nothing is squared
before it is factorised: accurate down to α near the rounding of M_j. The second needs the singular
values of R.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from .gram import Centering, center_cross, center_gram, centering
from .linalg import rank_tolerance, row_sq_norms, solve_lower

FULL_KERNEL_VARIANTS = ("FK+", "FK-")


class FullKernelClass(NamedTuple):
    """One class: its mean K̃_j1/n_j, an orthonormal basis Q of B and the inner factor.

    The inner factor is T (upper triangular) for FK+ and the weights 1/s² for FK-.
    """

    n: int
    mean: np.ndarray
    Q: np.ndarray
    factor: np.ndarray

    def sq_distances(self, kc, variant, alpha):
        """d² of queries with centred rows kc (m, n_total)."""
        V = kc - self.mean
        U = V @ self.Q
        if variant == "FK-":
            return self.n * (np.square(U) @ self.factor)
        V -= U @ self.Q.T
        return self.n * (row_sq_norms(V) / alpha + row_sq_norms(solve_lower(self.factor.T, U)))


class FullKernelModel(NamedTuple):
    """All classes; rows of queries are in the order of the training objects."""

    variant: str
    alphas: tuple
    means: Centering
    classes: tuple

    def sq_distances(self, k):
        """d² of queries, (m, c): k (m, n) is overwritten."""
        kc = center_cross(k, self.means, overwrite=True)
        per_class = [
            model.sq_distances(kc, self.variant, alpha)
            for model, alpha in zip(self.classes, self.alphas, strict=True)
        ]
        return np.column_stack(per_class)


def full_kernel_model(K, variant, alphas, slices):
    """The model of all classes from the Gram matrix K, which is overwritten.

    The objects are in the order of their classes, class j at slices[j]. K's own memory becomes the
    bases Q, so that n² doubles plus one class's work are all that is needed.
    """
    means = centering(K)
    Kc = center_gram(K, means, overwrite=True).T  # Fortran order: a class is a contiguous block
    classes = tuple(_full_class(Kc[:, s], variant, a) for s, a in zip(slices, alphas, strict=True))
    return FullKernelModel(variant, tuple(alphas), means, classes)


def _full_class(B, variant, alpha):
    """The class from its columns K̃_j, which are overwritten."""
    n = B.shape[1]
    mean = B.mean(axis=1)
    B -= mean[:, None]
    Q, R = qr_in_place(B)
    if variant == "FK+":
        T = np.zeros((n, n), order="F")
        np.fill_diagonal(T, np.sqrt(alpha))
        T, _, _, info = linalg.lapack.dtpqrt(0, min(n, 64), T, R.T, overwrite_a=1, overwrite_b=1)
        assert info == 0
        return FullKernelClass(n, mean, Q, T)
    # The faster driver takes a workspace of some 5 n_j² beside K: too much where one class is most
    # of the objects.
    driver = "gesdd" if 5 * n**2 <= B.shape[0] ** 2 else "gesvd"
    _, s, Ut = linalg.svd(R.T, overwrite_a=True, check_finite=False, lapack_driver=driver)
    rotate_columns(Q, Ut.T)
    kept = (s**2 >= alpha) & (s > rank_tolerance(s[0], n))
    return FullKernelClass(n, mean, Q, np.where(kept, 1 / np.where(kept, s, 1.0) ** 2, 0.0))


def qr_in_place(B):
    """B = QR of a tall Fortran-ordered B, whose memory becomes Q."""
    n = B.shape[1]
    _, tau, _, info = linalg.lapack.dgeqrf(B, lwork=64 * n, overwrite_a=1)
    assert info == 0
    R = np.triu(B[:n])
    _, _, info = linalg.lapack.dorgqr(B, tau, lwork=64 * n, overwrite_a=1)
    assert info == 0
    return B, R


def rotate_columns(Q, U, block=512):
    """Q ← QU in place, a block of rows at a time."""
    for start in range(0, len(Q), block):
        Q[start : start + block] = Q[start : start + block] @ U


def full_kernel_path(K, variant, alphas, slices, k):
    """d² of queries k (m, n) for a path of α, (len(alphas), m, c); K and k are overwritten.

    alphas (r, c): a row for each step of the path. One singular value decomposition per class.
    """
    means = centering(K)
    Kc = center_gram(K, means, overwrite=True).T
    kc = center_cross(k, means, overwrite=True)
    d2 = np.empty((len(alphas), len(k), len(slices)))
    for j, members in enumerate(slices):
        B = Kc[:, members]
        n = B.shape[1]
        mean = B.mean(axis=1)
        B -= mean[:, None]
        Q, R = qr_in_place(B)
        _, s, Ut = linalg.svd(R.T, overwrite_a=True, check_finite=False)
        V = kc - mean
        U = V @ Q
        V -= U @ Q.T
        P2, alpha = np.square(U @ Ut.T), alphas[:, j]
        if variant == "FK+":
            inner = P2 @ (1 / (s[:, None] ** 2 + alpha))
            d2[:, :, j] = n * (row_sq_norms(V)[:, None] / alpha + inner).T
        else:
            kept = (s[:, None] ** 2 >= alpha) & (s > rank_tolerance(s[0], n))[:, None]
            weights = np.where(kept, 1 / np.where(s > 0, s, 1.0)[:, None] ** 2, 0.0)
            d2[:, :, j] = n * (P2 @ weights).T
    return d2
