"""What a column is taken for: numbers, names, codes, names of rows; and what is refused."""

import numpy as np
import pandas as pd
import pytest
from test_reading import read

from mahalearn.app.reading import problem as problems
from mahalearn.app.reading.columns import (
    STAND_INS,
    counting_columns,
    date_columns,
    identifier_columns,
    row_names,
    stand_ins,
    telling_columns,
)
from mahalearn.app.reading.encoder import describe_table
from mahalearn.app.reading.problem import DataError
from mahalearn.app.reading.read import read_problem


def table(cells, delimiter=","):
    """A table of a column x of these cells, a number and a class, as text."""
    lines = [delimiter.join(("x", "a", "class"))]
    for i, cell in enumerate(cells):
        cell = f'"{cell}"' if delimiter in cell else cell
        lines.append(delimiter.join((cell, str(i * i % 17), "uv"[i % 2])))
    return "\n".join(lines) + "\n"


def said(problem):
    return " ".join(problem.notes)


@pytest.mark.parametrize("odd", ["k. W.", "5.1 %", "1.2.3"])
def test_one_text_makes_no_names_of_numbers(tmp_path, odd):
    cells = [f"{i / 7:.3f}" for i in range(30)]
    cells[17] = odd
    with pytest.raises(DataError, match=rf"'x' is numeric except for '{odd}' in row 19: correct"):
        read(tmp_path, table(cells))
    cells[20] = cells[3] = odd
    with pytest.raises(DataError, match=rf"except for '{odd}' in row 5, '{odd}' in row 19, .* 22:"):
        read(tmp_path, table(cells))
    commas = [cell.replace(".", ",") if cell != odd else "k. W." for cell in cells]
    with pytest.raises(DataError, match=r"is numeric except for 'k\. W\.' in row 5"):
        read(tmp_path, table(commas, ";"))


def test_words_of_laboratories_are_missing_numbers_and_may_be_categories(tmp_path):
    cells = [f"{i / 7:.3f}" for i in range(30)]
    cells[3], cells[20] = "n.d.", "<LOD"
    problem = read(tmp_path, table(cells))
    assert np.isnan(problem.X["x"][[3, 20]]).all() and problem.X["x"].notna().sum() == 28
    assert "'n.d.' were read as missing numbers, by column 'x' (2)" in said(problem)
    words = ["not detected", "weak", "strong"] * 8
    assert read(tmp_path, table(words)).X["x"].tolist() == words


def test_rows_are_counted_as_in_the_file(tmp_path):
    text = table([f"{i / 7:.3f}" if i != 17 else "?!" for i in range(30)])
    lines = text.splitlines()
    lines[5] = lines[5].rsplit(",", 1)[0] + ","  # a row without a class
    with pytest.raises(DataError, match="in row 19"):
        read(tmp_path, "\n".join(lines))


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["5,100", "4,200", "800"] * 5, "a comma, such as '5,100' in row 2"),
        (["7", "$5.10", "€ 4"] * 5, r"a currency sign, such as '\$5.10' in row 3"),
        (["5 100", "4 200", "800"] * 5, "a thousands separator, such as '5 100' in row 2"),
        (["5.100,25", "4.200,5", "800"] * 5, "a comma, such as '5.100,25' in row 2"),
        (
            ["12.3±0.1", "−4 ± 2", "8 +/- 1e-3"] * 5,
            r"an error \(±\) after them, such as '12.3±0.1' in row 2",
        ),
        (["1_065", "2_125", "800"] * 5, "underscores, such as '1_065' in row 2"),
        (
            ["1.2D+03", "4.0D-01", "7D+2"] * 5,
            "the exponent D of Fortran, such as '1.2D.03' in row 2",
        ),
    ],
)
def test_decorated_numbers_are_no_names(tmp_path, cells, words):
    with pytest.raises(DataError, match=rf"'x' holds numbers with {words}.*: write them"):
        read(tmp_path, table(cells))


def test_names_stay_names(tmp_path):
    for cells in (
        ["3D2", "4D1"] * 10,
        ["1_2", "2_1"] * 10,
        ["red", "blue"] * 10,
        ["2 doors", "4 doors"] * 10,
        ["1", "2", "x"] * 7,
    ):
        assert read(tmp_path, table(cells)).X["x"].tolist() == cells


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%y", "%Y-%m-%dT%H:%M:%S"])
def test_dates_are_left_out(tmp_path, form):
    days = pd.date_range("2020-01-01", periods=4).strftime(form)
    problem = read(tmp_path, table(list(days) * 8))
    assert list(problem.X.columns) == ["a"]
    assert f"'x' holds dates or times such as {days[0]!r} and was left out" in said(problem)


def test_dates_of_parquet_files_are_left_out_too(tmp_path):
    days = list(pd.date_range("2020-01-01", periods=4)) * 3
    frame = pd.DataFrame({"x": days, "a": range(2, 26, 2), "class": list("uv") * 6})
    frame.to_parquet(tmp_path / "d.parquet")
    problem = read(tmp_path, (tmp_path / "d.parquet").read_bytes(), name="t.parquet")
    assert list(problem.X.columns) == ["a"] and "holds dates" in said(problem)


