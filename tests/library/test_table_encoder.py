"""The encoder of tables against a naive loop, and frames of all libraries."""

import datetime as dt

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline

from mahalearn import TableEncoder, load_model, save_model

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")

ROWS = 40


def columns(seed):
    """Columns of every type with missing cells, as lists of Python values."""
    rng = np.random.default_rng(seed)
    day = dt.datetime(2024, 1, 31, 12, 30)

    def gappy(values):
        return [None if rng.random() < 0.2 else value for value in values]

    return {
        "whole": gappy(rng.integers(0, 9, ROWS).tolist()),
        "real": gappy(rng.normal(size=ROWS).tolist()),
        "flag": gappy((rng.random(ROWS) < 0.5).tolist()),
        "text": gappy(rng.choice(["a", "b", "Ä c"], ROWS).tolist()),
        "code": gappy(rng.integers(1, 4, ROWS).tolist()),
        "moment": gappy([day + dt.timedelta(hours=int(h)) for h in rng.integers(0, 99, ROWS)]),
        "day": gappy([day.date() + dt.timedelta(days=int(d)) for d in rng.integers(0, 99, ROWS)]),
        "complete": rng.normal(size=ROWS).tolist(),
        "same": [1] * ROWS,
        "name": [f"object {i}" for i in range(ROWS)],
        "empty": [None] * ROWS,
    }


def frames(seed):
    """The same table in every library; "code" is a column of categories."""
    table = columns(seed)
    arrow = pa.table({**table, "code": pa.array(table["code"]).dictionary_encode()})
    pandas = pd.DataFrame(table).assign(code=pd.Categorical(table["code"]))
    texts = [None if code is None else str(code) for code in table["code"]]
    return {
        "arrow": arrow,
        "pandas": pandas,
        "objects": pandas.astype(object).assign(code=pandas["code"]),
        "nullable": arrow.to_pandas(types_mapper=pd.ArrowDtype),
        "polars": pl.DataFrame({**table, "code": pl.Series(texts, dtype=pl.Categorical)}),
    }


@pytest.mark.parametrize("fitted", ["arrow", "pandas", "objects", "nullable", "polars"])
def test_every_library_gives_the_same_vectors(fitted):
    train, new = frames(0), frames(1)
    encoder = TableEncoder().fit(train[fitted])
    reference = TableEncoder().fit(train["pandas"])
    assert_array_equal(encoder.feature_names_in_, list(columns(0)))
    assert_array_equal(encoder.get_feature_names_out(), reference.get_feature_names_out())
    assert encoder.dropped_ == {8: "constant", 9: "another text in each row", 10: "empty"}
    for library, frame in new.items():
        assert_allclose(
            encoder.transform(frame),
            reference.transform(new["pandas"]),
            atol=1e-12,
            err_msg=library,
        )


def test_it_equals_a_naive_loop():
    train, new = columns(0), columns(1)
    encoder = TableEncoder().fit(frames(0)["arrow"])
    Z = dict(zip(encoder.get_feature_names_out(), encoder.transform(frames(1)["arrow"]).T))

    def days(value):
        if isinstance(value, dt.datetime):
            return (value - dt.datetime(1970, 1, 1)) / dt.timedelta(days=1)
        return (value - dt.date(1970, 1, 1)).days if isinstance(value, dt.date) else float(value)

    for name in ("whole", "real", "flag", "moment", "day", "complete"):
        median = np.median([days(v) for v in train[name] if v is not None])
        filled = np.array([median if v is None else days(v) for v in train[name]])
        expected = [
            ((median if v is None else days(v)) - filled.mean()) / filled.std() for v in new[name]
        ]
        assert_allclose(Z.pop(name), expected, atol=1e-9)
    for name in ("text", "code"):
        for level in {v for v in train[name] if v is not None}:
            assert_array_equal(Z.pop(f"{name}={level}"), [float(v == level) for v in new[name]])
    for name in ("whole", "real", "flag", "text", "code", "moment", "day"):
        assert_array_equal(Z.pop(f"{name} missing"), [float(v is None) for v in new[name]])
    assert not Z


def test_unknown_and_rare_categories_have_zeros():
    train = pd.DataFrame({"x": ["a"] * 5 + ["b"] * 4 + ["c"] * 3 + ["d"]})
    encoder = TableEncoder(max_categories=2).fit(train)
    assert encoder.get_feature_names_out().tolist() == ["x=a", "x=b"]
    new = pd.DataFrame({"x": ["c", "never seen", None, "b"]})
    assert_array_equal(encoder.transform(new), [[0, 0], [0, 0], [0, 0], [0, 1]])


