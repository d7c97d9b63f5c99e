"""Square matrices of proximities, and classes of their objects by name or in order."""

import re
from collections import Counter
from pathlib import Path

import numpy as np

from ..._validation import SYMMETRY_RTOL, looks_like_dissimilarity
from ..words import counted
from .columns import (
    COMMAS,
    LARGEST,
    NO_CLASS,
    as_labels,
    has_decimal_commas,
    is_missing,
    is_text,
    number,
    tidy_classes,
)
from .formats import load_arrays, load_npy, parquet_frame
from .problem import DataError, Note, Problem, listed
from .source import DELIMITERS, FileContents, cells_of, decoded, lines_of, load

SYMMETRIZE = {
    "mean": lambda M: (M + M.T) / 2,
    "min": lambda M: np.minimum(M, M.T),
    "max": lambda M: np.maximum(M, M.T),
}


def read_matrix(path, notes=None):
    """A matrix of numbers with the names of its rows and columns.

    Parameters
    ----------
    path : str or path
        Delimited text with or without names of rows and columns, its lower or upper triangle, a
        PHYLIP file, a workbook, a labelled data frame (Parquet), .npy or .npz; or the
        distances of all pairs one after the other, as scipy's pdist gives them.
    notes : list or None
        Gets sentences on what was decided.

    Returns
    -------
    M : ndarray of shape (n, m)
    rows, columns : list of str or None
        Names.
    labels : ndarray or None
        Classes, where an NPZ file holds them too.
    """
    source = load(path)
    notes = [] if notes is None else notes
    if source.suffix in (".npy", ".npz"):
        return _from_arrays(source, notes)
    if source.suffix in (".parquet", ".pq"):
        return _from_frame(source, notes)
    if source.suffix == ".xlsx":
        from .workbooks import sheet_rows

        cells, _, decided = sheet_rows(source)
        notes += decided
        return _from_cells(cells, "\t", source.name, notes)
    text, decided = decoded(source, "matrices are read from CSV, NPY and NPZ files")
    notes += decided
    lines = lines_of(source.name, text)
    if _is_phylip(lines):
        names, cells = _phylip(lines, source.name)
        M = _numeric(_numbers(cells, source.name), source.name, notes)
        return M, names, names, None
    cells, delimiter = _triangle(lines) or cells_of(source.name, text)[::2]
    return _from_cells(cells, delimiter, source.name, notes)


def _from_cells(cells, delimiter, path, notes):
    """A matrix of cells, with or without names of rows and columns."""
    comma = has_decimal_commas(path, [cell for row in cells for cell in row], delimiter)
    notes += [COMMAS] * comma
    values = [[number(cell, comma) for cell in row] for row in cells]
    widths = {len(row) for row in cells}
    width = max(widths)
    if width == 1 and [None] not in values:
        return _numeric(_square(np.ravel(values), notes), path, notes), None, None, None
    if len(widths) > 1 and [len(row) for row in cells] != [width - 1, *[width] * (len(cells) - 1)]:
        raise DataError(f"The rows of {path!r} differ in length: {listed(sorted(widths))} cells.")
    top = len(widths) == 2 or _names_on_top(cells, values)
    side = any(row[0] is None for row in values[top:])
    body = len(values) - top
    if not top and not side:  # numbers may be names too, where the matrix is square without them
        top = body == width + 1
    elif top and not side:
        side = cells[0][0] == "" or width == body + 1
    if width == side or body == 0:
        raise DataError(
            f"{path!r} holds no matrix of numbers: a square, with or without names, its lower or "
            "upper triangle, or a matrix as PHYLIP writes it."
        )
    columns = cells[0][-(width - side) :] if top else None
    rows = [row[0] for row in cells[top:]] if side else None
    M = _numbers([row[side:] for row in cells[top:]], path, comma)
    return _numeric(M, path, notes), rows, columns, None


def _numbers(cells, path, comma=False):
    """Cells as an array of numbers."""
    M = [[number(cell, comma) for cell in row] for row in cells]
    for i, row in enumerate(M):
        if None in row:
            j = row.index(None)
            raise DataError(
                f"The cell {cells[i][j]!r} in row {i + 1}, column {j + 1} of {str(path)!r} is not "
                "a number."
            )
    return np.array(M, dtype=float)


