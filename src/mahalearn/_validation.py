"""Checks of input and options; messages say what was expected, what came and what to do."""

import numbers
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from ._array_api import as_numpy
from ._sparse import as_rows, is_sparse

# Relative asymmetry up to which a matrix is taken to be symmetric but for rounding (of float32).
SYMMETRY_RTOL = 1e-5


def check_choice(value, name, choices):
    """One of the names exactly."""
    for choice in choices:
        if value is choice or (isinstance(value, str) and value == choice):
            return choice
    raise ValueError(f"{name}={value!r} is not known; choose from {', '.join(map(repr, choices))}.")


def is_word(value, word):
    """True for that word; arrays, which compare element by element, are none."""
    return isinstance(value, str) and value == word


def check_reg(reg, n_classes):
    """Regularisation, one positive number per class."""
    values = np.asarray(reg)
    if values.dtype.kind not in "iuf" or values.ndim > 1:
        raise ValueError(f"reg must be a number or one number per class; got {reg!r}.")
    if values.ndim == 1 and len(values) != n_classes:
        raise ValueError(f"reg has {len(values)} values, but there are {n_classes} classes.")
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError(f"reg must be positive and finite; got {reg!r}.")
    return np.broadcast_to(values.astype(float), n_classes)


def check_priors(priors, n_classes):
    """Prior probabilities, one positive number per class, normalised to sum to 1."""
    try:
        values = np.asarray(priors, dtype=float)
    except (TypeError, ValueError):  # a word, a dict
        values = np.zeros(n_classes)
    if values.shape != (n_classes,) or not np.isfinite(values).all() or (values <= 0).any():
        raise ValueError(
            f"priors must be {n_classes} positive numbers, one per class in the order of "
            f"classes_; got {priors!r}."
        )
    return values / values.sum()


def check_error_weights(weights, class_weight):
    """Weights of the classes' errors: finite, none negative, not all zero."""
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError(
            "class_weight must hold a finite weight for each class, none negative and not all "
            f"zero; got {class_weight!r}."
        )
    return weights


def check_finite_distances(d2):
    """Squared distances that are numbers; kernel values and `reg` can be too far apart for that."""
    if not np.isfinite(d2).all():
        raise ValueError(
            "The squared distances overflow: the kernel values and the regularisation are too far "
            "apart for floating point. Scale the kernel (or standardise the features), or choose "
            "a reg of the size of the kernel values; reg_on='relative' does this."
        )
    return d2


def sorted_labels(y):
    """Class labels, one or more: (classes, codes). Labels that cannot be sorted are refused."""
    refuse_missing_labels(y)
    classes, codes = unique_labels(y, return_inverse=True)
    check_classification_targets(y)
    return classes, codes


def is_missing(value):
    """True for None, NaN, NaT, a masked value and what cannot be compared, as pandas.NA."""
    if value is None or value is np.ma.masked:
        return True
    try:
        return bool(value != value)
    except TypeError:
        return True


def refuse_missing_labels(y):
    """Raise where labels are None or NaN."""
    labels = np.asarray(y).ravel()
    missing = 0
    if labels.dtype.kind == "f":
        missing = int(np.isnan(labels).sum())
    elif labels.dtype.kind == "O":
        missing = sum(map(is_missing, labels))
    if missing:
        raise ValueError(
            f"y contains NaN or None: {missing} of {len(labels)} class labels are missing. Leave "
            "these objects out, or give them a class."
        )


def unique_labels(y, **wanted):
    """np.unique of labels; those that cannot be sorted are refused."""
    try:
        return np.unique(y, **wanted)
    except TypeError:
        refuse_mixed_labels(np.asarray(y, dtype=object).ravel().tolist())
        raise


def check_classes(y):
    """Class labels, at least two of them: (classes, codes)."""
    classes, codes = sorted_labels(y)
    if len(classes) < 2:
        raise ValueError(
            f"The number of classes has to be greater than one; got {len(classes)} class "
            f"({classes.tolist()!r}). A classifier needs examples of at least two; objects of "
            "sample_weight 0 do not count."
        )
    return classes, codes


