"""topicx mallet train-topics: topics of an instance list, and every file that MALLET writes of them."""

from __future__ import annotations

import secrets
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import click

from topicx.cli.common import check_outputs, say
from topicx.cli.mallet import training
from topicx.cli.mallet.arguments import Command, Option, Parsed, file, flag
from topicx.cli.mallet.instances import Instances, sequences
from topicx.errors import InputError
from topicx.interop import mallet_reports as reports
from topicx.interop import mallet_write as write
from topicx.interop.mallet_numbers import short_decimal
from topicx.progress import Progress, for_terminal
from topicx.state import State

OUTPUTS = (
    "output-topic-keys", "diagnostics-file", "xml-topic-report", "xml-topic-phrase-report", "output-state",
    "output-topic-docs", "output-doc-topics", "topic-word-weights-file", "word-topic-counts-file", "output-model",
    "inferencer-filename", "evaluator-filename",
)  # fmt: skip
"""Every file, in the order in which they are written."""


def run(parsed: Parsed) -> None:
    check_outputs([parsed[name] for name in OUTPUTS])
    for interval, name in (("output-state-interval", "output-state"), ("output-model-interval", "output-model")):
        if parsed[interval] and not parsed[name]:
            raise InputError(f"--{interval}: give --{name} FILE, whose name the files have, and a number")
    settings = _settings(parsed)
    state, instances, settings = _beginning(parsed, settings)
    topics = state.n_topics
    mask = (1 << max(topics - 1, 1).bit_length()) - 1 if topics > 1 else 0
    say(f"Mallet LDA: {topics} topics, {mask.bit_length()} topic bits, {mask:b} topic mask")
    if parsed["input"]:
        say("Data loaded.")
    say(f"max tokens: {int(state.lengths.max(initial=0))}\ntotal tokens: {state.n_tokens}")
    if parsed["num-threads"] > 1:
        say("note: the number of threads decides the time alone; the result is the same with any")
    if state.n_tokens and (settings.iterations or settings.icm):
        state = _train(state, instances, settings, parsed)
    for name in OUTPUTS:
        if parsed[name]:
            _write(name, parsed[name], state, instances, settings, parsed)


def _settings(parsed: Parsed) -> training.MalletSettings:
    seed = parsed["random-seed"]
    if seed == 0 and not parsed["no-inference"]:
        seed = secrets.randbelow(2**31 - 1) + 1
        say(f"random seed: {seed}")
    return training.MalletSettings(
        topics=parsed["num-topics"],
        iterations=0 if parsed["no-inference"] else parsed["num-iterations"],
        alpha_sum=parsed["alpha"],
        beta=parsed["beta"],
        seed=seed % 2**32,
        optimize_interval=parsed["optimize-interval"],
        optimize_burn_in=parsed["optimize-burn-in"],
        symmetric_alpha=parsed["use-symmetric-alpha"],
        icm=parsed["num-icm-iterations"],
        threads=parsed["num-threads"],
    )


def _beginning(parsed: Parsed, settings: training.MalletSettings) -> tuple[State, Instances, training.MalletSettings]:
    """The state to begin with: of a model, of a state file, or random."""
    if parsed["input-model"]:
        if parsed["input"] or parsed["input-state"]:
            say("note: --input-model brings documents and topics of its own; --input and --input-state are not read")
        state, instances = training.load_model(parsed["input-model"])
        return state, instances, training.more_sweeps(settings, state)
    path = parsed.need("input", "the instances that import-file or import-dir made (or --input-model)")
    if path.startswith("db:"):
        raise InputError(f"--input {path}: databases are not read; give a file of instances")
    instances = sequences(path)
    if parsed["input-state"]:
        say("Initializing from saved state.")
        state = training.state_from_file(parsed["input-state"], instances)
        return state, instances, training.more_sweeps(settings, state)
    return training.first_state(instances, settings), instances, settings


# -- training ------------------------------------------------------------------------------------------------------


