"""What is imported on first use: public names, and the libraries of the extras."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

ROOT = __name__.partition(".")[0]


def lazy(
    package: str, homes: dict[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    package: its name; homes: {public name: module that defines it, from the root of mahalearn}.
    """

    def get(name: str) -> object:
        if name in homes:
            return getattr(import_module(f"{ROOT}.{homes[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, lambda: sorted(homes), sorted(homes)


def extra_module(module: str, purpose: str, extra: str) -> Any:
    """A module of an extra; where it is absent, an error that names its purpose and the extra."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f'{purpose}: pip install "{ROOT}[{extra}]".') from error
