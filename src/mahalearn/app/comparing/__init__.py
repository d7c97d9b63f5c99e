"""Classifiers compared on people's own data: nested cross-validation, statistics, the saved model.

:mod:`~mahalearn.app.comparing.compare` is the entry.
:mod:`~mahalearn.app.comparing.methods` is the table of classifiers, and alone calls them,
:mod:`~mahalearn.app.comparing.crossval` runs them on the same folds and ranks them,
:mod:`~mahalearn.app.comparing.winner` fits the best one, measures and explains it,
:mod:`~mahalearn.app.comparing.model` is what gets saved, and
:mod:`~mahalearn.app.comparing.findings` turns it all into plain values for the report.
"""
