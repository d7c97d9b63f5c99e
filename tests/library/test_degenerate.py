"""A tenth of the campaign of random degenerate problems (``python -m benchmarks.degenerate``)."""

import numpy as np
import pytest
from benchmarks.degenerate import FINE, REFUSED, foreign, outcome, problem, run, table

BLOCK = 500


@pytest.mark.parametrize("block", range(4))
def test_degenerate_problems_give_finite_predictions_or_a_sentence(block):
    outcomes = run(range(block * BLOCK, (block + 1) * BLOCK), seed=0)
    kinds = {kind for kind, _ in outcomes.values()}
    assert kinds <= {FINE, REFUSED}, "\n".join(["", *table(outcomes)])
    # A campaign of refusals would find nothing.
    assert sum(kind == FINE for kind, _ in outcomes.values()) > BLOCK / 2


@pytest.mark.full
@pytest.mark.parametrize("block", range(40))
def test_the_whole_campaign(block):
    outcomes = run(range(block * BLOCK, (block + 1) * BLOCK), seed=0)
    assert {kind for kind, _ in outcomes.values()} <= {FINE, REFUSED}, "\n".join(table(outcomes))


def test_a_problem_is_the_same_for_the_same_numbers():
    for index in range(20):
        (first, _, X, y, _), (second, _, X2, y2, _) = problem(3, index), problem(3, index)
        assert first == second
        assert np.array_equal(X, X2)
        assert np.array_equal(y, y2)
    assert outcome(3, 0) == outcome(3, 0)


def test_what_counts_as_foreign():
    from mahalearn import KernelQuadraticDiscriminant

    def caught(function):
        try:
            function()
        except Exception as error:
            return error
        raise AssertionError("nothing was raised")

    assert foreign(caught(lambda: np.linalg.inv(np.zeros((2, 2)))))
    assert foreign(caught(lambda: np.zeros(2) @ np.zeros(3)))
    assert foreign(caught(lambda: 1 / 0))
    model = KernelQuadraticDiscriminant(reg=-1.0)
    assert not foreign(caught(lambda: model.fit(np.eye(4), [0, 0, 1, 1])))
