"""Claims of README and the guide: figures of the benchmark pages, calls that run, equal models."""

import re
import sys
from html import unescape
from pathlib import Path
from pkgutil import resolve_name

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import mahalearn
from mahalearn import measures, proximity

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs" / "_figures"))

import measured  # noqa: E402
import ranks  # noqa: E402

# Sentences of the guide with figures, as docs/_figures/measured.py reads them off the pages.
SENTENCES = {
    "time_series": (
        "On thirteen UCR/UEA sets its mean error is {resampled_stack} %, that of MiniRocket "
        "{resampled_rocket} %, of QUANT {resampled_quant} %, of 1-NN-DTW {resampled_dtw} %.",
        "it is {elsewhere_stack} %, MiniRocket {elsewhere_rocket} %, QUANT {elsewhere_quant} %. "
        "It takes {series_cpu} times MiniRocket's CPU time.",
    ),
    "benchmarks_series": (
        "thirteen sets {split_stack}, {split_rocket} and {split_quant} %",
        "six splits of each {resampled_stack}, {resampled_rocket} and {resampled_quant} %",
        "other packages {elsewhere_stack}, {elsewhere_rocket} and {elsewhere_quant} %",
    ),
    "benchmarks_novelty": (
        "on, {novelty_percent} %; next is a class-wise Ledoit–Wolf distance, {ledoit_percent} %.",
        "({outliers} against {pyod} %)",
        "it has {plain_novelty}: more than PyOD's kNN ({knn}), less than a class-wise "
        "Ledoit–Wolf distance ({ledoit}) and the kernel detector ({novelty}).",
    ),
    "outliers": (
        "is {outliers} % on 26 sets that no default was chosen on; PyOD's best detector, which "
        "uses no labels, has {pyod} %. Without labels `MahalanobisNovelty` has {unlabelled} %.",
        "is more accurate: {novelty_percent} against {plain_novelty_percent} % on 13 sets",
        "isolation forest is ahead ({contaminated_forest} against {contaminated} %)",
    ),
    "embeddings": (
        "unseen classes is {near} %: as much as a class-wise Ledoit–Wolf distance ({near_ledoit} "
        "%), and more than Mahalanobis++ ({near_plus} %), kNN ({near_knn} %) and the softmax "
        "({near_softmax} %).",
    ),
    "chooser": (
        "a mean error of {stack_error} % (CatBoost {catboost_error}, a tuned RBF SVM {svm_error}, "
        "random forest {rf_error})",
    ),
    "distance_matrix": (
        "a mean error of {matrices ensemble} %, the kernel quadratic discriminant alone "
        "{matrices KQD} %, kernel ridge {matrices ridge} % and k-NN {matrices k-NN} %",
        "LDA with shrinkage on the rows of the matrix, {matrices LDA on rows} %",
    ),
    "index": (
        "on thirteen sets of time series from {svm_raw} % to {svm_clip} %.",
        "Its mean log loss on 25 tables is {fast_loss} (CatBoost {guard_catboost_loss}, tuned SVM "
        "{guard_svm_loss}).",
    ),
    "missing": (
        "three of ten features missing the accuracy on the paper's data is then {cells_nan} %, "
        "instead of {cells_zero} % if they are set to 0",
    ),
    "novelty": ("on 26 sets on which nothing was tuned, {default_rc} against {default_other}",),
    "model_selection": ("`GridSearchCV` takes {fisher} to {neighbors} times as long",),
    "non_psd": ("the mean error falls from {svm_raw} % to {svm_clip} %",),
    "kernel_ridge": ("it has the lowest mean error of the seven single methods, {ridge} %.",),
}


def words(text):
    """The text with single spaces."""
    return " ".join(text.split())


def test_readme_has_the_figures_of_the_benchmark_pages():
    rows = measured.ROWS.format(**measured.figures())
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert measured.HEAD + rows in text, "run python docs/_figures/measured.py"


