"""topicx train --stream: SCVB0 over a corpus that stays on disk."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import click

from topicx.cli import priors
from topicx.cli.log import Log
from topicx.cli.training import is_unfinished, with_number
from topicx.declare import AUTO
from topicx.errors import InputError
from topicx.stop_signals import Stopper


def train_stream(
    corpus: str | None, output: str, given: list[str], threads: int, log: Log, settings: dict[str, Any]
) -> None:
    """SCVB0 over a corpus that stays on disk: only φ is in memory, so nothing by document or token is written."""
    from topicx.engines.threads import Threads
    from topicx.progress import for_terminal
    from topicx.sampling import sampler_registry
    from topicx.sampling.run_options import USUAL, Options
    from topicx.variational.scvb0 import train_file

    if settings["sampler"] != "scvb0":
        raise InputError(f"--stream is for --sampler scvb0, not for {settings['sampler']}")
    if settings["model"] != "lda":
        raise InputError(f"--stream is for the model lda, not for {settings['model']}")
    if not corpus:
        raise InputError("--stream: give a CORPUS file")
    unfit = {
        "state_path": "--state", "doc_topics": "--doc-topics", "init_state": "--init-state", "resume": "--resume",
        "checkpoint": "--checkpoint", "checkpoint_interval": "--checkpoint-interval", "chains": "--chains",
        "keep": "--keep", "trace_path": "--trace", "seed_words": "--seed-words", "seed_weight": "--seed-weight",
        "word_prior": "--word-prior", "icm": "--icm", "start": "--start", "theta": "--theta",
        "phi": "--phi", "estimator": "--estimator", "verbose": "--verbose", "partitions": "--partitions",
        "samples": "--samples", "lag": "--lag", "show_topics_interval": "--show-topics-interval", "log_form": "--log",
    }  # fmt: skip
    for name, spelling in unfit.items():
        if name in given:
            raise InputError(f"{spelling} does not go with --stream, which keeps the topics' words alone in memory")
    known = {each.name for each in fields(Options)} - set(unfit)
    settings = {name: value for name, value in settings.items() if name in known}
    settings["alpha"] = priors.parse_alpha(settings["alpha"], settings["topics"])
    if settings["iterations"] == AUTO:  # passes have no end of their own
        settings["iterations"] = USUAL["iterations"]
    options = Options(**settings)
    options.check_sampler(sampler_registry.find_sampler("scvb0"), given)
    done = -1
    with Threads(threads) as engine, for_terminal("training", unit="documents", quiet=log.quiet) as progress:

        def report(sweep: int, documents: int, fit: float) -> None:
            nonlocal done
            if done < 0:  # now the file has been read once, and found good
                done = 0
                log.tell(f"{corpus}, from disk; {options.topics} topics, sampler scvb0, {options.iterations} passes, "
                         f"seed {options.seed}", "start", topics=options.topics, sampler="scvb0",
                         iterations=options.iterations, seed=options.seed)  # fmt: skip
            done = documents if documents < done else done
            progress.advance(documents - done, f"pass {sweep} of {options.iterations}")
            done = documents

        with Stopper(told=log.tell_finishing) as stopper:
            model = train_file(corpus, options, engine, report, lambda: stopper.asked)
    stopped = model.meta.get("stopped_after")
    if stopped is not None and (output == "-" or not is_unfinished(output)):  # a whole model stays as it was
        output = with_number("topicx.model" if output == "-" else output, stopped)
    model.save(output)
    so_far = f" so far ({stopped} of {options.iterations} passes)" if stopped is not None else ""
    log.tell(f"wrote the model{so_far} to {output}", "wrote", what="model", file=output)
    if stopped is not None:
        raise click.exceptions.Exit(130)
