"""Classifiers compared on people's own data: nested cross-validation, statistics, the saved model.

:mod:`~mahalearn.app.comparing.compare` is the entry.
:mod:`~mahalearn.app.comparing.methods` is the table of classifiers, and alone calls them,
:mod:`~mahalearn.app.comparing.plan` draws the folds,
:mod:`~mahalearn.app.comparing.crossval` runs the methods on them, a
:mod:`cell <mahalearn.app.comparing.cells>` at a time,
:mod:`~mahalearn.app.comparing.ranking` makes the leaderboard,
:mod:`~mahalearn.app.comparing.winner` fits the best one,
:mod:`~mahalearn.app.comparing.explanations` says why it decides so,
:mod:`~mahalearn.app.comparing.model` is what gets saved, and
:mod:`~mahalearn.app.comparing.findings` turns it all into plain values for the report.
"""
