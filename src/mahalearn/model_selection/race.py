"""The search of an ensemble: the candidates of all families race on shared kernels and folds.

A pilot scores candidates on a part of the objects and a few splits. What it finds best is scored
on all objects and splits, and of that each member's best candidate is taken. Candidates of
all families go through one loop (`evaluation.score_candidates`), so that those with one kernel
share its matrix, its class distances and its decompositions.
"""

import time
import warnings
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import ParameterGrid

from .._progress import with_bar
from .._sparse import is_sparse
from ..classifiers.svm import MahalanobisSVC
from ..formulas.calibration import fit_temperature
from ..formulas.offsets import settled, settling_step
from . import grid
from .evaluation import Trial, frozen, grouped, score_candidates, with_params
from .families import FAMILIES, family_grid
from .member_data import LONG_SECONDS
from .splits import tables_metrics

# The pilot: this share of the objects, but at least so many and at most so many, and so many splits
# (docs/chooser.md says how these were set). A budget of less than so many seconds makes it smaller.
PILOT_SHARE, PILOT_LEAST, PILOT_MOST, PILOT_SPLITS = 0.4, 400, 800, 2
PILOT_SECONDS = 20.0
# Beyond so many objects members are fitted at landmarks: with all, a fit takes more than 80 s.
EXACT_OBJECTS = 2000
# Values of a path above the pilot's best one that the final has at landmarks.
LANDMARK_STEPS = 2
# At landmarks the final has as many of the folds as hold out so many objects.
HELD_OUT_OBJECTS = 3000
# So many families remain within any budget of time.
LEAST_FAMILIES = 3
# Of each class as many objects are in the pilot, if it has them.
PILOT_CLASS = 10
# Kernels (or other parameters beside the path) of a member that reach the final; at landmarks,
# where the pilot has a small part of the objects, those of a member with the first kernel by name.
FINAL_CELLS, LANDMARK_CELLS = 2, 3
# The SVM's C with a further kernel, where machines are the costliest members.
FEWER_CS = (1.0, 10.0, 100.0)
# Candidates whose metrics are computed at once.
BATCH = 16
# Mean scores that differ by less are equal: the first candidate is taken.
TIE = 1e-10
# Candidates of an ensemble are compared by log loss plus so many times the error: with many classes
# of a dozen objects the log loss after one temperature prefers inaccurate ones (docs/chooser.md).
ERROR_SHARE = 3.0
# A foreign family that is so far behind the best in the pilot does not reach the final.
FAR_BEHIND = 0.3
# The note of a family that sparse rows leave out.
NEEDS_DENSE = "left out: it needs dense columns, and the rows are sparse"
BEHIND = "left out: it is far behind in the first round of the search"
# Parameters that choose a kernel.
_KERNEL = ("kernel", "gamma", "degree", "delta", "metric")


class Candidate(NamedTuple):
    """A candidate of a member; cell: key of its kernel; path: key of all but the path's value."""

    member: str
    params: dict
    estimator: Any
    cell: tuple
    path: tuple

    def takes_part(self, at_landmarks):
        """False for a family that cannot use landmarks, where there are too many objects."""
        family = family_of(self.estimator)
        return not at_landmarks or family.at_landmarks or family.growth == 1


class Best(NamedTuple):
    """The best candidate of a member: an unfitted estimator and the parameters searched.

    fold_scores (f,): its score in each fold; temperature: what its scores are divided by; held_out
    (m, c): its scores of the held-out objects of all splits, one split after the other.
    """

    estimator: Any
    params: dict
    fold_scores: np.ndarray
    temperature: float
    held_out: np.ndarray


@dataclass
class Result:
    """The outcome of a race for one member.

    best: a Best, None where it failed; n_candidates: those of its grid; n_finalists:
    scored on all objects; seconds: its share of the time; note: why there is none.
    """

    best: Best | None = None
    n_candidates: int = 0
    n_finalists: int = 0
    seconds: float = 0.0
    note: str = ""


# --- candidates -----------------------------------------------------------------------------------


