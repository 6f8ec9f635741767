"""Build an sdist, a wheel from it, install the wheel in an empty environment, and use it away from the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def run(*command: str | Path, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, text=True, capture_output=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="topicx-wheel-") as name:
        place = Path(name)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
        source = "import setuptools.build_meta as b, sys; print(b.build_sdist(sys.argv[1]))"
        run(*pip, "install", "--quiet", "setuptools>=77", "Cython>=3.1", "numpy>=2", cwd=place)
        run(sys.executable, "-c", source, place / "sdist", cwd=ROOT)
        sdist = next((place / "sdist").glob("*.tar.gz"))
        run(*pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", place / "wheel", sdist, cwd=place)
        wheel = next((place / "wheel").glob("*.whl"))
        run(sys.executable, "-m", "venv", place / "empty", cwd=place)
        python = place / "empty" / "bin" / "python"
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, cwd=place)
        topicx = place / "empty" / "bin" / "topicx"
        for text in ("Commands:", "train"):
            assert text in run(topicx, "--help", cwd=place)
        home = run(python, "-c", "import topicx, topicx.cli, topicx.datasets; print(topicx.__file__)", cwd=place)
        assert str(place) in home, f"the checkout was imported: {home}"
        run(topicx, "demo", "-o", place / "demo", "--quiet", cwd=place)
        print(f"installed {wheel.name} from its sdist in an empty environment, and ran the demo there")


if __name__ == "__main__":
    main()
