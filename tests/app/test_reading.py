"""Reading people's files: what is found out, and what is refused in a sentence."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from own_data import distances, read_objects, write_matrix

from mahalearn.app.reading.columns import as_labels
from mahalearn.app.reading.matrices import proximity_problem, read_matrix
from mahalearn.app.reading.objects import objects_problem
from mahalearn.app.reading.problem import DataError, Problem
from mahalearn.app.reading.read import builtin_problem, is_builtin
from mahalearn.app.reading.source import sniff
from mahalearn.app.reading.tables import find_target, read_table, table_problem


def read(tmp_path, text, target=None, name="t.csv", **options):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    frame, notes = read_table(path, find=partial(find_target, target=target), **options)
    return table_problem(frame, target, "t", notes)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
def test_every_delimiter_gives_the_same_table(tmp_path, delimiter):
    lines = [["a", "b", "kind"], ["1.5", "2", "x"], ["-3e2", "4", "y"], ["0", "5", "x"]]
    problem = read(tmp_path, "\n".join(delimiter.join(line) for line in lines), "kind")
    assert_allclose(problem.X.to_numpy(float), [[1.5, 2], [-300, 4], [0, 5]])
    assert problem.y.tolist() == ["x", "y", "x"]


def test_decimal_commas_with_semicolons(tmp_path):
    problem = read(tmp_path, "a;b;c\n1,5;2;x\n-0,25;3,75;y\n", "c")
    assert_allclose(problem.X.to_numpy(float), [[1.5, 2], [-0.25, 3.75]])
    assert any("decimal" in note for note in problem.notes)


def test_a_file_without_header_names_columns_by_number(tmp_path):
    problem = read(tmp_path, "1,2,x\n3,4,y\n", "-1")
    assert list(problem.X.columns) == ["column 1", "column 2"]
    assert problem.y.tolist() == ["x", "y"]
    assert read(tmp_path, "1,2,x\n3,4,y\n", "3").y.tolist() == ["x", "y"]
    assert len(read(tmp_path, "1,2,x\n3,4,y\n", "3", header=True)) == 1


def test_unicode_and_other_encodings(tmp_path):
    assert read(tmp_path, "größe,Art\n1,süß\n2,日本\n", "Art").y.tolist() == ["süß", "日本"]
    latin = read(tmp_path, "größe,Art\n1,süß\n2,herb\n".encode("cp1252"), "Art")
    assert latin.y.tolist() == ["süß", "herb"]
    assert list(read(tmp_path, b"\xef\xbb\xbfa,class\n1,x\n2,y\n").X.columns) == ["a"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_the_unicode_text_of_excel(tmp_path, encoding):
    text = "größe\tArt\r\n1\tsüß\r\n2\t日本\r\n"
    data = text.encode(encoding) if encoding == "utf-16" else ("\ufeff" + text).encode(encoding)
    problem = read(tmp_path, data, "Art", name="t.txt")
    assert problem.y.tolist() == ["süß", "日本"] and list(problem.X.columns) == ["größe"]
    with pytest.raises(DataError, match="not a text file"):
        read(tmp_path, b"\xff\xfe\x00\xd8\x00")


def test_missing_cells_names_and_empty_columns(tmp_path):
    text = "id,a,b,e,class\nu,1,red,,x\nv,?,NA,,y\nw,3,red,,\nz,4,blue,,y\n"
    problem = read(tmp_path, text)
    assert problem.names == ["u", "v", "z"]
    assert list(problem.X.columns) == ["a", "b"]
    assert problem.X["a"].isna().tolist() == [False, True, False]
    assert problem.X["b"].isna().tolist() == [False, True, False]
    said = " ".join(problem.notes)
    assert (
        "1 row without a class was left out" in said and "'e' is empty" in said and "'id'" in said
    )


@pytest.mark.parametrize("word", ["none", "None", "nil", "-", "NA", "n/a"])
def test_a_class_may_be_called_none(tmp_path, word):
    text = f"a,b,class\n1,u,{word}\n2,{word},mild\n{word},v,severe\n4,u,{word}\n5,v,?\n"
    problem = read(tmp_path, text)
    assert problem.y.tolist() == [word, "mild", "severe", word]
    assert problem.X["a"].isna().tolist() == [False, False, True, False]
    assert problem.X["b"].isna().tolist() == [False, True, False, False]
    assert f"{word!r} is a class of 2 rows" in " ".join(problem.notes)
    numbers = read(tmp_path, f"a,class\n1,0\n2,1\n3,{word}\n4,0\n")
    assert numbers.y.tolist() == ["0", "1", word, "0"]


@pytest.mark.parametrize("word", ["", "?", "nan", "NaN", "null", "NULL", "#N/A"])
def test_rows_without_a_class_are_left_out(tmp_path, word):
    problem = read(tmp_path, f"a,class\n1,x\n2,{word}\n3,y\n")
    assert problem.y.tolist() == ["x", "y"]
    assert "1 row without a class was left out" in " ".join(problem.notes)
    assert read(tmp_path, f"a,class\n1,0\n2,{word}\n3,1\n").y.tolist() == [0, 1]


def test_quoted_cells_may_hold_delimiters_and_line_ends(tmp_path):
    problem = read(tmp_path, 'a,b,class\n1,"red, or\nso",x\n2,"",y\n\n3,"red, or\nso",y\n')
    assert problem.X["b"].tolist()[0] == "red, or\nso"
    assert problem.X["b"].isna().tolist() == [False, True, False]


def test_columns_of_one_name_are_numbered(tmp_path):
    assert list(read(tmp_path, "a,a,c\n1,2,x\n3,4,y\n", "c").X.columns) == ["a", "a (2)"]
    problem = read(tmp_path, "a,a,a (2),c\n1,2,5,x\n3,4,6,y\n", "c")
    assert list(problem.X.columns) == ["a", "a (3)", "a (2)"]
    assert_allclose(problem.X["a (2)"], [5, 6])


def test_codes_with_underscores_are_names_not_numbers(tmp_path):
    problem = read(tmp_path, "a,b,class\n1,1_1,x\n2,1_2,y\n3,1_1,y\n")
    assert problem.X["b"].tolist() == ["1_1", "1_2", "1_1"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_as_on_any_system_and_nowhere_else(tmp_path, end):
    lines = ["a,b,class", "1,u\u2028v,x", "2,w\x0cz,y", '3,"w', 'z",y', "4,u\u2028v,y"]
    problem = read(tmp_path, end.join(lines) + end)
    assert problem.X["b"].tolist() == ["u\u2028v", "w\x0cz", "w\nz", "u\u2028v"]
    assert problem.y.tolist() == ["x", "y", "y", "y"]


def test_long_lines_are_read_and_longer_cells_refused(tmp_path):
    wide = ",".join([f"1.{0:040}"] * 3200)  # as one cell it would be beyond what csv takes
    assert read(tmp_path, f"{wide},x\n{wide},y\n", "-1").X.shape == (2, 3200)
    with pytest.raises(DataError, match=r"Line 3 of .* more than 131072 characters.*quote"):
        read(tmp_path, 'a,class\n1,x\n"2,y\n' + "3,y\n" * 50_000)


def test_labels_keep_their_type():
    assert as_labels([1.0, 2.0, 1.0], "c").tolist() == [1, 2, 1]
    assert as_labels(["1", "b"], "c").tolist() == ["1", "b"]
    assert as_labels([1.5, 2.5, 3.5] * 30, "c").tolist() == ["1.5", "2.5", "3.5"] * 30
    assert as_labels(["1.50", "2.5"], "c").tolist() == ["1.50", "2.5"]
    assert as_labels([True, False], "c").tolist() == ["True", "False"]


@pytest.mark.parametrize(
    ("values", "rows", "refused"),
    [(range(20), 20, False), (range(21), 62, True), (range(21), 63, False)]
    + [([i / 3 for i in range(21)], rows, refused) for rows, refused in ((209, True), (210, False))]
    + [([f"{i}.5" for i in range(21)], 100, True)],
)
def test_many_different_numbers_are_a_quantity(values, rows, refused):
    column = [values[i % len(values)] for i in range(rows)]
    if refused:
        with pytest.raises(DataError, match=f"{len(values)} different numbers in {rows} rows"):
            as_labels(column, "price")
    else:
        assert len(set(as_labels(column, "price"))) == len(values)


def test_classes_are_as_they_were_written(tmp_path):
    assert read(tmp_path, "a,class\n1,01\n2,02\n3,10\n").y.tolist() == ["01", "02", "10"]
    assert read(tmp_path, "a,class\n1,1.50\n2,2.5\n3,\n").y.tolist() == ["1.50", "2.5"]
    assert read(tmp_path, "a,class\n1,1\n2,2.0\n3,\n").y.tolist() == [1, 2]
    _, D, _ = distances(4)
    matrix = write_matrix(tmp_path / "d.csv", D)
    (tmp_path / "l.txt").write_text("01\n02\n01\n02\n")
    assert proximity_problem(matrix, tmp_path / "l.txt").y.tolist() == ["01", "02"] * 2


def test_other_formats_give_the_same(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0, np.nan], "b": ["u", None, "v"], "class": ["x", "y", "x"]})
    frame.to_parquet(tmp_path / "t.parquet")
    parquet, _ = read_table(tmp_path / "t.parquet")
    (tmp_path / "t.arff").write_text(
        "@relation t\n@attribute a numeric\n@attribute b {u,v}\n@attribute class {x,y}\n@data\n"
        "1,u,x\n2,?,y\n?,v,x\n"
    )
    arff, _ = read_table(tmp_path / "t.arff")
    for other in (parquet, arff):
        assert_allclose(other["a"], frame["a"])
        assert other["b"].isna().tolist() == [False, True, False]
        assert other["class"].tolist() == ["x", "y", "x"]
    np.savez(tmp_path / "t.npz", X=[[1.0, 2], [3, 4]], y=["x", "y"])
    npz = table_problem(read_table(tmp_path / "t.npz")[0], None, "t")
    assert_allclose(npz.X.to_numpy(), [[1, 2], [3, 4]])
    assert npz.y.tolist() == ["x", "y"]


@pytest.mark.parametrize(
    ("text", "target", "words"),
    [
        ("a,b,c\n1,2,x\n", "d", "no column 'd'; the columns are 'a', 'b', 'c'"),
        ("a,b,c\n1,2,x\n", None, "Which column holds the classes"),
        ("a,b,c\n1,2\n1,2,x\n1,2,y\n", "c", "Line 2 .* has 2 cells"),
        ("c\nx\ny\n", "c", "no column left"),
        ("a,class\ninf,x\n1,y\n", None, "infinite"),
        ("", None, "is empty"),
        (b"\x00\x01\x02\x03", None, "not a text file"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, text, target, words):
    with pytest.raises(DataError, match=words):
        read(tmp_path, text, target)


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("t.parquet", b"a,class\n1,x\n", "could not be read as a Parquet file: it is not one, or"),
        ("t.parquet", b"PAR1 and no more PAR1", "could not be read as a Parquet file"),
        ("t.npz", b"a,class\n1,x\n", "is not an NPZ file, as numpy.savez writes it"),
        (
            "t.json",
            b'{"columns": ["a", "class"], "data": [[1, "x"], [2]]}',
            "differ in length from",
        ),
        ("t.arff", b"a,class\n1,x\n", "@data must stand above the rows"),
        ("t.arff", b"@relation t\n@attribute a string\n@data\nx\n", "neither numeric nor nominal"),
    ],
)
def test_damaged_files_are_refused_in_our_words(tmp_path, name, data, words):
    with pytest.raises(DataError, match=words) as caught:
        read(tmp_path, data, name=name)
    assert not any(
        leak in str(caught.value) for leak in ("pickle", "Iteration", "corrupt", "magic", "sorry")
    )


def test_arrays_of_objects_are_refused_in_our_words(tmp_path):
    np.savez(tmp_path / "o.npz", X=np.eye(2), y=np.array(["x", "y"], dtype=object))
    with pytest.raises(DataError, match=r"plain arrays.*astype\(str\)") as caught:
        read_table(tmp_path / "o.npz")
    assert "pickle" not in str(caught.value)


@pytest.mark.parametrize("names", [["a", "b"], "a", [["a", "b", "c"]]])
def test_each_column_of_an_array_has_a_name_or_none_has(tmp_path, names):
    np.savez(tmp_path / "n.npz", X=np.eye(3), y=np.arange(3), feature_names=names)
    with pytest.raises(DataError, match="X has 3 columns, but their names have the shape"):
        read_table(tmp_path / "n.npz")


@pytest.mark.parametrize("which", ["X", "y"])
def test_imaginary_parts_are_not_dropped(tmp_path, which):
    arrays = {"X": np.eye(3), "y": np.arange(3)}
    arrays[which] = arrays[which] * (1 + 2j)
    np.savez(tmp_path / "c.npz", **arrays)
    with pytest.raises(DataError, match="complex numbers"):
        read_table(tmp_path / "c.npz")


def test_what_is_no_text_is_refused_for_what_it_should_be(tmp_path):
    _, D, _ = distances(4)
    matrix = write_matrix(tmp_path / "d.csv", D)
    binary = tmp_path / "b.csv"
    binary.write_bytes(b"\x00\x01\x02")
    for reader, words in (
        (read_table, "tables are read from CSV"),
        (read_matrix, "matrices are read from CSV, NPY and NPZ"),
        (read_objects, "objects stand in a text file"),
        (partial(proximity_problem, matrix), "labels stand in a text file"),
    ):
        with pytest.raises(DataError, match=f"is not a text file; {words}"):
            reader(binary)
    (tmp_path / "l.npy").write_bytes(b"no array")
    with pytest.raises(DataError, match="not an NPY file of plain numbers or texts"):
        proximity_problem(matrix, tmp_path / "l.npy")


def test_sniffing_prefers_the_rarer_marks():
    assert sniff(["a;b", "1,5;2,5"]) == ";"
    assert sniff(["a,b", "1,2"]) == ","
    assert sniff(["a b c", "x 1 2 3", "y 1 2 3"]) == " "


def test_a_matrix_reads_the_same_with_and_without_names(tmp_path):
    names, D, _ = distances(6)
    plain = read_matrix(write_matrix(tmp_path / "p.csv", D))
    named = read_matrix(write_matrix(tmp_path / "n.csv", D, names))
    assert_allclose(plain[0], D, atol=1e-6)
    assert_allclose(named[0], D, atol=1e-6)
    assert (named[1], named[2]) == (names, names) and plain[1:3] == (None, None)
    (tmp_path / "r.txt").write_text("a b\na 0 1\nb 1 0\n")
    assert read_matrix(tmp_path / "r.txt")[1:3] == (["a", "b"], ["a", "b"])
    np.save(tmp_path / "m.npy", D)
    assert_allclose(read_matrix(tmp_path / "m.npy")[0], D)


def test_a_matrix_may_have_names_of_rows_alone(tmp_path):
    names, D, _ = distances(6)
    lines = write_matrix(tmp_path / "n.csv", D, names).read_text().splitlines()
    path = tmp_path / "r.csv"
    for rows in (6, 3, 1):  # new objects need not be as many
        path.write_text("\n".join(lines[1 : rows + 1]))
        M, found, columns, _ = read_matrix(path)
        assert_allclose(M, D[:rows], atol=1e-6)
        assert (found, columns) == (names[:rows], None)
    # A word and numbers on top are names of columns where all lines but that one make the matrix.
    for above in ("id,1,2,3,4,5,6", "id,0.5,1,2,3,4,5"):
        path.write_text("\n".join([above, *lines[1:]]))
        assert read_matrix(path)[2] == above.split(",")[1:]
    path.write_text("\n".join(["id,1,2,3,4,5,6", *lines[1:4]]))
    assert_allclose(read_matrix(path)[0], D[:3], atol=1e-6)
    path.write_text("id,1,2\n1,0,5\n2,5,0\n")
    assert read_matrix(path)[1:3] == (["1", "2"], ["1", "2"])


@pytest.mark.parametrize("top", ["", "name,class\n"])
def test_labels_too_many_or_twice_are_named(tmp_path, top):
    names, D, y = distances(8)
    matrix = write_matrix(tmp_path / "d.csv", D, names)
    lines = [f"{name},{c}\n" for name, c in zip(names, y)]
    for change, words in (
        ([*lines, "zzz,a\n"], "labels for 'zzz', which the matrix does not have"),
        ([*lines, lines[0]], "'o0' occurs more than once in "),
        (lines[1:], "no label for 'o0', which the matrix has"),
        ([*lines[1:], "zzz,a\n"], "no label for 'o0', which the matrix has; it has 'zzz' instead"),
    ):
        (tmp_path / "l.csv").write_text(top + "".join(change))
        with pytest.raises(DataError, match=words):
            proximity_problem(matrix, tmp_path / "l.csv")
    (tmp_path / "l.csv").write_text(top + "".join(lines))
    assert_array_equal(proximity_problem(matrix, tmp_path / "l.csv").y, y)
    (tmp_path / "l.txt").write_text("kind\n" + "\n".join([*y, "a", "b"]))
    with pytest.raises(DataError, match="has 10 labels below 'kind', but there are 8 objects"):
        proximity_problem(matrix, tmp_path / "l.txt")
    (tmp_path / "l.txt").write_text("\n".join([*y, "a"]))  # its first line is no header
    with pytest.raises(DataError, match="has 9 labels, but there are 8 objects"):
        proximity_problem(matrix, tmp_path / "l.txt")


def test_labels_follow_names_not_lines(tmp_path, rng):
    names, D, y = distances(8)
    matrix = write_matrix(tmp_path / "d.csv", D, names)
    order = rng.permutation(8)
    (tmp_path / "l.csv").write_text("name,class\n" + "".join(f"{names[i]},{y[i]}\n" for i in order))
    problem = proximity_problem(matrix, tmp_path / "l.csv")
    assert_array_equal(problem.y, y)
    assert problem.proximity == "dissimilarity" and problem.names == names
    (tmp_path / "plain.txt").write_text("\n".join(y))
    assert_array_equal(proximity_problem(matrix, tmp_path / "plain.txt").y, y)


@pytest.mark.parametrize(
    "kinds", [("red wine", "white wine"), ("Smith, J", "Doe"), ('"a, b"', "c")]
)
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("top", ["", "kind\n"])
def test_a_line_of_labels_is_one_label(tmp_path, kinds, named, top):
    names, D, _ = distances(8)
    matrix = write_matrix(tmp_path / "d.csv", D, names if named else None)
    (tmp_path / "l.txt").write_text(top + "".join(f"{kinds[i % 2]}\n" for i in range(8)))
    problem = proximity_problem(matrix, tmp_path / "l.txt")
    assert problem.y.tolist() == [kind.strip('"') for kind in kinds] * 4


def test_names_before_labels_need_names_in_the_matrix(tmp_path):
    names, D, y = distances(8)
    matrix = write_matrix(tmp_path / "d.csv", D, names)
    pairs = tmp_path / "l.csv"
    pairs.write_text("".join(f"{name},{c} wine\n" for name, c in zip(names, y)))
    assert proximity_problem(matrix, pairs).y.tolist() == [f"{c} wine" for c in y]
    with pytest.raises(DataError, match=r"a name and a class .* no names"):
        proximity_problem(write_matrix(tmp_path / "p.csv", D), pairs)
    # One name of eight is spelt differently: it is the names that do not match.
    pairs.write_text("".join(f"{name},{c}\n" for name, c in zip(["o00", *names[1:]], y)))
    with pytest.raises(DataError, match="no label for 'o0'"):
        proximity_problem(matrix, pairs)
    pairs.write_text("".join(f"{name},{c},1\n" for name, c in zip(names, y)))
    with pytest.raises(DataError, match="a name and a class, in each line"):
        proximity_problem(matrix, pairs)


def test_why_a_matrix_was_taken_for_similarities(tmp_path):
    _, D, y = distances(8)
    (tmp_path / "l.txt").write_text("\n".join(y))
    for M, why in ((-(D**2), "some are negative"), (1 - D / 9, "the diagonal is not 0")):
        problem = proximity_problem(write_matrix(tmp_path / "s.csv", M), tmp_path / "l.txt")
        assert problem.proximity == "similarity"
        assert [f"because {why}." in note for note in problem.notes] == [True]


def test_matrices_that_are_refused(tmp_path):
    names, D, y = distances(8)
    labels = tmp_path / "l.txt"
    labels.write_text("\n".join(y))
    skew = D.copy()
    skew[0, 1] += 1
    path = write_matrix(tmp_path / "skew.csv", skew, names)
    with pytest.raises(DataError, match=r"not symmetric \(largest difference"):
        proximity_problem(path, labels)
    mended = proximity_problem(path, labels, symmetrize="mean")
    assert_allclose(mended.X[0, 1], D[0, 1] + 0.5, atol=1e-5)
    with pytest.raises(DataError, match="7 × 8"):
        proximity_problem(write_matrix(tmp_path / "cut.csv", D[:-1]), labels)
    labels.write_text("\n".join(y[:-1]))
    with pytest.raises(DataError, match="7 labels, but there are 8 objects"):
        proximity_problem(write_matrix(tmp_path / "d.csv", D), labels)
    labels.write_text("".join(f"p{i},{c}\n" for i, c in enumerate(y)))
    with pytest.raises(DataError, match="no label for 'o0'"):
        proximity_problem(write_matrix(tmp_path / "d.csv", D, names), labels)
    D[2, 3] = np.nan
    with pytest.raises(DataError, match=r"1 missing or infinite cell in .* row 3, column 4"):
        proximity_problem(write_matrix(tmp_path / "nan.csv", D), labels)
    D[2, 3] = 1e200
    with pytest.raises(DataError, match=r"1e\+200 in row 3, column 4, too large to be squared"):
        proximity_problem(write_matrix(tmp_path / "huge.csv", D), labels)
    D[2, 3] = D[3, 2]
    labels.write_text("".join(f"o{i},{c if i != 5 else ''}\n" for i, c in enumerate(y)))
    with pytest.raises(DataError, match=r"1 empty label in .*, first that of 'o5'"):
        proximity_problem(write_matrix(tmp_path / "d.csv", D, names), labels)


def test_objects_from_lines_and_json(tmp_path):
    (tmp_path / "w.txt").write_text("x\tape\ny\toak tree\n")
    assert read_objects(tmp_path / "w.txt") == (["ape", "oak tree"], ["x", "y"])
    (tmp_path / "w.jsonl").write_text('{"text": "a\\tb", "label": 1}\n{"text": "c", "label": 2}\n')
    problem = objects_problem(tmp_path / "w.jsonl", "edit")
    assert problem.X == ["a\tb", "c"] and problem.y.tolist() == [1, 2]
    # JSON leaves U+2028 as it is, and a text may hold a form feed.
    (tmp_path / "u.jsonl").write_text('{"text": "a\u2028b", "label": 1}\n', encoding="utf-8")
    assert read_objects(tmp_path / "u.jsonl") == (["a\u2028b"], [1])
    (tmp_path / "u.txt").write_bytes(b"x\ta\x0cb\ry\tc\r")
    assert read_objects(tmp_path / "u.txt") == (["a\x0cb", "c"], ["x", "y"])
    with pytest.raises(DataError, match="no measure 'guess'"):
        objects_problem(tmp_path / "w.txt", "guess")
    (tmp_path / "bad.jsonl").write_text('{"text": "a"}\nnot json\n')
    with pytest.raises(DataError, match="Line 2"):
        read_objects(tmp_path / "bad.jsonl")


def test_small_and_single_classes_are_refused():
    with pytest.raises(DataError, match="one class"):
        Problem("vectors", [0] * 5, np.array(["x"] * 5), "t").check_classes()
    with pytest.raises(DataError, match=r"'y' \(1\) has fewer than 3"):
        Problem("vectors", [0] * 5, np.array(["x"] * 4 + ["y"]), "t").check_classes()


def test_sets_by_name_need_no_network():
    assert is_builtin("wine") and is_builtin("breast_cancer") and not is_builtin("vine")
    assert builtin_problem("wine").counts == {"class_1": 71, "class_0": 59, "class_2": 48}
