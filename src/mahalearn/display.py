"""Plots in scikit-learn's manner: a display holds plain arrays, and ``plot`` draws them.

matplotlib is an extra: ``pip install "mahalearn[plot]"``.
"""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from ._lazy import extra_module
from ._typing import ArrayLike, Objects
from .formulas.linalg import negative_fraction, signature

__all__ = ["CoomansDisplay", "DissimilaritySpaceDisplay", "SpectrumDisplay", "TypicalityDisplay"]

POSITIVE, NEGATIVE = "#3b6ea5", "#c8553d"
CLASS_COLORS = ("#3b6ea5", "#c8553d", "#5b8c5a", "#8a5a99", "#b08a2e", "#4a4a4a")
_MARKERS = "osD^vP"


def _axes(display, ax):
    """Where a display draws, which it remembers."""
    if ax is None:
        _, ax = extra_module("matplotlib.pyplot", "Plots need matplotlib", "plot").subplots()
    display.ax_ = ax
    display.figure_ = display.ax_.figure
    return display.ax_


def _last_step(estimator, method, remedy, X=None):
    """The last step of a pipeline or the best of a search, and X as it sees it.

    Without the method it is refused with a remedy.
    """
    if hasattr(estimator, "cv_results_"):
        return _last_step(estimator.best_estimator_, method, remedy, X)
    if hasattr(estimator, "steps"):
        X = None if X is None else estimator[:-1].transform(X)
        return _last_step(estimator[-1], method, remedy, X)
    if not hasattr(estimator, method):
        raise TypeError(f"{type(estimator).__name__} has no {method}. {remedy}")
    return estimator, X


def _ordered_labels(y, classes):
    """The labels of y: those among `classes` first, in their order, then the others, sorted."""
    labels, first = np.unique(y).tolist(), np.asarray(classes).tolist()
    return [x for x in first if x in labels] + [x for x in labels if x not in first]


def _plot_classes(ax, d2, y, labels):
    """Points of each class in its colour, by their distances to two classes."""
    for i, label in enumerate(labels):
        color = CLASS_COLORS[i % len(CLASS_COLORS)]
        points, marker = d2[y == label].T, _MARKERS[i % len(_MARKERS)]
        ax.plot(*points, marker, color=color, markersize=4, alpha=0.8, label=str(label))


def _two_classes(estimator, classes):
    """Two of the classes, the first two if None, and their positions."""
    # A detector's predict gives no class, so that its labels have another name.
    labels = list(getattr(estimator, "class_labels_", getattr(estimator, "classes_", ())))
    pair = labels[:2] if classes is None else list(classes)
    if len(pair) != 2 or not set(pair) <= set(labels):
        raise ValueError(f"classes must be two of {labels}; got {classes!r}.")
    return pair, [labels.index(label) for label in pair]


class SpectrumDisplay:
    """The eigenvalues of a kernel matrix, the negative ones set off.

    Read more in the :doc:`user guide </indefinite>`.

    Parameters
    ----------
    eigenvalues : array-like of shape (n,)
        Eigenvalues, in any order.
    name : str, default=None
        Name of the kernel or estimator, shown in the title.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        Its figure.

    See Also
    --------
    mahalearn.proximity.diagnose : Diagnosis of a distance matrix.

    Examples
    --------
    >>> from mahalearn.display import SpectrumDisplay
    >>> display = SpectrumDisplay(eigenvalues=[3.0, 1.0, -0.5])
    >>> display.signature, round(display.negative_fraction, 3)
    ((2, 1), 0.111)
    """

    def __init__(self, *, eigenvalues: ArrayLike, name: str | None = None) -> None:
        self.eigenvalues = np.sort(np.asarray(eigenvalues, dtype=float))[::-1]
        self.name = name

    @property
    def signature(self) -> tuple[int, int]:
        """Numbers of positive and of negative eigenvalues."""
        return signature(self.eigenvalues)

    @property
    def negative_fraction(self) -> float:
        """Share of the negative eigenvalues, Σ_{λ<0}|λ|/Σ|λ|."""
        return negative_fraction(self.eigenvalues)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, name: str | None = None) -> Self:
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
        remedy = (
            "SpectrumDisplay needs a kernel estimator. For a matrix pass its eigenvalues, or use "
            "mahalearn.proximity.diagnose(matrix).plot()."
        )
        estimator, _ = _last_step(estimator, "kernel_spectrum", remedy)
        name = type(estimator).__name__ if name is None else name
        return cls(eigenvalues=estimator.kernel_spectrum(), name=name).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
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
        ax = _axes(self, ax)
        position = np.arange(1, len(self.eigenvalues) + 1)
        for label, sign, color in (("positive", 1, POSITIVE), ("negative", -1, NEGATIVE)):
            selected = np.sign(self.eigenvalues) == sign
            if selected.any():
                x, values = position[selected], self.eigenvalues[selected]
                ax.vlines(x, 0, values, color=color, linewidth=1.2)
                ax.plot(x, values, ".", color=color, label=f"{len(x)} {label}")
        ax.axhline(0, color="black", linewidth=0.8)
        name = "" if self.name is None else f"{self.name}: "
        title = f"{name}negative fraction {self.negative_fraction:.3f}"
        ax.set(xlabel="eigenvalue, in descending order", ylabel="λ", title=title)
        if self.eigenvalues.any():
            ax.legend()
        return self


