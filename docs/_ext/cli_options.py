"""The options of a command of the command line, as a table: ``{cli-options} compare``."""

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective


class CommandOptions(SphinxDirective):
    """A table of the options of one command, read from the command itself."""

    required_arguments = 1

    def run(self):
        """Parse the table as Markdown."""
        from typer.main import get_command

        from mahalearn.app.cli.app import app

        lines = ["| option | meaning |", "|---|---|"]
        for parameter in get_command(app).commands[self.arguments[0]].params:
            if parameter.opts[0].startswith("--"):
                text = (parameter.help or "").replace("|", r"\|").replace("<", r"\<")
                lines.append(f"| `{parameter.opts[0]}` | {text} |")
        holder = nodes.container()
        self.state.nested_parse(StringList(lines), self.content_offset, holder)
        return holder.children


def setup(app):
    """Register the directive."""
    app.add_directive("cli-options", CommandOptions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
