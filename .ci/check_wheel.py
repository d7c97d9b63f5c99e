"""Install a wheel into fresh environments, without extras and with each, and use what it brings.

python .ci/check_wheel.py dist/mahalearn-*.whl [extra ...]
"""

import subprocess
import sys
import tempfile
import textwrap
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOR_DEVELOPERS = {"test", "docs", "release"}
LIMIT = 1_000_000

# The README's first example and what the package promises without any extra.
PLAIN = """
import mahalearn, re, subprocess, sys
from importlib.metadata import version
assert version("mahalearn") == mahalearn.__version__
for name in mahalearn.__all__:
    getattr(mahalearn, name)
from mahalearn import KernelQuadraticDiscriminant
names = ["Catherine", "Katharina", "Kathryn", "Caterina"]
names += ["Alexander", "Aleksandr", "Alessandro", "Alexandre"]
model = KernelQuadraticDiscriminant(kernel="edit")
found = model.fit(names, ["C"] * 4 + ["A"] * 4).predict(["Ekaterina", "Alejandro"]).tolist()
assert found == ["C", "A"], found
"""
NO_COMMAND_LINE = """
found = subprocess.run([sys.executable, "-m", "mahalearn"], capture_output=True, text=True)
assert "mahalearn[cli]" in found.stderr, found
"""
COMMAND_LINE = """
from pathlib import Path
def run(*words):
    command = [sys.executable, "-m", "mahalearn", *words]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout
assert mahalearn.__version__ in run("--version")
run("doctor")
from sklearn.datasets import load_iris
X, y = load_iris(return_X_y=True)
Path("iris.csv").write_text(
    "a,b,c,d,kind\\n" + "".join(f"{r[0]},{r[1]},{r[2]},{r[3]},k{k}\\n" for r, k in zip(X, y)))
run("train", "iris.csv", "--target", "kind", "--method", "kqd", "--out", "iris.skops")
run("predict", "iris.skops", "iris.csv", "--out", "found.csv")
assert len(Path("found.csv").read_text().splitlines()) == 151
run("compare", "iris.csv", "--target", "kind", "--methods", "lda,kqd", "--folds", "3",
    "--repeats", "1", "--out", "result")
assert "<html" in Path("result/report.html").read_text(encoding="utf-8")
"""
# What each extra brings; one line of Python that fails without it.
EXTRAS = {
    "measures": """
import numba, rapidfuzz
from mahalearn.measures import Elastic, pairwise
assert pairwise([[0, 0, 1, 2], [0, 1, 2]], "dtw")[0, 1] == 0
""",
    "bio": """
from mahalearn.measures import Alignment, pairwise
assert pairwise(["MENFQKVEKIG", "MEDYTKIEKIG"], Alignment())[0, 1] > 0
""",
    "transport": """
import numpy as np
from mahalearn.measures import Wasserstein
assert Wasserstein()(np.zeros((2, 2)), np.ones((3, 2))) > 1
""",
    "plot": """
import matplotlib
matplotlib.use("Agg")
from sklearn.datasets import load_iris
from mahalearn.display import SpectrumDisplay
SpectrumDisplay.from_estimator(KernelQuadraticDiscriminant().fit(*load_iris(return_X_y=True)))
""",
    "progress": """
from mahalearn.measures import pairwise
assert pairwise(names, "edit", progress=True).shape == (8, 8)
""",
    "distributed": """
import dask.array as da
from sklearn.datasets import load_iris
from mahalearn import GaussianClassifier
X, y = load_iris(return_X_y=True)
X, y = da.from_array(X, chunks=(50, 4)), da.from_array(y, chunks=50)
assert len(GaussianClassifier().fit(X, y).classes_) == 3
""",
}


def contents(wheel):
    """Refuse a wheel with files that are not of the package, or a large one."""
    size = wheel.stat().st_size
    folders = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert size < LIMIT, f"{wheel.name} has {size} bytes"
    assert all(name.startswith("mahalearn") for name in folders), folders
    print(f"{wheel.name}: {size / 1000:.0f} kB, {sorted(folders)}", flush=True)


def check(wheel, extra):
    """Install into a new environment and run the lines above outside the repository."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        venv.create(folder / "env", with_pip=True)
        scripts = folder / "env" / ("Scripts" if sys.platform == "win32" else "bin")
        python = scripts / "python"
        what = f"{wheel.resolve()}[{extra}]" if extra else str(wheel.resolve())
        subprocess.run([python, "-m", "pip", "install", "--quiet", what], check=True)
        has_command_line = extra in ("cli", "all")
        lines = PLAIN + (COMMAND_LINE if has_command_line else NO_COMMAND_LINE)
        lines += "".join(EXTRAS.values()) if extra == "all" else EXTRAS.get(extra, "")
        subprocess.run([python, "-c", textwrap.dedent(lines)], check=True, cwd=folder)
        print(f"works: mahalearn{f'[{extra}]' if extra else ''}", flush=True)


def main():
    """Check the wheel with the extras that are named, or with all."""
    wheel = Path(sys.argv[1])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = ["", *project["optional-dependencies"]]
    contents(wheel)
    for extra in sys.argv[2:] or [e for e in extras if e not in FOR_DEVELOPERS]:
        check(wheel, extra)


if __name__ == "__main__":
    main()
