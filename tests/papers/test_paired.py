"""The tests behind the verdicts: p-values of scipy, error rates by simulation, combinations."""

import numpy as np
import pytest
from scipy import stats

from mahalearn.papers.paired import (
    LEVEL,
    UNKNOWN,
    Part,
    all_of,
    any_of,
    certain,
    equivalent,
    exceeds,
    majority,
    verdict,
)


def test_exceeds_is_a_paired_t_test(rng):
    a, b = rng.normal(0.4, 1, 12), rng.normal(0, 1, 12)
    part = exceeds(list(a - b))
    assert part.holds == pytest.approx(stats.ttest_rel(a, b, alternative="greater").pvalue)
    assert part.fails == pytest.approx(stats.ttest_rel(a, b, alternative="less").pvalue)


def test_equal_differences_decide_by_their_sign():
    assert exceeds([0.5, 0.5]) == (0, 1) and exceeds([-0.5] * 3) == (1, 0)
    assert exceeds([0.0, 0.0]) == (1, 1) == UNKNOWN == exceeds([3.0])


def test_majority_is_a_sign_test():
    part = majority(9, 1)
    assert part.holds == pytest.approx(stats.binomtest(9, 10, alternative="greater").pvalue)
    assert part.fails == pytest.approx(stats.binomtest(9, 10, alternative="less").pvalue)
    assert majority(0, 0) == UNKNOWN


def test_verdicts():
    assert verdict(certain(True)) == "confirmed" and verdict(certain(False)) == "contradicted"
    assert verdict(Part(0.3, 0.7)) == "undecided"
    yes, no, open_ = Part(0.001, 0.999), Part(0.999, 0.001), Part(0.5, 0.5)
    assert verdict(all_of([yes, yes])) == "confirmed" == verdict(any_of([no, open_, yes]))
    assert verdict(all_of([yes, no, open_])) == "contradicted" == verdict(any_of([no, no]))
    assert verdict(all_of([yes, open_])) == "undecided" == verdict(any_of([no, open_]))
    # Bonferroni: twenty chances to be contradicted by accident are not one.
    assert verdict(all_of([Part(0.98, 0.02)])) == "contradicted"
    assert verdict(all_of([Part(0.98, 0.02)] * 20)) == "undecided"


@pytest.mark.parametrize("parts", [1, 6])
def test_wrong_verdicts_are_rare(parts):
    """True differences of 0: neither confirmed nor contradicted but for 2.5 % each."""
    rng = np.random.default_rng(0)
    verdicts = [
        verdict(all_of(exceeds(d) for d in rng.normal(size=(parts, 10)).tolist()))
        for _ in range(1500)
    ]
    slack = 3 * (LEVEL / 1500) ** 0.5
    assert verdicts.count("confirmed") / 1500 < LEVEL + slack
    assert verdicts.count("contradicted") / 1500 < LEVEL + slack
    # The negative control: without a test, means alone contradict most of the time.
    by_means = [(rng.normal(size=(parts, 10)).mean(axis=1) < 0).any() for _ in range(1500)]
    assert np.mean(by_means) > 0.4


def test_equivalence_at_the_margin_is_rarely_confirmed():
    rng = np.random.default_rng(1)

    def share(mean, word):
        d = rng.normal(mean, 0.5, size=(1000, 10)).tolist()
        return np.mean([verdict(equivalent(row, 1.0)) == word for row in d])

    assert share(1.0, "confirmed") < LEVEL + 0.015 and share(1.0, "contradicted") < LEVEL + 0.015
    assert share(0.0, "confirmed") > 0.95 and share(2.0, "contradicted") > 0.95
