# `make run` and `make test` do everything on a fresh machine, set-up included.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SUITE ?= small felekis_gvi

.PHONY: help setup run test ci slow bench reproduce lint docs clean

help:  ## what can be made
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

setup: $(VENV)/.ready  ## the virtual environment, with everything in it

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt torch==2.13.0
	$(BIN)/pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@

run: setup  ## the main job on embedded data: vadam on diabetes, 20 splits
	$(BIN)/bnnbench run

test: setup  ## the tests, on all cores
	$(BIN)/python -m pytest -n auto --dist worksteal

ci: lint docs test  ## all that continuous integration runs
	$(BIN)/python -m pytest -m ci -n auto --dist worksteal

slow: setup  ## the tests that train for minutes on real data
	$(BIN)/python -m pytest -m slow

bench: setup  ## speed and memory, as ratios in one run; a report over a thousand runs
	$(BIN)/python tests/benchmarks/speed.py
	$(BIN)/python tests/benchmarks/report.py

reproduce: setup  ## the published experiments, resumable (SUITE: one or more of small, all and the names of suites; default: small felekis_gvi)
	for suite in $(SUITE); do $(BIN)/bnnbench reproduce $$suite || exit; done

lint: setup  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(VENV)/.docs: $(VENV)/.ready
	$(BIN)/pip install --quiet -c constraints.txt -e '.[docs]'
	touch $@

docs: $(VENV)/.docs  ## the documentation site, in site/, strictly
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

clean:  ## remove the virtual environment and caches; outputs and data stay
	rm -rf $(VENV) .pytest_cache .ruff_cache .mypy_cache build dist
