"""Files as people have them: each is read as what it says, or refused in a sentence.

Every entry of FILES makes one file of the same table (or a damaged or hostile one) and says what
happens: SAME if the table comes out, with a note perhaps; else words of the refusal.
"""

import bz2
import gzip
import io
import json
import lzma
import os
import pickle
import re
import sys
import tarfile
import threading
import zipfile
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from own_data import works
from pyarrow import parquet
from scipy.spatial.distance import pdist, squareform

from mahalearn.app.reading import formats, source, workbooks
from mahalearn.app.reading.columns import misleading_marks
from mahalearn.app.reading.matrices import EMPTY_DIAGONAL, proximity_problem, read_matrix
from mahalearn.app.reading.problem import DataError
from mahalearn.app.reading.tables import find_target, read_table, table_problem

N = 24
SAME = None


def truth():
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "height": np.round(rng.normal(5, 2, N), 2),
            "größe": np.round(rng.normal(0, 1, N), 3),
            "colour": np.array(["rot", "weiß", "blue"])[rng.integers(3, size=N)],
            "species": np.array(["lily", "rose"])[np.arange(N) % 2],
        }
    )


def text(frame=None, **options):
    return (truth() if frame is None else frame).to_csv(index=False, lineterminator="\n", **options)


def excel(frame=None, **options):
    out = io.BytesIO()
    (truth() if frame is None else frame).to_excel(out, index=False, **options)
    return out.getvalue()


def sheets():
    out = io.BytesIO()
    with pd.ExcelWriter(out, engine="openpyxl") as writer:
        pd.DataFrame().to_excel(writer, sheet_name="empty", index=False)
        truth().to_excel(writer, sheet_name="plants", index=False)
        pd.DataFrame({"x": [1]}).to_excel(writer, sheet_name="other", index=False)
    return out.getvalue()


def titled_sheet():
    out = io.BytesIO()
    with pd.ExcelWriter(out, engine="openpyxl") as writer:
        truth().to_excel(writer, index=False, startrow=3)
        next(iter(writer.sheets.values())).cell(1, 1, "Measured in May")
    return out.getvalue()


def arrow(method, **options):
    out = io.BytesIO()
    getattr(truth(), method)(out, **options)
    return out.getvalue()


def archive(**files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name, data in files.items():
            new.writestr(name.replace("__", "/"), data)
    return out.getvalue()


def changed_workbook(name, change, data=None):
    """A workbook with one of its parts changed."""
    out = io.BytesIO()
    data = excel() if data is None else data
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for member in old.namelist():
            part = old.read(member)
            new.writestr(member, change(part) if member == name else part)
    return out.getvalue()


def entities(xml):
    """The billion laughs."""
    lol = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10 if i else "lol"}">' for i in range(9))
    return xml.replace(b"<worksheet", f"<!DOCTYPE x [{lol}]><worksheet".encode(), 1)


def edited(change, frame=None):
    """A workbook after a change of the sheet that holds the table."""
    from openpyxl import load_workbook

    book = load_workbook(io.BytesIO(excel(frame)))
    change(book.active)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def formula(sheet):
    sheet["A3"] = "=A2*2"  # saved without its value


def merged(sheet):
    """Equal colours below each other in one cell."""
    colours, start = truth()["colour"].tolist(), 0
    for i in range(1, N + 1):
        if i == N or colours[i] != colours[start]:
            sheet.merge_cells(start_row=start + 2, end_row=i + 1, start_column=3, end_column=3)
            start = i


def hidden(sheet):
    sheet.row_dimensions[5].hidden = sheet.column_dimensions["B"].hidden = True
    sheet.row_dimensions[500].hidden = True  # nothing is there


def rows_from_the_last(xml):
    """A sheet whose rows, and cells within them, stand in another order."""
    rows = re.findall(rb"<row .*?</row>", xml, re.DOTALL)
    turned = []
    for row in reversed(rows):
        cells = re.findall(rb"<c .*?</c>|<c [^>]*/>", row, re.DOTALL)
        turned.append(row[: row.index(b"<c ")] + b"".join(reversed(cells)) + b"</row>")
    return xml.replace(b"".join(rows), b"".join(turned))


def truth_values(sheet):
    sheet["E1"] = "ok"
    for i in range(N):
        sheet.cell(i + 2, 5, i % 3 == 0)


def hidden_sheet(sheet):
    notes = sheet.parent.create_sheet("notes", 0)
    notes["A1"], notes.sheet_state = "made by A. B.", "hidden"


def error(sheet):
    sheet["A6"], sheet["A6"].data_type = "#DIV/0!", "e"


# --- workbooks that ask for too much --------------------------------------------------------------


def cells(xml):
    """An .xlsx file of these rows."""
    data = re.compile(rb"<sheetData>.*</sheetData>", re.DOTALL)
    new = f"<sheetData>{xml}</sheetData>".encode()
    return changed_workbook("xl/worksheets/sheet1.xml", lambda part: data.sub(new, part))


def shared(strings, n):
    """An .xlsx file with a part of shared strings, the first of them in n cells."""
    out = io.BytesIO()
    data = cells('<row><c t="s"><v>0</v></c></row>' * n)
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    declared = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}"/></Types>'
    space = '<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for member in old.namelist():
            new.writestr(member, old.read(member).replace(b"</Types>", declared.encode()))
        new.writestr("xl/sharedStrings.xml", strings.replace("<sst", space))
    return out.getvalue()


def decimals():
    frame = truth()
    frame["height"] = [Decimal(f"{v:.2f}") for v in frame["height"]]
    out = io.BytesIO()
    frame.to_parquet(out)
    return out.getvalue()


def nameless():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as new:
        new.writestr(zipfile.ZipInfo(""), "1,2")
    return out.getvalue()


def no_text():
    """An array of texts with a code point that Unicode does not have."""
    out = io.BytesIO()
    np.save(out, np.array(["ab", "cd"] * 3))
    bad = out.getvalue().replace(b"a\0\0\0", b"\xff\xff\xff\x7f")
    out = io.BytesIO()
    np.save(out, np.zeros((6, 2)))
    return archive(**{"X.npy": out.getvalue(), "y.npy": bad})


def tar():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as new:
        info = tarfile.TarInfo("t.csv")
        info.size = len(text().encode())
        new.addfile(info, io.BytesIO(text().encode()))
    return out.getvalue()


def npz(**arrays):
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def cut_directory():
    """An archive whose second entry has a comment so long that it hides the third."""
    data = bytearray(npz(X=np.eye(3), y=np.arange(3), columns=np.array(list("abc"))))
    second = data.rindex(b"PK\x01\x02", 0, data.rindex(b"PK\x01\x02"))
    data[second + 33] = 64
    return bytes(data)


def odd(cell):
    """A table with decimal commas and one odd cell."""
    frame = truth()
    frame["height"] = [f"{v:.2f}".replace(".", ",") for v in frame["height"]]
    frame.loc[4, "height"] = cell
    return text(frame, sep=";", decimal=",")


def below(*lines):
    """A table with decimal commas and lines without a class below its header and its rows."""
    head, *rows = text(sep=";", decimal=",").splitlines()
    return "\n".join([head, *lines, *rows, "", "mean;4,9;;", "made by A. B.;;;"]) + "\n"


def thousands(mark, others=None):
    """A table whose heights are 735, 1.065, …, behind a decimal comma or point elsewhere."""
    frame = truth()
    frame["height"] = [f"{v:,}".replace(",", mark) for v in 735 + 110 * np.arange(N)]
    return text(frame, sep=";", decimal=others or ".")