def refuse_mixed_labels(labels):
    """Raise where some labels are text and others are not: 1 and "1" are different classes."""
    kinds = {type(label).__name__ for label in labels}
    if len(kinds) > 1 and not kinds <= {"bool", "int", "float"}:
        raise ValueError(
            f"The class labels are of different types ({', '.join(sorted(kinds))}), in one batch "
            "or in different ones; make them all text or all numbers, without missing values."
        )


def check_class_list(classes):
    """All labels that will ever come, as a caller lists them: sorted, each once."""
    labels = np.unique(classes)
    # Each label twice: a list of distinct ones looks like a regression target.
    return check_classes(np.repeat(labels, 2))[0]


def common_classes(parts):
    """The classes of parts of the data, each given by its sorted labels."""
    refuse_mixed_labels([label for labels in parts for label in labels.tolist()])
    return check_class_list(np.concatenate(parts))


def check_labels(estimator, X, y):
    """Labels (n,), one for each object."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    y = column_or_1d(without_mask(as_numpy(estimator, y)), warn=True)
    check_consistent_length(X, y)
    return y


def known_codes(y, classes):
    """Class index of each label, all of which must be among the classes (sorted)."""
    codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    unknown = classes[codes] != y
    if np.any(unknown):
        raise ValueError(
            f"y has labels that are not among the classes: {np.unique(y[unknown]).tolist()!r}."
        )
    return codes


def check_sample_weight(sample_weight, n_samples):
    """Weights of samples, nonnegative and not all 0; None where none are given."""
    if sample_weight is None:
        return None
    weights = np.asarray(without_mask(sample_weight), dtype=float)
    if weights.ndim == 0:
        weights = np.full(n_samples, weights)
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must be 1D with one number for each of the {n_samples} samples; got "
            f"shape {weights.shape}."
        )
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError(
            "sample_weight must be finite and nonnegative, and not all weights may be zero."
        )
    return weights


def refuse_fit_params(estimator, params):
    """Raise an error that says why an argument of fit is not accepted."""
    if "sample_weight" in params:
        weighs = " class_weight weighs the errors of the classes."
        raise TypeError(
            f"{type(estimator).__name__}.fit does not take sample_weight: its covariances are "
            f"unweighted.{weighs if hasattr(estimator, 'class_weight') else ''}"
        )
    if params:
        names = ", ".join(sorted(params))
        raise TypeError(f"{type(estimator).__name__}.fit got unexpected arguments: {names}.")


def is_dask_collection(X):
    """True if X is a dask collection; dask is not imported for that."""
    return hasattr(X, "__dask_graph__") and type(X).__module__.split(".")[0].startswith("dask")


def comes_in_parts(X, y):
    """True for a dask collection, or, without y, for what is no table: batches (X, y)."""
    return is_dask_collection(X) or (y is None and not hasattr(X, "shape"))


def refuse_dask(estimator, *collections):
    """Refuse a dask collection, instead of converting it."""
    if any(is_dask_collection(X) for X in collections):
        remedy = "set landmarks=, or " if "landmarks" in estimator.get_params(deep=False) else ""
        raise TypeError(
            f"{type(estimator).__name__} needs all training objects in memory and does not take "
            f"dask collections; {remedy}call .compute() on them first."
        )


def refuse_dask_labels(y):
    """Refuse dask labels of rows in memory, instead of converting them."""
    if is_dask_collection(y):
        raise TypeError(
            "y is a dask collection and X is not: call y.compute(), or pass both as collections."
        )


def refuse_dask_query(*collections):
    """Refuse a dask collection in predict, and name the function for it."""
    if any(is_dask_collection(X) for X in collections):
        raise TypeError(
            "A dask collection is predicted part by part, lazily: "
            "mahalearn.distributed.predict(model, X); or call .compute() on it first."
        )


def check_squarable(largest, what):
    """Refuse values of which the largest is so large or small that its square is inf or 0."""
    if largest and not 1e-150 <= largest <= 1e150:
        raise ValueError(
            f"{what}: the largest value is {largest:.3g}, whose square "
            f"{'vanishes in rounding' if largest < 1 else 'overflows'}; choose another unit."
        )


def check_square(K, name="The precomputed matrix"):
    """A square matrix of real numbers."""
    if K.dtype.kind not in "iufb":
        raise ValueError(
            f"{name} must hold real numbers, as an array (a sparse matrix: pass .toarray()); got "
            f"{K.dtype} of shape {K.shape}."
        )
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(
            f"{name} must be square, every training object against every training object; "
            f"got shape {K.shape}. (For tools that slice rows only, such as calibration, use "
            "kernel=PrecomputedKernel(K) on row numbers.)"
        )


def check_symmetric(K, name="The precomputed matrix"):
    """A symmetric matrix: K itself, or its symmetric part where only rounding differs."""
    largest, gap = 0.0, 0.0
    block = max(1, 2**20 // max(1, len(K)))
    for i in range(0, len(K), block):
        rows = K[i : i + block]
        largest = max(largest, np.abs(rows).max())
        gap = max(gap, np.abs(rows - K[:, i : i + block].T).max())
    if gap == 0:
        return K
    if gap > SYMMETRY_RTOL * largest:
        raise ValueError(
            f"{name} is not symmetric: the largest difference between K[i, j] and K[j, i] is "
            f"{gap:.3g}, {gap / largest:.1%} of the largest value. If both directions measure the "
            "same thing, pass (K + K.T) / 2."
        )
    return (K + K.T) / 2


def looks_like_dissimilarity(K):
    """True if a matrix has a diagonal of zeros and nothing negative, but is not all zero."""
    return not K.diagonal().any() and K.min() >= 0 and bool(K.any())


def is_negated_dissimilarity(K):
    """True if a kernel matrix has a diagonal of zeros and nothing positive, as −d and −d² have."""
    return not K.diagonal().any() and K.max() <= 0 and bool(K.any())


def warn_dissimilarity_as_kernel(K):
    """Warn where a kernel (similarity) matrix looks like one of dissimilarities."""
    if looks_like_dissimilarity(K):
        warnings.warn(
            "The precomputed kernel looks like a matrix of dissimilarities: every object has "
            "similarity 0 with itself and none is less similar. A kernel is large for similar "
            "objects; for dissimilarities d pass -d**2, or put mahalearn.ProximityKernel "
            "before the estimator.",
            UserWarning,
            stacklevel=4,
        )


_PROC, _CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")


def available_memory():
    """Bytes that can be had now, None where the system does not tell.

    The least of what the system has free, what the control groups of this process (containers, jobs
    of a cluster) leave, and what its own limit on address space (ulimit -v) leaves.
    """
    limits = [_system_memory(), _cgroup_memory(), _address_space()]
    return min((bytes_ for bytes_ in limits if bytes_ is not None), default=None)


def _system_memory():
    for line in _text(_PROC / "meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _cgroup_memory():
    """Bytes that the control groups, version 1 or 2, and all groups above them leave."""
    left = []
    for line in _text(_PROC / "self" / "cgroup").splitlines():
        hierarchy, controllers, group = line.split(":", 2)
        if hierarchy == "0" and not controllers:
            root, limit, usage, cache = _CGROUPS, "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            root, cache = _CGROUPS / "memory", "total_inactive_file"
            limit, usage = "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        folder = root / group.lstrip("/")
        # In a container the path may be that of the host: then only the root is there.
        for place in [folder, *folder.parents]:
            most, used = _text(place / limit).strip(), _text(place / usage).strip()
            if most.isdigit() and used.isdigit():
                # Files that the system may drop from memory count as used there.
                stat = dict(row.split()[:2] for row in _text(place / "memory.stat").splitlines())
                left.append(max(0, int(most) - int(used) + int(stat.get(cache, 0))))
            if place == root:
                break
    return min(left, default=None)


def _address_space():
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    used = _text(_PROC / "self" / "statm").split()
    if limit == resource.RLIM_INFINITY or not used:
        return None
    return max(0, limit - int(used[0]) * resource.getpagesize())


def _text(path):
    """A file's text, empty where it cannot be read."""
    try:
        return path.read_text()
    except (OSError, ValueError):
        return ""


