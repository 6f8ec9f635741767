"""See that a wheel works in a system whose programs run slowly or lack pip: emulated ARM, musl, an old glibc.

    python packaging/check_foreign.py dist/topicx-….whl --system FOLDER --python /usr/bin/python3 --version 3.13 \\
        --platform manylinux_2_28_aarch64 [--quick]

FOLDER is the root of a system that has an interpreter: Debian's for arm64, where `qemu-user-static` is registered, or
one with musl. This machine's pip unpacks the wheel there, with the wheels of that platform that it needs. Then, in the
folder: every kernel is imported, the demo runs, the pinned fingerprints of small runs are compared. Needs root.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from check_wheel import IMPORT, ROOT
from run_program import run_or_exit


def unpack(wheel: Path, site: Path, given: argparse.Namespace) -> None:
    """The wheel and what it needs, in a folder, as the platform wants them."""
    shutil.rmtree(site, ignore_errors=True)
    digits = given.version.replace(".", "")
    platforms = [part for name in given.platform for part in ("--platform", name)]
    abis = [part for name in (f"cp{digits}", "abi3", "none") for part in ("--abi", name)]
    run_or_exit(
        sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-compile",
        "--only-binary", ":all:", "--target", site, "--python-version", given.version, "--implementation", "cp",
        *platforms, *abis, wheel, *([] if given.quick else ["pytest", "hypothesis"]), cwd=ROOT,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--system", type=Path, required=True, help="the root of the other system")
    parser.add_argument("--python", default="/usr/bin/python3", help="the interpreter within")
    parser.add_argument("--version", default="3.13", help="its version")
    parser.add_argument("--platform", nargs="+", required=True, help="what pip calls the platform; several are allowed")
    parser.add_argument("--quick", action="store_true", help="without the fingerprints")
    given = parser.parse_args()
    if os.geteuid():
        sys.exit("check_foreign.py: a chroot needs root")
    place = given.system.resolve() / "root" / "foreign"
    begun = time.monotonic()
    unpack(given.wheel.resolve(), place / "site", given)
    print(f"unpacked with what it needs in {time.monotonic() - begun:.0f} s", flush=True)
    shutil.rmtree(place / "tests", ignore_errors=True)
    shutil.copytree(ROOT / "tests", place / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    inside = {"PATH": "/usr/bin:/bin", "HOME": "/root", "LANG": "C.UTF-8", "PYTHONPATH": "/root/foreign/site"}
    steps = {
        "kernels": ("-c", IMPORT),
        "demo": ("-m", "topicx", "demo", "-o", "/root/foreign/demo", "--quiet"),
        "fingerprints": ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/properties/test_fingerprints.py"),
    }
    for name, arguments in steps.items():
        if name == "fingerprints" and given.quick:
            continue
        begun = time.monotonic()
        shutil.rmtree(place / "demo", ignore_errors=True)
        within = ("/bin/sh", "-c", 'cd /root/foreign && exec "$0" "$@"')
        done = subprocess.run(
            ["/usr/sbin/chroot", str(given.system), *within, given.python, *arguments],
            env=inside, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            sys.exit(f"{name} failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        last = (done.stdout.strip().splitlines() or [""])[-1]
        print(f"{name}: {time.monotonic() - begun:.1f} s  {last if name != 'demo' else ''}".rstrip(), flush=True)


if __name__ == "__main__":
    main()
