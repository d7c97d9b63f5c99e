"""Files of objects: FASTA, .ts, UCR text files, JSON lines, arrays; and what is wrong with them."""

import json
import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from own_data import read_objects

from mahalearn.app.reading.matrices import read_labels
from mahalearn.app.reading.objects import (
    measure_from_options,
    objects_problem,
    read_collection,
)
from mahalearn.app.reading.problem import DataError
from mahalearn.app.reading.read import read_problem
from mahalearn.measures import EditDistance, Elastic


def write(path, text):
    path.write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
    return path


FASTA = (
    ">a label=x\nACDE\nFG\n\n; an old comment\n>b description label=y more\nACD\n>c label=x\nGG\n"
)


def test_fasta(tmp_path):
    found = read_collection(write(tmp_path / "p.fasta", FASTA))
    assert found.objects == ["ACDEFG", "ACD", "GG"]
    assert (found.labels, found.names) == (["x", "y", "x"], ["a", "b", "c"])
    assert "label=" in found.notes[0]
    # Known by its content, whatever its name and line ends
    same = read_collection(write(tmp_path / "p.txt", FASTA.replace("\n", "\r\n")))
    assert same.objects == found.objects


@pytest.mark.parametrize(
    "headers, labels",
    [
        (["a x", "b y", "c x"], ["x", "y", "x"]),
        (["a|x", "b|y", "c|x"], ["x", "y", "x"]),
        (["a|CLASS=x", "b;class=y", "class=x"], ["x", "y", "x"]),
        (["a one", "b two", "c three"], None),  # all differ: descriptions
        (["sp|P1|A some protein", "sp|P2|B other", "sp|P3|C x"], None),
        (["a", "b", "c"], None),
        (['a label="my x"', 'b label="y"', "c label=x"], ["my x", "y", "x"]),
    ],
)
def test_labels_of_fasta_headers(tmp_path, headers, labels):
    text = "".join(f">{h}\nACD\n" for h in headers)
    assert read_collection(write(tmp_path / "p.fa", text)).labels == labels


def test_fasta_with_a_file_of_labels_by_name(tmp_path):
    path = write(tmp_path / "p.fa", ">s1 some text\nAC\n>s2\nAD\n>s3\nAE\n")
    labels = write(tmp_path / "l.csv", "s3,x\ns1,y\ns2,x\n")
    problem = objects_problem(path, "edit", labels)
    assert problem.y.tolist() == ["y", "x", "x"] and problem.names == ["s1", "s2", "s3"]
    with pytest.raises(DataError, match="no classes: name a file of labels"):
        objects_problem(path, "edit")


TS = """# a comment
@problemName Toy
@timestamps false
@univariate false
@classLabel true walk run
@data
1,2,3:4,5,6:walk
1,2:0.5,-1e3:run
7,8,?:1,2,?:walk
"""


def test_ts(tmp_path):
    found = read_collection(write(tmp_path / "toy.ts", TS))
    assert found.labels == ["walk", "run", "walk"]
    assert_array_equal(found.objects[0], [[1, 2, 3], [4, 5, 6]])
    assert_array_equal(found.objects[1], [[1, 2], [0.5, -1000]])
    assert_array_equal(found.objects[2], [[7, 8], [1, 2]])
    # aeon's own files: comments with %, and words in any case
    other = TS.replace("# a", "%# a").replace("@classLabel true", "% more\n@CLASSLABEL True")
    again = read_collection(write(tmp_path / "toy.ts", other))
    assert again.labels == found.labels and len(again.objects[0]) == 2
    unlabelled = "@problemName Toy\n@classLabel false\n@data\n1,2,3\n4,5,6\n"
    found = read_collection(write(tmp_path / "u.ts", unlabelled))
    assert found.labels is None and found.objects[1].tolist() == [[4, 5, 6]]


