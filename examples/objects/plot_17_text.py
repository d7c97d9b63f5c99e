"""
Text: which words decide the class
==================================

A vectoriser turns texts into sparse rows with a column for each word. Kernel classifiers
accept sparse rows; only blocks within ``working_memory`` become dense. The texts here are lines of
the descriptions that come with scikit-learn's data sets; the class is the data set.

Guide: :doc:`/text`.
"""

import textwrap

import matplotlib.pyplot as plt
import numpy as np
from sklearn import datasets
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from mahalearn import KernelRidgeClassifier, KernelSearchCV

loaders = {
    "wine": datasets.load_wine,
    "breast cancer": datasets.load_breast_cancer,
    "diabetes": datasets.load_diabetes,
    "digits": datasets.load_digits,
    "iris": datasets.load_iris,
}
texts, y = [], []
for name, load in loaders.items():
    lines = [
        line for line in load().DESCR.splitlines() if len(line.split()) > 3
    ]
    texts += lines
    y += [name] * len(lines)
train, test, y_train, y_test = train_test_split(
    texts, y, stratify=y, random_state=0
)
print(f"{len(train)} lines for training, {len(test)} to test")

# %%
# A pipeline is searched as a whole: in each fold the vectoriser sees the training lines alone.
model = make_pipeline(
    TfidfVectorizer(sublinear_tf=True), KernelRidgeClassifier(kernel="linear")
)
search = KernelSearchCV(
    model, {"kernelridgeclassifier__reg": [1e-4, 1e-3, 1e-2]}
)
search.fit(train, y_train)
linear = make_pipeline(TfidfVectorizer(sublinear_tf=True), LinearSVC()).fit(
    train, y_train
)
print(
    f"kernel ridge {search.score(test, y_test):.2f}, LinearSVC {linear.score(test, y_test):.2f}"
)

# %%
# Which words decide? The contributions of the columns add up to the margin between the two best
# classes. This is the longest of the test lines whose class is predicted with at least 80 %.
sure = search.predict_proba(test).max(axis=1) >= 0.8
line = max(np.array(test)[sure], key=lambda text: len(text.split()))
explanation = search.explain([line])[0]
words = search.best_estimator_[0].get_feature_names_out()
terms = {
    words[int(c[1:])]: value
    for c, value in explanation["contributions"].items()
}
terms = dict(sorted(terms.items(), key=lambda item: item[1]))
fig, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
colors = ["#3b6ea5" if value > 0 else "#c8553d" for value in terms.values()]
ax.barh(list(terms), list(terms.values()), color=colors)
ax.set(
    xlabel=f"contribution to {explanation['label']} rather than {explanation['second']}",
    title=textwrap.fill(line.strip(" -"), 60),
)
plt.show()
