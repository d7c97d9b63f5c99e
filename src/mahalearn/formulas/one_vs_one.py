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
    owner = np.repeat(np.arange(len(n_support)), n_support)
    first, second = (k[:, None] for k in np.triu_indices(len(n_support), 1))
    # Row r of a class's columns is that of another class: r itself, or r + 1 from the class on.
    A = np.where(owner == first, dual_coef[second.ravel() - 1], 0.0)
    return np.where(owner == second, dual_coef[first.ravel()], A).T


def one_vs_one_scores(decisions, n_classes):
    """Votes of the pairs, plus a share of less than half a vote for how sure they are.

    decisions (m, c(c − 1)/2): columns in the order (0, 1), (0, 2) … (1, 2) …, positive where the
    second class of the pair wins. Returns (m, c); the largest score has the most votes. The share
    Σ/(3(|Σ| + 1)), Σ the sum of a class's signed decisions, only decides between equal votes;
    it is the convention of scikit-learn's one-vs-rest shaped decision functions.
    """
    first, second = (np.eye(n_classes)[k] for k in np.triu_indices(n_classes, 1))
    wins = (decisions > 0).astype(float)
    votes = wins @ second + (1 - wins) @ first
    sums = decisions @ (second - first)
    return votes + sums / (3 * (np.abs(sums) + 1))