def test_free_text_is_left_out(tmp_path):
    problem = read(tmp_path, table([f"note {i // 2}" for i in range(60)]))
    assert list(problem.X.columns) == ["a"]
    assert "'x' has 30 different texts in 60 rows, too many" in said(problem)
    cells = [f"kind {i % 20}" for i in range(40)]
    assert read(tmp_path, table(cells)).X["x"].tolist() == cells


def test_numbers_that_cannot_be_squared_are_refused(tmp_path):
    cells = [str(i * i % 13) for i in range(30)]
    cells[17] = "-1e300"
    with pytest.raises(DataError, match=r"'x' holds -1e\+300 in row 19, too large"):
        read(tmp_path, table(cells))
    cells[17] = "1e149"
    assert read(tmp_path, table(cells)).X["x"].max() == 1e149


def test_numbers_behind_zeros_are_codes_if_all_have_one_length(tmp_path):
    cells = ["00501", "90210", "", "02139"] * 5
    problem = read(tmp_path, table(cells))
    assert problem.X["x"].fillna("").tolist() == cells
    assert "'x' holds zero-padded codes" in said(problem)
    for cells in (["01", "12"] * 10, ["007", "12"] * 10, ["00.5", "12.5"] * 10):
        assert read(tmp_path, table(cells)).X["x"].tolist() == [float(cell) for cell in cells]


@pytest.mark.parametrize("order", [1, -1])
def test_a_column_that_counts_the_rows_names_them(tmp_path, order):
    ids = [str(i) for i in range(1000, 1030)][::order]
    text = table(ids)
    problem = read(tmp_path, text)
    assert list(problem.X.columns) == ["a"] and problem.names == ids
    assert "'x' counts the rows; it names them and is not used to classify" in said(problem)
    # Counted before rows without a class were left out.
    lines = text.splitlines()
    lines[5] = lines[5].rsplit(",", 1)[0] + ","
    problem = read(tmp_path, "\n".join(lines))
    assert list(problem.X.columns) == ["a"] and problem.names == ids[:4] + ids[5:]
    ids[3] = "5000"
    assert list(read(tmp_path, table(ids)).X.columns) == ["x", "a"]
    assert list(read(tmp_path, table([str(i / 2) for i in range(30)])).X.columns) == ["x", "a"]


def test_the_index_that_pandas_writes_names_the_rows(tmp_path):
    text = table(["4", "7", "19", "2"])
    for header in ("", "Unnamed: 0"):
        problem = read(tmp_path, header + text[1:])
        assert list(problem.X.columns) == ["a"] and problem.names == ["4", "7", "19", "2"]
    assert list(read(tmp_path, text).X.columns) == ["x", "a"]
    decimals = table(["4.5", "7.2", "1.9", "2.0"])
    assert list(read(tmp_path, decimals[1:]).X.columns) == ["column 1", "a"]


def test_new_rows_are_named_by_numbers_too():
    frame = pd.DataFrame({"size": [3.0, 3.0] * 6, "id": range(12)})
    assert row_names(frame) == ("id", [str(i) for i in range(12)])
    assert row_names(frame[["size"]]) == (None, None)


def test_names_of_other_formats_that_are_numbers_are_not_called_codes(tmp_path):
    header = "@relation t\n@attribute x {1,2}\n@attribute class {u,v}\n@data\n"
    problem = read(tmp_path, header + "1,u\n2,v\n" * 9, name="t.arff")
    assert problem.X["x"].tolist() == ["1", "2"] * 9 and not problem.notes


def test_a_constant_category_is_only_left_out(tmp_path):
    problem = read(tmp_path, table(["1.2.3"] * 12))
    notes = " ".join(describe_table(problem.X))
    assert "Constant columns were left out: x." in notes and "one-hot" not in notes


def test_infinite_cells_are_refused_with_their_row(tmp_path):
    with pytest.raises(DataError, match="'x' is infinite in row 4"):
        read(tmp_path, table(["1.5", "3", "-inf", "4"]))


def test_categories_that_differ_in_case_are_noted(tmp_path):
    problem = read(tmp_path, table(["yes", "Yes", "no", "NO"] * 6))
    assert "categories of column 'x', 'yes', 'Yes' differ in case" in said(problem)
    assert "'no', 'NO'" in said(problem)


def test_classes_that_are_one_number_are_noted(tmp_path):
    text = (
        table(["3", "5", "4"] * 8)
        .replace(",u", ",1")
        .replace(",v", ",2")
        .replace(",1\n", ",1.0\n", 1)
    )
    problem = read(tmp_path, text)
    assert sorted(set(problem.y.tolist())) == [1, 2]
    assert "The classes '1', '1.0' are one number and count as one class" in said(problem)


