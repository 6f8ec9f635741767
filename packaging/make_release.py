"""Make the files of a release, see that they agree, and print its notes.

    python packaging/make_release.py 1.0.0 --date 2026-11-30    # writes the version wherever one stands
    python packaging/make_release.py --check [--tag v1.0.0]     # every place has the version of topicx/__init__.py
    python packaging/make_release.py --notes                    # the changelog's section of that version

The version comes from one place, `__version__` in topicx/__init__.py: the package, `topicx --version`, manual pages and
the site read it there. Files that no Python reads (a citation, recipes, the changelog's heading) are written here.
"""

from __future__ import annotations

import argparse
import datetime
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACES = {
    "topicx/__init__.py": r'(?m)^__version__ = "([^"]*)"$',
    "CITATION.cff": r"(?m)^version: (\S+)$",
    "packaging/conda/recipe.yaml": r'(?m)^  version: "([^"]*)"$',
    "packaging/homebrew/topicx.rb": r"topicx-([0-9][^/]*)\.tar\.gz",
    "CHANGELOG.md": r"(?m)^## (\S+?)(?:,| \()",
}
"""Where the version stands: the file, and a pattern whose group it is. In the changelog: that of the newest section."""
UNRELEASED = "not released yet"


def read_version(name: str, root: Path) -> str:
    """The version that a file has."""
    found = re.search(PLACES[name], (root / name).read_text(encoding="utf-8"))
    if found is None:
        sys.exit(f"{name}: no version was found in it")
    return found[1]


def check_versions(root: Path, tag: str | None) -> str:
    """The version, if every place (and the tag) has the same."""
    version = read_version("topicx/__init__.py", root)
    for name in PLACES:
        if (found := read_version(name, root)) != version:
            sys.exit(f"{name}: its version is {found}, that of topicx/__init__.py is {version}")
    if tag is not None and tag != f"v{version}":
        sys.exit(f"the tag is {tag}, the version {version}")
    return version


def section_of(version: str, root: Path) -> str:
    """What the changelog says of a version, without its heading."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    parts = re.split(r"(?m)^## (.*)$", text)[1:]
    for heading, body in zip(parts[::2], parts[1::2], strict=True):
        if re.match(rf"{re.escape(version)}(,| \()", heading):
            return body.strip() + "\n"
    sys.exit(f"CHANGELOG.md: no section of {version}")


def write_release(version: str, date: str, root: Path) -> None:
    """The version in every place, and the date where one belongs."""
    if not re.fullmatch(r"\d+\.\d+\.\d+(?:rc\d+)?", version):
        sys.exit(f"{version}: a version has three numbers, as 1.2.3 (or 1.2.3rc1)")
    if f", {UNRELEASED}" not in (root / "CHANGELOG.md").read_text(encoding="utf-8"):
        sys.exit(f"CHANGELOG.md: no section is '{UNRELEASED}'")
    for name, pattern in PLACES.items():
        path = root / name
        text = path.read_text(encoding="utf-8")
        old = re.search(pattern, text)
        if old is None:
            sys.exit(f"{name}: no version was found in it")
        text = text[: old.start(1)] + version + text[old.end(1) :]
        if name == "CHANGELOG.md":
            text = text.replace(f"## {version}, {UNRELEASED}", f"## {version} ({date})", 1)
        elif name == "CITATION.cff":
            text = re.sub(r"(?m)^date-released: .*\n", "", text)
            text = text.replace(f"version: {version}\n", f"version: {version}\ndate-released: {date}\n", 1)
        path.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", nargs="?", help="the version to write")
    parser.add_argument("--date", default=datetime.date.today().isoformat(), help="the day of the release")
    parser.add_argument("--check", action="store_true", help="see that every place has the same version")
    parser.add_argument("--tag", help="with --check: the tag that the release has")
    parser.add_argument("--notes", action="store_true", help="print the changelog's section")
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if (given.version is not None) + given.check + given.notes != 1:
        parser.error("say a version, --check or --notes")
    if given.version is not None:
        write_release(given.version, given.date, given.root)
    elif given.check:
        print(check_versions(given.root, given.tag))
    else:
        print(section_of(read_version("topicx/__init__.py", given.root), given.root), end="")


if __name__ == "__main__":
    main()
