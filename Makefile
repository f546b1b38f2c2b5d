# The commands of the repository. `make test` needs Python 3.11+, pip and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTEST_WORKERS ?= auto

.PHONY: install run docs test test-all test-postgres coverage compiled lint types layers format bench chaos audit sbom figures lock clean

install: $(STAMP)

# Python compiles a module when it is first imported; most modules of the packages never are.
$(STAMP): requirements.lock pyproject.toml setup.py client/pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable ./client --editable .
	touch $(STAMP)

run: install
	$(BIN)/plaudit serve

# Everything that a change usually breaks, in a few minutes. A file's tests share a process, and so
# its servers.
PYTEST := $(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist loadfile
test: compiled
	$(PYTEST) -m "not slow"

# The rest: long statistical runs, many crashes, a real browser.
test-all: test
	$(PYTEST) -m slow
	$(MAKE) test-postgres POSTGRES_TESTS="tests/storage tests/service tests/server/test_crash.py"
	$(PYTEST) -m slow --database postgres tests/server/test_crash.py

# The tests that touch the database once more, on a real PostgreSQL (a package from PyPI has it).
POSTGRES_TESTS ?= tests/storage tests/service tests/api tests/server
test-postgres: compiled
	$(PYTEST) -m "not slow" --database postgres $(POSTGRES_TESTS)

# Branch coverage of all tests. It doubles the time of numeric tests, so it is a target of its own.
coverage: compiled
	$(PYTEST) --cov --cov-report=term:skip-covered

# Compile the planners once, before each process of the tests would.
compiled: install
	$(BIN)/python -c 'from app.planning.warm_up import warm_up; warm_up()'

lint: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

# The client once more, for the oldest Python that it runs on.
types: install
	$(BIN)/mypy
	cd client && ../$(BIN)/mypy

layers: install
	$(BIN)/lint-imports

format: install
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: install
	$(BIN)/python -m benchmarks.planner
	$(BIN)/python -m benchmarks.logistic
	$(BIN)/python -m benchmarks.learning
	$(BIN)/python -m benchmarks.explore
	$(BIN)/python -m benchmarks.serving
	$(BIN)/python -m benchmarks.fairness
	PLAUDIT_SCHEMATHESIS_EXAMPLES=2500 $(BIN)/python -m pytest -q tests/api/openapi/test_schemathesis.py

# Ten minutes of kills and other faults under load. For longer: make chaos CHAOS="--hours 8"
chaos: compiled
	$(BIN)/python -m benchmarks.chaos $(CHAOS)

# Known vulnerabilities of what requirements.lock pins. Without network it says so, and passes.
audit: install
	.ci/audit

# The software bill of materials of this environment, in CycloneDX form.
sbom: install
	mkdir -p dist
	$(BIN)/python .ci/sbom.py > dist/plaudit.cdx.json

# Runs that are missing, then every figure of docs/figures and the tables beside them.
figures: install
	$(BIN)/python -m benchmarks.paper
	$(BIN)/python -m benchmarks.paper.figure --draw

# The documentation as a site, on http://127.0.0.1:8001.
docs: install
	$(BIN)/zensical serve --dev-addr 127.0.0.1:8001

lock:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade --upgrade-strategy eager --editable ./client --editable '.[postgres,simulate,dev]'
	$(BIN)/python -m pip freeze --all --exclude pip --exclude-editable > requirements.lock

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .coverage build dist *.egg-info client/build client/src/*.egg-info
