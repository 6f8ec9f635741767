"""topicx train --stream: SCVB0 over a corpus that stays on disk."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from topicx.cli import priors
from topicx.cli.log import Log
from topicx.errors import InputError


def train_stream(
    corpus: str | None, output: str, given: list[str], threads: int, log: Log, settings: dict[str, Any]
) -> None:
    """SCVB0 over a corpus that stays on disk: only φ is in memory, so nothing by document or token is written."""
    from topicx.engines.threads import Threads
    from topicx.progress import for_terminal
    from topicx.sampling import registry
    from topicx.sampling.options import Options
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
    settings["alpha"] = priors.alpha(settings["alpha"], settings["topics"])
    options = Options(**settings)
    options.check_sampler(registry.find("scvb0"), given)
    done = 0
    with Threads(threads) as engine, for_terminal("training", unit="documents", quiet=log.quiet) as progress:

        def report(sweep: int, documents: int, fit: float) -> None:
            nonlocal done
            done = documents if documents < done else done
            progress.advance(documents - done, f"pass {sweep} of {options.iterations}")
            done = documents

        model = train_file(corpus, options, engine, report)
    model.save(output)
    log.tell(f"wrote the model to {output}", "wrote", what="model", file=output)
