# `make demo` and `make test` set up everything they need in .venv and may be run again and again.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Small matrices on several BLAS threads are slower than on one, on a busy machine by far.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: demo test test-full lint docs dist benchmark test-oldest test-ecosystem clean

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $@

# A table, and 120 polygons whose distances (modified Hausdorff) are not Euclidean.
define POLYGONS
import numpy as np
from mahalearn.datasets import load
shapes = load("poly-mh", n_per_class=60)
np.savez("demo/polygons.npz", D=shapes.matrix, y=np.array(shapes.target_names)[shapes.target])
endef
export POLYGONS

demo: $(VENV)/.installed
	$(ONE_THREAD) $(BIN)/mahalearn compare wine --repeats 1 --out demo --force
	$(BIN)/python -c "$$POLYGONS"
	$(ONE_THREAD) $(BIN)/mahalearn compare --proximity demo/polygons.npz --quick --out demo/polygons --force

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy

test: lint
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2

# The long versions of the suites: coverage by simulation, every pair of options, killed workers;
# and which lines of the package the tests reach.
test-full: lint
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist worksteal -m "full or not full" --cov \
		--cov-report=term

benchmark: $(VENV)/.installed
	$(BIN)/python -m benchmarks.kernel_quadratic
	$(BIN)/python -m benchmarks.family
	$(BIN)/python -m benchmarks.gaussian
	$(BIN)/python -m benchmarks.svm
	$(BIN)/python -m benchmarks.measures
	$(BIN)/python -m benchmarks.model_selection

# The site with the whole gallery, warnings as errors: docs/_build/html/index.html.
docs: $(VENV)/.installed
	$(ONE_THREAD) $(BIN)/python -m sphinx -b html -W --keep-going docs docs/_build/html
	$(BIN)/python .ci/check_site.py docs/_build/html

# sdist and wheel, checked, then installed into fresh environments: without extras and with each.
dist: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable ".[release]"
	rm -rf build dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	$(BIN)/python .ci/check_wheel.py dist/*.whl

# The lower bounds of pyproject.toml, in an environment of its own.
test-oldest:
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --editable ".[test]" --constraint .ci/oldest.txt
	$(ONE_THREAD) .venv-oldest/bin/python -m pytest -n 2

# Every tool of docs/ecosystem.md, in an environment of its own. torch is pinned: pip takes a CPU build
# of that version where its indexes have one, and the large CUDA build otherwise.
test-ecosystem:
	$(PYTHON) -m venv .venv-ecosystem
	.venv-ecosystem/bin/python -m pip install --quiet --editable ".[ecosystem]"
	$(ONE_THREAD) SCIPY_ARRAY_API=1 .venv-ecosystem/bin/python -m pytest -n 2 tests/ecosystem

clean:
	rm -rf .venv .venv-oldest .venv-ecosystem build dist docs/_build docs/generated docs/gallery
	rm -rf .mypy_cache .pytest_cache .hypothesis .coverage htmlcov