def hidden_entities():
    """Entities in a sheet whose part has a name of its own."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(excel())) as old, zipfile.ZipFile(out, "w") as new:
        for member in old.namelist():
            part = old.read(member).replace(b"sheet1.xml", b"sheet1.dat")
            name = member.replace("sheet1.xml", "sheet1.dat")
            new.writestr(name, entities(part) if name != member else part)
    return out.getvalue()


def info_sheet(index=True):
    out = io.BytesIO()
    with pd.ExcelWriter(out, engine="openpyxl") as writer:
        pd.DataFrame({"read me": ["A. B."]}).to_excel(writer, sheet_name="info", index=index)
        truth().to_excel(writer, sheet_name="plants", index=False)
    return out.getvalue()


def arff():
    head = "@relation t\n@attribute height numeric\n@attribute größe numeric\n"
    head += "@attribute colour {rot,weiß,blue}\n@attribute species {lily,rose}\n@data\n"
    return head + truth().to_csv(index=False, header=False)


def other_shape(rows):
    """An array whose header announces another number of rows."""
    out = io.BytesIO()
    np.save(out, truth()[["height", "größe"]].to_numpy())
    return out.getvalue().replace(f"({N}, 2)".encode(), f"({rows}, 2)".encode())


def with_unit(unit, *, blank=" ", last=None):
    """A table whose heights have a unit; the last one perhaps another."""
    frame = truth()
    frame["height"] = [f"{v:.2f}{blank}{unit}" for v in frame["height"]]
    if last:
        frame.loc[N - 1, "height"] = last
    return text(frame)


def replaced(cell, frame=None):
    """A table with this cell in the column of heights, in the fifth row."""
    frame = truth().astype({"height": object}) if frame is None else frame
    frame.loc[4, "height"] = cell
    return text(frame)


def quoted_cells(*rows):
    """A table with a quote before the colours of these rows."""
    lines = text().splitlines()
    for row in rows:
        height, size, colour, species = lines[row + 1].split(",")
        lines[row + 1] = f'{height},{size},"{colour},{species}'
    return "\n".join(lines) + "\n"


def unit_row(*cells):
    """A table with a line below its header."""
    head, *rows = text().splitlines()
    return "\n".join([head, ",".join(cells), *rows]) + "\n"


def header_again(every=7):
    """A table whose header comes again, as on printed pages."""
    head, *rows = text().splitlines()
    pages = [rows[i : i + every] for i in range(0, N, every)]
    return "\n".join(line for page in pages for line in [head, *page]) + "\n"


def summed(*words):
    """A table with sums below it, their class filled in by a careless copy."""
    frame = truth()
    sums = [f"{word},,,lily" for word in words]
    return "\n".join([text(frame).rstrip(), *sums]) + "\n"


def grouped(mark, decimal):
    """A table of large heights, thousands separated by a mark."""
    frame = truth()
    swap = str.maketrans(",.", mark + decimal)
    frame["height"] = [f"{1000 * v:,.2f}".translate(swap) for v in frame["height"]]
    swapped = [f"{v:.3f}".replace(".", decimal) for v in frame["größe"]]
    return text(frame.assign(größe=swapped), sep=";")


def sheet_summary(sheet):
    sheet.append(["Mean", 4.9, None, None])
    sheet.append(["Total", 99, None, None])


def sheet_units(sheet):
    sheet.insert_rows(2)
    sheet["A2"], sheet["B2"] = "[cm]", "(mm)"


def sheet_above(sheet):
    sheet.insert_rows(1, 2)
    sheet["A1"], sheet["A2"] = "Measured in May", "by A. B."


def nullable():
    out = io.BytesIO()
    frame = truth().convert_dtypes()
    frame.to_parquet(out)
    return out.getvalue()


def categorical():
    out = io.BytesIO()
    truth().astype({"colour": "category", "species": "category"}).to_parquet(out)
    return out.getvalue()


def polars_file(method):
    import polars as pl

    out = io.BytesIO()
    getattr(pl.DataFrame(truth().to_dict(orient="list")), method)(out)
    return out.getvalue()


def stream():
    out = io.BytesIO()
    table = pa.Table.from_pandas(truth())
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def table_file(frame):
    out = io.BytesIO()
    frame.to_parquet(out)
    return out.getvalue()


KNOWN = ["--target", "species"]
HEIGHTS = [f"{v:.2f}" for v in truth()["height"]]
# Name -> contents, options, SAME or words of the refusal, words of a note.
FILES = {
    "comma.csv": (text(), {}, SAME, None),
    "semicolon.csv": (text(sep=";"), {}, SAME, None),
    "tabs.tsv": (text(sep="\t"), {}, SAME, None),
    "bars.txt": (text(sep="|"), {}, SAME, None),
    "blanks.txt": (text(sep=" "), {}, SAME, None),
    "decimal-comma.csv": (text(sep=";", decimal=","), {}, SAME, "decimal points"),
    "windows.csv": (text().replace("\n", "\r\n"), {}, SAME, None),
    "bom.csv": (text().encode("utf-8-sig"), {}, SAME, None),
    "utf16.txt": (text(sep="\t").encode("utf-16"), {}, SAME, None),
    "cp1252.csv": (text().encode("cp1252"), {}, SAME, "read as cp1252"),
    "title.csv": ("Measured in May\nby A. B.\n\n" + text(), {}, SAME, "2 lines above the header"),
    "skip.csv": ("1,2,3,4\n5,6,7,8\n" + text(), {"skip": 2}, SAME, None),
    "r.txt": (truth().to_csv(sep=" ").replace('"" ', "", 1).lstrip(), {}, SAME, None),
    "plain.csv.gz": (gzip.compress(text().encode()), {}, SAME, None),
    "plain.csv.bz2": (bz2.compress(text().encode()), {}, SAME, None),
    "plain.csv.xz": (lzma.compress(text().encode()), {}, SAME, None),
    "plain.zip": (archive(**{"t.csv": text()}), {}, SAME, "read from the archive"),
    "mac.zip": (archive(**{"t.csv": text(), "__MACOSX__._t.csv": "x"}), {}, SAME, None),
    "unnamed-gzip": (gzip.compress(text().encode()), {}, SAME, None),
    "book.xlsx": (excel(), {}, SAME, None),
    "book.csv": (excel(), {}, SAME, None),  # a workbook by another name
    "sheets.xlsx": (sheets(), {}, SAME, "Sheet 'plants' was read"),
    "sheet-2.xlsx": (sheets(), {"sheet": "plants"}, SAME, None),
    "titled.xlsx": (titled_sheet(), {}, SAME, "above the header"),
    "rows.json": (truth().to_json(orient="records", force_ascii=False), {}, SAME, None),
    "columns.json": (json.dumps(truth().to_dict(orient="list")), {}, SAME, None),
    "data.json": (
        json.dumps(truth().assign(data=range(0, 2 * N, 2)).to_dict(orient="list")), {}, SAME, None
    ),
    "split.json": (truth().to_json(orient="split"), {}, SAME, None),
    "lines.jsonl": (truth().to_json(orient="records", lines=True), {}, SAME, None),
    "t.parquet": (arrow("to_parquet"), {}, SAME, None),
    "decimal.parquet": (decimals(), {}, SAME, None),
    "texts.json": (
        json.dumps(truth().astype({"height": str}).to_dict(orient="list")), {}, SAME,
        "Numbers that were saved as texts were read: 'height'"
    ),
    "json.csv": (truth().to_json(orient="records"), {}, SAME, None),
    "json.txt": (truth().to_json(orient="records", lines=True), {}, SAME, None),
    "index.parquet": (table_file(truth().set_index(["colour", "species"])), {}, SAME, None),
    "texts.parquet": (
        table_file(truth().astype({"height": str})), {}, "numbers that were saved as texts", 0
    ),
    "lists.parquet": (table_file(truth().assign(x=[[1, 2]] * N)), {}, "holds lists or dicts", 0),
    "bytes.parquet": (table_file(truth().assign(x=[b"ab", b"c"] * 12)), {}, "or bytes", 0),
    "durations.parquet": (
        table_file(truth().assign(x=pd.to_timedelta(np.arange(N) % 5, unit="h"))), {}, SAME,
        "holds dates or times such as '0 days 00:00:00'"
    ),
    "minus.csv": (text().replace("-", "−"), {}, SAME, None),
    "merged.xlsx": (edited(merged), {}, SAME, "value of merged cells was read in each"),
    "hidden.xlsx": (edited(hidden), {}, SAME, "1 hidden row and 1 hidden column of sheet"),
    "hidden-sheet.xlsx": (edited(hidden_sheet), {}, SAME, "has notes (hidden), Sheet1"),
    "order.xlsx": (
        changed_workbook("xl/worksheets/sheet1.xml", rows_from_the_last), {}, SAME, None
    ),
    "truth.xlsx": (edited(truth_values), {}, SAME, None),
    "error.xlsx": (edited(error), {}, "height:nan", "'#DIV/0!' in A6, and is missing"),
    "error.csv": (odd("#DIV/0!"), {}, "height:nan", None),
    "limits.csv": (
        odd("<0,01"), {}, "height:0.01", "read as the limit"
    ),
    "units.csv": (below("cm;mm;;"), {}, SAME, "Row 2 holds units and was left out: cm, mm"),
    "footer.csv": (below(), {}, SAME, "2 rows without a class"),
    "info.xlsx": (info_sheet(), {"sheet": "2"}, SAME, None),
    "read-me.xlsx": (info_sheet(index=False), {}, SAME, "Sheet 'plants' was read"),
    # As laboratories write: units, words for missing numbers, sums, headers again.
    "unit.csv": (with_unit("mg"), {}, SAME, "Units were removed from the numbers of 'height' (mg)"),
    "unit-close.csv": (with_unit("mg/L", blank=""), {}, SAME, "(mg/L)"),
    "per-cent.csv": (with_unit("%"), {}, SAME, "(%)"),
    "degrees.csv": (with_unit("°C"), {}, SAME, "(°C)"),
    "unit-missing.csv": (
        with_unit("mg", last=f"{truth()['height'].iloc[-1]}"), {}, SAME,
        "without a unit were read in the unit of the others, by column 'height' (1)"
    ),
    "r-default.txt": (truth().to_csv(sep=" ", quoting=2).replace('"" ', "", 1), {}, SAME, None),
    "blank-within.txt": (
        text(truth().assign(x="a b"), sep=" ", quoting=2), {}, SAME, None
    ),
    "none.csv": (
        text(truth().assign(x=["None", "mild", "severe"] * 8)), {}, SAME,
        "Words among categories were read as missing cells: 'x' (None)."
    ),
    "two-units.csv": (with_unit("mg", last="0.005 g"), {}, "units: .* '0.005 g' in row 25", 0),
    "units-row.csv": (unit_row("cm", "mm", "", ""), {}, SAME, "Row 2 holds units"),
    "units-brackets.csv": (unit_row("[cm]", "(mm)", "-", "-"), {}, SAME, "Row 2 holds units"),
    "units-class.csv": (unit_row("cm", "cm", "", "-"), {}, SAME, "Row 2 holds units"),
    "units.xlsx": (edited(sheet_units), {}, SAME, "Row 2 holds units"),
    "units-words.csv": (unit_row("a. u.", "cm-1", "", "-"), {}, SAME, "Row 2 holds units"),
    "header-again.csv": (header_again(), {}, SAME, "3 rows that repeat the header were left out"),
    "total.csv": (summed("Total"), {}, SAME, "(row 26: 'total') sums it up"),
    "sums.csv": (summed("Mean:", "SD", "n"), {}, SAME, "3 rows below the table"),
    "sums.xlsx": (edited(sheet_summary), {}, SAME, "2 rows below the table"),
    "lod.csv": (replaced("<LOD"), {}, "height:nan", "'<LOD' were read as missing numbers"),
    "not-detected.csv": (replaced("not detected"), {}, "height:nan", "missing numbers"),
    "dots.csv": (replaced("..."), {"missing": "..., x"}, "height:nan", None),
    "own-word.csv": (replaced("zu wenig"), {"missing": "zu wenig"}, "height:nan", None),
    "unknown-word.csv": (replaced("zu wenig"), {}, "'zu wenig' in row 6.* --missing", 0),
    "more-than.csv": (replaced(">= 7.5"), {}, "height:7.5", "read as the limit itself"),
    "na.csv": (replaced("N/A"), {}, "height:nan", None),
    "value-de.csv": (replaced("#WERT!"), {}, "height:nan", None),
    "value-fr.csv": (replaced("#VALEUR!"), {}, "height:nan", None),
    "na-pandas.csv": (replaced("<NA>"), {}, "height:nan", None),
    "nan-windows.csv": (replaced("-1.#IND"), {}, "height:nan", None),
    "lakhs.csv": (
        text(truth().assign(x=["12,34,567", "1,23,456"] * 12)), {}, "with a comma", 0
    ),
    "afternoon.csv": (
        text(truth().assign(x=[f"03/{i + 1:02d}/2024 1:05 PM" for i in range(N)])), {}, SAME,
        "holds dates or times"
    ),
    "clock.csv": (
        text(truth().assign(x=[f"{i % 9:02d}:30" for i in range(N)])), {}, SAME, "dates or times"
    ),
    "tokyo.csv": (
        text(truth().assign(x=[f"2024年3月{i % 9 + 1}日" for i in range(N)])), {}, SAME, "or times"
    ),
    "ratio.csv": (text(truth().assign(x=["1:10", "1:20", "1:50"] * 8)), {}, SAME, None),
    "as-text.csv": (
        text(truth().assign(height=[f'="{v}"' for v in truth()["height"]])), {}, SAME, None
    ),
    "unit-unknown.csv": (with_unit("cells/mL"), {}, "a text behind them, such as '.* cells/mL'", 0),
    "power.csv": (with_unit("×10^3", blank=""), {}, "a text behind them", 0),
    "unit-of-some.csv": (
        text(truth().assign(height=[f"{v} mg"[: 9 * (i % 2) or 5] for i, v in enumerate(HEIGHTS)])),
        {}, "a text behind them", 0
    ),
    "square.csv": (with_unit("m²"), {}, SAME, "Units were removed from the numbers of 'height'"),
    "micro.csv": (with_unit("µg", last=f"{truth()['height'].iloc[-1]} μg"), {}, SAME, "(μg)"),
    "versions.csv": (
        text(truth().assign(x=[f"1.{i}.0" for i in range(N)])), {}, SAME, "another text in each"
    ),
    "two-marks.csv": ("\ufeff\ufeff" + text(), {}, SAME, None),
    "caret.csv": (text(sep="^"), {}, "Cells must be divided by tabs, semicolons", 0),
    "blank.csv": (replaced(""), {}, "height:nan", None),
    "value.csv": (replaced("#VALUE!"), {}, "height:nan", None),
    "exponent.csv": (replaced("7.5e0"), {}, "height:7.5", None),
    "plus.csv": (replaced("+7.5"), {}, "height:7.5", None),
    "blanks-around.csv": (text().replace(",", " , "), {}, SAME, None),
    "quoted.csv": (text(quoting=1), {}, SAME, None),
    "quoted-lines.csv": (text().replace("größe", '"größe"'), {}, SAME, None),
    "old-mac.csv": (text().replace("\n", "\r"), {}, SAME, None),
    "utf16-be.csv": (b"\xfe\xff" + text().encode("utf-16-be"), {}, SAME, None),
    "utf32.csv": (text().encode("utf-32"), {}, SAME, None),
    "mac-roman.csv": (text(sep=";").encode("latin-1"), {}, SAME, "not in UTF-8"),
    "blank-lines.csv": (text().replace("\n", "\n\n"), {}, SAME, None),
    "trailing.csv": (text() + "\n\n  \n", {}, SAME, None),
    "empty-rows.csv": (text() + ",,,\n,,,\n", {}, SAME, None),
    "tabs-and-blanks.txt": (text(sep="\t").replace("\t", " \t "), {}, SAME, None),
    "index.csv": (truth().to_csv(), {}, SAME, "counts the rows"),
    "delimiter-behind.csv": (text().replace("\n", ",\n").replace(",\n", "\n", 1), {}, SAME, None),
    "delimiter-header.csv": (text().replace("\n", ",\n", 1), {}, SAME, None),
    "separator.csv": ("sep=;\n" + text(sep=";", decimal=","), {}, SAME, "above the header"),
    "bars-within.csv": (text(truth().assign(x="a|b")), {}, SAME, None),
    "wide-blanks.txt": (text(sep=" ").replace(" ", "    "), {}, SAME, None),
    "decimal-given.csv": (text(sep=";", decimal=","), {"decimal": ","}, SAME, None),
    "decimal-wrong.csv": (text(), {"decimal": ","}, "but ',' is the decimal mark", 0),
    "title-comma.csv": ("Plants; May\n" + text(sep=";"), {}, SAME, "above the header"),
    "above.xlsx": (edited(sheet_above), {}, SAME, "2 lines above the header"),
    "skip.xlsx": (edited(sheet_above), {"skip": 2}, SAME, None),
    "no-header.csv": (text(header=False), {}, "no column 'species'.* --header", 0),
    "nullable.parquet": (nullable(), {}, SAME, None),
    "categorical.parquet": (categorical(), {}, SAME, None),
    "polars.parquet": (polars_file("write_parquet"), {}, SAME, None),
    "polars.csv": (polars_file("write_csv"), {}, SAME, None),
    "polars.json": (polars_file("write_json"), {}, SAME, None),
    "polars.ndjson": (polars_file("write_ndjson"), {}, SAME, None),
    "pandas.json": (truth().to_json(), {}, SAME, None),
    "gzip.parquet": (arrow("to_parquet", compression="gzip"), {}, SAME, None),
    "zstd.parquet": (arrow("to_parquet", compression="zstd"), {}, SAME, None),
    "inner.zip": (archive(**{"folder__t.tsv": text(sep="\t")}), {}, SAME, "from the archive"),
    "t.json.gz": (gzip.compress(truth().to_json(orient="records").encode()), {}, SAME, None),
    "missing.parquet": (arrow("to_parquet"), {"missing": "x"}, "its types are known", 0),
    # Refused: damaged, ambiguous or hostile.
    "info-first.xlsx": (info_sheet(), {}, "no column 'species'.* workbook has info, plants", 0),
    "not-known.csv": (odd("n.d."), {}, "height:nan", "'n.d.' were read as missing"),
    "thousands.csv": (thousands(".", ","), {}, "'1.065': this may be 1065, or .* 3 decimals", 0),
    "thousands-comma.csv": (thousands(","), {}, "'height' holds '1,065'", 0),
    "quote.csv": (text().replace("rose", '"rose', 1), {}, "quote that opens in line 3", 0),
    "inches.csv": (quoted_cells(3, 8), {}, "quote .* line 5 .* closed in line 10 only", 0),
    "inches-below.csv": (quoted_cells(3, 4), {}, "quote .* line 5 .* closed in line 6 only", 0),
    "long-cell.txt": (
        text(sep="\t").replace("rose", "x" * 140_000, 1), {}, "cell of more than 131072 char", 0
    ),
    "nul.csv": (text().replace("rose", "ro\0se", 1), {}, "not a text file", 0),
    "late-nul.csv": (text() + "1,2,rot,lily\n" * 999 + "1,2,rot,li\0ly\n", {}, "line 1025", 0),
    "constant.csv": ("a,species\n" + "1,lily\n1,rose\n" * 9, {}, "Every column is constant", 0),
    "one-class.csv": ("a,species\n" + "1,lily\n2,lily\n" * 9, {}, "one class only", 0),
    "large-number.json": (
        '[{"a": 1' + "0" * 400 + ', "species": "x"}, {"a": 2, "species": "y"}]', {}, "infinite", 0
    ),
    "bad.arff": (arff().replace("lily\n", "tulip\n"), {}, "ARFF .*tulip.* value not in", 0),
    "t.7z": (b"7z\xbc\xaf\x27\x1c" + bytes(99), {}, "7z archive; unpack it", 0),
    "t.tar.gz": (gzip.compress(tar()), {}, "tar archive; unpack it", 0),
    "entities.xlsx": (hidden_entities(), {}, "defines entities in 'xl/worksheets/sheet1.dat'", 0),
    "odd.csv": (odd("k. W."), {}, "numeric except for 'k. W.' in row 6", 0),
    "mixed.csv": (
        odd("1.234"), {}, "'1.234': this may be 1234", 0
    ),
    "empty.csv": ("", {}, "is empty", 0),
    "delimiters.csv": (",,\n,,\n", {}, "is empty", 0),
    "blank.csv.gz": (gzip.compress(b""), {}, "is empty", 0),
    "header.csv": ("height,species\n", {}, "no rows below its header", 0),
    "ragged.csv": (text().replace("rose", "rose,1", 1), {}, "Line 3 .* has 5 cells", 0),
    "damaged.csv.gz": (gzip.compress(text().encode())[:-9], {}, "damaged gzip file", 0),
    "damaged.xlsx": (excel()[:-500], {}, "damaged", 0),
    "damaged.parquet": (arrow("to_parquet")[:-20], {}, "Parquet", 0),
    "limit.json": (
        json.dumps(
            [{"a": f"{i / 10}", "b": i, "species": "xy"[i % 2]} for i in range(24)]
            + [{"a": "<0.5", "b": 1, "species": "x"}]
        ),
        {},
        "numeric except for '<0.5' in row",
        0,
    ),
    "twice.json": (
        '[{"a": 1, "a": 2, "species": "x"}]', {}, "key 'a' twice in one row", 0
    ),
    "twice.jsonl": (
        '{"a": 1, "species": "y"}\n{"a": 1, "a": 2, "species": "x"}\n', {}, "key 'a' twice", 0
    ),
    "keys.json": (
        json.dumps([{f"a{i}": 1, "species": "xy"[i % 2]} for i in range(1500)]), {},
        "has 1501 different keys in its 1500 rows, which have 2 each", 0
    ),
    "digits.csv": (  # took minutes to be told from a number with a unit
        text(truth().assign(x=["5", f"{'1' * 20_000}.{'1' * 20_000}x"] * 12)), {}, SAME, None
    ),
    "broken.json": (truth().to_json(orient="records")[:-5], {}, "not JSON", 0),
    "nested.json": ('[{"a": [1, 2], "species": "x"}]', {}, "holds lists or dicts", 0),
    "deep.json": ("[" * 100_000, {}, "not JSON", 0),
    "two.zip": (archive(**{"a.csv": text(), "b.csv": text()}), {}, "must hold one file", 0),
    "book.ods": (archive(mimetype="application", **{"content.xml": "<x/>"}), {}, "OpenDocument", 0),
    "old.xls": (b"\xd0\xcf\x11\xe0" + bytes(600), {}, "old Excel format", 0),
    "web.xls": ("<html><table></table></html>", {}, "web page", 0),
    "code.pkl": (pickle.dumps(truth()), {}, "pickle", 0),
    "renamed.csv": (pickle.dumps(truth()), {}, "pickle", 0),
    "picture.csv": (b"\x89PNG\r\n\x1a\n" + bytes(100), {}, "not a text file", 0),
    "complex.npz": (npz(X=np.eye(3) * 1j, y=np.arange(3)), {}, "complex numbers", 0),
    "objects.npz": (npz(X=np.array([[{}]], dtype=object)), {}, "plain arrays", 0),
    "laughs.xlsx": (
        changed_workbook("xl/worksheets/sheet1.xml", entities), {}, "defines entities", 0
    ),
    "formula.xlsx": (edited(formula), {}, "Cell A3 .* formula whose value was not saved", 0),
    "row.xlsx": (cells('<row r="2000000000"><c><v>1</v></c></row>'), {}, "damaged", 0),
    "cell.xlsx": (cells('<row><c r="A2000000000"><v>1</v></c></row>'), {}, "damaged", 0),
    "corner.xlsx": (
        cells('<row><c><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'),
        {}, "sheet of more than 5000000 cells, empty ones", 0
    ),
    "long-string.xlsx": (
        shared(f"<sst><si><t>{'a' * 5_000_000}</t></si></sst>", 3000), {}, "131072 characters", 0
    ),
    "strings.xlsx": (
        shared(f"<sst><si><t>{'a' * 130_000}</t></si></sst>", 3000), {}, "268435456 characters", 0
    ),
    "announced.xlsx": (  # the announcement is not believed
        shared('<sst uniqueCount="99999999999"><si><t>a</t></si></sst>', 3), {}, "no column", 0
    ),
    "no-string.xlsx": (shared("<sst></sst>", 3), {}, "damaged", 0),
    "t.feather": (arrow("to_feather"), {}, "Feather file; save the table as Parquet", 0),
    "feather.csv": (arrow("to_feather"), {}, "Feather file; save the table as Parquet", 0),
    "polars.arrow": (polars_file("write_ipc"), {}, "save the table as Parquet", 0),
    "stream.arrow": (stream(), {}, "save the table as Parquet", 0),
    "nominal.arff": (arff(), {}, SAME, None),
    "short.npy": (other_shape(N - 1), {}, "header must announce the array that follows", 0),
    "long.npy": (other_shape(N + 1), {}, "header must announce the array that follows", 0),
    "short.npz": (archive(**{"X.npy": other_shape(N - 1)}), {}, "or it is damaged", 0),
    "stray.csv": (
        text().encode().replace(b"\n", b"\xe9\n", 3).replace(b"\xe9\n", b"\n", 2), {},
        "is in UTF-8 but for the byte E9 in line 3: .* save the file again in UTF-8", 0
    ),
    "bytes.npz": (archive(**{"X.npy": b"nothing"}), {}, "plain arrays", 0),
    "code-points.npz": (no_text(), {}, "plain arrays", 0),
    "cut-directory.npz": (cut_directory(), {}, "damaged zip archive", 0),
    "large.npy": (
        b"\x93NUMPY\x01\0v\0{'descr': '<f8', 'fortran_order': False, 'shape': (999999999, 99), }"
        .ljust(127) + b"\n", {}, "not an NPY file", 0
    ),
    "nameless.zip": (nameless(), {}, "damaged zip archive", 0),
    "no-sheet.xlsx": (sheets(), {"sheet": "7"}, "no sheet '7'; it has 'empty', 'plants'", 0),
    "sheet.csv": (text(), {"sheet": "1"}, "not a workbook", 0),
}  # fmt: skip


def read(path, **options):
    frame, notes = read_table(path, find=partial(find_target, target="species"), **options)
    return table_problem(frame, "species", "t", notes)


@pytest.mark.parametrize("name", FILES)
def test_what_happens_to_each_file(tmp_path, name):
    contents, options, happens, note = FILES[name]
    path = tmp_path / name
    path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
    flags = [part for key, value in options.items() for part in (f"--{key}", value)]
    if happens is not SAME and note == 0:
        done = works("inspect", path, *KNOWN, *flags, code=2)
        assert re.search(happens, done.stderr)
        assert done.stderr.count("Error:") == 1 and "Traceback" not in done.output
        assert not done.stdout
        return
    problem, expected = read(path, **options), truth()
    if happens is not SAME:
        column, _, value = happens.partition(":")
        expected.loc[4, column] = float(value)
    assert_allclose(problem.X["height"], expected["height"])
    assert_allclose(problem.X["größe"], expected["größe"])
    assert problem.X["colour"].tolist() == expected["colour"].tolist()
    assert problem.y.tolist() == expected["species"].tolist()
    if note:
        assert note in " ".join(problem.notes)
    assert "\x1b" not in works("inspect", path, *KNOWN, *flags).output


@pytest.mark.parametrize(("mark", "decimal"), [(".", ","), (",", ".")])
def test_thousands_are_read_where_the_decimal_mark_is_given(tmp_path, mark, decimal):
    (tmp_path / "t.csv").write_text(grouped(mark, decimal))
    with pytest.raises(DataError):
        read(tmp_path / "t.csv")
    problem = read(tmp_path / "t.csv", decimal=decimal)
    assert_allclose(problem.X["height"], (1000 * truth()["height"]).round(2))
    assert_allclose(problem.X["größe"], truth()["größe"])


def test_all_problems_of_a_file_are_said_at_once(tmp_path):
    frame = truth().astype({"height": object, "größe": object})
    frame.loc[3, "height"] = "zu wenig"
    frame.loc[7, "größe"] = "1e999"
    frame["price"] = [f"{v} g" if i % 2 else f"{v} kg" for i, v in enumerate(range(N))]
    rows = text(frame).splitlines()
    rows[20] += ",1"
    rows[22] += ",1,2"
    (tmp_path / "t.csv").write_text("\n".join(rows))
    done = works("inspect", tmp_path / "t.csv", *KNOWN, "--groups", "patient", code=2)
    problems = done.stderr.splitlines()
    assert problems[0] == "Error: 5 problems:" and len(problems) == 6
    for words in (
        r"Line 21 of .* has 6 cells, most have 5; others with their cells: 23 \(7\)",
        "'price' holds numbers in several units: 'kg' .* 'g'",
        "There is no column 'patient'",
        "'height' is numeric except for 'zu wenig' in row 5: .* --missing",
        "'größe' is infinite in row 9",
    ):
        assert sum(re.search(words, line) is not None for line in problems) == 1, words


def test_the_columns_are_shown_as_they_were_read(tmp_path):
    frame = truth().assign(
        id=[f"plant {i}" for i in range(N)],
        day=[f"2024-02-{1 + i % 28:02d}" for i in range(N)],
        same=7,
        nothing="",
        weight=[f"{v * v / 2:.1f} mg" for v in range(N)],
        remark="long" * 40,
    )
    frame.loc[4, "height"] = np.nan
    (tmp_path / "t.csv").write_text(text(frame))
    lines = {line["name"]: line for line in read(tmp_path / "t.csv").overview}
    assert list(lines) == list(frame.columns)
    height = truth()["height"].drop(4)
    assert lines["height"] == {
        "name": "height", "type": "number", "values": f"{height.min():g} to {height.max():g}",
        "missing": 1, "example": f"{height[0]:g}", "role": "feature", "reason": None,
        "remedy": None,
    }  # fmt: skip
    top, times = truth()["colour"].value_counts().index[0], truth()["colour"].value_counts().iloc[0]
    assert lines["colour"]["values"].startswith(f"{top} ({times}), ")
    assert lines["weight"]["values"] == "0 to 264.5 mg" and lines["weight"]["role"] == "feature"
    assert lines["species"]["role"] == "classes"
    assert lines["id"]["values"] == f"{N} different texts"
    assert lines["day"]["values"] == "2024-02-01 to 2024-02-24"
    types = {name: lines[name]["type"] for name in ("id", "day", "nothing", "same")}
    assert types == {"id": "identifier", "day": "date", "nothing": "empty", "same": "number"}
    for name in ("id", "day", "nothing", "same", "remark"):
        assert lines[name]["role"] == "left out" and lines[name]["reason"] and lines[name]["remedy"]
    json.dumps(list(lines.values()))
    output = " ".join(works("inspect", tmp_path / "t.csv", *KNOWN).output.split())
    assert all(name in output for name in frame.columns)


def test_rows_of_one_owner_are_to_stay_together(tmp_path):
    frame = truth().assign(patient=[f"p{i % 6}" for i in range(N)])  # of one class each
    (tmp_path / "t.csv").write_text(text(frame))
    said = unwrapped(works("inspect", tmp_path / "t.csv", *KNOWN).output)
    assert (
        "If 'patient' names what a row belongs to" in said and "--groups names that column" in said
    )


def test_wide_tables_are_summarised_in_seconds(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 3000)).round(3)).add_prefix("x")
    frame.assign(y=np.arange(30) % 3).to_parquet(tmp_path / "t.parquet")
    output = works("inspect", tmp_path / "t.parquet").output
    assert "… and 2960 columns more (--verbose)" in output and len(output.splitlines()) < 80


def test_a_header_that_is_one_cell_short_is_said(tmp_path):
    lost = text().replace("height,größe", "height größe")
    (tmp_path / "t.csv").write_text(lost)
    problem = read(tmp_path / "t.csv")
    assert list(problem.X.columns) == ["column 1", "height größe", "colour"]
    note = "its names are those of the columns from the second on ('height größe' names the second)"
    assert note in " ".join(problem.notes)
    rows = lost.splitlines()  # names of rows differ: these are none
    (tmp_path / "t.csv").write_text("\n".join([*rows, rows[-1]]))
    with pytest.raises(DataError, match="has 3 cells, most have 4; check delimiters"):
        read(tmp_path / "t.csv")


def test_texts_that_cells_share_are_counted_for_each(tmp_path, monkeypatch):
    words = ["a" * 1000, "b" * 3000] * 50
    species = pa.array(["lily", "rose"] * 50)
    table = pa.table({"x": words, "n": np.arange(100) ** 2 % 7.0, "species": species})
    path = tmp_path / "t.parquet"
    for kind in (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())):
        parquet.write_table(table.set_column(0, "x", table["x"].cast(kind)), path)
        with monkeypatch.context() as patch:
            assert read(path).X["x"].tolist() == words
            patch.setattr(formats, "available_memory", lambda: 4 * 10**5)  # half of the copies
            with pytest.raises(DataError, match="asks for more memory"):
                read(path)


def test_folders_of_parquet(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    truth()[:10].to_parquet(folder / "1.parquet")
    truth()[10:].to_parquet(folder / "2.parquet")
    assert_allclose(read(folder).X["height"], truth()["height"])
    with pytest.raises(DataError, match="is a folder"):
        read(tmp_path)
    for label, part in truth().groupby("species"):  # a folder for each value of a column
        (tmp_path / "by" / f"species={label}").mkdir(parents=True)
        part.drop(columns="species").to_parquet(tmp_path / "by" / f"species={label}" / "1.parquet")
    problem, expected = read(tmp_path / "by"), truth().sort_values("species", kind="stable")
    assert_allclose(problem.X["height"], expected["height"])
    assert problem.y.tolist() == expected["species"].tolist()


def test_numbers_that_may_stand_for_missing_ones_are_noted(tmp_path):
    frame = truth()
    frame.loc[[3, 8], "height"] = -999
    (tmp_path / "t.csv").write_text(text(frame))
    assert "'height' holds -999 2 times" in " ".join(read(tmp_path / "t.csv").notes)
    assert "-999" not in " ".join(table_problem(truth(), "species", "t").notes)


@pytest.mark.parametrize(
    ("columns", "commas", "points", "found"),
    [
        ([["735", "1.065", "1.200"]], [False], True, (0, "1.065")),
        ([["735", "1.065", "1.200"]], [False], False, None),  # numbers of a workbook
        ([["735", "1.065", "0.5"]], [False], True, None),
        ([["1.065", "2.125"]], [False], True, None),  # three decimals
        ([["1.065", "2.125"], ["0,5", "1,25"]], [False, True], True, (0, "1.065")),
        ([["12.5", "0.5"], ["0,5", "1,25"]], [False, True], True, None),
        ([["1,065", "2,125"], ["0.5", "1.25"]], [True, False], True, (0, "1,065")),
        ([["735", "1,065", "2,125"], ["0,5", "1,25"]], [True, True], True, None),
        ([["rot", "1.065.300", "1.065"]], [False], True, None),
    ],
)
def test_separators_of_thousands_are_not_decimal_points(columns, commas, points, found):
    assert misleading_marks(columns, commas, points) == ([found] if found else [])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("s.fasta", "sequences, not a table: give it as --objects"),
        ("s.fa.gz", "sequences"),
        ("s.ts", "time series, .* --objects"),
        ("s.phy", "a matrix of distances, .* --proximity"),
    ],
)
def test_what_is_no_table_is_sent_to_its_option(tmp_path, name, words):
    (tmp_path / name).write_text(">a\nACGT\n")
    assert re.search(words, works("inspect", tmp_path / name, code=2).stderr)


def test_a_folder_of_results_does_not_hide_a_set(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "iris").mkdir()
    assert "Read 150 rows with 4 columns, 3 classes" in works("inspect", "iris").output
    truth().to_parquet(tmp_path / "iris" / "1.parquet")
    assert "24 rows" in works("inspect", "iris", *KNOWN).output


def test_names_do_not_steer_the_terminal(tmp_path):
    turning = "\u061c\u200e\u200f\u2028\u2029\u202e\u2066\u2067\u2068\u2069"
    nasty = f"\x1b]0;title\x07\x1b[31mred{turning}"
    frame = truth().replace("rose", nasty)
    frame[nasty] = np.where(frame["species"] == nasty, "yes", "no")
    (tmp_path / "t.csv").write_text(text(frame))
    done = works("inspect", tmp_path / "t.csv", *KNOWN)
    refused = works(
        "inspect", tmp_path / "t.csv", "--target", "colour", "--id", nasty + "x", code=2
    )
    for output in (done.output, refused.output):
        assert not set(output) & set("\x1b\x07" + turning)
    assert "[31mred" in done.output


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_a_pipe_is_read_once(tmp_path):
    def pipe(name, contents):
        os.mkfifo(tmp_path / name)
        writer = threading.Thread(target=(tmp_path / name).write_text, args=(contents,))
        writer.start()
        return tmp_path / name, writer

    path, writer = pipe("t", text())
    assert_allclose(read(path).X["height"], truth()["height"])
    writer.join(5)
    D = squareform(pdist(truth()[["height", "größe"]]))
    np.savetxt(tmp_path / "d.csv", D, delimiter=",")
    path, writer = pipe("labels", "\n".join(truth()["species"]))
    done = works("inspect", "--proximity", tmp_path / "d.csv", "--labels", path)
    assert "1-NN" in done.output
    writer.join(5)


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(excel())))
    assert_allclose(read("-").X["height"], truth()["height"])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(DataError, match="'standard input' is empty"):
        read("-")


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_what_unpacks_to_gigabytes_is_refused(tmp_path, monkeypatch, pack):
    monkeypatch.setattr(source, "MOST_BYTES", 10**5)
    monkeypatch.setattr(source, "_CHUNK", 10**4)
    (tmp_path / "bomb.csv.gz").write_bytes(pack(b"1,2\n" * 10**5))
    with pytest.raises(DataError, match="more than 0 MB"):
        read(tmp_path / "bomb.csv.gz")
    (tmp_path / "bomb.zip").write_bytes(archive(**{"t.csv": "1,2\n" * 10**5}))
    with pytest.raises(DataError, match="unpacks to 0 MB"):
        read(tmp_path / "bomb.zip")
    monkeypatch.setattr(workbooks, "MOST_CELLS", 50)
    (tmp_path / "t.xlsx").write_bytes(excel())
    with pytest.raises(DataError, match="more than 50 cells"):
        read(tmp_path / "t.xlsx")


def test_too_little_memory_is_no_damage(tmp_path, monkeypatch):
    def full(*_, **__):
        raise MemoryError

    (tmp_path / "t.xlsx").write_bytes(excel())
    monkeypatch.setattr(workbooks, "load_workbook", full)
    assert "not enough memory" in works("inspect", tmp_path / "t.xlsx", *KNOWN, code=2).stderr
    (tmp_path / "t.parquet").write_bytes(arrow("to_parquet"))
    monkeypatch.setattr(formats, "available_memory", lambda: 1000)
    done = works("inspect", tmp_path / "t.parquet", *KNOWN, code=2)
    assert "asks for more memory than there is" in done.stderr


def test_letters_are_no_units_where_no_numbers_stand_below(tmp_path):
    rows = ["m,S,A", *(f"{'fm'[i % 2]},{'SML'[i % 3]},{'AB'[i % 2]}" for i in range(11))]
    (tmp_path / "t.csv").write_text("sex,size,species\n" + "\n".join(rows))
    assert read(tmp_path / "t.csv").X["sex"].tolist() == list("mfmfmfmfmfmf")


def test_each_problem_is_said_once_and_what_follows_from_it_is_not(tmp_path):
    rows = [f"{v} ± 0.1,{'ab'[i % 2]}" for i, v in enumerate(truth()["height"])]
    (tmp_path / "t.csv").write_text("height,species\n" + "\n".join(rows))
    done = works("inspect", tmp_path / "t.csv", *KNOWN, code=2)
    assert len(done.stderr.splitlines()) == 1 and "an error (±) after them" in done.stderr


def test_classes_that_only_look_alike_are_noted(tmp_path):
    frame = truth()
    for other in ("lily\u200b", "Lily", "li\u200bLY "):
        frame.loc[:6, "species"] = [other if v == "lily" else v for v in frame["species"][:7]]
        (tmp_path / "t.csv").write_text(text(frame))
        said = unwrapped(works("inspect", tmp_path / "t.csv", *KNOWN).output)
        assert "differ in case, blanks or invisible characters only" in said
    np.savetxt(tmp_path / "d.csv", squareform(pdist(truth()[["height", "größe"]])), delimiter=",")
    (tmp_path / "y.txt").write_text("\n".join(frame["species"]))
    options = ["--proximity", tmp_path / "d.csv", "--labels", tmp_path / "y.txt"]
    assert "invisible characters only" in unwrapped(works("inspect", *options).output)
    (tmp_path / "t.csv").write_text(text(truth().rename(columns={"species": "Spe\u200bcies"})))
    assert "24 rows" in works("inspect", tmp_path / "t.csv", *KNOWN).output


def test_merged_classes_count_in_each_row(tmp_path):
    frame = truth().sort_values("species")

    def merge(sheet):
        for start in (2, 2 + N // 2):
            sheet.merge_cells(
                start_row=start, end_row=start + N // 2 - 1, start_column=4, end_column=4
            )

    (tmp_path / "t.xlsx").write_bytes(edited(merge, frame))
    assert read(tmp_path / "t.xlsx").y.tolist() == frame["species"].tolist()


def test_wavelengths_are_names_where_the_target_stands_beside_them(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    rows = [f"{'ab'[i % 2]},{x[0]:.3f},{x[1]:.3f},{x[2]:.3f}" for i, x in enumerate(X)]
    (tmp_path / "s.csv").write_text("Sorte,400,402,404\n" + "\n".join(rows) + "\n")
    done = works("inspect", tmp_path / "s.csv", "--target", "Sorte")
    assert "20 rows with 3 columns" in done.output
    done = works("inspect", tmp_path / "s.csv", "--target", "sort", code=2)
    assert "first line was read as data" in done.stderr and "--header" in done.stderr


def test_where_the_target_stands_is_told(tmp_path):
    path, frame = tmp_path / "t.csv", truth()
    path.write_text("one,one,two,\n" + frame.to_csv(index=False))
    done = works("inspect", path, *KNOWN, code=2)
    assert "'species' stands in row 2" in unwrapped(done.stderr) and "--skip" in done.stderr
    frame.T.to_csv(path)
    done = works("inspect", path, *KNOWN, code=2)
    assert "is called 'species': transpose the table" in unwrapped(done.stderr)
    pd.DataFrame(D, index=NAMES, columns=NAMES).to_csv(path)
    assert "--proximity reads it as a matrix" in unwrapped(works("inspect", path, code=2).stderr)


def lines(rows):
    return "\n".join(rows) + "\n"


POINTS = np.random.default_rng(0).normal(size=(5, 2))
D = np.round(squareform(pdist(POINTS)), 4)
NAMES = [f"sp{i}" for i in range(5)]
WORDS = [[f"{v:.4f}" for v in row] for row in D]
MATRICES = {
    "square.phy": lines(["5", *(n.ljust(10) + " ".join(w) for n, w in zip(NAMES, WORDS))]),
    "lower.phy": lines([" 5", *(NAMES[i] + " " + " ".join(WORDS[i][:i]) for i in range(5))]),
    "diagonal.phy": lines(["5", *(NAMES[i] + " " + " ".join(WORDS[i][: i + 1]) for i in range(5))]),
    "wrapped.phy": lines(
        ["5", *(f"{n} {' '.join(w[:3])}\n {' '.join(w[3:])}" for n, w in zip(NAMES, WORDS))]
    ),
    "lower.csv": lines([",".join(WORDS[i][: i + 1]) for i in range(5)]),
    "strict.txt": lines([" ".join(WORDS[i][:i]) for i in range(5)]),
    "named.tsv": lines(["\t".join([NAMES[i], *WORDS[i][: i + 1]]) for i in range(5)]),
    "padded.csv": lines(
        ["," + ",".join(NAMES)]
        + [",".join([NAMES[i], *WORDS[i][:i], *[""] * (5 - i)]) for i in range(5)]
    ),
    "dashed.csv": lines(
        ["," + ",".join(NAMES)]
        + [",".join([NAMES[i], *WORDS[i][:i], "-", *WORDS[i][i + 1 :]]) for i in range(5)]
    ),
    "dashed.tsv": lines(["\t".join([NAMES[i], *WORDS[i][:i], "—"]) for i in range(5)]),
    "empty.csv": lines([",".join([*WORDS[i][:i], "", *WORDS[i][i + 1 :]]) for i in range(5)]),
    "upper.txt": lines([" ".join(WORDS[i][i:]) for i in range(5)]),
    "upper-strict.txt": lines([" ".join(WORDS[i][i + 1 :]) for i in range(4)]),
    "upper-named.tsv": lines(["\t".join([NAMES[i], *WORDS[i][i:]]) for i in range(5)]),
    "upper-padded.csv": lines(
        ["," + ",".join(NAMES)]
        + [",".join([NAMES[i], *[""] * (i + 1), *WORDS[i][i + 1 :]]) for i in range(5)]
    ),
    "commas.txt": lines(["\t".join(w).replace(".", ",") for w in WORDS]),
    "commas-named.csv": lines(
        [";".join(["", *NAMES])]
        + [";".join([n, *(cell.replace(".", ",") for cell in w)]) for n, w in zip(NAMES, WORDS)]
    ),
    "zeros.csv": lines([",".join(w[: i + 1] + ["0"] * (4 - i)) for i, w in enumerate(WORDS)]),
    "condensed.txt": lines([f"{v:.4f}" for v in D[np.triu_indices(5, 1)]]),
}
NAMED = (
    "upper-named.tsv",
    "upper-padded.csv",
    "commas-named.csv",
    "padded.csv",
    "named.tsv",
    "dashed.csv",
    "dashed.tsv",
)


@pytest.mark.parametrize("name", MATRICES)
def test_matrices_of_every_form(tmp_path, name):
    (tmp_path / name).write_text(MATRICES[name])
    notes = []
    M, rows, _, _ = read_matrix(tmp_path / name, notes)
    assert_allclose(M, D)
    assert rows == (NAMES if name in NAMED or "phy" in name else None)
    without = (
        "upper-strict.txt",
        "upper-padded.csv",
        "lower.phy",
        "strict.txt",
        "padded.csv",
        "dashed.csv",
        "dashed.tsv",
        "empty.csv",
    )
    assert (EMPTY_DIAGONAL in notes) == (name in without)


def test_a_row_is_all_pairs_or_one_new_object(tmp_path):
    pairs = D[np.triu_indices(5, 1)]
    np.savetxt(tmp_path / "d.csv", pairs[None], delimiter=",")
    assert_allclose(proximity_problem(tmp_path / "d.csv", only_look=True).X, D)
    assert_allclose(read_matrix(tmp_path / "d.csv")[0], [pairs])
    np.savetxt(tmp_path / "d.csv", pairs[None, 1:], delimiter=",")
    with pytest.raises(DataError, match="a matrix of 1 × 9"):
        proximity_problem(tmp_path / "d.csv", only_look=True)


@pytest.mark.parametrize("shape", ["square", "lower", "diagonal"])
@pytest.mark.parametrize(
    "names", [[f"sample {i}" for i in range(5)], [f"A b{i}" for i in range(5)]]
)
def test_names_of_ten_characters_may_have_blanks(tmp_path, shape, names):
    end = {"square": [5] * 5, "lower": range(5), "diagonal": range(1, 6)}[shape]
    rows = [f"{name:10}{' '.join(w[:n])}" for name, w, n in zip(names, WORDS, end)]
    (tmp_path / "d.phy").write_text(lines(["5", *rows]))
    M, rows, _, _ = read_matrix(tmp_path / "d.phy")
    assert_allclose(M, D)
    assert rows == names


@pytest.mark.parametrize("mark", [".", ","])
def test_thousands_in_a_matrix_are_no_decimals(tmp_path, mark):
    rows = ["0\t735\t1,234", "735\t0\t901", "1,234\t901\t0"]
    (tmp_path / "d.tsv").write_text(lines(rows).replace(",", mark))
    with pytest.raises(DataError, match="this may be 1234, or a number with 3 decimals"):
        read_matrix(tmp_path / "d.tsv")


def test_an_empty_diagonal_is_a_distance_and_never_a_similarity(tmp_path):
    (tmp_path / "y.txt").write_text("a\na\na\nb\nb\n")
    near = [["-" if i == j else 1 + ((i < 3) != (j < 3)) for j in range(5)] for i in range(5)]
    far = [["-" if v == "-" else 3 - v for v in row] for row in near]
    for name, rows in (("near", near), ("far", far)):
        (tmp_path / f"{name}.csv").write_text(lines([",".join(map(str, row)) for row in rows]))
    labels = ["--labels", tmp_path / "y.txt"]
    assert EMPTY_DIAGONAL in unwrapped(
        works("inspect", "--proximity", tmp_path / "near.csv").output
    )
    done = works("inspect", "--proximity", tmp_path / "far.csv", *labels, code=2)
    assert "larger within the classes than between them" in unwrapped(done.stderr)
    options = ["inspect", "--proximity", tmp_path / "near.csv", "--kind", "similarity"]
    assert "similarities need that of each object" in unwrapped(works(*options, code=2).stderr)


def unwrapped(text):
    return " ".join(text.split())


def test_quoted_names_between_blanks(tmp_path):
    rows = [" ".join([f'"{name}"', *w]) for name, w in zip(NAMES, WORDS)]
    header = " ".join(f'"{name}"' for name in NAMES)
    (tmp_path / "d.txt").write_text(lines([header, *rows]))  # as write.table of R
    M, rows, columns, _ = read_matrix(tmp_path / "d.txt")
    assert_allclose(M, D)
    assert rows == columns == NAMES


def test_labelled_frames_and_condensed_arrays(tmp_path):
    frame = pd.DataFrame(D, index=NAMES, columns=NAMES)
    frame.to_parquet(tmp_path / "d.parquet")
    frame.to_excel(tmp_path / "d.xlsx")
    frame.to_csv(tmp_path / "d.csv")
    for suffix in ("parquet", "xlsx", "csv"):
        M, rows, columns, _ = read_matrix(tmp_path / f"d.{suffix}")
        assert_allclose(M, D)
        assert rows == columns == NAMES
    np.save(tmp_path / "d.npy", D[np.triu_indices(5, 1)])
    notes = []
    assert_allclose(read_matrix(tmp_path / "d.npy", notes)[0], D)
    assert "all pairs of 5 objects" in notes[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (lines(MATRICES["square.phy"].splitlines()[:-1]), "has only 4"),
        (MATRICES["square.phy"].replace("5", "4", 1), "declares 4 objects.* but has 5"),
        (MATRICES["square.phy"] + "more 1 2 3\n", "declares 5 objects.* but has 6"),
        (MATRICES["square.phy"].rstrip()[:-7] + "\n", "'sp4'.* must have 5 numbers.* it has 4"),
        (MATRICES["square.phy"].replace("0.0000", "0.0x00"), "'0.0x00' in row 1.* not a number"),
        (MATRICES["lower.csv"].replace("0.0000", "0.0x00"), "'0.0x00' in row .* not a number"),
        (lines(MATRICES["lower.csv"].splitlines()[:-1] + ["1,2"]), "differ in length"),
        ("a,b\n1,2,3\n4,5\n", "differ in length"),
        (",,\n,,\n", "is empty"),
        ("1" * 5000 + "\na 0 1\nb 1 0\n", "holds no matrix|differ in length|not a number"),
        ("#mega\n!Title x;\n#a\n#b\n1.0\n", "holds no matrix of numbers: a square"),
    ],
)
def test_damaged_matrices_are_refused(tmp_path, text, words):
    (tmp_path / "d.txt").write_text(text)
    with pytest.raises(DataError, match=words):
        read_matrix(tmp_path / "d.txt")
