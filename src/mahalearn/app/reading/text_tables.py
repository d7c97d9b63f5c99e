"""Tables of text files and sheets: cells become columns of numbers or texts."""

from collections import defaultdict
from dataclasses import dataclass, field

from .columns import (
    COMMAS,
    NO_CLASS,
    PANDAS_INDEX,
    as_written,
    doubtful_number,
    is_comma_column,
    is_missing,
    misleading_marks,
    tidy,
    tidy_classes,
    without_unit,
)
from .layout import Grid
from .problem import DataError, listed
from .source import MOST_TITLES, cells_of, decoded

KINDS = "CSV, TSV, Excel, JSON, Parquet, NPZ and ARFF files"


def text_grid(source, form, faults):
    """Cells of a text file or a sheet, and what delimits them (a tab in a sheet).

    Parameters
    ----------
    source : FileContents
        The file.
    form : TableFormat
        What is chosen of its format.
    faults : Faults
        Takes its problems.
    """
    if source.suffix == ".xlsx":
        from .workbooks import sheet_rows

        rows, lines, notes = sheet_rows(source, form.sheet)
        first = sum(line <= (form.skip or 0) for line in lines)
        if first == len(rows):
            raise DataError(f"{source.name!r} has no rows below the {form.skip} that are skipped.")
        return Grid(source.name, rows[first:], lines[first:], notes, faults), None
    text, notes = decoded(source, f"tables are read from {KINDS}")
    if text[:200].lstrip().lower().startswith(("<!doctype", "<html", "<?xml", "<table")):
        raise DataError(
            f"{source.name!r} is a web page or an XML file; save the table itself as CSV."
        )
    rows, lines, delimiter = cells_of(source.name, text, form.skip or 0)
    return Grid(source.name, rows, lines, notes, faults), delimiter


def text_table(source, form, faults, find=None, texts=()):
    """The frame of a text file or a sheet, and sentences on what was decided."""
    grid, delimiter = text_grid(source, form, faults)
    columns = lay_out(grid, form, delimiter, find, texts)
    frame = columns.frame(grid)
    return frame, grid.notes + columns.notes()


def lay_out(grid, form, delimiter, find=None, texts=(), footer=True):
    """Leave out what is no row of the table, and say what its columns are.

    Parameters
    ----------
    grid : Grid
        All rows, those above the header included; only rows of the table remain.
    form : TableFormat
        What is chosen.
    delimiter : str or None
        What divides the cells: None in a sheet.
    find : callable or None
        Names of columns -> the one that holds the classes.
    texts : collection of str
        Columns that stay as they are written.
    footer : bool
        Whether the end of the table is among the rows.

    Returns
    -------
    columns : TextColumns
    """
    chosen_marks(grid, form)
    if form.skip is None and form.header is not False:
        grid.drop_titles()
    if form.header is not False:
        grid.fit_header()
    grid.refuse_ragged(grid.width)
    commas = [False] * grid.width
    if form.decimal is None and delimiter != ",":
        commas = [is_comma_column(column) for column in zip(*grid.rows[1:])] or commas
    if any(commas):
        grid.notes.append(COMMAS)
    first = grid.rows[0]
    header = first if grid.split_header(form.header, find, any(commas)) else None
    names = [name or f"column {j + 1}" for j, name in enumerate(grid.names)]
    grid.names = unique_names(names, grid.notes)
    classes = _class_column(grid, find) if grid.rows else None
    if header is not None:
        grid.drop_repeated(header)
        grid.drop_units()
        if footer:
            grid.drop_summaries()
        nameless = header[0] == "" and grid.names[0] != classes
        if nameless and all(row[0].isdecimal() for row in grid.rows):
            grid.names[0] = PANDAS_INDEX
    columns = TextColumns(grid.names, header, classes, texts, commas)
    if form.decimal is None:
        columns.refuse_misleading(grid, points=delimiter not in (",", None))
    return columns


def chosen_marks(grid, form):
    """Words for missing cells, and the decimal mark, where they are chosen."""
    grid.mark_missing(form.words)
    if form.decimal:
        grid.set_decimal(form.decimal)


