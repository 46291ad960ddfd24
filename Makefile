# `make run` and `make test` set up everything they need in .venv.

PYTHON ?= python3
SCALE ?= small
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: run test benchmark reproduce clean

run: $(INSTALLED)
	$(BIN)/python -m experiments.learn

test: $(INSTALLED)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile tests

benchmark: $(INSTALLED)
	$(BIN)/python -m experiments.benchmark

# SCALE: small (minutes), medium, full, or a number in (0, 1]
reproduce: $(INSTALLED)
	$(BIN)/python -m experiments.reproduce --scale=$(SCALE)

clean:
	rm -rf $(VENV) build dist *.egg-info

$(INSTALLED): setup.py pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@
