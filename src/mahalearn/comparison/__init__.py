"""Classifiers compared on people's own data: nested cross-validation, statistics, the saved model.

:mod:`~mahalearn.comparison.methods` is the table of classifiers,
:mod:`~mahalearn.comparison.crossval` runs them, :mod:`~mahalearn.comparison.statistics` compares
their errors, :mod:`~mahalearn.comparison.model` is what gets saved, and
:mod:`~mahalearn.comparison.findings` turns it all into plain values for the report.
"""