LANDMARKS_REMEDY = (
    "Set landmarks=1000 (or 'auto'), with which memory does not grow with the number of objects: "
    "docs/scale.md says when they are faster."
)
_KERNEL_REMEDY = (
    f"{LANDMARKS_REMEDY} Otherwise fit on fewer objects; a class-wise variant (IC, RC) needs only "
    "the kernel within each class, RC- with a positive definite kernel none of it."
)


# Seconds that a reading serves requests of less than this part of it; the last reading.
MOMENT, NEGLIGIBLE = 0.5, 1e-3
_reading: list[Any] = [-np.inf, None, None]


def check_memory(n_doubles, what, remedy=_KERNEL_REMEDY):
    """Refuse an allocation that does not fit, before it is made.

    A request that is negligible beside the last reading of half a second ago is granted without a
    new one: the folds of a search ask hundreds of times.
    """
    needed = 8 * n_doubles
    when, reader, available = _reading
    if (
        reader is available_memory
        and time.monotonic() - when < MOMENT
        and (available is None or needed < NEGLIGIBLE * available)
    ):
        return
    available = available_memory()
    _reading[:] = time.monotonic(), available_memory, available
    if available is not None and needed > available:
        raise MemoryError(
            f"{what} needs about {needed / 2**30:.1f} GiB, and {available / 2**30:.1f} GiB are "
            f"available. {remedy}"
        )


