# Each target sets up what it needs in .venv; only Python 3.11.4 or newer and make are expected to be there.
# With another Python, in a place of its own: make test PYTHON=python3.13 VENV=.venv-3.13
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
AGENT ?= perfect
unexport PYTHONDONTWRITEBYTECODE  # as images of Docker set it: each of hundreds of Pythons would compile all anew

ifeq ($(origin PYTHON), command line)
OTHER := $(shell test ! -x $(BIN)/python || test "$$($(PYTHON) -V)" = "$$($(BIN)/python -V)" || $(BIN)/python -V)
ifneq ($(OTHER),)
$(error $(VENV) is of $(OTHER), not of $(PYTHON): remove it, or name another, as in VENV=.venv-other)
endif
endif

PYTEST = $(BIN)/python -m pytest --no-loadscope-reorder

.PHONY: submission install test long short quick check docs train-smoke clean

submission: $(VENV)/.installed-build  ## build and check submissions/submission.py (AGENT=name for another agent)
	$(BIN)/python build_submission.py $(AGENT) -o submissions/submission.py

install: $(VENV)/.installed  ## everything that the commands need

test: $(VENV)/.installed-dev $(VENV)/.installed-docs  ## what everyone runs: lint, types, and all tests but the long ones
	$(MAKE) --no-print-directory -j2 check short

long: $(VENV)/.installed-dev $(VENV)/.installed-docs  ## the rest: see tests/long_tests.txt
	$(PYTEST) -m long -n auto

quick: $(VENV)/.installed-dev  ## the tests that take no time: no browser, no training, no games of Kaggle's
	$(PYTEST) -m "not slow and not long" -n 2

short:
	$(PYTEST) -m "not long" -n auto

check: $(VENV)/.installed-dev  ## lint and types only
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy .

docs: $(VENV)/.installed-docs  ## the documentation site, in site/; a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

SMOKE := runs/smoke
train-smoke: $(VENV)/.installed  ## every method of train.py for a minute, from nothing: what it prints gets better
	rm -rf $(SMOKE)
	$(BIN)/python train.py labels --games 1000 --run $(SMOKE)/labels
	$(BIN)/python train.py network --labels $(SMOKE)/labels/labels.labels --layers dense:128 \
		--samples 400000 --run $(SMOKE)/network
	$(BIN)/python train.py leaf --labels $(SMOKE)/labels/labels.labels --samples 1000000 --run $(SMOKE)/leaf
	$(BIN)/python train.py imitate --games 2000 --steps 500 --run $(SMOKE)/imitate
	$(BIN)/python train.py policy-gradient --games 24000 --batch 500 \
		--opponent $(SMOKE)/imitate/strong_policy.bin --run $(SMOKE)/policy-gradient
	$(BIN)/python train.py value --steps 500 --further 4000 --opponent $(SMOKE)/imitate/strong_policy.bin \
		--policy $(SMOKE)/policy-gradient/policy_gradient.bin \
		--games $(SMOKE)/policy-gradient/games.bin --run $(SMOKE)/value
	$(BIN)/python train.py actor-critic --games 40000 --run $(SMOKE)/actor-critic
	$(BIN)/python train.py menace --games 2000 --test-games 1000 --run $(SMOKE)/menace
	$(BIN)/python train.py ppo --steps 128000 --run $(SMOKE)/ppo

clean:
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11, 4) and f"Python 3.11.4 or newer is needed, $(PYTHON) is {sys.version.split()[0]}")'
	$(PYTHON) -m venv $(VENV)

PIP := $(BIN)/python -m pip install -q --disable-pip-version-check
GROUP := $(PIP) "pip>=25.1" && $(PIP) -c requirements.txt --group  # an earlier pip cannot read those of pyproject.toml

$(VENV)/.installed-build: pyproject.toml requirements.txt | $(BIN)/python
	@echo "installing numba, kaggle-environments and others into $(VENV), half a gigabyte"
	$(GROUP) build
	$(BIN)/python -c 'import kaggle_environments' 2>/dev/null || $(PIP) --no-deps "$$(sed -n 's/^\(kaggle-environments[^ ]*\).*/\1/p' requirements.txt)"
	touch $@

$(VENV)/.installed: requirements.txt | $(BIN)/python
	@echo "installing torch, kaggle-environments and others into $(VENV), almost 3 GB: some minutes"
	$(PIP) -r requirements.txt
	touch $@ $(VENV)/.installed-build

$(VENV)/.installed-dev: pyproject.toml $(VENV)/.installed
	$(GROUP) dev
	touch $@

$(VENV)/.installed-docs: pyproject.toml $(VENV)/.installed
	$(GROUP) docs
	touch $@
