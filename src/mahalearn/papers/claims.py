"""The papers' conclusions as statements computed from rows: confirmed, not confirmed, not measured.

A statement is judged by means alone, as the papers judge it. What it rests on is in its detail.
"""

from itertools import groupby

from .agreement import tolerance
from .evidence import Evidence
from .paper_a import SIZES
from .paper_b import NAMES as B_NAMES
from .paper_c import BOARD_WIDTHS, OVERALL, TOY_WIDTHS
from .paper_c import NAMES as C_NAMES
from .registry import EXPERIMENTS

HEADS = ("KQD", "FD", "QD")
A_REFERENCES = ("KFD", "SVM", "KNN")
C_REFERENCES = ("KFD", "SVM", "KNN", "KPCA-QD")


def _count(wins, all_of):
    return f"{len(wins)} of {len(all_of)}"


def rc_beats_ic(e):
    """A, 4.1: RC is superior to IC on small samples, the more so the fewer."""
    gaps = []
    for size in SIZES:
        pairs = [
            (e.error("A1", f"{k} n={size}", f"{h}-IC"), e.error("A1", f"{k} n={size}", f"{h}-RC"))
            for k in ("rbf", "poly")
            for h in HEADS
        ]
        gaps.append(sum(ic - rc for ic, rc in pairs) / len(pairs))
    told = ", ".join(f"n={n}: {gap:+.1f}" for n, gap in zip(SIZES, gaps))
    return gaps[0] > 0 and gaps[0] > gaps[-1], f"mean of IC − RC in points, {told}"


def rc_almost_uniformly(e):
    """A, 4.2: RC almost uniformly better than IC on the real sets."""
    variants = [f"{head}-{family}" for head in HEADS for family in ("IC", "RC")]
    names = e.datasets("A3", variants, EXPERIMENTS["A3"].datasets)
    pairs = [(n, h) for n in names for h in HEADS]
    wins = [
        p for p in pairs if e.error("A3", p[0], f"{p[1]}-RC") <= e.error("A3", p[0], f"{p[1]}-IC")
    ]
    return len(wins) >= 0.8 * len(pairs), f"in {_count(wins, pairs)} cases"


def best_of_all(dataset):
    """A, 4.2: QD-RC is the best of all methods on a set."""

    def judge(e):
        errors = {m.name: e.error("A3", dataset, m.name) for m in EXPERIMENTS["A3"].methods}
        best = min(errors, key=errors.get)
        detail = f"best {best} {errors[best]:.1f}, QD-RC {errors['QD-RC']:.1f}"
        return errors["QD-RC"] <= errors[best], detail

    return judge


def better_than_references(dataset):
    """A, 4.2: KQD-RC and QD-RC are better than the references on a set."""

    def judge(e):
        ours = {m: e.error("A3", dataset, m) for m in ("KQD-RC", "QD-RC")}
        reference = min((e.error("A3", dataset, m), m) for m in A_REFERENCES)
        told = ", ".join(f"{m} {v:.1f}" for m, v in ours.items())
        best = f"best reference {reference[1]} {reference[0]:.1f}"
        return max(ours.values()) < reference[0], f"{told}; {best}"

    return judge


def xor_own_class(e):
    """A, figure 2: by IC a class is farther from itself than the other class is; not by RC."""
    ic, rc = e.panels("Afigs", "figure 2")
    detail = "; ".join(
        f"{p['title']}: own {p['own']:.2f}, other {p['other']:.2f}" for p in (ic, rc)
    )
    return ic["own"] > ic["other"] and rc["own"] < rc["other"], detail


def diagonal_matches(first, second):
    """B: two methods are comparable on each set, by the rule of agreement."""

    def judge(e):
        names = e.datasets("B2", [first, second], B_NAMES)
        apart = []
        for name in names:
            a, b = e.summary("B2", name, first), e.summary("B2", name, second)
            if abs(a.mean - b.mean) > tolerance(a, b):
                apart.append(f"{name} {a.mean:.1f} against {b.mean:.1f}")
        told = f"on {len(names) - len(apart)} of {len(names)} sets"
        return len(apart) <= len(names) // 10, told + (f"; not {', '.join(apart)}" if apart else "")

    return judge


