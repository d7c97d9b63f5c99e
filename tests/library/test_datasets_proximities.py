"""The proximity sets of paper C: recipes on made-up files, spectra on the real ones."""

import numpy as np
import pytest
from benchmarks.proximity_spectra import spectrum
from numpy.testing import assert_allclose, assert_array_equal
from openml_server import Table, openml

from mahalearn import datasets
from mahalearn.datasets.proximities import turning_angles
from mahalearn.datasets.registry import ENTRIES

REAL = [name for name in datasets.names("C") if ENTRIES[name].file]


def holdout_spectrum(data, repeats=5):
    """Mean spectrum of the paper's training fraction of a set."""
    found = []
    for seed in range(repeats):
        n = len(data.target)
        rows = np.random.default_rng(seed).permutation(n)[: round(data.train_fraction * n)]
        found.append(spectrum(data.matrix[np.ix_(rows, rows)]))
    return np.mean(found, axis=0)


@pytest.mark.parametrize(
    ("name", "r_neg", "p", "q"), [("poly-h", 0.32, 113, 87), ("poly-mh", 0.25, 91, 108)]
)
def test_polygons_have_the_published_spectrum(name, r_neg, p, q):
    found = []
    for seed in range(5):
        data = datasets.load(name, n_per_class=100, random_state=seed)
        assert_array_equal(np.bincount(data.target), [100, 100])
        found.append(spectrum(data.matrix))
    mean = np.mean(found, axis=0)
    assert abs(mean[0] - r_neg) <= 0.02
    assert abs(mean[1] - p) <= 5 and abs(mean[2] - q) <= 5
    assert (data.status, data.kind, data.origin) == ("rebuilt", "dissimilarity", "generated")


def test_both_polygon_sets_compare_the_same_polygons():
    largest, modified = (datasets.load(n, n_per_class=10) for n in ("poly-h", "poly-mh"))
    assert all(np.array_equal(a, b) for a, b in zip(largest.data, modified.data))
    assert (modified.matrix <= largest.matrix + 1e-12).all()  # a mean is at most the maximum
    again = datasets.load("poly-h", n_per_class=10)
    assert_array_equal(again.matrix, largest.matrix)


def test_heart_by_gower_is_nearly_euclidean(data_folder):
    heart = datasets.load("heart-gower", folder=data_folder)
    assert heart.class_counts == {"present": 139, "absent": 164}
    assert np.isnan(heart.data).sum() == 6
    assert spectrum(heart.matrix)[0] < 0.01
    # One pair by hand: rows 0 and 1 have no missing cell.
    nominal = np.isin(np.arange(13), [1, 2, 5, 6, 8, 10, 12])
    a, b = heart.data[:2]
    ranges = np.nanmax(heart.data, axis=0) - np.nanmin(heart.data, axis=0)
    gaps = np.where(nominal, a != b, abs(a - b) / ranges)
    assert_allclose(heart.matrix[0, 1], np.sqrt(gaps.mean()))


def test_news_has_the_published_spectrum(data_folder):
    news = datasets.load("news-cor", folder=data_folder)
    assert news.data.shape == (600, 100)
    assert sorted(news.class_counts.values())[::3] == [102, 203]  # smallest and largest of C
    assert abs(holdout_spectrum(news)[0] - 0.19) <= 0.03


@pytest.mark.parametrize(
    ("name", "r_neg", "p", "q"), [("cat-cortex", 0.19, 35, 18), ("protein", 0, 167, 3)]
)
def test_original_matrices_have_the_published_spectrum(name, r_neg, p, q, data_folder):
    data = datasets.load(name, folder=data_folder)
    assert data.data is None and data.status == "original"
    found = holdout_spectrum(data)
    assert abs(found[0] - r_neg) <= 0.01
    assert abs(found[1] - p) <= 4 and abs(found[2] - q) <= 4


@pytest.mark.parametrize("name", REAL)
def test_real_files_give_a_matrix(name, data_folder):
    data = datasets.load(name, folder=data_folder, n_per_class=4)
    n = len(data.target)
    assert n == 4 * len(data.target_names)
    assert data.matrix.shape == (n, n) and np.isfinite(data.matrix).all()
    assert_array_equal(data.matrix, data.matrix.T)
    assert_array_equal(data.matrix.diagonal(), 0)
    assert data.data is None or len(data.data) == n


def test_a_sample_is_a_part_of_the_set(tmp_path, rng):
    labels = np.repeat(list("AFSV"), [10, 19, 18, 18])
    D = np.triu(rng.uniform(size=(65, 65)), 1)
    D += D.T
    (tmp_path / "dissimilarity").mkdir()
    np.savez(tmp_path / "dissimilarity" / "catcortex.npz", D=D, labels=labels)
    part = datasets.load("cat-cortex", folder=tmp_path, n_per_class=9, random_state=3)
    assert_array_equal(np.bincount(part.target), [9, 9, 9, 9])
    rows = [np.flatnonzero((d == D).any(axis=1)) for d in part.matrix[0, 1:]]
    first = set(rows[0]).intersection(*rows[1:]).pop()  # every value belongs to one pair only
    chosen = [first, *(int(r[r != first][0]) for r in rows)]
    assert_array_equal(part.matrix, D[np.ix_(chosen, chosen)])
    assert_array_equal(labels[chosen], np.repeat(list("AFSV"), 9))
    other = datasets.load("cat-cortex", folder=tmp_path, n_per_class=9, random_state=4)
    assert not np.array_equal(other.matrix, part.matrix)
    assert len(datasets.load("cat-cortex", folder=tmp_path, n_per_class=99).target) == 65


