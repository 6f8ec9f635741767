"""topicx mallet info, prune, split, infer-topics and evaluate-topics: what is done with instance lists and topics."""

from __future__ import annotations

import math
import secrets
import sys

from topicx.cli.common import check_outputs, print_note
from topicx.errors import InputError
from topicx.files.container import atomic_output
from topicx.interop import mallet_write as write
from topicx.interop.mallet_numbers import fixed_decimals, java_double
from topicx.mallet.instance_changes import PRUNING, changed_instances, split_instances
from topicx.mallet.instance_lists import load_instances, load_sequences
from topicx.mallet.instance_views import asked_views
from topicx.mallet.mallet_files import load_topics
from topicx.mallet.mallet_inference import inferred_shares, known_documents, log_probabilities
from topicx.mallet.option_language import Parsed
from topicx.state import State


def info(parsed: Parsed) -> None:
    asked = {name for name in parsed.given if name.startswith("print-") and parsed[name] not in (False, 0)}
    if not asked:
        names = ", ".join(f"--{option.name}" for option in parsed.command.options if option.name.startswith("print-"))
        raise InputError(f"mallet info: say what to print: {names}")
    matrix = parsed["print-matrix"]
    if len(matrix) != 3 or matrix[0] not in "as" or matrix[1] not in "bi" or matrix[2] not in "nwce":
        raise InputError(f"--print-matrix: {matrix!r} is not of the form (a|s)(b|i)(n|w|c|e)")
    instances = load_instances(parsed["input"])
    for lines in asked_views(instances, parsed, asked):
        sys.stdout.write(lines)


def prune_or_split(parsed: Parsed) -> None:
    name = f"mallet {parsed.command.name}"
    training, validation = parsed["training-portion"], parsed["validation-portion"]
    testing = 1 - validation - training
    pruning = [option for option in PRUNING if option in parsed.given]
    changing = [option for option in ("vector-to-sequence", "hide-targets", "reveal-targets") if parsed[option]]
    splitting = training != 1.0 or validation != 0.0
    if testing < -1e-9:
        raise InputError(f"--training-portion, --validation-portion: {training:g} and {validation:g} are more than 1")
    if pruning and splitting:
        raise InputError(f"--{pruning[0]}: words are dropped before documents are parted: {name} twice, please")
    if parsed["hide-targets"] and parsed["reveal-targets"]:
        raise InputError("--hide-targets and --reveal-targets undo each other: give one of them")
    output = parsed["output"] if "output" in parsed.given else None
    if (pruning or changing) and not splitting and not output:
        output = parsed["training-file"] if "training-file" in parsed.given else None
        if not output:
            raise InputError(f"{name}: You must specify a file to write to, using --output [filename]")
    files = [parsed["training-file"], parsed["testing-file"], parsed["validation-file"]] if splitting else []
    check_outputs([output, *files] if not splitting else files)
    for label, value in (("Training portion", training), ("Validation portion", validation),
                         ("Testing portion", testing)):  # fmt: skip
        print_note(f"{label} = {java_double(value)}")
    print_note(f"Prune info gain = {parsed['prune-infogain']}\nPrune count = {parsed['prune-count']}\n"
        f"Prune df = {parsed['prune-document-freq']}\n"
        f"idf range = {java_double(parsed['min-idf'])}-{java_double(parsed['max-idf'])}")  # fmt: skip
    instances = load_instances(parsed["input"])
    seed = parsed["random-seed"] if "random-seed" in parsed.given else secrets.randbits(31)
    instances = changed_instances(instances, parsed, seed, print_note, say_nothing if output == "-" else print)
    if splitting:
        for part, path in zip(split_instances(instances, (training, testing, validation), seed), files):
            if len(part):
                print_note(f"Writing instance list to {path}")
                part.save(path)
        return
    if not (pruning or changing):
        print_note(f"{name} was invoked, but did not change anything")
        output = output or parsed["training-file"]
    print_note(f"Writing instance list to {output}")
    instances.save(str(output))


def say_nothing(_: str) -> None:
    """Say nothing: standard output is taken."""


def infer_topics(parsed: Parsed) -> None:
    path = parsed.need("inferencer", "what train-topics --inferencer-filename wrote")
    source = parsed.need("input", "the instances, made with --use-pipe-from")
    if not (parsed["output-doc-topics"] or parsed["output-state"]):
        raise InputError("mallet infer-topics: give --output-doc-topics FILE, or --output-state FILE")
    check_outputs([parsed["output-doc-topics"], parsed["output-state"]])
    model = load_topics(path)
    write.check_writable(model, "--inferencer")
    instances = load_sequences(source)
    corpus = instances.corpus
    # The generator that MALLET keeps in the inferencer makes repeated calls agree; so does its seed.
    seed = parsed["random-seed"] or int((model.meta.get("mallet") or {}).get("seed", 1))
    documents = known_documents(model, corpus)
    unknown = int(documents.unknown.sum())
    if unknown:
        print_note(
            f"note: {unknown:,} of {corpus.n_tokens:,} tokens are of words that the topics do not know; left out"
        )
    rows, z = inferred_shares(model, documents, parsed["num-iterations"], parsed["burn-in"], parsed["sample-interval"],
                    seed % 2**32)  # fmt: skip
    if parsed["output-doc-topics"]:
        threshold, most = parsed["doc-topics-threshold"], parsed["doc-topics-max"]
        threshold = threshold if threshold > 0 else -1.0 if parsed["mallet-version"] == "2.0.7" else 0.0
        batches = ((begin, rows[begin : begin + 1024]) for begin in range(0, len(rows), 1024))
        write.doc_topics(batches, corpus.ids, parsed["output-doc-topics"], threshold=threshold, most=most,
                         inferred=True)  # fmt: skip
    if parsed["output-state"]:
        state = State(
            words=documents.words, offsets=documents.offsets, z=z, alpha=model.alpha, beta=model.beta,
            vocabulary=model.vocabulary, ids=corpus.ids,
        )  # fmt: skip
        write.write_state(state, parsed["output-state"], instances.sources)


def evaluate_topics(parsed: Parsed) -> None:
    path = parsed.need("evaluator", "what train-topics --evaluator-filename wrote")
    source = parsed.need("input", "the instances, made with --use-pipe-from")
    check_outputs([parsed["output-doc-probs"], parsed["output-prob"]])
    model = load_topics(path)
    write.check_writable(model, "--evaluator")
    instances = load_sequences(source)
    seed = parsed["random-seed"]
    if seed == -1:
        seed = secrets.randbits(31)
        print_note(f"random seed: {seed}")
    show = _show_word if parsed["show-words"] else None
    values, unknown = log_probabilities(
        model, instances, parsed["num-particles"], parsed["use-resampling"], seed % 2**32, show
    )
    if unknown:
        tokens = instances.corpus.n_tokens
        print_note(
            f"note: {unknown:,} of {tokens:,} tokens are of words that the topics do not know; they count nothing"
        )
    if parsed["output-doc-probs"]:
        with atomic_output(parsed["output-doc-probs"], binary=False) as stream:
            stream.writelines(f"{java_double(value)}\n" for value in values.tolist())
    with atomic_output(parsed["output-prob"], binary=False) as stream:
        stream.write(f"{java_double(math.fsum(values.tolist()))}\n")


def _show_word(word: str, value: float) -> None:
    print(f"{word}\t{fixed_decimals(value, 6)}")
