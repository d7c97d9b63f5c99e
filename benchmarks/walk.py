"""How far a reader has to walk: modules and module-to-module calls of journeys, code lines.

`python -m benchmarks.walk`, or with another version of the package first on the path
`PYTHONPATH=<other>/src python benchmarks/walk.py`. Each journey runs twice: the first run imports
what is needed, the second is watched. A module counts if one of its functions runs; a call arrow
goes from the module of the nearest caller within the package to another module of it, whatever
scikit-learn or joblib stand between. Calls in other processes are not seen, so there are none.
"""

import ast
import contextlib
import io
import sys
import tempfile
import tokenize
from pathlib import Path

import mahalearn

ROOT = Path(mahalearn.__file__).parent
# The floor of the library, by the names of either layout.
LIBRARY = (
    *("formulas", "measures", "kernels", "kernels.py", "training", "classifiers"),
    *("model_selection", "novelty", "onnx", "proximity", "datasets"),
    *("display.py", "persistence.py", "results.py", "distributed.py", "table_encoder.py"),
)


class Walk:
    """The modules of the package that run, and the calls between them."""

    def __init__(self):
        self.modules, self.arrows = set(), set()

    def __call__(self, frame, event, _):
        """For sys.setprofile."""
        if event != "call":
            return
        own = module_of(frame)
        if own is None:
            return
        self.modules.add(own)
        caller = frame.f_back
        while caller is not None and module_of(caller) is None:
            caller = caller.f_back
        if caller is not None and module_of(caller) != own:
            self.arrows.add((module_of(caller), own))


_NAMES = {}


def module_of(frame):
    """Module of a frame within the package, None for others and for code of an import."""
    code = frame.f_code
    if code not in _NAMES:
        path = Path(code.co_filename)
        inside = path.is_relative_to(ROOT) and code.co_name != "<module>"
        _NAMES[code] = str(path.relative_to(ROOT).with_suffix("")) if inside else None
    return _NAMES[code]


def watched(journey):
    """The walk of a journey's second run."""
    journey()
    walk = Walk()
    sys.setprofile(walk)
    try:
        journey()
    finally:
        sys.setprofile(None)
    return walk


def search_and_predict():
    """X, y -> KernelSearchCV -> predict."""
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    mahalearn.KernelSearchCV(mahalearn.KernelQuadraticDiscriminant(), cv=3).fit(X, y).predict(X)


def search_at_landmarks():
    """The same at landmarks."""
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    model = mahalearn.KernelQuadraticDiscriminant(landmarks=20, random_state=0)
    mahalearn.KernelSearchCV(model, cv=3).fit(X, y).predict(X)


def print_search(journey, walk, goal):
    """Modules of a search, and the pairs of them that call each other."""
    walked = sorted(walk.modules - {"__init__", "_lazy"})  # finding the name is no step of the walk
    pairs = sorted((a, b) for a, b in walk.arrows if a < b and (b, a) in walk.arrows)
    print(f"\n{journey.__doc__} {len(walked)} modules ({goal})")
    print("  " + ", ".join(walked))
    print("  both ways: " + "; ".join(f"{a} and {b}" for a, b in pairs))


# Methods that both versions have, under the same names.
COMMON = "lda,qda,gaussian,svm,kqd,kfd,fd,qd"


def compare_a_table(methods=None):
    """`mahalearn compare` on a small CSV file, as the command line runs it."""
    from sklearn.datasets import load_iris

    from mahalearn.__main__ import main

    X, y = load_iris(return_X_y=True)
    rows = [",".join([*map(str, row), f"kind{label}"]) for row, label in zip(X[::3], y[::3])]
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "flowers.csv"
        table.write_text("\n".join(["a,b,c,d,species", *rows]) + "\n")
        options = ["--target", "species", "--out", str(Path(folder) / "out")]
        options += ["--folds", "2", "--repeats", "1", "--jobs", "1"]
        options += ["--methods", methods] if methods else []
        given, sys.argv = sys.argv, ["mahalearn", "compare", str(table), *options]
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
                main()
        finally:
            sys.argv = given


def statements(path):
    """The code with a statement a line, without docstrings, comments and annotations.

    Annotations spread signatures over more lines; written anew, the layout makes no difference.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)) and docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
                arg.annotation = None
    return [line for line in ast.unparse(tree).splitlines() if line.strip()]


def docstring(node):
    """The docstring of a module, class or function as a statement, None where it has none."""
    first = node.body[0] if node.body else None
    text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return first if text else None


def written_lines(path):
    """Lines of the file that hold code, as they are: no docstrings, comments or blank lines."""
    text = path.read_text(encoding="utf-8")
    tree, docstrings = ast.parse(text), set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)) and docstring(node):
            docstrings.update(range(docstring(node).lineno, docstring(node).end_lineno + 1))
    skip = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (*skip, tokenize.ENDMARKER):
            lines.update(range(token.start[0], token.end[0] + 1))
    return lines - docstrings


def library_files():
    """(part of the library floor, file) of all its files."""
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).parts
        private = len(parts) == 1 and parts[0].startswith("_") and not parts[0].startswith("__")
        # The reference of paper B stood in model_selection.
        if (private or parts[0] in LIBRARY) and path.stem not in ("rbf_reference", "_words"):
            yield "_*.py" if private else parts[0].removesuffix(".py"), path


def main():
    """Print the figures."""
    print(f"mahalearn {mahalearn.__version__}")
    print_search(search_and_predict, watched(search_and_predict), "goal: 12")
    print_search(search_at_landmarks, watched(search_at_landmarks), "goal: three more")
    walk = watched(compare_a_table)
    print(f"\n{compare_a_table.__doc__} {len(walk.arrows)} call arrows between ", end="")
    print(f"{len(walk.modules)} modules")
    for methods in ("kqd", COMMON):
        walk = watched(lambda methods=methods: compare_a_table(methods))
        print(f"  --methods {methods}: {len(walk.arrows)} between {len(walk.modules)}")
    print("\nLibrary floor: lines of code as written, and with a statement a line")
    table = {}
    for part, path in library_files():
        written, written_anew = table.get(part, (0, 0))
        table[part] = written + len(written_lines(path)), written_anew + len(statements(path))
    for part, counts in {**table, "all": totals(table.values())}.items():
        print(f"  {part:<18}{counts[0]:>7}{counts[1]:>7}")


def totals(pairs):
    """Sums of the two columns."""
    return tuple(map(sum, zip(*pairs)))


if __name__ == "__main__":
    main()
