"""topicx mallet run CLASS …: the classes of MALLET's that scripts run by name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from topicx.cli.common import check_outputs
from topicx.cli.mallet.regression import LOADER, load_regression, train_regression
from topicx.errors import InputError
from topicx.files.container import atomic_output
from topicx.interop import read_state
from topicx.mallet.command_tables import COMMANDS, PROGRAMS
from topicx.mallet.instance_lists import instances_of_state, load_instances
from topicx.mallet.instance_views import feature_counts, shown_data, shown_target
from topicx.mallet.option_language import Parsed, parse_arguments
from topicx.mallet.text_import import all_lines, texts_of_lines
from topicx.mallet.text_pipe import Rule, read_rules, replace_text

PRINTER = "cc.mallet.util.InstanceListPrinter"


def lengths(parsed: Parsed) -> None:
    """The number of tokens of each document, one a line."""
    path = parsed.need("input", "the instances")
    instances = load_instances(path)
    if not instances.is_sequence:
        raise InputError(
            f"{path}: DocumentLengths is only applicable to sequences (use --keep-sequence when importing)"
        )
    sys.stdout.write("".join(f"{length}\n" for length in instances.corpus.lengths.tolist()))


def frequencies(parsed: Parsed) -> None:
    """What `info --print-feature-counts` prints."""
    sys.stdout.writelines(feature_counts(load_instances(parsed.need("input", "the instances"))))


def from_state(parsed: Parsed) -> None:
    """The instances of a state file; the sources are their names, where it has them."""
    path = parsed.need("input", "the state file")
    check_outputs([parsed["output"]])
    instances_of_state(read_state(path)).save(parsed["output"])


def print_instances(arguments: Sequence[str]) -> None:
    """Name, target and data of each document."""
    if len(arguments) != 1:
        raise InputError("mallet run cc.mallet.util.InstanceListPrinter: give one FILE of instances")
    instances = load_instances(arguments[0])
    for d in range(len(instances)):
        sys.stdout.write(
            f"Name: {instances.corpus.ids[d]}\nTarget: {shown_target(instances, d)}\nData: {shown_data(instances, d)}\n"
        )


def replace_words(parsed: Parsed) -> None:
    """Lines again, with replacements and deletions done."""
    inputs = parsed.need("input", "the files to read")
    check_outputs([parsed["output"]])
    rules: list[list[Rule]] = []
    for path in parsed["replacement-files"] or ():
        print(f"including replacements from {path}")
        rules.append(read_rules(path, False, all_lines))
    for path in parsed["deletion-files"] or ():
        print(f"including deletions from {path}")
        rules.append(read_rules(path, True, all_lines))
    with atomic_output(parsed["output"], binary=False) as stream:
        for path in inputs:
            for batch in texts_of_lines(parsed, path):
                labels = batch.labels or ["null"] * len(batch.names)
                for name, label, text in zip(batch.names, labels, batch.texts):
                    stream.write(f"{name}\t{label}\t{replace_text(text, rules)}\n")


RUNS = {
    "run DocumentLengths": lengths,
    "run FeatureCountTool": frequencies,
    "run StateToInstances": from_state,
    "run Replacer": replace_words,
    "run DMRTopicModel": train_regression,
}
"""By the name of the table."""


def run_class(arguments: Sequence[str], run_command: Callable[[Parsed], None]) -> None:
    """Run the command or program of this class; another class is refused by its name."""
    if not arguments or arguments[0].startswith("--"):
        raise InputError("mallet run: give the name of a class, such as cc.mallet.util.DocumentLengths")
    name, *rest = arguments
    if name == PRINTER:
        print_instances(rest)
        return
    if name == LOADER:
        load_regression(rest)
        return
    for command in (*PROGRAMS, *COMMANDS.values()):
        if command.owner == name:
            parsed = parse_arguments(command, rest)
            if parsed["help"]:
                print(command.usage())
            else:
                RUNS.get(command.name, run_command)(parsed)
            return
    known = sorted({PRINTER, LOADER, *(command.owner for command in (*PROGRAMS, *COMMANDS.values()))})
    raise InputError(f"mallet run: {name} is a Java class, which topicx has nothing for; it has {', '.join(known)}")
