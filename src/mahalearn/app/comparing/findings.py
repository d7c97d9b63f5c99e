"""A comparison as plain values, for the report and for results.csv."""

from collections import Counter

import numpy as np
from scipy.special import softmax

from ...display import pair_rule
from ...formulas.gram import center_gram, centering, negative_fraction, signature
from ...formulas.linalg import eigh
from .crossval import Data
from .methods import METHODS
from .refit import flattened
from .statistics import corrected_interval, error_interval

MOST_HARD = 10
MOST_POINTS = 1500
SPECTRUM_OBJECTS = 2000
GRID = 60
BINS = 8
# Bins of probabilities that differ by less would hide each other.
NARROWEST = 0.01


def leaderboard(outcome):
    """Methods from the smallest error to the largest.

    Returns
    -------
    rows : list of dict
        With error, balanced (mean, low, high), difference to the first (mean, low, high) by the
        error that decides, tied (whether that interval holds 0), seconds and chosen parameters.
    """
    by = "error" if outcome.plan.by == "plain" else "balanced_error"
    other = "balanced_error" if by == "error" else "error"
    share = float(np.mean([len(test) / len(train) for train, test in outcome.splits]))
    values = {
        m.name: {
            kind: np.array([getattr(c, kind) for c in outcome.of(m.name)]) for kind in (by, other)
        }
        for m in outcome.methods
    }
    order = sorted(values, key=lambda n: (round(values[n][by].mean(), 10), values[n][other].mean()))
    best = values[order[0]][by]
    rows = []
    for name in order:
        cells = outcome.of(name)
        tested = sum(len(c.predicted) for c in cells)
        difference = corrected_interval(values[name][by] - best, share)
        rows.append(
            {
                "name": name,
                "title": METHODS[name].title,
                "ours": METHODS[name].ours,
                "error": error_interval(values[name]["error"], share),
                "balanced": error_interval(values[name]["balanced_error"], share),
                "difference": difference,
                "tied": bool(name == order[0] or difference[1] <= 0),
                "fit_seconds": float(np.mean([c.fit_seconds for c in cells])),
                "predict_ms": 1e6 * sum(c.predict_seconds for c in cells) / tested,
                "params": _usual_params(cells),
            }
        )
    return rows


def _usual_params(cells):
    """The parameters that were chosen most often, as text."""
    texts = Counter(
        ", ".join(
            f"{k} = {v:.3g}" if isinstance(v, float) else f"{k} = {v}" for k, v in c.params.items()
        )
        for c in cells
    )
    return texts.most_common(1)[0][0]


def table_rows(board, outcome):
    """Rows of results.csv: a line for each method."""
    names = ("error", "balanced", "difference")
    for rank, row in enumerate(board, 1):
        out = {"rank": rank, "method": row["name"], "title": row["title"]}
        for name in names:
            label = {"balanced": "balanced_error", "difference": "difference_to_best"}.get(
                name, name
            )
            out |= {
                label: round(row[name][0], 6),
                f"{label}_low": round(row[name][1], 6),
                f"{label}_high": round(row[name][2], 6),
            }
        out |= {
            "tied_with_best": row["tied"],
            "fit_seconds": round(row["fit_seconds"], 4),
            "predict_ms_per_1000": round(row["predict_ms"], 4),
            "folds": len(outcome.splits),
            "parameters": row["params"],
        }
        yield out


def findings(problem, outcome, refitted, board, about):
    """Everything the report shows, as plain values."""
    classes = np.unique(problem.y)
    winner = board[0]["name"]
    codes = np.searchsorted(classes, problem.y)
    truth, proba, who, predicted = _held_out(outcome, winner, classes, problem, refitted)
    found = {
        "about": about,
        "problem": {
            "name": problem.name,
            "kind": problem.kind,
            "n": len(problem),
            "d": problem.X.shape[1] if problem.kind == "vectors" else None,
            "target": problem.target,
            "proximity": problem.proximity,
            "measure": problem.measure,
            "counts": [(str(k), n) for k, n in problem.counts.items()],
        },
        "notes": [*problem.notes, *outcome.notes],
        "plan": vars(outcome.plan),
        "n_folds": len(outcome.splits),
        "seconds": outcome.seconds,
        "leaderboard": board,
        "winner": board[0],
        "chosen": refitted.params,
        "classes": [str(c) for c in classes],
        "confusion": _confusion(truth, predicted, len(classes)),
        "calibration": _calibration(truth, proba),
        "hardest": _hardest(problem, classes, truth, proba, who, predicted, refitted),
        "distances": _own_other(refitted.d2, codes),
        "space": _space(refitted, codes, classes, truth, predicted, problem.X),
        "distance_title": METHODS[refitted.distance_method].title,
        "spectrum": _spectrum(problem, refitted),
    }
    return found


