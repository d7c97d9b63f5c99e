"""A report in a notebook: the same pieces as on the page, from the same plain values."""

import json
from pathlib import Path

from ...results import write_text
from . import html
from .comparison import document
from .export import KINDS, save_figures

UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


class Report:
    """The report of a comparison. The last expression of a notebook cell shows it.

    Parameters
    ----------
    values : dict
        Plain values, as :func:`mahalearn.app.comparing.findings.findings` returns them and
        comparison.json holds them.

    Attributes
    ----------
    values : dict
        The plain values.
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

    def __init__(self, values):
        try:
            self.values, self.document = values, document(values)
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

    @property
    def answer(self):
        """The answers to the first and the last question of the page."""
        first, *_, last = self.document["answers"]
        return f"{first['answer']}. {first['detail']} {last['answer']}: {last['detail']}"

    def section(self, name):
        """One section as a report of its own.

        Parameters
        ----------
        name : str
            Such as "leaderboard", "map", "importance", "data", "classes", "calibration",
            "learning", "distances", "novelty", "spectrum".

        Returns
        -------
        part : Fragment
            What a notebook shows.
        """
        names = [section["id"] for section in self.document["sections"]]
        if name not in names:
            raise ValueError(f"There is no section {name!r}; choose from {', '.join(names)}.")
        chosen = self.document["sections"][names.index(name)]
        return Fragment({"title": self.document["title"], "sections": [chosen]})

    def html(self):
        """The whole page, as text."""
        return html.render(self.document)

    def save(self, path):
        """Write the page, one HTML file.

        Parameters
        ----------
        path : path-like
            The file.

        Returns
        -------
        path : Path
            The same.
        """
        path = Path(path)
        write_text(path, self.html())
        return path

    def save_figures(self, folder, kinds=KINDS):
        """Write each figure as SVG and PNG, and all numbers as CSV.

        Parameters
        ----------
        folder : path-like
            Where to.
        kinds : sequence of {"svg", "png", "csv"}
            Which files are wanted.

        Returns
        -------
        paths : list of Path
            The files.
        """
        return save_figures(self.document, folder, kinds)

    def __repr__(self):
        return f"<Report: {self.answer}>"

    def _repr_html_(self):
        return html.fragment(self.document)


class Fragment:
    """A part of a report, for a notebook.

    Parameters
    ----------
    document : dict
        See :mod:`mahalearn.app.report`.
    """

    def __init__(self, document):
        self.document = document

    def __repr__(self):
        return f"<{self.document['sections'][0]['title']}>"

    def _repr_html_(self):
        return html.fragment(self.document)


class Comparison:
    """A finished comparison of classifiers, with its report.

    Parameters
    ----------
    values : dict
        Plain values for the report.
    model : TrainedModel
        The winner, fitted on all objects.

    Attributes
    ----------
    values : dict
        The plain values.
    best_estimator_ : TrainedModel
        The winner, fitted on all objects.
    """

    def __init__(self, values, model):
        self.values = values
        self.best_estimator_ = model

    def report(self, path=None):
        """The report; with a path it is also written as one HTML file.

        Parameters
        ----------
        path : path-like, default=None
            The file.

        Returns
        -------
        report : Report
            What a notebook shows.
        """
        report = Report(self.values)
        if path is not None:
            report.save(path)
        return report

    def __repr__(self):
        return f"<Comparison: {self.report().answer}>"

    def _repr_html_(self):
        return self.report().section("leaderboard")._repr_html_()


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
    comparison : Comparison
        With ``report()``; a notebook shows its leaderboard.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mahalearn.app.report.notebook import compare
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> comparison = compare(X, y, methods=["lda", "knn"], folds=3, repeats=1, name="iris")
    >>> comparison.values["winner"]["title"]
    'LDA (reference)'
    """
    import numpy as np
    import pandas as pd

    from ..comparing.compare import conclude, fit_winner, rank
    from ..comparing.plan import Plan
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
    problem = Problem("vectors", X, y, name, target=target)
    ranked = rank(problem, methods, Plan(folds, repeats, seed=seed, by=by), jobs=jobs)
    winner = fit_winner(ranked)
    return Comparison(conclude(ranked, winner), winner.refitted.model)
