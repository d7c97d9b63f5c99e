"""Public names that are imported on first use, so that importing a package costs nothing."""

from collections.abc import Callable
from importlib import import_module

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
