"""Diagnosis of a matrix of dissimilarities or similarities, with advice on methods."""

import html
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_array, check_consistent_length, check_random_state, column_or_1d

from .._typing import ArrayLike, Objects, RandomState
from .._validation import (
    SYMMETRY_RTOL,
    check_choice,
    check_memory,
    check_squarable,
    check_square,
    without_mask,
)
from ..display import SpectrumDisplay
from ..formulas.dissimilarities import (
    TRIANGLE_EXACT,
    effective_dimension,
    intrinsic_dimension,
    nearest_neighbor_errors,
    triangle_violations,
)
from ..formulas.linalg import (
    center_gram,
    centering,
    eigh,
    mean_distance_sq,
    negative_fraction,
    signature,
)
from ..kernels.proximity_kernel import suspicions

KINDS = ("dissimilarity", "similarity")
# Below this share of the spectrum the negative part is noise to most methods (C calls its data
# "nearly pd" up to 0.02).
NEARLY_DEFINITE = 0.02
# Distances that differ by less than this fraction of their median count as equal, and so large a
# share of equal ones as all.
EQUAL_RTOL, NEARLY_ALL = 0.01, 0.95
# Objects whose distances are looked at, of a large matrix.
MOST_OBJECTS = 2000


@dataclass(frozen=True, repr=False)
class ProximityDiagnosis:
    """Result of :func:`diagnose`. Printing it gives a table; notebooks show it as HTML.

    Read more in the :doc:`user guide </indefinite>`.

    Parameters
    ----------
    kind : str
        "dissimilarity" or "similarity".
    n_objects : int
        Number of objects.
    asymmetry : float
        Largest \\|m_ij − m_ji\\| as a fraction of the largest value. The other values are those of
        the symmetric part.
    self_dissimilarity : float
        Largest \\|d(x, x)\\|; for similarities the spread of s(x, x).
    eigenvalues : ndarray of shape (n_objects,)
        Eigenvalues of the centred kernel −d²/2 or s, ascending; negligible ones are 0.
    signature : tuple of int
        Numbers (p, q) of positive and negative eigenvalues.
    negative_fraction : float
        r_neg = Σ_{λ<0}|λ|/Σ|λ|.
    eigen_ratio : float
        \\|λ_min\\|/λ_max for a negative λ_min, else 0.
    triangle_violations : float
        Fraction of inequalities d_ij ≤ d_ik + d_kj that do not hold.
    triangle_interval : tuple of float
        95 % interval of that fraction; of no width where all of them were counted.
    effective_dimension : float
        (Σ|λ|)²/Σλ²: the number of equal eigenvalues with the same spread.
    intrinsic_dimension : float
        2·mean(d²)²/var(d²): the dimension of a normal cloud with such squared distances.
    nearest_neighbor_error : float or None
        Leave-one-out error of the nearest neighbour; of equally near ones each counts in part.
    balanced_nearest_neighbor_error : float or None
        The mean of that error over the classes.
    classes : ndarray or None
        Class labels.
    class_mean_sq_distances : ndarray of shape (n_classes, n_classes) or None
        Squared distances between class means in the Kreĭn space; they can be negative.
    warnings : tuple of str
        Problems of the matrix.
    advice : tuple of str
        Advice that follows from the values.

    See Also
    --------
    diagnose : Diagnosis of a distance matrix.
    mahalearn.ProximityKernel : From a distance matrix to a kernel matrix.

    Examples
    --------
    >>> from mahalearn.measures import pairwise
    >>> from mahalearn.proximity import diagnose
    >>> words = ["one", "two", "three", "four", "uno", "due", "tre", "quattro"]
    >>> found = diagnose(pairwise(words, "edit"), y=["en"] * 4 + ["it"] * 4)
    >>> found.signature, round(found.negative_fraction, 2)
    ((5, 2), 0.05)
    """

    kind: str
    n_objects: int
    asymmetry: float
    self_dissimilarity: float
    eigenvalues: np.ndarray
    signature: tuple
    negative_fraction: float
    eigen_ratio: float
    triangle_violations: float
    triangle_interval: tuple
    effective_dimension: float
    intrinsic_dimension: float
    nearest_neighbor_error: float | None = None
    balanced_nearest_neighbor_error: float | None = None
    classes: np.ndarray | None = None
    class_mean_sq_distances: np.ndarray | None = None
    warnings: tuple = ()
    advice: tuple = field(default=())

    def rows(self) -> list[tuple[str, str]]:
        """The table as text.

        Returns
        -------
        rows : list of tuple of str
            Pairs of a name and a text.
        """
        self_name = "largest self-dissimilarity"
        if self.kind == "similarity":
            self_name = "spread of self-similarities"
        low, high = self.triangle_interval
        triangle = f"{self.triangle_violations:.3g}"
        triangle += " (all counted)" if low == high else f" (sampled; {low:.3g} to {high:.3g})"
        rows = [
            ("objects", str(self.n_objects)),
            ("asymmetry", f"{self.asymmetry:.2g}"),
            (self_name, f"{self.self_dissimilarity:.3g}"),
            ("signature (p, q)", f"({self.signature[0]}, {self.signature[1]})"),
            ("negative fraction r_neg", f"{self.negative_fraction:.4f}"),
            ("eigen-ratio |λ_min|/λ_max", f"{self.eigen_ratio:.4f}"),
            ("violated triangle inequalities", triangle),
            ("effective dimension", f"{self.effective_dimension:.1f}"),
            ("intrinsic dimension", f"{self.intrinsic_dimension:.1f}"),
        ]
        if self.class_mean_sq_distances is not None and self.classes is not None:
            balanced = f"{self.balanced_nearest_neighbor_error:.1%} balanced"
            rows.append(
                ("leave-one-out 1-NN error", f"{self.nearest_neighbor_error:.1%} ({balanced})")
            )
            means = self.class_mean_sq_distances[np.triu_indices(len(self.classes), 1)]
            rows.append(("d² between class means", f"{means.min():.3g} to {means.max():.3g}"))
        return rows

    def __str__(self):
        width = max(len(name) for name, _ in self.rows())
        lines = [f"A {self.kind} matrix"]
        lines += [f"  {name:<{width}}  {text}" for name, text in self.rows()]
        lines += [f"! {sentence}" for sentence in self.warnings]
        lines += [f"- {sentence}" for sentence in self.advice]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self):
        cells = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
            for name, text in self.rows()
        )
        remarks = [f"<b>{html.escape(text)}</b>" for text in self.warnings]
        remarks += [html.escape(text) for text in self.advice]
        items = "".join(f"<li>{text}</li>" for text in remarks)
        return (
            f"<table><caption>A {html.escape(self.kind)} matrix</caption>{cells}</table>"
            f"<ul>{items}</ul>"
        )

    def plot(self, ax: Any = None) -> SpectrumDisplay:
        """Draw the spectrum.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display : SpectrumDisplay
            The display, drawn.
        """
        return SpectrumDisplay(eigenvalues=self.eigenvalues, name=self.kind).plot(ax=ax)


