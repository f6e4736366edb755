# Everything a machine needs is Python >= 3.11 with venv, and make.
PYTHON ?= python3
BIN := .venv/bin
.DEFAULT_GOAL := help
.PHONY: help setup run demo test coverage check lint types imports format fmt golden docs prices new-agent bench lock clean

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

.venv/.ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "leslied needs Python 3.11 or newer; run: make PYTHON=python3.12 setup"; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

setup: .venv/.ready ## make .venv with leslied in it

run: setup ## read every session once, then say what is there
	@$(BIN)/leslied sync
	@$(BIN)/leslied status

demo: setup ## a scripted session, live, in a home that is thrown away
	@$(BIN)/leslied demo

test: setup ## all tests
	$(BIN)/pytest -n auto

coverage: setup ## all tests, measured; fails below the floors
	$(BIN)/coverage erase
	LESLIED_KILLS=$${LESLIED_KILLS:-24} $(BIN)/coverage run -m pytest -n auto
	$(BIN)/coverage combine -q
	$(BIN)/coverage json -q -o .coverage.json
	$(BIN)/python -m tests.support.coverage_floors .coverage.json

lint: setup ## ruff, spelling
	$(BIN)/ruff check .
	$(BIN)/codespell

format: setup ## is everything formatted?
	$(BIN)/ruff format --check .

types: setup ## mypy, strict
	$(BIN)/mypy

imports: setup ## rooms stay strangers
	$(BIN)/lint-imports --no-cache

check: format lint types imports test ## what CI runs

fmt: setup ## format and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

golden: setup ## write the golden files anew; review the diff
	$(BIN)/pytest -n 0 -q -k golden --update-golden

docs: setup ## make the generated tables anew
	$(BIN)/python -m tests.support.docs

prices: setup ## make the price table anew of the genai-prices in .venv
	$(BIN)/python -m tests.support.prices

new-agent: setup ## the beginning of an adapter: make new-agent NAME=foo
	@$(BIN)/python -m tests.support.new_agent $(NAME)

bench: setup ## time the first sync and the second; see docs/performance.md
	$(BIN)/python tests/bench/sync.py

lock: ## resolve requirements.lock anew (needs uv)
	uv pip compile pyproject.toml --group dev --generate-hashes --universal \
	  --python-version 3.11 --no-emit-index-url --no-header -q -o requirements.lock

clean: ## remove what make made
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage*
