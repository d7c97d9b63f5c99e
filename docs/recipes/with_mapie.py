"""MAPIE: prediction sets of a fitted classifier, and their coverage."""

from mapie.classification import SplitConformalClassifier
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
model = GaussianClassifier(shrinkage="auto").fit(X_train, y_train)
sets = SplitConformalClassifier(model, confidence_level=0.9, prefit=True)
sets.conformalize(X_cal, y_cal)
labels, members = sets.predict_set(X_test)
covered = members[range(len(y_test)), y_test, 0].mean()
assert (labels == model.predict(X_test)).all()
assert 0.86 < covered <= 1