def member_candidates(member, data, spectrum, n_train):
    """The candidates of a member, the preferred ones first.

    n_train: size of the smallest training part.
    """
    family = FAMILIES[member.family]
    if family.needs_vectors:
        estimator, grids = _on_vectors(member.family, data)
    else:
        estimator, grids = _on_kernels(member, data, spectrum, n_train)
    candidates = []
    for params in ParameterGrid(grids):
        cell = tuple(sorted((k, frozen(v)) for k, v in params.items() if k in _KERNEL))
        path = tuple(sorted((k, frozen(v)) for k, v in params.items() if k != family.axis))
        candidates.append(Candidate(member.name, params, estimator, cell, path))
    return candidates


def _on_vectors(name, data):
    """The estimator of a family that needs vectors, and its grid."""
    if name == "mahalanobis_svm":
        values = {"C": list(grid.CS), "delta": list(grid.DELTAS)}
        return MahalanobisSVC(covariance_from="all"), values
    estimator = FAMILIES[name].estimator()
    candidates = grid.default_candidates(estimator)
    # Ledoit and Wolf's formula has no weights, and needs all rows.
    if data.weights is not None or not data.has_rows:
        candidates = [params for params in candidates if params.get("shrinkage") != "auto"]
    return estimator, grid.as_param_grid(candidates)


def _on_kernels(member, data, spectrum, n_train):
    """The estimator of a family on kernels, and its grid."""
    family = FAMILIES[member.family]
    flips = family.flips and spectrum == "krein"
    fixed = {"spectrum": "flip" if flips else spectrum, "standardize": False}
    settings = data.kernel_settings(member.kernel, family.bounded, member.first)
    if "kernel" not in settings[0]:
        fixed["kernel"] = member.kernel or data.kernel
    # Distances RC need k(x, x) of the query itself; those of FK do not.
    if member.family == "dissimilarity_space" and not data.knows_queries:
        fixed["variant"] = "FK+"
    values = None
    if member.family == "svm":  # C is measured in the kernel's scale
        scale = 1.0 if data.spread is None else data.spread
        values = [C / scale for C in (grid.CS if member.first else FEWER_CS)]
    estimator = family.estimator(**fixed)
    return estimator, family_grid(estimator, settings, family.groups, values, n_train)


# --- scores ---------------------------------------------------------------------------------------


def score(candidates, data, splits, rules):
    """(position, Scored with metrics) of candidates on the splits of data, as they come."""
    trials = [
        Trial(i, c.params, with_params(c.estimator, c.params)) for i, c in enumerate(candidates)
    ]
    objects = data.objects(splits)
    weighted = []
    if data.weights is not None:
        weighted = [t for t in trials if family_of(t.estimator).weighted]
    among = {trial.position for trial in weighted}
    runs = [
        ([t for t in trials if t.position not in among], objects),
        (weighted, objects._replace(fit_params={"sample_weight": data.weights})),
    ]
    truth = np.concatenate([objects.y[test] for _, test in splits])
    starts = np.cumsum([0] + [len(test) for _, test in splits])
    arriving = (
        one for part, of in runs if part for one in score_candidates(part, of, rules.n_jobs)
    )
    arriving = iter(with_bar(arriving, len(trials), "candidates") if rules.show else arriving)
    while batch := list(islice(arriving, BATCH)):
        tables = [one for one in batch if one.error is None]
        metrics = iter(_metrics(tables, truth, starts, objects.classes, rules.scoring))
        for one in batch:
            if one.error is None:
                one = one._replace(metrics=next(metrics))
                if not np.isfinite(one.metrics).all():
                    one = one._replace(error=ValueError("the score is not defined on every fold"))
            yield one.position, one


def _metrics(scored, truth, starts, classes, scoring):
    """Scores (r, f) of the folds; "ensemble": minus log loss and a share of the error."""
    if not scored:
        return []
    scores, rounding = np.stack([s.scores for s in scored]), np.stack([s.rounding for s in scored])

    def metrics(scoring):
        return tables_metrics(scores, truth, starts, classes, scoring, rounding)

    if scoring != "ensemble":
        return metrics(scoring)
    return metrics("neg_log_loss") + ERROR_SHARE * metrics(None)


# --- the race -------------------------------------------------------------------------------------


