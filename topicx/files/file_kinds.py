"""The kinds of files that topicx writes: every array of each, declared. `topicx.files.schema` says what the words mean.

Sizes that appear in several places (documents, tokens, words, topics and more) are constants of `array_sizes`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from topicx.errors import InputError
from topicx.files.array_sizes import (
    ANY_SIZE,
    COLLECTIONS,
    DOCUMENTS,
    ENTRIES,
    EXAMPLES,
    LABELS,
    PATHS,
    PRIOR_GROUPS,
    RECORDS,
    RESTARTS,
    SEEDS,
    STATES,
    TOKENS,
    TOPICS,
    WORDS,
    named_size,
)
from topicx.files.schema import (
    Array,
    Inconsistent,
    Many,
    Part,
    Ragged,
    Schema,
    TextArrays,
    check_members,
    is_finite_number,
    is_list_of,
    is_whole_number,
    require_consistent,
    string_arrays,
)

LOWEST, HIGHEST = 9.99e-31, 1.001e30
"""Limits of a prior weight: those of the training options, and what rounding to single precision may add."""
FINITE = 1.7976931348623157e308
FLOAT, SMALLEST = 3.4028234663852886e38, 1.401298464324817e-45
"""The largest and the smallest positive number of single precision."""
COUNT = 1 << 53
"""Counts that a double holds exactly."""
SEED = 1 << 24
"""Pseudo-counts of a seed word in a topic: its weight is at most a million, and readers make room for each."""
SOFT = 1_000_000
"""Sweeps of a soft start, as of a run."""
LONGEST = 1_000_000
"""Characters that a tokenizer may want of a word."""
ANY = "uint8 int8 uint16 int16 uint32 int32 uint64 int64 float32 float64 bool"

_WORDS = (
    Array("words", "uint32", TOKENS, below=WORDS),
    Array("offsets", "int64", DOCUMENTS + 1, ends=TOKENS),
)
_VOCABULARY = TextArrays("vocabulary", WORDS)
_PRIORS = (
    Array("alpha", "float64", (PRIOR_GROUPS, TOPICS), low=LOWEST, high=HIGHEST),
    Array("beta", "float64", WORDS, low=LOWEST, high=HIGHEST),
)
_TRACE = Many("trace.", "trace", (Array("trace.*", "float64", RECORDS),))
_SIDE = Many("side.", "side", (Array("side.*", ANY, None),))
_MODEL_SIZES = {TOPICS: (1, 0xFFFF), PRIOR_GROUPS: (1, 1 << 31)}
_STATE_SIZES = {**_MODEL_SIZES, PATHS: (1, 1 << 16)}


def _is_tokenizer(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("pattern"), str)
        and isinstance(value.get("lowercase"), bool)
        and is_list_of(value.get("stopwords", []))
        and is_list_of(value.get("phrases", []), list)
        and all(is_list_of(pair) and len(pair) == 2 for pair in value.get("phrases", []))
        and isinstance(value.get("stem"), str | None)
        and (value.get("min_length") is None or is_whole_number(value["min_length"], 1, LONGEST))
    )


def _is_options(value: Any) -> bool:
    own, model = (value.get("own", {}), value.get("model", "")) if isinstance(value, dict) else (None, None)
    return isinstance(own, dict) and isinstance(model, str)


def _or_nothing(rule: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or rule(value)


def _is_mallet_metadata(value: Any) -> bool:
    """What `topicx mallet` keeps of an instance list, a model or topics."""
    if not isinstance(value, dict):
        return value is None
    kinds: dict[str, Any] = {"form": str, "hidden": bool, "pipe": dict | None}
    return (
        all(isinstance(value[name], kind) for name, kind in kinds.items() if name in value)
        and all(is_list_of(value[name]) for name in ("labels", "columns") if value.get(name) is not None)
        and is_whole_number(value.get("seed", 0), -(1 << 63), 1 << 63)
    )


_ADDED = ("dropped_words", "dropped_tokens", "dropped_documents", "unknown_tokens")
"""Counts to which others are added."""
_META = {
    "tokenizer": _is_tokenizer,
    "columns": is_list_of,
    "groups": is_list_of,
    "notes": is_list_of,
    "time": lambda value: value in ("number", "date"),
    "counts": lambda value: isinstance(value, dict) and all(is_whole_number(value.get(name, 0)) for name in _ADDED),
    "options": _is_options,
    "mallet": _is_mallet_metadata,
    "model": lambda value: isinstance(value, str),
    "own": lambda value: isinstance(value, dict),
    "covariates": lambda value: isinstance(value, dict),
    "keywords": lambda value: (
        isinstance(value, dict) and is_list_of(value.get("names", [])) and is_list_of(value.get("missing", []))
    ),
    "estimator": lambda value: isinstance(value, dict),
    "documents": is_whole_number,
    "part": is_whole_number,
    "tokens": is_whole_number,
    "types_without_tokens": is_whole_number,
    "seed_counts": lambda value: isinstance(value, list) and all(is_finite_number(one, 0, COUNT) for one in value),
}
"""What members of the metadata are, where code relies on them."""
_META |= {
    name: _or_nothing(_META[name])
    for name in ("tokenizer", "time", "model", "documents", "tokens", "types_without_tokens", "seed_counts")
}


def side_arrays_of(name: Any, meta: Mapping[str, Any], finished: bool, *prefixes: str) -> tuple[Array, ...]:
    """The side arrays that the definition of this model declares, under each of these prefixes; those of the first
    must be there, if any is."""
    if name in (None, "", "lda"):
        return ()
    from topicx import model_registry  # when such a file is read: what belongs to a model stands in its module

    require_consistent(
        _is_options(meta.get("options", {})), "the metadata 'options' in a form that topicx does not write"
    )
    try:
        declared = model_registry.side_arrays(str(name), meta, finished)
    except (InputError, TypeError, ValueError) as error:
        raise Inconsistent(f"options that its model refuses: {error}") from None
    return tuple(one.under(prefix, required=at == 0) for at, prefix in enumerate(prefixes) for one in declared)


def _state_sides(meta: Mapping[str, Any]) -> tuple[Array, ...]:
    return side_arrays_of(meta.get("model"), meta, False, "side.")


def _model_sides(meta: Mapping[str, Any]) -> tuple[Array, ...]:
    return side_arrays_of(meta.get("model"), meta, True, "side.")


def _checkpoint_sides(meta: Mapping[str, Any]) -> tuple[Array, ...]:
    options, state = meta.get("options"), meta.get("state")
    if not isinstance(options, dict) or not isinstance(state, dict):
        return ()  # which is refused soon
    return side_arrays_of(
        options.get("model"), state | {"options": options}, False, "side.", "start.side.", "side_sample.*."
    )


_RUN = ("covariates", "keywords", "options", "model", "own", "estimator", "documents", "tokens", "mallet", "groups")


def _make_common_check(*names: str) -> Any:
    def check(meta: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
        check_members(_META, names, meta)
        counted = meta.get("seed_counts") if "seed_counts" in names else None
        require_consistent(
            counted is None or len(counted) == sizes["topics"], "the metadata 'seed_counts' of other topics"
        )

    return check


CORPUS = Schema(
    "corpus",
    (
        _VOCABULARY,
        *_WORDS,
        TextArrays("ids", DOCUMENTS),
        TextArrays("label_names", LABELS),
        Array("label_offsets", "int64", DOCUMENTS + 1, ends=named_size("label_ids"), empty=0),
        Array("label_ids", "uint32", named_size("label_ids"), below=LABELS),
        TextArrays("collection_names", COLLECTIONS),
        Array("collection", "int32", DOCUMENTS, low=-1, below=COLLECTIONS, empty=0),
        Array("time", "float64", DOCUMENTS, low=-FINITE, high=FINITE, nan=True, empty=0),
        Array("word_frequencies", "int64", WORDS, low=0, high=COUNT, total=TOKENS),
        Array("document_frequencies", "int64", WORDS, low=0, high=COUNT),
        Many("column.", "columns", (*string_arrays("column.*", DOCUMENTS), Array("column.*", "float64", DOCUMENTS))),
        Many(
            "truth.",
            "truth",
            (
                Array("truth.z", ANY, TOKENS),
                Array("truth.document_topic", ANY, (DOCUMENTS, ANY_SIZE)),
                Array("truth.topic_word", ANY, (ANY_SIZE, WORDS)),
                Array("truth.*", ANY, None),
            ),
        ),
    ),
    meta=_make_common_check("tokenizer", "columns", "counts", "time", "mallet"),
)

_STATE: tuple[Part, ...] = (
    _VOCABULARY,
    *_WORDS,
    *_PRIORS,
    Array("z", "uint16", PATHS * TOKENS, below=TOPICS, none=True),
    Array("groups", "uint32", DOCUMENTS, below=PRIOR_GROUPS, empty=0),
    Array("seed_words", "uint32", SEEDS, below=WORDS, attribute="seeds.words"),
    Array("seed_topics", "uint16", SEEDS, below=TOPICS, attribute="seeds.topics"),
    Array("seed_counts", "int64", SEEDS, low=1, high=SEED, attribute="seeds.counts"),
    TextArrays("ids", DOCUMENTS),
    TextArrays("snippets", DOCUMENTS, empty=True),
    TextArrays("group_names", PRIOR_GROUPS, empty=True, since=2),
    TextArrays("mallet_source", DOCUMENTS, empty=True, attribute="sources", since=3),
    TextArrays("mallet_gaps", DOCUMENTS, empty=True, attribute="gaps", since=3),
    Many("column.", "columns", (*string_arrays("column.*", DOCUMENTS), Array("column.*", "float64", DOCUMENTS))),
    Ragged("allowed", Array("allowed.topics", "uint16", named_size("allowed.topics"), below=TOPICS), DOCUMENTS),
    _SIDE,
)
STATE = Schema(
    "state",
    _STATE,
    _STATE_SIZES,
    _make_common_check("tokenizer", "time", "notes", "types_without_tokens", "seed_counts", "part", *_RUN),
    _state_sides,
)

_EXAMPLES = "example_documents"
MODEL = Schema(
    "model",
    (
        _VOCABULARY,
        *_PRIORS,
        Array("indptr", "int64", WORDS + 1, ends=ENTRIES),
        Array("topics", "uint16", ENTRIES, below=TOPICS),
        Array("values", "int64 float32 float64", ENTRIES, low=0, high=1e30),
        Array("remainder", "float64", WORDS, low=0, high=1e30, empty=0),
        Array("remainder_share", "float64", TOPICS, low=0, high=1.000001, empty=0, partner="remainder"),
        Array("example_documents", "int64", (TOPICS, EXAMPLES), low=-1, high=COUNT, empty=0),
        Array("example_weights", "float64", (TOPICS, EXAMPLES), low=0, high=1.000001, empty=0, partner=_EXAMPLES),
        TextArrays("example_ids", TOPICS * EXAMPLES, empty=True, partner=_EXAMPLES),
        TextArrays("example_snippets", TOPICS * EXAMPLES, empty=True),
        TextArrays("example_columns", TOPICS * EXAMPLES, empty=True, attribute="example_objects", since=3),
        TextArrays("group_names", PRIOR_GROUPS, empty=True, since=2),
        TextArrays("topic_names", TOPICS, empty=True, since=2),
        Array("hidden", "uint8", TOPICS, low=0, high=1, empty=0, since=3, required=False),
        Array("merged", "uint16", TOPICS, below=TOPICS, empty=0, since=3, required=False),
        _TRACE,
        _SIDE,
    ),
    _MODEL_SIZES,
    _make_common_check("tokenizer", "seed_counts", *_RUN),
    _model_sides,
)


def _check_checkpoint(meta: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    for name in ("options", "state", "notes"):
        require_consistent(isinstance(meta.get(name), dict), f"the metadata {name!r}, which must be a map")
    for name in ("sampler", "start"):
        require_consistent(isinstance(meta.get(name), str), f"the metadata {name!r}, which must be a text")
    figures = meta.get("figures", {})
    require_consistent(
        isinstance(figures, dict) and all(is_finite_number(one) for one in figures.values()), "the metadata 'figures'"
    )
    require_consistent(_is_options(meta["options"]), "the metadata 'options' in a form that topicx does not write")
    require_consistent(isinstance(meta["options"].get("sampler"), str), "the option 'sampler', which must be a text")
    require_consistent(is_list_of(meta.get("trace", [])), "the metadata 'trace', which must be a list of names")
    require_consistent(is_whole_number(meta.get("position")), "the metadata 'position', which must be a whole number")
    for name in ("soft", "hot"):
        require_consistent(
            is_whole_number(meta.get(name, 0), 0, SOFT), f"the metadata {name!r}, which must be a number of sweeps"
        )
    for name in ("thin", "part"):
        begins = meta.get(name, [1.0, 0])
        require_consistent(
            isinstance(begins, list) and len(begins) == 2 and is_finite_number(begins[0]) and 0 < begins[0] <= 1
            and is_whole_number(begins[1], 0, SOFT),
            f"the metadata {name!r}, which must be a share and a number of sweeps",
        )  # fmt: skip
    require_consistent(is_finite_number(meta.get("seconds"), 0), "the metadata 'seconds', which must be a number")
    if STATE.meta is not None:
        STATE.meta(meta["state"], sizes)


CHECKPOINT = Schema(
    "checkpoint",
    (
        *_STATE,
        _TRACE,
        Array("sample.*.alpha", "float64", (PRIOR_GROUPS, TOPICS), low=LOWEST, high=HIGHEST, required=False),
        Array("sample.*.beta", "float64", WORDS, low=LOWEST, high=HIGHEST, required=False),
        Array("sample.*.z", "uint16", PATHS * TOKENS, below=TOPICS, required=False),
        Array(
            "start.alpha",
            "float64",
            (PRIOR_GROUPS, named_size("start.topics")),
            low=LOWEST,
            high=HIGHEST,
            required=False,
        ),
        Array("start.beta", "float64", WORDS, low=LOWEST, high=HIGHEST, required=False),
        Many(
            "method.", "method", (Array("method.*", ANY, None, low=-FINITE, high=FINITE),)
        ),  # each method says what its own must be
        Array("update.proportions.step", "float64", PRIOR_GROUPS, low=LOWEST, high=HIGHEST, empty=0, required=False),
        Many("update.", "updates", (Array("update.*", ANY, None),)),
        Many("start.", "start", (Array("start.*", ANY, None),)),  # what the next chain begins with
        Many("side_sample.", "side_samples", (Array("side_sample.*", ANY, None),)),
    ),
    _STATE_SIZES,
    _check_checkpoint,
    _checkpoint_sides,
)
"""A state, and what its chain needs beyond it."""


def _hmm_checkpoint(meta: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    require_consistent(isinstance(meta.get("options"), dict), "the metadata 'options', which must be a map")
    require_consistent(is_whole_number(meta.get("position")), "the metadata 'position', which must be a whole number")
    require_consistent(is_finite_number(meta.get("seconds"), 0), "the metadata 'seconds', which must be a number")


_SWEEPS = (
    Array("trace.sweep", "int64", RECORDS, low=0, high=COUNT),
    Array("trace.log_likelihood", "float64", (RECORDS, RESTARTS), empty=0, nan=True),
)
HMM = Schema(
    "hmm",
    (
        _VOCABULARY,
        Array("startprob", "float64", STATES, low=0, high=1.000001, shares=True),
        Array("transmat", "float64", (STATES, STATES), low=0, high=1.000001, shares=True),
        Array("emissionprob", "float64", (STATES, WORDS), low=0, high=1.000001, shares=True),
        Many("trace.", "trace", _SWEEPS),
    ),
    {STATES: (1, 256)},
)
HMM_CHECKPOINT = Schema(
    "hmm-checkpoint",
    (
        _VOCABULARY,
        *_WORDS,
        Array("restart.*.z", "uint8", (PATHS, TOKENS), required=False),  # whose states the options count
        Array("restart.*.start", "float64", STATES, low=0, high=1.000001, required=False),
        Array("restart.*.trans", "float64", (STATES, STATES), low=0, high=1.000001, required=False),
        Array("restart.*.emit", "float64", (WORDS, STATES), low=0, high=1.000001, required=False),
        Array("restart.*.last", "float64", 2, required=False),
        Many("trace.", "trace", _SWEEPS),
    ),
    {STATES: (1, 256)},
    _hmm_checkpoint,
)

KINDS = {schema.kind: schema.require_whole() for schema in (CORPUS, STATE, MODEL, CHECKPOINT, HMM, HMM_CHECKPOINT)}