EMPTY_DIAGONAL = "The diagonal is empty; it was read as 0, the distance of an object from itself."


def _square(values, notes):
    """A matrix, also of the distances of all pairs in one row (scipy's condensed form)."""
    from scipy.spatial.distance import squareform

    try:
        M = squareform(values, checks=False) if values.ndim == 1 and values.size > 2 else values
    except ValueError:  # another number of them
        return values
    if M is not values:
        notes.append(
            f"{values.size} numbers in a row were taken for the distances of all pairs of {len(M)} "
            "objects (scipy's pdist)."
        )
    return M


def _completed(M, notes):
    """A matrix with one empty triangle completed from the other, and an empty diagonal by 0.

    A triangle of zeros is as empty, where the other one has none.
    """
    if M.shape[0] != M.shape[1] or len(M) < 2:
        return M
    M, upper = M.copy(), np.triu_indices(len(M), 1)
    for half in (M, M.T):
        if np.isnan(half[upper]).all() and not np.isnan(half.T[upper]).any():
            half[upper] = half.T[upper]
        elif not half[upper].any() and half.T[upper].all():
            half[upper] = half.T[upper]
            notes.append("One triangle of the matrix is 0; it was completed from the other one.")
    if np.isnan(M.diagonal()).all() and np.isnan(M).sum() == len(M):
        np.fill_diagonal(M, 0.0)
        notes.append(EMPTY_DIAGONAL)
    return M


def _triangle(lines):
    """Cells and delimiter of a triangle, whose rows have one number more, or less, each; or None.

    The other half is filled with empty cells.
    """
    for mark in (*DELIMITERS, None):
        ends = [len(line.strip().split(mark)) for line in (lines[0], lines[-1])]
        if abs(ends[0] - ends[1]) != len(lines) - 1:
            continue
        rows = [[cell.strip() for cell in line.strip().split(mark)] for line in lines]
        named = all(number(row[0]) is None for row in rows)
        names, cells = [row[:named] for row in rows], [row[named:] for row in rows]
        upper = len(cells[0]) > len(cells[-1])
        if upper:  # read from its end, it is a lower one
            cells = [row[::-1] for row in reversed(cells)]
        first = len(cells[0])
        growing = [len(row) for row in cells] == list(range(first, first + len(cells)))
        if growing and len(cells) > 2 and first <= 1:
            if not named and not _has_diagonal(cells):  # the first object has no line
                names, cells = [[], *names], [[], *cells]
            cells = _padded(cells, len(cells))
            if upper:
                cells = [row[::-1] for row in reversed(cells)]
            return [name + row for name, row in zip(names, cells)], mark
    return None


def _has_diagonal(rows):
    """True if a triangle has a diagonal: empty, 0 throughout, or the largest similarity."""
    values = [[number(cell.replace(",", ".")) for cell in row] for row in rows]
    diagonal = {row[-1] for row in values} - {None}
    largest = max((v for row in values for v in row if v is not None), default=0.0)
    return all(v != v for v in diagonal) or diagonal in ({0.0}, {largest})


def _padded(rows, width):
    return [row + [""] * (width - len(row)) for row in rows]


def _is_phylip(lines):
    """True if the first line is the number of objects, and the second begins with a name."""
    return (
        len(lines) > 2
        and re.fullmatch(r"\s*\d{1,9}\s*", lines[0]) is not None
        and int(lines[0]) > 1
        and number(lines[1].split()[0]) is None
    )


def _phylip(lines, path):
    """Names and cells of a matrix of PHYLIP: a name and numbers for each row, or a triangle.

    A name ends at a blank; or it has ten characters, blanks among them.
    """
    n = int(lines[0])
    readings = [_phylip_rows(lines[1:], cut) for cut in (str.split, _after_ten)]
    rows = next((rows for rows in readings if _is_whole(rows, n)), readings[0])
    if len(rows) != n:
        raise DataError(
            f"{path!r} declares {n} objects, as PHYLIP does, but has {'only ' * (len(rows) < n)}"
            f"{len(rows)}."
        )
    for i, (row, wanted) in enumerate(zip(rows, _phylip_lengths(rows, n))):
        if len(row) - 1 != wanted:
            raise DataError(
                f"Row {i + 1} ({row[0]!r}) of {path!r} must have {counted(wanted, 'number')}, as "
                f"PHYLIP writes a matrix of {n} objects; it has {len(row) - 1}."
            )
    return [row[0] for row in rows], _padded([row[1:] for row in rows], n)