LONG = 2**53  # 2**53 + 1 is no float64


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet"])
def test_long_whole_numbers_keep_their_digits(tmp_path, suffix):
    ids = [LONG + 1 + i % 3 for i in range(24)]
    frame = pd.DataFrame({"x": ids, "a": [i * i % 17 for i in range(24)], "class": list("uv") * 12})
    write = {"csv": frame.to_csv, "json": frame.to_json, "parquet": frame.to_parquet}[suffix]
    write(tmp_path / "d", **({"orient": "records"} if suffix == "json" else {"index": False}))
    problem = read(tmp_path, (tmp_path / "d").read_bytes(), name=f"t.{suffix}")
    assert problem.X["x"].tolist() == list(map(str, ids))
    assert "'x' holds whole numbers of more digits than are kept (9007199254740993)" in said(
        problem
    )
    rows = "\n".join(f"{i * i},{LONG + i % 2}" for i in range(20))
    assert set(read(tmp_path, "a,class\n" + rows).y) == {str(LONG), str(LONG + 1)}


# --- tables of many columns are looked at as arrays -----------------------------------------------


def wide(n=40):
    """Columns of every sort, in no order, and two classes."""
    rng = np.random.default_rng(5)
    y = np.arange(n) % 2
    columns = {
        "count": rng.permutation(n) + 7.0,
        "gap": np.r_[np.arange(n - 1), n + 3.0],
        "Unnamed: 0": np.arange(n) * 2.0,
        "sample_id": rng.permutation(n) * 3.0,
        "other id": rng.integers(0, 5, n) * 1.0,
        "half nr": np.arange(n) + 0.5,
        "year": rng.integers(1990, 2020, n) * 1.0,
        "age": rng.integers(1990, 2020, n) * 1.0,
        "day": 20240100.0 + rng.integers(1, 28, n),
        "stand-in": np.where(np.arange(n) % 9 == 1, -999, rng.normal(size=n)),
        "near": np.where(np.arange(n) % 9 == 1, 99, rng.normal(60, 30, size=n)),
        "leak": y + rng.random(n) / 2,
        "touching leak": np.where(y, np.maximum(rng.random(n) - 0.5, 0), -rng.random(n)),
        "tied": np.where(y, rng.integers(0, 3, n), -rng.integers(0, 3, n)) * 1.0,
        "leak with a gap": np.where(np.arange(n) == 3, np.nan, y + rng.random(n) / 2),
        "constant": np.ones(n),
        "constant but for gaps": np.where(np.arange(n) % 2, np.nan, 2.0),
        "word": np.array(["a", "b", "c"], dtype=object)[rng.integers(0, 3, n)],
        "leaking word": np.array(["ja", "nein"], dtype=object)[y],
        "constant word": np.array(["x"] * n, dtype=object),
        "twin": np.zeros(n),
    }
    names = list(rng.permutation(list(columns)))
    frame = pd.DataFrame({name: columns[name] for name in names})
    frame["twin"] = frame["leak"]
    return frame, y


@pytest.mark.parametrize("cells", [1, 100, 2**22])
def test_columns_are_judged_as_one_by_one(monkeypatch, cells):
    monkeypatch.setattr(problems, "_BLOCK_CELLS", cells)
    X, y = wide()
    numbers = {c: X[c].tolist() for c in X.columns if X[c].dtype.kind == "f"}

    def different(x):
        return all(v == v and v == round(v) for v in x) and len(set(x)) == len(x)

    def ordered(x):
        if any(v != v for v in x):
            return False
        a, b = ([v for v, label in zip(x, y) if label == one] for one in (0, 1))
        return max(a) < min(b) or max(b) < min(a)

    counting = [c for c, x in numbers.items() if different(x) and max(x) - min(x) == len(x) - 1]
    assert set(X.columns[counting_columns(X)]) == {*counting, "Unnamed: 0"}
    assert counting == ["count"]
    identifiers = ["sample_id"]
    assert different(numbers["sample_id"]) and list(X.columns[identifier_columns(X)]) == identifiers
    assert set(date_columns(X)) == {"year", "day"}
    odd = [(c, v, x.count(v)) for c, x in numbers.items() for v in STAND_INS if v in x]
    assert stand_ins(X) == [one for one in odd if one[0] == "stand-in"]
    leaks = {c for c, x in numbers.items() if ordered(x)} | {"leaking word"}
    assert telling_columns(X, y) == [c for c in X.columns if c in leaks] and len(leaks) == 4
    notes = " ".join(describe_table(X))
    constant = ["constant", "constant word"]
    assert "missing cells of constant but for gaps are marked" in notes
    assert f"Constant columns were left out: {', '.join(constant)}." in notes
    first, second = [c for c in X.columns if c in ("leak", "twin")]
    assert f"Columns with equal values count twice: {second} = {first}." in notes
    naming = {"count", "Unnamed: 0", "sample_id"}
    assert row_names(X)[0] == next(c for c in X.columns if c in naming)


def test_wide_tables_are_not_taken_apart(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 1000)).round(3)).add_prefix("x")
    frame.assign(y=np.array(["a", "b"])[np.arange(30) % 2]).to_csv(tmp_path / "t.csv", index=False)
    taken, get = [], pd.DataFrame.__getitem__
    monkeypatch.setattr(
        pd.DataFrame, "__getitem__", lambda self, key: taken.append(key) or get(self, key)
    )
    problem = read_problem(tmp_path / "t.csv", target="y")
    assert problem.X.shape == (30, 1000) and len(taken) < 50
