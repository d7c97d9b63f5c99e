"""How well predictions fit classes that are known."""

from collections import Counter
from typing import NamedTuple

import numpy as np
from sklearn.metrics import confusion_matrix

from ..reading.problem import listed
from ..words import counted
from .methods import SMALLEST


class Scores(NamedTuple):
    """Quality of predictions.

    Attributes
    ----------
    n : int
        Objects whose class is known.
    accuracy, balanced_accuracy, log_loss : float
        Share of right labels, its mean over the classes, and minus the mean logarithm of the
        probability of the true class.
    baseline : float
        Log loss of the shares of the classes among these objects.
    classes : list of str
        Of the model.
    confusion : list of list of int
        True classes in rows, predicted ones in columns.
    notes : list of str
        What was left out.
    """

    n: int
    accuracy: float
    balanced_accuracy: float
    log_loss: float
    baseline: float
    classes: list
    confusion: list
    notes: list


def score(truth, predicted, proba, classes):
    """Compare predictions with the true classes.

    Parameters
    ----------
    truth : list of str or None
        True classes, None where they are not known.
    predicted : list of str
        Predicted ones.
    proba : ndarray of shape (m, c)
        Probabilities of the classes.
    classes : list of str
        Of the model.

    Returns
    -------
    scores : Scores

    Examples
    --------
    >>> import numpy as np
    >>> from mahalearn.app.comparing.prediction_quality import score
    >>> found = score(["a", "b", None], ["a", "a", "b"], np.full((3, 2), 0.5), ["a", "b"])
    >>> found.accuracy, found.confusion
    (0.5, [[1, 0], [1, 0]])
    """
    notes, code = [], {label: j for j, label in enumerate(classes)}
    unknown = Counter(label for label in truth if label is not None and label not in code)
    if unknown:
        times = sum(unknown.values())
        notes.append(
            f"{counted(times, 'object')} of classes that the model does not know "
            f"{'was' if times == 1 else 'were'} not scored: {listed(unknown)}."
        )
    rows = [i for i, label in enumerate(truth) if label in code]
    if not rows:
        notes.append("No object has a class that the model knows, so nothing was scored.")
        return Scores(0, np.nan, np.nan, np.nan, np.nan, list(classes), [], notes)
    true = np.array([code[truth[i]] for i in rows])
    codes = np.array([code[predicted[i]] for i in rows])
    confusion = confusion_matrix(true, codes, labels=range(len(classes)))
    true_probability = np.maximum(np.asarray(proba)[rows, true], SMALLEST)
    return _of_confusion(confusion, float(-np.log(true_probability).mean()), list(classes), notes)


def _of_confusion(confusion, log_loss, classes, notes):
    counts = confusion.sum(axis=1)
    there, n = counts > 0, int(counts.sum())
    shares = counts[there] / n
    return Scores(
        n,
        float(confusion.trace() / n),
        float((confusion.diagonal()[there] / counts[there]).mean()),
        log_loss,
        float(-(shares * np.log(shares)).sum()),
        classes,
        confusion.tolist(),
        notes,
    )


def merged(parts):
    """The scores of several parts of a table, of the same model, as one.

    Parameters
    ----------
    parts : list of Scores
        Of each part.

    Returns
    -------
    scores : Scores

    Examples
    --------
    >>> import numpy as np
    >>> from mahalearn.app.comparing.prediction_quality import merged, score
    >>> parts = [score([c], ["a"], np.full((1, 2), 0.5), ["a", "b"]) for c in "ab"]
    >>> merged(parts).accuracy, merged(parts).confusion
    (0.5, [[1, 0], [1, 0]])
    """
    scored = [part for part in parts if part.n]
    notes = list(dict.fromkeys(note for part in parts for note in part.notes))
    if not scored:
        return parts[0]._replace(notes=notes)
    confusion = np.sum([part.confusion for part in scored], axis=0)
    log_loss = float(sum(part.log_loss * part.n for part in scored) / confusion.sum())
    return _of_confusion(confusion, log_loss, scored[0].classes, notes)