@dataclass
class TextColumns:
    """The columns of a text file or a sheet.

    Attributes
    ----------
    names : list of str
        Names.
    header : list of str or None
        Cells of the header as written; None without one.
    classes : str or None
        Column of the classes.
    texts : collection of str
        Columns that stay as they are written.
    commas : list of bool
        Whether each column has decimal commas.
    limits, words, empty : dict of str to list of str
        By column, cells such as <0.5 that were read as numbers, such as n.d. as missing ones, and
        words among categories, such as none, as missing cells.
    units : dict of str to str
        Units that were taken off numbers.
    bare : dict of str to int
        Numbers of such columns that had none.
    """

    names: list
    header: list | None
    classes: str | None
    texts: object
    commas: list
    limits: dict = field(default_factory=lambda: defaultdict(list))
    words: dict = field(default_factory=lambda: defaultdict(list))
    empty: dict = field(default_factory=lambda: defaultdict(list))
    units: dict = field(default_factory=dict)
    bare: dict = field(default_factory=lambda: defaultdict(int))

    def refuse_misleading(self, grid, points):
        """Record columns whose marks may be decimal or separate thousands."""
        own = (self.classes, *self.texts)
        features = [() if n in own else c for n, c in zip(self.names, grid.columns())]
        for j, cell in misleading_marks(features, self.commas, points):
            grid.faults.add(f"Column {self.names[j]!r} holds {doubtful_number(cell)}", "decimal")

    def frame(self, grid):
        """The data frame of rows: each column as numbers or texts."""
        import pandas as pd

        self.units, values = {}, {}
        for j, (name, column) in enumerate(zip(self.names, grid.columns())):
            if name == self.classes or name in self.texts:
                values[j] = self.texts_of(name, column)
            else:
                values[j] = self._feature(name, column, self.commas[j], grid)
            if name == self.classes:
                grid.notes += _merged_classes(column, values[j])
        frame = pd.DataFrame(values, index=[line - 1 for line in grid.lines])
        frame.columns = self.names
        frame.attrs["units"] = self.units
        return frame

    def texts_of(self, name, cells):
        """Values of the column of classes, or of one that stays as it is written."""
        if name not in self.texts:
            return tidy_classes(cells, self.commas[self.names.index(name)])
        if name == self.classes:
            return as_written(cells, NO_CLASS)
        self._note_empty(name, cells)
        return as_written(cells)

    def _feature(self, name, column, comma, grid):
        """Values of a column of features; its unit and its odd cells are remembered."""
        with grid.faults.collected():
            plain, unit, n_bare = without_unit(column, name, grid.lines)
            if unit:
                column, self.units[name] = plain, unit
                self.bare[name] += n_bare
                comma = comma or is_comma_column(column)
        values, limits, words = tidy(column, comma)
        self.limits[name] += limits
        self.words[name] += words
        if values.dtype.kind != "f":
            self._note_empty(name, column)
        return values

    def _note_empty(self, name, column):
        """Remember words such as none among categories: they may be one."""
        words = [word for word in set(column) if word.isalpha() and is_missing(word)]
        if words and set(map(str.lower, words)) != {"nan"}:
            self.empty[name] += words

    def forget(self):
        """Begin anew to remember odd cells."""
        for remembered in (self.limits, self.words, self.empty, self.bare):
            remembered.clear()

    def notes(self):
        """Sentences on cells that were read as something else."""
        notes = []
        for what, cells in (("the limit itself", self.limits), ("missing numbers", self.words)):
            places = [f"{name!r} ({len(odd)})" for name, odd in cells.items() if odd]
            if places:
                example = next(odd[0] for odd in cells.values() if odd)
                notes.append(
                    f"Cells such as {example!r} were read as {what}, by column {listed(places)}."
                )
        if any(self.empty.values()):
            words = [f"{name!r} ({listed(sorted(set(odd)))})" for name, odd in self.empty.items()]
            notes.append(f"Words among categories were read as missing cells: {listed(words)}.")
        if self.units:
            pairs = listed(f"{name!r} ({unit})" for name, unit in self.units.items())
            notes.append(f"Units were removed from the numbers of {pairs}.")
        bare = listed(f"{name!r} ({n})" for name, n in self.bare.items() if n)
        if bare:
            notes.append(
                f"Numbers without a unit were read in the unit of the others, by column {bare}."
            )
        return notes


def _class_column(grid, find):
    """Name of the column of classes; where there is none, the error names what may help."""
    try:
        return find(grid.names) if find else None
    except DataError as error:
        if [row[0] for row in grid.rows] == grid.names[1:]:
            raise DataError(
                f"{grid.file!r} has the same names on rows and columns, as a matrix of distances "
                "has.",
                "proximity",
            ) from None
        target = getattr(find, "keywords", {}).get("target")
        for line, row in zip(grid.lines, grid.rows):
            if row[0] == target and len(set(row)) < len(row):
                raise DataError(
                    f"{error} Row {line} is called {target!r}: transpose the table, so that rows "
                    "are objects and columns features."
                ) from None
            if target in row and line <= MOST_TITLES and len(set(row)) == len(row):
                raise DataError(f"{error} {target!r} stands in row {line}.", "skip") from None
        for note in grid.notes:
            option = getattr(note, "option", None)
            if option == "sheet":
                raise DataError(f"{error} {note}", "sheet") from None
            if option == "header":
                raise DataError(f"{error} The first line was read as data.", "header") from None
        if len(grid.names) == 1:
            raise DataError(
                f"{error} Cells must be divided by tabs, semicolons, commas, | or blanks."
            ) from None
        raise


def _merged_classes(column, values):
    """A sentence on classes that are written differently and are one number."""
    import pandas as pd

    if values.dtype.kind == "f":
        for cells in pd.Series(column).groupby(values).unique():
            if len(cells) > 1:
                yield (
                    f"The classes {listed(map(repr, sorted(cells)))} are one number and count as "
                    "one class."
                )


def unique_names(columns, notes):
    """Names without repeats."""
    columns = [str(name) for name in columns]
    taken, seen, names, repeated = set(columns), set(), [], {}
    for name in columns:
        fresh = name
        if name in seen:
            times = repeated.get(name, 1) + 1
            while f"{name} ({times})" in taken:  # a header may hold such a name itself
                times += 1
            repeated[name], fresh = times, f"{name} ({times})"
            taken.add(fresh)
        seen.add(name)
        names.append(fresh)
    if repeated:
        notes.append(f"Columns of one name were numbered: {listed(repeated)}.")
    return names
