# `make train` and `make test` set everything up by themselves.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
RECIPES := $(VENV)/.recipes
READY := $(VENV)/.ready

.PHONY: train test quick lint bench fuzz clean

train: $(RECIPES)
	$(BIN)/python recipes/train_digits.py $(ARGS)

test: $(READY)
	$(BIN)/python -m pytest -q -n auto $(ARGS)

quick: $(READY)
	$(BIN)/python -m pytest -q -n auto -m "not slow" $(ARGS)

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/pyright

bench: $(READY)
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.files

fuzz: $(READY)
	$(BIN)/python tools/fuzz.py $(ARGS)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "modkit needs Python 3.11 or newer: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(RECIPES): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[recipes]'
	@touch $@

$(READY): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'
	@touch $@ $(RECIPES)

clean:
	rm -rf $(VENV) .venv-newest out .pytest_cache .ruff_cache .hypothesis
