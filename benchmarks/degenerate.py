"""Random degenerate problems: ``python -m benchmarks.degenerate --n 20000 --seed 0``.

Every problem is a random estimator with random options on random data of a kind that real data
sets have too: constant, duplicate and collinear columns, huge and tiny scales, classes of one
object, fewer objects than classes need, equal rows with different labels, matrices that are zero,
the identity, negative, nearly singular or symmetric only up to rounding, random dissimilarities,
strings. The outcome must be finite predictions or a ValueError of this library: no crash, no
number that is not finite, no message or warning of another package.

Results are added to a file (``--out``), one line a problem; a run that was interrupted goes on
where it was. About 20 minutes on one core for 20,000 problems.
"""

import argparse
import json
import sys
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import sklearn

import mahalearn
from mahalearn import (
    DissimilaritySpaceDiscriminant,
    GaussianClassifier,
    KernelFisherDiscriminant,
    KernelKNeighborsClassifier,
    KernelMahalanobisTransformer,
    KernelPCAQuadraticDiscriminant,
    KernelQuadraticDiscriminant,
    KernelSearchCV,
    MahalanobisClassifierCV,
    MahalanobisKernel,
    MahalanobisSVC,
    MeasureKernel,
    OneVsRestSVC,
    ProximityKernel,
    PseudoEuclideanEmbedding,
)

PACKAGE = str(Path(mahalearn.__file__).parent)
METHODS = (
    "predict",
    "decision_function",
    "predict_proba",
    "predict_log_proba",
    "mahalanobis",
    "transform",
)
# Sentences of scikit-learn about what its user chose: folds, iterations, labels.
KNOWN = (
    "cannot be greater than the number of members in each class",
    "The least populated class in y has only",
    "Solver terminated early",
)
FINE, REFUSED = "finite", "refused with a sentence"


def foreign(problem):
    """Whether an exception or a recorded warning comes from another package than this one.

    An exception is ours if it is a plain ValueError (or TypeError, MemoryError) raised by our code;
    a warning if its text is one of ours.
    """
    text = str(problem.message if isinstance(problem, warnings.WarningMessage) else problem)
    if any(known in text for known in KNOWN):
        return False
    if isinstance(problem, warnings.WarningMessage):
        numeric = issubclass(problem.category, (RuntimeWarning, np.exceptions.ComplexWarning))
        return (
            numeric
            or not issubclass(problem.category, UserWarning)
            or "sklearn" in str(problem.category.__module__)
        )
    if type(problem) not in (ValueError, MemoryError):
        return True
    frames = traceback.extract_tb(problem.__traceback__)
    return not frames[-1].filename.startswith(PACKAGE)


# --- data -----------------------------------------------------------------------------------------


def choose(rng, *values):
    """One of the values, as it is."""
    return values[rng.integers(len(values))]


def labels(rng, n):
    """Labels of n objects: balanced, unbalanced, with classes of one object."""
    c = int(rng.integers(2, min(5, n) + 1))
    match choose(rng, "balanced", "unbalanced", "single", "random"):
        case "balanced":
            y = np.arange(n) % c
        case "unbalanced":
            y = np.minimum(rng.geometric(0.6, size=n) - 1, c - 1)
        case "single":
            y = np.zeros(n, dtype=int)
            y[:c] = np.arange(c)
        case _:
            y = rng.integers(c, size=n)
    y[: min(2, n)] = [0, 1][: min(2, n)]
    names = choose(rng, np.arange(9), np.array(list("abcdefghi")), np.arange(9) - 4.0)
    return names[rng.permutation(y)]


