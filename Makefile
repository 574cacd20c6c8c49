# The README's two commands are `make demo` and `make test`; both make their own .venv from pinned versions.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test lint bench docs house-map clean

demo: $(VENV)/.runtime
	$(BIN)/llrkit demo

test: $(VENV)/.development lint
	.ci/debian-packages
	$(BIN)/pytest --numprocesses 2 --dist loadgroup --quiet

lint: $(VENV)/.development
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.development
	$(BIN)/python benchmarks/bench.py

docs: $(VENV)/.development
	$(BIN)/mkdocs build --strict --quiet
	@echo "The documentation is in site/index.html"

house-map: $(VENV)/.development
	$(BIN)/python docs/make_house_map.py

clean:
	rm -rf $(VENV) out site

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) --editable .
	@touch $@

$(VENV)/.development: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) --editable ".[test,bench,docs]"
	@touch $@ $(VENV)/.runtime
