"""topicx mallet run cc.mallet.topics.tui.DMRLoader and cc.mallet.topics.DMRTopicModel."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from topicx.cli.common import check_outputs, print_note
from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.estimate import theta_rows
from topicx.files.container import atomic_output
from topicx.interop import mallet_write as write
from topicx.mallet.instance_lists import InstanceBuilder, load_sequences
from topicx.mallet.option_language import Parsed
from topicx.mallet.regression_features import (
    loader_pipe,
    parameter_lines,
    texts_with_features,
    with_feature_columns,
)
from topicx.progress import for_terminal
from topicx.run import Run
from topicx.sampling.run_options import Options
from topicx.sampling.sweep_loop import Event

LOADER = "cc.mallet.topics.tui.DMRLoader"
OUTPUTS = ("output-params", "output-topic-keys", "output-state", "output-doc-topics", "output-model")


def load_regression(arguments: Sequence[str]) -> None:
    """Instances of a file of texts and one of features."""
    if len(arguments) != 3:
        raise InputError(f"mallet run {LOADER}: give WORDS, FEATURES and the INSTANCES to write, three files")
    words, features, output = arguments
    check_outputs([output], [words, features])
    with InstanceBuilder(loader_pipe()) as builder:
        builder.add(texts_with_features(words, features))
        builder.finish().save(output)


def train_regression(parsed: Parsed) -> None:
    """Topics whose priors depend on features."""
    path = parsed.need("input", "the instances")
    check_outputs([parsed[name] for name in OUTPUTS], [path])
    instances = load_sequences(path)
    corpus, formula = with_feature_columns(instances)
    print_note("Data loaded.")
    seed = parsed["random-seed"]
    if seed == 0:
        seed = secrets.randbelow(2**31 - 1) + 1
        print_note(f"random seed: {seed}")
    options = Options(
        topics=parsed["num-topics"], iterations=parsed["num-iterations"], model="dmr", own={"formula": formula},
        alpha=0.1, beta=0.01, optimize="alpha", optimize_interval=parsed["optimize-interval"],
        optimize_burn_in=parsed["optimize-burn-in"], seed=seed % 2**32, start="random",
    )  # fmt: skip
    if parsed["num-threads"] > 1:
        print_note("note: the number of threads decides the time alone; the result is the same with any")
    shown, number = parsed["show-topics-interval"], parsed["num-top-words"]
    with (
        Threads(parsed["num-threads"]) as engine,
        for_terminal("training", parsed["num-iterations"], "sweeps") as progress,
    ):
        run = Run.start(corpus, options, engine)

        def hear(event: Event) -> None:
            progress.advance(event.work)
            if shown and event.step.sweep % shown == 0:
                state = run.chain.method.sync()
                ranked = write.ranked_words(write.word_counts(state), number)
                lines = write.key_lines(state.alpha[0], ranked, list(state.vocabulary), number)
                print_note("".join(lines).rstrip("\n"))

        result = run.train([hear]).result(theta="cgs", phi="cgs")
    state, model = result.state, result.model
    with atomic_output(parsed["output-params"], binary=False) as stream:
        stream.writelines(parameter_lines(model.side["coefficients"], instances.labels))
    if parsed["output-topic-keys"]:
        ranked = write.ranked_words(write.word_counts(state), number)
        write.topic_keys(model.alpha[0], ranked, list(state.vocabulary), parsed["output-topic-keys"], number)
    if parsed["output-state"]:
        one_alpha = replace(state, alpha=model.alpha, groups=np.zeros(0, np.uint32), side={})  # as MALLET's file has it
        write.write_state(one_alpha, parsed["output-state"], instances.sources)
    if parsed["output-doc-topics"]:
        write.doc_topics(
            theta_rows(state, "cgs"), state.ids, parsed["output-doc-topics"],
            threshold=parsed["doc-topics-threshold"], most=parsed["doc-topics-max"],
        )  # fmt: skip
    if parsed["output-model"]:
        model.save(parsed["output-model"])
    sys.stdout.flush()
