"""Collections of objects of any kind: lists, arrays, tables, sparse matrices."""

from scipy.sparse import issparse


def take(X, index):
    """Objects by position (a slice or an array), whatever holds them."""
    if hasattr(X, "iloc"):
        return X.iloc[index]
    if isinstance(index, slice) or hasattr(X, "shape"):
        return X[index]
    return [X[i] for i in index]


def check_objects(X):
    """A non-empty collection of objects that can be taken by position."""
    if issparse(X):  # bits, for example: its objects are its rows
        rows = X.tocsr()
        X = [rows[i : i + 1] for i in range(rows.shape[0])]
    # Sets have no order that labels could follow, and dictionaries are rarely meant by their keys.
    unfit = isinstance(X, (str, bytes, set, frozenset, dict))
    if unfit or not hasattr(X, "__len__") or not hasattr(X, "__getitem__"):
        raise ValueError(f"X must be a list or an array of objects; got {type(X).__name__}.")
    if len(X) == 0:
        raise ValueError("X holds no objects; at least one is needed.")
    return X if hasattr(X, "shape") or hasattr(X, "iloc") else list(X)


def refuse_objects(X):
    """Refuse what only a measure can compare, where a kernel wants rows of numbers."""
    what = None
    if getattr(X, "ndim", 2) > 2:
        what = f"an array of shape {X.shape}"
    elif isinstance(X, (list, tuple)) and len(X):
        if all(isinstance(x, str) for x in X):
            what = "strings"
        elif len({len(x) for x in X if hasattr(x, "__len__")}) > 1:
            what = "objects of different lengths"
    if what is not None:
        raise ValueError(
            f"This kernel compares rows of numbers; got {what}. Objects need a measure: "
            "kernel='dtw' for time series (a search takes 'elastic'), 'edit' for strings, or "
            "another of mahalearn.measures."
        )
