# Everything runs in .venv, made from requirements.lock with its hashes checked; `make help` lists the targets.

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help setup run test check bench lock clean

help: ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

setup: $(READY) ## make the environment from the lock

$(READY): requirements.lock
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements.lock
	touch $@

run: $(READY) ## the default job: from text to blessed .tflite and .onnx
	$(BIN)/python -m pipeline run

test: $(READY) ## the whole test suite but what is marked slow
	$(BIN)/python -m pytest -m "not slow"

check: $(READY) ## lint, format, types, import contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY) ## speed, ours and the peers' in one run
	$(BIN)/python -m benchmarks.inference

lock: ## resolve the dependencies anew
	$(PYTHON) -m venv --clear build/lock
	build/lock/bin/python -m pip install --quiet pip-tools
	build/lock/bin/pip-compile --quiet --upgrade --generate-hashes --allow-unsafe --strip-extras --extra dev \
		--no-header --no-emit-options --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
		--output-file requirements.lock pyproject.toml

clean: ## remove the environment and caches, but no artifacts
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
