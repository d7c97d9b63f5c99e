"""Least squares on class targets ±1: Fisher's discriminant as a regression."""

import numpy as np

from .linalg import RANK_RTOL


def one_vs_all_least_squares(X, codes, n_classes):
    r"""Weights and constants of f_j(x) = w_jᵀx + b_j with the least Σ_i (f_j(x_i) − t_ij)².

    t_ij = +1 where object i is of class j, −1 elsewhere. X (n, p), codes (n,) in 0, …, c − 1.
    Returns W (p, c) and b (c,). Directions whose singular value is below the rank tolerance get no
    weight: of several solutions the one with the least ‖w_j‖.
    """
    targets = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
    mean, target_mean = X.mean(axis=0), targets.mean(axis=0)
    W = np.linalg.lstsq(X - mean, targets - target_mean, rcond=RANK_RTOL)[0]
    return W, target_mean - mean @ W


def pseudo_fisher(K, positive):
    """Coefficients a (n,) and b of f(x) = aᵀk_x + b, the least-norm fit of ±1 to the rows of K.

    Unlike `one_vs_all_least_squares` the constant counts in the norm: [K 1]⁺y, as DisTools does
    where a support vector machine on an indefinite kernel is not defined.
    """
    targets = np.where(positive, 1.0, -1.0)
    design = np.column_stack([K, np.ones(len(K))])
    solution = np.linalg.lstsq(design, targets, rcond=None)[0]
    return solution[:-1], solution[-1]
