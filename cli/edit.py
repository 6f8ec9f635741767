"""topicx topics --merge --name --hide: a model's topics by hand."""

from __future__ import annotations

import click

from topicx.cli.common import check_outputs, on_command_line, option, print_note, refuse_given, stack_options

options = stack_options(
    option("--merge", multiple=True, metavar="N,N,…", show_default=False,
           help="Make these topics one, which has the first one's number (repeatable; needs --output). FILE may be a "
           "state, too."),
    option("--name", "names", multiple=True, metavar="N=NAME", show_default=False,
           help="Give a topic a name, which outputs show (repeatable; N= takes it away)."),
    option("--hide", multiple=True, metavar="N,N,…", show_default=False,
           help="Leave topics out of all that is shown and written; their words stay theirs (repeatable)."),
    option("--output", "-o", default=None, metavar="FILE", show_default=False,
           help="--merge, --name, --hide: the model (or the state) to write."),
)  # fmt: skip
NAMES = ("merge", "names", "hide")


def edit_if_asked(
    path: str, merge: tuple[str, ...], names: tuple[str, ...], hide: tuple[str, ...], output: str | None
) -> bool:
    """Whether there is something to edit: then it has been done."""
    if not (merge or names or hide):
        refuse_given(("output",), "is for --merge, --name and --hide")
        return False
    from topicx import model_registry as models
    from topicx.errors import InputError
    from topicx.estimate import topic_edits
    from topicx.files import container
    from topicx.model import Model
    from topicx.state import State

    context = click.get_current_context()
    further = [name for name in on_command_line(context) if name not in (*NAMES, "output", "model")]
    refuse_given(further, "does not go with --merge, --name and --hide")
    if output is None:
        raise InputError("--merge, --name, --hide: give the file to write: --output FILE")
    check_outputs([output], [path])
    groups = [_parse_topic_numbers("--merge", text) for text in merge]
    called = dict(_parse_topic_name(text) for text in names)
    away = [topic for text in hide for topic in _parse_topic_numbers("--hide", text)]
    if path != "-" and container.is_topicx(path) and container.kind_of(path) == "state":
        if called or away:
            raise InputError("--name, --hide: are for a model; the topics of a state have numbers alone")
        state = State.load(path)
        models.of_meta(state.meta).verify_state(state)
        changed = topic_edits.merged_state(state, topic_edits.targets_of(groups, state.n_topics))
        changed.parents = dict(state.parents) | {"state": state.digest}
        changed.save(output)
        print_note(f"wrote the state with {len(groups):,} merged topics to {output}")
        return True
    found = Model.load(path)
    models.of_meta(found.meta).verify(found)
    model = topic_edits.edit_topics(found, groups, called, away)
    model.save(output)
    print_note(f"wrote {output}: {int(model.shown.sum())} topics of {model.n_topics} are shown")
    return True


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
