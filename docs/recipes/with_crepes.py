"""crepes: p-values and prediction sets for a probabilistic classifier."""

from crepes import WrapClassifier
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from mahalearn import GaussianClassifier

X, y = load_digits(return_X_y=True)
X_train, X_rest, y_train, y_rest = train_test_split(
    X, y, test_size=0.6, random_state=0
)
X_cal, X_test, y_cal, y_test = train_test_split(
    X_rest, y_rest, test_size=0.5, random_state=0
)
model = WrapClassifier(GaussianClassifier(shrinkage="auto"))
model.fit(X_train, y_train)
model.calibrate(X_cal, y_cal)
members = model.predict_set(
    X_test, confidence=0.9
)  # the labels of each row's set
covered = [
    label in labels for label, labels in zip(y_test, members, strict=True)
]
assert sum(covered) > 0.86 * len(y_test)
