# Every target sets up what it needs in .venv.

PYTHON ?= python3
SCALE ?= small
PYTEST_ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: run test quick coverage newest integrations check format docs results wheel benchmark campaign reproduce clean

run: $(INSTALLED)
	$(BIN)/python -m experiments.interval
	$(BIN)/python -m experiments.learn

test: $(INSTALLED)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --ignore=tests/integrations $(PYTEST_ARGS) tests

# Without the tests on the whole of RBT and those that start many processes.
quick: $(INSTALLED)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m "not rbt and not slow" --ignore=tests/integrations $(PYTEST_ARGS) tests

# Which lines the quick tests run, without those of compiled kernels; pages in build/coverage.
coverage: $(INSTALLED)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m "not rbt and not slow" --cov --cov-report=term \
		--cov-report=html:build/coverage tests

# The quick tests with the newest numba and OpenSpiel, whatever setup.py allows, in an environment of its own.
newest:
	$(PYTHON) -m venv build/newest
	build/newest/bin/pip install --quiet --disable-pip-version-check --editable '.[test]'
	build/newest/bin/pip install --quiet --disable-pip-version-check --upgrade numba open_spiel
	build/newest/bin/python -m pytest -q -n 2 --dist loadfile -m "not rbt and not slow" tests

# Agents of other libraries, with the real libraries, in an environment of its own; the table of docs/agents.md.
# TORCH: what pip installs, such as torch==2.9.0; some builds are much smaller than the default one.
TORCH ?= torch
INTEGRATIONS := build/integrations/bin
integrations:
	$(PYTHON) -m venv build/integrations
	$(INTEGRATIONS)/pip install --quiet --disable-pip-version-check $(TORCH)
	$(INTEGRATIONS)/pip install --quiet --disable-pip-version-check --editable '.[test,integrations]'
	$(INTEGRATIONS)/python docs/make_integrations.py

check: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The documentation with the API reference, into build/docs. Search needs a server: python -m http.server -d build/docs
docs: $(INSTALLED)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

# The tables of docs/results.md, from the stored runs in docs/runs.
results: $(INSTALLED)
	$(BIN)/python docs/make_results.py

# A wheel in dist/ with compiled code, for machines of the same kind: what holds when is in docs/lab/bounds.md.
wheel: $(INSTALLED)
	rm -rf build/lib
	TMDP_SPIEL_COMPILED=1 $(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
		--wheel-dir dist .

benchmark: $(INSTALLED)
	$(BIN)/python -m experiments.benchmarks.speed

# Kills, flipped bits and long use; how often certificates are wrong. Many hours.
campaign: $(INSTALLED)
	$(BIN)/python -m experiments.stress.run_all
	$(BIN)/python -m experiments.research.error_rates

# SCALE: small (minutes), medium, full, or a number in (0, 1]
reproduce: $(INSTALLED)
	$(BIN)/python -m experiments.reproduce --scale=$(SCALE)

clean:
	rm -rf $(VENV) build dist *.egg-info

$(INSTALLED): setup.py pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test,check,docs]'
	touch $@
