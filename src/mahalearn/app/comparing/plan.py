"""How a comparison is made: the folds, and what the methods know about the problem."""

from dataclasses import dataclass, replace

import numpy as np
from sklearn.model_selection import (
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
)

from ...results import error_rates
from ..reading.problem import DataError, listed
from ..words import counted
from .methods import (
    CLASSWISE,
    EXACT,
    LANDMARKS,
    WHOLE,
    WIDE,
    WITH_LANDMARKS,
    ProblemFacts,
    encoded_width,
    select_methods,
)

# Parameters are chosen by three folds of each training part: a comparison makes that choice for
# every method on every outer fold. For the model that is saved it is made once, by five.
FOLDS, REPEATS, INNER_FOLDS, FINAL_FOLDS = 5, 2, 3, 5
# Fewer outer folds say next to nothing of a method's error.
FEWEST = 2


@dataclass(frozen=True)
class Plan:
    """How a comparison is made.

    Attributes
    ----------
    folds, repeats, inner_folds : int
        Outer folds, how often they are drawn anew, and the folds within a training part.
    seed : int
        Of all folds and of methods that draw.
    by : {"plain", "balanced"}
        Which error decides, in the choice of parameters and of the winner.
    """

    folds: int = FOLDS
    repeats: int = REPEATS
    inner_folds: int = INNER_FOLDS
    seed: int = 0
    by: str = "plain"

    @property
    def scoring(self):
        """scikit-learn's name of what a search maximises."""
        return "accuracy" if self.by == "plain" else "balanced_accuracy"

    def error(self, truth, predicted):
        """The error that decides."""
        return error_rates(truth, predicted)[self.by == "balanced"]


def fit_plan(problem, plan):
    """The plan with no more folds than the smallest class has objects, or groups of them."""
    smallest = min(problem.counts.values())
    if problem.groups is not None:
        groups = {label: len(set(problem.groups[problem.y == label])) for label in problem.counts}
        label, smallest = min(groups.items(), key=lambda item: item[1])
        if smallest < 3:
            raise DataError(
                f"The class {label!r} occurs in {counted(smallest, 'group')} only; to test on one "
                "and choose parameters on others it must occur in three at least.",
                "groups",
            )
    folds = min(plan.folds, smallest)
    rest = smallest - -(-smallest // folds)  # of the smallest class, in a training part
    return replace(plan, folds=folds, inner_folds=max(2, min(plan.inner_folds, rest)))


def outer_splits(problem, plan):
    """Training and test part of each outer fold; objects of one group stay together."""
    dummy = np.zeros(len(problem))
    if problem.groups is None:
        splitter = RepeatedStratifiedKFold(
            n_splits=plan.folds, n_repeats=plan.repeats, random_state=plan.seed
        )
        return list(splitter.split(dummy, problem.y))
    splits = [
        split
        for repeat in range(plan.repeats)
        for split in _group_folds(plan.folds, plan.seed + repeat).split(
            dummy, problem.y, problem.groups
        )
    ]
    splits = [(train, test) for train, test in splits if _complete(problem.y, train) and len(test)]
    if len(splits) < FEWEST:
        raise DataError(
            "The groups cannot be divided into folds that leave objects of every class to train "
            "on; use fewer folds, or smaller groups.",
            "groups",
        )
    return splits


def _group_folds(folds, seed):
    return StratifiedGroupKFold(folds, shuffle=True, random_state=seed % 2**32)


def _complete(y, train):
    return len(np.unique(y[train])) == len(np.unique(y))


def inner_folds(problem, plan, rows=None):
    """Folds of a training part, by which methods choose their parameters.

    Parameters
    ----------
    problem : Problem
        What to classify.
    plan : Plan
        Number of folds and seed.
    rows : ndarray or None
        Objects of the training part; all if None.

    Returns
    -------
    folds : splitter or list of tuple
        What scikit-learn takes as ``cv``.
    """
    if problem.groups is None:
        return StratifiedKFold(plan.inner_folds, shuffle=True, random_state=plan.seed)
    rows = np.arange(len(problem)) if rows is None else rows
    y, folds = problem.y[rows], _group_folds(plan.inner_folds, plan.seed)
    splits = folds.split(np.zeros(len(rows)), y, problem.groups[rows])
    splits = [(train, test) for train, test in splits if _complete(y, train) and len(test)]
    if not splits:
        raise ValueError("the groups of its training part cannot be divided into folds")
    return splits


def landmarks_for(problem):
    """Landmarks of the kernel discriminants, None where they compute with all objects."""
    return LANDMARKS if problem.kind == "vectors" and len(problem) > EXACT else None


def decide(problem, wanted, plan):
    """Which methods are compared, and by how many folds.

    Parameters
    ----------
    problem : Problem
        What to classify.
    wanted : list of str or None
        Names of methods; all that fit if None.
    plan : Plan
        As it was asked for.

    Returns
    -------
    methods : list of Method
    plan : Plan
        With no more folds than the classes allow.
    notes : list of str
        Sentences on what the size of the problem decides.
    """
    columns = problem.X.shape[1] if problem.kind == "vectors" else 0
    methods, notes = select_methods(wanted, problem.kind, problem.proximity, len(problem), columns)
    if columns > max(WIDE, len(problem)):
        notes.append(
            f"There are more columns ({columns}) than rows: methods that do not depend on the "
            "directions of single columns work in the space that the training rows span."
        )
    fitting = fit_plan(problem, plan)
    few = [method.name for method in methods if method.name in WITH_LANDMARKS]
    if few and (m := landmarks_for(problem)):
        notes.append(
            f"Kernel discriminants ({listed(few)}) use {m} landmarks instead of all objects."
        )
    if fitting.folds < plan.folds:
        smallest = counted(min(problem.counts.values()), "object")
        notes.append(
            f"The smallest class has {smallest}, so there are {fitting.folds} folds, not "
            f"{plan.folds}."
        )
    return methods, fitting, notes


def setting_for(problem, plan, time_budget=None):
    """The setting of the methods for a problem."""
    folds = inner_folds(problem, plan)
    kind = "vectors" if problem.kind == "vectors" else "proximity"
    return ProblemFacts(
        kind,
        problem.proximity,
        len(problem),
        encoded_width(problem),
        folds,
        plan.scoring,
        plan.seed,
        time_budget,
        WHOLE if _self_similarities_differ(problem) else CLASSWISE,
        landmarks_for(problem),
    )


def _self_similarities_differ(problem):
    if problem.kind != "proximity" or problem.proximity != "similarity":
        return False
    diagonal = problem.X.diagonal()
    return bool(np.ptp(diagonal) > 1e-10 * np.abs(diagonal).max())
