"""The loaders: what they return, what they check, and what they say when something is wrong."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from openml_server import Table, openml

from mahalearn import datasets
from mahalearn.datasets.dataset import STATUSES
from mahalearn.datasets.registry import ENTRIES

VECTOR_SETS = datasets.names("A") + datasets.names("B")


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """No data folder, and nothing in scikit-learn's cache."""
    monkeypatch.delenv("MAHALEARN_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "cache"))
    return tmp_path


def write_csv(path, counts, n_features, rng):
    """A table with these classes; returns its features."""
    labels = np.repeat(list(counts), list(counts.values()))
    X = rng.normal(size=(len(labels), n_features))
    path.parent.mkdir(parents=True, exist_ok=True)
    header = ",".join([*(f"f{i}" for i in range(n_features)), "class"])
    rows = [",".join([*map(repr, row.tolist()), label]) for row, label in zip(X, labels)]
    path.write_text("\n".join([header, *rows, ""]))
    return X


def write_ida(path, entry, rng, realisations=2):
    """An IDA file of the right shape with a few realisations."""
    t = np.repeat([-1, 1], list(entry.counts.values()))
    n_train, n_test = entry.split_sizes
    orders = [rng.permutation(len(t)) for _ in range(realisations)]
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(
        path,
        x=rng.normal(size=(len(t), entry.n_features)),
        t=t.astype(np.int8),
        train=np.array([o[:n_train] for o in orders], dtype=np.uint16),
        test=np.array([o[n_train : n_train + n_test] for o in orders], dtype=np.uint16),
    )


def test_names_lists_every_set_of_the_papers():
    assert len(datasets.names("A")) == 12
    assert len(datasets.names("B")) == 13
    assert len(datasets.names("C")) == 14
    papers = [name for paper in "ABC" for name in datasets.names(paper)]
    assert datasets.names() == [*papers, "coil-york"]
    with pytest.raises(ValueError, match="paper='E' is not known; choose from 'A', 'B', 'C'"):
        datasets.names("E")


@pytest.mark.parametrize("name", datasets.names())
def test_every_entry_says_where_it_comes_from(name):
    entry = ENTRIES[name]
    assert entry.status in STATUSES
    assert entry.licence and entry.source and entry.description.endswith(".")
    assert entry.file is None or entry.file.split("/")[0] in ("uci", "ida", "dissimilarity")
    if entry.split_sizes:
        assert sum(entry.split_sizes) == entry.n_objects


@pytest.mark.parametrize("name", VECTOR_SETS)
def test_real_files_pass_their_checks(name, data_folder):
    entry, data = ENTRIES[name], datasets.load(name, folder=data_folder)
    assert data.data.shape == (entry.n_objects, entry.n_features)
    assert data.data.dtype == float and np.isfinite(data.data).all()
    assert data.class_counts == entry.counts
    assert data.origin == str(data_folder / entry.file)
    for train, test in zip(data.train, data.test):
        assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(entry.n_objects))


