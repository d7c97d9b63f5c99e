"""Public names that are imported on first use, so that importing a package costs nothing."""

import warnings
from collections.abc import Callable
from importlib import import_module

ROOT = __name__.partition(".")[0]


def lazy(
    package: str, homes: dict[str, str], moved: dict[str, str] | None = None
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    package: its name; homes: {public name: module that defines it, from the root of mahalearn};
    moved: {name of version 0.1: its public address now, from the root}, which warns.
    """

    def get(name: str) -> object:
        if name in homes:
            return getattr(import_module(f"{ROOT}.{homes[name]}"), name)
        if moved and name in moved:
            address = f"{ROOT}.{moved[name]}"
            warnings.warn(
                f"{package}.{name} is deprecated since version 0.2 and will be removed in 0.4; use "
                f"{address}.",
                FutureWarning,
                stacklevel=2,
            )
            home, _, now = address.rpartition(".")
            return getattr(import_module(home), now)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, lambda: sorted(homes), sorted(homes)
