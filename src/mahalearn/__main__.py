"""``python -m mahalearn`` and the console script."""

import sys


def main():
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal or pipe of another encoding shows ? where it lacks a letter.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        from .app.cli.app import app
    except ImportError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit('The command line needs typer and rich: pip install "mahalearn[cli]".')
    app()


if __name__ == "__main__":
    main()