@pytest.mark.parametrize("delimiter, name", [("\t", "a.tsv"), (",", "a.csv"), ("  ", "a.txt")])
def test_ucr(tmp_path, delimiter, name):
    rows = [["1", "0.5", "-1e0", "2"], ["2", "3", "4", "NaN"], ["1", "0", "0", "1"]]
    text = "".join(delimiter.join(row) + "\n" for row in rows)
    problem = objects_problem(write(tmp_path / name, text), "dtw")
    assert problem.y.tolist() == [1, 2, 1] and problem.y.dtype.kind == "i"
    assert [x.tolist() for x in problem.X] == [[[0.5, -1, 2]], [[3, 4]], [[0, 0, 1]]]
    assert "time series" in problem.notes[0]
    text = text.replace("1" + delimiter + "0.5", "1.0000000e+00" + delimiter + "0.5")
    assert objects_problem(write(tmp_path / name, text), "dtw").y.tolist() == [1, 2, 1]


def test_ucr_with_names_as_labels(tmp_path):
    path = write(tmp_path / "a.csv", "cat,1,2,3\ndog,2,3,4\n")
    assert read_objects(path)[1] == ["cat", "dog"]


def test_another_encoding_is_said(tmp_path):
    words = ["Bär", "Käse", "Öl", "für", "Maße", "schön"]
    lines = [f"{'uv'[i % 2]}\t{word}\n" for i, word in enumerate(words)]
    data = "".join(lines).encode("cp1252")
    problem = objects_problem(write(tmp_path / "t.txt", data))
    assert list(problem.X) == words
    assert "read as cp1252, a guess" in problem.notes[0]
    write(tmp_path / "y.txt", "\n".join(["Größe", "Maß"] * 3).encode("cp1252"))
    labels, notes = read_labels(tmp_path / "y.txt", 6)
    assert labels[0] == "Größe" and "read as cp1252, a guess" in notes[0]


def test_one_stray_byte_does_not_change_the_other_letters(tmp_path):
    lines = [f"{'uv'[i % 2]}\tBär {i}\n".encode() for i in range(9)]
    lines[6] = lines[6].replace("ä".encode(), b"\xe4")
    for start in (b"", b"\xef\xbb\xbf"):
        path = write(tmp_path / "t.txt", start + b"".join(lines))
        with pytest.raises(DataError, match="in UTF-8 but for the byte E4 in line 7: it was"):
            read_collection(path)
    for encoding in ("cp1251", "koi8-r", "cp866"):  # as a whole in another one
        path = write(tmp_path / "t.txt", "u\tработа\nv\tразбор\n".encode(encoding))
        assert len(read_collection(path).objects) == 2


def test_texts_stay_texts(tmp_path):
    for text in ("one, two, three\nfour, five, six\n", "the cat sat\nthe dog ran\n", "1 2\n3 4\n"):
        assert read_objects(write(tmp_path / "t.txt", text)) == (text.splitlines(), None)


def test_arrays(tmp_path):
    X = np.arange(24.0).reshape(2, 3, 4)
    X[1, :, 3] = np.nan
    np.save(tmp_path / "x.npy", X)
    found = read_collection(tmp_path / "x.npy")
    assert [x.shape for x in found.objects] == [(3, 4), (3, 3)] and found.labels is None
    np.save(tmp_path / "x2.npy", X[0].astype(np.float32))
    assert [x.shape for x in read_collection(tmp_path / "x2.npy").objects] == [(1, 4)] * 3
    np.savez(tmp_path / "x.npz", X=X, y=np.array(["a", "b"]))
    assert objects_problem(tmp_path / "x.npz", "msm").y.tolist() == ["a", "b"]
    labels = write(tmp_path / "l.txt", "p\nq\n")
    assert objects_problem(tmp_path / "x.npy", "dtw", labels).y.tolist() == ["p", "q"]


def test_json_series(tmp_path):
    text = '{"series": [[1, 2], [3, 4]], "y": 1}\n{"series": [[1, 2, 3], [3, 4, 5]], "y": 2}\n'
    objects, labels = read_objects(write(tmp_path / "s.jsonl", text))
    assert [x.shape for x in objects] == [(2, 2), (2, 3)] and labels == [1, 2]
    assert read_objects(write(tmp_path / "h.jsonl", "[1" + "0" * 400 + "]\n"))[1] is None