@pytest.mark.parametrize("page", SENTENCES)
def test_guide_has_the_figures_of_the_benchmark_pages(page):
    figures, text = measured.figures(), words(measured.page(page))
    for sentence in SENTENCES[page]:
        assert sentence.format(**figures) in text


def test_rank_plots_are_those_of_the_pages():
    for name, panels, _ in ranks.plots():
        drawn = (ranks.IMAGES / f"{name}.svg").read_text(encoding="utf-8")
        assert ranks.description(panels) in unescape(drawn), "run python docs/_figures/measured.py"


def test_cliques_are_the_largest_groups_within_the_critical_difference():
    assert ranks.cliques([1.0, 2.0, 2.5, 5.0, 5.5], 1.6) == [(0, 2), (3, 4)]
    assert ranks.cliques([1.0, 2.0, 3.0, 4.0], 1.5) == [(0, 1), (1, 2), (2, 3)]
    assert ranks.cliques([1.0, 4.0], 1.0) == []
    # Demšar 2006, section 3.2.2: four classifiers on 14 sets have a difference of 1.25.
    assert round(ranks.critical_difference(4, 14), 2) == 1.25


def number(cell):
    """A cell as a number; NaN if it is none."""
    try:
        return float(re.sub(r"[°*%]", "", cell))
    except ValueError:
        return np.nan


@pytest.mark.parametrize("page", ["benchmarks_series", "benchmarks_matrices", "benchmarks_novelty"])
def test_means_are_those_of_the_rows(page):
    checked = 0
    for _, *rows in measured.tables(page):
        names = [row[0] for row in rows]
        if "mean" not in names:
            continue
        cells = np.array([[number(cell) for cell in row] for row in rows])
        mean, values = cells[names.index("mean")], cells[: names.index("mean")]
        full = np.isfinite(mean) & np.isfinite(values).all(axis=0)
        unit = 0.1 if mean[full].max() > 1 else 0.001  # of the last digit
        np.testing.assert_allclose(values[:, full].mean(axis=0), mean[full], atol=unit)
        checked += full.sum()
    assert checked


def test_kernel_ridge_is_the_best_single_method_on_series():
    singles = ("ridge", "KFD", "KQD", "SVM", "k-NN", "dissimilarity space", "kernel PCA")
    means = measured.table("benchmarks_series", *singles)["mean"]
    assert min(singles, key=lambda name: float(means[name])) == "ridge"


# Calls of docs/translate.md

X, Y = load_wine(return_X_y=True)
X = X[::3] / X.std(axis=0)
Y = Y[::3]
D = measures.pairwise(X, "euclidean")


def names_of_the_page():
    """Names that the calls use."""
    spaces = (measures, proximity, mahalearn)
    found = {name: getattr(space, name) for space in spaces for name in space.__all__}
    for function in (make_pipeline, cross_val_score, train_test_split):
        found[function.__name__] = function
    found["model"] = mahalearn.GaussianClassifier().fit(X, Y)
    found["detector"] = mahalearn.MahalanobisNovelty().fit(X, Y)
    found |= {"estimator": mahalearn.KernelFisherDiscriminant(), "grid": {"reg": [0.1]}}
    return found | {"X": X, "y": Y, "Z": X[:5], "D": D, "objects": X, "k": 3}


def calls():
    """Code of the column "mahalearn" of each table."""
    for head, *rows in measured.tables("translate"):
        column = head.index("mahalearn")
        for row in rows:
            # Cells lose their outermost backticks in measured.tables.
            for code in re.split(r"`[^`]*`|; |(?<=\))`, ", row[column]):
                code = code.strip("` ")
                if re.fullmatch(r"-?[A-Za-z_][\w.]*\(.*\)", code) and "…" not in code:
                    yield code


