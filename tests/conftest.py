"""Data that several tests share."""

import os
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def rng():
    """A generator with a fixed seed."""
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def data_folder():
    """The folder with the papers' data sets; tests that need it are skipped where there is none."""
    folder = os.environ.get("MAHALEARN_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("set MAHALEARN_DATA to the folder with the papers' data sets")
    return Path(folder)
