# The README's two commands are `make demo` and `make test`; both make their own .venv from pinned versions.
PYTHON ?= python3
VENV := .venv
OLDEST := .venv-minimum
NEWEST := .venv-newest
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt
# Compiling the same modules in every process takes longer than many a test.
unexport PYTHONDONTWRITEBYTECODE
# The tests of a file run in one process, so that what they share is made once.
SPREAD := --numprocesses 2 --dist loadfile --quiet
PYTEST := $(BIN)/pytest $(SPREAD)
QUICK := -m "not slow" tests src README.md
# The site, its pictures and its gallery say nothing about versions that the tests of what they show do not say.
SITE := tests/test_site.py tests/test_examples.py tests/test_pages.py tests/test_worked_pages.py \
	tests/test_documents_run.py

.PHONY: help demo test test-all test-minimum test-newest release-check coverage lint types hooks bench attack docs keywords tree house-map clean
.DEFAULT_GOAL := help

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.runtime ## Run the paper's experiments, small, on data they make themselves
	$(BIN)/llrkit paper --small

test: $(VENV)/.test lint ## Run ruff, mypy, doctests and the quick tests; needs nothing but Python
	$(PYTEST) $(QUICK)

test-all: $(VENV)/.test-all lint ## Run all tests, also those with browser, R, Word, Dask, torch and speech
	.ci/debian-packages
	.ci/axe-core
	$(PYTEST)

test-minimum: $(OLDEST)/.installed ## Run all tests but those of the site with the oldest versions that are declared
	$(OLDEST)/bin/pytest $(SPREAD) -W ignore::DeprecationWarning $(addprefix --ignore=,$(SITE))

test-newest: ## Run all tests but those of the site with the newest versions that can be had
	$(PYTHON) -m venv $(NEWEST)
	$(NEWEST)/bin/pip install --quiet --disable-pip-version-check --upgrade --upgrade-strategy eager --editable ".[test-all]"
	$(NEWEST)/bin/pytest $(SPREAD) -W default $(addprefix --ignore=,$(SITE))

release-check: ## Build and check the wheel, install it alone and with each extra, run every command; time a newcomer
	$(PYTHON) .ci/release-check

coverage: $(VENV)/.development ## Run all tests and print the share of lines they reach
	$(PYTEST) --cov --cov-report=term

lint: $(VENV)/.test ## Run ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

types: $(VENV)/.development ## Run mypy and pyright
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python

hooks: $(VENV)/.development ## Check every commit with ruff, mypy and the import rule
	$(BIN)/pre-commit install

bench: $(VENV)/.test-all ## Time everything beside np.sort and the peers
	$(BIN)/python benchmarks/bench_shapes.py
	$(BIN)/python benchmarks/bench.py

attack: $(VENV)/.test-all ## Read 10^6 tables from a grammar, and kill commands 300 times
	$(BIN)/python benchmarks/attack.py tables 1000000
	$(BIN)/python benchmarks/attack.py kills 300

docs: $(VENV)/.test-all ## Build the documentation into site/
	$(BIN)/python docs/make_site.py site
	@echo "The documentation is in site/index.html"

keywords: $(VENV)/.test ## Write src/llrkit/keywords.pyi from the declarations of options
	$(BIN)/python .ci/keywords.py

tree: ## Print every module with its one idea
	@$(PYTHON) .ci/tree.py

house-map: $(VENV)/.test ## Draw docs/pictures/house.svg from the imports
	$(BIN)/python docs/make_house_map.py

clean: ## Remove .venv, .venv-minimum, .venv-newest, out/, site/ and dist/
	rm -rf $(VENV) $(OLDEST) $(NEWEST) out site dist

$(OLDEST)/.installed: pyproject.toml .ci/minimum-versions
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python .ci/minimum-versions > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/pip install --quiet --disable-pip-version-check --constraint $(OLDEST)/constraints.txt --editable ".[test-all]"
	@touch $@

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) --editable .
	@touch $@

# bytecode is written for what is imported, not for all that is installed: half the time
$(VENV)/.test: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) --no-compile --editable ".[test,lint]"
	@touch $@ $(VENV)/.runtime

$(VENV)/.test-all: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) --editable ".[test-all,lint,torch]"
	@touch $@ $(VENV)/.test $(VENV)/.runtime

$(VENV)/.development: $(VENV)/.test-all
	$(PIP) --editable ".[dev]"
	@touch $@
