"""Measures of all pairs against plain Python loops: python -m benchmarks.measures"""

import itertools

import numpy as np
from scipy.spatial.distance import directed_hausdorff

from mahalearn.measures import EditDistance, pairwise

from .timing import compare, print_machine, print_ratios


def polygons(n, rng):
    """Sets of 4 to 7 vertices."""
    return [rng.normal(size=(k, 2)) for k in rng.integers(4, 8, n)]


def scipy_loop(objects):
    """Hausdorff distances of all pairs, as one would write it with scipy."""
    for a, b in itertools.combinations(objects, 2):
        max(directed_hausdorff(a, b)[0], directed_hausdorff(b, a)[0])


def python_edit_distance(a, b):
    """Levenshtein distance with one row of the table."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        corner, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            corner, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, corner + (x != y))
    return row[-1]


def python_edit_real(a, b):
    """The same for numbers, with |x − y| as the cost of a substitution."""
    row = [float(j) for j in range(len(b) + 1)]
    for i, x in enumerate(a, 1):
        corner, row[0] = row[0], float(i)
        for j, y in enumerate(b, 1):
            corner, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, corner + abs(x - y))
    return row[-1]


def loop(objects, function):
    """All pairs with a function of two."""
    for a, b in itertools.combinations(objects, 2):
        function(a, b)


def per_pair(candidates, repeats):
    """Best time of each candidate, divided by its number of pairs; {name: (function, n)}."""
    times = compare({name: f for name, (f, _) in candidates.items()}, repeats=repeats)
    return {name: times[name] / (n * (n - 1) / 2) for name, (_, n) in candidates.items()}


def main():
    """Print the ratios."""
    print_machine()
    rng = np.random.default_rng(0)
    sets = polygons(4000, rng)
    few = sets[:40]
    times = per_pair(
        {
            "pairwise, 4000 polygons": (lambda: pairwise(sets, "modified_hausdorff"), 4000),
            "loop over directed_hausdorff (a sample)": (lambda: scipy_loop(few), 40),
        },
        repeats=2,
    )
    goal = {"loop over directed_hausdorff (a sample)": "at least 150"}
    print_ratios("Modified Hausdorff, per pair", times, "pairwise, 4000 polygons", goal)

    words = ["".join(rng.choice(list("acgt"), 50)) for _ in range(2000)]
    times = per_pair(
        {
            "pairwise, 2000 strings of length 50": (lambda: pairwise(words, "edit"), 2000),
            "pure Python (a sample)": (lambda: loop(words[:30], python_edit_distance), 30),
        },
        repeats=3,
    )
    goal = {"pure Python (a sample)": "at least 30"}
    print_ratios("Edit distance, per pair", times, "pairwise, 2000 strings of length 50", goal)

    series = [rng.normal(size=50).tolist() for _ in range(400)]
    measure = EditDistance("absolute")
    pairwise(series[:2], measure)  # compiles
    times = per_pair(
        {
            "pairwise, 400 sequences of length 50": (lambda: pairwise(series, measure), 400),
            "pure Python (a sample)": (lambda: loop(series[:20], python_edit_real), 20),
        },
        repeats=3,
    )
    print_ratios("Edit distance of numbers", times, "pairwise, 400 sequences of length 50")

    half = compare(
        {
            "all pairs of 1500 polygons": lambda: pairwise(sets[:1500], "hausdorff"),
            "the same as objects against others": lambda: pairwise(
                sets[:1500], "hausdorff", sets[:1500]
            ),
        },
        repeats=3,
    )
    print_ratios("Half the work for symmetric measures", half, "all pairs of 1500 polygons")


if __name__ == "__main__":
    main()