class Listener:
    """What is said and written while a run goes on. MALLET shows topics and writes states before a sweep: so what is
    due at sweep N is done after sweep N - 1."""

    def __init__(
        self,
        run: training.MalletTraining,
        instances: Instances,
        settings: training.MalletSettings,
        parsed: Parsed,
        progress: Progress,
    ) -> None:
        self.run, self.instances, self.settings, self.parsed = run, instances, settings, parsed
        self.progress = progress
        self.began = self.last = time.monotonic()
        self.done = 0
        self.ended = False

    def __call__(self, heard: training.Swept) -> None:
        now = time.monotonic()
        if heard.kind == "icm":
            self.end()
            milliseconds = int(1000 * (now - self.last))
            self.tell(f"{heard.sweep - 1}\t{milliseconds}ms\t{heard.changed}\t{heard.score}")
        else:
            self.done = heard.sweep
            if heard.sweep % 10 == 0:
                self.tell(f"<{heard.sweep}> LL/token: {short_decimal(heard.score)}")
            self.progress.advance(1)
            if heard.sweep < self.settings.iterations:
                self.before(heard.sweep + 1)
        self.last = time.monotonic()

    def before(self, sweep: int) -> None:
        """What comes before this sweep."""
        interval = self.parsed["show-topics-interval"]
        if interval and sweep % interval == 0:
            state = self.run.state()
            ranked = write.ranked_words(write.word_counts(state), self.parsed["num-top-words"])
            lines = write.key_lines(state.alpha[0], ranked, state.vocabulary, self.parsed["num-top-words"])
            self.tell("\n" + "".join(lines))
        interval = self.parsed["output-state-interval"]
        if interval and sweep % interval == 0:
            write.write_state(self.run.state(), f"{self.parsed['output-state']}.{sweep}", self.instances.sources)
        interval = self.parsed["output-model-interval"]
        if interval and sweep % interval == 0:
            self.save(f"{self.parsed['output-model']}.{sweep}")

    def save(self, path: str) -> None:
        training.save_model(path, self.run.state(), self.instances, self.settings)

    def learnt(self, beta: float, reset: bool) -> None:
        if reset:
            self.tell("Dirichlet optimization has become unstable. Resetting to alpha_t = 1.0.")
        self.tell(f"[beta: {short_decimal(beta)}] ")

    def end(self) -> None:
        """The time that the sweeps took, once."""
        if not self.ended and self.settings.iterations:
            self.tell(f"\nTotal time: {duration(round(time.monotonic() - self.began))}")
        self.ended = True

    def tell(self, text: str) -> None:
        if sys.stderr.isatty():
            self.progress.message(text)
        else:
            say(text)