class Rules(NamedTuple):
    """How a race is run.

    scoring: what is maximised, "ensemble" for members of one; effort: "fast", or "best" for all
    candidates on all objects; time_budget: seconds, or None; n_folds: of the final, None for all.
    """

    scoring: Any = "ensemble"
    effort: str = "fast"
    time_budget: float | None = None
    n_jobs: int | None = None
    show: bool = False
    n_folds: int | None = None


def fitted_at_landmarks(data, effort):
    """True where members are fitted at landmarks: not all pairs of that many objects are used."""
    many = data.takes_landmarks and len(data.y) > EXACT_OBJECTS
    return data.at_landmarks or (many and effort == "fast")


def enough_folds(splits):
    """The first folds that together hold out enough objects to compare and calibrate members."""
    held_out = np.cumsum([len(test) for _, test in splits])
    return splits[: int(np.searchsorted(held_out, HELD_OUT_OBJECTS)) + 1]


def race(members, data, splits, spectrum, rules):
    """{member: Result} of the best candidates of Members."""
    start = time.monotonic()
    results = {m.name: Result() for m in members}
    if is_sparse(data.X):
        for m in (m for m in members if FAMILIES[m.family].needs_vectors):
            results[m.name].note = NEEDS_DENSE
        members = [m for m in members if not FAMILIES[m.family].needs_vectors]
    part, part_splits = pilot_part(data, splits, rules.time_budget)
    splits = splits[: rules.n_folds]
    n_train = min(len(train) for train, _ in part_splits)

    def candidates_of(some):
        return [c for m in members for c in member_candidates(m, some, spectrum, n_train)]

    at_landmarks = fitted_at_landmarks(data, rules.effort)
    candidates = candidates_of(data)
    for member, count in Counter(c.member for c in candidates).items():
        results[member].n_candidates = count
    if rules.effort == "fast" or rules.time_budget is not None or at_landmarks:
        first = candidates_of(part)
        means, seconds = _pilot(first, part, part_splits, rules, results, at_landmarks)
        chosen = finalists(first, means, rules.effort, at_landmarks)
        for member in {c.member for c in first} - {first[i].member for i in chosen}:
            results[member].note = results[member].note or BEHIND
        growth = _growth(part, part_splits, data, splits)
        expected = expected_seconds(first, chosen, seconds, growth, at_landmarks)
        entering = _entering(results, expected, rules.time_budget, start, data)
        candidates = [candidates[i] for i in chosen if candidates[i].member in entering]
    if at_landmarks:
        candidates = [_at_landmarks(c, data) for c in candidates]
    return _final(candidates, data, splits, rules, results)


def _pilot(candidates, data, splits, rules, results, at_landmarks):
    """Mean scores (k,) as `finalists` takes them, and seconds (k,), of candidates in a pilot."""
    tried = pilot_candidates(candidates, at_landmarks)
    means, seconds = np.full(len(candidates), np.nan), np.zeros(len(candidates))
    for k, one in score([candidates[i] for i in tried], data, splits, rules):
        i = tried[k]
        _record(results, candidates[i].member, one)
        seconds[i] = one.seconds
        means[i] = -np.inf if one.error is not None else one.metrics.mean()
    for path in _paths(candidates):  # a value that was not tried takes as long as its neighbours
        seconds[path] = seconds[path].sum() / np.maximum(1, np.isfinite(means[path]).sum())
    return means, seconds


def _record(results, member, one):
    """Add the seconds of a Scored to a member's Result, and its first error."""
    results[member].seconds += one.seconds
    if one.error is not None:
        results[member].note = results[member].note or f"failed: {one.error}"


def _entering(results, expected, time_budget, start, data):
    """Members of the final; the others get a note, and a long final is announced."""
    left_out = too_long(expected, time_budget, time.monotonic() - start)
    for member, result in results.items():
        if member in left_out:
            result.note = f"left out by the time budget: about {expected[member]:.2g} s"
        elif member not in expected:
            result.note = (
                result.note or f"left out: it cannot use landmarks, {_why_landmarks(data)}"
            )
    remaining = sum(seconds for member, seconds in expected.items() if member not in left_out)
    if remaining > LONG_SECONDS:
        warnings.warn(
            f"The search is expected to take about {remaining:.0f} s more; time_budget= limits it.",
            UserWarning,
            stacklevel=5,
        )
    return set(expected) - left_out


