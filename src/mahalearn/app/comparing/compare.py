"""A comparison, from a problem to plain values: rank the methods, fit the winner, look at it.

>>> from mahalearn.app.comparing.compare import conclude, fit_winner, rank
>>> from mahalearn.app.comparing.plan import Plan
>>> from mahalearn.app.reading.read import builtin_problem
>>> ranked = rank(builtin_problem("iris"), ["lda"], Plan(folds=2, repeats=1))
>>> winner = fit_winner(ranked)
>>> values = conclude(ranked, winner)
>>> values["winner"]["title"]
'LDA (reference)'
"""

from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from ...proximity.diagnosis import equal_distances
from ...results import versions
from ..reading.problem import SMALLEST_CLASS, Note, Problem
from .cells import Outcome, with_best_measure
from .crossval import cross_validate
from .explanations import SECONDS, explain
from .findings import count_errors, findings
from .methods import QUICK, QUICK_KERNELS, select_methods
from .plan import decide
from .progress import Progress, fingerprint
from .ranking import leaderboard
from .winner import Refitted, refit

# Larger tables are ranked on a stratified sample of SAMPLE rows.
LARGE, SAMPLE = 5000, 4000


class Silent:
    """Who is told how far a comparison is. This one keeps it to itself."""

    def notes(self, notes):
        """Sentences on what was decided."""

    def resumed(self, folds):
        """How many finished folds of an earlier run are taken over."""

    def state(self, state):
        """How far the cross-validation is, a State of :mod:`.crossval`."""

    def working(self, what):
        """A context within which something takes its time."""
        return nullcontext()


class Ranked(NamedTuple):
    """The methods, ranked by their errors on held-out objects."""

    problem: Problem
    outcome: Outcome
    board: list

    @property
    def winner(self):
        """Name of the best method."""
        return self.board[0]["name"]


class Winner(NamedTuple):
    """The best method, fitted."""

    problem: Problem  # with the one measure that suits the method best
    refitted: Refitted
    about: dict  # what its file says about itself


def sampled(problem, size, seed):
    """A stratified sample of a large table, with a note that says so; else the problem itself.

    Of a matrix or of objects, which take the memory of all pairs anyway, only if a size is named.
    """
    problem.check_classes()
    table = problem.kind == "vectors"
    size = size or (SAMPLE if table and size is None and len(problem) > LARGE else len(problem))
    if size >= len(problem):
        return problem
    rng, rows = np.random.default_rng(seed), []
    for label, n in problem.counts.items():
        members = np.flatnonzero(problem.y == label)
        wanted = min(n, max(SMALLEST_CLASS, round(size * n / len(problem))))
        rows.append(rng.choice(members, wanted, replace=False))
    chosen = np.sort(np.concatenate(rows))
    part = problem.take(chosen)
    part.population = {str(label): n for label, n in problem.counts.items()}
    if problem.kind == "proximity" and part.names is None:  # which of them predict asks for
        part.names = [str(i + 1) for i in chosen]
    rest = "; the winner is fitted on all rows if it can be fitted on so many in a short time"
    part.notes.append(
        Note(
            f"The methods were compared on a stratified sample of {len(part)} of "
            f"{len(problem)} {'rows' + rest if table else 'objects'}.",
            "sample",
        )
    )
    return part


def quick_methods(problem):
    """Names of the methods that are quick on a problem, None (for all) if none is."""
    chosen, _ = select_methods(None, problem.kind, problem.proximity, len(problem))
    most = QUICK if problem.kind == "vectors" else QUICK_KERNELS
    return [m.name for m in chosen if m.cost <= most] or None


