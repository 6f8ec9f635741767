"""Topics with keywords (Eshima, Imai & Sasaki 2024, "Keyword-assisted topic models"): one says what one looks for.

    w ~ Categorical(φ̃_k) with the chance π_k, else Categorical(φ_k),    π_k ~ Beta(a, b)
    φ̃_k ~ Dirichlet(κ) over the keywords of topic k alone,    φ_k ~ Dirichlet(β) over all words

Topics without keywords stand beside those that have some. What a topic's words are together, (1 - π) φ + π φ̃, the model
keeps as counts like any other, so that all that reads models reads these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.declare import declare_option, positive_option, whole_option
from topicx.engines.threads import Engine
from topicx.errors import InputError
from topicx.estimate.cgsp_counts import MAX_ENTRIES, DumpCounts, ThetaRows, WordCounts
from topicx.estimate.estimators import TokenMixture
from topicx.files.array_sizes import TOKENS, TOPICS, WORDS, size_beside
from topicx.files.schema import Array
from topicx.model import Model
from topicx.models.definition import Priors, initial_state
from topicx.models.dmr import DirichletMultinomialRegression, DmrOptions
from topicx.models.keyword_lists import describe_keyword_lists, keywords_of, match_keywords
from topicx.predict.reader import Admixture, Reader
from topicx.sampling.method import Update
from topicx.sampling.run_options import Options
from topicx.sampling.sampler_registry import KEYWORDS
from topicx.sampling.samplers.keyword_topics import KeywordCounts
from topicx.sampling.updates.prior_fixed_points import LearnPriors
from topicx.state import MAX_TOPICS, Csr, State
from topicx.strings import Strings

if TYPE_CHECKING:
    import scipy.sparse

    from topicx.sampling.updates.prior_regression import Floats

KEYWORD_PAIRS = size_beside("keywords")
"""Pairs of a topic and one of its keywords."""
ENTRIES = 1 << 22
"""Probabilities of documents that are in memory at once."""


def _check_keywords(name: str, value: Any) -> None:
    if not isinstance(value, str | Mapping):
        raise InputError(f"{name} must be the name of a file, or {{name: words}}, not {value!r:.60}")


@dataclass(frozen=True)
class KeywordOptions(DmrOptions):
    """The options of topics with keywords: those of DMR, and its own."""

    keywords: str = declare_option(
        "", str, "Names of topics and their words: a file with lines 'name: word, word*', YAML or JSON.",
        check=_check_keywords, metavar="FILE",
    )  # fmt: skip
    residual: int = whole_option(10, 0, MAX_TOPICS - 1, help="Topics without keywords beside.")
    keyword_beta: float = positive_option(0.1, help="κ: the prior of each keyword in its topic's own distribution.")
    keyword_share: float = positive_option(
        1.0, help="a: the first parameter of the Beta prior of π, a topic's share of keywords; larger: more of them."
    )
    regular_share: float = positive_option(1.0, help="b: the second parameter; larger: fewer of them.")


class Keyword(DirichletMultinomialRegression):
    """Topics with keywords of their own."""

    name: ClassVar[str] = "keyword"
    summary: ClassVar[str] = "keyword: topics that are known by keywords (--keywords FILE), and some beside"
    Own: ClassVar[type] = KeywordOptions
    capabilities: ClassVar[frozenset[str]] = frozenset({KEYWORDS})
    defaults: ClassVar[Mapping[str, Any]] = {
        "optimize_interval": 10, "optimize_burn_in": 20, "optimize": "alpha", "start": "random",
    }  # fmt: skip
    unfit: ClassVar[Mapping[str, str]] = {"topics": "there are as many as have keywords, and those of residual"}
    elsewhere: ClassVar[str] = "its topics are those that have keywords; compare numbers of residual topics by hand"

    @property
    def regressed(self) -> bool:
        """Whether priors depend on what documents carry, too."""
        return bool(self.own.formula.replace(" ", "") != "~1")

    # -- training ----------------------------------------------------------------------------------------------

    def state(self, corpus: Corpus, options: Options, priors: Priors) -> State:
        if priors.seed_words:
            raise InputError("seed words are for other models: keywords are what this one has")
        if not self.own.keywords:
            raise InputError("keywords: the model keyword needs them: --keywords FILE, with lines 'name: word, word*'")
        keywords = keywords_of(self.own.keywords)
        words, topics, missing = match_keywords(keywords, corpus.vocabulary)
        number = len(keywords) + self.own.residual
        if number > MAX_TOPICS:
            raise InputError(f"keywords: {number:,} topics are too many; there can be {MAX_TOPICS:,}")
        if isinstance(options.alpha, tuple):
            raise InputError("alpha: one number for all topics is needed")
        each = options.alpha_sum / number if options.alpha_sum else float(options.alpha or 0.1)  # type: ignore[arg-type]
        alpha = np.full(number, each)
        if self.regressed:
            state = self.regressed_state(corpus, options, priors, alpha)
        else:
            state = initial_state(corpus, options, priors, alpha=alpha[None, :])
        own = self.own
        state.side |= {
            "keyword_words": words, "keyword_topics": topics, "keyed": np.zeros(corpus.n_tokens, np.uint8),
            "keyword_prior": np.array([own.keyword_share, own.regular_share, own.keyword_beta]),
        }  # fmt: skip
        state.meta["keywords"] = {"names": list(keywords), "missing": missing}
        return state

    @staticmethod
    def side_arrays(own: Any, meta: Mapping[str, Any], finished: bool) -> tuple[Array, ...]:
        regressed = own.formula.replace(" ", "") != "~1"
        more = DirichletMultinomialRegression.side_arrays(own, meta, finished) if regressed else ()
        entries = (
            Array("keyword_words", "uint32", KEYWORD_PAIRS, below=WORDS),
            Array("keyword_topics", "uint16", KEYWORD_PAIRS, below=TOPICS),
        )
        if finished:
            return (*more, *entries, Array("keyword_shares", "float64", TOPICS, low=0, high=1))
        return (
            *more, *entries, Array("keyed", "uint8", TOKENS, low=0, high=1),
            Array("keyword_prior", "float64", 3, low=1e-30, high=1e30),
        )  # fmt: skip

    def updates(self, options: Options, state: State) -> Sequence[Update]:
        if self.regressed:
            return super().updates(options, state)
        return [LearnPriors.of(options)]

    def notes(self, state: State) -> list[str]:
        """The table of keywords, and what is missing."""
        side, known = state.side, state.meta.get("keywords", {})
        if "keyword_words" not in side:
            return []
        frequencies = np.bincount(state.words, minlength=state.n_words).astype(np.int64)
        lines = describe_keyword_lists(
            known.get("names", []), side["keyword_words"], side["keyword_topics"], state.vocabulary, frequencies
        )
        missing = known.get("missing", [])
        more = f" and {len(missing) - 10} more" if len(missing) > 10 else ""
        lines += [f"keywords that no document has: {', '.join(missing[:10])}{more}"] if missing else []
        return lines + (super().notes(state) if self.regressed else [])

    # -- results -----------------------------------------------------------------------------------------------

    def verify_state(self, state: State) -> None:
        if self.regressed:
            super().verify_state(state)

    def verify(self, model: Model) -> None:
        if self.regressed:
            super().verify(model)

    def estimator(self, state: State) -> KeywordEstimator:
        return KeywordEstimator()

    pools_states: ClassVar[bool] = True

    def pooled_side(
        self, sides: Sequence[Mapping[str, NDArray[Any]]], orders: Sequence[NDArray[np.int64]]
    ) -> dict[str, NDArray[Any]]:
        named = sides[0]["keyword_topics"]
        for side, order in zip(sides, orders, strict=True):
            alike = all(np.array_equal(side[name], sides[0][name]) for name in ("keyword_words", "keyword_topics"))
            if not alike or np.any(order[named] != named):
                raise InputError("the states do not have the same keywords in the same topics: they have no average")
        return super().pooled_side(sides, orders) if self.regressed else dict(sides[0])

    def reordered(self, state: State, order: NDArray[np.int64]) -> State:
        return replace(state, z=np.argsort(order)[state.z].astype(np.uint16), alpha=state.alpha[:, order])

    def merged_side(self, side: Mapping[str, NDArray[Any]], target: NDArray[np.uint16]) -> dict[str, NDArray[Any]]:
        raise InputError("merge: topics with keywords are those of the list: join their lines in it, and train again")

    def finish(self, state: State, model: Model, samples: Sequence[State]) -> None:
        """π, and with cgs φ of both distributions together: means over all samples."""
        if self.regressed:
            super().finish(state, model, samples)
        counted = [adopted_counts(one) for one in samples]
        if model.meta["estimator"]["phi"] == "cgs":
            parts = [_counted_words(one, counts) for one, counts in zip(samples, counted, strict=True)]
            found = (sum(parts[1:], parts[0]) / len(parts)).tocsr()
            model.indptr, model.topics = found.indptr.astype(np.int64), found.indices.astype(np.uint16)
            model.values = found.data
        model.side |= {
            "keyword_words": state.side["keyword_words"], "keyword_topics": state.side["keyword_topics"],
            "keyword_shares": np.mean([counts.keyword_shares() for counts in counted], axis=0),
        }  # fmt: skip
        names = list(state.meta.get("keywords", {}).get("names", []))
        others = [f"other{number + 1}" for number in range(state.n_topics - len(names))]
        model.topic_names = Strings.of([*names, *others])

    def reader(self, model: Model) -> Reader:
        return super().reader(model) if self.regressed else Admixture(model)


def adopted_counts(state: State) -> KeywordCounts:
    """The counts of a state."""
    counts = KeywordCounts(state)
    counts.adopt(np.ascontiguousarray(state.z).copy(), state.side["keyed"].copy())
    return counts


def _counted_words(state: State, counts: KeywordCounts) -> scipy.sparse.csr_array:
    """What `together` makes of a state's counts as they are."""
    import scipy.sparse

    n0 = counts.rows[: state.n_words, : state.n_topics].astype(np.float64)
    found = together(state, n0, counts.counts[:-1].astype(np.float64))
    shape = state.n_words, state.n_topics
    return scipy.sparse.csr_array((found.values, found.topics.astype(np.int32), found.indptr), shape=shape)


