"""Plots in scikit-learn's manner: a display holds plain arrays, and ``plot`` draws them.

matplotlib is an extra: ``pip install "mahalearn[plot]"``.
"""

import numpy as np

from .formulas.gram import negative_fraction, signature

__all__ = ["DissimilaritySpaceDisplay", "SpectrumDisplay"]

POSITIVE, NEGATIVE = "#3b6ea5", "#c8553d"
CLASS_COLORS = ("#3b6ea5", "#c8553d", "#5b8c5a", "#8a5a99", "#b08a2e", "#4a4a4a")
_MARKERS = "osD^vP"


def check_matplotlib():
    """matplotlib.pyplot, or an error that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            'Plots need matplotlib, which is not installed: pip install "mahalearn[plot]".'
        ) from error
    return plt


def _axes(ax):
    return check_matplotlib().subplots()[1] if ax is None else ax


def _last_step(estimator):
    return estimator[-1] if hasattr(estimator, "steps") else estimator


class SpectrumDisplay:
    """The eigenvalues of a kernel matrix, the negative ones set off.

    Parameters
    ----------
    eigenvalues : array-like of shape (n,)
        Eigenvalues, in any order.
    name : str, default=None
        For the title.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        Its figure.

    Examples
    --------
    >>> from mahalearn.display import SpectrumDisplay
    >>> display = SpectrumDisplay(eigenvalues=[3.0, 1.0, -0.5])
    >>> display.signature, round(display.negative_fraction, 3)
    ((2, 1), 0.111)
    """

    def __init__(self, *, eigenvalues, name=None):
        self.eigenvalues = np.sort(np.asarray(eigenvalues, dtype=float))[::-1]
        self.name = name

    @property
    def signature(self):
        """Numbers of positive and of negative eigenvalues."""
        return signature(self.eigenvalues)

    @property
    def negative_fraction(self):
        """Share of the negative eigenvalues, Σ_{λ<0}|λ|/Σ|λ|."""
        return negative_fraction(self.eigenvalues)

    @classmethod
    def from_estimator(cls, estimator, *, ax=None, name=None):
        """Draw the spectrum of a fitted kernel estimator's training matrix.

        Parameters
        ----------
        estimator : fitted kernel estimator, or a Pipeline that ends with one
            Anything of this library that takes a kernel.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.
        name : str, default=None
            For the title; the estimator's class if None.

        Returns
        -------
        display : SpectrumDisplay
            The display, drawn.
        """
        estimator = _last_step(estimator)
        if not hasattr(estimator, "kernel_spectrum"):
            raise TypeError(
                f"SpectrumDisplay needs a kernel estimator; {type(estimator).__name__} has no "
                "kernel_spectrum. For a matrix pass its eigenvalues to SpectrumDisplay, or use "
                "mahalearn.proximity.diagnose(matrix).plot()."
            )
        name = type(estimator).__name__ if name is None else name
        return cls(eigenvalues=estimator.kernel_spectrum(), name=name).plot(ax=ax)

    def plot(self, ax=None):
        """Draw the eigenvalues in descending order.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display : SpectrumDisplay
            Itself.
        """
        self.ax_ = ax = _axes(ax)
        self.figure_ = ax.figure
        position = np.arange(1, len(self.eigenvalues) + 1)
        for label, mine, color in (
            ("positive", self.eigenvalues > 0, POSITIVE),
            ("negative", self.eigenvalues < 0, NEGATIVE),
        ):
            if mine.any():
                ax.vlines(position[mine], 0, self.eigenvalues[mine], color=color, linewidth=1.2)
                ax.plot(
                    position[mine],
                    self.eigenvalues[mine],
                    ".",
                    color=color,
                    label=f"{mine.sum()} {label}",
                )
        ax.axhline(0, color="black", linewidth=0.8)
        ax.set_xlabel("eigenvalue, in descending order")
        ax.set_ylabel("λ")
        title = f"negative fraction {self.negative_fraction:.3f}"
        ax.set_title(title if self.name is None else f"{self.name}: {title}")
        if ax.get_legend_handles_labels()[0]:
            ax.legend()
        return self


class DissimilaritySpaceDisplay:
    """Objects by their squared distances to two classes, and where the decision falls.

    Parameters
    ----------
    d2 : array of shape (n_samples, 2)
        Squared distances to the two classes.
    y : array-like of shape (n_samples,)
        Class labels.
    classes : sequence of two labels
        The two classes.
    decide : callable, default=None
        ``decide(d2)`` gives the label for rows of squared distances to the two classes; its regions
        are shaded.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        Its figure.

    Examples
    --------
    >>> import numpy as np
    >>> from mahalearn.display import DissimilaritySpaceDisplay
    >>> d2 = np.array([[1.0, 4.0], [5.0, 1.0]])
    >>> DissimilaritySpaceDisplay(d2=d2, y=["a", "b"], classes=["a", "b"]).plot().ax_.get_xlabel()
    'd² to a'
    """

    def __init__(self, *, d2, y, classes, decide=None):
        self.d2 = np.asarray(d2, dtype=float)
        self.y = np.asarray(y)
        self.classes = list(classes)
        self.decide = decide

    @classmethod
    def from_estimator(cls, estimator, X, y, *, classes=None, ax=None):
        """Draw the objects X in the dissimilarity space of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator, or a Pipeline that ends with one
            With ``mahalanobis``: a kernel quadratic discriminant, a dissimilarity-space
            discriminant, a transformer of distances.
        X : array-like of shape (n_samples, n_features)
            Objects.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : sequence of two labels, default=None
            The two classes to show; the first two if None. Only their objects are drawn.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display : DissimilaritySpaceDisplay
            The display, drawn.
        """
        last = _last_step(estimator)
        if not hasattr(last, "mahalanobis"):
            raise TypeError(
                "DissimilaritySpaceDisplay needs an estimator with distances to the classes; "
                f"{type(last).__name__} has no mahalanobis."
            )
        if last is not estimator:
            X = estimator[:-1].transform(X)
        labels = list(last.classes_)
        pair = labels[:2] if classes is None else list(classes)
        if len(pair) != 2 or not set(pair) <= set(labels):
            raise ValueError(f"classes must be two of {labels}; got {classes!r}.")
        columns = [labels.index(label) for label in pair]
        d2 = last.mahalanobis(X)[:, columns]
        decide = pair_rule(last, columns)
        return cls.from_predictions(d2, y, classes=pair, decide=decide, ax=ax)

    @classmethod
    def from_predictions(cls, d2, y, *, classes, decide=None, ax=None):
        """Draw objects from their squared distances to two classes.

        Parameters
        ----------
        d2 : array-like of shape (n_samples, 2)
            Squared distances to the two classes, best of held-out objects.
        y : array-like of shape (n_samples,)
            Class labels. Only objects of the two classes are drawn.
        classes : sequence of two labels
            The two classes, in the order of the columns.
        decide : callable, default=None
            ``decide(d2)`` gives the label for rows of squared distances.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display : DissimilaritySpaceDisplay
            The display, drawn.
        """
        d2, y, pair = np.asarray(d2, dtype=float), np.asarray(y), list(classes)
        if len(pair) != 2 or d2.shape != (len(y), 2):
            raise ValueError(
                f"d2 must have a row for each of the {len(y)} labels and a column for each of two "
                f"classes; got an array of shape {d2.shape} and {len(pair)} classes."
            )
        mine = np.isin(y, pair)
        return cls(d2=d2[mine], y=y[mine], classes=pair, decide=decide).plot(ax=ax)

    def plot(self, ax=None):
        """Draw the objects and the regions of the decision.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display : DissimilaritySpaceDisplay
            Itself.
        """
        self.ax_ = ax = _axes(ax)
        self.figure_ = ax.figure
        low, high = self.d2.min(axis=0), self.d2.max(axis=0)
        margin = np.where(high > low, 0.05 * (high - low), 1.0)
        low, high = low - margin, high + margin
        if self.decide is not None:
            x, z = np.meshgrid(*(np.linspace(a, b, 200) for a, b in zip(low, high, strict=True)))
            labels = self.decide(np.column_stack([x.ravel(), z.ravel()]))
            second = np.reshape(labels == self.classes[1], x.shape).astype(float)
            ax.contourf(x, z, second, levels=[-0.5, 0.5, 1.5], colors=CLASS_COLORS[:2], alpha=0.15)
        for label, color, marker in zip(self.classes, CLASS_COLORS, _MARKERS, strict=False):
            mine = self.y == label
            ax.plot(
                *self.d2[mine].T, marker, color=color, markersize=4, label=str(label), alpha=0.8
            )
        ax.set_xlabel(f"d² to {self.classes[0]}")
        ax.set_ylabel(f"d² to {self.classes[1]}")
        ax.legend(title="class")
        return self


def pair_rule(estimator, columns):
    """How the estimator decides between two classes by their distances alone; None if unknown."""
    labels = estimator.classes_[columns]
    if hasattr(estimator, "offsets_"):
        b = estimator.offsets_[columns]
        return lambda d2: labels[(b - d2 / 2).argmax(axis=1)]
    if hasattr(estimator, "head_") and len(estimator.classes_) == 2:
        return lambda d2: estimator.head_.predict(d2[:, np.argsort(columns)])
    return None