def duration(seconds: int) -> str:
    """Days, hours, minutes and seconds; parts that are zero are left out, but for seconds."""
    parts = [(seconds // 86400, "days"), (seconds // 3600 % 24, "hours"), (seconds // 60 % 60, "minutes")]
    return "".join(f"{number} {unit} " for number, unit in parts if number) + f"{seconds % 60} seconds"


def _train(state: State, instances: Instances, settings: training.MalletSettings, parsed: Parsed) -> State:
    """Run all sweeps; an interruption ends them after the one that is under way, and saves the model."""
    listener: Listener | None = None

    def learnt(beta: float, reset: bool) -> None:
        if listener is not None:
            listener.learnt(beta, reset)

    run = training.MalletTraining(state, settings, learnt)
    quiet = not sys.stderr.isatty()
    with for_terminal("train-topics", settings.iterations, "sweeps", quiet=quiet) as progress, _stopping() as stop:
        listener = Listener(run, instances, settings, parsed, progress)
        if settings.iterations:
            listener.before(1)
        finished = run.go(listener, stop)
        if finished:
            listener.end()
    if finished:
        return run.state()
    if parsed["output-model"] and settings.iterations - listener.done > 0:
        path = f"{parsed['output-model']}.{listener.done + 1}"  # as --output-model-interval names it: before this sweep
        listener.save(path)
        left = settings.iterations - listener.done
        say(f"stopped after {listener.done} sweeps; to go on: --input-model {path} --num-iterations {left}")
    else:
        say(f"stopped after {listener.done} sweeps; nothing is written")
    raise click.exceptions.Exit(130)


@contextmanager
def _stopping() -> Iterator[Any]:
    """SIGINT and SIGTERM ask for an end, the second time at once."""
    asked = False

    def stop(signum: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        say("finishing the sweep (once more: stop at once) …")

    previous = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: asked
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


# -- files ---------------------------------------------------------------------------------------------------------


def _write(
    name: str, path: str, state: State, instances: Instances, settings: training.MalletSettings, parsed: Parsed
) -> None:
    top = parsed["num-top-words"]
    if name == "output-state":
        write.write_state(state, path, instances.sources)
    elif name == "output-topic-docs":
        write.topic_docs(state, path, parsed["num-top-docs"])
    elif name == "output-doc-topics":
        threshold, most = _shape(parsed, state.n_topics)
        write.doc_topics(write.document_shares(state), state.ids, path, threshold=threshold, most=most)
    elif name == "diagnostics-file":
        from topicx.evaluate.diagnostics import topic_diagnostics

        reports.write_diagnostics(topic_diagnostics(None, state, top), path, top)
    elif name == "output-model":
        training.save_model(path, state, instances, settings)
    elif name in ("inferencer-filename", "evaluator-filename"):
        training.save_topics(path, state, settings)
    else:
        _write_words(name, path, state, instances, top)


def _write_words(name: str, path: str, state: State, instances: Instances, top: int) -> None:
    """The files that are about words and topics."""
    counts = write.word_counts(state)
    vocabulary = list(state.vocabulary)
    if name == "word-topic-counts-file":
        write.word_topic_counts(counts, vocabulary, path, state)
    elif name == "topic-word-weights-file":
        write.topic_word_weights(write.smoothed_counts(counts, state.beta), vocabulary, path)
    else:
        ranked = write.ranked_words(counts, max(top, reports.TITLE_WORDS))
        if name == "output-topic-keys":
            write.topic_keys(state.alpha[0], ranked, vocabulary, path, top)
        elif name == "xml-topic-report":
            reports.topic_report(state.alpha[0], state.topic_totals(), ranked, vocabulary, path, top)
        else:
            reports.phrase_report(state, ranked, path, top, instances.joined())


def _shape(parsed: Parsed, topics: int) -> tuple[float, int]:
    """Threshold and number of topics; 2.0.7 and before wrote all of them in falling order where 2.1 writes a table."""
    threshold, most = parsed["doc-topics-threshold"], parsed["doc-topics-max"]
    if threshold == 0.0 and parsed["mallet-version"] == "2.0.7":
        return -1.0, most
    return threshold, most


COMMAND = Command(
    "train-topics", "cc.mallet.topics.tui.TopicTrainer", "find topics in an instance list, and write what is asked", (
        file("input", "The instances, made with --keep-sequence; - is standard input."),
        file("input-model", "Go on from what --output-model wrote; its documents, topics and priors stand."),
        file("input-state", "Begin with the topics of a state file; --input is needed as well."),
        file("output-model", "The model: topics and documents, to go on from."),
        file("output-state", "The topic of every token, as gzipped text."),
        Option("output-model-interval", "integer", 0, "Write the model before every N-th sweep, as MODEL.N.", low=0),
        Option("output-state-interval", "integer", 0, "Write the state before every N-th sweep, as STATE.N.", low=0),
        file("inferencer-filename", "The topics, for infer-topics."),
        file("evaluator-filename", "The topics, for evaluate-topics."),
        file("output-topic-keys", "The foremost words of each topic, and its α."),
        Option("num-top-words", "integer", 20, "How many words the keys, reports and diagnostics show.", low=1),
        Option("show-topics-interval", "integer", 50, "Show the topics every N sweeps; 0: never.", low=0),
        file("topic-word-weights-file", "The weight of every word in every topic."),
        file("word-topic-counts-file", "The topics of each word, and how often."),
        file("diagnostics-file", "Measures of the topics' quality, as XML."),
        file("xml-topic-report", "The foremost words of each topic, as XML."),
        file("xml-topic-phrase-report", "The foremost words and phrases of each topic, as XML."),
        file("output-topic-docs", "The foremost documents of each topic."),
        Option("num-top-docs", "integer", 100, "How many documents --output-topic-docs shows.", low=0),
        file("output-doc-topics", "The shares of the topics in each document."),
        Option("doc-topics-threshold", "decimal", 0.0, "Show shares from this one on, falling; 0: all, as a table."),
        Option("doc-topics-max", "integer", -1, "With a threshold: show at most N topics a document."),
        Option("num-topics", "integer", 10, "The number of topics.", low=1, high=65535),
        Option("num-threads", "integer", 1, "Threads; the result does not depend on them.", low=1),
        Option("num-iterations", "integer", 1000, "Sweeps; 0: only write files.", low=0, high=1_000_000),
        Option("num-icm-iterations", "integer", 0, "Then sweeps in which tokens take their best topic.", low=0),
        flag("no-inference", "No sweeps: as --num-iterations 0."),
        Option("random-seed", "integer", 0, "The seed; 0: one is drawn, and said."),
        Option("optimize-interval", "integer", 0, "New priors every N sweeps; 0: never.", low=0),
        Option("optimize-burn-in", "integer", 200, "Sweeps before the first new priors.", low=0),
        flag("use-symmetric-alpha", "Learn the sum of α alone."),
        Option("alpha", "decimal", 5.0, "The sum of α over all topics.", low=1e-6),
        Option("beta", "decimal", 0.01, "β of each word.", low=1e-6),
        Option("mallet-version", "string", "2.1", "2.0.7: doc-topics in the form that this version wrote."),
    ), run,
)  # fmt: skip