def together(state: State, n0: Floats, n1: Floats) -> WordCounts:
    """Counts c with (c + β) / Σ(c + β) = (1 - π) φ + π φ̃ of every topic: n0 (words × topics) and, of keywords, what
    makes the part of φ̃ as large as π says."""
    side = state.side
    words, topics = side["keyword_words"], side["keyword_topics"].astype(np.int64)
    a, b, kappa = (float(value) for value in side["keyword_prior"])
    lengths = np.bincount(topics, minlength=state.n_topics)
    plain, keyed = n0.sum(axis=0), np.bincount(topics, n1, state.n_topics)
    odds = np.where(lengths > 0, (keyed + a) / (plain + b), 0.0)  # π / (1 - π)
    share = (n1 + kappa) / (keyed[topics] + lengths[topics] * kappa)
    total = n0.copy()
    total[words, topics] += (plain[topics] + float(state.beta.sum())) * odds[topics] * share
    indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(total, axis=1))]).astype(np.int64)
    rows, columns = np.nonzero(total)
    nothing = np.zeros(0)
    return WordCounts(indptr, columns.astype(np.uint16), total[rows, columns], nothing, nothing)


class KeywordEstimator(TokenMixture):
    """θ and φ of topics with keywords: cgsp counts a token by what a further sweep would draw, topic and keyword."""

    def soft_counts(  # type: ignore[override]
        self, state: State, threads: int | Engine, counts: DumpCounts | None = None, *, path: int | None = None
    ) -> KeywordConditionals:
        return KeywordConditionals(state)

    def soft_rows(
        self, state: State, threads: int | Engine, counts: DumpCounts | None = None, word_rows: Csr | None = None,
        *, path: int | None = None,
    ) -> Iterator[ThetaRows]:  # fmt: skip
        yield from KeywordConditionals(state).documents()


class KeywordConditionals:
    """Expected counts of a state by the full conditionals of its tokens."""

    def __init__(self, state: State) -> None:
        self.state, self.counts = state, adopted_counts(state)

    def documents(
        self, *, proportions: bool = True, wanted: bool = True, for_words: bool = True
    ) -> Iterator[ThetaRows]:  # fmt: skip
        """θ^p in batches of documents."""
        state = self.state
        step = max(ENTRIES // state.n_topics, 1)
        for begin in range(0, state.n_documents, step):
            end = min(begin + step, state.n_documents)
            rows = np.zeros((end - begin, state.n_topics))
            self.counts.conditionals(begin, end, rows, np.zeros((0, 0)), np.zeros(0))
            rows += state.alpha[state.groups[begin:end] if len(state.groups) else 0]
            yield begin, rows / rows.sum(axis=1, keepdims=True)

    def words(self, max_entries: int = MAX_ENTRIES) -> WordCounts:
        """Expected counts by word."""
        state = self.state
        n0, n1 = np.zeros((state.n_words, state.n_topics)), np.zeros(len(self.counts.of))
        self.counts.conditionals(0, state.n_documents, np.zeros((0, 0)), n0, n1)
        return together(state, n0, n1[:-1])
