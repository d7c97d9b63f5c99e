"""One progress bar for everything that takes long."""

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TypeVar

T = TypeVar("T")


@contextlib.contextmanager
def progress(
    show: object, total: int, description: str, completed: int = 0
) -> Iterator[Callable[..., None]]:
    """A function advance(steps=1) that moves the bar on, or does nothing where none is shown.

    Without rich there is no bar: a warning says so once, and nothing else changes.
    """
    try:
        if show:
            from rich import progress as rich_progress
    except ImportError:
        _say_once()
        show = False
    if not show:
        yield lambda steps=1: None
        return
    columns = (*rich_progress.Progress.get_default_columns(), rich_progress.MofNCompleteColumn())
    with rich_progress.Progress(*columns) as bar:
        task = bar.add_task(description, total=total, completed=completed)
        yield lambda steps=1: bar.advance(task, steps)


def with_bar(items: Iterable[T], total: int, description: str) -> Iterator[T]:
    """The items, a step of a bar for each of them."""
    with progress(True, total, description) as advance:
        for item in items:
            yield item
            advance()


@cache
def _say_once() -> None:
    warnings.warn(
        'No progress is shown without rich: pip install "mahalearn[progress]".',
        UserWarning,
        stacklevel=5,
    )
