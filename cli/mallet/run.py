"""topicx mallet run CLASS …: the classes of MALLET's that scripts run by name."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from topicx.cli.common import check_outputs
from topicx.cli.mallet.arguments import Command, Option, Parsed, file, parse
from topicx.cli.mallet.import_file import texts
from topicx.cli.mallet.importing import all_lines
from topicx.cli.mallet.info import feature_counts, shown
from topicx.cli.mallet.instances import SOURCE, Instances, data, load
from topicx.cli.mallet.pipe import Rule, read_rules, replaced
from topicx.corpus.corpus import Corpus
from topicx.errors import InputError
from topicx.files.container import atomic_output
from topicx.interop import read_state
from topicx.strings import Strings


def lengths(parsed: Parsed) -> None:
    """The number of tokens of each document, one a line."""
    path = parsed.need("input", "the instances")
    instances = load(path)
    if not instances.is_sequence:
        raise InputError(
            f"{path}: DocumentLengths is only applicable to sequences (use --keep-sequence when importing)"
        )
    sys.stdout.write("".join(f"{length}\n" for length in instances.corpus.lengths.tolist()))


def frequencies(parsed: Parsed) -> None:
    """What `info --print-feature-counts` prints."""
    sys.stdout.writelines(feature_counts(load(parsed.need("input", "the instances"))))


def from_state(parsed: Parsed) -> None:
    """The instances of a state file; the sources are their names, where it has them."""
    path = parsed.need("input", "the state file")
    check_outputs([parsed["output"]])
    state = read_state(path)
    named = [name != str(at) for at, name in enumerate(state.ids)]
    columns = {SOURCE: state.ids} if any(named) else {}
    corpus = Corpus(
        words=state.words, offsets=state.offsets, vocabulary=state.vocabulary, columns=dict(columns),
        ids=Strings.of(name if known else "null" for name, known in zip(state.ids, named)),
    )  # fmt: skip
    Instances(corpus).save(parsed["output"])


def print_instances(arguments: Sequence[str]) -> None:
    """Name, target and data of each document."""
    if len(arguments) != 1:
        raise InputError("mallet run cc.mallet.util.InstanceListPrinter: give one FILE of instances")
    instances = load(arguments[0])
    for d in range(len(instances)):
        sys.stdout.write(
            f"Name: {instances.corpus.ids[d]}\nTarget: {shown(instances, d)}\nData: {data(instances, d)}\n"
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
            for batch in texts(parsed, path):
                labels = batch.labels or ["null"] * len(batch.names)
                for name, label, text in zip(batch.names, labels, batch.texts):
                    stream.write(f"{name}\t{label}\t{replaced(text, rules)}\n")


_INPUT = file("input", "The instances; - is standard input.")
PROGRAMS = (
    Command("run DocumentLengths", "cc.mallet.util.DocumentLengths", "print the documents' lengths", (_INPUT,),
            lengths),
    Command("run FeatureCountTool", "cc.mallet.util.FeatureCountTool", "print words and their frequencies", (_INPUT,),
            frequencies),
    Command("run StateToInstances", "cc.mallet.util.StateToInstances", "make instances of a state file", (
        file("input", "The state file."),
        file("output", "The instances to write.", "mallet.data"),
    ), from_state),
    Command("run Replacer", "cc.mallet.util.Replacer", "replace and delete words in files of lines", (
        Option("input", "strings", None, "The files to read."),
        file("output", "The file to write.", "mallet.data"),
        Option("replacement-files", "strings", None, "Files of replacements."),
        Option("deletion-files", "strings", None, "Files of deletions."),
        Option("line-regex", "string", r"^([^\t]*)\t([^\t]*)\t(.*)", "A Java pattern of a line."),
        Option("name", "integer", 1, "The group of the name; 0: there is none.", low=0),
        Option("label", "integer", 2, "The group of the label; 0: there is none.", low=0),
        Option("data", "integer", 3, "The group of the text.", low=1),
    ), replace_words),
)  # fmt: skip
PRINTER = "cc.mallet.util.InstanceListPrinter"


def run(arguments: Sequence[str], commands: Sequence[Command]) -> None:
    """Run the command or program of this class; another class is refused by its name."""
    if not arguments or arguments[0].startswith("--"):
        raise InputError("mallet run: give the name of a class, such as cc.mallet.util.DocumentLengths")
    name, *rest = arguments
    if name == PRINTER:
        print_instances(rest)
        return
    for command in (*PROGRAMS, *commands):
        if command.owner == name:
            parsed = parse(command, rest)
            if parsed["help"]:
                print(command.usage())
            else:
                command.run(parsed)
            return
    known = sorted({PRINTER, *(command.owner for command in (*PROGRAMS, *commands))})
    raise InputError(f"mallet run: {name} is a Java class, which topicx has nothing for; it has {', '.join(known)}")
