"""Classifiers compared on people's own data: nested cross-validation, statistics, the saved model.

:mod:`~mahalearn.app.comparing.methods` is the table of classifiers,
:mod:`~mahalearn.app.comparing.crossval` runs them and compares their errors,
:mod:`~mahalearn.app.comparing.model` fits the winner and is what gets saved,
:mod:`~mahalearn.app.comparing.explanations` looks at the winner, and
:mod:`~mahalearn.app.comparing.findings` turns it all into plain values for the report.
"""
