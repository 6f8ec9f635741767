"""Samplers and other libraries side by side, on one corpus: speed, quality against time, and memory.

Every program trains on the same tokens, with the same α, β and number of threads, in a process of its own (see
`topicx.bench.peer_programs`), one after another. What it has learnt is judged here, by the same two functions for all:
completion perplexity of documents that no program saw, from φ (`topicx.evaluate.completion`), and the joint
log-likelihood, from the assignments of those that have them (`topicx.evaluate.model_likelihood`).
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from topicx.bench.comparison import Comparison, Row, Settings, Trial
from topicx.bench.peer_programs import PEERS, Task
from topicx.corpus.corpus import Corpus
from topicx.errors import InputError
from topicx.sampling import sampler_registry
from topicx.sampling.random_streams import make_generator
from topicx.strings import Strings

HELD_OUT = 0xBE
"""The stream that chooses the documents held out."""


def split_held_out(corpus: Corpus, settings: Settings) -> tuple[Corpus, Corpus]:
    """The documents to train on and those held out, both with the words of the former alone."""
    filled = np.flatnonzero(corpus.lengths > 0)
    number = round(settings.held_out * len(filled))
    if not 0 < number < len(filled):
        raise InputError(f"held_out {settings.held_out:g} of {len(filled)} documents leaves none on one side")
    held = np.zeros(corpus.n_documents, bool)
    held[make_generator(settings.seed, 0, HELD_OUT).permutation(filled)[:number]] = True
    kept = ~held & (corpus.lengths > 0)
    train, test = plain_corpus(corpus, kept), plain_corpus(corpus, held)
    known = np.bincount(train.words, minlength=corpus.n_words) > 0
    return with_words(train, known), with_words(test, known)


def plain_corpus(corpus: Corpus, documents: Any) -> Corpus:
    """Some documents with their words and nothing else."""
    chosen = corpus.select(documents)
    return Corpus(chosen.words, chosen.offsets, corpus.vocabulary)


def with_words(corpus: Corpus, known: Any) -> Corpus:
    """The corpus with these words (a mask) alone, renumbered."""
    number = np.cumsum(known) - 1
    keep = known[corpus.words]
    before = np.zeros(corpus.n_tokens + 1, np.int64)
    np.cumsum(keep, out=before[1:])
    words = number[corpus.words[keep]].astype(np.uint32)
    return Corpus(words, before[corpus.offsets], corpus.vocabulary.take(np.flatnonzero(known)))


def parse_program(text: str) -> tuple[str, dict[str, Any]]:
    """`sparse:start=random:partitions=1` as a name and options of `topicx train`."""
    name, *pairs = text.split(":")
    if name not in PEERS:
        if name != "auto":
            sampler_registry.find_sampler(name)
    elif pairs:
        raise InputError(f"{text!r}: options can be given to samplers only, not to {name}")
    options: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise InputError(f"{text!r}: {pair!r} is not of the form option=value")
        options[key.replace("-", "_")] = _parse_number(value)
    return name, options


def _parse_number(text: str) -> int | float | str:
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def check_options(text: str, settings: Settings) -> None:
    """InputError unless the options of a program are ones that a training run takes."""
    from dataclasses import fields

    from topicx.sampling.run_options import Options

    name, options = parse_program(text)
    if name not in PEERS and options.get("phi", "auto") not in ("auto", "cgs", "cgsp"):
        raise InputError(f"{text!r}: phi must be auto, cgs or cgsp, not {options['phi']!r}")
    options.pop("phi", None)
    shared = {"topics", "sampler", "seed", "alpha", "alpha_sum", "beta", "trace_interval"}
    for key in options:
        if key not in {f.name for f in fields(Options)} - shared:
            raise InputError(f"{text!r}: {key!r} is not an option that a sampler can have here")
    if name not in PEERS:
        Options(topics=settings.topics, **options).check_sampler(sampler_registry.choose_sampler(name))


def is_installed(peer: str) -> bool:
    """Whether a library is there, without importing it."""
    return find_spec(PEERS[peer].module.partition(".")[0]) is not None


def compare_programs(
    corpus: Corpus,
    programs: Sequence[str],
    settings: Settings,
    *,
    reference: str = "",
    about: dict[str, Any] | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Comparison:
    """Train every program in turn on the same documents, and judge what it leaves by the same functions.

    Parameters
    ----------
    corpus : Corpus
        Documents; a share of them is held out.
    programs : sequence of str
        Names of samplers of topicx and of other libraries: "auto", "sparse", "tomotopy", "gensim" …
    settings : Settings
        What all programs share.
    reference : str, default ""
        Program whose last perplexity the others are timed to. By default tomotopy, if it is installed, or else the
        first program.
    about : dict, optional
        What the result should say of the corpus.
    say : callable, optional
        Called with a line of progress.

    Returns
    -------
    Comparison
        A trial of each program, row by row.
    """
    names = list(dict.fromkeys(programs))
    for name in names:
        check_options(name, settings)
    missing = [name for name in names if name in PEERS and not is_installed(name)]
    names = [name for name in names if name not in missing]
    if missing:
        say(f"not installed, left out: {', '.join(missing)}")
    if not names:
        raise InputError("there is no program to run")
    if reference and reference not in names:
        raise InputError(f"the reference {reference!r} is not among the programs: {', '.join(names)}")
    train, test = split_held_out(corpus, settings)
    facts = {
        "documents": train.n_documents, "tokens": train.n_tokens, "words": train.n_words,
        "held_out_documents": test.n_documents, "held_out_tokens": test.n_tokens, **(about or {}),
    }  # fmt: skip
    reference = reference or ("tomotopy" if "tomotopy" in names else names[0])
    result = Comparison(facts, settings, describe_machine(), [], reference, missing)
    with tempfile.TemporaryDirectory(prefix="topicx-bench-") as folder:
        train.save(Path(folder) / "train.corpus")
        for name in names:
            result.runs.append(run_program(name, train, test, Path(folder), settings, say))
    return result


def run_program(
    name: str, train: Corpus, test: Corpus, folder: Path, settings: Settings, say: Callable[[str], None]
) -> Trial:
    """One program in a process of its own; its failure is a line in the table, never ours."""
    program, options = parse_program(name)
    sweeps = int(options.pop("iterations", settings.iterations))
    task = Task(
        program=program, options=options, corpus=str(folder / "train.corpus"), folder=str(folder),
        topics=settings.topics, alpha=settings.alpha, beta=settings.beta, seed=settings.seed,
        threads=settings.threads, points=replace(settings, iterations=sweeps).points(), limit=settings.limit,
        clock=settings.clock, evaluate=settings.evaluate,
    )  # fmt: skip
    run = Trial(name)
    limits = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
    environment = os.environ | dict.fromkeys(limits, str(settings.threads))
    with (folder / "errors").open("w+b") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "topicx.bench.peer_programs"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment,
        )  # fmt: skip
        silent = threading.Event()
        try:
            _converse_with_program(process, task, run, test, folder, settings, say, silent)
        finally:
            if process.poll() is None:
                process.kill()
            for stream in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    assert stream is not None
                    stream.close()
            process.wait()
        errors.seek(0)
        last = errors.read().decode(errors="replace").strip().splitlines()[-1:]
    if silent.is_set():
        run.problem = f"stopped: nothing to measure within {_seconds_of_patience(settings):.0f} s"
    elif not run.about.pop("done", False):
        run.problem = last[0] if last else f"ended with status {process.returncode}"
    elif run.rows and run.rows[-1].sweep < parse_program(name)[1].get("iterations", settings.iterations):
        run.problem = f"stopped after {settings.limit:g} s"
    _set_speeds(run, train.n_tokens)
    if run.problem:
        say(f"{name}: {run.problem}")
    return run


def _seconds_of_patience(settings: Settings) -> float:
    """Seconds that a program may take from one look to the next."""
    return 2 * settings.limit + 60


def _converse_with_program(
    process: subprocess.Popen[str], task: Task, run: Trial, test: Corpus, folder: Path, settings: Settings,
    say: Callable[[str], None], silent: threading.Event,
) -> None:  # fmt: skip
    """Take what the program says, judge what it leaves, and tell it to go on."""
    assert process.stdin is not None and process.stdout is not None

    def give_up() -> None:
        silent.set()
        process.kill()

    with contextlib.suppress(BrokenPipeError):
        print(task.to_json(), file=process.stdin, flush=True)
        while True:
            timer = threading.Timer(_seconds_of_patience(settings), give_up)
            timer.daemon = True
            timer.start()
            line = process.stdout.readline()
            timer.cancel()
            if not line:
                return
            heard = json.loads(line)
            run.about |= heard.get("about", {})
            if heard.get("done"):
                run.about["done"] = True
                return
            if "row" not in heard:
                continue
            row = judge_result(task, heard["row"], test, folder, settings)
            run.rows.append(row)
            run.memory = heard["memory"]
            if row.perplexity is not None:
                likelihood = "" if row.likelihood is None else f", likelihood {row.likelihood:.4f}"
                say(f"{run.name}: sweep {row.sweep}, {row.seconds:.2f} s, perplexity {row.perplexity:.1f}{likelihood}")
            print(file=process.stdin, flush=True)


def judge_result(task: Task, row: dict[str, Any], test: Corpus, folder: Path, settings: Settings) -> Row:
    """Perplexity and likelihood of what a program has left in the folder, by the same functions for every program."""
    perplexity = likelihood = None
    if "phi" in row:
        from topicx.engines.threads import available_cores
        from topicx.evaluate.completion import completion_perplexity
        from topicx.model import Model

        path = folder / row["phi"]
        phi: Any = np.load(path, allow_pickle=False) if task.program in PEERS else Model.load(path)
        perplexity = completion_perplexity(
            phi, np.full(task.topics, task.alpha), test, share=settings.share, seed=settings.seed,
            burn_in=settings.burn_in, samples=settings.samples, threads=available_cores(),
        )  # fmt: skip
        path.unlink()
    if row.get("z"):
        from topicx.evaluate.model_likelihood import joint_log_likelihood
        from topicx.state import State

        words, z, offsets = (np.load(folder / f"{name}.npy", allow_pickle=False) for name in ("words", "z", "offsets"))
        state = State(
            words=words, offsets=offsets, z=z, alpha=np.full((1, task.topics), task.alpha),
            beta=np.full(test.n_words, task.beta), vocabulary=test.vocabulary, ids=Strings.of([]),
        )  # fmt: skip
        likelihood = joint_log_likelihood(state)
    return Row(row["sweep"], row["work"], row["seconds"], perplexity, likelihood, row.get("estimating", 0.0))


def _set_speeds(run: Trial, tokens: int) -> None:
    """Tokens per second at both ends, from the times of the sweeps that bound them."""
    times = {row.sweep: row.seconds for row in run.rows}
    sweeps = [sweep for sweep in sorted(times) if sweep > 0] or [0]
    begin = sweeps[0] if sweeps[-1] > sweeps[0] else 0
    first = max((s for s in sweeps if s <= 10), default=sweeps[-1])
    first = first if first > begin else sweeps[-1]
    last = max((s for s in sweeps if s <= sweeps[-1] - 10), default=begin)
    for name, low, high in (("early", begin, first), ("late", last, sweeps[-1])):
        if low in times and high > low and times[high] > times[low]:
            setattr(run, name, tokens * (high - low) / (times[high] - times[low]))


def describe_machine() -> dict[str, Any]:
    """Where the figures come from."""
    import platform

    from topicx import __version__
    from topicx.engines.threads import available_cores

    name = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    return {
        "processor": name,
        "cores": available_cores(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "topicx": __version__,
    }
