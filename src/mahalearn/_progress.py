"""One progress bar for everything that takes long."""

import contextlib


@contextlib.contextmanager
def progress(show, total, description, completed=0):
    """A function advance(steps=1) that moves the bar on, or does nothing where none is shown."""
    if not show:
        yield lambda steps=1: None
        return
    try:
        from rich import progress as rich_progress
    except ImportError:
        raise ImportError(
            'The progress bar needs rich: pip install "mahalearn[progress]".'
        ) from None
    columns = (*rich_progress.Progress.get_default_columns(), rich_progress.MofNCompleteColumn())
    with rich_progress.Progress(*columns) as bar:
        task = bar.add_task(description, total=total, completed=completed)
        yield lambda steps=1: bar.advance(task, steps)
