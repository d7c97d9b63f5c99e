"""Where the commands print."""

import rich.console

from ._common import visible


class Console(rich.console.Console):
    """A console that shows control characters of names in files, instead of obeying them."""

    def render_str(self, text, **options):
        """A text as rich renders it."""
        return super().render_str(visible(text), **options)
