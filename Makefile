# `make` alone lists the targets. Nothing has to be prepared: each target sets up what it needs.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# tmux shows other signs than ASCII only under a UTF-8 locale.
export LC_ALL := C.UTF-8

# A city of the person who calls make must not leak into what is tested.
unexport GC_CITY GC_SESSION_NAME GC_SESSION_ID GC_TEMPLATE GC_INSTANCE_TOKEN TMUX TMUX_PANE

VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
PYTEST := $(PY) -m pytest
JOBS ?= 2
FUZZ_MINUTES ?= 1
PAIRS ?= 0/40
THREES ?= 100
SIM_YEARS ?= 10
SIM_SEED ?= 0
MUTANT_SEED ?= 0

.PHONY: help setup demo test test-slow test-matrix test-lives nightly-interleavings faults nightly-faults simulate nightly-simulate nightly check format fuzz bench mutants mutants-sample breaks conformance lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## make .venv from the lock, install the package, see to tmux

$(READY): requirements-dev.lock pyproject.toml scripts/setup scripts/ensure-tmux
	@scripts/setup $(VENV)
	@touch $(READY)

demo: $(READY) ## watch a real session fall asleep, stay asleep and wake
	@$(PY) -m gascity.testing.demo

test: $(READY) ## run the fast tests
	@$(PYTEST) -n $(JOBS) --dist loadfile -m 'not slow' tests

test-slow: test-matrix test-lives ## run the slow tests: every interleaving, then real parts

test-matrix: $(READY) ## every cut of a drain, every arrival, every outcome, in virtual time
	@PAIRS=$(PAIRS) $(PYTEST) -n $(JOBS) --dist worksteal -m slow tests/interleavings

nightly-interleavings: $(READY) ## every pair with every fault, and one part of all threes (hours)
	@$(PY) -m tests.interleavings walk --arrivals 2 --faults --jobs $(JOBS)
	@$(PY) -m tests.interleavings walk --arrivals 3 --part $$(date +%j)/$(THREES) --jobs $(JOBS)

test-lives: $(READY) ## whole lives of cities on real tmux, disks and processes
	@$(PYTEST) -n $(JOBS) --dist loadfile -m slow --ignore tests/interleavings tests

faults: $(READY) ## break disk, tmux, clock, files; kill the controller (some minutes)
	@$(PYTEST) -s tests/faults

nightly-faults: $(READY) ## the same for hours: thousands of kills, 100,000 power cuts
	@KILL_CYCLES=2000 POWER_LIVES=30 POWER_IMAGES=4000 $(PYTEST) -s --timeout 60000 tests/faults

simulate: $(READY) ## ten controller-years of random cities in virtual time (SIM_YEARS, SIM_SEED)
	@$(PY) -m gascity.testing.simulator --years $(SIM_YEARS) --seed $(SIM_SEED) --jobs $(JOBS)

nightly-simulate: $(READY) ## five hundred of them, other ones every day
	@$(MAKE) --no-print-directory simulate SIM_YEARS=500 SIM_SEED=$$(date +%y%m%d000)

nightly: nightly-interleavings nightly-faults nightly-simulate ## everything that takes hours

check: $(READY) ## lint, formatting, types
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy

format: $(READY) ## put the code in the house format
	@$(PY) -m ruff check --fix-only --quiet .
	@$(PY) -m ruff format .

fuzz: $(READY) ## feed every reader hostile inputs for FUZZ_MINUTES (1)
	@$(PY) -m tests.security.fuzz --minutes $(FUZZ_MINUTES)

bench: $(READY) ## measure; prints a Markdown table
	@$(PY) -m tests.bench

mutants: $(READY) ## break decide/ in every place and see whether a test notices (an hour)
	@$(PY) -m tests.mutants decide

mutants-sample: $(READY) ## two hundred of them, drawn by MUTANT_SEED, in minutes
	@$(PY) -m tests.mutants decide --sample 200 --seed $(MUTANT_SEED) --jobs $(JOBS)

breaks: $(READY) ## one edit each in 24 lines of decide/ and act/, drawn by MUTANT_SEED
	@$(PY) -m tests.mutants decide act --lines 24 --seed $(MUTANT_SEED) --floor 100 --jobs $(JOBS)

conformance: $(READY) ## write docs/conformance.md from the tests
	@$(PY) -m tests.conformance

lock: ## resolve the dependencies again, with hashes and without addresses
	@scripts/lock

clean: ## remove what was made here, .venv included
	@rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
