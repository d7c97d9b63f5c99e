"""Whether a batch of objects differs from the training objects."""

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from .._typing import ArrayLike
from .._validation import check_choice, check_memory, check_reg, check_symmetric, known_codes
from ..formulas.class_metrics import rounded_up
from ..formulas.conformal import mean_p_value, pooled_leverages, rank_sum_p_value
from ..formulas.linalg import center_gram, centering, is_psd
from ..kernels.protocol import is_precomputed, kernel_matrix
from ._models import SPECTRA_AS_THEY_ARE
from .detector import KernelMahalanobisNovelty
from .mahalanobis import MahalanobisNovelty

# Parts of a smaller class would be of a few objects, whose ranks say little.
LEAST_FOR_PARTS = 15


class DriftTest(NamedTuple):
    """Result of :func:`drift_test`.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Class labels.
    p_values : ndarray of shape (n_classes,)
        p-value of each class; NaN where the batch holds none of its objects.
    counts : ndarray of shape (n_classes,)
        Number of the batch's objects that were compared with each class.
    p_pooled : float
        p-value of the batch against all training objects, labels ignored.

    Examples
    --------
    >>> from mahalearn import KernelMahalanobisNovelty, drift_test
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelMahalanobisNovelty().fit(X[::2], y[::2])
    >>> found = drift_test(model, X[1::2], y[1::2])
    >>> found.counts.tolist(), bool(found.p_pooled > 0.05)
    ([25, 25, 25], True)
    """

    classes: np.ndarray
    p_values: np.ndarray
    counts: np.ndarray
    p_pooled: float


def drift_test(
    model: Any,
    X_batch: ArrayLike,
    y_batch: ArrayLike | None = None,
    *,
    alternative: Literal["greater", "less", "two-sided"] = "greater",
    batch_kernel: ArrayLike | None = None,
) -> DriftTest:
    """Whether a batch of objects differs from the training objects.

    The batch joins the class, every object's leverage in class ∪ batch is computed, and a rank-sum
    test asks whether the batch's are larger. The leverages treat all objects alike, and the kernel
    (gamma, standardised columns) is fitted to training objects and batch together, so that the
    p-value is exact, whatever the distribution: if the batch was drawn as the class was, p ≤ a has
    at most the probability a; about a if the model's `search` chose gamma and reg. (A
    Kolmogorov–Smirnov test on conformal p-values is not valid: they share the training objects.)
    It is a test against objects that lie farther out.

    A batch as large as the class would be half of the pool, and its objects no farther out than
    those of the class. A batch of more than half the class (of 15 objects and more) is therefore
    tested in parts of at most a third, every k-th object in one part; twice the mean of their
    p-values is a valid p-value (V. Vovk and R. Wang, Combining p-values via averaging).

    Parameters
    ----------
    model : KernelMahalanobisNovelty or MahalanobisNovelty
        A fitted detector; the latter calibrated on rows apart (``calibration="split"`` or
        `calibrate`), with which the batch is compared.
    X_batch : array-like of shape (n_samples, n_features)
        The batch, as the model takes queries.
    y_batch : array-like of shape (n_samples,), default=None
        Labels of the batch: each class is compared with its own objects. Without them the whole
        batch is compared with each class in turn, which asks whether it is a batch of that class;
        a mixed batch is judged by ``p_pooled``.
    alternative : {"greater", "less", "two-sided"}, default="greater"
        Whether the batch's objects are expected farther out, nearer, or either.
    batch_kernel : array-like of shape (n_samples, n_samples), default=None
        Kernel values of the batch with itself: needed with a precomputed kernel, refused with
        another one.

    Returns
    -------
    result : DriftTest
        A p-value for each class, and one for all training objects together.

    Examples
    --------
    >>> import numpy as np
    >>> from mahalearn import KernelMahalanobisNovelty, drift_test
    >>> rng = np.random.default_rng(0)
    >>> model = KernelMahalanobisNovelty().fit(rng.normal(size=(60, 4)))
    >>> bool(drift_test(model, rng.normal(size=(20, 4))).p_pooled > 0.05)
    True
    >>> bool(drift_test(model, rng.normal(0, 2, size=(20, 4))).p_pooled < 0.001)
    True
    """
    if not isinstance(model, (KernelMahalanobisNovelty, MahalanobisNovelty)):
        raise TypeError(
            "drift_test needs a fitted MahalanobisNovelty or KernelMahalanobisNovelty; got "
            f"{type(model).__name__}."
        )
    check_choice(alternative, "alternative", ("greater", "less", "two-sided"))
    if isinstance(model, MahalanobisNovelty):
        return _calibrated_drift_test(model, X_batch, y_batch, alternative)
    X = model._check_query(X_batch)
    c = len(model.class_labels_)
    codes = _batch_codes(y_batch, X, model)
    training = model._training
    n, m = len(training), len(X)
    check_memory(3 * (n + m) ** 2, f"The kernel matrix of {n} training objects and the batch")
    K = _pool_gram(model, X, batch_kernel)
    reg = check_reg(model.reg_, c)
    p, counts = np.full(c, np.nan), np.zeros(c, dtype=int)
    for j, members in enumerate(training.slices):
        rows = np.arange(m) if codes is None else np.flatnonzero(codes == j)
        counts[j] = len(rows)
        if len(rows):
            pool = np.r_[members.start : members.stop, n + rows]
            if model.variant_ == "other-classes":
                marks = np.flatnonzero(np.isin(training.order, model.reference_indices_))
                others = (marks < members.start) | (marks >= members.stop)
                phi = K[np.ix_(pool, marks[others])]
                phi = phi / np.sqrt(phi.shape[1])
                part = phi @ phi.T
            else:
                part = K[np.ix_(pool, pool)]
            size = members.stop - members.start
            p[j] = _pool_p_value(part, size, reg[j], model.reg_on, alternative)
    pooled = _pool_p_value(K, n, float(reg.mean()), model.reg_on, alternative)
    return DriftTest(model.class_labels_, p, counts, pooled)


