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

from .linalg import (
    Centering,
    center_cross,
    center_gram,
    centering,
    rank_tolerance,
    row_sq_norms,
    solve_lower,
    times,
)
from .quadratic_form import QuadraticForm

FULL_KERNEL_VARIANTS = ("FK+", "FK-")


class FullKernelClass(NamedTuple):
    """One class: its mean K̃_j1/n_j, an orthonormal basis Q of B and the inner factor.

    The inner factor is T (upper triangular) for FK+ and one α; otherwise Q is along the singular
    vectors, and the factor holds the weights 1/(s² + α) or 1/s², a column for each α of a path.
    """

    n: int
    mean: np.ndarray
    Q: np.ndarray
    factor: np.ndarray

    def sq_distances(self, kc, variant, alpha):
        """d² of queries with centred rows kc (m, n_total), (m, *shape of alpha)."""
        V = kc - self.mean
        U = times(V, self.Q)
        if variant == "FK-":
            return self.n * (np.square(U) @ self.factor)
        V -= times(U, self.Q.T)
        rest = np.multiply.outer(row_sq_norms(V), 1 / np.asarray(alpha, float))
        if np.ndim(alpha):
            return self.n * (rest + np.square(U) @ self.factor)
        return self.n * (rest + row_sq_norms(solve_lower(self.factor.T, U)))


class FullKernelModel(NamedTuple):
    """All classes; rows of queries are in the order of the training objects.

    alphas: of each class a number, or a path (r,).
    """

    variant: str
    alphas: tuple
    means: Centering
    classes: tuple

    def sq_distances(self, k):
        """d² of queries, (m, c, *shape of an alpha), with rows k (m, n)."""
        kc = center_cross(k, self.means)
        per_class = [
            model.sq_distances(kc, self.variant, alpha)
            for model, alpha in zip(self.classes, self.alphas, strict=True)
        ]
        return np.stack(per_class, axis=1)

    def forms(self):
        """Each class as a `QuadraticForm` of the rows against all objects, for one α each."""
        n, forms = len(self.means.column_means), []
        for one, alpha in zip(self.classes, self.alphas, strict=True):
            if self.variant == "FK-":
                F, weights = one.Q.copy(), one.n * one.factor.reshape(-1)
            else:
                inner = solve_lower(one.factor.T, one.Q.copy())
                F = np.hstack([inner, np.eye(n) - one.Q @ one.Q.T])
                weights = one.n * np.r_[np.ones(inner.shape[1]), np.full(n, 1 / alpha)]
            F -= F.mean(axis=0)  # rows are centred
            mean = self.means.column_means + one.mean
            forms.append(QuadraticForm(mean, F, weights[:, None], np.zeros(1)))
        return forms


def full_kernel_model(K, variant, alphas, slices):
    """The model of all classes from the Gram matrix K, which is overwritten.

    The objects are in the order of their classes, class j at slices[j], alphas[j] its α or path.
    K's own memory becomes the bases Q, so that n² doubles plus one class's work are all that is
    needed.
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
    if variant == "FK+" and np.ndim(alpha) == 0:
        T = np.zeros((n, n), order="F")
        np.fill_diagonal(T, np.sqrt(alpha))
        T, _, _, info = linalg.lapack.dtpqrt(0, min(n, 64), T, R.T, overwrite_a=1, overwrite_b=1)
        assert info == 0
        return FullKernelClass(n, mean, Q, T)
    # The faster driver takes a workspace of some 5 n_j² beside K: too much where one class is most
    # of the objects.
    fast = np.ndim(alpha) or 5 * n**2 <= B.shape[0] ** 2
    driver = "gesdd" if fast else "gesvd"
    _, s, Ut = linalg.svd(R.T, overwrite_a=True, check_finite=False, lapack_driver=driver)
    rotate_columns(Q, Ut.T)
    return FullKernelClass(n, mean, Q, inner_weights(variant, s, alpha, n))


def inner_weights(variant, s, alpha, n):
    """1/(s² + α), or 1/s² where s² ≥ α, for singular values s of B: (len(s), *shape of alpha)."""
    alpha = np.asarray(alpha, float)
    s = s.reshape(-1, *[1] * alpha.ndim)
    if variant == "FK+":
        return 1 / (s**2 + alpha)
    large = (s**2 >= alpha) & (s > rank_tolerance(s.max(initial=0.0), n))
    return np.where(large, 1 / np.where(large, s, 1.0) ** 2, 0.0)


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
