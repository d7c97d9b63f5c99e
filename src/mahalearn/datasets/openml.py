"""UCI sets from OpenML, through scikit-learn and its cache."""

import numpy as np
from sklearn.datasets import fetch_openml


def fetch(entry, missing_file):
    """The set of an entry from OpenML: (X, labels, column names, origin).

    `missing_file` says what to do where OpenML cannot help either.
    """
    query = entry.openml
    origin = f"OpenML, data set {query.data_id}"
    try:
        bunch = fetch_openml(
            data_id=query.data_id,
            target_column=query.target or "default-target",
            as_frame=False,
            parser="liac-arff",  # needs no pandas
        )
    except (OSError, ValueError) as error:  # no network, or OpenML's own refusal
        raise FileNotFoundError(f"{missing_file} {origin} could not be fetched: {error}") from error
    if bunch.target is None or np.ndim(bunch.target) != 1:
        raise ValueError(f"{origin} has no single column of classes any more. {missing_file}")
    labels = np.array([_spelling(label) for label in bunch.target])
    for old, new in query.merge:
        labels[labels == old] = new
    ours = dict(zip(query.classes or entry.counts, entry.counts))
    included = np.isin(labels, list(ours))  # the papers leave some small classes out
    labels = np.array([ours[label] for label in labels[included].tolist()])
    return np.asarray(bunch.data, dtype=float)[included], labels, tuple(bunch.feature_names), origin


def _spelling(label):
    """A class as text; whole numbers without decimals."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
