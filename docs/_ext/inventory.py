"""Cross references to other projects from short lists of names that come with the sources."""

import zlib
from pathlib import Path

HEADER = "# Sphinx inventory version 2\n# Project: {0}\n# Version:\n"
HEADER += "# The remainder of this file is compressed using zlib.\n"


def compile_inventory(source, folder):
    """Write the inventory of a text file (role, name, address on each line); returns its path."""
    lines = [line for line in source.read_text(encoding="utf-8").splitlines() if line.strip()]
    entries = []
    for line in lines:
        role, name, address = line.split()
        entries.append(f"{name} {role} 1 {address} -\n")
    target = Path(folder) / f"{source.stem}.inv"
    target.parent.mkdir(parents=True, exist_ok=True)
    packed = zlib.compress("".join(entries).encode())
    target.write_bytes(HEADER.format(source.stem).encode() + packed)
    return str(target)
