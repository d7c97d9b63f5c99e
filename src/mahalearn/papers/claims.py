"""The papers' conclusions as statements computed from rows.

A verdict is confirmed, contradicted or undecided by the tests of :mod:`.paired`, over the
repetitions of the experiments. The numbers behind it are in its detail.
"""

from .catalogue import EXPERIMENTS
from .evidence import Evidence, mean, paired
from .paired import all_of, any_of, certain, equivalent, exceeds, majority, verdict
from .paper_a import SIZES
from .paper_b import NAMES as B_NAMES
from .paper_c import BOARD_WIDTHS, OVERALL, TOY_WIDTHS
from .paper_c import NAMES as C_NAMES

HEADS = ("KQD", "FD", "QD")
A_REFERENCES = ("KFD", "SVM", "KNN")
C_REFERENCES = ("KFD", "SVM", "KNN", "KPCA-QD")


def _signed(numbers):
    return ", ".join(f"{name} {mean(values):+.1f}" for name, values in numbers.items())


def rc_beats_ic(e):
    """A, 4.1: RC is superior to IC on small samples, the more so the fewer."""
    gaps = {}
    for size in SIZES:
        columns = [f"{kernel} n={size}" for kernel in ("rbf", "poly")]
        pairs = [e.gaps("A1", c, f"{h}-IC", f"{h}-RC") for c in columns for h in HEADS]
        gaps[f"n={size}"] = [mean(values) for values in zip(*pairs)]
    few, many = gaps[f"n={SIZES[0]}"], gaps[f"n={SIZES[-1]}"]
    # The draws of two sizes are independent: pairing them by their number does no harm.
    growth = exceeds([a - b for a, b in zip(few, many)])
    return all_of([exceeds(few), growth]), f"mean of IC − RC in points: {_signed(gaps)}"


def rc_almost_uniformly(e):
    """A, 4.2: RC almost uniformly better than IC on the real sets (sign test over the sets)."""
    variants = [f"{head}-{family}" for head in HEADS for family in ("IC", "RC")]
    names = e.datasets("A3", variants, EXPERIMENTS["A3"].datasets)
    gaps = {n: [mean(e.gaps("A3", n, f"{h}-IC", f"{h}-RC")) for h in HEADS] for n in names}
    wins = sum(mean(values) > 0 for values in gaps.values())
    cases = [gap for values in gaps.values() for gap in values]
    detail = (
        f"on {wins} of {len(names)} sets, in {sum(g >= 0 for g in cases)} of {len(cases)} cases"
    )
    return majority(wins, sum(mean(values) < 0 for values in gaps.values())), detail


def best_of_all(dataset):
    """A, 4.2: QD-RC is the best of all methods on a set."""

    def judge(e):
        means = {m.name: e.mean("A3", dataset, m.name) for m in EXPERIMENTS["A3"].methods}
        best = min(means, key=means.get)
        others = [name for name in means if name != "QD-RC"]
        detail = f"best {best} {means[best]:.1f}, QD-RC {means['QD-RC']:.1f}"
        return all_of(exceeds(e.gaps("A3", dataset, m, "QD-RC")) for m in others), detail

    return judge


def better_than_references(dataset):
    """A, 4.2: KQD-RC and QD-RC are better than the references on a set."""

    def judge(e):
        ours = {m: e.mean("A3", dataset, m) for m in ("KQD-RC", "QD-RC")}
        best, name = min((e.mean("A3", dataset, m), m) for m in A_REFERENCES)
        numbers = ", ".join(f"{m} {v:.1f}" for m, v in ours.items())
        parts = [exceeds(e.gaps("A3", dataset, r, m)) for m in ours for r in A_REFERENCES]
        return all_of(parts), f"{numbers}; best reference {name} {best:.1f}"

    return judge