class DissimilaritySpaceDisplay:
    """Objects by their squared distances to two classes, and where the decision falls.

    Read more in the :doc:`user guide </dissimilarity_space>`.

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

    See Also
    --------
    mahalearn.DissimilaritySpaceDiscriminant : A classifier on the distances to the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from mahalearn.display import DissimilaritySpaceDisplay
    >>> d2 = np.array([[1.0, 4.0], [5.0, 1.0]])
    >>> DissimilaritySpaceDisplay(d2=d2, y=["a", "b"], classes=["a", "b"]).plot().ax_.get_xlabel()
    'd² to a'
    """

    def __init__(
        self, *, d2: ArrayLike, y: Objects, classes: Any, decide: Callable[..., Any] | None = None
    ) -> None:
        self.d2 = np.asarray(d2, dtype=float)
        self.y = np.asarray(y)
        self.classes = list(classes)
        self.decide = decide

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Objects, y: Objects, *, classes: Any = None, ax: Any = None
    ) -> Self:
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
        remedy = "DissimilaritySpaceDisplay needs an estimator with distances to the classes."
        last, X = _last_step(estimator, "mahalanobis", remedy, X)
        pair, columns = _two_classes(last, classes)
        d2 = last.mahalanobis(X)[:, columns]
        decide = pair_rule(last, columns)
        return cls.from_predictions(d2, y, classes=pair, decide=decide, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        d2: ArrayLike,
        y: Objects,
        *,
        classes: Any,
        decide: Callable[..., Any] | None = None,
        ax: Any = None,
    ) -> Self:
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
        selected = np.isin(y, pair)
        return cls(d2=d2[selected], y=y[selected], classes=pair, decide=decide).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
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
        ax = _axes(self, ax)
        low, high = self.d2.min(axis=0), self.d2.max(axis=0)
        margin = np.where(high > low, 0.05 * (high - low), 1.0)
        low, high = low - margin, high + margin
        if self.decide is not None:
            x, z = np.meshgrid(*(np.linspace(a, b, 200) for a, b in zip(low, high, strict=True)))
            labels = self.decide(np.column_stack([x.ravel(), z.ravel()]))
            second = np.reshape(labels == self.classes[1], x.shape).astype(float)
            ax.contourf(x, z, second, levels=[-0.5, 0.5, 1.5], colors=CLASS_COLORS[:2], alpha=0.15)
        _plot_classes(ax, self.d2, self.y, self.classes)
        ax.set(xlabel=f"d² to {self.classes[0]}", ylabel=f"d² to {self.classes[1]}")
        ax.legend(title="class")
        return self


