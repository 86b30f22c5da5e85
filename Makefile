# Everything runs in .venv, made from requirements/main.lock with its hashes checked; `make help` lists the targets.

# The versions that the locks hold for. The first that this machine has makes .venv; PYTHON=... names another.
VERSIONS := 3.11 3.12 3.13
PYTHON ?= $(firstword $(foreach version,$(VERSIONS),$(shell python$(version) -c 'print("python$(version)")' 2>/dev/null)) python3.11)
WORKERS ?= 2
VENV := .venv
BIN := $(VENV)/bin
LIBRARIES := $(VENV)/.libraries
READY := $(VENV)/.ready
CHECKPOINT := $(VENV)/.checkpoint
CUDA_LIBRARIES := $(VENV)/.cuda
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps

CLIENTS_VENV := .venv-clients
CLIENTS_READY := $(CLIENTS_VENV)/.ready

SERVERS_VENV := .venv-servers
SERVERS_READY := $(SERVERS_VENV)/.ready

WEB := tests/clients
WEB_READY := $(WEB)/node_modules/.package-lock.json
CHROMIUM ?= $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)

DOCS_VENV := .venv-docs
DOCS_READY := $(DOCS_VENV)/.ready

JAX_VENV := .venv-jax
JAX_READY := $(JAX_VENV)/.ready

# Tests start some hundred processes: without Python's cache each compiles all modules again.
unexport PYTHONDONTWRITEBYTECODE

# What these cover must not need TensorFlow; the import contract in pyproject.toml says the same of the code.
BACKEND_TESTS := $(addprefix tests/keras_bert/, \
	families layers masking metrics models objectives tasks compress/test_imitation.py \
	compress/test_students.py \
	interop/test_families.py interop/test_hugging_face.py core/test_config.py core/test_numbers.py)
BACKEND_TESTS += tests/benchmarks/test_jax_training.py tests/plugins/explain/test_attention_parity.py

# On each version: every module, the wheel, and a tiny job from text to an answer.
SHORT_TESTS := tests/test_imports.py tests/test_package.py \
	$(addprefix tests/test_end_to_end.py::test_, every_step_runs_and_the_models_learn the_pushed_folder_is_complete \
	predict_answers_from_the_pushed_file)

# Tests that take minutes, or need data or programs of others; targets of their own run them.
SPECIAL := slow or long or accelerators or clients or servers or web or kotlin or swift or processors or mlflow or transformers or search or s3 or gcs or prism or dask or slurm or orchestrators or image or workers or native

.PHONY: help setup other-python run test test-short test-corruption test-crashes run-short-tests versions test-long test-backends test-clients test-servers test-transformers test-mlflow test-search test-accelerators test-workers test-s3 test-gcs test-prism test-dask test-web test-kotlin test-swift test-processors check docs wheel bench lock clean test-slurm test-compile test-image test-native

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 15

setup: $(READY) $(if $(CUDA),$(CUDA_LIBRARIES)) ## make the environment from the lock; PYTHON=python3.13 makes it again on another version; CUDA=1 adds CUDA

VERSION_OF = $(shell { $(1) -c 'import sys; print(*sys.version_info[:2])'; } 2>/dev/null)
ifneq ($(origin PYTHON),file)
ifneq ($(call VERSION_OF,$(PYTHON)),$(call VERSION_OF,$(BIN)/python))
$(LIBRARIES): other-python
endif
endif

$(LIBRARIES): requirements/main.lock
	$(PYTHON) -m venv --clear $(VENV)
	$(PIP) --require-hashes -r requirements/main.lock
	touch $@

# The project itself, so that its command runs from any folder.
$(READY): $(LIBRARIES) pyproject.toml
	$(PIP) --no-build-isolation --editable .
	touch $@

# TensorFlow's libraries of CUDA, some gigabytes; the rest of the lock is in the environment already.
$(CUDA_LIBRARIES): $(LIBRARIES) requirements/cuda.lock
	$(PIP) --require-hashes -r requirements/cuda.lock
	touch $@

