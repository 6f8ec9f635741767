"""Build an sdist, a wheel from it, install the wheel in an empty environment, and use it away from the checkout."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "packaging"))

from run_program import run_or_exit  # noqa: E402


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="topicx-wheel-") as name:
        place = Path(name)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
        source = "import setuptools.build_meta as b, sys; print(b.build_sdist(sys.argv[1]))"
        run_or_exit(*pip, "install", "--quiet", "setuptools>=77", "Cython>=3.1", "numpy>=2", cwd=place)
        run_or_exit(sys.executable, "-c", source, place / "sdist", cwd=ROOT)
        sdist = next((place / "sdist").glob("*.tar.gz"))
        run_or_exit(
            *pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", place / "wheel", sdist, cwd=place
        )
        wheel = next((place / "wheel").glob("*.whl"))
        run_or_exit(sys.executable, "-m", "venv", place / "empty", cwd=place)
        python = place / "empty" / "bin" / "python"
        run_or_exit(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, cwd=place)
        topicx = place / "empty" / "bin" / "topicx"
        for text in ("Commands:", "train"):
            assert text in run_or_exit(topicx, "--help", cwd=place)
        home = run_or_exit(
            python, "-c", "import topicx, topicx.cli, topicx.datasets; print(topicx.__file__)", cwd=place
        )
        assert str(place) in home, f"the checkout was imported: {home}"
        run_or_exit(topicx, "demo", "-o", place / "demo", "--quiet", cwd=place)
        print(f"installed {wheel.name} from its sdist in an empty environment, and ran the demo there")


if __name__ == "__main__":
    main()
