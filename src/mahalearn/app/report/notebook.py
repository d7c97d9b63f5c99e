"""A comparison in a notebook: the same pieces as on the page, from the same plain values."""

import json
from pathlib import Path

from ...results import write_text
from . import html
from .comparison import document

UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


class Report:
    """The report of a comparison. The last expression of a notebook cell shows it.

    Parameters
    ----------
    values : dict
        Plain values, as :func:`mahalearn.app.comparing.findings.findings` returns them and
        comparison.json holds them.
    model : TrainedModel, default=None
        The winner, fitted on all objects.

    Attributes
    ----------
    values : dict
        The plain values.
    best_estimator_ : TrainedModel or None
        The winner.
    document : dict
        Sections and blocks, see :mod:`mahalearn.app.report`.

    Examples
    --------
    >>> from mahalearn.app.report.notebook import Report
    >>> Report.load("no such folder")
    Traceback (most recent call last):
        ...
    FileNotFoundError: 'no such folder' holds no comparison.json; mahalearn compare writes one.
    """

    def __init__(self, values, model=None):
        self.values, self.best_estimator_ = values, model
        try:
            self.document = document(values)
        except UNREADABLE:
            raise ValueError(
                "These are not the values of a comparison that this version of mahalearn knows; "
                "run compare again."
            ) from None

    @classmethod
    def load(cls, path):
        """The report of a finished run; it needs neither the data nor the model.

        Parameters
        ----------
        path : path-like
            comparison.json, or the folder that holds it.

        Returns
        -------
        report : Report
            The report.
        """
        path = Path(path)
        file = path if path.suffix == ".json" else path / "comparison.json"
        if not file.is_file():
            raise FileNotFoundError(
                f"{str(path)!r} holds no comparison.json; mahalearn compare writes one."
            )
        return cls(json.loads(file.read_text(encoding="utf-8")))

    def section(self, name):
        """The report with one section alone.

        Parameters
        ----------
        name : str
            Such as "leaderboard", "map", "importance", "data", "classes", "calibration",
            "learning", "distances", "novelty", "spectrum".

        Returns
        -------
        part : Report
            What a notebook shows.
        """
        sections = {section["id"]: section for section in self.document["sections"]}
        if name not in sections:
            raise ValueError(f"There is no section {name!r}; choose from {', '.join(sections)}.")
        part = Report(self.values, self.best_estimator_)
        part.document = {"title": self.document["title"], "sections": [sections[name]]}
        return part

    def save(self, path):
        """Write the page, one HTML file."""
        write_text(Path(path), html.render(self.document))

    def __repr__(self):
        first, *_, last = document(self.values)["answers"]
        return f"<Report: {first['answer']}. {last['answer']}: {last['detail']}>"

    def _repr_html_(self):
        return html.fragment(self.document)


def compare(X, y, *, methods=None, name="data", folds=5, repeats=2, by="plain", seed=0, jobs=1):
    """Compare classifiers on a table in memory.

    Parameters
    ----------
    X : DataFrame or array-like of shape (n_samples, n_features)
        Numbers and categories; missing values are allowed.
    y : array-like of shape (n_samples,)
        Classes.
    methods : list of str, default=None
        Names as the command ``mahalearn compare`` has them, such as "kqd"; all if None.
    name : str, default="data"
        What the report calls the data.
    folds, repeats : int, default=5, 2
        Outer folds, and how often they are drawn.
    by : {"plain", "balanced"}, default="plain"
        Which error decides.
    seed : int, default=0
        Of all folds and of methods that draw.
    jobs : int, default=1
        Processes.

    Returns
    -------
    report : Report
        What a notebook shows; ``report.save("page.html")`` writes it as one HTML file.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mahalearn.app.report.notebook import compare
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> report = compare(X, y, methods=["lda", "knn"], folds=3, repeats=1, name="iris")
    >>> report.values["winner"]["title"]
    'LDA (reference)'
    """
    import numpy as np
    import pandas as pd

    from ..comparing.compare import conclude, fit_winner, rank
    from ..comparing.plan import Plan
    from ..reading.overview import column_overview
    from ..reading.problem import Problem

    if by not in ("plain", "balanced"):
        raise ValueError(f"by must be 'plain' or 'balanced'; got {by!r}.")
    target = str(getattr(y, "name", None) or "class")
    y = np.asarray(y)
    X = pd.DataFrame(X).reset_index(drop=True)
    X.columns = [str(column) for column in X.columns]
    if len(X) != len(y):
        raise ValueError(f"X has {len(X)} rows and y has {len(y)} classes; they must be as many.")
    if y.dtype.kind not in "iu":
        y = y.astype(str)
    overview = column_overview(X, {}, {}, {})
    problem = Problem("vectors", X, y, name, target=target, overview=overview)
    ranked = rank(problem, methods, Plan(folds, repeats, seed=seed, by=by), jobs=jobs)
    winner = fit_winner(ranked)
    return Report(conclude(ranked, winner), winner.refitted.model)