HOSTILE = {
    "empty.fa": ("", "is empty"),
    "no.fa": ("ACDE\n", "not FASTA: its first line must be a header"),
    "gap.fa": (">a\n>b\nAC\n", "The sequence 'a' of .* is empty"),
    "half.fa": (">a label=x\nAC\n>b\nAC\n", "Some headers have a label= and 'b' has none"),
    "binary.fa": (b">a\x00\x01", "is not a text file"),
    "nodata.ts": ("@problemName x\n", "needs a line @data"),
    "at.ts": ("@", "needs a line @data"),
    "bare.ts": ("@data\n", "needs a line @data and series below"),
    "words.ts": ("hello\nworld\n", "not a .ts file"),
    "time.ts": ("@timestamps true\n@data\n(0,1):a\n", "has time stamps"),
    "Time.ts": ("% a\n@timeStamps True\n@data\n(0,1):a\n", "has time stamps"),
    "target.ts": ("@targetLabel true\n@data\n1,2:0.5\n", "quantity"),
    "label.ts": ("@classLabel true a b\n@data\n1,2:c\n", "series 1 .* has the label 'c'"),
    "nolabel.ts": ("@classLabel true a b\n@data\n1,2\n", "series 1 .* has no label"),
    "cell.ts": ("@data\n1,x,3\n", "series 1 .* holds 'x', which is not a number"),
    "ragged.ts": ("@data\n1,2:3\n", "channels of the series 1 .* differ in length: 2, 1"),
    "hole.ts": ("@data\n1,?,3\n", "series 1 .* 1 missing or infinite value .* first at time 2"),
    "none.ts": ("@data\n?,?\n", "series 1 .* has no values"),
    "word.tsv": ("1\t2\t3\n2\tx\t4\n", "The cell 'x' in line 2 .* label and the values"),
    "hole.csv": ("1,2,,3\n2,1,1,1\n", "series 1 .* missing or infinite value .* first at time 2"),
    "inf.csv": ("1,2,inf\n2,1,1\n", "series 1 .* missing or infinite"),
    "nolabel.csv": (",2,3\n2,1,1\n", "Line 1 of .* has no label"),
    "deep.jsonl": ("[" * 100_000 + "\n", "Line 1 .* is not JSON"),
    "key.jsonl": ('{"foo": 1}\n', "Entry 1 .* has no object"),
    "some.jsonl": ('{"x": "a", "y": 1}\n{"x": "b"}\n', "Some lines .* have a label"),
    "reads.fastq": ("@a\nACGT\n+\nIIII\n@b\nACG\n+\nIII\n", "is a file of FASTQ"),
    "tree.txt": ("#NEXUS\nbegin data;\n", "is a file of NEXUS"),
    "short.csv": ("text,label\napple,fruit\nbmw\n", "Row 3 .* has 1 cell, the first line has 2"),
    "points.csv": ("label,y,x\n1,2,3\n2,2,4\n", "The cell 'y' in line 1 .* is not a number"),
    "bad.npy": (b"nothing", "is not an NPY file"),
    "bad.npz": (b"nothing", "is not an NPZ file"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_get_one_sentence(tmp_path, name):
    content, message = HOSTILE[name]
    with pytest.raises(DataError, match=message) as error:
        read_collection(write(tmp_path / name, content))
    assert "\n" not in str(error.value) and len(str(error.value)) < 400


def test_hostile_arrays_get_one_sentence(tmp_path):
    for i, (array, message) in enumerate(
        (
            (np.zeros(3), r"got float64 of shape \(3,\)"),
            (np.zeros((2, 0)), r"shape \(2, 0\)"),
            (np.zeros((2, 2)) + 1j, "complex128"),
            (np.array([["a", "b"]]), "got <U1"),
            (
                np.array([[1, np.nan, 2]]),
                "missing or infinite value before its end, the first at time 2",
            ),
            (np.array([[object()]]), "not an NPY file of plain numbers"),
        )
    ):
        np.save(tmp_path / f"{i}.npy", array, allow_pickle=True)
        with pytest.raises(DataError, match=message):
            read_collection(tmp_path / f"{i}.npy")
    np.savez(tmp_path / "a.npz", Z=np.zeros(2))
    with pytest.raises(DataError, match="must hold an array X of series, and perhaps y; it has Z"):
        read_collection(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", X=np.zeros((3, 4)), y=np.zeros(2))
    with pytest.raises(DataError, match="one label for each of the 3 series"):
        read_collection(tmp_path / "b.npz")
    with pytest.raises(DataError, match="no file"):
        read_collection(tmp_path / "absent.ts")


def test_measures_from_options():
    assert measure_from_options("dtw", window=None, normalize=None) == "dtw"
    measure = measure_from_options("dtw", window=0.1, normalize=True)
    assert isinstance(measure, Elastic) and (measure.window, measure.normalize) == (0.1, True)
    assert measure_from_options("msm", cost=0.5).get_params()["method"] == "msm"
    assert isinstance(edit := measure_from_options("edit", normalize=True), EditDistance)
    assert edit.normalize == "longer"
    assert measure_from_options("global_alignment", gap_open=5).mode == "global"
    for name, options, message in (
        ("guess", {}, "no measure 'guess'"),
        (
            "hausdorff",
            {"window": 0.1},
            "does not take window=0.1; its options are modified",
        ),
        ("jaccard", {"normalize": True}, "does not take normalize=True; it has no options"),
        ("msm", {"method": "dtw"}, "does not take method='dtw'; its options are window, cost"),
        ("compression", {"window": 0.1}, "its options are compressor"),
        ("elastic", {"window": 0.1}, "'window' belongs to one measure such as dtw"),
    ):
        with pytest.raises(DataError, match=message):
            measure_from_options(name, **options)


def test_options_reach_the_problem(tmp_path):
    path = write(tmp_path / "toy.ts", TS)
    problem = objects_problem(path, "dtw", window=0.5)
    assert problem.measure.window == 0.5 and problem.proximity == "dissimilarity"
    assert objects_problem(path, "dtw").measure == "dtw"


SUITABLE = {
    "toy.ts": (TS, "elastic"),
    "toy.fa": (">a x\nACDE\n>b y\nACDA\n>c x\nACDE\n", "alignment"),
    "words.txt": ("a\tape\nb\toak\n", "edit"),
    "texts.txt": (f"a\t{'word ' * 200}\nb\t{'text ' * 200}\n", "compression"),
    "words.jsonl": ('{"text": "ape", "y": 1}\n{"text": "oak", "y": 2}\n', "edit"),
    "series.jsonl": ('{"x": [0.5, 1.25], "y": 1}\n{"x": [2.5, 3.75], "y": 2}\n', "elastic"),
    "ucr.tsv": ("1\t0.5\t1.5\n2\t1.5\t2\n", "elastic"),
}


@pytest.mark.parametrize("name", SUITABLE)
def test_the_file_says_what_suits_its_objects(tmp_path, name):
    text, expected = SUITABLE[name]
    problem = objects_problem(write(tmp_path / name, text))
    assert (
        problem.measure == expected
        and f"by the measure {expected}." in problem.notes[-1 - (expected == "elastic")]
    )
    assert (problem.alternatives is not None) == (expected == "elastic")


def test_elastic_stands_for_several_measures(tmp_path):
    path = write(tmp_path / "ucr.tsv", "1\t0.5\t1.5\n2\t1.5\t2\n")
    problem = objects_problem(path, "elastic", normalize=True)
    assert list(problem.alternatives) == ["euclidean", "dtw 5 %", "dtw 10 %", "dtw", "msm"]
    assert all(measure.normalize for measure in problem.alternatives.values())
    assert problem.measure_name == "elastic"
    assert objects_problem(path, "dtw", window=0.1).measure_name == "Elastic(window=0.1)"


def test_sequences_of_symbols_need_a_measure(tmp_path):
    path = write(tmp_path / "s.jsonl", '{"x": [1, 2, 1], "y": 1}\n{"x": [2, 2], "y": 2}\n')
    with pytest.raises(DataError, match="Name a measure: elastic, hausdorff"):
        objects_problem(path)


@pytest.mark.parametrize("mark", ["\t", ";", " "])
def test_series_with_decimal_commas(tmp_path, mark):
    rows = [f"{i % 2}{mark}0,{i}{mark}1,5{mark}-2,25\n" for i in range(1, 5)]
    collection = read_collection(write(tmp_path / "s.txt", "".join(rows)))
    assert collection.objects[2].tolist() == [[0.3, 1.5, -2.25]]
    assert collection.labels == [1, 0, 1, 0] and "decimal points" in " ".join(collection.notes)


def test_labels_by_the_accessions_of_uniprot(tmp_path):
    names = [f"P{i:05d}" for i in range(6)]
    fasta = "".join(f">sp|{n}|X{i}_HUMAN a protein\nACD{'E' * i}\n" for i, n in enumerate(names))
    labels = "".join(f"{n},{'uv'[i % 2]}\n" for i, n in reversed(list(enumerate(names))))
    path, classes = write(tmp_path / "p.fasta", fasta), write(tmp_path / "l.csv", labels)
    problem = objects_problem(path, measure="edit", labels=classes)
    assert problem.y.tolist() == list("uvuvuv")
    assert "matched by the accessions" in " ".join(problem.notes)
    entries = "".join(f"X{i}_HUMAN,{'uv'[i % 2]}\n" for i in range(6))
    problem = objects_problem(path, measure="edit", labels=write(tmp_path / "e.csv", entries))
    assert problem.y.tolist() == list("uvuvuv")
    with pytest.raises(DataError, match="no label for 'P00000'"):
        objects_problem(path, measure="edit", labels=write(tmp_path / "x.csv", labels[:-9]))


def long_table(path, series, times=None, sep=","):
    """A table with a row for each time of each series, in no order."""
    rows = []
    for name, (label, values) in series.items():
        for i, value in enumerate(values):
            t = i if times is None else times[i]
            rows.append(sep.join([name, str(t), label, "" if value is None else str(value)]))
    rows = [rows[i] for i in np.random.default_rng(0).permutation(len(rows))]
    return write(path, "\n".join([sep.join(["device", "t", "state", "v"]), *rows]) + "\n")


LONG = {"id": "device", "time": "t", "value": ["v"], "target": "state"}
SERIES = {f"m{i}": ("uv"[i % 2], [i, 2 * i + 0.5, 3.25, 7.0 - i]) for i in range(8)}


@pytest.mark.parametrize(
    "times",
    [None, [10, 20, 30, 40], [f"2024-01-01 0{h}:30" for h in range(4)], [0.9, 2.0, 3.1, 4.0]]
    + [["01.03.2024", "02.03.2024", "03.03.2024", "04.03.2024"]]
    + [[f"03/{day}/2024 08:00:00 AM" for day in (12, 13, 14, 15)]],
)
def test_tables_of_long_format_become_series(tmp_path, times):
    problem = read_problem(long_table(tmp_path / "t.csv", SERIES, times), **LONG)
    assert problem.kind == "objects" and len(problem) == 8
    for name, x, label in zip(problem.names, problem.X, problem.y):
        assert_array_equal(x, [SERIES[name][1]])
        assert label == SERIES[name][0]
    assert "32 rows became 8 series of 1 channel, of lengths 4 to 4" in " ".join(problem.notes)


def test_gaps_of_long_series_are_refused_or_interpolated(tmp_path):
    gappy = {**SERIES, "m1": ("v", [1.0, None, None, 4.0]), "m2": ("u", [1.0, 5.0, None, 2.0])}
    path = long_table(tmp_path / "t.csv", gappy)
    with pytest.raises(DataError) as error:
        read_problem(path, **LONG)
    assert "has 2 missing" in str(error.value) or "has 1 missing" in str(error.value)
    assert "'m1'" in str(error.value) and "'m2'" in str(error.value)
    problem = read_problem(path, interpolate=True, **LONG)
    series = dict(zip(problem.names, problem.X))
    assert_array_equal(series["m1"], [[1, 2, 3, 4]])
    assert_array_equal(series["m2"], [[1, 5, 3.5, 2]])
    assert "3 missing values of series were interpolated" in " ".join(problem.notes)
    # A time that no row has is a gap, too.
    lines = path.read_text().splitlines()
    left = [line for line in lines if not line.startswith(("m1,", "m2,", "m3,2,"))]
    write(tmp_path / "u.csv", "\n".join(left))
    with pytest.raises(DataError, match="series 'm3' has 1 missing"):
        read_problem(tmp_path / "u.csv", **LONG)
    problem = read_problem(tmp_path / "u.csv", interpolate=True, **LONG)
    series = dict(zip(problem.names, problem.X))
    assert_array_equal(series["m3"], [[3, 6.5, 5.25, 4]])


def test_names_of_series_are_texts_and_series_without_a_class_are_left_out(tmp_path):
    series = {"001": ("u", [1, 2]), "1": ("v", [3, 4]), "2": ("", [5, 6]), "3": ("u", [7, 8])}
    problem = read_problem(long_table(tmp_path / "t.csv", series), **LONG)
    assert sorted(problem.names) == ["001", "1", "3"] and sorted(problem.y) == ["u", "u", "v"]
    assert "Without a class, and left out: 1 object." in problem.notes


def test_all_series_of_one_fault_are_one_sentence(tmp_path):
    path = long_table(tmp_path / "t.csv", SERIES, [0, 1, 1, 3])
    with pytest.raises(DataError) as error:
        read_problem(path, **LONG)
    assert len(error.value.errors) == 1 and "and 5 more" in str(error.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text.replace(",0,u", ",2024-01-01T00:00:00Z,u"), "with a time zone"),
        (lambda text: text + "m0,1,u,5\n", r"two rows of one time: 'm0' \(rows 31 and 34\)"),
        (lambda text: text.replace("m0,1,u", "m0,1,v"), r"several classes: 'm0' \('u', 'v'\)"),
        (lambda text: text.replace("m0,1,u", "m0,soon,u"), "'t' must hold times.* 'soon' in row"),
        (lambda text: text.replace("m0,1,u", "m0,1e15,u"), "'m0' lasts from 0 to 1e.15, but"),
        (lambda text: text.replace("m0,1,u", "m0,inf,u"), "'t' must hold times.* 'inf' in row"),
        (lambda text: text.replace("3.25", "9007199254740993"), "'v' must hold numbers"),
        (lambda text: text.replace("m0,1,u", ",1,u"), "'device' is empty in row"),
        (
            lambda text: text.replace("3.25", "high"),
            "'v' must hold numbers; it holds 'high' in row",
        ),
        (
            lambda text: re.sub(r"(m\d),(\d)", r"\1,03/0\2/2024", text.replace(",0,", ",4,")),
            "day or month may come first",
        ),
    ],
)
def test_unfit_long_tables_are_refused(tmp_path, change, words):
    path = long_table(tmp_path / "t.csv", SERIES)
    write(path, change(path.read_text()))
    with pytest.raises(DataError, match=words):
        read_problem(path, **LONG)
    with pytest.raises(DataError, match="no column 'clock'"):
        read_problem(path, **{**LONG, "time": "clock"})


def test_gaps_of_series_files_are_interpolated_on_request(tmp_path):
    path = write(tmp_path / "s.ts", "@classLabel true u v\n@data\n1,?,3:u\n2,2,2:v\n")
    assert_array_equal(read_collection(path, interpolate=True).objects[0], [[1, 2, 3]])


def long_rows(times, values=None):
    """Two series of a table of long format, in the order of the times."""
    values = values or [str(i) for i in range(len(times))]
    rows = [f"s{i},{t},{'ab'[i]},{v}" for i in range(2) for t, v in zip(times, values)]
    return "device,t,state,v\n" + "\n".join(rows) + "\n"


@pytest.mark.parametrize(
    ("times", "lengths"),
    [
        (["22:00", "22:15", "22:30", "23:00"], [5, 5]),
        (["00:00:09.5", "00:00:10", "00:00:10.5"], [3, 3]),
        (["0 days 23:59:59", "1 days 00:00:00", "1 days 00:00:01"], [3, 3]),
        (["25:30:00", "26:30:00", "27:30:00"], [3, 3]),
        (["23:00", "22:00", "21:00"], [3, 3]),  # the newest first
        (["20240129", "20240130", "20240131", "20240201", "20240203"], [6, 6]),
    ],
)
def test_times_of_day_and_plain_dates_are_times(tmp_path, times, lengths):
    (tmp_path / "t.csv").write_text(long_rows(times))
    problem = read_problem(tmp_path / "t.csv", interpolate=True, **LONG_COLUMNS)
    assert [x.shape[1] for x in problem.X] == lengths
    newest_first = times[0] > times[-1]
    assert problem.X[0][0, 0] == (len(times) - 1 if newest_first else 0)


def test_times_of_day_do_not_pass_midnight_unnoticed(tmp_path):
    (tmp_path / "t.csv").write_text(long_rows(["23:30", "23:45", "00:00", "00:15"]))
    words = r"Times of day .* go back \('s0' from 23:45 to 00:00, 's1' .*write the date"
    with pytest.raises(DataError, match=words):
        read_problem(tmp_path / "t.csv", interpolate=True, **LONG_COLUMNS)
    (tmp_path / "t.csv").write_text(long_rows(["1", "", "3"]))
    with pytest.raises(DataError, match=r"'t' must hold times.* it is empty in row 3"):
        read_problem(tmp_path / "t.csv", **LONG_COLUMNS)


def test_the_lengths_of_series_are_those_without_padding(tmp_path):
    rows = long_rows(["1", "2", "3"], ["5", "6", "7"]).replace("s1,3,b,7", "s1,3,b,")
    (tmp_path / "t.csv").write_text(rows)
    problem = read_problem(tmp_path / "t.csv", **LONG_COLUMNS)
    assert [x.shape[1] for x in problem.X] == [3, 2]
    assert "of lengths 2 to 3" in problem.notes[0]


LONG_COLUMNS = {"id": "device", "time": "t", "value": ["v"], "target": "state"}


def test_names_of_the_two_columns_of_texts_are_no_object(tmp_path):
    words = [f"{'ab'[i % 2]}\tword{i}" for i in range(8)]
    (tmp_path / "t.tsv").write_text("\n".join(["label\tText", *words]))
    collection = read_collection(tmp_path / "t.tsv")
    assert collection.objects[0] == "word0" and len(collection.labels) == 8
    assert "names of columns" in collection.notes[0]
    rows = [",".join([f"s{i}", *reversed(word.split("\t"))]) for i, word in enumerate(words)]
    (tmp_path / "t.csv").write_text("\n".join(["id,Text,label", *rows]))
    table = read_collection(tmp_path / "t.csv")
    assert (table.objects, table.labels) == (collection.objects, collection.labels)
    assert table.names == [f"s{i}" for i in range(8)]
    (tmp_path / "t.csv").write_text("\n".join(["page,Text,label", *rows]))
    assert read_collection(tmp_path / "t.csv").notes[-1] == "Columns that were ignored: 'page'."
    (tmp_path / "t.tsv").write_text("\n".join("\t".join(w.split("\t")[::-1]) for w in words))
    with pytest.raises(DataError, match=r"begins with another label.* the label stands first"):
        read_collection(tmp_path / "t.tsv")


@pytest.mark.parametrize("indent", [None, 2])
def test_a_list_of_dicts_is_read_as_lines_are(tmp_path, indent):
    entries = [{"text": f"word{i}", "label": i % 2} for i in range(6)]
    (tmp_path / "t.json").write_text(json.dumps(entries, indent=indent))
    collection = read_collection(tmp_path / "t.json")
    assert collection.objects == [e["text"] for e in entries]
    assert collection.labels == [e["label"] for e in entries]


def test_thousands_in_lines_of_series_are_no_decimals(tmp_path):
    (tmp_path / "t.tsv").write_text("".join(f"{i % 2}\t1,{i}00\t2,500\t735\n" for i in range(8)))
    with pytest.raises(DataError, match="'1,000': this may be 1000, or a number with 3 decimals"):
        read_collection(tmp_path / "t.tsv")
