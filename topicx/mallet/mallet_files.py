"""The files of `train-topics` that other commands of MALLET's read: models and topics. They are topicx's own."""

from __future__ import annotations

from dataclasses import replace

from topicx.corpus.corpus import Corpus
from topicx.corpus.formats.input_bytes import InputSource
from topicx.errors import InputError
from topicx.estimate import estimate
from topicx.files import container
from topicx.mallet.instance_lists import GAPS, JAVA, SOURCE, Instances, java_refused
from topicx.mallet.mallet_training import MalletSettings
from topicx.model import Model
from topicx.state import State
from topicx.strings import Strings


def save_model(path: str, state: State, instances: Instances, settings: MalletSettings) -> None:
    """--output-model: a state file of topicx's, with what the instances hold beside the tokens."""
    found = {name: instances.corpus.columns.get(name) for name in (SOURCE, GAPS)}
    known = {name: column for name, column in found.items() if isinstance(column, Strings)}
    about = {"form": instances.form, "columns": sorted(known), "seed": settings.seed}
    sources, gaps = (known.get(name, Strings.of([])) for name in (SOURCE, GAPS))
    replace(state, sources=sources, gaps=gaps, meta=dict(state.meta) | {"mallet": about}).save(path)


def load_model(path: str) -> tuple[State, Instances]:
    """What --output-model wrote (or any state file of topicx's): the state, and its instances."""
    _refuse_java(path, "train-topics --output-model")
    state = State.load(path)
    if state.paths > 1:
        raise InputError(f"{path}: has {state.paths} paths, and MALLET's states one (topicx export --path)")
    about = state.meta.get("mallet") or {}
    beside = {SOURCE: state.sources, GAPS: state.gaps}
    corpus = Corpus(
        words=state.words, offsets=state.offsets, vocabulary=state.vocabulary, ids=state.ids,
        columns={name: column for name, column in beside.items() if len(column)},
        meta={name: value for name, value in state.meta.items() if name == "tokenizer"},
    )  # fmt: skip
    return state, Instances(corpus, about.get("form", "sequence"))


def save_topics(path: str, state: State, settings: MalletSettings) -> None:
    """--inferencer-filename and --evaluator-filename: a model file of topicx's, φ by the counts."""
    if not state.n_tokens:
        raise InputError(f"{path}: there are no tokens, so there are no topics to write")
    model = estimate(state, theta="cgs", phi="cgs", examples=0)
    model.meta = dict(model.meta) | {"mallet": {"seed": settings.seed}}
    model.parents = dict(state.parents)
    model.save(path)


def load_topics(path: str) -> Model:
    """Topics to infer with: a model file, or the state of an --output-model."""
    _refuse_java(path, "train-topics --inferencer-filename")
    if container.kind_of(path) != "state":
        return Model.load(path)
    state = State.load(path)
    model = estimate(state, theta="cgs", phi="cgs", examples=0)
    model.meta = dict(model.meta) | {"mallet": state.meta.get("mallet", {})}
    return model


def _refuse_java(path: str, maker: str) -> None:
    with InputSource(path) as source:
        if source.peek(4) == JAVA:
            raise InputError(java_refused(path, maker))
