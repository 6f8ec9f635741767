"""topicx topics --merge --name --hide: a model's topics by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from topicx.cli.common import check_outputs, on_command_line, option, print_note, refuse_given, stack_options

if TYPE_CHECKING:
    from topicx.model import Model

options = stack_options(
    option("--merge", multiple=True, metavar="N,N,…", show_default=False,
           help="Make these topics one, which has the first one's number (repeatable; needs --output). FILE may be a "
           "state, too."),
    option("--name", "names", multiple=True, metavar="N=NAME", show_default=False,
           help="Give a topic a name, which outputs show (repeatable; N= takes it away)."),
    option("--hide", multiple=True, metavar="N,N,…", show_default=False,
           help="Leave topics out of all that is shown and written; their words stay theirs (repeatable)."),
    option("--edits", default=None, metavar="FILE", show_default=False,
           help="Names, notes and hidden topics that a report has saved (names.json)."),
    option("--name-by", "name_by", default=None, metavar="COMMAND", show_default=False,
           help="Ask a program for names: for each topic without one, COMMAND gets a line of JSON (words, distinctive "
           "words, snippets) and prints a name."),
    option("--dry-run", is_flag=True, show_default=False,
           help="--name-by: print what the program would get, and run nothing."),
    option("--output", "-o", default=None, metavar="FILE", show_default=False,
           help="--merge, --name, --hide, --edits, --name-by: the model (or the state) to write."),
)  # fmt: skip
NAMES = ("merge", "names", "hide", "edits", "name_by", "dry_run")


def edit_if_asked(
    path: str, merge: tuple[str, ...], names: tuple[str, ...], hide: tuple[str, ...], output: str | None,
    edits: str | None, name_by: str | None, dry_run: bool,
) -> bool:  # fmt: skip
    """Whether there is something to edit: then it has been done."""
    if not name_by:
        refuse_given(("dry_run",), "is for --name-by")
    if not (merge or names or hide or edits or name_by):
        refuse_given(("output",), "is for --merge, --name, --hide, --edits and --name-by")
        return False
    from topicx import model_registry as models
    from topicx.errors import InputError
    from topicx.estimate import topic_edits
    from topicx.files import container
    from topicx.model import Model

    context = click.get_current_context()
    further = [name for name in on_command_line(context) if name not in (*NAMES, "output", "model")]
    refuse_given(further, "does not go with --merge, --name, --hide, --edits and --name-by")
    if name_by and dry_run:
        _print_name_requests(Model.load(path))
        return True
    if output is None:
        raise InputError("--merge, --name, --hide, --edits, --name-by: give the file to write: --output FILE")
    check_outputs([output], [path, edits])
    groups = [_parse_topic_numbers("--merge", text) for text in merge]
    called = dict(_parse_topic_name(text) for text in names)
    away = [topic for text in hide for topic in _parse_topic_numbers("--hide", text)]
    if path != "-" and container.is_topicx(path) and container.kind_of(path) == "state":
        if called or away or edits or name_by:
            raise InputError("--name, --hide: are for a model; the topics of a state have numbers alone")
        _merge_topics_of_state(path, groups, output)
        return True
    found = Model.load(path)
    models.of_meta(found.meta).verify(found)
    model = topic_edits.edit_topics(found, groups, called, away)
    if edits:
        from topicx.report.name_edits import read_name_edits

        model = read_name_edits(edits, model.n_topics).applied(model)
    if name_by:
        from topicx.report.name_commands import named_by_command

        model = named_by_command(model, name_by, print_note)
    model.save(output)
    print_note(f"wrote {output}: {int(model.shown.sum())} topics of {model.n_topics} are shown")
    return True


def _merge_topics_of_state(path: str, groups: list[list[int]], output: str) -> None:
    """Write a state with topics merged."""
    from topicx import model_registry as models
    from topicx.estimate import topic_edits
    from topicx.state import State

    state = State.load(path)
    models.of_meta(state.meta).verify_state(state)
    changed = topic_edits.merged_state(state, topic_edits.targets_of(groups, state.n_topics))
    changed.parents = dict(state.parents) | {"state": state.digest}
    changed.save(output)
    print_note(f"wrote the state with {len(groups):,} merged topics to {output}")


def _print_name_requests(model: Model) -> None:
    """Print what a program would get for each topic."""
    from topicx.report.name_commands import unnamed_requests

    for request in unnamed_requests(model):
        click.echo(request)


def _parse_topic_numbers(name: str, text: str) -> list[int]:
    from topicx.errors import InputError

    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{name} {text!r}: is not a list of topics' numbers with commas between") from None


def _parse_topic_name(text: str) -> tuple[int, str]:
    from topicx.errors import InputError

    number, mark, name = text.partition("=")
    if not mark or not number.strip().isdecimal():
        raise InputError(f'--name {text!r}: is not NUMBER=NAME, as 4="school"')
    return int(number), name


__all__ = ["NAMES", "edit_if_asked", "options"]