@pytest.mark.parametrize("code", sorted(set(calls())))
def test_calls_of_the_translation_run(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    eval(code, names_of_the_page())


def test_enough_calls_are_read():
    assert len(set(calls())) > 25


def test_attributes_of_the_guide_exist():
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        if page.stem == "translate":  # names of other packages
            continue
        text = page.read_text(encoding="utf-8")
        for name in re.findall(r"`(?:\w+\.)?([a-z]\w*[a-z]_)`", text):
            assert re.search(rf"\b{name}\b", code), f"{page.name}: nothing has {name}"


def test_names_with_their_package_exist():
    """In the guide, in docstrings and in messages."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "src").rglob("*.py")]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for name in set(re.findall(r"(?<![\w./\"])mahalearn(?:\.[A-Za-z_]\w*)*\.[A-Z]\w*", text)):
            assert resolve_name(name), page


def test_equal_models_are_equal():
    gaussian = mahalearn.GaussianClassifier
    lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(X, Y)
    ours = gaussian(pooled=True, shrinkage="auto").fit(X, Y)
    np.testing.assert_allclose(ours.predict_proba(X), lda.predict_proba(X), atol=1e-8)
    for theirs, ours in (
        (QuadraticDiscriminantAnalysis(), gaussian()),
        (GaussianNB(), gaussian(covariance="diag")),
    ):
        np.testing.assert_array_equal(ours.fit(X, Y).predict(X), theirs.fit(X, Y).predict(X))


def test_shrinkage_is_not_reg_param():
    raw, y = load_wine(return_X_y=True)
    theirs = QuadraticDiscriminantAnalysis(reg_param=0.1).fit(raw, y).predict(raw)
    ours = mahalearn.GaussianClassifier(shrinkage=0.1).fit(raw, y).predict(raw)
    assert (theirs != ours).mean() > 0.4


def test_neighbours_and_searches_are_those_of_scikit_learn():
    theirs = KNeighborsClassifier(3, metric="precomputed").fit(D, Y)
    neighbors = mahalearn.KernelKNeighborsClassifier(3, kernel="precomputed")
    ours = make_pipeline(mahalearn.ProximityKernel(), neighbors).fit(D, Y)
    np.testing.assert_array_equal(ours.predict(D), theirs.predict(D))
    fisher = mahalearn.KernelFisherDiscriminant(standardize=False)
    grid = {"gamma": [0.01, 0.1], "reg": [0.01, 0.1]}
    scores = [
        search(fisher, grid, cv=3).fit(X, Y).cv_results_["mean_test_score"]
        for search in (GridSearchCV, mahalearn.KernelSearchCV)
    ]
    np.testing.assert_allclose(np.sort(scores[0]), np.sort(scores[1]), atol=1e-12)


def test_equal_scores_and_times_are_as_the_page_of_searches_says():
    page = words(measured.page("model_selection"))
    assert "among candidates with equal mean scores the first in the grid." in page
    assert "`cv_results_` has scikit-learn's layout." in page
    plain = mahalearn.KernelFisherDiscriminant(gamma=1e-9, standardize=False)
    for regs in ([0.01, 0.1], [0.1, 0.01]):
        search = mahalearn.KernelSearchCV(plain, {"reg": regs}, cv=3).fit(X, Y)
        scores = search.cv_results_["mean_test_score"]
        assert scores[0] == scores[1]
        assert search.best_params_ == {"reg": regs[0]}
        theirs = GridSearchCV(plain, {"reg": regs}, cv=3).fit(X, Y)
        assert set(search.cv_results_) == set(theirs.cv_results_)


def test_the_cheat_sheet_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pytest.importorskip("skops")
    few = np.flatnonzero(Y < 2)
    names = {"X": X[few, :4], "y": Y[few], "X_new": X[:5, :4], "D": D[np.ix_(few, few)]}
    frame = pd.DataFrame(names["X"], columns=list("abcd")).assign(y=names["y"])
    (tmp_path / "folder").mkdir()
    frame.to_parquet(tmp_path / "folder" / "part.parquet")
    blocks = re.findall(r"```python\n(.*?)```", measured.page("cheat_sheet"), re.DOTALL)
    assert len(blocks) > 7
    for block in blocks:
        exec(block.replace("landmarks=500", "landmarks=5"), names)
    assert (tmp_path / "model.skops").exists()