# What the default job starts from, 84 MB.
$(CHECKPOINT): $(LIBRARIES) requirements/checkpoint.lock
	$(PIP) --require-hashes -r requirements/checkpoint.lock
	touch $@

run: $(READY) $(CHECKPOINT) ## the default job: from a checkpoint and text to blessed .tflite and .onnx
	$(BIN)/keras-bert-edge run

test: $(READY) ## the test suite, but what is marked slow or long, or needs the runtimes of others
	$(BIN)/python -m pytest -m "not ($(SPECIAL))" --numprocesses $(WORKERS)

test-short: ## a few tests on another version, in an environment of its own: PYTHON=python3.13
	@$(MAKE) --no-print-directory run-short-tests VENV=build/python$(subst $() ,.,$(call VERSION_OF,$(PYTHON)))

versions: ## the versions of Python that the locks hold for
	@echo $(VERSIONS)

run-short-tests: $(READY)
	$(BIN)/python -m pytest $(SHORT_TESTS)

test-long: $(READY) ## what takes minutes: every family through the steps, ladders, searches, comparisons
	$(BIN)/python -m pytest -m long --numprocesses $(WORKERS)

FILES := 10000
test-corruption: $(READY) ## corrupted files of every format, each read or refused in one line: FILES=300
	$(BIN)/python -m tests.robustness.corrupted_files --files $(FILES)

S3 := build/s3
JOB := tiny
KILLS := 100
ifeq ($(ROOT),s3)
test-crashes: JOB := toy
test-crashes: $(READY) $(S3)/.ready
	PYTHONPATH=$(CURDIR)/$(S3) $(BIN)/python -m tests.plugins.remote_roots.s3.crashes --job $(JOB) --kills $(KILLS)
else
test-crashes: $(READY) ## runs that are killed at random moments, with faults between starts: JOB=toy KILLS=1000, or ROOT=s3
	$(BIN)/python -m tests.robustness.crashes --job $(JOB) --kills $(KILLS)
endif

test-clients: $(READY) $(CLIENTS_READY) ## the files in the runtimes of others, in an environment of their own
	CLIENTS_PYTHON=$(CLIENTS_VENV)/bin/python $(BIN)/python -m pytest -m clients tests/clients

