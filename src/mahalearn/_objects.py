"""Collections of objects of any kind: lists, arrays, tables."""


def take(X, index):
    """Objects by position (a slice or an array), whatever holds them."""
    if hasattr(X, "iloc"):
        return X.iloc[index]
    if isinstance(index, slice) or hasattr(X, "shape"):
        return X[index]
    return [X[i] for i in index]


def check_objects(X):
    """A non-empty collection of objects that can be taken by position."""
    # Sets have no order that labels could follow, and dictionaries are rarely meant by their keys.
    unfit = isinstance(X, (str, bytes, set, frozenset, dict))
    if unfit or not hasattr(X, "__len__") or not hasattr(X, "__getitem__"):
        raise ValueError(f"X must be a list or an array of objects; got {type(X).__name__}.")
    if len(X) == 0:
        raise ValueError("X holds no objects; at least one is needed.")
    return X if hasattr(X, "shape") or hasattr(X, "iloc") else list(X)