def xor_own_class(e):
    """A, figure 2: by IC a class is farther from itself than the other class is; not by RC."""
    ic, rc = e.panels("Afigs", "figure 2")
    detail = "; ".join(
        f"{p['title']}: own {p['own']:.2f}, other {p['other']:.2f}" for p in (ic, rc)
    )
    return certain(ic["own"] > ic["other"] and rc["own"] < rc["other"]), detail


def diagonal_matches(first, second):
    """B: two methods are comparable on each set, by the slack of the rule of agreement."""

    def judge(e):
        names = e.datasets("B2", [first, second], B_NAMES)
        parts = {
            n: equivalent(e.gaps("B2", n, first, second), e.margin("B2", n, second)) for n in names
        }
        equal = [n for n, part in parts.items() if verdict(part) == "confirmed"]
        apart = [n for n, part in parts.items() if verdict(part) == "contradicted"]
        detail = f"equivalent on {len(equal)} of {len(names)} sets"
        return all_of(parts.values()), detail + (f"; not on {', '.join(apart)}" if apart else "")

    return judge


def full_is_worse(e):
    """B: the full covariance is not as good as the diagonal (t test over the sets)."""
    names = e.datasets("B2", ["Full", "Diagonal-2"], B_NAMES)
    gaps = [mean(e.gaps("B2", n, "Full", "Diagonal-2")) for n in names]
    detail = f"mean of Full − Diagonal-2 over {len(names)} sets: {mean(gaps):+.2f} points"
    return exceeds(gaps), detail


def plus_beats_minus(e):
    """C: + usually similar to or better than − (sign test over sets and variants)."""
    families = ("IC", "RC", "FK")
    names = e.datasets("C7", [f"IKQD-{v}{s}" for v in families for s in "+-"], C_NAMES)
    cases = [
        mean(e.gaps("C7", n, f"IKQD-{v}-", f"IKQD-{v}+")) + e.margin("C7", n, f"IKQD-{v}-")
        for n in names
        for v in families
    ]
    wins = sum(case >= 0 for case in cases)
    detail = f"+ worse by less than the slack in {wins} of {len(cases)} cases"
    return majority(wins, len(cases) - wins), detail


def fk_beats(reference, exceptions):
    """C: FK+ beats a reference except on some sets."""

    def judge(e):
        names = e.datasets("C7", ["IKQD-FK+", reference], C_NAMES)
        gaps = {n: e.gaps("C7", n, reference, "IKQD-FK+") for n in names}
        losses = [n for n in names if mean(gaps[n]) < 0]
        parts = [exceeds(gaps[n]) for n in names if n not in exceptions]
        detail = f"better on {len(names) - len(losses)} of {len(names)} sets"
        return all_of(parts), detail + (f"; not on {', '.join(losses)}" if losses else "")

    return judge


def best_is_rc_or_fk(e):
    """C: the best quadratic discriminant is usually RC+ or FK+ (sign test over the sets)."""
    variants = [f"IKQD-{v}" for v in ("IC+", "IC-", "RC+", "RC-", "FK+", "FK-")]
    names = e.datasets("C7", variants, C_NAMES)
    best = [min(variants, key=lambda v, n=n: e.mean("C7", n, v)) for n in names]
    wins = sum(b in ("IKQD-RC+", "IKQD-FK+") for b in best)
    return majority(wins, len(names) - wins), f"on {wins} of {len(names)} sets"


def knn_ignores_width(experiment, method, widths):
    """C: nearest neighbours do not depend on s, by the slack of the rule of agreement."""

    def judge(e):
        errors = {s: e.errors(experiment, f"s={s}", method) for s in widths}
        means = [mean(values.values()) for values in errors.values()]
        margin = e.margin(experiment, f"s={widths[1]}", method)
        parts = [equivalent(paired(errors[s], errors[widths[1]]), margin) for s in widths]
        return all_of(parts), f"{min(means):.2f} to {max(means):.2f}, slack {margin:.2f}"

    return judge