def columns(rng, n):
    """A table with several defects at once."""
    d = int(choose(rng, 1, 2, 3, 5, 12, 40))
    X = rng.normal(size=(n, d))
    if rng.random() < 0.3:
        X = rng.integers(0, 3, size=(n, d)).astype(float)
    for defect in rng.choice(["constant", "duplicate", "collinear", "rows", "outlier"], 2):
        match defect:
            case "constant":
                X[:, rng.integers(d)] = rng.normal()
            case "duplicate":
                X[:, rng.integers(d)] = X[:, rng.integers(d)]
            case "collinear":
                X[:, rng.integers(d)] = X @ rng.normal(size=d)
            case "rows":
                X = X[rng.integers(max(1, n // 3), size=n)]
            case "outlier":
                X[rng.integers(n), rng.integers(d)] = 10.0 ** rng.integers(3, 12)
    match choose(rng, "none", "none", "all", "each", "offset", "zero"):
        case "all":
            X = X * 10.0 ** rng.integers(-160, 150)
        case "each":
            X = X * 10.0 ** rng.integers(-60, 60, size=d)
        case "offset":
            X = X + 10.0 ** rng.integers(0, 12)
        case "zero":
            X = np.zeros_like(X)
    return X


def matrix(rng, n):
    """A square symmetric matrix, at least up to rounding."""
    A = rng.normal(size=(n, int(choose(rng, 1, 2, 5, n))))
    match choose(
        rng, "zero", "identity", "constant", "negative", "singular", "gram", "distances", "random"
    ):
        case "zero":
            K = np.zeros((n, n))
        case "identity":
            K = np.eye(n)
        case "constant":
            K = np.full((n, n), rng.normal())
        case "negative":
            K = -(A @ A.T)
        case "singular":
            K = A @ A.T + 10.0 ** rng.integers(-18, -8) * np.eye(n)
        case "gram":
            K = A @ A.T
        case "distances":
            D = np.abs(A[:, None] - A[None]).sum(axis=2) if n < 60 else np.eye(n)
            K = -(D ** choose(rng, 0.5, 1.0, 1.5, 2.0, 3.0))
        case _:
            D = rng.uniform(size=(n, n))
            K = -((D + D.T) ** 2)
            np.fill_diagonal(K, 0)
    match choose(rng, "none", "none", "scaled", "rounded", "repeated"):
        case "scaled":
            K = K * 10.0 ** rng.integers(-280, 280)
        case "rounded":
            noise = rng.normal(size=(n, n))
            K = K + 1e-15 * np.abs(K).max() * noise
        case "repeated":
            rows = rng.integers(max(1, n // 2), size=n)
            K = K[np.ix_(rows, rows)]
    return K


def words(rng, n):
    """Short strings, some empty, many equal."""
    lengths = rng.integers(0, int(choose(rng, 1, 2, 6)) + 1, size=n)
    return ["".join(rng.choice(list("ab"), size=length)) for length in lengths]


# --- estimators -----------------------------------------------------------------------------------

VARIANTS = ("RC+", "RC-", "IC+", "IC-", "FK+", "FK-")
SPECTRA = ("krein", "ignore", "raise", "clip", "flip", "square", "shift")


def kernel_options(rng, kind):
    """Kernel, its parameters and the policy about its spectrum."""
    policy = {"spectrum": choose(rng, "krein", *SPECTRA)}
    if kind == "matrix":
        return {"kernel": "precomputed", **policy}
    if kind == "words":
        measure = choose(rng, "edit", MeasureKernel("edit"), MeasureKernel("edit", "neg"))
        return {"kernel": measure, **policy}
    kernel = choose(
        rng, "rbf", "rbf", "linear", "poly", "sigmoid", "laplacian", "cosine", MahalanobisKernel()
    )
    gamma = choose(rng, "scale", "scale", 10.0 ** rng.integers(-6, 7))
    policy["standardize"] = choose(rng, "auto", "auto", True, False)
    return {"kernel": kernel, "gamma": float(gamma) if gamma != "scale" else gamma, **policy}


def distance_options(rng):
    """Variant and regularisation of class-wise distances."""
    return {
        "variant": choose(rng, *VARIANTS),
        "reg": float(10.0 ** rng.integers(-10, 4)),
        "reg_on": choose(rng, "auto", "covariance", "kernel", "relative"),
    }


def without_krein(options):
    """The options as the support vector machine takes them."""
    return {**options, "spectrum": {"krein": "flip"}.get(options["spectrum"], options["spectrum"])}


def estimator(rng, kind, n, counts):
    """A random estimator that takes this kind of data."""
    folds = sklearn.model_selection.StratifiedKFold(2, shuffle=True, random_state=0)
    cv = folds if counts.min() > 1 else sklearn.model_selection.KFold(2)
    reg = float(10.0 ** rng.integers(-10, 4))
    names = [
        "quadratic",
        "quadratic",
        "transformer",
        "dissimilarity",
        "fisher",
        "pca",
        "neighbours",
        "svm",
        "embedding",
        "quadratic search",
        "dissimilarity search",
        "fisher search",
        "pca search",
        "neighbours search",
        "svm search",
    ]
    if kind == "columns":
        names += ["gaussian", "gaussian", "gaussian", "mahalanobis svm", "mahalanobis search"]
    if kind == "matrix":
        names += ["proximity"]
    if rng.random() < 0.003:
        names = ["chooser"]
    match choose(rng, *names):
        case "quadratic":
            offset = choose(rng, "error", "error", "loo", "map", None)
            return KernelQuadraticDiscriminant(
                **distance_options(rng), **kernel_options(rng, kind), offset=offset
            )
        case "transformer":
            return KernelMahalanobisTransformer(
                **distance_options(rng), **kernel_options(rng, kind)
            )
        case "dissimilarity":
            return DissimilaritySpaceDiscriminant(
                choose(rng, "fisher", "quadratic"),
                **distance_options(rng),
                **kernel_options(rng, kind),
                cv=2 if rng.random() < 0.2 else None,
                random_state=0,
            )
        case "fisher":
            return KernelFisherDiscriminant(reg, **kernel_options(rng, kind))
        case "pca":
            components = choose(rng, 0.8, 0.99, 1, 2, None)
            return KernelPCAQuadraticDiscriminant(components, reg, **kernel_options(rng, kind))
        case "neighbours":
            return KernelKNeighborsClassifier(
                int(rng.integers(1, min(4, n) + 1)),
                weights=choose(rng, "uniform", "distance"),
                **kernel_options(rng, kind),
            )
        case "svm":
            return OneVsRestSVC(max_iter=500, **without_krein(kernel_options(rng, kind)))
        case "embedding":
            return PseudoEuclideanEmbedding(choose(rng, None, 1, 0.9), **kernel_options(rng, kind))
        case "quadratic search":
            plain = KernelQuadraticDiscriminant(
                choose(rng, *VARIANTS),
                offset=choose(rng, "error", None),
                **kernel_options(rng, kind),
            )
            return KernelSearchCV(plain, {"reg": [reg, 0.1]}, cv=cv)
        case "dissimilarity search":
            plain = DissimilaritySpaceDiscriminant(
                choose(rng, "fisher", "quadratic"),
                choose(rng, *VARIANTS),
                **kernel_options(rng, kind),
            )
            return KernelSearchCV(plain, {"reg": [reg]}, cv=cv)
        case "fisher search":
            plain = KernelFisherDiscriminant(**kernel_options(rng, kind))
            return KernelSearchCV(plain, {"reg": [reg, 1.0]}, cv=cv)
        case "pca search":
            plain = KernelPCAQuadraticDiscriminant(**kernel_options(rng, kind))
            return KernelSearchCV(plain, {"reg": [reg, 0.1]}, cv=cv)
        case "neighbours search":
            plain = KernelKNeighborsClassifier(**kernel_options(rng, kind))
            return KernelSearchCV(plain, {"n_neighbors": [1]}, cv=cv)
        case "svm search":
            plain = OneVsRestSVC(max_iter=500, **without_krein(kernel_options(rng, kind)))
            return KernelSearchCV(plain, {"C": [1.0, 10.0]}, cv=cv)
        case "gaussian":
            return GaussianClassifier(
                choose(rng, "full", "diag", "spherical"),
                pooled=bool(rng.random() < 0.5),
                feature_weights=choose(rng, None, None, "descent", "difference"),
                shrinkage=choose(rng, None, None, "auto", 0.3),
            )
        case "mahalanobis svm":
            return MahalanobisSVC(
                covariance=choose(rng, "diag", "full"),
                covariance_from=choose(rng, "pair", "all"),
                max_iter=500,
            )
        case "mahalanobis search":
            return KernelSearchCV(
                MahalanobisSVC(max_iter=500), {"C": [1.0], "delta": [0.5, 1.0]}, cv=cv
            )
        case "proximity":
            return ProximityKernel(
                choose(rng, "neg_squared", "neg", "rbf", "similarity"), choose(rng, "mean", None)
            )
        case "chooser":
            by_name = {"columns": "auto", "matrix": "precomputed", "words": "edit"}
            return MahalanobisClassifierCV(
                ("kernel_fisher", "dissimilarity_space"), kernel=by_name[kind], cv=2, random_state=0
            )
    raise AssertionError("an estimator without a maker")


def problem(seed, index):
    """(description, estimator, X, y, queries) of one problem; the same for the same numbers."""
    rng = np.random.default_rng([seed, index])
    n = int(choose(rng, 2, 3, 4, 6, 10, 20))
    kind = choose(rng, "columns", "columns", "matrix", "matrix", "words")
    y = labels(rng, n)
    counts = np.unique(y, return_counts=True)[1]
    X = {"columns": columns, "matrix": matrix, "words": words}[kind](rng, n)
    if rng.random() < 0.2 and kind == "columns":
        X[1] = X[0]  # equal rows with different labels, perhaps
    model = estimator(rng, kind, n, counts)
    return f"{kind} n={n} {model!r}", model, X, y, X


def outcome(seed, index):
    """(kind of outcome, what happened) of one problem."""
    described, model, X, y, queries = problem(seed, index)
    described = " ".join(described.split())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(X, y)
            for method in METHODS:
                if hasattr(model, method):
                    values = np.asarray(getattr(model, method)(queries))
                    if _not_a_number(values, method):
                        return "not finite", f"{method}: {described}"
        except Exception as error:
            said = f"{type(error).__name__}: {error}"[:160]
            if not foreign(error):
                return REFUSED, f"{said}"
            where = traceback.extract_tb(error.__traceback__)[-1]
            kind = "foreign message" if isinstance(error, ValueError) else "crash"
            place = f"{Path(where.filename).name}:{where.lineno}"
            return kind, f"{said} ({place}): {described}"
    for warning in caught:
        if foreign(warning):
            text = " ".join(str(warning.message).split())[:120]
            place = f"{Path(warning.filename).name}:{warning.lineno}"
            return "foreign warning", f"{warning.category.__name__}: {text} ({place}): {described}"
    return FINE, ""


def _not_a_number(values, method):
    if values.dtype.kind != "f":
        return False
    if "log_proba" in method:  # a probability may underflow to 0
        return bool(np.isnan(values).any() or ((values > 0).any() and not np.allclose(values, 0)))
    return not np.isfinite(values).all()


def run(indices, seed, report=None):
    """Outcomes {index: (kind, what)} of the problems; report(index, kind, what) after each."""
    outcomes = {}
    for index in indices:
        outcomes[index] = outcome(seed, index)
        if report is not None:
            report(index, *outcomes[index])
    return outcomes


def table(outcomes):
    """Lines that count the outcomes and show what is behind those that must not be."""
    counts = Counter(kind for kind, _ in outcomes.values())
    lines = [f"{'outcome':<26}{'problems':>9}{'share':>9}"]
    for kind, count in counts.most_common():
        lines.append(f"{kind:<26}{count:>9}{count / len(outcomes):>9.2%}")
    bad = [(i, *result) for i, result in outcomes.items() if result[0] not in (FINE, REFUSED)]
    causes = Counter((kind, what.partition("): ")[0]) for _, kind, what in bad)
    for (kind, cause), count in causes.most_common(25):
        first = next(i for i, k, what in bad if (k, what.partition("): ")[0]) == (kind, cause))
        lines.append(f"  {count:>6} × {kind}: {cause[:150]} (first: problem {first})")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=20_000, help="number of problems")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=None, help="file of results, to go on with")
    parser.add_argument("--show", type=int, default=None, help="run this problem alone, in full")
    args = parser.parse_args()
    if args.show is not None:
        described, model, X, y, queries = problem(args.seed, args.show)
        print(described, "\n", X, "\n", y)
        model.fit(X, y)
        for method in METHODS:
            if hasattr(model, method):
                print(method, getattr(model, method)(queries))
        return
    done = {}
    if args.out is not None and args.out.exists():
        for line in args.out.read_text().splitlines():
            row = json.loads(line)
            if row["seed"] == args.seed and row["index"] < args.n:
                done[row["index"]] = (row["outcome"], row["what"])
        print(f"{len(done)} problems are in {args.out}")
    todo = [index for index in range(args.n) if index not in done]

    def report(index, kind, what):
        if args.out is not None:
            row = {"seed": args.seed, "index": index, "outcome": kind, "what": what}
            with args.out.open("a") as file:
                file.write(json.dumps(row) + "\n")
        if sys.stderr.isatty() and index % 100 == 0:
            print(f"\r{index} of {args.n}", end="", file=sys.stderr)

    outcomes = done | run(todo, args.seed, report)
    print("\n".join(table(outcomes)))
    sys.exit(any(kind not in (FINE, REFUSED) for kind, _ in outcomes.values()))


if __name__ == "__main__":
    main()