def is_real(value):
    """True if the value is a real number; truth values are not."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def is_whole(value):
    """True if the value is a whole number; truth values are not."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def check_real(value, name, what="a finite number", allowed=lambda number: True):
    """A finite number for which `allowed` is true; what: such a number in words."""
    if not is_real(value) or not np.isfinite(value) or not allowed(value):
        raise ValueError(f"{name} must be {what}; got {value!r}.")
    return float(value)


def check_positive(value, name):
    """A positive finite number."""
    return check_real(value, name, "a positive number", lambda number: number > 0)


def check_not_negative(value, name):
    """A finite number that is 0 or more."""
    what = "a finite number that is not negative"
    return check_real(value, name, what, lambda number: number >= 0)


def check_share(value, name):
    """A number between 0 and 1, both excluded."""
    return check_real(value, name, "between 0 and 1", lambda number: 0 < number < 1)


def check_unless_word(value, name, words, check):
    """One of the words, or what the check of a number says."""
    return check_choice(value, name, words) if isinstance(value, str) else check(value, name)


def check_count(value, name, at_most=None):
    """A positive whole number."""
    if not is_whole(value) or value < 1 or (at_most is not None and value > at_most):
        limit = "" if at_most is None else f" of at most {at_most}"
        raise ValueError(f"{name} must be a positive whole number{limit}; got {value!r}.")
    return int(value)


def check_shrinkage(value):
    """A number from 0 to 1, "auto", or None."""
    if value is None or is_word(value, "auto"):
        return value
    what = "a number from 0 to 1, 'auto' or None"
    return check_real(value, "shrinkage", what, lambda number: 0 <= number <= 1)


def check_components(value):
    """A number of components, a fraction to keep (a float), or None for all."""
    if value is None:
        return None
    if isinstance(value, numbers.Integral) or not is_real(value):
        return check_count(value, "n_components")
    what = "the fraction to keep, above 0 and up to 1 (a number of components is an int)"
    return check_real(value, "n_components as a float", what, lambda number: 0 < number <= 1)


# --- rows of numbers ------------------------------------------------------------------------------


def without_mask(X):
    """A masked array with NaN in place of what the mask hides; anything else as it is."""
    if not np.ma.is_masked(X):
        return X
    return X.astype(float if X.dtype.kind in "biuf" else object).filled(np.nan)


def validate_rows(estimator, X, *y, **options):
    """scikit-learn's validate_data for rows of numbers in NumPy arrays.

    It would take dates for numbers, use what a mask hides, and leave tensors to code that computes
    with NumPy. A sparse matrix becomes SparseRows where ``accept_sparse=True``. Missing cells and
    text get the remedies of this library.
    """
    X, *y = (without_mask(as_numpy(estimator, values)) for values in (X, *y))
    if is_sparse(X):
        X = X.matrix
    sample = X[0] if isinstance(X, (list, tuple)) and len(X) else X
    dtypes = getattr(sample, "dtypes", [getattr(sample, "dtype", None)])
    if isinstance(sample, (list, tuple)):
        dtypes = [getattr(value, "dtype", None) for value in sample]
    if any(getattr(dtype, "kind", "") in ("m", "M") for dtype in np.atleast_1d(dtypes)):
        raise ValueError(
            "X contains dates or time differences, which are not numbers. Convert them to numbers "
            "in a unit of your choice first, such as days since a date."
        )
    options["accept_sparse"] = "csr" if issparse(X) and options.get("accept_sparse") else False
    for labels in y:
        if labels is not None:
            refuse_missing_labels(labels)
    try:
        checked = validate_data(estimator, X, *y, **options)
    except ValueError as error:
        if "X contains NaN" in str(error):
            raise ValueError(f"Input X contains NaN. {_remedy(estimator)}") from None
        if "could not convert string" in str(error):
            raise ValueError(f"X contains text: {error}. {_remedy(estimator)}") from None
        raise
    return (as_rows(checked[0]), checked[1]) if isinstance(checked, tuple) else as_rows(checked)


