# Every target does its own set-up: a Python 3.11+ and make are all it takes.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.PHONY: build test lint bench dev wheel docs clean

build: .venv/.ready ## build the demo project into build/
	$(BIN)/syntropy build --project examples/acme --out build

test: .venv/.ready tests/clients/node_modules/.ready ## the whole test suite
	$(BIN)/python -m pytest

lint: .venv/.ready ## style, types, import contracts, workflows
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/actionlint .github/workflows/*.yml

bench: .venv/.ready ## all benchmarks; results go to benchmarks/results/
	$(PIP) install -c constraints.txt -e '.[bench]'
	$(BIN)/python -m benchmarks

dev: .venv/.ready ## the Dagster UI on the demo project
	mkdir -p .dagster_home && cp -n assets/dagster.yaml .dagster_home/dagster.yaml || true
	DAGSTER_HOME=$(CURDIR)/.dagster_home SYNTROPY_PROJECT=$(CURDIR)/examples/acme SYNTROPY_OUT=$(CURDIR)/build $(BIN)/dagster dev -w workspace.yaml

docs: .venv/.ready ## regenerate docs/schema.md and docs/cli.md
	$(BIN)/python -m tests.generated_docs

wheel: .venv/.ready ## a wheel in dist/
	$(BIN)/python -m build --wheel --no-isolation

clean:
	rm -rf build dist .dagster_home examples/acme/.syntropy

# pip, not uv: torch is pinned first, so that no CUDA build comes with sentence-transformers.
.venv/.ready: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) install -c constraints.txt torch==2.13.0
	$(PIP) install -c constraints.txt -e '.[dev]'
	touch $@

# Clients of other makers, for the server's tests; where there is no npm, those tests are skipped and say so.
tests/clients/node_modules/.ready: tests/clients/package.json tests/clients/package-lock.json
	if command -v npm >/dev/null; then cd tests/clients && npm ci --silent && touch node_modules/.ready; fi
