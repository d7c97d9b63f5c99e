"""Class scores from the decisions of a machine for each pair of classes."""

import numpy as np


def one_vs_one_scores(decisions, n_classes):
    """Votes of the pairs, plus a share of less than half a vote for how sure they are.

    decisions (m, c(c − 1)/2): columns in the order (0, 1), (0, 2) … (1, 2) …, positive where the
    second class of the pair wins. Returns (m, c); the largest score has the most votes. The share
    Σ/(3(|Σ| + 1)), Σ the sum of a class's signed decisions, only decides between equal votes;
    it is the convention of scikit-learn's one-vs-rest shaped decision functions.
    """
    votes = np.zeros((len(decisions), n_classes))
    sums = np.zeros((len(decisions), n_classes))
    pairs = zip(*np.triu_indices(n_classes, 1), strict=True)
    for (i, j), decision in zip(pairs, decisions.T, strict=True):
        second = decision > 0
        votes[second, j] += 1
        votes[~second, i] += 1
        sums[:, j] += decision
        sums[:, i] -= decision
    return votes + sums / (3 * (np.abs(sums) + 1))
