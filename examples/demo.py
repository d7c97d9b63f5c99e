"""Compare the classifiers on a data set that scikit-learn ships: `make demo`.

Each classifier's parameters are chosen by cross-validation within the training part of each split;
the errors are those of the parts that were held out.
"""

import warnings

import numpy as np
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from mahalearn import KernelQuadraticDiscriminant


def candidates():
    """Name → classifier, grid."""
    gammas, regs = [0.003, 0.01, 0.03, 0.1], [1e-3, 1e-2, 0.1, 1.0]
    for variant in ("RC+", "FK+", "IC-"):
        model = KernelQuadraticDiscriminant(variant)
        yield f"kernel quadratic {variant}", model, {"gamma": gammas, "reg": regs}
    yield "SVC (RBF)", SVC(), {"gamma": gammas, "C": [0.1, 1, 10, 100]}
    yield "k nearest neighbours", KNeighborsClassifier(), {"n_neighbors": [1, 3, 5, 9, 15]}
    yield "QDA", QuadraticDiscriminantAnalysis(), {"reg_param": [0.0, 0.1, 0.5]}


def main():
    X, y = load_wine(return_X_y=True)
    splits = list(RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0).split(X, y))
    print(f"wine: {len(X)} objects, {X.shape[1]} features, {len(set(y))} classes")
    print(f"balanced error in %, {len(splits)} held-out parts, parameters chosen inside each\n")
    print(f"{'':<24}{'mean':>7}{'std':>7}")
    for name, model, grid in candidates():
        errors = []
        for train, test in splits:
            search = make_pipeline(StandardScaler(), GridSearchCV(model, grid, cv=3))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                search.fit(X[train], y[train])
            errors.append(1 - balanced_accuracy_score(y[test], search.predict(X[test])))
        print(f"{name:<24}{100 * np.mean(errors):>7.1f}{100 * np.std(errors):>7.1f}")


if __name__ == "__main__":
    main()
