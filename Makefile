# make plan   : first plan from the example forecast, from a bare python3
# make test   : the test suite (recalculation tests only where LibreOffice is there)
# make lint   : ruff and mypy
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: plan test lint clean

plan: $(STAMP)
	$(BIN)/fleetsheet plan templates/example.xlsx -o outputs/plan.xlsx

test: $(VENV)/.installed-dev
	$(BIN)/python tests/run.py

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check optimizer tests
	$(BIN)/mypy

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(STAMP): pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed-dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@ $(STAMP)

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
