"""Everything that counts with vectors, on a small corpus: a line with a digest each. Run by test_independent.py, once
for each instruction set; or under an emulator of another processor."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from topicx._kernels.gibbs import dense
from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Threads
from topicx.estimate import estimate
from topicx.evaluate.chib import chib
from topicx.evaluate.completion import completion
from topicx.evaluate.left_to_right import left_to_right
from topicx.hmm import hmm_options as hmm_options
from topicx.hmm.hmm_run import train_hmm as hmm_train
from topicx.model import Model
from topicx.models.definition import Priors
from topicx.predict.inference import infer
from topicx.run import Run
from topicx.sampling import sampler_registry
from topicx.sampling.run_options import Options
from topicx.strings import Strings

MODELS = {"labeled": "labeled", "labeled-cvb0": "labeled", "vem": "compound"}
HIDDEN = len(hmm_options.SAMPLERS) * 2
FURTHER: list[tuple[str, str, dict[str, Any]]] = [
    ("compound", "sparse", {"pi": "ags", "pi_burn_in": 1}),
    ("compound", "sparse", {"pi": "mgs", "pi_burn_in": 1}),
    ("medlda", "light", {}),
    ("medlda", "dense", {}),
    ("medlda", "light", {"family": "slda"}),
    ("hdp", "sparse", {}),
]
OFTEN: dict[str, Any] = {"optimize_interval": 1, "optimize_burn_in": 0}
"""Priors are learnt after every sweep."""


def small_corpus(documents: int = 24, words: int = 50) -> Corpus:
    """Two subjects, with collections and labels; by whole numbers alone, which are the same on every processor."""
    random = np.random.default_rng(5)
    lengths = random.integers(0, 30, documents)
    lengths[3], lengths[4] = 0, 70
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    of = np.repeat(np.arange(documents), lengths)
    tokens = (random.integers(0, words // 2, offsets[-1]) * random.integers(1, 3, offsets[-1]) + of % 2 * 7) % words
    labels = np.arange(documents, dtype=np.uint32)
    return Corpus(
        tokens.astype(np.uint32), offsets, Strings.of(f"w{i}" for i in range(words)),
        label_names=Strings.of(["even", "high", "odd"]),
        label_offsets=np.arange(documents + 1) * 2, label_ids=np.stack([labels % 2 * 2, labels * 0 + 1], 1).ravel(),
        collection=(labels % 3).astype(np.int32), collection_names=Strings.of(["a", "b", "c"]),
    )  # fmt: skip


def options_of(sampler: str, topics: int) -> Options:
    """Two sweeps, and learnt priors, of a model that this sampler is for."""
    model = MODELS.get(sampler, "lda")
    own: dict[str, Any] = {"pi": "vem"} if sampler == "vem" else {}
    usual = {"sampler": sampler, "model": model, "iterations": 2} | OFTEN
    if model == "labeled":
        return Options(**usual, own={"topics_per_label": 1 + topics // 3})
    return Options(**usual, own=own, topics=topics)


def digest(*arrays: object) -> str:
    found = hashlib.sha256()
    for array in arrays:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


def of_model(model: Model) -> str:
    """All that was learnt, and the trace."""
    more = [arrays[name] for arrays in (model.side, model.trace) for name in sorted(arrays) if name != "seconds"]
    return digest(model.values, model.topics, model.alpha, model.beta, *more)


def report(topics: int) -> Iterator[tuple[str, str]]:
    corpus = small_corpus()
    engine = Threads(1)
    states, models = {}, {}
    for sampler in sampler_registry.ENTRIES:
        run = Run.start(corpus, options_of(sampler, topics), engine, Priors()).train()
        result = run.result(examples=0)
        states[sampler], models[sampler] = result.state, result.model
        yield sampler, digest(result.state.z) + of_model(result.model)
    for model, sampler, own in FURTHER:
        options = Options(topics=topics, sampler=sampler, model=model, own=own, iterations=3, **OFTEN)
        result = Run.start(corpus, options, engine, Priors()).train().result(examples=0)
        yield f"{model} {sampler} {own}", digest(result.state.z) + of_model(result.model)
    for hidden in hmm_options.SAMPLERS:
        for number in (2, 3):
            chosen = hmm_options.HmmOptions(states=number, sampler=hidden, iterations=4, alpha=1.3, beta=1.05)
            found = hmm_train(corpus, chosen, threads=1)
            yield f"hmm {hidden} {number}", digest(found.emissionprob, found.trace["log_likelihood"])
    for kind in ("cgs", "cgsp"):
        rows: list[object] = []
        model = estimate(
            states["dense"], theta=kind, phi=kind, documents=lambda _, found, rows=rows: rows.append(found)
        )
        yield f"estimate {kind}", of_model(model) + digest(*rows)
    for kind in ("cgs", "cgsp", "cvb0"):
        yield f"infer {kind}", digest(infer(models["sparse"], corpus, theta=kind, threads=1))
    usual = {"seed": 2, "threads": 1}
    yield "completion", digest(completion(models["sparse"], None, corpus, burn_in=3, samples=2, **usual).documents)
    yield "left-to-right", digest(left_to_right(models["sparse"], None, corpus, particles=3, **usual).documents)
    yield "chib", digest(chib(models["sparse"], None, corpus, burn_in=3, samples=2, **usual).documents)


if __name__ == "__main__":
    print("instructions", dense.instruction_set())
    for number in map(int, sys.argv[1:]):
        for name, value in report(number):
            print(number, name, value)
