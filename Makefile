# `make run` and `make test` do everything on a fresh machine, including the set-up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest
SUITE ?= small felekis_gvi
# Keep compiled modules, because many tests start processes.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help setup run test lowest ci slow dist bench reproduce lint docs clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

setup: $(VENV)/.ready  ## create the virtual environment

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt torch==2.13.0
	$(BIN)/pip install --quiet -c constraints.txt -e '.[dev,release]'
	touch $@

run: setup  ## compare vadam and mc_dropout on boston, 20 splits, with each other and with reference results
	$(BIN)/bnnbench run -m method=vadam,mc_dropout dataset=boston
	$(BIN)/bnnbench report --methods vadam,mc_dropout --datasets boston
	$(BIN)/bnnbench compare outputs/uci/boston --mine vadam,mc_dropout

test: setup  ## run the tests on all cores
	$(BIN)/python -m pytest -n auto --dist worksteal

$(LOWEST)/.ready: pyproject.toml constraints-lowest.txt
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/pip install --quiet -c constraints-lowest.txt -e '.[dev]'
	touch $@

lowest: $(LOWEST)/.ready  ## run the tests with the lowest versions that pyproject.toml allows
	$(LOWEST)/bin/python -m pytest -n auto --dist worksteal

ci: setup  ## everything that continuous integration runs
	$(MAKE) -j2 lint docs
	$(MAKE) test
	$(BIN)/python -m pytest -m ci -n auto --dist worksteal

slow: setup  ## run the tests that train for minutes or cover all variants of methods
	$(BIN)/python -m pytest -m slow -n auto --dist worksteal

# On x86-64 Linux pip prefers the wheel with native code to the pure one. W004: native code is not a module.
dist: setup  ## build the files of a release in dist/ on x86-64 Linux, check them, and run one in an empty environment
	rm -rf dist build
	$(BIN)/python -m build
	BNNBENCH_NATIVE_WHEEL=1 $(BIN)/python -m build --wheel
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents --ignore W004 dist/*.whl
	tag=$$(basename dist/*manylinux*.whl .whl | cut -d- -f5) && $(BIN)/auditwheel show dist/*manylinux*.whl | grep -F "\"$$tag\""
	$(PYTHON) -m venv build/empty
	build/empty/bin/pip install --quiet -c constraints.txt dist/*manylinux*.whl
	cd build && empty/bin/bnnbench --version | grep prebuilt
	cd build && empty/bin/bnnbench run method=linear dataset=yacht

bench: setup  ## measure speed and memory as ratios, a report over a thousand runs, and other libraries
	$(BIN)/python tests/benchmarks/speed.py
	$(BIN)/python tests/benchmarks/report.py
	$(BIN)/python tests/benchmarks/peers.py

reproduce: setup  ## run the published experiments (SUITE: small, all, or names of suites)
	for suite in $(SUITE); do $(BIN)/bnnbench reproduce $$suite || exit; done

lint: setup  ## run ruff, mypy and codespell
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32
	$(BIN)/codespell

$(VENV)/.docs: $(VENV)/.ready
	$(BIN)/pip install --quiet -c constraints.txt -e '.[docs]'
	touch $@

docs: $(VENV)/.docs  ## build the documentation site in site/, strictly
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:  ## remove the virtual environment and caches; keep outputs and data
	rm -rf $(VENV) $(LOWEST) .pytest_cache .ruff_cache .mypy_cache build dist
