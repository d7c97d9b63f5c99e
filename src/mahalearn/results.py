"""Files that are written whole or not at all, error rates of results, and versions behind them."""

import os
import platform
import secrets
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path


def write_text(path, text):
    """Replace a text file in one step, by way of a temporary file in the same folder.

    Parameters
    ----------
    path : str or path
        The file; its folder is made if absent.
    text : str
        What it shall hold.
    """
    write_bytes(path, bytes(text, "utf-8"))


def write_bytes(path, data):
    """Replace a file in one step, by way of a temporary file in the same folder.

    Parameters
    ----------
    path : str or path
        The file; its folder is made if absent.
    data : bytes
        What it shall hold.
    """
    write_files({path: data})


def write_files(files):
    """Replace several files, all of them or, if the disk is full, none.

    Parameters
    ----------
    files : dict
        Path -> bytes. Folders are made if absent.
    """
    temporaries = {}
    try:
        for path, data in files.items():
            path = Path(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            temporaries[path] = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
            # Not tempfile's: its files are for their owner alone, where these follow the umask.
            try:
                with open(temporaries[path], "xb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
            except OSError as error:
                error.filename = str(path)  # a full disk does not say which file it was
                raise
        for path, temporary in temporaries.items():
            os.replace(temporary, path)
    except BaseException:
        for temporary in temporaries.values():
            temporary.unlink(missing_ok=True)
        raise


LOCK = ".lock"


@contextmanager
def locked(folder):
    """Hold a folder for one run; a second run is refused until this one has ended.

    The lock is the system's: it ends with the process, however that ends.

    Parameters
    ----------
    folder : str or path
        The folder; it is made if absent, and removed again if nothing was written into it.
    """
    folder = Path(folder)
    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / LOCK
    with open(path, "a") as file:
        if not _lock(file):
            raise FileExistsError(
                f"Another run is writing into {str(folder)!r}; wait for it, or choose another "
                "folder."
            )
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
            if new:
                with suppress(OSError):  # not empty
                    folder.rmdir()


def _lock(file):
    """Lock the file; False if another process holds it, True where there are no locks."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def error_rates(y, predicted):
    """The two errors of a row: the share of wrong labels, and the mean of this share over classes.

    Parameters
    ----------
    y, predicted : array-like of shape (n,)
        True and predicted labels.

    Returns
    -------
    error, balanced_error : float
        Shares.

    Examples
    --------
    >>> from mahalearn.results import error_rates
    >>> error_rates(["a", "a", "a", "b"], ["a", "a", "b", "a"])
    (0.5, 0.6666666666666666)
    """
    import numpy as np

    wrong = np.asarray(y) != np.asarray(predicted)
    codes = np.unique(y, return_inverse=True)[1]
    return float(wrong.mean()), float(np.mean(np.bincount(codes, wrong) / np.bincount(codes)))


def versions():
    """Versions of what numbers and models depend on.

    Returns
    -------
    versions : dict
        Name -> version.
    """
    import numpy
    import scipy
    import sklearn

    return {
        "mahalearn": import_module(__package__).__version__,
        "scikit-learn": sklearn.__version__,
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
    }
