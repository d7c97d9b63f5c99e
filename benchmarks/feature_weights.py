"""Paper D's future work: feature weights on real data, and after linear discriminant analysis.

``python -m benchmarks.feature_weights`` prints the table of ``docs/benchmarks_defaults.md``:
accuracies in percent, mean of ten hold-outs of half the rows, of the Gaussian classifier with
independent features, plain and weighted, on clean and disturbed test rows. Disturbances are those
of the paper on standardised features: normal noise, or values set to 0, on a third of the features
of each row, or on all. "LDA" computes the linear discriminants of the training rows first.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

from mahalearn import GaussianClassifier
from mahalearn.datasets import add_noise, drop_features, load

WEIGHTS = (None, "descent", "difference", "trimmed")
SETS = ("mfeat-fac", "mfeat-fou", "digits", "wine", "imox", "glass", "ecoli", "ionosphere")
SHARE = 1 / 3


def read(name):
    """Features and classes."""
    if name == "digits":
        return load_digits(return_X_y=True)
    data = load(name)
    return data.data, data.target


def disturbances(X, rng):
    """Name -> disturbed rows."""
    some = max(1, round(SHARE * X.shape[1]))
    yield "clean", X
    yield "noise 10, a third", add_noise(X, 10.0, some, random_state=rng)
    yield "noise 1, all", add_noise(X, 1.0, random_state=rng)
    yield "0, a third", drop_features(X, some, random_state=rng)


def accuracies(name, repetitions):
    """{(LDA, disturbance, weights): accuracies in percent}."""
    X, y = read(name)
    scores = {}
    splits = StratifiedShuffleSplit(repetitions, train_size=0.5, random_state=0).split(X, y)
    for seed, (train, test) in enumerate(splits):
        scale = StandardScaler().fit(X[train])
        A, B = scale.transform(X[train]), scale.transform(X[test])
        lda = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(A, y[train])
        for reduced in (False, True):
            if reduced and len(lda.classes_) < 4:
                continue  # one or two discriminants: nothing to weigh
            rows = lda.transform(A) if reduced else A
            models = [
                GaussianClassifier("diag", pooled=True, feature_weights=w).fit(rows, y[train])
                for w in WEIGHTS
            ]
            for condition, disturbed in disturbances(B, np.random.default_rng(seed)):
                queries = lda.transform(disturbed) if reduced else disturbed
                for w, model in zip(WEIGHTS, models):
                    key = (reduced, condition, str(w))
                    scores.setdefault(key, []).append(100 * model.score(queries, y[test]))
    return scores


def main(repetitions=10):
    """Print the table."""
    print("| set | test rows | none | descent | difference | trimmed |\n|---|---|---|---|---|---|")
    leads = {}
    for name in SETS:
        scores = accuracies(name, repetitions)
        for reduced, condition in dict.fromkeys(key[:2] for key in scores):
            means = [np.mean(scores[reduced, condition, str(w)]) for w in WEIGHTS]
            cells = " | ".join(f"{mean:.1f}" for mean in means)
            print(f"| {name}{', LDA' * reduced} | {condition} | {cells} |")
            leads.setdefault((reduced, condition), []).append(np.array(means[1:]) - means[0])
    print()
    for (reduced, condition), rows in leads.items():
        mean = ", ".join(f"{w} {v:+.1f}" for w, v in zip(WEIGHTS[1:], np.mean(rows, axis=0)))
        print(f"{'after LDA' if reduced else 'features'}, {condition}: {mean} ({len(rows)} sets)")


if __name__ == "__main__":
    main()
