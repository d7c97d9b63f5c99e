# For type checkers: the names of the table in __init__.py (tests/test_types.py compares them).

from .ensemble import MahalanobisClassifierCV
from .search import KernelSearchCV

__all__ = ["KernelSearchCV", "MahalanobisClassifierCV"]