def _phylip_rows(lines, cut):
    """Rows, each a name and numbers as `cut` tells them apart."""
    rows = []
    for line in lines:
        if rows and all(number(word) is not None for word in line.split()):
            rows[-1] += line.split()  # a long row goes on
        else:
            rows.append(cut(line))
    return rows


def _after_ten(line):
    """A name of ten characters and what follows; all in one if a word goes on there."""
    if line[9:10].strip() and line[10:11].strip():
        return [line]
    return [line[:10].strip(), *line[10:].split()]


def _phylip_lengths(rows, n):
    """Number of numbers in each row: of a triangle none or one, its diagonal, in the first."""
    first = len(rows[0]) - 1
    return [first + i if first < 2 else n for i in range(len(rows))]


def _is_whole(rows, n):
    """True if rows of PHYLIP are those of n objects: different names, and numbers behind them."""
    return (
        len({row[0] for row in rows}) == len(rows) == n
        and [len(row) - 1 for row in rows] == _phylip_lengths(rows, n)
        and all(number(cell) is not None for row in rows for cell in row[1:])
    )


def _from_frame(source, notes):
    """A labelled data frame: names of rows in its index or in its first column of texts."""
    frame = parquet_frame(source)
    rows = None
    if is_text(frame.index.to_series()):
        rows = [str(name) for name in frame.index]
    elif frame.shape[1] and is_text(frame.iloc[:, 0]):
        rows, frame = [str(name) for name in frame.iloc[:, 0]], frame.iloc[:, 1:]
    columns = [str(name) for name in frame.columns]
    if any(is_text(frame[name]) for name in frame.columns):
        raise DataError(f"{source.name!r} holds columns of texts; a matrix holds numbers.")
    return _numeric(frame.to_numpy(dtype=float), source.name, notes), rows, columns, None


def _names_on_top(cells, values):
    """True if line 1 holds names of columns, be they numbers, rather than the first row."""
    first, width = values[0], len(values[0])
    texts = any(None in row for row in values)
    if len(values) == width and not texts and all(map(is_missing, np.diagonal(cells))):
        # Of a square with an empty diagonal; numbers that count the objects are names.
        return first[1:] in (list(range(1, width)), list(range(width - 1)))
    if cells[0][0] == "" or any(v is None for v in first[1:]):
        return True
    if first[0] is not None:
        return False
    if any(row[0] is not None for row in values):  # a word above names that are numbers
        return True
    # A word in line 1, as in all lines: that line's name, unless the others alone make a square, or
    # it goes on with names that are numbers (1, 2, 3 ...).
    if len(values) == width - 1:
        return False
    numbers = set(first[1:])
    return len(values) == width or (
        len(numbers) == width - 1 and all(float(v).is_integer() for v in numbers)
    )


def _from_arrays(source, notes):
    arrays, path = load_arrays(source), source.name
    squares = [k for k, a in arrays.items() if a.ndim == 2 and a.shape[0] == a.shape[1]]
    usual = ("D", "K", "S", "matrix", "d", "distances", *squares, "X")
    M = next((_square(arrays[key], notes) for key in usual if key in arrays), None)
    if M is None:
        raise DataError(f"{str(path)!r} holds no square matrix; it has {listed(arrays)}.")
    y = next((arrays[k] for k in ("y", "labels", "target") if k in arrays), None)
    names = next((arrays[k] for k in ("names", "ids") if k in arrays), None)
    if names is not None:
        names = [str(name) for name in names.ravel().tolist()]
        if len(names) != len(M):
            raise DataError(
                f"{str(path)!r} has {counted(len(names), 'name')} for {counted(len(M), 'row')}; "
                "one for each is needed."
            )
    return _numeric(M, path, notes), names, names, y