def rank(problem, wanted, plan, *, jobs=1, time_budget=None, progress=None, listener=None):
    """Cross-validate methods and rank them.

    Parameters
    ----------
    problem : Problem
        What to classify; gets notes on what was decided.
    wanted : list of str or None
        Names of methods; all that fit if None.
    plan : Plan
        Folds, seed, and the error that decides.
    jobs, time_budget
        See :func:`~mahalearn.app.comparing.crossval.cross_validate`.
    progress : path or None
        File that keeps finished folds; those of an earlier run of the same are taken over. The
        caller removes it once the results are saved.
    listener : Silent or None
        Who is told how far it is.

    Returns
    -------
    ranked : Ranked
    """
    listener, finished, keep = listener or Silent(), None, None
    if progress is not None:
        saved = Progress(progress, fingerprint(problem, plan, time_budget is not None))
        finished, keep = saved.cells(), saved.add
        if finished:
            listener.resumed(len(finished))
    problem.check_classes()
    chosen, fitting, notes = decide(problem, wanted, plan)
    problem.notes += notes
    if problem.kind == "objects" and problem.proximity == "dissimilarity":
        with listener.working("Comparing all objects"):
            matrix = problem.matrix()  # kept for the folds
        problem.notes += _equal_distances(problem, matrix)
    listener.notes(problem.notes)
    outcome = cross_validate(
        problem,
        chosen,
        fitting,
        jobs=jobs,
        time_budget=time_budget,
        tell=listener.state,
        finished=finished,
        keep=keep,
        say=listener.notes,
    )
    listener.notes(outcome.notes)
    return Ranked(problem, outcome, leaderboard(outcome))


def _equal_distances(problem, matrix):
    """Sentences on measures by which all objects are equally far from each other."""
    if problem.alternatives is not None:
        for place, name in enumerate(problem.alternatives):
            if equal := equal_distances(matrix[..., place]):
                yield f"{name}: {equal}"
    elif matrix is not None and (equal := equal_distances(matrix)):
        yield equal


def fit_winner(ranked, *, full_problem=None, command=None):
    """Fit the best method on all objects, with parameters chosen on them.

    Parameters
    ----------
    ranked : Ranked
        Of :func:`rank`.
    full_problem : Problem or None
        The problem of which the ranked one is a sample, if the classifier is to be fitted on it.
    command : str or None
        What made it.

    Returns
    -------
    winner : Winner
    """
    problem = with_best_measure(ranked.problem, ranked.outcome.plan, ranked.winner)
    refitted = refit(problem, ranked.outcome, ranked.winner, full_problem)
    return Winner(problem, refitted, describe(problem, ranked, refitted, command))


def describe(problem, ranked, refitted, command=None):
    """The description that a model file carries."""
    row = ranked.board[0]
    return {
        "kind": problem.kind,
        "data": problem.name,
        "method": row["name"],
        "title": row["title"],
        "target": problem.target,
        "features": problem.features(),
        "classes": [str(label) for label in np.unique(problem.y)],
        "label_type": problem.label_type,
        "proximity": problem.proximity,
        "measure": problem.measure_name,
        "objects": problem.names if problem.kind == "proximity" else None,
        "series": problem.series,
        "training": {
            "objects": len(problem),
            "counts": {str(k): n for k, n in problem.counts.items()},
            "groups": None if problem.groups is None else len(set(problem.groups)),
            "error": row["error"],
            "balanced_error": row["balanced"],
            "folds": len(ranked.outcome.splits),
            "parameters": refitted.params,
            "seed": ranked.outcome.plan.seed,
        },
        "distances": refitted.distance_method,
        "command": command,
        "versions": versions(),
    }


def conclude(ranked, winner, seconds=SECONDS):
    """Everything the report shows, as plain values.

    Parameters
    ----------
    ranked : Ranked
        Of :func:`rank`.
    winner : Winner
        Of :func:`fit_winner`.
    seconds : float
        How long the importance of the columns may take, and the learning curve: each of the two.

    Returns
    -------
    found : dict
        See :func:`~mahalearn.app.comparing.findings.findings`.
    """
    problem, refitted, _ = winner
    held = ranked.outcome.held_out(ranked.winner, problem.y)
    proba = softmax(held.scores / refitted.model.temperature, axis=1)
    errors = count_errors(held, proba)
    explained = explain(problem, ranked.outcome, refitted, ranked.winner, errors.order, seconds)
    return findings(ranked, winner, held, proba, errors, explained)
