# `make train` and `make test` set everything up by themselves.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: train test quick lint bench clean

train: $(READY)
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
	$(BIN)/python -m benchmarks.step

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "modkit needs Python 3.11 or newer: make PYTHON=python3.12 ..."; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) out .pytest_cache .ruff_cache .hypothesis
