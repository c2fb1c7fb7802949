# make demo   environment, what greval finds in a shipped run, then the embedded judge, whose model is fetched once
# make test   the checks, the examples of the documentation and the tests that need no service, model or browser
# make test-services  the short suites beside it, each of which has a target of its own:
#   make test-server     the server
#   make test-model      the embedded judge with real small models, which are fetched once
#   make test-browser    the pages in a real Chromium, which must be installed (make browser)
#   make test-argilla    a real Argilla server, which needs its harness in ../shared
#   make test-cluster    a Ray cluster on this machine
#   make test-published  published data, which must be in ../shared
# make test-nightly   all tests: many examples, kills, simulations, with coverage; PART=tests/runs takes those of a part
# make test-without-apps  the core in a copy without the folders of the apps, with its tests; part of make test-nightly
# make docs   builds the site of the documentation into site/; its links are checked, and it needs no network to be read
# make test-docs      the examples of docstrings, and each Python block, command line, notebook and link of the pages;
#                     part of make test
# make serve  the server with the embedded judge, on 127.0.0.1:8000: REST and the page, without LangServe
# make sbom   the bill of materials (CycloneDX) of greval[EXTRAS] in dist/, by default of greval[server]
# make lock   the versions and hashes of all that greval[EXTRAS] installs, in dist/
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# what an environment is made of, and the checkout that it runs: if one of these differs, it is brought up to date
MADE_OF := $(shell { cat pyproject.toml constraints.txt; $(PYTHON) -VV; pwd; } | sha256sum | cut -c -16)
USE := $(VENV)/.installed-local,reference-$(MADE_OF)
DEV := $(VENV)/.installed-dev-$(MADE_OF)
CLIENT := $(VENV)/openapi-client/bin/openapi-python-client
SDK := $(VENV)/argilla-sdk/.installed-$(MADE_OF)
REAL_ARGILLA := tests/trust/argilla/real_server
DOCS := tests/test_docs.py tests/test_notebooks.py tests/test_site.py
CORE := $(VENV)/core
RELEASE := $(VENV)/release/.installed-$(MADE_OF)
EXTRAS ?= server
comma := ,
MATERIALS := dist/greval-$(subst $(comma),-,$(EXTRAS)).cdx.json
LOCKED := dist/requirements-$(subst $(comma),-,$(EXTRAS)).txt
PART ?= tests
TEST := $(BIN)/python -m pytest
PARALLEL := $(TEST) -n 3 --dist loadfile
NIGHTLY := $(TEST) --hypothesis-profile=nightly --ignore=$(REAL_ARGILLA)/test_sdk.py
NIGHTLY_KINDS := nightly-plain nightly-cluster nightly-browser nightly-argilla nightly-sdk
COVERAGE := --cov=greval --cov-branch --cov-report= --cov-fail-under=0
files_with = $(shell grep -rlw $(1) tests --include='test_*.py')

# a test may start a process, and each would compile what it loads
unexport PYTHONDONTWRITEBYTECODE
export MYPY_CACHE_DIR := $(VENV)/.mypy_cache

.PHONY: demo serve test test-core test-docs test-services test-server test-model test-browser test-argilla test-cluster \
  test-published test-nightly $(NIGHTLY_KINDS) test-without-apps environments browser check docs golden sbom lock clean

demo: $(USE)
	$(BIN)/greval demo --fetch

serve: $(VENV)/.installed-local,server-$(MADE_OF)
	$(BIN)/greval local fetch
	$(BIN)/greval serve --judge local

# at once: mypy and the documentation take one processor each, which the other tests leave when they wait
test: $(DEV)
	@$(MAKE) --no-print-directory --jobs 3 check test-docs test-core

test-core: $(DEV)
	$(PARALLEL) -p no:schemathesis $(addprefix --ignore=,tests/serve $(REAL_ARGILLA) $(DOCS))

# a browser draws while the tests with Argilla mostly wait for its server
test-services: test-server test-model test-published test-cluster
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target test-browser test-argilla

test-server: $(DEV) $(CLIENT)
	$(PARALLEL) -m 'server and not nightly' tests/serve

test-model: $(DEV)
	$(TEST) -m 'local_model and not nightly and not browser' $(call files_with,local_model)

test-published: $(DEV)
	$(TEST) -m 'published and not nightly' $(call files_with,data_set)

test-cluster: $(DEV)
	$(TEST) -m 'cluster and not nightly' tests/runs/test_ray_cluster.py

test-browser: $(DEV)
	$(PARALLEL) -m 'browser and not nightly' tests/serve/page tests/report/html tests/test_site.py

test-argilla: $(DEV) $(SDK)
	$(TEST) -m 'argilla_server and not nightly' $(REAL_ARGILLA) --ignore=$(REAL_ARGILLA)/test_sdk.py
	$(VENV)/argilla-sdk/bin/python -m pytest -m 'argilla_server and not nightly' $(REAL_ARGILLA)/test_sdk.py

