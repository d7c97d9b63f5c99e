"""Two quadratic discriminants of the literature beside those of the papers.

``MAHALEARN_DATA=… python -m benchmarks.related`` prints the table of ``docs/theorems.md``:
balanced errors on paper A's hold-outs of paper A's sets, parameters by ten-fold cross-validation
on the training part. QDA on kernel rows (Huang et al.) is GaussianClassifier on the rows of the
kernel matrix; two-stage kernel QDA (Wang et al.) is kernel PCA and a regularised quadratic
discriminant.
"""

import argparse

import numpy as np
from sklearn.metrics import balanced_accuracy_score
from sklearn.metrics.pairwise import rbf_kernel

from mahalearn import GaussianClassifier, KernelPCAQuadraticDiscriminant, KernelSearchCV
from mahalearn.papers.experiment import Draw, seed_of
from mahalearn.papers.holdouts import stratified_folds
from mahalearn.papers.paper_a import REAL_METHODS, real

SETS = ("Biomed", "Ecoli", "Glass", "Heart", "Imox", "Ionosphere", "Liver", "Sonar", "Wine")
SHRINKAGES = (0.01, 0.05, 0.2, 0.5, 0.9)
COMPARED = ("KQD-RC", "QD-RC", "KFD", "SVM")


def on_kernel_rows(trial, folds):
    """Predictions of QDA on kernel rows; γ and shrinkage by cross-validation."""
    priors = np.full(len(np.unique(trial.y)), 1 / len(np.unique(trial.y)))

    def predict(K, y, rows, shrinkage):
        return GaussianClassifier(shrinkage=shrinkage, priors=priors).fit(K, y).predict(rows)

    scores = {}
    for gamma in trial.kernel["gammas"]:
        K = rbf_kernel(trial.X, gamma=gamma)
        for shrinkage in SHRINKAGES:
            scores[gamma, shrinkage] = np.mean(
                [
                    balanced_accuracy_score(
                        trial.y[test],
                        predict(K[np.ix_(a, a)], trial.y[a], K[np.ix_(test, a)], shrinkage),
                    )
                    for a, test in folds
                ]
            )
    gamma, shrinkage = max(scores, key=scores.get)
    rows = rbf_kernel(trial.X_test, trial.X, gamma=gamma)
    return predict(rbf_kernel(trial.X, gamma=gamma), trial.y, rows, shrinkage)


def two_stage(trial, folds):
    """Predictions of kernel PCA and QDA; γ, components and regularisation by cross-validation."""
    grid = {
        "gamma": list(trial.kernel["gammas"]),
        "n_components": [0.8, 0.95, 0.99],
        "reg": list(np.geomspace(1e-6, 1, 7)),
    }
    model = KernelPCAQuadraticDiscriminant(standardize=False)
    search = KernelSearchCV(model, grid, cv=folds, scoring="balanced_accuracy")
    return search.fit(trial.X, trial.y).predict(trial.X_test)


def errors(name, repetitions):
    """{method: balanced errors in percent}."""
    by_method = {}
    for repetition in range(repetitions):
        seed = seed_of("A", name, repetition)
        trial = real(Draw(name, repetition, seed, ""))
        folds = stratified_folds(trial.y, seed)
        predictions = {"rows": on_kernel_rows(trial, folds), "two-stage": two_stage(trial, folds)}
        for method in REAL_METHODS:
            if method.name in COMPARED:
                predictions[method.name] = method.fit(trial, seed)[0].predict(trial.X_test)
        for method, labels in predictions.items():
            error = 100 * (1 - balanced_accuracy_score(trial.y_test, labels))
            by_method.setdefault(method, []).append(error)
    return by_method


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=10)
    repetitions = parser.parse_args().repetitions
    print("| set | QDA on kernel rows | two-stage KQDA | " + " | ".join(COMPARED) + " |")
    print("|" + "---|" * (3 + len(COMPARED)))
    for name in SETS:
        by_method = errors(name, repetitions)
        cells = [f"{np.mean(v):.1f} ({np.std(v, ddof=1):.1f})" for v in by_method.values()]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