def diagnose(
    matrix: ArrayLike,
    y: Objects | None = None,
    kind: Literal["dissimilarity", "similarity"] = "dissimilarity",
    *,
    random_state: RandomState = 0,
) -> ProximityDiagnosis:
    """Look at a matrix of dissimilarities or similarities before choosing a method.

    Read more in the :doc:`user guide </distance_matrix>`.

    Parameters
    ----------
    matrix : array-like of shape (n_objects, n_objects)
        Proximities between all objects.
    y : array-like of shape (n_objects,), default=None
        Class labels, for what depends on classes.
    kind : {"dissimilarity", "similarity"}, default="dissimilarity"
        What the matrix holds.
    random_state : int or RandomState instance, default=0
        Seed of the sample of triangles that is drawn from a large matrix.

    Returns
    -------
    diagnosis : ProximityDiagnosis
        The findings, as plain attributes; printing it gives a table.

    See Also
    --------
    mahalearn.ProximityKernel : From a distance matrix to a kernel matrix.
    mahalearn.PseudoEuclideanEmbedding : Coordinates for an indefinite kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from mahalearn.proximity import diagnose
    >>> x = np.array([0.0, 1.0, 3.0, 4.0])
    >>> found = diagnose(np.abs(np.subtract.outer(x, x)), y=["a", "a", "b", "b"])
    >>> found.signature, found.negative_fraction, found.triangle_violations
    ((1, 0), 0.0, 0.0)
    >>> print(found.advice[0])
    The dissimilarities are Euclidean: every kernel method applies as it is.
    """
    kind = check_choice(kind, "kind", KINDS)
    matrix = check_array(without_mask(matrix), dtype=np.float64, input_name=f"{kind} matrix")
    matrix = np.asarray(matrix)
    n = len(matrix)
    check_square(matrix, f"The {kind} matrix")
    check_memory(5 * n**2, f"The diagnosis of {n} objects")
    largest = np.abs(matrix).max()
    if kind == "dissimilarity":
        check_squarable(largest, "The dissimilarity matrix")
    asymmetry = float(np.abs(matrix - matrix.T).max() / largest) if largest else 0.0
    matrix = np.asarray((matrix + matrix.T) / 2)
    diagonal = matrix.diagonal()

    warnings = list(suspicions(matrix, kind))
    if asymmetry > SYMMETRY_RTOL:
        warnings.append(
            f"The matrix is not symmetric (largest difference {asymmetry:.1%} of the largest "
            "value). This describes the mean of both directions, which the methods need, too."
        )
    if kind == "dissimilarity":
        self_value = float(np.abs(diagonal).max())
        K, d2 = -(matrix**2) / 2, matrix**2
        if self_value > SYMMETRY_RTOL * largest:
            warnings.append(
                f"Objects are not at dissimilarity 0 from themselves (up to {self_value:.3g}); "
                "most methods assume so."
            )
    else:
        self_value = float(np.ptp(diagonal))
        K, d2 = matrix.copy(), diagonal[:, None] + diagonal - 2 * matrix
    np.fill_diagonal(d2, 0.0)
    by_class = {} if y is None else _by_class(K, d2, y)
    values = eigh(center_gram(K, centering(K), overwrite=True), vectors=False).values
    # Of a similarity the distances are those of its space; imaginary ones count as 0.
    d = matrix if kind == "dissimilarity" else np.sqrt(np.maximum(d2, 0.0))
    if equal := equal_distances(d):
        warnings.append(equal)
    fraction, interval = triangle_violations(d, check_random_state(random_state))
    lowest, highest = float(values.min()), float(values.max())
    figures = {
        "kind": kind,
        "n_objects": n,
        "asymmetry": asymmetry,
        "self_dissimilarity": self_value,
        "eigenvalues": values,
        "signature": signature(values),
        "negative_fraction": negative_fraction(values),
        "eigen_ratio": -lowest / highest if lowest < 0 < highest else float(lowest < 0),
        "triangle_violations": fraction,
        "triangle_interval": interval,
        "effective_dimension": effective_dimension(values),
        "intrinsic_dimension": intrinsic_dimension(d2),
        "warnings": tuple(warnings),
        **by_class,
    }
    return ProximityDiagnosis(**figures, advice=tuple(_advice(figures, bool(equal))))


