"""optuna: parameters by its sampler, scored by cross-validation."""

import optuna
from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score

from mahalearn import KernelQuadraticDiscriminant

X, y = load_wine(return_X_y=True)
optuna.logging.set_verbosity(optuna.logging.WARNING)


def accuracy(trial):
    reg = trial.suggest_float("reg", 1e-4, 1.0, log=True)
    variant = trial.suggest_categorical("variant", ["RC+", "IC+"])
    return cross_val_score(
        KernelQuadraticDiscriminant(variant, reg), X, y, cv=3
    ).mean()


study = optuna.create_study(
    direction="maximize", sampler=optuna.samplers.TPESampler(seed=0)
)
study.optimize(accuracy, n_trials=10)
assert study.best_value > 0.9
