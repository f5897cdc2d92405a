# `make demo` shows what tilery does, `make test` checks everything. Both set up .venv with the machine's python3.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check --no-input

# With HEAVY=1 the tests also get torch, Triton and NVRTC, which take more than a gigabyte: a newcomer does not need them.
HEAVY ?=
TORCH ?= torch==2.13.0+cpu
TRITON ?= triton==3.9.0

# The tests run in this many processes.
JOBS ?= 2

# Tests start many processes, which should not compile the package again each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test lint types unit package fuzz docs site format clean

help:
	@echo "make demo     a short tour: build a kernel, inspect it, convert it, print it, run it"
	@echo "make test     every check: lint, types, package, tests; with HEAVY=1 also those that need torch, Triton or NVRTC"
	@echo "make fuzz     broken input through every path, for a minute"
	@echo "make docs     rewrite docs/reference, docs/appendix and the builder's types from the tables"
	@echo "make site     the documents as a site in build/site/html; needs no network once packages are installed"
	@echo "make format   format the code"
	@echo "make clean    remove .venv and what tools leave behind"

demo: $(VENV)/.installed
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/tour.sh

# The tests go last, so that their summary ends the output.
test: lint types package unit

lint: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.tested
	$(BIN)/mypy

unit: $(VENV)/.tested $(if $(HEAVY),$(VENV)/.heavy)
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

package: $(VENV)/.tested
	sh scripts/check_package.sh $(BIN)/python

# More: make fuzz FUZZ='--count 1000000 --seed 7 --jobs 16 --report docs/reports/lab/fuzz.md'
FUZZ ?= --count 1000000 --seconds 60

fuzz: $(VENV)/.installed
	$(BIN)/python scripts/fuzz.py $(FUZZ)

docs: $(VENV)/.installed
	$(BIN)/python -m tilery.docs
	$(BIN)/python -m tilery.manual.methods
	$(BIN)/python -m tilery.documented.claims

site: $(VENV)/.site
	$(BIN)/python scripts/website/build.py

format: $(VENV)/.tested
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --editable .
	@touch $@

# NVIDIA's disassembler is optional: without it the tests marked `oracle` are skipped.
$(VENV)/.tested: $(VENV)/.installed
	$(PIP) install --editable '.[test]'
	$(PIP) install --editable '.[nvidia]' || echo "note: NVIDIA's tools are not available here; their tests are skipped"
	@touch $@

$(VENV)/.site: $(VENV)/.installed
	$(PIP) install --editable '.[site]'
	@touch $@

$(VENV)/.heavy: $(VENV)/.tested
	$(PIP) install $(TORCH) || echo "note: $(TORCH) is not available here; tests that need torch are skipped"
	$(PIP) install $(TRITON) || echo "note: $(TRITON) is not available here; tests that need Triton are skipped"
	$(PIP) install --editable '.[cpp]' || echo "note: NVRTC is not available here; tests of CUDA Tile C++ are skipped"
	@touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests examples scripts bench -name __pycache__ -type d -prune -exec rm -rf {} +