def equal_share(d):
    """Share of the distances between different objects that are within 1 % of their median.

    Parameters
    ----------
    d : array-like of shape (n_objects, n_objects)
        Distances; only the order of the objects matters to which of a large matrix are looked at.

    Returns
    -------
    share : float
        Between 0 and 1; 0 for fewer than three objects.

    Examples
    --------
    >>> import numpy as np
    >>> from mahalearn.proximity.diagnosis import equal_share
    >>> equal_share(1 - np.eye(4)), equal_share([[0, 1, 3], [1, 0, 2], [3, 2, 0]])
    (1.0, 0.3333333333333333)
    """
    d = np.asarray(d, dtype=float)
    step = -(-len(d) // MOST_OBJECTS)
    d = d[::step, ::step]
    if len(d) < 3:
        return 0.0
    values = d[np.triu_indices(len(d), 1)]
    middle = np.median(values)
    return float(np.mean(np.abs(values - middle) <= EQUAL_RTOL * abs(middle)))


def equal_distances(d):
    """A sentence on distances that are nearly all equal; None if they are not.

    Parameters
    ----------
    d : array-like of shape (n_objects, n_objects)
        Distances.

    Returns
    -------
    sentence : str or None
        What it means for a classifier.
    """
    share = equal_share(d)
    if share < NEARLY_ALL:
        return None
    text = "All" if share == 1 else f"{share:.1%} of the"
    return (
        f"{text} distances between different objects are equal to within {EQUAL_RTOL:.0%}: the "
        "measure hardly tells these objects apart, and classifiers that use it will hardly do "
        "better than guessing; use another measure, or another form of the data."
    )


def _by_class(K, d2, y):
    y = column_or_1d(y, warn=True)
    check_consistent_length(K, y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must hold at least two classes; got {classes.tolist()!r}.")
    errors = nearest_neighbor_errors(d2, codes)
    members = [np.flatnonzero(codes == j) for j in range(len(classes))]
    means = np.array([[mean_distance_sq(K, a, b) for b in members] for a in members])
    return {
        "nearest_neighbor_error": float(errors.mean()),
        "balanced_nearest_neighbor_error": float(np.mean([errors[m].mean() for m in members])),
        "classes": classes,
        "class_mean_sq_distances": means,
    }


def _advice(figures, equal):
    """Two or three plain sentences."""
    r_neg, (p, q) = figures["negative_fraction"], figures["signature"]
    matrix, fine, bad = "similarities", "positive definite", "indefinite"
    if figures["kind"] == "dissimilarity":
        matrix, fine, bad = "dissimilarities", "Euclidean", "not Euclidean"
    if equal:
        yield (
            "If all distances are equal, no kernel method can learn from them, whatever the "
            "spectrum is."
        )
    elif q == 0:
        yield f"The {matrix} are {fine}: every kernel method applies as it is."
    elif r_neg < NEARLY_DEFINITE:
        yield (
            f"The {matrix} are nearly {fine} ({r_neg:.1%} of the spectrum is negative): any "
            f"kernel method can be used, and spectrum='clip' removes almost nothing."
        )
    else:
        yield (
            f"The {matrix} are {bad} ({r_neg:.0%} of the spectrum is negative, signature "
            f"({p}, {q})): methods for indefinite kernels (spectrum='krein') use that part; "
            "compare them with 'clip' and 'flip', which remove or reverse it."
        )
    means = figures.get("class_mean_sq_distances")
    if means is not None and (means < 0).any():
        i, j = np.unravel_index(means.argmin(), means.shape)
        a, b = figures["classes"][[i, j]]
        yield (
            f"The means of the classes {a} and {b} are at a negative squared distance: nearest "
            "means and support vector machines cannot be trusted with this kernel."
        )
    elif figures["triangle_violations"] > 0:
        yield (
            f"{100 * figures['triangle_violations']:.2g}% of the triangle inequalities do not "
            "hold: searches that rely on a metric would miss neighbours."
        )
    error = figures.get("nearest_neighbor_error")
    if error is not None:
        yield f"The nearest neighbour has an error of {error:.1%}; a classifier should have less."
    elif figures["n_objects"] > TRIANGLE_EXACT:
        yield "Pass y to see how well the nearest neighbour does and how far class means are apart."
