# `make demo`, `make test`, `make package` and `make docs`: all that a fresh clone needs. Debian, Python 3.10 or later, python3-venv, no GPU.
# A machine whose pip offers no CPU build of torch downloads the CUDA one, some gigabytes. To avoid that:
#     make demo PIP_FLAGS="--extra-index-url https://download.pytorch.org/whl/cpu"

PYTHON    ?= python3
VENV      ?= .venv
PIP_FLAGS ?=
TORCH     := torch==2.13.0
TRITON    := triton==3.7.1

DOCS      := build/docs-venv
BIN   := $(VENV)/bin
READY := $(VENV)/.ready
ALL   := $(VENV)/.all-ready
CASE  := corpus/tma_misaligned/failing.py
REPRO := build/repro_tma_misaligned.py

.PHONY: demo test package docs seeds clean

demo: $(READY)
	mkdir -p build
	$(BIN)/shrink $(CASE) --arch sm_90 --oracle "misaligned address" --output $(REPRO) --restart

# Compiled first: the tests start hundreds of processes, and under PYTHONDONTWRITEBYTECODE each would compile all anew.
test: $(ALL)
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m compileall -q shrinkray_gpu
	$(BIN)/python .ci/tests.py

# Wheel and sdist, built and installed as a user does, beside older releases too.
package: $(READY)
	$(BIN)/python .ci/package.py $(TORCH) $(TRITON)

# The site, in build/site; a warning fails it, and a misspelt word. Its own environment: tests need none of it, and it
# needs no torch. What the tool wrote itself (ISSUE_*.md) has words of SASS.
docs: $(DOCS)/.ready
	$(DOCS)/bin/codespell --skip "ISSUE_*.md,*.png,*.svg" *.md docs .github action.yml mkdocs.yml
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict

$(DOCS)/.ready: pyproject.toml
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --editable ".[docs]"
	touch $@

# The five field notes end to end: what this machine can run, resumed where it ended. A GPU: see tests/seeds/README.md.
seeds: $(READY)
	$(BIN)/python -m tests.seeds.run

$(READY): pyproject.toml Makefile
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install $(PIP_FLAGS) $(TORCH) $(TRITON) --editable ".[dev]"
	touch $@

# Ray and MCP, too: 300 MB that the demo does not need.
$(ALL): $(READY)
	$(BIN)/python -m pip install $(PIP_FLAGS) $(TORCH) $(TRITON) --editable ".[dev,mcp,ray]"
	touch $@

clean:
	rm -rf $(VENV) build