def test_columns_missing_together_share_an_indicator():
    X = np.arange(60.0).reshape(20, 3)
    X[:2, :2] = np.nan
    encoder = TableEncoder().fit(X)
    assert encoder.get_feature_names_out().tolist() == ["x0", "x1", "x2", "x0 missing"]
    assert_array_equal(encoder.source_columns_, [0, 1, 2, 0])
    X[1, :2] = 1.0  # one cell in twenty is enough, one in a hundred is not
    assert TableEncoder().fit(X).indicators_.tolist() == [0]
    assert TableEncoder().fit(np.vstack([X] + 4 * [X[1:]])).indicators_.tolist() == []


def test_a_column_that_is_there_or_not_is_known_by_its_indicator():
    X = pd.DataFrame({"comment": ["repeated", None] * 5})
    encoder = TableEncoder().fit(X)
    assert encoder.get_feature_names_out().tolist() == ["comment missing"]
    assert_array_equal(encoder.transform(X).ravel(), [0, 1] * 5)


def test_lists_of_rows_are_read_as_frames_are():
    rows = [[1.0, "a"], [2.5, "b"], [4.0, "a"], [None, "b"], [np.nan, "a"]]
    frame = pd.DataFrame(rows, columns=["x0", "x1"])
    reference = TableEncoder().fit(frame)
    for known in (rows, rows[:3]):  # with and without missing cells
        encoder = TableEncoder().fit(known)
        assert_array_equal(encoder.get_feature_names_out()[:3], ["x0", "x1=a", "x1=b"])
        assert_allclose(reference.transform(known), reference.transform(frame[: len(known)]))


def test_what_a_mask_hides_is_missing(rng):
    X = rng.normal(size=(20, 2))
    hidden = rng.random(X.shape) < 0.2
    gaps = np.where(hidden, np.nan, X)
    masked = np.ma.masked_array(np.where(hidden, 999.0, X), hidden)
    expected = TableEncoder().fit_transform(gaps)
    for table in (masked, masked.astype(object)):
        assert_allclose(TableEncoder().fit_transform(table), expected)


def test_frames_of_mixed_objects():
    X = pd.DataFrame({"x": [1, "a", 2.0, 2, pd.NA, None]}, dtype=object)
    assert TableEncoder().fit(X).categories_ == [["1", "2", "a"]]
    zones = pd.Series(pd.date_range("2024-01-01", periods=4, tz="Asia/Seoul"))
    aware = TableEncoder().fit_transform(zones.to_frame("t"))
    naive = TableEncoder().fit_transform(zones.dt.tz_convert(None).to_frame("t"))
    assert_allclose(aware, naive, atol=1e-9)


@pytest.mark.parametrize(
    ("train", "new", "sentence"),
    [
        ({"a": [1.0, np.inf, 2.0]}, None, "'a' holds inf in row 2"),
        ({"a": [1.0, 1.0], "b": ["x", "x"]}, None, "Every column is constant"),
        ({"a": [[1, 2], [3, 4]]}, None, "single values; got list"),
        ({"a": [1.0, 2.0]}, {"a": ["1", "x"]}, "'a' held numbers or dates in training"),
        ({"a": [1.0, 2.0]}, {"b": [1.0, 2.0]}, "feature names"),
        ({"a": [1.0, 2.0]}, {"a": []}, "is empty"),
        ({"a": [1.0 + 2j, 2.0]}, None, "Complex"),
    ],
)
def test_unfit_tables_are_refused_in_a_sentence(train, new, sentence):
    with pytest.raises(ValueError, match=sentence):
        TableEncoder().fit(pd.DataFrame(train)).transform(pd.DataFrame(new))
    doubled = pd.DataFrame([[1.0, 2.0], [3.0, 5.0]], columns=["a", "a"])
    with pytest.raises(ValueError, match="a occurs twice"):
        TableEncoder().fit(doubled)


def test_it_is_saved_in_a_pipeline_and_gives_frames(tmp_path):
    frame = frames(0)["pandas"]
    y = np.arange(ROWS) % 2
    model = make_pipeline(TableEncoder(), DummyClassifier()).fit(frame, y)
    save_model(model, tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops")
    assert_array_equal(loaded[0].transform(frame), model[0].transform(frame))
    output = TableEncoder().set_output(transform="pandas").fit_transform(frame)
    assert list(output) == model[0].get_feature_names_out().tolist()
