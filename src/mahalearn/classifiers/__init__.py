"""One family of classifiers per module."""
