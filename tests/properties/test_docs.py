"""No command without documentation, and no documentation that does not run."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

from tests.places import ROOT
from topicx.cli import COMMANDS, cli, mallet
from topicx.cli.reading import NAMES
from topicx.mallet.command_tables import COMMANDS as MALLET_TABLES

PAGES = sorted((ROOT / "docs").rglob("*.md"))
NAMED = {page.name: page for page in PAGES}
"""Pages by their names, which are unlike in all folders."""
INDEX = ROOT / "docs" / "index.md"


def commands_of(name: str) -> list[click.Command]:
    command = cli.get_command(None, name)  # type: ignore[arg-type]
    assert command is not None
    return list(getattr(command, "commands", {}).values()) or [command]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_page_with_every_option(name: str) -> None:
    page = (ROOT / "docs" / "reference" / "commands" / f"{name}.md").read_text(encoding="utf-8")
    elsewhere = NAMES if "[options of reading](import.md)" in page else ()  # the page of import has them
    if f"```{{command-options}} {name}\n" in page:
        return  # made from the declarations; `test_site.py` looks at the page that is made
    missing = [
        option.opts[0] if option.opts[0].startswith("--") else option.opts[-1]
        for command in commands_of(name)
        for option in command.params
        if isinstance(option, click.Option)
        and option.name not in elsewhere
        and not any(spelling in page for spelling in option.opts)
    ]
    assert not missing, f"docs/reference/commands/{name}.md does not mention {', '.join(missing)}"


def test_pages_call_only_commands_and_options_that_exist() -> None:
    for page in [ROOT / "README.md", *PAGES]:
        fenced = False
        for line in page.read_text(encoding="utf-8").splitlines():
            fenced ^= line.startswith("```")
            called = re.match(r"\s*(?:\$ )?topicx ([a-z]+)\b(.*)", line)
            if not called or not (fenced or line.startswith(("    ", "$ "))):
                continue  # prose may begin with the name
            assert called[1] in COMMANDS, f"{page.name}: {line.strip()!r}"
            known = {"--help"}
            for command in commands_of(called[1]):
                for option in command.params:
                    known.update(option.opts + option.secondary_opts)
            if called[1] == "mallet" and (name := called[2].split()[0]) in mallet.COMMANDS:
                known |= {f"--{option.name}" for option in MALLET_TABLES[name].options}
            for word in re.findall(r"(?<=\s)--[a-z][a-z-]+", called[2].split(" | ")[0]):
                assert word in known, f"{page.name}: {word} in {line.strip()!r}"


def linked_pages(page: Path) -> set[Path]:
    """The pages that a page has links to, or lists in its table of contents."""
    text = page.read_text(encoding="utf-8")
    listed = [f"{name}.md" for block in re.findall(r"(?s)```\{toctree\}\n(.*?)```", text) for name in block.split()]
    targets = [*re.findall(r"\]\(([^)#:]+\.md)", text), *listed]
    return {found for target in targets if (found := (page.parent / target).resolve()) in PAGES}


def test_every_page_is_two_links_from_the_index() -> None:
    near = linked_pages(INDEX)
    reached = near.union(*map(linked_pages, near))
    assert not [str(page) for page in PAGES if page not in reached | {INDEX}]
    assert len(NAMED) == len(PAGES), "two pages are called alike"


def test_pages_of_before_are_found_where_they_stand() -> None:
    lines = (ROOT / "docs" / "redirects.txt").read_text(encoding="utf-8").splitlines()
    moves = dict(line.split() for line in lines if not line.startswith("#"))
    for old, new in moves.items():
        assert (ROOT / "docs" / f"{new.partition('#')[0]}.md").exists(), f"{old} leads to {new}, which is no page"
    moves = {old: new for old, new in moves.items() if "#" not in old}  # the site's test knows anchors
    assert len(moves) > 40
    for old in moves:
        assert not (ROOT / "docs" / f"{old}.md").exists(), f"{old} is still a page"


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


WHOLE = {"README.md": ROOT / "README.md", "first-topics.md": NAMED["first-topics.md"]}
"""Pages whose sessions run as they stand: what they show is what is printed."""


def session(page: Path) -> list[tuple[str, list[str]]]:
    """The commands of a page's `console` blocks, each with the lines that are shown below it."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"(?ms)^```console\n(.*?)^```", page.read_text(encoding="utf-8")):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


@pytest.mark.parametrize("page", WHOLE)
def test_a_session_prints_what_the_page_shows(page: str, tmp_path: Path) -> None:
    calls = session(WHOLE[page])
    assert len(calls) >= 5 and any(shown for _, shown in calls)
    for call, shown in calls:
        done = typed(call, tmp_path)
        assert done.returncode == 0, f"{call}: {done.stderr}"
        if shown:  # results are the same everywhere; messages hold times, and pages show few of them
            assert shown in (done.stdout.splitlines(), done.stderr.splitlines()), call


