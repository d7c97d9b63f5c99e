"""Time of ONNX graphs relative to `decision_function`: ``python -m benchmarks.onnx``.

Digits, every second row for training; the others four times, and one row alone. CPU time of one
thread, the best of several runs, candidates in turns. Goal: at most 1.
"""

import numpy as np
import onnxruntime
from sklearn.datasets import load_digits

from mahalearn import (
    GaussianClassifier,
    KernelFisherDiscriminant,
    KernelPCAQuadraticDiscriminant,
    KernelQuadraticDiscriminant,
    KernelRidgeClassifier,
    MahalanobisNovelty,
    MahalanobisSVC,
    OneVsRestSVC,
    to_onnx,
)

from .timing import compare, print_machine

ESTIMATORS = {
    "GaussianClassifier": GaussianClassifier(),
    "KernelQuadraticDiscriminant": KernelQuadraticDiscriminant(),
    "KernelQuadraticDiscriminant, 200 landmarks": KernelQuadraticDiscriminant(
        landmarks=200, random_state=0
    ),
    "KernelFisherDiscriminant, 200 landmarks": KernelFisherDiscriminant(
        landmarks=200, random_state=0
    ),
    "KernelPCAQuadraticDiscriminant": KernelPCAQuadraticDiscriminant(),
    "KernelRidgeClassifier": KernelRidgeClassifier(),
    "KernelRidgeClassifier, laplacian": KernelRidgeClassifier(kernel="laplacian"),
    "KernelRidgeClassifier, chi2": KernelRidgeClassifier(kernel="chi2"),
    "OneVsRestSVC": OneVsRestSVC(),
    "MahalanobisSVC": MahalanobisSVC(),
    "MahalanobisNovelty": MahalanobisNovelty(),
}


def session_of(estimator):
    """The graph of an estimator in onnxruntime, on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        to_onnx(estimator).SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def main():
    print_machine()
    X, y = load_digits(return_X_y=True)
    many = np.repeat(X[1::2], 4, axis=0)
    for rows, repeats in ((many, 3), (many[:1], 30)):
        print(f"\n{len(rows)} rows: onnxruntime / decision_function")
        for name, estimator in ESTIMATORS.items():
            estimator.fit(X[::2], y[::2])
            session = session_of(estimator)
            detector = isinstance(estimator, MahalanobisNovelty)
            ours = estimator.mahalanobis if detector else estimator.decision_function
            times = compare(
                {
                    "ours": lambda rows=rows, ours=ours: ours(rows),
                    "onnx": lambda rows=rows, session=session: session.run(None, {"X": rows}),
                },
                repeats=repeats,
            )
            print(f"  {name:<44}{times['onnx'] / times['ours']:>7.2f}")


if __name__ == "__main__":
    main()
