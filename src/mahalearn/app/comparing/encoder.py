"""From a table with numbers, names and gaps to standardised vectors."""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..reading.problem import Note
from ..words import counted


class TableEncoder(TransformerMixin, BaseEstimator):
    """Numbers standardised, names one-hot, gaps filled; everything learned from the training rows.

    A missing number becomes the training median. A name becomes a column for each name of the
    training rows, scaled so that two different names are as far apart as numbers are on average; an
    unknown or missing name has zeros there. Constant columns say nothing and are left out.

    Attributes
    ----------
    columns_ : list of str
        Columns that must be there.
    numeric_ : list of str
        Those used as numbers.
    medians_, means_, scales_ : ndarray
        Of the numeric ones.
    levels_ : dict
        Nominal column -> its names.
    feature_names_out_ : list of str
        Columns of the result.
    """

    def fit(self, X, y=None):
        """Learn columns, names, medians and scales from a data frame."""
        self.columns_ = [str(column) for column in X.columns]
        numeric, self.levels_ = [], {}
        for column in self.columns_:
            if _is_number(X[column]):
                numeric.append(column)
            else:
                present = X[column].dropna()
                self.levels_[column] = sorted({str(value) for value in present})
        Z = X[numeric].to_numpy(dtype=float)
        known = np.isfinite(Z)
        self.medians_ = np.array(
            [np.median(z[k]) if k.any() else 0.0 for z, k in zip(Z.T, known.T)]
        )
        Z = np.where(known, Z, self.medians_)
        means, scales = Z.mean(axis=0), Z.std(axis=0)
        # A spread within rounding of the mean is none.
        varies = scales > 1e-10 * np.maximum(np.abs(means), 1e-300)
        self.numeric_ = [column for column, v in zip(numeric, varies) if v]
        self.medians_, self.means_, self.scales_ = (
            a[varies] for a in (self.medians_, means, scales)
        )
        self.levels_ = {c: levels for c, levels in self.levels_.items() if len(levels) > 1}
        self.feature_names_out_ = self.numeric_ + [
            f"{column}={level}" for column, levels in self.levels_.items() for level in levels
        ]
        if not self.feature_names_out_:
            raise ValueError("Every column is constant: there is nothing to classify by.")
        return self

    def transform(self, X):
        """Vectors of a data frame's rows."""
        check_is_fitted(self)
        absent = [column for column in self.columns_ if column not in X.columns]
        if absent:
            raise ValueError(f"The table lacks the columns {absent}.")
        Z = X[self.numeric_].to_numpy(dtype=float)
        Z = np.where(np.isfinite(Z), Z, self.medians_)
        blocks = [(Z - self.means_) / self.scales_]
        for column, levels in self.levels_.items():
            position = {level: i for i, level in enumerate(levels)}
            block = np.zeros((len(X), len(levels)))
            for i, value in enumerate(X[column]):
                j = position.get(str(value))
                if j is not None:
                    block[i, j] = 1.0
            blocks.append(block)
        return np.hstack(blocks)

    def get_feature_names_out(self, input_features=None):
        """Names of the columns of the result."""
        check_is_fitted(self)
        return np.array(self.feature_names_out_, dtype=object)


def _is_number(column):
    from pandas.api.types import is_numeric_dtype

    return is_numeric_dtype(column)


def describe_table(X):
    """Sentences on how a table is turned into vectors; a ValueError if it cannot be."""
    TableEncoder().fit(X)
    notes = []
    nominal = [c for c in X.columns if not _is_number(X[c])]
    if nominal:
        notes.append(
            Note(
                f"{counted(len(nominal), 'categorical column')} "
                f"({', '.join(nominal[:6])}{' …' * (len(nominal) > 6)}) became one column for each "
                "category (one-hot).",
                "mixed",
            )
        )
    gaps = X.isna()
    if gaps.to_numpy().any():
        cells, columns = int(gaps.to_numpy().sum()), int(gaps.any().sum())
        notes.append(
            f"{counted(cells, 'cell')} ({gaps.to_numpy().mean():.1%}) in "
            f"{counted(columns, 'column')} {'is' if cells == 1 else 'are'} missing: the median of "
            "the training rows stands in for a number; a missing name is none of the names."
        )
    constant = [c for c in X.columns if X[c].nunique() <= 1]
    if constant:
        notes.append(f"Constant columns were left out: {', '.join(constant[:6])}.")
    numbers = [c for c in X.columns if _is_number(X[c]) and c not in constant]
    seen, twins = {}, []
    for column in numbers:
        key = X[column].to_numpy().tobytes()
        if key in seen:
            twins.append(f"{column} = {seen[key]}")
        seen.setdefault(key, column)
    if twins:
        notes.append(f"Columns with equal values count twice: {', '.join(twins[:6])}.")
    return notes
