"""Class scores from the decisions of a machine for each pair of classes."""

import numpy as np


def pair_coefficients(dual_coef, n_support):
    """Coefficients (n, pairs) of all support vectors in the decision of each pair of classes.

    dual_coef (c − 1, n) and n_support (c,) in LIBSVM's layout: the vectors stand class by class,
    and row r of a class's columns belongs to the r-th of the other classes. For two classes
    dual_coef is (1, n).
    """
    if len(n_support) == 2:
        return dual_coef.T
    ends = np.cumsum(n_support)
    blocks = [slice(end - n, end) for n, end in zip(n_support, ends, strict=True)]
    pairs = list(zip(*np.triu_indices(len(n_support), 1), strict=True))
    A = np.zeros((ends[-1], len(pairs)))
    for column, (i, j) in zip(A.T, pairs, strict=True):
        column[blocks[i]], column[blocks[j]] = dual_coef[j - 1, blocks[i]], dual_coef[i, blocks[j]]
    return A


def one_vs_one_scores(decisions, n_classes):
    """Votes of the pairs, plus a share of less than half a vote for how sure they are.

    decisions (m, c(c − 1)/2): columns in the order (0, 1), (0, 2) … (1, 2) …, positive where the
    second class of the pair wins. Returns (m, c); the largest score has the most votes. The share
    Σ/(3(|Σ| + 1)), Σ the sum of a class's signed decisions, only decides between equal votes;
    it is the convention of scikit-learn's one-vs-rest shaped decision functions.
    """
    votes, sums = np.zeros((2, n_classes, len(decisions)))
    pairs = zip(*np.triu_indices(n_classes, 1), strict=True)
    for (i, j), decision in zip(pairs, np.ascontiguousarray(decisions.T), strict=True):
        second = decision > 0
        votes[j] += second
        votes[i] += ~second
        sums[j] += decision
        sums[i] -= decision
    return (votes + sums / (3 * (np.abs(sums) + 1))).T
