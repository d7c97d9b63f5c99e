"""mahalearn novelty: p-values, flags and the page, as a new user meets them."""

import csv

import numpy as np
import pandas as pd
import pytest
from own_data import NASTY, flowers, refused, works, write_csv
from scipy import stats

from mahalearn import MahalanobisNovelty, TableEncoder
from mahalearn.app.cli._novelty import fit


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def numbers(n, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b"], n)
    X = rng.normal(size=(n, 3)) + 4 * (y == "b")[:, None]
    X[:, 1] += shift
    return pd.DataFrame({"p": X[:, 0], "q": X[:, 1], "r": X[:, 2], "kind": y})


@pytest.mark.parametrize("target", ["kind", None])
def test_tables_of_numbers(tmp_path, target):
    train, regular, novel = numbers(200, 0), numbers(60, 1), numbers(10, 2, shift=30.0)
    columns = list("pqr") + ["kind"] * (target is not None)
    train[columns].to_parquet(tmp_path / "train.parquet")
    new = pd.concat([regular, novel])[columns]
    new.to_parquet(tmp_path / "new.parquet")
    options = ["--target", target] if target else []
    out = tmp_path / "result.csv"
    files = (tmp_path / "train.parquet", *options, tmp_path / "new.parquet")
    done = works("novelty", *files, "--out", out)
    rows, page = rows_of(out), (tmp_path / "result.html").read_text(encoding="utf-8")
    detector = MahalanobisNovelty().fit(train[list("pqr")].to_numpy(), train.get(target))
    p = detector.p_none(new[list("pqr")].to_numpy())
    assert [float(row["p none"]) for row in rows] == p.tolist()
    assert [row["novel"] == "1" for row in rows] == (p <= 0.05).tolist()
    assert all(row["novel"] == "1" and row["unusual"].startswith("q (") for row in rows[60:])
    assert ("typical a" in rows[0]) == ("nearest class" in rows[0]) == (target is not None)
    assert "with probability at most a" in page and "of 70 new rows" in page
    assert f"{sum(p <= 0.05)} flagged as novel" in done.output
    assert "--force" in refused("novelty", *files, "--out", out)
    works("novelty", *files, "--out", out, "--fdr", 0.1, "--force")
    assert sum(row["novel"] == "1" for row in rows_of(out)) <= sum(p <= 0.05)


def test_categories_gaps_and_names(tmp_path):
    header, rows = flowers(90)
    write_csv(tmp_path / "train.csv", header, rows)
    strange = [["x1", "90", "0", "red", "?"], ["x2", "", "0.4", "blue", "?"]]
    write_csv(tmp_path / "new.csv", header, [*flowers(30, seed=3)[1], *strange])
    out = tmp_path / "result.xlsx"
    works("novelty", tmp_path / "train.csv", tmp_path / "new.csv", "--target", "species",
          "--out", out, "--level", 0.1)  # fmt: skip
    table, page = (
        pd.read_excel(out, engine="openpyxl"),
        (tmp_path / "result.html").read_text(encoding="utf-8"),
    )
    assert table["row"].tolist()[-2:] == ["x1", "x2"]
    assert table["novel"].tolist()[-2] == 1 and table["unusual"].tolist()[-2].startswith("height")
    assert NASTY not in page


def categories(rng, n):
    letters = rng.choice(list("abcdefgh"), (n, 12))
    return pd.DataFrame(letters, columns=[f"c{i}" for i in range(12)])


def gaps(rng, n):
    frame = pd.DataFrame(rng.standard_t(3, size=(n, 8)))
    return frame.rename(columns="c{}".format).mask(rng.random((n, 8)) < 0.1)


def calibrated_apart(X, Q):
    detector, vectors, *_ = fit(X, None, Q, 0.05, normalize=False)
    return detector.p_none(vectors)


def ranked_among_fitted_rows(X, Q):
    """Distances of rows that the encoder and the covariance have seen: not valid."""
    encoder = TableEncoder().fit(X)
    detector = MahalanobisNovelty().fit(encoder.transform(X))
    d2, new = (detector.mahalanobis(encoder.transform(Z))[:, 0] for Z in (X, Q))
    return np.array([(1 + np.sum(d2 >= value)) / (1 + len(X)) for value in new])


@pytest.mark.parametrize("table", [categories, gaps])
def test_the_promise_holds_for_tables_that_are_encoded(table):
    level, draws, shares = 0.2, 100, {}
    for road in (calibrated_apart, ranked_among_fitted_rows):
        rng = np.random.default_rng(0)
        p = [road(table(rng, 30), table(rng, 5))[0] for _ in range(draws)]
        shares[road] = np.mean(np.array(p) <= level)
    limit = stats.binom.ppf(0.999, draws, level) / draws
    assert shares[calibrated_apart] <= limit < shares[ranked_among_fitted_rows], shares


def test_categories_without_classes(tmp_path):
    rng = np.random.default_rng(1)
    categories(rng, 60).to_csv(tmp_path / "train.csv", index=False)
    categories(rng, 20).to_csv(tmp_path / "new.csv", index=False)
    out = tmp_path / "out.csv"
    files = [tmp_path / "train.csv", tmp_path / "new.csv"]
    said = works("novelty", *files, "--out", out, "--level", 0.2).output
    assert len(rows_of(out)) == 20
    notes = [line for line in " ".join(said.split()).split("• ") if line]
    assert len(set(notes)) == len(notes)  # each once, though both tables have it
    works("novelty", *files, "--out", tmp_path / "last.csv", "--drop=-1", "--level", 0.2)


def test_refusals(tmp_path):
    numbers(30, 0).to_csv(tmp_path / "train.csv", index=False)
    numbers(30, 1)[["p", "q"]].to_csv(tmp_path / "new.csv", index=False)
    files = tmp_path / "train.csv", tmp_path / "new.csv", "--out", tmp_path / "out.csv"
    assert "lacks the column" in refused("novelty", *files, "--target", "kind")
    assert "--level must be between" in refused("novelty", *files, "--level", 0)
    sentence = refused("novelty", *files, "--drop", "none", "--id", "nobody")
    assert "2 problems" in sentence and "the columns are 'p', 'q', 'r', 'kind'." in sentence
    assert "must end with" in refused("novelty", *files[:2], "--out", tmp_path / "out.doc")
    assert "is an input of this command" in refused(
        "novelty", *files[:2], "--out", tmp_path / "new.csv", "--force"
    )
