"""The compiled kernels; everything else about the package stands in pyproject.toml.

TOPICX_DEBUG=1 builds the kernels with bounds checks, overflow checks and C assertions.
TOPICX_CFLAGS are more flags for the compiler, after ours (those of CFLAGS come before).
"""

import json
import os
import shutil
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.editable_wheel import editable_wheel


def stop(message: str) -> None:
    sys.exit(f"topicx: cannot build the kernels: {message}")


try:
    import numpy
    from Cython.Build import cythonize
except ImportError as missing:
    stop(f"{missing.name} is missing (pip installs it for an isolated build)")

if not Path(sysconfig.get_paths()["include"], "Python.h").exists():
    stop("Python.h was not found: install the Python headers (Debian and Ubuntu: python3-dev, Fedora: python3-devel)")

compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
if sys.platform != "win32" and not shutil.which(compiler) and not {"sdist", "egg_info"} & set(sys.argv):
    stop(f"there is no C compiler ({compiler}): install gcc or clang (Debian and Ubuntu: gcc), or name one by CC")

DEBUG = os.environ.get("TOPICX_DEBUG", "0") not in ("", "0")

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "cdivision": True,
    "embedsignature": True,
    "freethreading_compatible": True,
    "show_performance_hints": False,
}

# Contraction of a*b+c into one instruction would give other bits on other CPUs; strict IEEE arithmetic otherwise.
# Loops begin on a 32-byte boundary: where they fall else is chance, and worth 5% of a sweep of the dense kernel.
if sys.platform == "win32":
    FLAGS = ["/O2", "/fp:precise"]
else:
    FLAGS = ["-O1", "-g"] if DEBUG else ["-O3"]
    FLAGS += ["-std=c11", "-Wall", "-Wno-psabi", "-falign-loops=32"]
    FLAGS += ["-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
FLAGS += os.environ.get("TOPICX_CFLAGS", "").split()

KERNELS = Path("topicx/_kernels")
FOLDERS = sorted(path for path in KERNELS.iterdir() if path.is_dir() and path.name != "__pycache__")
HEADERS = [str(path) for pattern in ("*.h", "*.pxd") for folder in FOLDERS for path in sorted(folder.glob(pattern))]
kernels = sorted(KERNELS.rglob("*.pyx"))

# One binary for every CPython from 3.11 on. Builds without the GIL have no stable interface yet (Cython has none of
# PEP 803's), and checks of bounds are for this interpreter alone.
LIMITED = not DEBUG and not sysconfig.get_config_var("Py_GIL_DISABLED") and os.environ.get("TOPICX_ABI3", "1") != "0"
MACROS = [("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")]
MACROS += [] if DEBUG else [("NDEBUG", "1")]
MACROS += [("Py_LIMITED_API", "0x030B0000")] if LIMITED else []
extensions = [
    Extension(
        ".".join(source.with_suffix("").parts),
        [str(source)],
        include_dirs=[numpy.get_include(), *map(str, FOLDERS)],
        depends=HEADERS,
        extra_compile_args=FLAGS,
        define_macros=MACROS,
        py_limited_api=LIMITED,
    )
    for source in kernels
]

PLACES = {"topicx": "topicx", "topicx.cli": "cli", "topicx.datasets": "datasets"}
"""Packages that stand elsewhere than their names say; those within them follow."""
packages = {
    ".".join((name, *found.parent.relative_to(place).parts)): str(found.parent)
    for name, place in PLACES.items()
    for found in sorted(Path(place).rglob("__init__.py"))
}


class WheelWithBill(bdist_wheel):
    """A wheel that says what is in it (PEP 770: a software bill of materials, in CycloneDX's form): our code alone, for
    nothing of others is copied into it. It has no date and no number of its own, so that builds are repeated."""

    def write_wheelfile(self, wheelfile_base: str, *further: str, **named: str) -> None:
        super().write_wheelfile(wheelfile_base, *further, **named)
        about = self.distribution.metadata
        name, version = str(about.name), str(about.version)
        component = {
            "type": "library", "bom-ref": f"pkg:pypi/{name}@{version}", "name": name, "version": version,
            "purl": f"pkg:pypi/{name}@{version}", "licenses": [{"license": {"id": "MIT"}}],
        }  # fmt: skip
        needs = [{"ref": component["bom-ref"], "dependsOn": []}]
        bill = {
            "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "metadata": {"component": component},
            "components": [], "dependencies": needs,
        }  # fmt: skip
        folder = Path(wheelfile_base, "sboms")
        folder.mkdir(exist_ok=True)
        Path(folder, f"{name}.cdx.json").write_text(json.dumps(bill, indent=2) + "\n", encoding="utf-8")


FIRST = """\
import sys; sys.meta_path.sort(key=lambda one: not getattr(one, "__module__", "").startswith("__editable___topicx"))
"""


class EditableWheel(editable_wheel):
    """An installation of the checkout whose finder is asked before Python looks into folders: a clone called `topicx`
    in the folder that Python runs in would be taken for the package otherwise, an empty one."""

    def _select_strategy(self, *arguments, **named):
        strategy = super()._select_strategy(*arguments, **named)
        write = type(strategy).__call__

        class FinderFirst(type(strategy)):
            def __call__(self, wheel, files, mapping):
                write(self, wheel, files, mapping)
                wheel.writestr("topicx_editable.pth", FIRST)

        strategy.__class__ = FinderFirst
        return strategy


setup(
    cmdclass={"bdist_wheel": WheelWithBill, "editable_wheel": EditableWheel},
    packages=list(packages),
    package_dir=packages,
    ext_modules=cythonize(
        extensions,
        compiler_directives=DIRECTIVES,
        build_dir="build/cython-debug" if DEBUG else "build/cython",
        nthreads=0 if sys.platform == "win32" else os.cpu_count() or 1,
        quiet=True,
    ),
    options={
        "build_ext": {"parallel": os.cpu_count() or 1},
        **({"bdist_wheel": {"py_limited_api": "cp311"}} if LIMITED else {}),
    },
)