def _remedy(estimator):
    """What to do about cells that hold no number."""
    if get_tags(estimator).input_tags.pairwise:
        return "A square matrix needs a number for every pair of objects."
    return (
        "TableEncoder() before it in a pipeline encodes categories and fills missing cells; "
        "GaussianClassifier(missing='ignore') leaves missing cells out."
    )


# --- collections of objects: lists, arrays, tables, sparse matrices -------------------------------


def dtype_kind(X):
    """NumPy's letter for the type of an array's values, "" of what is no array."""
    return getattr(getattr(X, "dtype", None), "kind", "")


def take(X, index):
    """Objects by position (a slice or an array), whatever holds them."""
    if hasattr(X, "iloc"):
        return X.iloc[index]
    if isinstance(index, slice):
        return X[index]
    if hasattr(X, "column_names"):  # a table of pyarrow
        return X.take(index)
    return X[index] if hasattr(X, "shape") else [X[i] for i in index]


def n_rows(X):
    """Number of objects, 0 where a collection does not tell; sparse matrices have no length."""
    if hasattr(X, "shape"):
        return X.shape[0] if X.shape else 0
    return len(X) if hasattr(X, "__len__") else 0


def check_objects(X, estimator=None, reset=False):
    """A non-empty collection of objects that can be taken by position.

    estimator: knows the names of the columns of a table; reset: learns them.
    """
    if estimator is not None and hasattr(X, "iloc") and hasattr(X, "columns"):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    elif reset:
        for name in ("n_features_in_", "feature_names_in_"):  # of an earlier table
            vars(estimator).pop(name, None)
    if issparse(X):  # bits, for example: its objects are its rows
        rows = X.tocsr()
        X = [rows[i : i + 1] for i in range(rows.shape[0])]
    # Sets have no order that labels could follow, and dictionaries are rarely meant by their keys.
    unfit = isinstance(X, (str, bytes, set, frozenset, dict))
    ordered = hasattr(X, "__len__") and hasattr(X, "__getitem__") and getattr(X, "ndim", 1)
    if unfit or not ordered:
        raise ValueError(f"X must be a list or an array of objects; got {type(X).__name__}.")
    if len(X) == 0:
        raise ValueError("X holds no objects; at least one is needed.")
    return X if hasattr(X, "shape") or hasattr(X, "iloc") else list(X)


def refuse_objects(X):
    """Refuse objects that only a measure can compare; this kernel needs rows of numbers."""
    what = None
    if getattr(X, "ndim", 2) > 2:
        what = f"an array of shape {X.shape}"
    elif dtype_kind(X) in ("O", "U", "T") and X.ndim == 1:
        what = "strings" if all(isinstance(x, str) for x in X) else None
    elif isinstance(X, (list, tuple)) and len(X):
        if all(isinstance(x, tuple) and len(x) == 2 and getattr(x[0], "ndim", 0) == 2 for x in X):
            raise ValueError(
                "X is a list of batches (X, y), which hold their labels: they are taken without a "
                "further y, and with landmarks= only."
            )
        if all(isinstance(x, str) for x in X):
            what = "strings"
        elif len({len(x) for x in X if hasattr(x, "__len__")}) > 1:
            what = "objects of different lengths"
    if what is not None:
        raise ValueError(
            f"This kernel compares rows of numbers; got {what}. Objects need a measure: "
            "kernel='dtw' for time series (a search takes 'elastic'), 'edit' for strings, or "
            "another of mahalearn.measures; a function f(a, b) of two objects is "
            "kernel=MeasureKernel(f)."
        )