class CoomansDisplay:
    """Coomans plot: distances to two classes, with the limits beyond which a class is rejected.

    Four fields: lower left, both classes are possible; upper left and lower right, one of them;
    upper right, neither.

    Read more in the :doc:`user guide </novelty>`.

    Parameters
    ----------
    d2 : array-like of shape (n_samples, 2)
        Squared distances to the two classes.
    limits : sequence of two floats
        Limits of the distances.
    classes : sequence of two labels
        The two classes.
    y : array-like of shape (n_samples,), default=None
        True labels, for colours; they may name other classes.
    level : float, default=0.05
        Share of a class's own objects beyond its limit, for the labels.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        Its figure.

    See Also
    --------
    mahalearn.display.TypicalityDisplay : Distribution of p-values.
    mahalearn.KernelMahalanobisNovelty : Novelty detection with a kernel or a measure.

    Examples
    --------
    >>> from mahalearn.display import CoomansDisplay
    >>> display = CoomansDisplay.from_predictions(
    ...     [[1.0, 9.0], [8.0, 2.0], [7.0, 9.0]],
    ...     training_d2=[[1, 9], [2, 8], [3, 7], [9, 1], [8, 2], [7, 3]],
    ...     training_codes=[0, 0, 0, 1, 1, 1],
    ...     classes=["a", "b"],
    ...     level=0.25,
    ... )
    >>> display.limits
    (3.0, 3.0)
    """

    def __init__(
        self,
        *,
        d2: ArrayLike,
        limits: Sequence[float],
        classes: Any,
        y: Objects | None = None,
        level: float = 0.05,
    ) -> None:
        self.d2 = np.asarray(d2, dtype=float)
        self.limits = tuple(limits)
        self.classes = list(classes)
        self.y = None if y is None else np.asarray(y)
        self.level = level

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Objects,
        y: Objects | None = None,
        *,
        classes: Any = None,
        level: float | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw objects by a fitted :class:`mahalearn.KernelMahalanobisNovelty`.

        Parameters
        ----------
        estimator : KernelMahalanobisNovelty, or a Pipeline that ends with one
            Fitted on two classes or more.
        X : array-like of shape (n_samples, n_features)
            Objects.
        y : array-like of shape (n_samples,), default=None
            True labels, for colours; they may name classes that the estimator does not know.
        classes : sequence of two labels, default=None
            The two classes of the axes; the first two if None.
        level : float, default=None
            Share of a class's own objects beyond its limit; the estimator's `level` if None.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display : CoomansDisplay
            The display, drawn.
        """
        remedy = (
            "CoomansDisplay needs a KernelMahalanobisNovelty; for other distances use "
            "CoomansDisplay.from_predictions."
        )
        last, X = _last_step(estimator, "training_distances", remedy, X)
        pair, columns = _two_classes(last, classes)
        position = {column: i for i, column in enumerate(columns)}
        return cls.from_predictions(
            last.mahalanobis(X)[:, columns],
            training_d2=last.training_distances()[:, columns],
            training_codes=[position.get(code, -1) for code in last.training_codes().tolist()],
            classes=pair,
            y=y,
            level=last.level if level is None else level,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        d2: ArrayLike,
        *,
        training_d2: ArrayLike,
        training_codes: ArrayLike,
        classes: Any,
        y: Objects | None = None,
        level: float = 0.05,
        ax: Any = None,
    ) -> Self:
        """Draw objects from their distances to two classes.

        Parameters
        ----------
        d2 : array-like of shape (n_samples, 2)
            Squared distances of the objects.
        training_d2 : array-like of shape (n_training, 2)
            Squared distances of training objects that were left out, or held out.
        training_codes : array-like of shape (n_training,)
            0 and 1 for training objects of the two classes; others are not used.
        classes : sequence of two labels
            The two classes.
        y : array-like of shape (n_samples,), default=None
            True labels, for colours.
        level : float, default=0.05
            Share of a class's own objects beyond its limit.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display : CoomansDisplay
            The display, drawn.
        """
        training_d2 = np.asarray(training_d2, dtype=float)
        codes = np.asarray(training_codes)
        limits = [conformal_limit(training_d2[codes == j, j], level) for j in (0, 1)]
        return cls(d2=d2, limits=limits, classes=classes, y=y, level=level).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the objects and the limits.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display : CoomansDisplay
            Itself.
        """
        ax = _axes(self, ax)
        y = np.full(len(self.d2), "objects") if self.y is None else self.y
        _plot_classes(ax, self.d2, y, _ordered_labels(y, self.classes))
        for limit, line in zip(self.limits, (ax.axvline, ax.axhline), strict=True):
            if np.isfinite(limit):
                line(limit, color="black", linewidth=1, linestyle="--")
        if (self.d2 > 0).all():
            ax.set(xscale="log", yscale="log")
        title = f"Dashed: limits that {1 - self.level:.0%} of a class stay within"
        ax.set(xlabel=f"d² to {self.classes[0]}", ylabel=f"d² to {self.classes[1]}", title=title)
        ax.legend()
        return self


