"""Measures of two objects, and the matrices of all pairs. Users import from mahalearn.proximity."""
