# `make train` and `make test` set everything up by themselves.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest -q -n auto --dist worksteal
PROGRAMS := $(VENV)/.programs
CACHED := tests/executor/test_executor.py tests/module/test_module.py tests/test_monitor.py
RECIPES := $(VENV)/.recipes
READY := $(VENV)/.ready

# Each process of the tests would rewrite all tests, and compile modkit, where no bytecode is kept.
export PYTHONDONTWRITEBYTECODE =

.PHONY: train test quick thorough cached lint bench fuzz clean

train: $(RECIPES)
	$(BIN)/python recipes/train_digits.py $(ARGS)

test: $(READY)
	$(PYTEST) -m "not thorough" $(ARGS)

quick: $(READY)
	$(PYTEST) -m "not slow" $(ARGS)

# What `make test` leaves out: the same checks in other modes.
thorough: $(READY)
	$(PYTEST) -m thorough $(ARGS)

# With the cache of programs: the second run loads what the first has compiled, and adds nothing.
cached: export MODKIT_CACHE = $(abspath $(PROGRAMS))
cached: export MODKIT_TESTS_XLA = default
cached: $(READY)
	rm -rf $(PROGRAMS)
	$(PYTEST) $(CACHED)
	ls $(PROGRAMS) | grep . > $(VENV)/.programs-first
	$(PYTEST) $(CACHED)
	ls $(PROGRAMS) | cmp - $(VENV)/.programs-first

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
