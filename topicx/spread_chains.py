"""Chains of one model on a cluster, each on one worker from its beginning to its end.

What comes back is the checkpoint of an ended chain: a run is resumed from it, with the bits that it would have here.
"""

from __future__ import annotations

import secrets
from collections.abc import Generator, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from topicx.corpus.corpus import Corpus
from topicx.corpus.shared_corpora import shared_corpora
from topicx.engines.places import Places
from topicx.engines.threads import Engine, Threads
from topicx.run import Run
from topicx.sampling.run_options import Options

if TYPE_CHECKING:
    from topicx.models.definition import Priors


def run_chains_apart(
    places: Places, corpus: Corpus, options: Options, priors: Priors | None, numbers: Iterable[int], engine: Engine
) -> Generator[Run, None, None]:  # fmt: skip
    """The ended chains of these numbers, in their order. `engine` is that of this process, for what comes after."""
    with shared_corpora(places, corpus) as files:
        folder = places.folder
        pieces = (
            (files[0], replace(options, chain=number), priors, str(folder / f"{secrets.token_hex(4)}.chain"))
            for number in numbers
        )
        for path in places.stream(train_chain, pieces):
            try:
                run = Run.resume(path, engine)
            finally:
                Path(path).unlink(missing_ok=True)
            yield run


def train_chain(corpus: str, options: Options, priors: Priors | None, path: str) -> str:
    """One chain, on a worker; where its checkpoint is."""
    with Threads(1) as engine:  # a worker does as many pieces at a time as it has threads
        run = Run.start(Corpus.load(corpus), options, engine, priors)
        run.train().chain.save(path)
    return path