def favours(experiment, prefix, widths, family, small):
    """C: RC favours small s, IC large s: mean error over the three least and largest s."""

    def judge(e):
        method = f"{prefix}KQD-{family}+"
        errors = {s: e.errors(experiment, f"s={s}", method) for s in widths}
        low, high = (
            {r: mean([errors[s][r] for s in part]) for r in errors[part[0]]}
            for part in (widths[:3], widths[-3:])
        )
        gaps = paired(high, low) if small else paired(low, high)
        best = min(widths, key=lambda s: mean(errors[s].values()))
        detail = f"mean error {mean(low.values()):.1f} for small, {mean(high.values()):.1f} for "
        return exceeds(gaps), detail + f"large s; best at s={best}"

    return judge


def overall(experiment, ours, references):
    """C, V-A and V-B: all of some methods beat all references when s is chosen."""

    def judge(e):
        means = {m: e.mean(experiment, OVERALL, m) for m in (*ours, *references)}
        worst, best = max(ours, key=means.get), min(references, key=means.get)
        parts = [exceeds(e.gaps(experiment, OVERALL, r, m)) for m in ours for r in references]
        detail = f"worst of ours {worst} {means[worst]:.1f}, best reference {best} "
        return all_of(parts), detail + f"{means[best]:.1f}"

    return judge


def most_negative_in_the_middle(e):
    """C, V-B: r_neg is largest in the middle range of s."""
    shares = {s: e.values("C5s", f"s={s}", "r_neg") for s in BOARD_WIDTHS}
    middle = BOARD_WIDTHS[2:5]
    outer = [s for s in BOARD_WIDTHS if s not in middle]
    part = any_of(
        all_of(exceeds(paired(shares[s], shares[other])) for other in outer) for s in middle
    )
    best = max(shares, key=lambda s: mean(shares[s].values()))
    return part, f"largest at s={best}: {mean(shares[best].values()):.3f}"


def _accuracies(e, *names):
    return [e.values("D2", name, "accuracy") for name in names]


def descent_helps(e):
    """D, table 2."""
    plain, ours = _accuracies(e, "traditional", "calculated weights")
    detail = f"{mean(plain.values()):.1f} to {mean(ours.values()):.1f} percent"
    return exceeds(paired(ours, plain)), detail


def development_is_no_better(e):
    """D, 4.1: calculated weights are worse than a development set's by less than a point."""
    tuned, ours = _accuracies(e, "development set weights", "calculated weights")
    detail = f"calculated {mean(ours.values()):.1f}, development {mean(tuned.values()):.1f} percent"
    return exceeds([gap + 1 for gap in paired(ours, tuned)]), detail


def _leads(curve, name, level, over=None):
    """At a level, a classifier is more accurate than each of the others."""
    others = [other for other in curve if other != name] if over is None else [over]
    return all_of(
        exceeds([a - b for a, b in zip(curve[name][level], curve[other][level])])
        for other in others
    )


def without_noise(e):
    """D, 4.3: without noise the traditional classifier is slightly better than both."""
    _, curve = e.curves("figure 2")
    detail = ", ".join(f"{name} {mean(values[0]):.1f}" for name, values in curve.items())
    return _leads(curve, "traditional", 0), detail


def _leaders(x, curve):
    return [max(curve, key=lambda name, i=i: mean(curve[name][i])) for i in range(len(x))]


def noisy_some(figure):
    """D, 4.3: descent best at small noise, difference best at high noise, for 1, 3, 5 features.

    The paper does not print the scale of its noise axis: descent leads at some level, difference at
    the highest.
    """

    def judge(e):
        x, curve = e.curves(figure)
        somewhere = any_of(_leads(curve, "descent", i) for i in range(len(x) - 1))
        leaders = ", ".join(f"{level:g}: {name}" for level, name in zip(x, _leaders(x, curve)))
        part = all_of([somewhere, _leads(curve, "difference", -1)])
        return part, f"leader by noise level {leaders}"

    return judge