def test_turning_angles_of_known_shapes():
    square = np.array([[0, 0], [4, 0], [4, 4], [0, 4]], dtype=float)
    assert_allclose(turning_angles(square, 1.0), np.tile([0, 0, 0, 90], 4)[:15], atol=1e-9)
    assert_allclose(turning_angles(square[::-1], 4.0), [-90, -90, -90], atol=1e-9)
    t = np.linspace(0, 2 * np.pi, 2000, endpoint=False)
    circle = 10 * np.column_stack([np.cos(t), np.sin(t)])
    chord = 2 * 10 * np.sin(np.pi / 24)  # 24 chords go round
    angles = turning_angles(circle, chord)
    assert len(angles) in (22, 23)
    assert_allclose(angles, 15, atol=0.05)


def test_contours_and_bands_and_pens_follow_their_recipes(tmp_path, rng):
    folder = tmp_path / "dissimilarity"
    folder.mkdir()
    (tmp_path / "uci").mkdir()
    strokes = rng.integers(0, 101, size=(3498, 16)).astype(np.uint8)
    digits = np.repeat(np.arange(10), list(ENTRIES["pen-ang"].counts.values()))
    np.savez(tmp_path / "uci" / "pendigits.npz", x_test=strokes, y_test=digits)
    pens = datasets.load("pen-dis", folder=tmp_path, n_per_class=1)
    assert pens.data[0].shape == (7, 2)
    angles = datasets.load("pen-ang", folder=tmp_path, n_per_class=1)
    steps = pens.data[0]
    assert_allclose(np.cos(np.radians(angles.data[0])), steps[:, 0] / np.hypot(*steps.T))
    assert_allclose(np.tan(np.radians(angles.data[0])), steps[:, 1] / steps[:, 0], rtol=1e-6)
    profiles = np.tile(np.arange(60, dtype=np.uint8) % 30, (24 * 200, 1))[:, :30]
    np.savez(folder / "cbands.npz", x=profiles, y=np.repeat(np.arange(24), 200))
    levels = datasets.load("chromo-abs", folder=tmp_path, n_per_class=1)
    assert_array_equal(levels.data[0], np.repeat(np.arange(6), 5))
    changes = datasets.load("chromo-dif", folder=tmp_path, n_per_class=1)
    assert_array_equal(changes.data[0], np.diff(levels.data[0]))
    assert len(levels.target) == 21


def test_heart_by_gower_comes_from_openml_too(tmp_path, monkeypatch, rng):
    monkeypatch.delenv("MAHALEARN_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    labels = np.repeat([0, 1, 2, 3, 4], [164, 55, 36, 35, 13]).tolist()
    X = rng.integers(0, 4, size=(303, 13)).astype(float)
    X[0, 12] = np.nan
    columns = [f"V{i}" for i in range(13)]
    with openml({194: Table(columns, X, labels, target="num", numeric_target=True)}):
        heart = datasets.load("heart-gower")
    assert heart.class_counts == {"present": 139, "absent": 164}
    assert_array_equal(heart.target == 0, np.array(labels) > 0)
    assert_array_equal(heart.data, X)


def test_bad_proximity_files_are_refused(tmp_path):
    path = tmp_path / "dissimilarity" / "catcortex.npz"
    with pytest.raises(FileNotFoundError, match=r"needs the file dissimilarity/catcortex.npz"):
        datasets.load("cat-cortex", folder=tmp_path)
    path.parent.mkdir()
    labels = np.repeat(list("AFSV"), [10, 19, 18, 18])
    D = np.ones((65, 65)) - np.eye(65)
    np.savez(path, D=D[:, :60], labels=labels)
    with pytest.raises(ValueError, match=r"catcortex.npz must be square"):
        datasets.load("cat-cortex", folder=tmp_path)
    np.savez(path, D=D + np.tri(65), labels=labels)
    with pytest.raises(ValueError, match=r"catcortex.npz is not symmetric"):
        datasets.load("cat-cortex", folder=tmp_path)
    np.savez(path, D=D, labels=labels[:-1])
    with pytest.raises(ValueError, match="64 labels for a matrix of 65 objects"):
        datasets.load("cat-cortex", folder=tmp_path)
    np.savez(path, D=D[:64, :64], labels=labels[:64])
    with pytest.raises(ValueError, match=r"expected 65 objects .*V 18\); got 64"):
        datasets.load("cat-cortex", folder=tmp_path)
    for wrong in (0, 2.5, "all"):
        with pytest.raises(ValueError, match="n_per_class must be a positive whole number"):
            datasets.load("poly-h", n_per_class=wrong)


def test_coil_york_has_its_published_split(data_folder):
    coil = datasets.load("coil-york", folder=data_folder)
    assert coil.matrix.shape == (288, 144) and coil.class_counts == {"-1": 144, "+1": 144}
    (split,) = coil.realisations(1)
    assert split.genuine and len(split.train) == len(split.test) == 144
    D, D_test = coil.matrix[split.train], coil.matrix[split.test]
    assert_allclose(D, D.T)
    nearest = coil.target[split.train][D_test.argmin(axis=1)]
    assert np.mean(nearest != coil.target[split.test]) == pytest.approx(0.21, abs=0.005)
    assert spectrum(D)[0] == pytest.approx(0.19, abs=0.01)
    with pytest.raises(ValueError, match="one fixed split"):
        datasets.load("coil-york", folder=data_folder, n_per_class=10)