def _held_out(outcome, winner, classes, problem, refitted):
    """Truth, probabilities, object numbers and predictions of all outer test parts, as codes."""
    cells = outcome.of(winner)
    who = np.concatenate([test for _, test in outcome.splits])
    truth = np.searchsorted(classes, problem.y[who])
    scores = np.vstack([cell.scores for cell in cells])
    proba = softmax(scores / refitted.model.temperature, axis=1)
    predicted = np.searchsorted(classes, np.concatenate([cell.predicted for cell in cells]))
    return truth, proba, who, predicted


def _confusion(truth, predicted, n):
    table = np.zeros((n, n), dtype=int)
    np.add.at(table, (truth, predicted), 1)
    return table.tolist()


def _calibration(truth, proba):
    """Bins of equal counts of the probability of the predicted class; equal ones are one bin."""
    top, right = proba.max(axis=1), proba.argmax(axis=1) == truth
    order = np.argsort(top, kind="stable")
    bins = []
    for part in np.array_split(order, min(BINS, max(1, len(order) // 10))):
        if bins and top[part].mean() - top[bins[-1]].mean() < NARROWEST:
            bins[-1] = np.append(bins[-1], part)  # one place, however many objects are there
        else:
            bins.append(part)
    own = np.maximum(proba[np.arange(len(truth)), truth], 1e-12)
    return {
        "bins": [
            {
                "predicted": float(top[part].mean()),
                "right": float(right[part].mean()),
                "count": len(part),
            }
            for part in bins
        ],
        "log_loss": float(-np.log(own).mean()),
        "brier": float(((proba - np.eye(proba.shape[1])[truth]) ** 2).sum(axis=1).mean()),
    }


def _hardest(problem, classes, truth, proba, who, predicted, refitted):
    """Objects that were misclassified most often, the surest errors first."""
    wrong, total, own = (np.zeros(len(problem)) for _ in range(3))
    np.add.at(wrong, who, truth != predicted)
    np.add.at(total, who, 1)
    np.add.at(own, who, proba[np.arange(len(truth)), truth])
    own = own / np.maximum(total, 1)
    order = np.lexsort([own, -wrong / np.maximum(total, 1)])
    as_far = others_as_far(refitted.d2, np.searchsorted(classes, problem.y))
    hardest = []
    for i in order[:MOST_HARD]:
        if not wrong[i]:
            break
        votes = Counter(predicted[(who == i) & (predicted != truth)].tolist())
        hardest.append(
            {
                "name": str(problem.names[i]) if problem.names else f"row {i + 1}",
                "class": str(problem.y[i]),
                "taken_for": str(classes[votes.most_common(1)[0][0]]),
                "wrong": int(wrong[i]),
                "times": int(total[i]),
                "own_probability": float(own[i]),
                "others_as_far": float(as_far[i]),
            }
        )
    return {"rows": hardest, "wrong_objects": int((wrong > 0).sum())}


def others_as_far(d2, codes):
    """Of each object: the share of the others of its class that are at least as far from it.

    All by held-out distances. It is 0 for the farthest, however small the class; 1 for an object
    that is alone in its class.
    """
    shares = np.ones(len(codes))
    for j in range(d2.shape[1]):
        own = d2[codes == j, j]
        if len(own) > 1:
            as_far = len(own) - np.searchsorted(np.sort(own), own, side="left")
            shares[codes == j] = (as_far - 1) / (len(own) - 1)
    return shares


def _own_other(d2, codes):
    """Distances to the own class and to the nearest other one, by class."""
    rows = np.arange(len(codes))
    own = d2[rows, codes]
    others = d2.copy()
    others[rows, codes] = np.inf
    other = others.min(axis=1)
    return [
        {"own": _roots(own[codes == j]), "other": _roots(other[codes == j])}
        for j in range(d2.shape[1])
    ]


def _roots(d2):
    """Distances; squared ones may be negative in a Kreĭn space, and keep their sign."""
    return np.round(np.sign(d2) * np.sqrt(np.abs(d2)), 5).tolist()


def _space(refitted, codes, classes, truth, predicted, X):
    """Two classes, the most often confused ones: squared distances, and the regions of the rule."""
    table = np.zeros((len(classes),) * 2)
    np.add.at(table, (truth, predicted), 1)
    np.fill_diagonal(table, 0)
    table = table + table.T
    a, b = sorted(np.unravel_index(table.argmax(), table.shape)) if table.any() else (0, 1)
    mine = np.flatnonzero((codes == a) | (codes == b))
    if len(mine) > MOST_POINTS:
        mine = np.random.default_rng(0).choice(mine, MOST_POINTS, replace=False)
    points = refitted.d2[mine][:, [a, b]]
    low, high = np.quantile(points, 0.0, axis=0), np.quantile(points, 0.995, axis=0)
    margin = 0.06 * np.where(high > low, high - low, 1.0)
    inside = ((points >= low - margin) & (points <= high + margin)).all(axis=1)
    low, high = points[inside].min(axis=0), points[inside].max(axis=0)
    margin = 0.05 * np.where(high > low, high - low, 1.0)
    low, high = low - margin, high + margin  # no mark lies over the edge
    last = flattened(refitted.model.distances)[-1]
    rule = pair_rule(last, [a, b]) or _log_odds_rule(refitted, X, [a, b])
    regions = None
    if rule is not None:
        x, y = np.meshgrid(*(np.linspace(lo, hi, GRID) for lo, hi in zip(low, high)))
        labels = rule(np.column_stack([x.ravel(), y.ravel()]))
        regions = (labels == last.classes_[b]).astype(int).tolist()
    return {
        "classes": [str(classes[a]), str(classes[b])],
        "points": [
            [float(p), float(q), int(codes[i] == b)]
            for (p, q), i, ok in zip(points, mine, inside)
            if ok
        ],
        "left_out": int((~inside).sum()),
        "extent": [float(low[0]), float(high[0]), float(low[1]), float(high[1])],
        "regions": regions,
        "resolution": GRID,
    }


def _log_odds_rule(refitted, X, columns):
    """The rule where the log-odds of two classes are half the difference of d² plus a constant."""
    *steps, last = flattened(refitted.model.distances)
    if not hasattr(last, "predict_log_proba"):
        return None
    for step in steps:
        X = step.transform(X)
    d2, logs = last.mahalanobis(X)[:, columns], last.predict_log_proba(X)[:, columns]
    rest = logs[:, 1] - logs[:, 0] - (d2[:, 0] - d2[:, 1]) / 2
    if np.ptp(rest) > 1e-6 * max(1.0, np.abs(d2).max()):
        return None
    labels, constant = last.classes_[columns], rest.mean()
    return lambda d2: labels[((d2[:, 0] - d2[:, 1]) / 2 + constant > 0).astype(int)]


def _spectrum(problem, refitted):
    """Eigenvalues of the centred kernel, in descending order; None without a kernel."""
    if problem.kind == "vectors":
        last = flattened(refitted.model.distances)[-1]
        if not hasattr(last, "kernel_spectrum") or len(problem) > SPECTRUM_OBJECTS:
            return None
        values = last.kernel_spectrum()
        what = "the kernel matrix of the model's distances"
    else:
        if len(problem) > SPECTRUM_OBJECTS:
            return None
        data = Data(problem)
        everyone = np.arange(len(problem))
        M = data.fold(everyone, everyone)[0]
        K = M.copy() if problem.proximity == "similarity" else -(M**2) / 2
        values = eigh(center_gram(K, centering(K), overwrite=True), vectors=False).values
        what = "the centred similarities" if problem.proximity == "similarity" else "−d²/2, centred"
    p, q = signature(values)
    return {
        "values": np.sort(values)[::-1].tolist(),
        "what": what,
        "signature": [int(p), int(q)],
        "negative_fraction": float(negative_fraction(values)),
    }
