# Weir: `make run` and `make test` are all a newcomer needs; everything they make lies in .venv and WEIR_HOME.
.DEFAULT_GOAL := help
.PHONY: help install run docs test test-fast integration attack bench lint format lab clean

# The first Python for which every dependency has a ready-made wheel; name another one with `make PYTHON=…`.
PYTHON ?= $(shell for p in python3 python3.12 python3.11 python3.13 python3.14; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && exit; done; echo python3)
VENV := .venv
PY := $(VENV)/bin/python
# Hundreds of processes are started: none compiles the sources anew, whatever the environment says.
unexport PYTHONDONTWRITEBYTECODE
DOCS := webapp/site/docs/site/index.html
PREFLIGHT := $(PYTHON) webapp/launch/preflight.py
PIP := $(PY) -m pip --disable-pip-version-check --no-input
# The locks name everything, by hash: nothing is left to resolve. Compiling all modules takes longer than all else of an installation, and
# few are ever imported: what is gets compiled by its first import.
PIP_INSTALL := $(PIP) install --quiet --require-hashes --no-deps --no-compile

help: ## what can be made
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 22

install: $(VENV)/.installed ## make the environment (.venv), nothing else

run: preflight-run $(VENV)/.installed ## start everything and serve the dashboard on WEIR_BIND (127.0.0.1:8000); DEMO=0 without the demo
	@$(MAKE) --no-print-directory docs || echo "Without documentation: \`make docs\` says why."
	@$(if $(DEMO),WEIR_DEMO=$(DEMO)) exec $(PY) -m webapp.launch

docs: $(DOCS) ## build the documentation, which a running Weir serves under /docs

# By an environment of its own: what runs Weir needs nothing of it.
$(DOCS): $(VENV)/docs/.installed $(shell find webapp/site/docs -name site -prune -o -type f -print) static/css/tokens.css
	@$(VENV)/docs/bin/mkdocs build --quiet --clean --config-file webapp/site/docs/mkdocs.yml

test: preflight-java $(VENV)/.installed-dev ## all tests but the longest stories; PYTEST='-k name' narrows them
	$(PY) -m pytest -n 4 --dist loadscope --no-loadscope-reorder -m "not long" $(PYTEST)

test-fast: $(VENV)/.installed-dev ## the tests that start no JVM, no browser and no Flink
	$(PY) -m pytest -m "not integration and not cluster and not browser" $(PYTEST)

integration: preflight-java $(VENV)/.installed-dev ## the tests against a real Flink and the running whole, the longest stories among them
	$(PY) -m pytest -m "integration or long" $(PYTEST)

# Whose random worlds are few in `make test`, and many here.
RANDOM_WORLDS := tests/spark_jobs/storage/test_worlds.py tests/webapp/cleanup/test_applying.py tests/webapp/findings/test_folding.py \
	tests/webapp/alerting/test_storms.py tests/webapp/alerting/test_lifecycle.py tests/diagnosis/test_pressure_properties.py \
	tests/fold/test_job.py tests/spark_jobs/transforms/test_log_blocks.py tests/placement/test_rules.py tests/spark_jobs/replication/test_rounds.py \
	tests/spark_jobs/storage/test_ordering.py tests/spark_jobs/test_hostile_lake.py \
	tests/webapp/config/test_frozen_redis.py tests/webapp/push/test_worst_bodies.py

attack: preflight-java $(VENV)/.installed-dev ## everything an attacker tries, in full; `make test` plays a short form of it
	WEIR_ATTACK=full $(PY) -m pytest -n 4 --dist loadscope --no-loadscope-reorder tests/attacks tests/webapp/test_cursors.py $(RANDOM_WORLDS) $(PYTEST)

bench: preflight-java $(VENV)/.installed-dev ## measure against the budgets; BENCH='name …' picks some
	$(PY) -m tests.bench $(BENCH)

TEMPLATES = $(shell find templates -name "*.html")
CSS = $(VENV)/bin/css-beautify --indent-size 2 --end-with-newline
JS = $(VENV)/bin/js-beautify --indent-size 2 --end-with-newline
# What a formatter does not wrap: templates, scripts, strings, comments.
SOURCES = *.py *.html *.css *.js *.conf :!tests :!static/vendor :!*/migrations/*

lint: $(VENV)/.installed-dev ## formats, ruff, mypy, import contracts, Django checks, missing migrations
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/djade --target-version 5.2 --check $(TEMPLATES)
	@for file in static/css/*.css; do $(CSS) $$file | cmp - $$file || exit 1; done
	@for file in static/js/*.js; do $(JS) $$file | cmp - $$file || exit 1; done
	@! LC_ALL=C.UTF-8 git grep -nE '^.{111}' -- $(foreach part,$(SOURCES),'$(part)')
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(PY) manage.py check --fail-level WARNING
	$(PY) manage.py makemigrations --check --dry-run

format: $(VENV)/.installed-dev ## lay out Python, templates, CSS and JavaScript
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .
	-$(VENV)/bin/djade --target-version 5.2 $(TEMPLATES)
	$(CSS) --replace static/css/*.css
	$(JS) --replace static/js/*.js

lab: preflight-java $(VENV)/.installed ## a real Flink with an incident, seen live by the running Weir; LAB='--incident expired'
	@exec $(PY) -m tests.lab $(LAB)

clean: ## remove the environment and caches; WEIR_HOME stays
	rm -rf $(VENV) static/collected webapp/site/docs/site .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

.PHONY: preflight-install preflight-java preflight-run
preflight-install:
	@$(PREFLIGHT) python venv install-disk

preflight-java:
	@$(PREFLIGHT) python java

preflight-run:
	@$(PREFLIGHT) python java home bind disk

# Order-only: the checks of a machine do not make an environment out of date.
# A stamp is written last, so an interrupted installation is taken up again.
$(VENV)/.installed: requirements.lock | preflight-install
	@$(PY) -c '' 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	@echo "Installing what Weir needs into $(VENV); this takes a minute or so …"
	@$(PIP_INSTALL) -r requirements.lock
	@touch $@

$(VENV)/docs/.installed: requirements-docs.lock | preflight-install
	@$(PYTHON) -m venv --clear $(VENV)/docs
	@$(VENV)/docs/bin/python -m pip --disable-pip-version-check --no-input install --quiet --require-hashes --no-deps --no-compile -r requirements-docs.lock
	@touch $@

$(VENV)/.installed-dev: requirements-dev.lock requirements.lock | preflight-install
	@$(PY) -c '' 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	@echo "Installing what Weir and its tests need into $(VENV); this takes a minute or two …"
	@$(PIP_INSTALL) -r requirements-dev.lock
	@touch $(VENV)/.installed $@