def full_is_worse(e):
    """B: the full covariance is not as good as the diagonal."""
    names = e.datasets("B2", ["Full", "Diagonal-2"], B_NAMES)
    gap = sum(e.error("B2", n, "Full") - e.error("B2", n, "Diagonal-2") for n in names)
    return (
        gap > 0,
        f"mean of Full − Diagonal-2 over {len(names)} sets: {gap / len(names):+.2f} points",
    )


def plus_beats_minus(experiment, names):
    """C: + similar or better than −."""

    def judge(e):
        variants = [f"IKQD-{v}{s}" for v in ("IC", "RC", "FK") for s in "+-"]
        cases = [
            (n, v) for n in e.datasets(experiment, variants, names) for v in ("IC", "RC", "FK")
        ]
        wins = [
            (n, v)
            for n, v in cases
            if e.error(experiment, n, f"IKQD-{v}+") <= e.error(experiment, n, f"IKQD-{v}-") + 0.5
        ]
        return len(wins) > len(cases) / 2, f"+ at most half a point worse in {_count(wins, cases)}"

    return judge


def fk_beats(reference, exceptions):
    """C: FK+ beats a reference except on some sets."""

    def judge(e):
        names = e.datasets("C7", ["IKQD-FK+", reference], C_NAMES)
        losses = [n for n in names if e.error("C7", n, "IKQD-FK+") > e.error("C7", n, reference)]
        others = [n for n in losses if n not in exceptions]
        told = f"better on {len(names) - len(losses)} of {len(names)} sets"
        return not others, told + (f"; not on {', '.join(losses)}" if losses else "")

    return judge


def best_is_rc_or_fk(e):
    """C: the best quadratic discriminant is usually RC+ or FK+."""
    variants = [f"IKQD-{v}" for v in ("IC+", "IC-", "RC+", "RC-", "FK+", "FK-")]
    names = e.datasets("C7", variants, C_NAMES)
    wins = [
        n
        for n in names
        if min(variants, key=lambda v: e.error("C7", n, v)) in ("IKQD-RC+", "IKQD-FK+")
    ]
    return len(wins) > len(names) / 2, f"on {_count(wins, names)} sets"


def knn_ignores_width(experiment, method, widths):
    """C: nearest neighbours do not depend on s, but for rounding at the least s."""

    def judge(e):
        errors = [e.error(experiment, f"s={s}", method) for s in widths[1:]]
        low = e.error(experiment, f"s={widths[0]}", method)
        detail = f"{min(errors):.2f} to {max(errors):.2f}; at s={widths[0]} {low:.2f}"
        return max(errors) - min(errors) < 0.05, detail

    return judge


