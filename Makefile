# Everything runs in a virtual environment in this checkout; `make setup` makes it, a second run is quick.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
REAL ?= $(if $(XDG_CACHE_HOME),$(XDG_CACHE_HOME),$(HOME)/.cache)/relight/real

.PHONY: setup demo record test test-real soak check fix docs bench clean

setup: $(VENV)/.ready

$(VENV)/.ready: requirements.lock pyproject.toml scripts/setup
	@sh scripts/setup "$(PYTHON)" "$(VENV)"

demo: setup
	@sh scripts/demo "$(BIN)/relight"

record: setup
	$(BIN)/python scripts/record

test: setup
	$(BIN)/pytest -m "not real and not soak"

test-real: setup
	sh scripts/real-env "$(PYTHON)" "$(REAL)"
	RELIGHT_REAL="$(REAL)" $(BIN)/pytest -m "real and not soak" tests/real

soak: setup
	$(BIN)/pytest -m "soak" -s --timeout 3600

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/relight playbook check
	$(BIN)/python scripts/docs.py --check

fix: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: setup
	$(BIN)/python scripts/docs.py
	$(BIN)/python -m pip install -q --disable-pip-version-check $(PIP_ARGS) -r requirements-docs.lock
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build -q
	@echo "the site is in site/; open site/index.html"

bench: setup
	$(BIN)/python benchmarks/planning.py
	$(BIN)/python benchmarks/planning_nameless.py
	$(BIN)/python benchmarks/judge.py
	$(BIN)/python benchmarks/diagnose.py --size 200M

clean:
	rm -rf $(VENV) site .mypy_cache .ruff_cache .pytest_cache
