"""topicx mallet prune and split: one program under two names, as in MALLET."""

from __future__ import annotations

import math
import secrets
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from topicx.cli.common import check_outputs, say
from topicx.cli.mallet.arguments import Command, Option, Parsed, file, flag
from topicx.cli.mallet.instances import Instances, load
from topicx.cli.mallet.words import by_gain, counts, information_gain, keep_words
from topicx.errors import InputError
from topicx.interop.mallet_numbers import java_double
from topicx.strings import Strings

PRUNING = ("prune-count", "prune-document-freq", "min-idf", "max-idf", "prune-infogain")


def run(parsed: Parsed) -> None:
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
        say(f"{label} = {java_double(value)}")
    say(f"Prune info gain = {parsed['prune-infogain']}\nPrune count = {parsed['prune-count']}\n"
        f"Prune df = {parsed['prune-document-freq']}\n"
        f"idf range = {java_double(parsed['min-idf'])}-{java_double(parsed['max-idf'])}")  # fmt: skip
    instances = load(parsed["input"])
    seed = parsed["random-seed"] if "random-seed" in parsed.given else secrets.randbits(31)
    instances = _changed(instances, parsed, seed, quiet=output == "-")
    if splitting:
        for part, path in zip(split(instances, (training, testing, validation), seed), files):
            if len(part):
                say(f"Writing instance list to {path}")
                part.save(path)
        return
    if not (pruning or changing):
        say(f"{name} was invoked, but did not change anything")
        output = output or parsed["training-file"]
    say(f"Writing instance list to {output}")
    instances.save(str(output))


def _changed(instances: Instances, parsed: Parsed, seed: int, quiet: bool) -> Instances:
    """What pruning and the other options make of them."""
    before = instances.corpus.n_words
    if {"prune-count", "prune-document-freq", "min-idf", "max-idf"} & parsed.given:
        if "prune-document-freq" in parsed.given and not quiet:
            print(f"min docs: {parsed['prune-document-freq']}")
        instances = keep_words(instances, within_limits(instances, parsed))
    if parsed["prune-infogain"] > 0:
        keep = np.zeros(instances.corpus.n_words, np.bool_)
        keep[by_gain(information_gain(instances), parsed["prune-infogain"])] = True
        instances = keep_words(instances, keep)
    if set(PRUNING) & parsed.given:
        say(f"features: {before} -> {instances.corpus.n_words}")
    if parsed["vector-to-sequence"] and not instances.is_sequence:
        instances = as_sequences(instances, seed)
    if parsed["hide-targets"] or parsed["reveal-targets"]:
        instances = replace(instances, hidden=parsed["hide-targets"])
    return instances


def within_limits(instances: Instances, parsed: Parsed) -> NDArray[np.bool_]:
    """Which words the limits on tokens and documents leave."""
    tokens, documents = counts(instances)
    least, most = 0, len(instances)
    if "prune-document-freq" in parsed.given:
        least = parsed["prune-document-freq"]
    if "max-idf" in parsed.given:
        least = math.floor(len(instances) * math.exp(-parsed["max-idf"]))
    if "min-idf" in parsed.given:
        most = math.ceil(len(instances) * math.exp(-parsed["min-idf"]))
    keep: NDArray[np.bool_] = (documents >= least) & (documents <= most)
    return keep & (tokens >= parsed["prune-count"]) if "prune-count" in parsed.given else keep


def as_sequences(instances: Instances, seed: int) -> Instances:
    """Tokens for the values of vectors, in a random order: a value of 2.5 is three tokens, one below 0 is none."""
    draw = np.random.default_rng(seed & 0xFFFFFFFF)
    documents = []
    for d in range(len(instances)):
        words, values = instances.vector(d)
        documents.append(draw.permutation(np.repeat(words, np.maximum(np.ceil(values), 0).astype(np.int64))))
    corpus = instances.corpus
    columns = {name: column for name, column in corpus.columns.items() if name != "mallet_values"}
    made = replace(
        corpus, words=np.concatenate([*documents, np.zeros(0, np.uint32)]).astype(np.uint32),
        offsets=np.concatenate([[0], np.cumsum([len(one) for one in documents])]).astype(np.int64),
        columns=columns, meta=dict(corpus.meta), digest="",
    )  # fmt: skip
    pipe = replace(instances.pipe, form="sequence", binary=False) if instances.pipe else None
    return replace(instances, corpus=made, form="sequence", pipe=pipe)


def split(instances: Instances, shares: tuple[float, float, float], seed: int) -> list[Instances]:
    """Shuffled documents, cut at the rounded running shares: the same parts as MALLET's for the same seed."""
    order = shuffled(len(instances), seed)
    ends = np.rint(np.cumsum(np.array(shares) / sum(shares)) * len(instances)).astype(np.int64)
    bounds = [0, *np.maximum.accumulate(ends).tolist()]
    parts = [order[begin:end] for begin, end in zip(bounds[:-1], bounds[1:])]
    return [_part(instances, part) for part in parts]


def _part(instances: Instances, documents: list[int]) -> Instances:
    chosen = np.array(documents, np.int64)
    if len(chosen):
        return instances.select(chosen)
    return replace(instances, corpus=replace(instances.corpus, offsets=np.zeros(1, np.int64), ids=Strings.of([])))


def shuffled(n: int, seed: int) -> list[int]:
    """0 … n-1 in the order of Java's Collections.shuffle with java.util.Random(seed): a linear congruential
    generator of 48 bits (its constants are part of Java's documentation)."""
    state = (seed ^ 0x5DEECE66D) & ((1 << 48) - 1)
    order = list(range(n))
    for size in range(n, 1, -1):
        while True:
            state = (state * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
            bits = state >> 17
            if size & (size - 1) == 0:
                at = (size * bits) >> 31
                break
            at = bits % size
            if bits - at + size - 1 < 1 << 31:
                break
        order[size - 1], order[at] = order[at], order[size - 1]
    return order


def _command(name: str, summary: str) -> Command:
    return Command(
        name, "cc.mallet.classify.tui.Vectors2Vectors", summary, (
            file("input", "The instances; - is standard input.", "-"),
            file("output", "The pruned instances; - is standard output.", "-"),
            file("training-file", "The training part.", "training.vectors"),
            file("testing-file", "The test part.", "test.vectors"),
            file("validation-file", "The validation part.", "validation.vectors"),
            Option("training-portion", "decimal", 1.0, "The share of documents to train on.", low=0, high=1),
            Option("validation-portion", "decimal", 0.0, "The share of documents to validate on.", low=0, high=1),
            Option("random-seed", "integer", 0, "The seed of the shuffling; by the clock, if it is not given."),
            Option("prune-infogain", "integer", 0, "Keep the N words that say most of the labels.", low=0),
            Option("prune-count", "integer", 0, "Keep words with at least N tokens."),
            Option("prune-document-freq", "integer", 0, "Keep words in at least N documents."),
            Option("min-idf", "decimal", 0.0, "Drop words whose inverse document frequency is lower."),
            Option("max-idf", "decimal", math.inf, "Drop words whose inverse document frequency is higher."),
            flag("vector-to-sequence", "Make sequences of vectors."),
            flag("hide-targets", "Hide the labels."),
            flag("reveal-targets", "Show hidden labels again."),
        ), run,
    )  # fmt: skip


PRUNE = _command("prune", "drop words by their frequency or by what they say of labels")
SPLIT = _command("split", "part documents into training, test and validation lists")