def _numeric(M, path, notes):
    if M.ndim != 2 or M.dtype.kind not in "iufb":
        raise DataError(f"{str(path)!r} holds no matrix of numbers, but {M.dtype} of {M.shape}.")
    M = _completed(M.astype(float), notes)
    if not np.isfinite(M).all():
        i, j = np.argwhere(~np.isfinite(M))[0]
        raise DataError(
            f"{counted((~np.isfinite(M)).sum(), 'missing or infinite cell')} in {str(path)!r}, "
            f"first in row {i + 1}, column {j + 1}; a proximity of every pair is needed."
        )
    if np.abs(M).max(initial=0) > LARGEST:
        i, j = np.argwhere(np.abs(M) > LARGEST)[0]
        raise DataError(
            f"{str(path)!r} holds {M[i, j]:g} in row {i + 1}, column {j + 1}, too large to be "
            "squared; correct the cell, or divide all of them by a number."
        )
    return M


def read_labels(path, n, names=None):
    """Classes of n objects: a line each, or a name and a class; in the order of `names` if given.

    Only the matrix's own names tell a name before a class from a class of two words: without them
    the whole line is the class.

    Returns
    -------
    labels : ndarray of shape (n,)
    notes : list of str
    """
    source = path if isinstance(path, FileContents) else load(path, "file of labels")
    path, notes = source.name, []
    if source.suffix == ".npy":
        rows = lines = [[str(v)] for v in load_npy(source).ravel().tolist()]
    else:
        text, notes = decoded(source, "labels stand in a text file, a line each")
        rows, _, _ = cells_of(path, text)
        # A quoted label is one cell; what a mark cuts into several is one label nevertheless.
        one = {len(row) for row in rows} == {1}
        lines = rows if one else [[x] for x in lines_of(path, text)]
    pairs = _name_and_class(path, rows, n, names)
    rows = rows if pairs else lines
    below = ""
    if _has_header(rows, n, names if pairs else None):
        below, rows = f" below {rows[0][-1]!r}", rows[1:]
    cells = [row[-1].strip() for row in rows]
    if pairs:
        listed_names = [row[0] for row in rows]
        _check_names(path, listed_names, names)
        if listed_names != names:
            notes.append("Labels were matched to the objects by name; their order differed.")
        label_of = dict(zip(listed_names, cells))
        cells = [label_of[name] for name in names]
    if len(cells) != n:
        raise DataError(
            f"{str(path)!r} has {counted(len(cells), 'label')}{below}, but there are "
            f"{counted(n, 'object')}; one for each is needed."
        )
    if any(not cell for cell in cells):
        first = cells.index("")
        raise DataError(
            f"{counted(cells.count(''), 'empty label')} in {str(path)!r}, first that of "
            f"{repr(names[first]) if names else f'object {first + 1}'}; each object needs one."
        )
    return _typed(cells), notes


def _has_header(rows, n, names):
    """True if line 1 is a header: not an object's (by name or by number), nor a class met again."""
    if len(rows) == n if names is None else rows[0][0] in names:
        return False
    return rows[0][-1] not in {row[-1] for row in rows[1:]}


def _check_names(path, listed_names, names):
    """Refuse labels whose names are not those of the matrix, each once."""
    for what, those in ((f"{str(path)!r}", listed_names), ("the matrix", names)):
        twice = [name for name, times in Counter(those).items() if times > 1]
        if twice:
            raise DataError(
                f"{listed(map(repr, twice))} {'occurs' if len(twice) == 1 else 'occur'} more than "
                f"once in {what}; names of objects must differ to be matched."
            )
    absent = [name for name in names if name not in set(listed_names)]
    spare = [name for name in listed_names if name not in set(names)]
    if absent:
        instead = f"; it has {listed(map(repr, spare))} instead" if spare else ""
        raise DataError(
            f"{str(path)!r} has no label for {listed(map(repr, absent))}, which the matrix "
            f"has{instead}."
        )
    if spare:
        raise DataError(
            f"{str(path)!r} has labels for {listed(map(repr, spare))}, which the matrix does not "
            "have; remove such lines."
        )


def _name_and_class(path, rows, n, names):
    """True if lines hold a name and a class, by the names that are known."""
    firsts, widths = {row[0] for row in rows}, {len(row) for row in rows}
    n_matched = len(firsts & set(names or ()))
    # A different word first in each line: no line would be a class of more than one object.
    different = n > 1 and widths == {2} and len(firsts) == len(rows)
    if widths == {1} or not (n_matched > len(firsts) / 2 or different):
        return False
    if widths != {2}:
        raise DataError(
            f"{str(path)!r} must have a class, or a name and a class, in each line; got lines of "
            f"{listed(sorted(widths))} cells."
        )
    if not names:
        raise DataError(
            f"{str(path)!r} seems to have a name and a class in each line, but there are no names "
            "to match; give the classes alone, in the order of the objects."
        )
    return True


