# Every target does its own set-up: a Python 3.11+ and make are all it takes.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check install -c constraints.txt
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))

.PHONY: build test lint bench dev wheel docs clean

build: .venv/.builder ## build the demo project into build/
	@echo "The demo is full of planted mistakes, so that you see how they are reported."
	$(BIN)/syntropy build --project examples/acme --out build --wait

test: .venv/.tests tests/clients/node_modules/.ready ## the whole test suite
	$(BIN)/python -m pytest

lint: .venv/.tests ## style, types, import contracts, workflows
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/actionlint .github/workflows/*.yml

bench: .venv/.tests ## all benchmarks; results go to benchmarks/results/
	$(PIP) -e '.[bench]'
	$(BIN)/python -m benchmarks

dev: .venv/.builder ## the Dagster UI on the demo project
	$(PIP) -e '.[ui]'
	$(BIN)/syntropy dev --project examples/acme --out build

docs: .venv/.tests ## regenerate the generated pages and tables
	$(BIN)/python -m tests.generated_folds
	$(BIN)/python -m tests.generated_common_words
	$(BIN)/python -m tests.generated_docs

wheel: .venv/.tests ## a wheel in dist/
	$(BIN)/python -m build --wheel --no-isolation

clean:
	rm -rf build dist .dagster_home .test-cache examples/acme/.syntropy

# What building takes, without torch. The version is looked at before anything is fetched.
.venv/.builder: pyproject.toml constraints.txt
	@$(PYTHON) -c '$(NEW_ENOUGH)' || { echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) -V 2>&1). Name another one: make PYTHON=python3.12 build" >&2; exit 1; }
	@if [ -e .venv ] && ! $(BIN)/python -c '$(NEW_ENOUGH)' 2>/dev/null; then echo "replacing .venv: its Python is older than 3.11, or gone"; rm -rf .venv; fi
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "setting up .venv for building (0.8 GB on disk, no torch; the build itself fetches 84 MB of weights once)"
	$(PIP) -e '.[build-lite]'
	@touch $@

# The tests compare our vectors with those of sentence-transformers, which runs on torch. It is pinned first, so that
# no newer build comes; where pip knows only a CUDA build of it, that is several GB.
.venv/.tests: .venv/.builder
	@echo "adding what the tests need: sentence-transformers and torch (1.3 GB as a CPU build, up to 6 GB with CUDA)"
	$(PIP) torch==2.13.0
	$(PIP) -e '.[dev]'
	@touch $@

# Clients of other makers, for the server's tests; where there is no npm, those tests are skipped and say so.
tests/clients/node_modules/.ready: tests/clients/package.json tests/clients/package-lock.json
	if command -v npm >/dev/null; then cd tests/clients && npm ci --silent && touch node_modules/.ready; fi
