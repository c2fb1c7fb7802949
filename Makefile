# make demo   environment, embedded judge model, then the main job and two searches on the shipped data
# make test   the test suite, but for what takes long or needs a service of its own
# make coverage       both with the coverage of lines and branches: of all code by the first, of the server by the second
# make test-long      the tests of the server, and those of many examples, kills, rows or processes
# make test-cluster   the tests with a Ray cluster on this machine, a minute and more
# make test-argilla   the tests with a real Argilla server, which needs its harness in ../shared
# make test-browser   the tests of the pages in a real Chromium, which must be installed (make browser)
# make docs   builds the site of the documentation into site/; its links are checked, and it needs no network to be read
# make test-docs      every Python block, command line, notebook and link of the documentation; part of make test
# make serve  the server with the embedded judge, on 127.0.0.1:8000
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
USE := $(VENV)/.installed-local,reference
DEV := $(VENV)/.installed-dev
CLIENT := $(VENV)/openapi-client/bin/openapi-python-client
SDK := $(VENV)/argilla-sdk/.installed
REAL_ARGILLA := tests/trust/argilla/real_server
APART := --ignore=tests/serve --ignore=$(REAL_ARGILLA)

.PHONY: demo serve test coverage test-long test-docs test-cluster test-argilla test-browser browser check docs golden clean

demo: $(USE)
	$(BIN)/greval local fetch
	$(BIN)/greval demo

serve: $(VENV)/.installed-local,server
	$(BIN)/greval local fetch
	$(BIN)/greval serve --judge local

# what it leaves out is not even read: the web packages take each process seconds
test: $(DEV) check
	$(BIN)/python -m pytest -q --doctest-modules greval
	$(BIN)/python -m pytest -n 3 --dist loadfile $(APART) $(COVERAGE)

test-long: $(DEV) $(CLIENT)
	$(BIN)/python -m pytest -n 3 --dist loadfile -m 'server or long' --ignore=$(REAL_ARGILLA) $(COVERAGE)

coverage:
	$(MAKE) test COVERAGE='--cov=greval --cov-branch --cov-report= --cov-fail-under=0'
	$(MAKE) test-long COVERAGE='--cov=greval/serve --cov-branch --cov-report= --cov-fail-under=0 --cov-append'
	$(BIN)/python -m coverage report

test-cluster: $(DEV)
	$(BIN)/python -m pytest -m cluster tests/runs/test_ray_cluster.py

test-argilla: $(DEV) $(SDK)
	$(BIN)/python -m pytest -m argilla_server $(REAL_ARGILLA) --ignore=$(REAL_ARGILLA)/test_sdk.py
	$(VENV)/argilla-sdk/bin/python -m pytest -m argilla_server $(REAL_ARGILLA)/test_sdk.py

test-browser: $(DEV)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m browser tests/serve/page tests/report/html tests/test_site.py

# Debian's Chromium, where there is none; needs the rights to install packages
browser:
	@command -v chromium || command -v google-chrome || { apt-get update -q && apt-get install -yq chromium; }

check: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tests/check_prose.py
	$(BIN)/codespell

docs: $(DEV)
	$(BIN)/zensical build --strict --clean

test-docs: $(DEV)
	$(BIN)/python -m pytest tests/test_docs.py tests/test_notebooks.py tests/test_site.py

golden: $(DEV)
	$(BIN)/python -m greval.metrics.files > metric_library/metric.schema.json
	GREVAL_WRITE_GOLDEN=1 $(BIN)/python -m pytest -q tests/test_golden.py tests/test_notebooks.py tests/test_docs.py tests/demo
	GREVAL_WRITE_GOLDEN=1 $(BIN)/python -m pytest -q -m server tests/serve/test_openapi_document.py tests/serve/test_openapi_examples.py

# the generator of clients, apart: it needs another typer than greval
$(CLIENT): $(DEV)
	$(BIN)/python -m venv $(VENV)/openapi-client
	$(VENV)/openapi-client/bin/python -m pip install --disable-pip-version-check -q openapi-python-client==0.29.1

# Argilla's SDK, apart: 450 MB that no other test needs
$(SDK): pyproject.toml constraints.txt $(DEV)
	$(BIN)/python -m venv $(VENV)/argilla-sdk
	$(VENV)/argilla-sdk/bin/python -m pip install --disable-pip-version-check -q -c constraints.txt -e '.[argilla,stats]' aiohttp hypothesis playwright pytest pytest-asyncio
	@touch $@

clean:
	rm -rf $(VENV) build dist site .cache .coverage htmlcov .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

# an editable install with one extra; the tested set of versions stands in constraints.txt
$(VENV)/.installed-%: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(None if (3, 11) <= sys.version_info < (3, 14) else "greval needs Python 3.11, 3.12 or 3.13; name one: make PYTHON=python3.12 ...")'
	@echo "installing greval and what it needs for [$*] into $(VENV) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --disable-pip-version-check -q -c constraints.txt -e '.[$*]'
	@touch $@