def _typed(cells):
    if any(cell.lower() in NO_CLASS for cell in cells):  # here a word like any other
        return np.array(cells)
    return as_labels(tidy_classes(cells).tolist(), "labels")


def proximity_problem(path, labels=None, *, kind=None, symmetrize=None, name=None, only_look=False):
    """The problem of a square matrix with classes.

    To `only_look` at it, it may be without classes and need not be symmetric.
    """
    notes = []
    M, rows, columns, inside = read_matrix(path, notes)
    name = name or Path(path).stem
    if len(M) == 1 and not rows:  # of predict it is the row of one object
        M = _square(M.ravel(), notes)
        M = M if M.ndim == 2 else M[None]
    n = len(M)
    if M.shape[0] != M.shape[1]:
        raise DataError(
            f"{str(path)!r} holds a matrix of {M.shape[0]} × {M.shape[1]}; proximities of all "
            "objects with all objects make a square one."
        )
    names = rows or columns
    if rows and columns and rows != columns:
        if sorted(rows) != sorted(columns):
            raise DataError(
                f"Rows and columns of {str(path)!r} have different names, for example "
                f"{next(a for a, b in zip(rows, columns) if a != b)!r}."
            )
        M = M[:, [columns.index(row) for row in rows]]
        notes.append("The columns were put into the order of the rows, by name.")
    if labels is not None:
        y, matched = read_labels(labels, n, names)
        notes += matched
    elif inside is not None and len(inside) == n:
        y = as_labels(inside.tolist(), "labels")
    elif only_look:
        y = None
    else:
        raise DataError("A matrix needs the classes of its objects.", "labels")
    if not only_look or symmetrize is not None:
        M = _symmetric(M, symmetrize, path, notes)
    _refuse_self_similarity(M, y, kind, path, EMPTY_DIAGONAL in notes)
    kind = _kind(M, kind, notes)
    return Problem("proximity", M, y, name, names=names, proximity=kind, notes=notes)


def _symmetric(M, symmetrize, path, notes):
    gap, largest = np.abs(M - M.T).max(), np.abs(M).max() or 1.0
    if symmetrize is not None:
        if symmetrize not in SYMMETRIZE:
            raise DataError(
                f"A matrix is made symmetric by one of {listed(SYMMETRIZE)}; got {symmetrize!r}."
            )
        if gap > SYMMETRY_RTOL * largest:
            notes.append(
                f"The matrix is not symmetric; the {symmetrize} of both directions is used."
            )
        return SYMMETRIZE[symmetrize](M)
    if gap > SYMMETRY_RTOL * largest:
        raise DataError(
            f"The matrix in {str(path)!r} is not symmetric (largest difference "
            f"{gap / largest:.1%} of the largest value).",
            "symmetrize",
        )
    return (M + M.T) / 2


def _refuse_self_similarity(M, y, kind, path, empty):
    """Refuse similarities without a diagonal: that of an object with itself cannot be guessed."""
    if not empty or kind == "dissimilarity":
        return
    if kind == "similarity":
        raise DataError(
            f"The diagonal of {str(path)!r} is empty; similarities need that of each object with "
            "itself (1 or 100, say). Fill it in."
        )
    if y is None:
        return
    same = (y[:, None] == y) & ~np.eye(len(y), dtype=bool)
    if same.any() and (y != y[0]).any() and M[same].mean() > M[y[:, None] != y].mean():
        raise DataError(
            f"The diagonal of {str(path)!r} is empty, and its values are larger within the classes "
            "than between them, as similarities are. Fill in the diagonal: the similarity of each "
            "object with itself.",
            "kind",
        )


def _kind(M, kind, notes):
    if kind is not None:
        return kind
    kind = "dissimilarity" if looks_like_dissimilarity(M) else "similarity"
    if kind == "dissimilarity":
        why = "the diagonal is 0 and nothing is negative"
    elif M.diagonal().any():
        why = "the diagonal is not 0"
    else:
        why = "some are negative" if M.any() else "all are 0"
    notes.append(Note(f"The values were read as {kind[:-1]}ies, because {why}.", "kind"))
    return kind
