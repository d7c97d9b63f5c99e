"""Classifiers compared on people's own data: nested cross-validation, statistics, the saved model.

:mod:`~mahalearn.app.comparing.methods` is the table of classifiers,
:mod:`~mahalearn.app.comparing.crossval` runs them,
:mod:`~mahalearn.app.comparing.statistics` compares their errors,
:mod:`~mahalearn.app.comparing.model` is what gets saved,
:mod:`~mahalearn.app.comparing.held_out` and :mod:`~mahalearn.app.comparing.explanations` look at
the winner, and
:mod:`~mahalearn.app.comparing.findings` turns it all into plain values for the report.
"""