def descent_always_best(e):
    """D, 4.3: with all features noisy, descent is best at all noise levels."""
    x, curve = e.curves("figure 5")
    levels = [i for i, level in enumerate(x) if level]
    behind = [f"{x[i]:g}" for i in levels if _leaders(x, curve)[i] != "descent"]
    detail = f"not at the noise levels {', '.join(behind)}" if behind else "at all levels"
    return all_of(_leads(curve, "descent", i) for i in levels), detail


def difference_worse_at_high_noise(e):
    """D, 4.3: with all features noisy, difference weights are worse than none at high noise."""
    x, curve = e.curves("figure 5")
    levels = [i for i, level in enumerate(x) if level >= 50]
    high = {
        name: [mean(values) for values in zip(*(curve[name][i] for i in levels))]
        for name in ("traditional", "difference")
    }
    gaps = [a - b for a, b in zip(high["traditional"], high["difference"])]
    return exceeds(gaps), f"difference − traditional, mean over noise ≥ 50: {-mean(gaps):+.2f}"


def missing_features(e):
    """D, 4.2: both lead with missing features; difference loses the lead beyond six."""
    x, curve = e.curves("figure 1")
    place = {k: i for i, k in enumerate(x)}
    parts = [
        *(_leads(curve, "descent", place[k], "traditional") for k in (1, 2, 3)),
        _leads(curve, "difference", place[3], "traditional"),
        _leads(curve, "traditional", place[7], "difference"),
    ]
    gaps = {
        f"{name} at {k}": [
            a - b for a, b in zip(curve[name][place[k]], curve["traditional"][place[k]])
        ]
        for name, k in (("descent", 1), ("descent", 3), ("difference", 3), ("difference", 7))
    }
    return all_of(parts), f"lead over traditional in points: {_signed(gaps)}"


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
            "On XOR, by IC the first class is farther from itself than the second class is; by RC "
            "it is nearer.",
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
        (
            "With s chosen, KQD-IC and KQD-FK beat all references on the bent normals.",
            overall("C4", [f"KQD-{v}" for v in ("IC+", "IC-", "FK+", "FK-")], C_REFERENCES),
        ),
        ("KNN does not depend on s.", knn_ignores_width("C4", "KNN", TOY_WIDTHS)),
        ("On the bent normals, RC favours small s.", favours("C4", "", TOY_WIDTHS, "RC", True)),
        ("On the bent normals, IC favours larger s.", favours("C4", "", TOY_WIDTHS, "IC", False)),
        ("IKNN does not depend on s.", knn_ignores_width("C5", "IKNN", BOARD_WIDTHS)),
        ("On the checkerboard, RC favours small s.", favours("C5", "I", BOARD_WIDTHS, "RC", True)),
        (
            "With s chosen, all IKQD beat ISVM and IKNN on the checkerboard.",
            overall(
                "C5", [f"IKQD-{v}{s}" for v in ("IC", "RC", "FK") for s in "+-"], ("ISVM", "IKNN")
            ),
        ),
        (
            "The kernel is the most indefinite in the middle range of s.",
            most_negative_in_the_middle,
        ),
        ("+ is usually similar to or better than − (real data).", plus_beats_minus),
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
            "With all features noisy, difference weights are worse than no weights at high noise.",
            difference_worse_at_high_noise,
        ),
        (
            "Both weightings are better than none with missing features; difference weights "
            "only up to six.",
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
        Paper -> list of {"text", "verdict" (confirmed, contradicted, undecided, or None where rows
        are missing), "detail"}.
    """
    evidence = Evidence(rows)
    return {
        paper: [_judged(text, judge, evidence) for text, judge in claims]
        for paper, claims in CLAIMS.items()
    }


def _judged(text, judge, evidence):
    try:
        part, detail = judge(evidence)
    except KeyError:
        return {"text": text, "verdict": None, "detail": ""}
    return {"text": text, "verdict": verdict(part), "detail": detail}
