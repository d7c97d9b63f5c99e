"""Arrays of other libraries: NumPy computes with them, and results are given back as they came."""

import sys

import numpy as np
from sklearn import get_config


def is_foreign(X):
    """True for a tensor or array that scikit-learn's array API dispatch leaves as it is."""
    foreign = hasattr(X, "__array_namespace__") or _is_torch(X)
    return foreign and not isinstance(X, np.ndarray) and get_config()["array_api_dispatch"]


def as_numpy(estimator, X):
    """A NumPy array in place of a foreign one, if the estimator gives its results back as such."""
    if not is_foreign(X):
        return X
    if not getattr(estimator, "_converts_arrays", False):
        refuse_tensors(estimator, X)
    return np.asarray(_namespace(X).asarray(X, device="cpu") if _is_torch(X) else X)


def like(X, values):
    """Results as arrays of the library and on the device of X; texts stay a NumPy array."""
    if not is_foreign(X) or values.dtype.kind not in "biuf":
        return values
    return _namespace(X).asarray(values, device=X.device)


def _is_torch(X):
    return type(X).__module__.split(".")[0] == "torch"


def _namespace(X):
    return sys.modules["torch"] if _is_torch(X) else X.__array_namespace__()


def refuse_tensors(estimator, X):
    """Refuse arrays that scikit-learn's array API dispatch would not convert to NumPy."""
    kind = type(X)
    if is_foreign(X):
        raise TypeError(
            f"{type(estimator).__name__} computes with NumPy arrays and does not take part in "
            f"scikit-learn's array API dispatch; got {kind.__module__}.{kind.__name__}. Pass a "
            "NumPy array (X.numpy() of a tensor), or set array_api_dispatch=False."
        )
