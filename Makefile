# Every target sets up what it needs in .venv.

PYTHON ?= python3
SCALE ?= small
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: run test quick check format docs wheel benchmark campaign reproduce clean

run: $(INSTALLED)
	$(BIN)/python -m experiments.interval
	$(BIN)/python -m experiments.learn

test: $(INSTALLED)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile tests

# Without the tests on the whole of RBT and those that start many processes.
quick: $(INSTALLED)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m "not rbt and not slow" tests

check: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The API reference, from the docstrings, into build/docs.
docs: $(INSTALLED)
	$(BIN)/pdoc --docformat google --output-directory build/docs tmdp_spiel '!tmdp_spiel.games.rbt.data'

# A wheel in dist/ with compiled code, for machines of the same kind: what holds when is in docs/exploit.md.
wheel: $(INSTALLED)
	rm -rf build/lib
	TMDP_SPIEL_COMPILED=1 $(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
		--wheel-dir dist .

benchmark: $(INSTALLED)
	$(BIN)/python -m experiments.benchmark

# Kills, flipped bits, wrong calls and long use; about an hour.
campaign: $(INSTALLED)
	$(BIN)/python -m experiments.campaign

# SCALE: small (minutes), medium, full, or a number in (0, 1]
reproduce: $(INSTALLED)
	$(BIN)/python -m experiments.reproduce --scale=$(SCALE)

clean:
	rm -rf $(VENV) build dist *.egg-info

$(INSTALLED): setup.py pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test,check,docs]'
	touch $@