$(CLIENTS_READY): requirements/clients.lock
	$(PYTHON) -m venv --clear $(CLIENTS_VENV)
	$(CLIENTS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r $<
	touch $@

test-servers: $(READY) $(SERVERS_READY) ## a SavedModel, Triton's repository and FastAPI in servers, in an environment of their own
	SERVERS_PYTHON=$(CURDIR)/$(SERVERS_VENV)/bin/python $(BIN)/python -m pytest -m servers tests/clients tests/plugins/triton

$(SERVERS_READY): requirements/servers.lock
	$(PYTHON) -m venv --clear $(SERVERS_VENV)
	$(SERVERS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r $<
	touch $@

test-transformers: $(READY) ## what is written for transformers, in an interpreter that has it and torch: TRANSFORMERS_PYTHON=...
	@test -n "$$TRANSFORMERS_PYTHON" || { echo "make test-transformers needs TRANSFORMERS_PYTHON, an interpreter with torch and transformers" >&2; exit 1; }
	$(BIN)/python -m pytest -m transformers tests/keras_bert/interop

test-s3: $(READY) $(S3)/.ready ## roots and data in a server of S3 on loopback: MINIO=/usr/local/bin/minio instead of moto
	PYTHONPATH=$(CURDIR)/$(S3) $(BIN)/python -m pytest -m s3 tests/plugins/remote_roots/s3

$(S3)/.ready: requirements/s3.lock $(LIBRARIES)
	rm -rf $(S3)
	$(PIP) --require-hashes --target $(S3) -r $<
	touch $@

GCS := build/gcs
# The newest version of Go's module when the test was written.
GCS_SERVER := build/gcs-server/fake-gcs-server

test-gcs: $(READY) $(GCS)/.ready $(GCS_SERVER) ## a root in a fake server of Google Cloud Storage on loopback (needs go)
	GCS_SERVER=$(CURDIR)/$(GCS_SERVER) PYTHONPATH=$(CURDIR)/$(GCS) $(BIN)/python -m pytest -m gcs tests/plugins/remote_roots/gcs

$(GCS)/.ready: requirements/gcs.lock $(LIBRARIES)
	rm -rf $(GCS)
	$(PIP) --require-hashes --target $(GCS) -r $<
	touch $@

$(GCS_SERVER):
	@command -v go >/dev/null || { echo "make test-gcs needs go, to build a server" >&2; exit 1; }
	GOBIN=$(CURDIR)/$(dir $(GCS_SERVER)) go install github.com/fsouza/fake-gcs-server@v1.56.1

MLFLOW := build/mlflow
test-mlflow: $(READY) $(MLFLOW)/.ready ## a run in MLflow, and the pushed model as a pyfunc
	PYTHONPATH=$(CURDIR)/$(MLFLOW) $(BIN)/python -m pytest -m mlflow tests/plugins/mlflow

# Beside the environment, which stays as it is locked.
$(MLFLOW)/.ready: requirements/mlflow.lock $(LIBRARIES)
	rm -rf $(MLFLOW)
	$(PIP) --require-hashes --target $(MLFLOW) -r $<
	touch $@

SEARCH := build/search
test-search: $(READY) $(SEARCH)/.ready ## searches for settings with Optuna
	PYTHONPATH=$(CURDIR)/$(SEARCH) $(BIN)/python -m pytest -m search tests/plugins/search

ACCELERATORS := build/accelerators
test-accelerators: $(READY) $(ACCELERATORS)/.ready ## files in the compilers and engines of accelerators; the GPU's needs a driver of Vulkan
	PYTHONPATH=$(CURDIR)/$(ACCELERATORS) $(BIN)/python -m pytest -m accelerators tests/plugins/accelerators tests/plugins/coreml tests/plugins/open_labels

# Beside the environment, which stays as it is locked.
$(ACCELERATORS)/.ready: requirements/accelerators.lock $(LIBRARIES)
	rm -rf $(ACCELERATORS)
	$(PIP) --require-hashes --target $(ACCELERATORS) -r $<
	touch $@

# Beside the environment, which stays as it is locked.
$(SEARCH)/.ready: requirements/search.lock $(LIBRARIES)
	rm -rf $(SEARCH)
	$(PIP) --require-hashes --target $(SEARCH) -r $<
	touch $@

BEAM = $(shell sed -n 's/^apache-beam==\([0-9.]*\).*/\1/p' requirements/main.lock)
test-prism: $(READY) build/prism/prism ## the data part of a job on Beam's Prism (needs go)
	PRISM=$(CURDIR)/build/prism/prism $(BIN)/python -m pytest -m prism tests/components/beam

build/prism/prism: requirements/main.lock
	@command -v go >/dev/null || { echo "make test-prism needs go" >&2; exit 1; }
	GOBIN=$(CURDIR)/build/prism go install github.com/apache/beam/sdks/v2/go/cmd/prism@v$(BEAM)

DASK := build/dask
test-dask: $(READY) $(DASK)/.ready ## the data part of a job on Dask, with a worker that is killed
	DASK_PATH=$(CURDIR)/$(DASK) PYTHONPATH=$(CURDIR)/$(DASK) $(BIN)/python -m pytest -m dask tests/components/beam

# Beside the environment, which stays as it is locked.
$(DASK)/.ready: requirements/dask.lock $(LIBRARIES)
	rm -rf $(DASK)
	$(PIP) --require-hashes --target $(DASK) -r $<
	touch $@

test-workers: $(READY) ## a run in two processes that train together (TF_CONFIG), killed and started again
	$(BIN)/python -m pytest -m workers tests/pipeline

KOTLIN := build/kotlin
# LiteRT 2.2.0. Its library is only in Google's Maven repository, as an archive for Android; its sources compile without one.
LITERT_COMMIT := 145c7523ff08d5e57ab5c582141775eea47da9c7
LITERT_READY := $(if $(LITERT),build/litert/.ready)
test-kotlin: $(READY) $(KOTLIN)/.ready $(LITERT_READY) ## the tokenizers in Kotlin, and the example for Android (needs java and mvn), also against LiteRT with LITERT=https://github.com/google-ai-edge/LiteRT
	$(if $(LITERT),LITERT=$(CURDIR)/build/litert) KOTLIN=$(CURDIR)/$(KOTLIN) $(BIN)/python -m pytest -m kotlin tests/clients/kotlin tests/plugins/many_tasks tests/plugins/open_labels tests/plugins/static

build/litert/.ready: Makefile
	rm -rf build/litert && git init --quiet build/litert
	git -C build/litert remote add origin $(LITERT)
	git -C build/litert fetch --quiet --depth 1 --filter=blob:none origin $(LITERT_COMMIT)
	git -C build/litert checkout --quiet FETCH_HEAD -- litert/kotlin/src/main/kotlin
	touch $@

$(KOTLIN)/.ready: tests/clients/kotlin/pom.xml
	@command -v java mvn >/dev/null || { echo "make test-kotlin needs java and mvn" >&2; exit 1; }
	rm -rf $(KOTLIN)
	mvn -q -B -f $< dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/$(KOTLIN)
	touch $@

test-swift: $(READY) ## the tokenizers in Swift, against the library's, and the example for iOS
	@command -v swiftc >/dev/null || { echo "make test-swift needs swiftc" >&2; exit 1; }
	$(BIN)/python -m pytest -m swift tests/clients/swift tests/plugins/many_tasks tests/plugins/open_labels tests/plugins/static

test-native: $(READY) ## tokenizers and answers in C++, C, Rust and C#, with sanitizers and a million fuzzed inputs (needs g++, rustc and mcs)
	@for tool in g++ gcc rustc mcs mono; do command -v $$tool >/dev/null || { echo "make test-native needs $$tool" >&2; exit 1; }; done
	$(BIN)/python -m pytest -m "native and not slow" tests/plugins/native

test-slurm: $(READY) ## a job whose steps srun starts, on a Slurm cluster on loopback (needs slurmctld, slurmd and munge, Debian's apt)
	@PATH="$$PATH:/usr/sbin"; command -v slurmctld slurmd munged >/dev/null || { echo "make test-slurm needs slurmctld, slurmd and munge, of Debian's packages" >&2; exit 1; }
	$(BIN)/python -m pytest -m slurm tests/slurm

KUBEFLOW_READY := build/kubeflow/.ready
AIRFLOW_READY := build/airflow/.ready
# Of a version whose module can be had; the page that it embeds is not part of the module.
ARGO_MODULE := github.com/argoproj/argo-workflows/v4@v4.0.5
ARGO := build/argo/argo

test-compile: $(READY) $(KUBEFLOW_READY) $(AIRFLOW_READY) $(ARGO) ## compiled jobs in kfp's local runner, in Airflow, and through Argo's linter (needs go)
	KUBEFLOW_PYTHON=$(dir $(KUBEFLOW_READY))bin/python AIRFLOW_PYTHON=$(dir $(AIRFLOW_READY))bin/python ARGO=$(ARGO) \
		$(BIN)/python -m pytest -m orchestrators tests/plugins/compile/orchestrators

build/%/.ready: requirements/%.lock
	$(PYTHON) -m venv --clear build/$*
	build/$*/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r $<
	touch $@

$(ARGO):
	@command -v go >/dev/null || { echo "make test-compile needs go, to build Argo's linter" >&2; exit 1; }
	rm -rf build/argo && mkdir -p build/argo
	cp -r "$$(go mod download -json $(ARGO_MODULE) | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')" build/argo/source
	chmod -R u+w build/argo/source && mkdir -p build/argo/source/ui/dist/app && touch build/argo/source/ui/dist/app/index.html
	cd build/argo/source && go build -buildvcs=false -o ../argo ./cmd/argo
	rm -rf build/argo/source

IMAGE_READY := build/image/.ready
test-image: $(READY) $(IMAGE_READY) ## the Dockerfile's instructions in a folder, and linters (needs debootstrap and root)
	@PATH="$$PATH:/usr/sbin"; command -v debootstrap >/dev/null || { echo "make test-image needs debootstrap, of Debian's packages" >&2; exit 1; }
	LINTERS=$(dir $(IMAGE_READY))bin $(BIN)/python -m pytest -m image tests/image

AARCH64 := build/aarch64
test-processors: $(READY) $(AARCH64)/.ready ## the exported files on emulated processors of PCs and phones (needs qemu-user)
	@command -v qemu-x86_64 qemu-aarch64 >/dev/null || { echo "make test-processors needs qemu-x86_64 and qemu-aarch64, of Debian's qemu-user" >&2; exit 1; }
	$(BIN)/python -m pytest -m processors tests/plugins/processors

$(AARCH64)/.ready: plugins/processors/make_aarch64.sh requirements/main.lock $(LIBRARIES)
	$< $(AARCH64) $(BIN)/python requirements/main.lock

test-web: $(READY) $(WEB_READY) ## the files in node and in a Chromium, with the packages of others: transformers.js and more
	@test -n "$(CHROMIUM)" || { echo "make test-web needs a Chromium, found none; CHROMIUM=... names one" >&2; exit 1; }
	CHROMIUM="$(CHROMIUM)" $(BIN)/python -m pytest -m web $(WEB)/web tests/plugins/explain tests/plugins/open_labels

$(WEB_READY): $(WEB)/package.json $(WEB)/package-lock.json
	@command -v npm >/dev/null || { echo "make test-web needs node 20 with npm, found none" >&2; exit 1; }
	cd $(WEB) && npm ci
	touch $@

test-backends: $(JAX_READY) ## the tests of all that needs no TensorFlow, on JAX, where TensorFlow is not installed
	KERAS_BACKEND=jax $(JAX_VENV)/bin/python -m pytest -m "not slow" $(BACKEND_TESTS)

$(JAX_READY): requirements/jax.lock
	$(PYTHON) -m venv --clear $(JAX_VENV)
	$(JAX_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/jax.lock
	touch $@

check: $(READY) ## lint, format, types, import contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	test ! -d plugins || $(BIN)/mypy --package plugins
	$(BIN)/lint-imports

docs: $(READY) $(DOCS_READY) ## the site, build/docs/site/index.html; broken links and files of other servers fail
	$(BIN)/python -m docs.site build/docs
	$(DOCS_VENV)/bin/zensical build --strict --config-file build/docs/mkdocs.yml
	$(BIN)/python -m docs.site.check build/docs/site

$(DOCS_READY): requirements/docs.lock
	$(PYTHON) -m venv --clear $(DOCS_VENV)
	$(DOCS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r $<
	touch $@

wheel: $(READY) ## the package, build/wheel/keras_bert_edge-*.whl
	rm -rf build/lib build/wheel
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir build/wheel .

bench: $(READY) ## speed, ours and the peers' in one run
	$(BIN)/python -m benchmarks.inference

# A lock holds for all of $(VERSIONS) and each system. Every requirements/NAME.in gets one; `make lock UPGRADE=` keeps the
# versions that are locked.
UPGRADE := --upgrade
COMPILE := build/lock/bin/uv pip compile --quiet --universal --python-version $(firstword $(VERSIONS)) \
	--generate-hashes --no-header $(UPGRADE)

lock: ## resolve the dependencies anew
	$(PYTHON) -m venv --clear build/lock
	build/lock/bin/python -m pip install --quiet uv
	$(COMPILE) --extra dev --output-file requirements/main.lock pyproject.toml
	for input in requirements/*.in; do $(COMPILE) --output-file $${input%.in}.lock $$input || exit 1; done
	sed -n 's/^checkpoint = \["\(.*\)"\]$$/\1/p' pyproject.toml \
		| $(COMPILE) --no-deps --no-annotate --output-file requirements/checkpoint.lock -

clean: ## remove the environment and caches, but no artifacts
	rm -rf $(VENV) $(JAX_VENV) $(CLIENTS_VENV) $(SERVERS_VENV) $(DOCS_VENV) $(WEB)/node_modules build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