def _why_landmarks(data):
    if not data.has_rows:
        return "which batches need"
    return f"and {len(data.y)} objects take it too long; effort='best' uses them all"


def _final(candidates, data, splits, rules, results):
    """The Results with the best candidate of each member on all objects and splits."""
    best: dict = {}
    for i, one in score(candidates, data, splits, rules):
        member = candidates[i].member
        _record(results, member, one)
        if one.error is None and _is_better(best.get(member), one):
            best[member] = one
    truth = np.concatenate([data.codes[test] for _, test in splits])
    for member, group in ((g[0].member, g) for g in grouped(candidates, lambda c: c.member)):
        results[member].n_finalists = len(group)
        if member in best:
            results[member].best = _best_of(group[0].estimator, best[member], truth)
            results[member].note = ""
    return results


def _growth(part, part_splits, data, splits):
    """Ratios of the training sizes of two searches, of their objects, and of their splits."""
    sizes = [np.mean([len(train) for train, _ in each]) for each in (splits, part_splits)]
    return sizes[0] / sizes[1], len(data.y) / len(part.y), len(splits) / len(part_splits)


def expected_seconds(candidates, chosen, seconds, growth, at_landmarks):
    """{member: seconds} that the final is expected to take, from those (k,) of the pilot.

    growth: as `_growth` gives it. Members that cannot take part are missing.
    """
    larger, objects, splits = growth
    expected: dict = {}
    for i in chosen:
        if not candidates[i].takes_part(at_landmarks):
            continue
        power = family_of(candidates[i].estimator).growth
        factor = splits * (objects if at_landmarks else larger**power)
        member = candidates[i].member
        expected[member] = expected.get(member, 0.0) + seconds[i] * factor
    return expected


def too_long(expected, time_budget, spent):
    """Members that a budget of time leaves out: those that take longest.

    The cheapest members of LEAST_FAMILIES families always remain.
    """
    if time_budget is None:
        return set()
    order = sorted(expected, key=lambda member: expected[member])
    total = spent + np.cumsum([expected[member] for member in order])
    left_out, families = set(), set()
    for member, until in zip(order, total, strict=True):
        family = member.split("/")[0]
        if until > time_budget and (len(families) >= LEAST_FAMILIES or family in families):
            left_out.add(member)
        families.add(family)
    return left_out


def family_of(estimator):
    """The Family of an estimator."""
    return next(f for f in FAMILIES.values() if type(estimator) is f.estimator)


def _at_landmarks(candidate, data):
    """A candidate whose estimator has landmarks, where its time grows with more than the data."""
    if family_of(candidate.estimator).growth == 1:
        return candidate
    estimator, params = data.with_landmarks(candidate.estimator, candidate.params)
    return candidate._replace(estimator=estimator, params=params)


def _is_better(leader, one):
    """True if a candidate comes before the best so far; of equal ones the preferred comes first."""
    if leader is None:
        return True
    ahead = one.metrics.mean() - leader.metrics.mean()
    return ahead > TIE or (ahead >= -TIE and one.position < leader.position)


def _best_of(estimator, one, truth):
    held_out = settled(one.scores, settling_step(one.scores, one.rounding))
    model, temperature = with_params(estimator, one.params), fit_temperature(one.scores, truth)
    return Best(model, one.params, one.metrics, temperature, held_out)


def _paths(candidates):
    """Positions of the candidates that differ in the path's value alone, a list for each path."""
    return grouped(range(len(candidates)), lambda i: (candidates[i].member, candidates[i].path))


def pilot_candidates(candidates, at_landmarks=False):
    """Positions of the candidates that a pilot tries: every second value of each path.

    At landmarks only those that can take part in the final.
    """
    paths = [path for path in _paths(candidates) if candidates[path[0]].takes_part(at_landmarks)]
    return sorted(i for path in paths for i in path[::2])


