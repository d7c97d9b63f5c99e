"""``python -m mahalearn`` and the console script."""

import sys


def main():
    """Run the command line."""
    try:
        from .app.cli.app import app
    except ImportError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit('The command line needs typer and rich: pip install "mahalearn[cli]".')
    app()


if __name__ == "__main__":
    main()
