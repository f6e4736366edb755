# Needs only make and Python >= 3.11 with venv; `make lock` also needs uv.
PYTHON ?= python3
BIN := .venv/bin
.DEFAULT_GOAL := help
.PHONY: help setup run demo test test-heavy security reliability coverage check lint types imports browser scripts format fmt golden docs picture screenshots prices new-agent bench bench-quick bench-growth bench-redact bench-spoofs soak mutants wheel wheel-test reproducible hooks lock audit clean

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

.venv/.ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "leslied needs Python 3.11 or newer; run: make PYTHON=python3.12 setup"; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

setup: .venv/.ready ## create .venv with leslied and all development tools

run: setup ## read new log entries once and show the status
	@$(BIN)/leslied sync
	@$(BIN)/leslied status

demo: setup ## watch a scripted session in a temporary home
	@$(BIN)/leslied demo

test: setup ## run the tests, except heavy ones
	$(BIN)/pytest -n auto -m "not heavy"

test-heavy: setup scripts ## run the heavy tests: kill loop, browser, generated projects
	$(BIN)/pytest -n auto -m heavy

security: setup ## run the tests of the threat table and write docs/security.md
	$(BIN)/python -m tests.support.threats -n auto

reliability: setup ## run the tests of the fault table and write docs/reliability.md
	$(BIN)/python -m tests.support.reliability -n auto

coverage: setup ## run all tests and fail if coverage is too low
	$(BIN)/coverage erase
	LESLIED_KILLS=$${LESLIED_KILLS:-24} $(BIN)/coverage run -m pytest -n auto
	$(BIN)/coverage combine -q
	$(BIN)/coverage json -q -o .coverage.json
	$(BIN)/python -m tests.support.coverage_floors .coverage.json

lint: setup ## check style and spelling (ruff, codespell)
	$(BIN)/ruff check .
	$(BIN)/codespell

format: setup ## check formatting
	$(BIN)/ruff format --check .

types: setup ## check types (mypy, strict)
	$(BIN)/mypy

imports: setup ## check which package imports which (import-linter)
	$(BIN)/lint-imports --no-cache

tests/browser/node_modules/.ready: tests/browser/package-lock.json
	npm ci --prefix tests/browser --no-audit --no-fund --silent
	@touch $@

scripts: ## check the types of the page's scripts (needs npm)
	@if command -v npm > /dev/null; then \
	  $(MAKE) --no-print-directory tests/browser/node_modules/.ready && \
	  tests/browser/node_modules/.bin/tsc -p leslied/web/static; \
	else echo "The page's scripts are not checked: npm is not installed."; fi

browser: ## install Chromium for the tests of the page (Debian and Ubuntu, as root)
	@if command -v chromium || command -v chromium-browser || command -v google-chrome; then :; \
	elif command -v apt-get > /dev/null && [ "$$(id -u)" = 0 ]; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium > /dev/null; \
	else echo "The page is not tested: install Chromium first."; fi

check: format lint types imports scripts test test-heavy ## run everything that CI runs

fmt: setup ## format the code and apply safe fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

golden: setup ## rewrite the golden files; review the diff
	$(BIN)/pytest -n 0 -q -k golden --update-golden

docs: setup ## regenerate tables and command pages of the docs, and JSON Schemas
	$(BIN)/python -m tests.support.docs

picture: setup ## redraw the README's picture
	$(BIN)/python -m tests.support.picture docs/images/terminal.svg

screenshots: setup ## take the pictures of the page again (needs Chromium)
	$(BIN)/python -m tests.support.screenshots docs/images $(ARGS)

prices: setup ## regenerate the price table from genai-prices
	$(BIN)/python -m tests.support.prices

new-agent: setup ## create the skeleton of an agent's adapter: make new-agent NAME=foo
	@$(BIN)/python -m tests.support.new_agent $(NAME)

bench: setup ## measure leslied beside its peers and write docs/performance.md
	$(BIN)/python -m tests.bench $(ARGS)

bench-quick: setup ## measure on small corpora in less than 3 minutes; write no page
	$(BIN)/python -m tests.bench --quick $(ARGS)

bench-growth: setup ## print what operations cost in growing stores
	$(BIN)/python tests/bench/growth.py

bench-spoofs: setup ## try to imitate the structure of transcripts, 100,000 times
	$(BIN)/python tests/bench/round_trips.py

bench-redact: setup ## measure recall, false redactions and speed of redaction
	$(BIN)/python tests/bench/redact.py

mutants: setup ## plant bugs in a copy of leslied and count how many the tests catch
	$(BIN)/python -m tests.mutants $(ARGS)

soak: setup ## run leslied under kills, faults, load and fuzz for hours
	$(BIN)/python -m tests.soak $(ARGS)

wheel: setup ## build dist/leslied-*.whl
	rm -rf dist
	$(BIN)/hatchling build -t wheel

wheel-test: ## install the wheel from dist/ in a fresh environment and try it
	@ls dist/*.whl >/dev/null 2>&1 || { echo "There is no wheel in dist/. Build it: make wheel"; exit 2; }
	rm -rf .wheel-test
	$(PYTHON) -m venv .wheel-test
	.wheel-test/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd .wheel-test && HOME=$$PWD bin/leslied --version && HOME=$$PWD bin/leslied demo --fast
	rm -rf .wheel-test

reproducible: setup ## build wheel and source distribution twice and compare them
	$(BIN)/pytest -n 0 -q tests/e2e/test_build.py

hooks: setup ## run the quick checks before every git commit
	$(BIN)/pre-commit install

LOCK := uv pip compile --generate-hashes --universal --python-version 3.11 --no-emit-index-url --no-header -q
lock: ## resolve the lock files again (needs uv)
	$(LOCK) pyproject.toml --group dev -o requirements.lock
	$(LOCK) --group audit -o requirements-audit.lock

.audit/.ready: requirements-audit.lock
	$(PYTHON) -m venv .audit
	.audit/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-audit.lock
	@touch $@

audit: .audit/.ready ## look for known vulnerabilities of the locked packages (needs PyPI)
	@$(PYTHON) -m tests.support.audit .audit/bin/pip-audit requirements.lock

clean: ## remove everything that make created
	rm -rf .venv .bench .soak .wheel-test .audit dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage*