# -- the commands of the pages ---------------------------------------------------------------------------------------

SHORTER = (
    (r"(?<=-k )\d+", "4"),
    (r"--iterations \d+", "--iterations 3"),
    (r"--documents \d+", "--documents 60"),
    (r"--samples 30 --lag 5", "--samples 2 --lag 1"),
    (r"--label-topics 20", "--label-topics 3 --label-sweeps 3"),
    (r"--checkpoint-interval \d+", "--checkpoint-interval 2"),
    (r"-t 17", "-t 1"),
)
"""What makes a page's command short, without changing what it says."""
PREPARE = """
topicx datasets texts -o texts.tsv -q
topicx import texts.tsv -o texts.corpus --collection-field collection --time-field year --remove-stopwords -q
topicx split texts.corpus -o texts --fractions 0.9,0.1 --names train,test -q
topicx train texts.train.corpus -k 4 --iterations 3 -o news.model --state news.state -q
topicx train texts.train.corpus -k 4 --iterations 3 --samples 2 --lag 1 -o new.model -q
topicx train texts.train.corpus -k 4 --iterations 4 -o old.model --state sample.2.state -q
topicx train texts.train.corpus --model medlda --target collection -k 4 --iterations 3 -o news.medlda -q
topicx export news.state --format mallet-state -o mallet-state.gz -q
topicx export news.state --format warplda -o train.z.estimate -q
topicx datasets texts -o new.jsonl --format jsonl -q
topicx export texts.corpus --format lines -o texts.txt -q
topicx export texts.test.corpus --format lines -o new.txt -q
echo one > seen.txt
echo "money: bank, interest, rates" > mine.keywords
echo "money: [bank, rates]" > mine.yaml
topicx train --model dependency texts.train.corpus --iterations 3 --label-sweeps 3 -o tags.model -q
"""
COPIES = {
    "news.corpus": "texts.train.corpus", "heldout.corpus": "texts.test.corpus", "new.corpus": "texts.test.corpus",
    "sample.1.state": "news.state", "reuters.corpus": "texts.corpus", "run.state": "news.state",
    "big.corpus": "texts.corpus", "news.tsv": "texts.tsv", "mean.model": "news.model",
}  # fmt: skip


def page_commands(page: Path) -> list[str]:
    """The topicx commands of a page: indented or behind `$`, without the words that explain them; no usage lines."""
    found = []
    for line in page.read_text(encoding="utf-8").splitlines():
        called = re.match(r"(?: {4,8}|\$ | {4,8}\$ )((?:topicx|zcat \S+ \| topicx) [a-z].*)", line)
        if called:
            command = re.split(r"   +| +#", called[1])[0]
            if not re.search(r"\b[A-Z]{3,}\b", command):  # `topicx info FILE` shows the form, not a call
                found.append(command)
    return found


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command line as a user would type it, made shorter."""
    for pattern, shorter in SHORTER:
        command = re.sub(pattern, shorter, command)
    return typed(command, folder)


def typed(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command line as a user would type it."""
    ours = f"{shlex.quote(sys.executable)} -m topicx"
    command = re.sub(r"(?:^|(?<=\| ))topicx ", ours + " ", command)
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, text=True, capture_output=True, timeout=120, check=False
    )  # fmt: skip


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the pages speak of."""
    folder = tmp_path_factory.mktemp("docs")
    for command in PREPARE.strip().splitlines():
        done = shell(command, folder)
        assert done.returncode == 0, f"{command}: {done.stderr}"
    for copy, original in COPIES.items():
        shutil.copy(folder / original, folder / copy)
    rows = [json.loads(line) for line in (folder / "new.jsonl").read_text(encoding="utf-8").splitlines()[:30]]
    (folder / "new.jsonl").write_text("".join(json.dumps({"body": row["text"]}) + "\n" for row in rows))
    (folder / "letters").mkdir()
    for number, row in enumerate(rows):
        (folder / "letters" / f"{number}.txt").write_text("\n".join([row["text"]] * 4), encoding="utf-8")
    with gzip.open(folder / "2026-01.txt.gz", "wt", encoding="utf-8") as out:
        out.write("\n".join(row["text"].replace("\n", " ") for row in rows) + "\n")
    return folder


@pytest.mark.parametrize("page", [page.name for page in PAGES if page_commands(page) and page.name not in WHOLE])
def test_the_commands_of_a_page_run(page: str, prepared: Path, tmp_path: Path) -> None:
    folder = tmp_path / "page"
    shutil.copytree(prepared, folder)
    for command in page_commands(NAMED[page]):
        if "--cluster" in command and find_spec("distributed") is None:
            continue  # the extra `cluster` is not installed
        if not command.startswith("topicx bench") and "benchmarks/" not in command:  # its own tests run it
            done = shell(command, folder)
            assert done.returncode == 0, f"{command}: {done.stderr}"
