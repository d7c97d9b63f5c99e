"""imbalanced-learn: oversample a rare class before a classifier."""

from imblearn.over_sampling import SMOTE
from imblearn.pipeline import make_pipeline
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score

from mahalearn import KernelFisherDiscriminant

X, y = make_classification(
    600, 8, n_informative=4, weights=[0.93], random_state=0
)
model = make_pipeline(
    SMOTE(random_state=0), KernelFisherDiscriminant(reg=0.1)
)
model.fit(X[::2], y[::2])
assert balanced_accuracy_score(y[1::2], model.predict(X[1::2])) > 0.7
