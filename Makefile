# `make run` and `make test` set up everything they need in .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: run test benchmark clean

run: $(INSTALLED)
	$(BIN)/python -m experiments.learn

test: $(INSTALLED)
	$(BIN)/python -m pytest -q tests

benchmark: $(INSTALLED)
	$(BIN)/python -m experiments.benchmark

clean:
	rm -rf $(VENV) build dist *.egg-info

$(INSTALLED): setup.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@