def test_the_docs_list_every_set():
    page = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text(encoding="utf-8")
    for entry in ENTRIES.values():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{entry.name}` |"))
        assert f"| {entry.status} | {entry.n_objects}" in row
        assert row.endswith(f"| {entry.source} | {entry.licence} |")
        assert entry.file is None or f"`{entry.file}`" in row
        assert entry.openml is None or f"| {entry.openml.data_id} |" in row


def test_csv_files_are_read(offline, monkeypatch, rng):
    counts = ENTRIES["wine"].counts
    X = write_csv(offline / "uci" / "wine.csv", counts, 13, rng)
    monkeypatch.setenv("MAHALEARN_DATA", str(offline))
    wine = datasets.load("Wine")
    assert_array_equal(wine.data, X)
    assert_array_equal(wine.target, np.repeat([0, 1, 2], [59, 71, 48]))
    assert wine.target_names == ("cultivar1", "cultivar2", "cultivar3")
    assert wine.feature_names == tuple(f"f{i}" for i in range(13))
    assert (wine.status, wine.train_fraction, wine.matrix) == ("original", 0.5, None)
    assert repr(wine) == "<Dataset 'wine': 178 × 13 features, 3 classes, original>"
    with pytest.raises(AttributeError):
        wine.status = "rebuilt"
    with pytest.raises(ValueError, match="'wine' has no benchmark splits"):
        wine.realisations(3)


def test_realisations_are_topped_up_and_marked(offline, rng):
    entry = ENTRIES["ida-thyroid"]
    write_ida(offline / entry.file, entry, rng)
    data = datasets.load("ida_thyroid", folder=offline)
    splits = data.realisations(5)
    assert [s.genuine for s in splits] == [True, True, False, False, False]
    assert_array_equal(splits[1].train, data.train[1])
    for train, test, _ in splits:
        assert (len(train), len(test)) == entry.split_sizes
        assert len(np.union1d(train, test)) == 215
    again, other = data.realisations(5), data.realisations(5, random_state=1)
    assert_array_equal(again[4].train, splits[4].train)
    assert not np.array_equal(other[4].train, splits[4].train)
    # With fewer genuine ones at hand, the random ones of the same place are the same.
    write_ida(offline / entry.file, entry, rng, realisations=1)
    fewer = datasets.load("ida-thyroid", folder=offline).realisations(5)
    assert_array_equal(fewer[4].train, splits[4].train)
    assert_array_equal(data.target == 1, np.repeat([False, True], [150, 65]))
    assert data.target_names == ("-1", "+1")


# OpenML's versions: columns, {class: objects}, and what differs from a plain table.
_BIOMED = ["Observation_number", "Hospital_identification_number_for_blood_sample"]
_BIOMED += ["Age_of_patient", "Date_that_blood_sample_was_taken", "m1", "m2", "m3", "m4"]
_ECOLI = ["mcg", "gvh", "lip", "chg", "aac", "alm1", "alm2"]
_HEART = {0: 164, 1: 55, 2: 36, 3: 35, 4: 13}
OPENML = {
    "biomed": (_BIOMED, {"carrier": 75, "normal": 134}, {}),
    "diabetes": (8, {"tested_negative": 500, "tested_positive": 268}, {}),
    "ecoli": (_ECOLI, {"cp": 143, "im": 77, "pp": 52, "imU": 35, "om": 20, "imL": 9}, {}),
    "glass": (
        9,
        {
            "build wind float": 70,
            "build wind non-float": 76,
            "vehic wind float": 17,
            "containers": 13,
            "tableware": 9,
            "headlamps": 29,
        },
        {},
    ),
    "heart": (13, _HEART, {"target": "num", "numeric_target": True}),
    "ionosphere": (34, {"b": 126, "g": 225}, {}),
    "liver": (
        ["mcv", "alkphos", "sgpt", "sgot", "gammagt", "drinks"],
        {"1": 145, "2": 200},
        {"target": "selector", "default": "drinks"},
    ),
    "mfeat-fac": (216, {str(i): 200 for i in range(1, 11)}, {}),
    "mfeat-fou": (76, {str(i): 200 for i in range(1, 11)}, {}),
    "sonar": (60, {"Rock": 97, "Mine": 111}, {}),
    "wine": (13, {"1": 59, "2": 71, "3": 48}, {}),
}


def openml_table(name, rng):
    """(Table, X, labels) like OpenML's version of the set, its values random."""
    columns, counts, more = OPENML[name]
    columns = [f"V{i}" for i in range(columns)] if isinstance(columns, int) else columns
    labels = np.repeat(list(counts), list(counts.values()))
    X = rng.normal(size=(len(labels), len(columns))).round(3)
    if name == "biomed":
        X[np.flatnonzero(labels == "carrier")[:8], 4] = np.nan
        X[np.flatnonzero(labels == "normal")[:7], 2] = np.nan
        X[:30, 3] = np.nan  # in a column that is not used
    if name == "heart":
        X[np.flatnonzero(labels == 0)[:4], 11] = np.nan
        X[np.flatnonzero(labels == 2)[:2], 12] = np.nan
    return Table(columns, X, labels.tolist(), **more), X, labels


def test_openml_versions_are_listed_for_every_set_that_has_one():
    with_openml = {name for name in datasets.names("A") if ENTRIES[name].openml}
    assert with_openml == set(OPENML) == set(datasets.names("A")) - {"imox"}


@pytest.mark.parametrize("name", OPENML)
def test_openml_steps_in(name, offline, rng):
    entry = ENTRIES[name]
    table, X, labels = openml_table(name, rng)
    with openml({entry.openml.data_id: table}) as asked:
        data = datasets.load(name)
        n_asked = len(asked)
        datasets.load(name)
        assert len(asked) == n_asked > 0  # the second time from the cache
    assert data.class_counts == entry.counts
    assert data.origin == f"OpenML, data set {entry.openml.data_id}"
    match name:
        case "biomed":
            rows, columns = ~np.isnan(X[:, [2, 4, 5, 6, 7]]).any(axis=1), [2, 4, 5, 6, 7]
        case "ecoli":
            rows, columns = np.isin(labels, ["cp", "im", "pp"]), [0, 1, 2, 4, 5, 6]
        case "heart":
            rows, columns = ~np.isnan(X).any(axis=1), slice(None)
        case _:
            rows, columns = slice(None), slice(None)
    assert_array_equal(data.data, X[rows][:, columns])
    if name == "heart":
        assert_array_equal(data.target, labels[rows] > 0)
    if name == "glass":
        assert_array_equal(
            data.target == 3, np.isin(labels, ["containers", "tableware", "headlamps"])
        )


def test_the_folder_goes_before_openml(offline, rng):
    X = write_csv(offline / "uci" / "wine.csv", ENTRIES["wine"].counts, 13, rng)
    with openml({}) as asked:
        assert_array_equal(datasets.load("wine", folder=offline).data, X)
    assert asked == []


def test_an_absent_file_is_named(offline, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"file uci/imox.csv.*is not set.*has 192 objects"):
        datasets.load("imox")
    monkeypatch.setenv("MAHALEARN_DATA", str(offline / "nowhere"))
    with pytest.raises(FileNotFoundError, match=r"folder .*nowhere is absent"):
        datasets.load("ida-banana")
    monkeypatch.setenv("MAHALEARN_DATA", str(offline))
    with pytest.raises(FileNotFoundError, match=r"no such file.*ida/banana.npz an archive of"):
        datasets.load("ida-banana")
    with pytest.raises(FileNotFoundError, match=r"needs the file uci/wine.csv"):
        datasets.load("wine", download_if_missing=False)


@pytest.mark.filterwarnings("ignore:A network error occurred")
def test_without_openml_the_file_is_named_too(offline):
    with (
        openml({}) as asked,
        pytest.raises(
            FileNotFoundError, match=r"needs the file uci/wine.csv.*OpenML, data set 187 could not"
        ),
    ):
        datasets.load("wine")
    assert asked


def test_openml_may_have_changed(offline, rng):
    columns = [f"V{i}" for i in range(13)]
    labels = np.repeat(["1", "2", "3"], [59, 70, 48]).tolist()
    table = Table(columns, rng.normal(size=(177, 13)), labels)
    with (
        openml({187: table}),
        pytest.raises(
            ValueError, match=r"OpenML, data set 187 does not hold.*cultivar2 71.*got 177 objects"
        ),
    ):
        datasets.load("wine")


def test_wrong_counts_and_shapes_are_refused(offline, rng):
    counts = ENTRIES["sonar"].counts
    write_csv(offline / "uci" / "sonar.csv", {**counts, "rock": 96}, 60, rng)
    with pytest.raises(
        ValueError, match=r"expected 208 objects with 60 features \(rock 97, mine 111\); got 207"
    ):
        datasets.load("sonar", folder=offline)
    write_csv(offline / "uci" / "sonar.csv", counts, 59, rng)
    with pytest.raises(ValueError, match=r"sonar.csv has 59 features for 'sonar'; expected 208"):
        datasets.load("sonar", folder=offline)
    write_csv(offline / "uci" / "sonar.csv", {"rock": 97, "fish": 111}, 60, rng)
    with pytest.raises(ValueError, match=r"got 208 objects \(fish 111, rock 97\)"):
        datasets.load("sonar", folder=offline)


def test_broken_files_are_refused(offline, rng):
    path = offline / "uci" / "sonar.csv"
    path.parent.mkdir()
    path.write_text("a,b,class\n1,2,rock\n1,rock\n")
    with pytest.raises(ValueError, match=r"sonar.csv, line 3: expected 3 cells"):
        datasets.load("sonar", folder=offline)
    path.write_text("a,b,class\n1,two,rock\n")
    with pytest.raises(ValueError, match=r"sonar.csv has a cell that is no number: .*two"):
        datasets.load("sonar", folder=offline)
    path.write_text("")
    with pytest.raises(ValueError, match=r"sonar.csv is empty"):
        datasets.load("sonar", folder=offline)
    entry = ENTRIES["ida-thyroid"]
    write_ida(offline / entry.file, entry, rng)
    arrays = dict(np.load(offline / entry.file))
    np.savez(offline / entry.file, **{**arrays, "train": arrays["train"][:, 1:]})
    with pytest.raises(ValueError, match="row of 'train' must hold 140 different row numbers"):
        datasets.load("ida-thyroid", folder=offline)
    np.savez(offline / entry.file, t=arrays["t"])
    with pytest.raises(ValueError, match="must hold the arrays x; x not found among t"):
        datasets.load("ida-thyroid", folder=offline)
    (offline / entry.file).write_bytes(b"no archive")
    with pytest.raises(ValueError, match=r"thyroid.npz is not an .npz archive"):
        datasets.load("ida-thyroid", folder=offline)
    with zipfile.ZipFile(offline / entry.file, "w") as archive:
        archive.writestr("x.npy", b"no array")
    with pytest.raises(ValueError, match=r"thyroid.npz holds members that are no arrays: x"):
        datasets.load("ida-thyroid", folder=offline)


def test_unknown_names_list_the_known_ones():
    with pytest.raises(
        ValueError, match=r"name='wein' is not known; choose from 'biomed', .*'wine'"
    ):
        datasets.load("wein")
    with pytest.raises(ValueError, match="name=3 is not known"):
        datasets.load(3)
    with pytest.raises(ValueError, match="'zongker' is no longer published"):
        datasets.load("Zongker")
    with pytest.raises(ValueError, match="n_per_class is for proximity data"):
        datasets.load("wine", n_per_class=5)