def finalists(candidates, means, effort="fast", at_landmarks=False):
    """Positions of the candidates that a pilot leaves: the larger the mean score, the better.

    means (k,): NaN where the pilot has not tried a candidate, −inf where it failed. Of each member
    the FINAL_CELLS best kernels, and for each of them the best candidate with its neighbours on the
    path; a family whose time grows no faster than the data keeps all. At landmarks LANDMARK_CELLS
    kernels, and more values above: there regularisation grows with the data. A foreign family has
    none where it is far behind, except at landmarks, where the pilot has a small part of the
    objects.
    """
    chosen = []
    scores = np.where(np.isnan(means), -np.inf, means)
    for group in grouped(range(len(candidates)), lambda i: candidates[i].member):
        family = family_of(candidates[group[0]].estimator)
        if effort == "best":
            chosen += group
            continue
        behind = scores[group].max() < scores.max() - FAR_BEHIND
        if family.foreign and behind and not at_landmarks:
            continue
        if family.growth == 1:
            chosen += group
            continue
        cells = grouped(group, lambda i: candidates[i].cell)
        leaders = [cell[int(np.argmax(scores[cell]))] for cell in cells]
        leaders = sorted(leaders, key=lambda i: -scores[i])
        first = candidates[group[0]]
        n_cells = FINAL_CELLS
        if at_landmarks:  # measures of objects cost more than models
            n_cells = 1 if "/" in first.member or "kernel" in first.params else LANDMARK_CELLS
        for leader in leaders[:n_cells]:
            path = [i for i in group if candidates[i].path == candidates[leader].path]
            place = path.index(leader)
            above = LANDMARK_STEPS if at_landmarks else 1  # a path is listed in descending order
            around = path[max(0, place - above) : place + 2]
            chosen += [i for i in around if not np.isneginf(means[i])]
    return sorted(chosen)


def pilot_part(data, splits, time_budget=None):
    """A part of the objects and of the splits, restricted to it."""
    n, n_classes = len(data.y), int(data.codes.max()) + 1
    size = np.clip(PILOT_SHARE * n, PILOT_LEAST, PILOT_MOST)
    if time_budget is not None:
        size *= min(1.0, np.cbrt(time_budget / PILOT_SECONDS))
    size = min(max(int(size), 5 * n_classes, 50), n)
    rows = np.sort(sample_order(data.codes)[:size])
    position = np.full(n, -1)
    position[rows] = np.arange(size)
    codes = data.codes[rows]
    usable = []
    for split in merged_splits(splits, n):
        train, test = (position[side][position[side] >= 0] for side in split)
        # A part of the objects may leave a split nothing to learn from or to test.
        if len(test) and len(np.unique(codes[train])) > 1:
            usable.append((train, test))
    if not usable:
        return data, splits[:PILOT_SPLITS]
    return data if size == n else data.part(rows), usable[:PILOT_SPLITS]


def merged_splits(splits, n):
    """Fewer splits of n objects: the test parts of several are one, at least n/2 objects train.

    An object that one of the splits tests is in no training part of the merged one: what a splitter
    keeps apart (groups, times) stays apart.
    """
    merged: list = []
    for split in splits:
        trained, tested = (np.bincount(part, minlength=n) > 0 for part in split)
        if merged and 2 * np.sum(merged[-1][0] & trained) >= n:
            merged[-1] = merged[-1][0] & trained, merged[-1][1] | tested
        else:
            merged.append((trained, tested))
    return [(np.flatnonzero(trained), np.flatnonzero(tested)) for trained, tested in merged]


def sample_order(codes):
    """Rows in an order whose beginnings are small copies of the whole.

    A few objects of each class come first, since splits of a class's single object would leave none
    to train on.
    """
    counts = np.bincount(codes)
    drawn = np.random.default_rng(0).permutation(len(codes))
    place = np.empty(len(codes))
    for j, count in enumerate(counts):
        place[drawn[codes[drawn] == j]] = np.arange(count)
    few = max(1, min(PILOT_CLASS, PILOT_LEAST // 2 // len(counts)))
    return np.argsort(np.where(place < few, 0, place / counts[codes]), kind="stable")
