"""Records of runs: command, commit and wall time, in one file beside the rows.

A run writes its entry when it starts and again after every few cells, so that a killed run counts
up to then. The processor time stands in the rows, cell by cell.
"""

import json
import subprocess
import time
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from ..results import write_text

FILE_NAME = "runs.json"
# Seconds between two writes.
PAUSE = 5.0


@cache
def commit():
    """The commit of the source that is running, with "+changes" if files differ; "" if unknown."""
    here = Path(__file__)

    def git(*words):
        done = subprocess.run(
            ["git", "-C", str(here.parent), *words], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    try:
        # An installed copy may lie within another project's repository.
        git("ls-files", "--error-unmatch", here.name)
        changed = git("status", "--porcelain", "--untracked-files=no", "--", str(here.parents[1]))
        return git("rev-parse", "--short=12", "HEAD") + ("+changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


class RunRecord:
    """The entry of a run in the file beside its rows."""

    def __init__(self, folder, command):
        self._path = Path(folder) / FILE_NAME
        self._earlier = read(folder)
        self._start = self._written = time.monotonic()
        self._entry = {
            "command": command,
            "commit": commit(),
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "wall_seconds": 0.0,
            "cells": 0,
        }
        self._write()

    def advance(self):
        """Count a finished cell."""
        self._entry["cells"] += 1
        if time.monotonic() > self._written + PAUSE:
            self._write()

    def close(self):
        """Write what the run took in the end."""
        self._write()

    def _write(self):
        self._written = time.monotonic()
        self._entry["wall_seconds"] = round(self._written - self._start, 1)
        write_text(self._path, json.dumps([*self._earlier, self._entry], indent=1) + "\n")


def read(folder):
    """Entries of the runs that made the rows of a folder, the oldest first; none if unknown."""
    try:
        entries = json.loads((Path(folder) / FILE_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [entry for entry in entries if isinstance(entry, dict)]


def sentence(runs, rows):
    """The runs in words: commands, wall and processor time, commits."""
    working = [run for run in runs if run.get("cells")]
    if not working:
        return ""
    commands = list(dict.fromkeys(run["command"] for run in working))
    commits = list(dict.fromkeys(run["commit"] for run in working if run.get("commit")))
    parts = [f"Made by: {'; '.join(commands)}"]
    if len(working) > 1:
        parts[0] += f" ({len(working)} runs)"
    wall = sum(run["wall_seconds"] for run in working)
    parts.append(
        f"Wall time {_hours(wall)}, processor time {_hours(sum(row.seconds for row in rows))}"
    )
    if commits:
        parts.append(f"Commit {', '.join(commits)}")
    return ". ".join(parts) + "."


def times(rows):
    """Processor time of every experiment, in words."""
    seconds = {}
    for row in rows:
        seconds[row.experiment] = seconds.get(row.experiment, 0.0) + row.seconds
    parts = [f"{name} {time / 60:.1f}" for name, time in seconds.items()]
    return (
        f"Processor time in minutes: {', '.join(parts)}; {sum(seconds.values()) / 60:.1f} in all."
    )


def _hours(seconds):
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{minutes} min"
