# `make demo` and `make test` set up everything they need in .venv and may be run again and again.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Small matrices on several BLAS threads are slower than on one, on a busy machine by far.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: demo test test-full lint benchmark test-oldest clean

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $@

demo: $(VENV)/.installed
	$(ONE_THREAD) $(BIN)/mahalearn compare wine --out demo --force

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy

test: lint
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --cov --cov-report=term

# The long versions of the suites: coverage by simulation, every pair of options, killed workers.
test-full: lint
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 -m "full or not full"

benchmark: $(VENV)/.installed
	$(BIN)/python -m benchmarks.kernel_quadratic
	$(BIN)/python -m benchmarks.family
	$(BIN)/python -m benchmarks.gaussian
	$(BIN)/python -m benchmarks.svm
	$(BIN)/python -m benchmarks.measures
	$(BIN)/python -m benchmarks.model_selection

# The lower bounds of pyproject.toml, in an environment of its own.
test-oldest:
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --editable ".[test]" \
		"numpy==1.26.*" "scipy==1.13.*" "scikit-learn==1.6.*" "pandas==2.2.*" "polars<2" \
		"numba==0.60.*" "pyarrow==15.*" "skops==0.13.*"
	$(ONE_THREAD) .venv-oldest/bin/python -m pytest -n 2

clean:
	rm -rf .venv .venv-oldest build .mypy_cache .pytest_cache .hypothesis .coverage htmlcov
