"""Install a wheel in a bare Debian without compiler, headers or git, and see that it works.

    python packaging/check_chroot.py dist/topicx-….whl --suite trixie [--architecture arm64] [--keep FOLDER]

Needs root, `mmdebstrap`, and for another architecture `qemu-user-static` with its binfmt entries. The folder holds
Debian's smallest system with Python and pip; then `check_wheel.py` runs in it: every kernel is imported, the demo runs,
the pinned fingerprints of small runs are compared. `--mirror` says where Debian's packages are. A system that is in the
folder already is taken as it is: an older Debian, with an interpreter of its own under /opt.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from run_program import run_or_exit

ROOT = Path(__file__).resolve().parents[1]
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
PACKAGES = "python3,python3-venv,python3-pip,ca-certificates"


def make_system(folder: Path, given: argparse.Namespace) -> None:
    """Debian's smallest system with Python in a folder, unless a system stands there already."""
    if (folder / "etc" / "debian_version").exists():
        return
    run_or_exit(
        "mmdebstrap", "--variant=minbase", f"--include={','.join([PACKAGES, *given.package])}",
        f"--architectures={given.architecture}", "--aptopt=Acquire::Check-Valid-Until \"false\"",
        *([f"--keyring={given.keyring}"] if given.keyring else []),
        given.suite, folder, given.mirror,
    )  # fmt: skip


def copy_sources(folder: Path, wheel: Path) -> None:
    """What the check needs, and nothing else of this machine."""
    place = folder / "root" / "check"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(ROOT / "tests", place / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "packaging", place / "packaging", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy2(ROOT / "pyproject.toml", place)
    shutil.copy2(wheel, place)
    shutil.copy2(CERTIFICATES, folder / "root" / "certificates.crt")
    shutil.copy2(Path("/etc/resolv.conf").resolve(), folder / "etc" / "resolv.conf")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--suite", default="trixie", help="Debian's release: trixie, forky, sid")
    parser.add_argument("--architecture", default="amd64", help="Debian's name of the architecture")
    parser.add_argument("--python", default="python3", help="the interpreter within")
    parser.add_argument("--package", nargs="*", default=[], help="further packages of Debian")
    parser.add_argument("--mirror", default="http://deb.debian.org/debian")
    parser.add_argument("--keyring", help="a folder with Debian's keys, where this system's are older")
    parser.add_argument("--keep", type=Path, help="make the system in this folder, or use the one that is there")
    parser.add_argument("--quick", action="store_true", help="without the fingerprints")
    given = parser.parse_args()
    if os.geteuid():
        sys.exit("check_chroot.py: a chroot needs root")
    with tempfile.TemporaryDirectory(prefix="topicx-chroot-") as name:
        folder = (given.keep or Path(name) / "system").resolve()
        make_system(folder, given)
        copy_sources(folder, given.wheel)
        inside = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root",
            "LANG": "C.UTF-8",
            "PIP_CERT": "/root/certificates.crt",
        }
        check = (
            "packaging/check_wheel.py",
            given.wheel.name,
            "--python",
            given.python,
            *(["--quick"] if given.quick else []),
        )
        begun = time.monotonic()
        done = subprocess.run(
            ["chroot", str(folder), "sh", "-c", 'cd /root/check && exec "$0" "$@"', given.python, *check],
            env=inside,
            check=False,
        )
        print(f"{given.suite} {given.architecture}: {time.monotonic() - begun:.0f} s, status {done.returncode}")
        sys.exit(done.returncode)


if __name__ == "__main__":
    main()
