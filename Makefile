# make demo    install everything, then run the demonstration on real input
# make test    install everything, then run all checks and tests on every Python of 3.11-3.15 that is available
# For daily use: make quick (under three minutes), make check, make fuzz, make bench, make venvs.

JOBS ?= 2
PYTEST_ARGS ?=

.PHONY: demo test quick check fuzz bench venvs

demo:
	@.ci/venvs first dev,xla >/dev/null
	@.venv/bin/python examples/demo.py

# Run the tests on every Python to the end, then fail if any of them failed.
test: venvs
	@failed=; \
	$(MAKE) --no-print-directory check || failed=check; \
	venvs=$$(.ci/venvs all dev,xla 2>/dev/null); \
	for venv in $$venvs; do \
	    echo "== $$($$venv/bin/python -V)"; \
	    HOVIS_SHARE=$$(echo "$$venvs" | grep -nx -- $$venv | cut -d: -f1)/$$(echo $$venvs | wc -w) \
	    $$venv/bin/python -m pytest -q -n $(JOBS) $(PYTEST_ARGS) || failed="$$failed $$venv"; \
	done; \
	[ -z "$$failed" ] || { echo "failed: $$failed"; exit 1; }

# Before each commit: the checks, and a quarter of the tests on one Python.
quick: check
	@.venv/bin/python -m pytest -q -n $(JOBS) --quick $(PYTEST_ARGS)

check:
	@.ci/venvs first dev,xla >/dev/null
	@status=0; \
	.venv/bin/ruff check . || status=1; \
	.venv/bin/mypy || status=1; \
	.venv/bin/lint-imports || status=1; \
	exit $$status

# Run random programs for ten minutes (FUZZ_SECONDS=36000 for a night); failures are written to .fuzz, and
# `python -m tests.differential.harness.shrinking .fuzz/*.json` shrinks them. Then test the laws of the lattice and the rows of the libraries.
FUZZ_SECONDS ?= 600
fuzz:
	@.ci/venvs first dev,xla >/dev/null
	@PYTHONHASHSEED=0 .venv/bin/python -m tests.differential.harness.fuzz --seconds $(FUZZ_SECONDS)
	@HYPOTHESIS_PROFILE=fuzz .venv/bin/python -m pytest -q -n $(JOBS) $(wildcard tests/lattice) $(PYTEST_ARGS)

# jax has an environment of its own, since jaxlib behaves differently where jax can be imported.
bench:
	@.ci/venvs first bench,xla .venv-bench >/dev/null
	@.venv-bench/bin/python benchmarks/run.py

venvs:
	@.ci/venvs all dev,xla >/dev/null