def _batch_codes(y_batch, X, model):
    """Classes of a batch as positions among those of the model, None without labels."""
    if y_batch is None:
        return None
    y_batch = column_or_1d(y_batch)
    check_consistent_length(X, y_batch)
    return known_codes(y_batch, model.class_labels_)


def _calibrated_drift_test(model, X_batch, y_batch, alternative):
    """Compare a batch with the calibration rows of a detector: an exact rank-sum test.

    The distances depend on neither, so that the ranks of both together are exchangeable if the
    batch was drawn as the calibration rows were. That needs rows apart: ``calibration="split"`` or
    `calibrate`.
    """
    if model.method_ not in ("split", "calibrated"):
        raise ValueError(
            "drift_test compares a batch with rows that the distances do not depend on, and this "
            f"detector was calibrated on its training rows (method_={model.method_!r}). Call "
            "calibrate with further rows, or fit with calibration='split'."
        )
    limits, c = model._state().limits, len(model.class_labels_)
    nearest = model._nearest(X_batch)[0]
    p, counts = np.full(c, np.nan), np.zeros(c, int)
    codes = _batch_codes(y_batch, nearest, model)
    if codes is not None or limits.by_class is not None:
        d2 = model.mahalanobis(X_batch)
        for j, reference in enumerate(model._class_limits()):
            rows = slice(None) if codes is None else codes == j
            counts[j] = len(d2[rows])
            if counts[j] and len(reference):
                p[j] = _rank_sum(reference, d2[rows, j], alternative)
    return DriftTest(model.class_labels_, p, counts, _rank_sum(limits.every, nearest, alternative))


def _rank_sum(reference, d2, alternative):
    """p-value of a batch's distances against limits, which were rounded up."""
    ranks = rankdata(np.concatenate([reference, rounded_up(d2)]))
    return rank_sum_p_value(ranks[: len(reference)], ranks[len(reference) :], alternative)


def _pool_gram(model, X, batch_kernel):
    """Kernel matrix of the training objects, in class order, and the batch X."""
    if model._policy not in SPECTRA_AS_THEY_ARE:
        raise ValueError(
            f"drift_test takes the kernel as it is; fit with spectrum='krein' instead of "
            f"{model.spectrum!r}."
        )
    if not is_precomputed(model.kernel):
        if batch_kernel is not None:
            raise ValueError(
                "batch_kernel= is for kernel='precomputed'; the model computes these values by its "
                "own kernel."
            )
        pool = _join(model._training.X, X)
        kernel, gram = model._fit_kernel_to(pool)
        return kernel_matrix(kernel, pool, pool) if gram is None else gram
    if batch_kernel is None:
        raise ValueError(
            "With a precomputed kernel the test needs the batch's kernel values with itself: pass "
            "batch_kernel=, or use kernel=PrecomputedKernel(K) on row numbers."
        )
    own = check_array(batch_kernel, dtype=np.float64, input_name="batch_kernel")
    if own.shape != (len(X), len(X)):
        raise ValueError(f"batch_kernel must have shape {(len(X), len(X))}; got {own.shape}.")
    own = check_symmetric(own, "batch_kernel")
    cross = model._training.cross(X)
    within = model._training.training_cross(slice(None), slice(None))
    return np.block([[within, cross.T], [cross, own]])


def _join(A, B):
    """The objects of A and B together."""
    if hasattr(A, "iloc") and hasattr(B, "iloc"):
        import pandas as pd

        return pd.concat([A, B], ignore_index=True)
    if isinstance(A, np.ndarray) and isinstance(B, np.ndarray) and A.shape[1:] == B.shape[1:]:
        return np.concatenate([A, B])
    return [*A, *B]


def _pool_p_value(K, n, reg, reg_on, alternative):
    """p-value of the objects from n on; where they are many, of parts that are at most n/3."""
    m = len(K) - n
    parts = -(-m // (n // 3)) if 2 * m > n >= LEAST_FOR_PARTS else 1
    found = []
    for i in range(parts):
        pool = np.r_[0:n, n + i : n + m : parts]
        found.append(_part_p_value(K[np.ix_(pool, pool)], n, reg, reg_on, alternative))
    return mean_p_value(found)


def _part_p_value(K, n, reg, reg_on, alternative):
    """Rank-sum p-value of the objects from n on; α is relative to the pool's own spread."""
    if reg_on == "kernel":
        alpha = reg
    else:
        scale = abs(np.trace(K) / len(K) - K.mean()) or 1.0 if reg_on == "relative" else 1.0
        alpha = reg * scale * len(K)
    definite = is_psd(center_gram(K, centering(K)))
    scores = pooled_leverages(K, alpha, definite=definite)
    return rank_sum_p_value(scores[:n], scores[n:], alternative)
