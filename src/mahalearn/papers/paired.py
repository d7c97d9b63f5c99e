"""Paired tests behind the verdicts on the papers' conclusions.

A conclusion is made of parts: one mean exceeds another, two are equivalent, most cases go one way.
Every part has two p-values, one for "it holds" and one for "its contrary holds". The population is
all repetitions of the experiment's protocol: a verdict says what another run would show on the same
data sets, and nothing about other data.
"""

import math
from typing import NamedTuple

# Of each of the two one-sided tests.
LEVEL = 0.025


class Part(NamedTuple):
    """p-values: small `holds` supports the part, small `fails` its contrary."""

    holds: float
    fails: float


UNKNOWN = Part(1.0, 1.0)


def exceeds(differences):
    """The mean of paired differences is positive: Student's t, one-sided each way.

    Parameters
    ----------
    differences : sequence of float
        One number for each repetition.

    Returns
    -------
    Part
        Undecided below two repetitions. Equal differences decide by their sign.

    Examples
    --------
    >>> from mahalearn.papers.paired import exceeds
    >>> print("{:.3f} {:.3f}".format(*exceeds([1.0, 2.0, 3.0])))
    0.037 0.963
    """
    from scipy.special import stdtr

    n = len(differences)
    if n < 2:
        return UNKNOWN
    mean = math.fsum(differences) / n
    variance = math.fsum((d - mean) ** 2 for d in differences) / (n - 1)
    # Equal differences, but for rounding.
    if variance <= 1e-20 * max(1.0, mean**2):
        return Part(float(mean <= 1e-10), float(mean >= -1e-10))
    t = mean / math.sqrt(variance / n)
    return Part(float(stdtr(n - 1, -t)), float(stdtr(n - 1, t)))


def equivalent(differences, margin):
    """The mean of paired differences lies within ±margin: two one-sided tests."""
    above = exceeds([d + margin for d in differences])
    below = exceeds([margin - d for d in differences])
    return all_of([above, below])


def majority(wins, losses):
    """More cases go one way than the other: sign test, ties left out."""
    n = wins + losses

    def tail(k):
        return sum(math.comb(n, i) for i in range(k, n + 1)) / 2**n

    return Part(tail(wins), tail(losses)) if n else UNKNOWN


def certain(truth):
    """A fact without chance."""
    return Part(float(not truth), float(truth))


def all_of(parts):
    """All parts hold; its contrary is that some part fails, with Bonferroni's factor."""
    parts = list(parts)
    return Part(max(p.holds for p in parts), min(1.0, len(parts) * min(p.fails for p in parts)))


def any_of(parts):
    """Some part holds, with Bonferroni's factor; its contrary is that all of them fail."""
    holds, fails = all_of(Part(p.fails, p.holds) for p in parts)
    return Part(fails, holds)


def verdict(part):
    """confirmed, contradicted or undecided, at the level of 2.5 % for each of the two tests."""
    if part.holds <= LEVEL:
        return "confirmed"
    return "contradicted" if part.fails <= LEVEL else "undecided"
