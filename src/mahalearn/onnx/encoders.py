"""Tables of numbers in a graph, as `TableEncoder` encodes them."""

import numpy as np

from .kernels import NoGraphError


def encoded_table(encoder, X):
    """The columns of a table of numbers, `TableEncoder.transform`; a missing cell is NaN."""
    if len(encoder.nominal_):
        names = encoder.get_feature_names_out().tolist()
        column = next(name for name in names if "=" in name).partition("=")[0]
        raise NoGraphError(
            f"The column {column!r} holds categories: a table with text has no ONNX graph. Encode "
            "such columns as numbers before."
        )
    Z = X[:, encoder.numeric_]
    missing = X.graph.add("IsNaN", X)
    Z = np.where(missing[:, encoder.numeric_], encoder.medians_, Z)
    blocks = [(Z - encoder.means_) / encoder.scales_]
    if len(encoder.indicators_):
        blocks.append(missing[:, encoder.indicators_].cast(float))
    return np.concatenate(blocks, axis=1)
