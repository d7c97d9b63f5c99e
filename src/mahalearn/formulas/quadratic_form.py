r"""A fitted class as a quadratic form: d²(x) = s·κ(x) + Σ_i w_i P_i², P = Fᵀ(r − m).

r is a row of kernel values of x, m their mean in the class, F one projection for all values of a
path, w and s the weights of each value (`kernel_mahalanobis` and `full_kernel` say which: the
variants are rules for w and s), and κ the part of k(x, x) that F does not see.

At landmarks a class is fitted as a form. The models of all objects keep what LAPACK evaluates
cheapest (factors, bases, roots) and have a method ``form`` for evaluators that know matrix products
only, such as graphs of ONNX.

For one value the form is evaluated as ‖Rv‖² with a triangular R where w is nonnegative; for a path
the products of several classes are one, and w weighs its squares.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.linalg import blas

# Columns that rows are multiplied with at a time.
_WIDE = 4096


class QuadraticForm(NamedTuple):
    """The form of one class for a path of r values of α.

    mean (m,), projection F (m, p), weights (p, r), self_weights s (r,). linear, constant: where
    they are given, κ is k(x, x) − linear·k + constant, and k(x, x) is what the caller passes;
    otherwise the caller passes κ. log_volumes (r,): the log-determinant of a normal density, NaN
    where there is none.
    """

    mean: np.ndarray
    projection: np.ndarray
    weights: np.ndarray
    self_weights: np.ndarray
    linear: np.ndarray | None = None
    constant: float = 0.0
    log_volumes: np.ndarray = np.full(1, np.nan)

    def sq_distances(self, k, kxx):
        """d² for each α, (r, q): kernel rows k (q, m), kxx (q,) as the form wants it."""
        P = (k - self.mean) @ self.projection
        P *= P
        return self.with_self((P @ self.weights).T, k, kxx)

    def with_self(self, d2, k, kxx):
        """Add s·κ to d2 (r, q); kxx None leaves out what is common to all classes."""
        s = self.self_weights
        if not s.any() or (self.linear is None and kxx is None):
            return d2
        if self.linear is not None:
            kxx = self.constant - k @ self.linear.astype(k.dtype) + (0.0 if kxx is None else kxx)
        return d2 + np.outer(s, kxx)


def centred_form(means, F, weights, self_weights):
    """The form of one α for F that multiplies centred rows k̃ = H(k − m), H = I − 11ᵀ/n.

    Its self-similarity is k_xx less twice the mean of k, plus the grand mean. F is overwritten.
    """
    n = len(F)
    F -= F.mean(axis=0)
    linear = np.full(n, 2 / n)
    return QuadraticForm(
        means.column_means, F, weights[:, None], self_weights, linear, means.grand_mean
    )


def evaluators(forms, dtype):
    """Forms ready to be evaluated for rows of a dtype, in groups that are multiplied together.

    Each has ``doubles``, those of workspace that a row needs, and ``sq_distances(k, kxx,
    workspace)``, an iterator of (r, q) for each of its forms.
    """
    if forms[0].weights.shape[1] == 1:
        return [_OneForm(form, dtype) for form in forms]
    each = max(1, _WIDE // max(1, *(len(form.weights) for form in forms)))
    return [_PathForms(forms[i : i + each], dtype) for i in range(0, len(forms), each)]


class _PathForms:
    """Forms for many values: one product for all of them, then weights of its squares.

    It is [k − o, 1]·matrix, about a common origin o, and subtracts the means, too.
    """

    def __init__(self, forms, dtype):
        self.forms = forms
        origin = np.mean([form.mean for form in forms], axis=0)
        shifts = [(origin - form.mean) @ form.projection for form in forms]
        projections = np.hstack([form.projection for form in forms])
        self.origin = origin.astype(dtype)
        self.matrix = np.vstack([projections, np.concatenate(shifts)]).astype(dtype)
        self.weights = [form.weights.astype(dtype) for form in forms]
        self.stops = np.cumsum([len(weights) for weights in self.weights])
        self.doubles = sum(self.matrix.shape)

    def sq_distances(self, k, kxx, workspace):
        """d² of each form, (r, q)."""
        q, (m, width) = len(k), self.matrix.shape
        left = workspace[: q * m].reshape(q, m)
        P = workspace[q * m : q * (m + width)].reshape(q, width)
        np.subtract(k, self.origin, out=left[:, :-1])
        left[:, -1] = 1
        np.dot(left, self.matrix, out=P)
        np.multiply(P, P, out=P)
        for form, weights, stop in zip(self.forms, self.weights, self.stops, strict=True):
            d2 = P[:, stop - len(weights) : stop] @ weights
            yield form.with_self(d2.T.astype(float), k, kxx)


class _OneForm:
    """A form for one value: vᵀAv as ‖Rv‖² with a triangular R where A is nonnegative."""

    def __init__(self, form, dtype):
        self.form = form
        self.mean = form.mean.astype(dtype)
        w = form.weights[:, 0]
        m = self.doubles = len(form.mean)
        used = w != 0
        F = form.projection[:, used] * np.sqrt(np.abs(w[used]))
        self.signs = self.R = None
        if (w >= 0).all() and 2 * F.shape[1] > m:
            (R,) = linalg.qr(F.T, mode="r", check_finite=False)
            self.R = np.zeros((m, m), dtype, order="F")
            self.R[: min(R.shape)] = np.triu(R)[: min(R.shape)]
            self.multiply = blas.dtrmm if np.dtype(dtype) == np.float64 else blas.strmm
            return
        self.F = np.ascontiguousarray(F, dtype=dtype)
        self.signs = np.sign(w[used]).astype(dtype)

    def sq_distances(self, k, kxx, workspace):
        """d² of the form, (1, q)."""
        workspace = workspace[: k.size].reshape(k.shape)
        np.subtract(k, self.mean, out=workspace)
        if self.R is not None:
            self.multiply(1.0, self.R, workspace.T, overwrite_b=1)
            d2 = np.einsum("ij,ij->i", workspace, workspace)
        else:
            P = workspace @ self.F
            P *= P
            d2 = P @ self.signs
        yield self.form.with_self(d2[None].astype(float), k, kxx)
