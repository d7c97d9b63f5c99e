"""Paper D: feature weighted Mahalanobis distance. Tables 1 and 2, figures 1 to 5."""

from functools import lru_cache

from .experiment import Convention, Experiment, Measured, Measurement, Published
from .publications import table

# Columns of the tables -> names of the classifiers.
WEIGHTS = {"calculated weights": "descent", "development set weights": "development"}
CLASSIFIERS = {"traditional": "traditional", **WEIGHTS}
FIGURES = {f"figure {number}": number for number in (1, 2, 3, 4, 5)}


@lru_cache(maxsize=4)
def _simulated(seed, development):
    from .noise_curves import weight_tables

    rows = weight_tables(repetitions=1, seed=seed, development=development)
    return {row["classifier"]: row for row in rows}


def _simulation(draw, name):
    # The development set's weights take most of the time; the draws are the same without them.
    return _simulated(draw.seed, name == "development")[name]


def weights(draw, seed, earlier):
    """Weights of the ten ranks."""
    ranks = _simulation(draw, WEIGHTS[draw.dataset])["rank_weights"]
    return Measured(values={f"rank {i}": weight for i, weight in enumerate(ranks, start=1)})


def accuracy(draw, seed, earlier):
    """Accuracy at noise 10 on all features."""
    percent = _simulation(draw, CLASSIFIERS[draw.dataset])["accuracy"]
    return Measured(error=1 - percent / 100, values={"accuracy": percent})


def curves(draw, seed, earlier):
    """One repetition of a figure: accuracies of the three classifiers along its axis."""
    from .noise_curves import noise_curves

    rows = noise_curves([FIGURES[draw.dataset]], repetitions=1, seed=seed)
    axis = "n_features" if rows[0]["mode"] == "missing" else "level"
    names = list(dict.fromkeys(row["classifier"] for row in rows))
    curve = {name: [r["accuracy"] for r in rows if r["classifier"] == name] for name in names}
    x = [row[axis] for row in rows if row["classifier"] == names[0]]
    noisy = "" if axis == "n_features" else rows[0]["n_features"]
    return Measured(values={"axis": axis, "noisy": noisy, "x": x, "curves": curve})


def published_weights():
    """Table 1."""
    columns = {"calculated weights": "calculated_weight"}
    columns |= {"development set weights": "development_set_weight"}
    return {
        (label, f"rank {row['rank']}"): Published(float(row[column]), n=50)
        for row in table("D_table1_weights")
        for label, column in columns.items()
    }


def published_accuracy():
    """Table 2."""
    return {
        (row["classifier"].removeprefix("descent, "), "accuracy"): Published(
            float(row["accuracy_percent"]), n=50
        )
        for row in table("D_table2_accuracy")
    }


def _same(draw):
    return draw


EXPERIMENTS = (
    Experiment(
        id="D1",
        paper="D",
        title="Rank weights at noise 10 on all features (D, table 1)",
        source=_same,
        methods=(Measurement("weights", weights),),
        datasets=tuple(WEIGHTS),
        repetitions=50,
        quick_repetitions=5,
        draws=lambda _: "tables",
        measure="values",
        published=published_weights,
        # One hundredth of the sum of the weights.
        slack={f"rank {i}": 0.1 for i in range(1, 11)},
        digits={f"rank {i}": 3 for i in range(1, 11)},
        conventions=(
            Convention(
                "(11) is taken with a square root, w ∝ 1/√Z: only this gives the calculated "
                "weights.",
                frozenset(("calculated weights", f"rank {i}") for i in range(1, 11)),
            ),
            Convention(
                "The paper does not say how it optimised the development set's weights; here it "
                "is a pattern search from equal weights."
            ),
        ),
    ),
    Experiment(
        id="D2",
        paper="D",
        title="Accuracies at noise 10 on all features, in percent (D, table 2)",
        source=_same,
        methods=(Measurement("accuracy", accuracy),),
        datasets=tuple(CLASSIFIERS),
        repetitions=50,
        quick_repetitions=5,
        draws=lambda _: "tables",
        measure="values",
        published=published_accuracy,
        conventions=(
            Convention(
                "(11) is taken with a square root (see table 1).",
                frozenset({("calculated weights", "accuracy")}),
            ),
        ),
    ),
    Experiment(
        id="Dfigs",
        paper="D",
        title="Accuracy with missing and with noisy features (D, figures 1 to 5)",
        source=_same,
        methods=(Measurement("curves", curves),),
        datasets=tuple(FIGURES),
        repetitions=50,
        quick_repetitions=5,
        figure="curves",
        notes=("The paper shows the figures without numbers; only their shapes can be compared.",),
    ),
)