# the core and its tests in a copy without the apps; pages name the names of the apps too, and are tested above
test-without-apps: $(DEV)
	rm -rf $(CORE)
	mkdir -p $(CORE)
	cp -r greval metric_library tests docs benchmarks $(wildcard *.md *.py *.toml *.txt) Makefile $(CORE)
	rm -r $(foreach folder,greval tests,$(CORE)/$(folder)/serve $(CORE)/$(folder)/reference)
	cd $(CORE) && PYTHONPATH=$(abspath $(CORE)) $(abspath $(BIN))/python -m pytest -n 3 --dist loadfile -p no:schemathesis \
	  $(addprefix --ignore=,$(REAL_ARGILLA) $(DOCS) tests/test_architecture.py tests/test_dependencies.py tests/test_glossary.py)

# each kind of tests runs, also if one before it failed
test-nightly: $(DEV) $(CLIENT) $(SDK)
	@$(MAKE) --no-print-directory --keep-going $(NIGHTLY_KINDS) $(if $(filter tests,$(PART)),test-without-apps)
	$(BIN)/python -m coverage report $(if $(filter-out tests,$(PART)),--fail-under=0)

# a part without tests of one kind is no failure, for which pytest exits with 5
nightly-plain:
	$(NIGHTLY) -n 3 --dist loadfile -m 'not (argilla_server or browser or cluster)' $(COVERAGE) $(PART) || test $$? -eq 5
nightly-cluster:
	$(NIGHTLY) -m cluster $(PART) || test $$? -eq 5
nightly-browser:
	$(NIGHTLY) -n 2 --dist loadfile -m browser $(PART) || test $$? -eq 5
nightly-argilla:
	$(NIGHTLY) -m argilla_server $(PART) || test $$? -eq 5
nightly-sdk:
	$(VENV)/argilla-sdk/bin/python -m pytest -m argilla_server $(REAL_ARGILLA)/test_sdk.py

environments: $(DEV) $(CLIENT) $(SDK)

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
	$(TEST) -q -p no:schemathesis --doctest-modules greval $(DOCS)

golden: $(DEV)
	$(BIN)/python -m greval.metrics.files > metric_library/metric.schema.json
	GREVAL_WRITE_GOLDEN=1 $(BIN)/python -m pytest -q tests/test_golden.py tests/test_notebooks.py tests/test_docs.py tests/demo \
	  tests/cli/test_refusals.py tests/test_dependencies.py
	GREVAL_WRITE_GOLDEN=1 $(BIN)/python -m pytest -q -m server tests/serve/test_openapi_document.py \
	  tests/serve/test_refusals.py

# in a new environment without pip, so that nothing else is listed
sbom: $(RELEASE)
	$(PYTHON) -m venv --clear --without-pip $(VENV)/materials
	$(VENV)/release/bin/python -m pip --python $(VENV)/materials install -q -c constraints.txt '.[$(EXTRAS)]'
	@mkdir -p dist
	$(VENV)/release/bin/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml -o $(MATERIALS) $(VENV)/materials

# no address of an index or of a folder of wheels is written into the file
lock: $(RELEASE)
	@mkdir -p dist
	$(VENV)/release/bin/pip-compile -q --generate-hashes --allow-unsafe --strip-extras --no-header --no-annotate \
	  --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options -c constraints.txt \
	  $(foreach extra,$(subst $(comma), ,$(EXTRAS)),--extra $(extra)) -o $(LOCKED) pyproject.toml

# the generator of clients, apart: it needs another typer than greval
$(CLIENT): | $(DEV)
	$(BIN)/python -m venv $(VENV)/openapi-client
	$(VENV)/openapi-client/bin/python -m pip install --disable-pip-version-check -q openapi-python-client==0.29.1

# Argilla's SDK, apart: 450 MB that no other test needs
$(SDK): | $(DEV)
	@test -x $(VENV)/argilla-sdk/bin/python || $(BIN)/python -m venv $(VENV)/argilla-sdk
	$(VENV)/argilla-sdk/bin/python -m pip install --disable-pip-version-check -q -c constraints.txt -e '.[argilla,stats]' aiohttp hypothesis playwright pytest pytest-asyncio
	@rm -f $(VENV)/argilla-sdk/.installed-*
	@touch $@

$(RELEASE):
	@test -x $(VENV)/release/bin/python || $(PYTHON) -m venv $(VENV)/release
	$(VENV)/release/bin/python -m pip install --disable-pip-version-check -q build==1.6.1 cyclonedx-bom==7.5.0 pip-tools==7.6.2
	@rm -f $(VENV)/release/.installed-*
	@touch $@

clean:
	rm -rf $(VENV) build dist site .cache .coverage htmlcov .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

# an editable install with some extras; the tested set of versions stands in constraints.txt
$(VENV)/.installed-%-$(MADE_OF):
	@$(PYTHON) -c 'import sys; sys.exit(None if (3, 11) <= sys.version_info < (3, 14) else "greval needs Python 3.11, 3.12 or 3.13; name one: make PYTHON=python3.12 ...")'
	@echo "installing greval and what it needs for [$*] into $(VENV) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --disable-pip-version-check -q -c constraints.txt -e '.[$*]'
	@find $(VENV) -maxdepth 1 -name '.installed-*' ! -name '*-$(MADE_OF)' -delete
	@touch $@
