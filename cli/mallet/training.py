"""topicx mallet train-topics: what a run says while it goes on, and how it ends."""

from __future__ import annotations

import secrets
import signal
import sys
import time
from functools import partial

import click

from topicx.cli.common import check_outputs, print_note
from topicx.errors import InputError
from topicx.interop import mallet_write as write
from topicx.interop.mallet_numbers import short_decimal
from topicx.mallet.instance_lists import Instances, load_sequences
from topicx.mallet.mallet_files import load_model, save_model
from topicx.mallet.mallet_training import (
    MalletSettings,
    MalletTraining,
    Swept,
    continued_settings,
    random_state,
    state_from_file,
)
from topicx.mallet.option_language import Parsed
from topicx.mallet.training_outputs import OUTPUTS, write_output
from topicx.progress import Progress, for_terminal
from topicx.state import State
from topicx.stop_signals import Stopper


def train_topics(parsed: Parsed) -> None:
    check_outputs([parsed[name] for name in OUTPUTS])
    for interval, name in (("output-state-interval", "output-state"), ("output-model-interval", "output-model")):
        if parsed[interval] and not parsed[name]:
            raise InputError(f"--{interval}: give --{name} FILE, whose name the files have, and a number")
    settings = _settings_of(parsed)
    state, instances, settings = _first_state(parsed, settings)
    topics = state.n_topics
    mask = (1 << max(topics - 1, 1).bit_length()) - 1 if topics > 1 else 0
    print_note(f"Mallet LDA: {topics} topics, {mask.bit_length()} topic bits, {mask:b} topic mask")
    if parsed["input"]:
        print_note("Data loaded.")
    print_note(f"max tokens: {int(state.lengths.max(initial=0))}\ntotal tokens: {state.n_tokens}")
    if parsed["num-threads"] > 1:
        print_note("note: the number of threads decides the time alone; the result is the same with any")
    if state.n_tokens and (settings.iterations or settings.icm):
        state = _train_and_save(state, instances, settings, parsed)
    for name in OUTPUTS:
        if parsed[name]:
            write_output(name, parsed[name], state, instances, settings, parsed)


def _settings_of(parsed: Parsed) -> MalletSettings:
    seed = parsed["random-seed"]
    if seed == 0 and not parsed["no-inference"]:
        seed = secrets.randbelow(2**31 - 1) + 1
        print_note(f"random seed: {seed}")
    return MalletSettings(
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


def _first_state(parsed: Parsed, settings: MalletSettings) -> tuple[State, Instances, MalletSettings]:
    """The state to begin with: of a model, of a state file, or random."""
    if parsed["input-model"]:
        if parsed["input"] or parsed["input-state"]:
            print_note(
                "note: --input-model brings documents and topics of its own; --input and --input-state are not read"
            )
        state, instances = load_model(parsed["input-model"])
        return state, instances, continued_settings(settings, state)
    path = parsed.need("input", "the instances that import-file or import-dir made (or --input-model)")
    if path.startswith("db:"):
        raise InputError(f"--input {path}: databases are not read; give a file of instances")
    instances = load_sequences(path)
    if parsed["input-state"]:
        print_note("Initializing from saved state.")
        state = state_from_file(parsed["input-state"], instances)
        return state, instances, continued_settings(settings, state)
    return random_state(instances, settings), instances, settings


# -- training ------------------------------------------------------------------------------------------------------


class TrainingTeller:
    """What is said and written while a run goes on. MALLET shows topics and writes states before a sweep: so what is
    due at sweep N is done after sweep N - 1."""

    def __init__(
        self,
        run: MalletTraining,
        instances: Instances,
        settings: MalletSettings,
        parsed: Parsed,
        progress: Progress,
    ) -> None:
        self.run, self.instances, self.settings, self.parsed = run, instances, settings, parsed
        self.progress = progress
        self.began = self.last = time.monotonic()
        self.done = 0
        self.ended = False

    def __call__(self, heard: Swept) -> None:
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
        save_model(path, self.run.state(), self.instances, self.settings)

    def learnt(self, beta: float, reset: bool) -> None:
        if reset:
            self.tell("Dirichlet optimization has become unstable. Resetting to alpha_t = 1.0.")
        self.tell(f"[beta: {short_decimal(beta)}] ")

    def end(self) -> None:
        """The time that the sweeps took, once."""
        if not self.ended and self.settings.iterations:
            self.tell(f"\nTotal time: {spell_duration(round(time.monotonic() - self.began))}")
        self.ended = True

    def tell(self, text: str) -> None:
        if sys.stderr.isatty():
            self.progress.message(text)
        else:
            print_note(text)


def spell_duration(seconds: int) -> str:
    """Days, hours, minutes and seconds; parts that are zero are left out, but for seconds."""
    parts = [(seconds // 86400, "days"), (seconds // 3600 % 24, "hours"), (seconds // 60 % 60, "minutes")]
    return "".join(f"{number} {unit} " for number, unit in parts if number) + f"{seconds % 60} seconds"


def _train_and_save(state: State, instances: Instances, settings: MalletSettings, parsed: Parsed) -> State:
    """Run all sweeps; an interruption ends them after the one that is under way, and saves the model."""
    listener: TrainingTeller | None = None

    def learnt(beta: float, reset: bool) -> None:
        if listener is not None:
            listener.learnt(beta, reset)

    run = MalletTraining(state, settings, learnt)
    quiet = not sys.stderr.isatty()
    with (
        for_terminal("train-topics", settings.iterations, "sweeps", quiet=quiet) as progress,
        _make_stopper() as stopper,
    ):
        listener = TrainingTeller(run, instances, settings, parsed, progress)
        if settings.iterations:
            listener.before(1)
        finished = run.go(listener, lambda: stopper.asked)
        if finished:
            listener.end()
    if finished:
        return run.state()
    if parsed["output-model"] and settings.iterations - listener.done > 0:
        path = f"{parsed['output-model']}.{listener.done + 1}"  # as --output-model-interval names it: before this sweep
        listener.save(path)
        left = settings.iterations - listener.done
        print_note(f"stopped after {listener.done} sweeps; to go on: --input-model {path} --num-iterations {left}")
    else:
        print_note(f"stopped after {listener.done} sweeps; nothing is written")
    raise click.exceptions.Exit(130)


def _make_stopper() -> Stopper:
    """SIGINT and SIGTERM ask for an end, the second time at once."""
    told = partial(print_note, "finishing the sweep (once more: stop at once) …")
    return Stopper((signal.SIGINT, signal.SIGTERM), told)