def conformal_limit(left_out, level):
    """The distance that a share of at most `level` of a class's new objects exceeds.

    The ⌈(1 − level)(n + 1)⌉-th smallest of the n distances of objects that were left out; inf where
    n is too small for the level.
    """
    left_out = np.sort(np.asarray(left_out, dtype=float))
    k = int(np.ceil((1 - level) * (len(left_out) + 1) - 1e-9))
    return float(left_out[k - 1]) if k <= len(left_out) else np.inf


class TypicalityDisplay:
    """Typicality plot: for each class, the share of its objects with a p-value up to p.

    Objects that are drawn as the training objects were follow the diagonal or stay below it;
    unknown ones rise at once.

    Read more in the :doc:`user guide </p_values>`.

    Parameters
    ----------
    p_values : array-like of shape (n_samples,)
        p-values of the objects.
    y : array-like of shape (n_samples,), default=None
        Labels that group the objects; one group if None.
    level : float, default=0.05
        Level to mark.
    classes : sequence of labels, default=None
        Known classes, which come first: they then have the colours of :class:`CoomansDisplay`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        Its figure.

    See Also
    --------
    mahalearn.display.CoomansDisplay : Distances to two classes.

    Examples
    --------
    >>> from mahalearn.display import TypicalityDisplay
    >>> display = TypicalityDisplay(p_values=[0.02, 0.04, 0.5, 0.9], y=[1, 1, 0, 0])
    >>> display.rejected
    {0: 0.0, 1: 1.0}
    """

    def __init__(
        self,
        *,
        p_values: ArrayLike,
        y: Objects | None = None,
        level: float = 0.05,
        classes: Any = None,
    ) -> None:
        self.p_values = np.asarray(p_values, dtype=float)
        self.y = np.zeros(len(self.p_values), dtype=int) if y is None else np.asarray(y)
        self.grouped = y is not None
        self.level = level
        self.classes = () if classes is None else classes

    @property
    def rejected(self) -> dict[Any, float]:
        """Share of each group with a p-value of at most `level`."""
        below = self.p_values <= self.level + 1e-12
        labels = _ordered_labels(self.y, self.classes)
        return {label: float(below[self.y == label].mean()) for label in labels}

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Objects,
        y: Objects | None = None,
        *,
        level: float | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the p-values of "one of the known classes" of a fitted estimator.

        Parameters
        ----------
        estimator : KernelMahalanobisNovelty, or a Pipeline that ends with one
            A fitted estimator with ``p_none``.
        X : array-like of shape (n_samples, n_features)
            Objects that were not trained on.
        y : array-like of shape (n_samples,), default=None
            Labels that group them, of unknown classes too.
        level : float, default=None
            Level to mark; the estimator's if None.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display : TypicalityDisplay
            The display, drawn.
        """
        remedy = (
            "TypicalityDisplay needs a KernelMahalanobisNovelty; for computed p-values use "
            "TypicalityDisplay.from_predictions."
        )
        last, X = _last_step(estimator, "p_none", remedy, X)
        level = last.level if level is None else level
        display = cls(p_values=last.p_none(X), y=y, level=level, classes=last.class_labels_)
        return display.plot(ax=ax)

    @classmethod
    def from_predictions(
        cls, p_values: ArrayLike, y: Objects | None = None, *, level: float = 0.05, ax: Any = None
    ) -> Self:
        """Draw p-values.

        Parameters
        ----------
        p_values : array-like of shape (n_samples,)
            p-values of the objects.
        y : array-like of shape (n_samples,), default=None
            Labels that group them.
        level : float, default=0.05
            Level to mark.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display : TypicalityDisplay
            The display, drawn.
        """
        return cls(p_values=p_values, y=y, level=level).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the distribution of each group's p-values.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display : TypicalityDisplay
            Itself.
        """
        ax = _axes(self, ax)
        for i, (label, share) in enumerate(self.rejected.items()):
            selected = np.sort(self.p_values[self.y == label])
            name = f"{label}: " if self.grouped else ""
            ax.step(
                np.concatenate([[0], selected, [1]]),
                np.concatenate([np.arange(len(selected) + 1) / len(selected), [1]]),
                where="post",
                color=CLASS_COLORS[i % len(CLASS_COLORS)],
                label=f"{name}{share:.0%} rejected",
            )
        ax.plot([0, 1], [0, 1], color="black", linewidth=0.8)
        ax.axvline(self.level, color="black", linewidth=1, linestyle="--")
        ax.set(xlabel="p-value", ylabel="share of the objects with at most this p-value")
        ax.legend()
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
