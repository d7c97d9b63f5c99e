"""A matrix that grows block by block in a file, and goes on where it was interrupted.

While D.npy is being made there are D.npy.part, the matrix so far, and D.npy.json, the record: a
fingerprint of what is computed, and the numbers of the finished blocks. A block is recorded only
after its values were handed to the disk, and the record is replaced in one step, so that a process
killed at any moment leaves a record that is true. D.npy appears when it is complete; the record
stays beside it, and a second call with the same arguments returns the file as it is.
"""

import contextlib
import json
import os
import shutil
import time
from pathlib import Path

import numpy as np

# Writing the record after every block would cost more than quick blocks do.
CHECKPOINT_SECONDS = 1.0


class MatrixFile:
    """The matrix in the file `path`, of which `done` tells the finished blocks."""

    def __init__(self, path, shape, n_blocks, fingerprint):
        self.path = Path(path)
        if self.path.suffix != ".npy":
            raise ValueError(f"out must be the name of an .npy file; got {str(path)!r}.")
        if not self.path.parent.is_dir():
            raise ValueError(f"out={str(path)!r}: there is no folder {str(self.path.parent)!r}.")
        self.part = self.path.with_name(self.path.name + ".part")
        self.record = self.path.with_name(self.path.name + ".json")
        self.what = {"fingerprint": fingerprint, "shape": list(shape), "blocks": n_blocks}
        self.done = np.zeros(n_blocks, dtype=bool)
        self._read_record()
        self.complete = bool(self.done.all()) and self.path.exists()
        self.matrix = None if self.complete else self._open(shape)
        self._saved_at = time.monotonic()

    def _read_record(self):
        if not self.record.exists():
            if existing := [f.name for f in (self.path, self.part) if f.exists()]:
                raise ValueError(
                    f"{existing[0]} exists, but no record {self.record.name} of how it was made; "
                    "it is not overwritten. Delete it or choose another name."
                )
            return
        try:
            record = json.loads(self.record.read_text(encoding="utf-8"))
            same = {key: record[key] for key in self.what} == self.what
            done = record["done"]
        except (ValueError, KeyError, TypeError):
            raise ValueError(
                f"{self.record.name} is not a record of pairwise; choose another name for out."
            ) from None
        if not same:
            raise ValueError(
                f"{self.path.name} was begun with other objects, another measure or other options "
                f"(see {self.record.name}), so it cannot be continued with these. Choose another "
                f"name, or delete {self.path.name}*."
            )
        if self.path.exists() or self.part.exists():
            self.done[done] = True
        if self.path.exists() and not self.done.all():
            raise ValueError(
                f"{self.path.name} exists, but its record says it is not complete: something else "
                "wrote it. Choose another name, or delete it."
            )

    def _open(self, shape):
        if self.done.any():
            return np.lib.format.open_memmap(self.part, mode="r+")
        needed, free = 8 * shape[0] * shape[1], shutil.disk_usage(self.path.parent).free
        if needed > free:
            # A memory map on a full disk would not raise but kill the process.
            raise OSError(
                f"{self.path} needs {needed / 2**30:.1f} GiB, and {free / 2**30:.1f} GiB are free."
            )
        self._write_record()
        return np.lib.format.open_memmap(self.part, mode="w+", dtype=np.float64, shape=shape)

    def mark(self, block):
        """A block has been written; saves the state now and then."""
        self.done[block] = True
        if time.monotonic() - self._saved_at >= CHECKPOINT_SECONDS:
            self.save()

    def save(self):
        """Values to the disk first, then the record that vouches for them."""
        self.matrix.flush()
        self._write_record()
        self._saved_at = time.monotonic()

    def _write_record(self):
        new = self.record.with_name(self.record.name + ".new")
        with open(new, "w", encoding="utf-8") as file:
            json.dump({**self.what, "done": np.flatnonzero(self.done).tolist()}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self.record)

    @contextlib.contextmanager
    def writing(self):
        """Save on the way out, also after an error or an interrupt."""
        try:
            yield self.matrix
        finally:
            self.save()

    def result(self):
        """The complete matrix, read from the file as needed."""
        if not self.complete:
            self.matrix = None  # closes the map, which some systems want before renaming
            os.replace(self.part, self.path)
            self.complete = True
        return np.load(self.path, mmap_mode="r")