def favours(experiment, prefix, widths, family, small):
    """C: RC favours small s, IC large s: the best s of the family's + variant."""

    def judge(e):
        errors = {s: e.error(experiment, f"s={s}", f"{prefix}KQD-{family}+") for s in widths}
        best = min(errors, key=errors.get)
        half = float(best) <= float(widths[len(widths) // 2 - 1])
        return half if small else not half, f"best at s={best} ({errors[best]:.1f})"

    return judge


def toy_overall(e):
    """C, V-A: IC and FK beat all references when s is chosen."""
    ours = {m: e.error("C4", OVERALL, f"KQD-{m}") for m in ("IC+", "IC-", "FK+", "FK-")}
    others = {m: e.error("C4", OVERALL, m) for m in C_REFERENCES}
    worst, best = max(ours, key=ours.get), min(others, key=others.get)
    detail = f"worst of ours {worst} {ours[worst]:.1f}, best reference {best} {others[best]:.1f}"
    return ours[worst] < others[best], detail


def board_overall(e):
    """C, V-B: all indefinite quadratic discriminants beat ISVM and IKNN when s is chosen."""
    variants = ("IC+", "IC-", "RC+", "RC-", "FK+", "FK-")
    ours = {m: e.error("C5", OVERALL, f"IKQD-{m}") for m in variants}
    others = {m: e.error("C5", OVERALL, m) for m in ("ISVM", "IKNN")}
    worst = max(ours, key=ours.get)
    told = ", ".join(f"{m} {v:.1f}" for m, v in others.items())
    return ours[worst] <= min(others.values()), f"worst of ours {worst} {ours[worst]:.1f}; {told}"


def most_negative_in_the_middle(e):
    """C, V-B: r_neg is largest in the middle range of s."""
    found = {s: e.value("C5s", f"s={s}", "r_neg") for s in BOARD_WIDTHS}
    best = max(found, key=found.get)
    return best in BOARD_WIDTHS[2:5], f"largest at s={best}: {found[best]:.3f}"


def descent_helps(e):
    """D, table 2."""
    plain, ours = (e.value("D2", n, "accuracy") for n in ("traditional", "calculated weights"))
    return ours > plain, f"{plain:.1f} to {ours:.1f} percent"


def development_is_no_better(e):
    """D, 4.1: calculated weights do as well as those of a development set."""
    tuned = e.value("D2", "development set weights", "accuracy")
    ours = e.value("D2", "calculated weights", "accuracy")
    return ours >= tuned - 1, f"calculated {ours:.1f}, development {tuned:.1f} percent"


def without_noise(e):
    """D, 4.3: without noise the traditional classifier is slightly better than both."""
    _, curve = e.curves("figure 2")
    told = ", ".join(f"{name} {values[0]:.1f}" for name, values in curve.items())
    return curve["traditional"][0] > max(curve["descent"][0], curve["difference"][0]), told


def noisy_some(figure):
    """D, 4.3: descent best at small noise, difference best at high noise, for 1, 3, 5 features.

    Judged by the order of the leaders along the noise axis, whose scale the paper does not print:
    descent leads somewhere, and from some higher level on difference leads to the end.
    """

    def judge(e):
        x, curve = e.curves(figure)
        leaders = [max(curve, key=lambda n: curve[n][i]) for i in range(len(x))]
        order = [name for name, _ in groupby(leaders)]
        told = ", ".join(f"{level:g}: {leader}" for level, leader in zip(x, leaders))
        return order[-2:] == ["descent", "difference"], f"leader by noise level {told}"

    return judge


def descent_always_best(e):
    """D, 4.3: with all features noisy, descent is best at all noise levels."""
    x, curve = e.curves("figure 5")
    behind = [
        f"{level:g}"
        for i, level in enumerate(x)
        if level and max(curve, key=lambda n: curve[n][i]) != "descent"
    ]
    return not behind, f"not at the noise levels {', '.join(behind)}" if behind else "at all levels"


def difference_worse_at_high_noise(e):
    """D, 4.3: with all features noisy, difference weights are worse than none at high noise."""
    x, curve = e.curves("figure 5")
    gaps = [curve["difference"][i] - curve["traditional"][i] for i in range(len(x)) if x[i] >= 50]
    return max(
        gaps
    ) < 0, f"difference − traditional at noise ≥ 50: {min(gaps):+.1f} to {max(gaps):+.1f}"


def missing_features(e):
    """D, 4.2: both lead with missing features; difference loses the lead beyond six."""
    x, curve = e.curves("figure 1")
    gap = {k: curve["difference"][i] - curve["traditional"][i] for i, k in enumerate(x)}
    lead = min(
        curve["descent"][i] - curve["traditional"][i] for i, k in enumerate(x) if k in (1, 2, 3)
    )
    detail = f"descent leads by at least {lead:.1f} for 1 to 3 missing; difference by {gap[3]:.1f} "
    detail += f"at 3, {gap[7]:+.1f} at 7"
    return lead > 0 and gap[3] > 0 and gap[7] <= 0, detail


CLAIMS = {
    "A": [
        ("RC beats IC on small samples, and the more so the fewer the samples.", rc_beats_ic),
        ("RC is almost uniformly better than IC on the real sets.", rc_almost_uniformly),
        *(
            (f"QD-RC is the best of all methods on {name}.", best_of_all(name))
            for name in ("Diabetes", "Imox", "Ionosphere", "Wine")
        ),
        *(
            (
                f"KQD-RC and QD-RC are better than the references on {name}.",
                better_than_references(name),
            )
            for name in ("Imox", "Sonar")
        ),
        (
            "On XOR, IC puts the first class farther from itself than the second is; RC does not.",
            xor_own_class,
        ),
    ],
    "B": [
        ("Diagonal-2 is comparable with RBF.", diagonal_matches("Diagonal-2", "RBF")),
        (
            "The line search is comparable with the grid.",
            diagonal_matches("Diagonal-2", "Diagonal-grid"),
        ),
        ("The full covariance is not as good as the diagonal.", full_is_worse),
    ],
    "C": [
        ("With s chosen, KQD-IC and KQD-FK beat all references on the bent normals.", toy_overall),
        ("KNN does not depend on s.", knn_ignores_width("C4", "KNN", TOY_WIDTHS)),
        ("On the bent normals, RC favours small s.", favours("C4", "", TOY_WIDTHS, "RC", True)),
        ("On the bent normals, IC favours larger s.", favours("C4", "", TOY_WIDTHS, "IC", False)),
        ("IKNN does not depend on s.", knn_ignores_width("C5", "IKNN", BOARD_WIDTHS)),
        ("On the checkerboard, RC favours small s.", favours("C5", "I", BOARD_WIDTHS, "RC", True)),
        ("With s chosen, all IKQD beat ISVM and IKNN on the checkerboard.", board_overall),
        (
            "The kernel is the most indefinite in the middle range of s.",
            most_negative_in_the_middle,
        ),
        ("+ is similar to or better than − (real data).", plus_beats_minus("C7", C_NAMES)),
        (
            "IKQD-FK+ beats ISVM on all sets but Heart and Mucosa.",
            fk_beats("ISVM", ("Heart", "Mucosa")),
        ),
        ("The best IKQD is usually RC+ or FK+.", best_is_rc_or_fk),
    ],
    "D": [
        ("Descent weights raise the accuracy at noise 10 on all features.", descent_helps),
        ("Calculated weights do as well as those of a development set.", development_is_no_better),
        ("Without noise the traditional classifier is slightly better than both.", without_noise),
        *(
            (
                f"With {n} noisy feature{'s' * (n > 1)}, descent is best at small noise and "
                "difference at high noise.",
                noisy_some(f"figure {figure}"),
            )
            for figure, n in ((2, 1), (3, 3), (4, 5))
        ),
        ("With all features noisy, descent is best at all noise levels.", descent_always_best),
        (
            "With all features noisy, difference weights are worse than none at high noise.",
            difference_worse_at_high_noise,
        ),
        (
            "Both weightings lead with missing features; difference loses its lead beyond six.",
            missing_features,
        ),
    ],
}


def statements(rows):
    """The verdicts on all claims.

    Parameters
    ----------
    rows : iterable of Row
        Measured cells.

    Returns
    -------
    dict
        Paper -> list of {"text", "verdict" (True, False, None), "detail"}.
    """
    evidence = Evidence(rows)
    return {
        paper: [_judged(text, judge, evidence) for text, judge in claims]
        for paper, claims in CLAIMS.items()
    }


def _judged(text, judge, evidence):
    try:
        verdict, detail = judge(evidence)
    except KeyError:
        return {"text": text, "verdict": None, "detail": ""}
    return {"text": text, "verdict": bool(verdict), "detail": detail}
