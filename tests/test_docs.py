"""No command without documentation, and no documentation that does not run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from tests.conftest import run_topicx
from topicx.cli import COMMANDS, cli

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))


def commands_of(name: str) -> list[click.Command]:
    command = cli.get_command(None, name)  # type: ignore[arg-type]
    assert command is not None
    return list(getattr(command, "commands", {}).values()) or [command]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_page_with_every_option(name: str) -> None:
    page = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    missing = [
        option.opts[0] if option.opts[0].startswith("--") else option.opts[-1]
        for command in commands_of(name)
        for option in command.params
        if isinstance(option, click.Option) and not any(spelling in page for spelling in option.opts)
    ]
    assert not missing, f"docs/{name}.md does not mention {', '.join(missing)}"


def test_pages_call_only_commands_and_options_that_exist() -> None:
    for page in [ROOT / "README.md", *PAGES]:
        for line in page.read_text(encoding="utf-8").splitlines():
            called = re.match(r"\s*(?:\$ )?topicx ([a-z]+)\b(.*)", line)
            if not called or "topicx " + called[1] + " is" in line:
                continue
            assert called[1] in COMMANDS, f"{page.name}: {line.strip()!r}"
            known = {"--help"}
            for command in commands_of(called[1]):
                for option in command.params:
                    known.update(option.opts + option.secondary_opts)
            for word in re.findall(r"(?<=\s)--[a-z][a-z-]+", called[2].split(" | ")[0]):
                assert word in known, f"{page.name}: {word} in {line.strip()!r}"


def test_no_page_has_gaps() -> None:
    for page in [ROOT / "README.md", *PAGES]:
        gaps = re.findall(
            r"to be (?:measured|filled)|TODO|TBD|\{\{|\b(?:FIGURES|WORTH)\b", page.read_text(encoding="utf-8")
        )
        assert not gaps, f"{page.name}: {gaps[0]}"


def test_links_between_pages_lead_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES]:
        text = re.sub(r"(?sm)```.*?```|`[^`]*`|^    .*?$", "", page.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def session(text: str) -> list[str]:
    """The topicx commands of the README's session: lines that begin with `$ topicx`."""
    return [line[2:] for line in text.splitlines() if line.startswith("$ topicx ")]


def test_the_readme_session_runs_and_prints_what_it_says(tmp_path: Path) -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").split("```\n")[1].splitlines()
    calls = session("\n".join(lines))
    assert len(calls) >= 5
    for call in calls:
        done = run_topicx(*shlex.split(call)[1:], cwd=tmp_path)
        assert done.returncode == 0, f"{call}: {done.stderr}"
        begin = lines.index(f"$ {call}") + 1
        end = next((i for i in range(begin, len(lines)) if lines[i].startswith("$ ")), len(lines))
        # Results (standard output) are the same everywhere; messages hold times.
        assert done.stdout.splitlines() == (lines[begin:end] if done.stdout else [])
