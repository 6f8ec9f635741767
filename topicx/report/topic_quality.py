"""What speaks for a topic and what against it, as numbers and as sentences: diagnostics in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from topicx.evaluate.diagnostics import topic_diagnostics
from topicx.model import Model
from topicx.report.figures import as_percent, format_count, listed_words, plural_unit, singular_unit
from topicx.report.topic_words import ReportWords
from topicx.report.trend_sentences import Sentence
from topicx.state import State

Floats = NDArray[np.float64]
TOP = 20
"""Words that say whether a topic holds together."""
SAMPLED_TOKENS = 4_000_000
"""Words of the documents that diagnostics look at; of a larger state every n-th document is taken."""
SAME = 0.8
"""The cosine from which on two topics say the same."""
STEADY = 0.001
"""The change of the trace that is none, whatever its noise."""


@dataclass
class TopicQuality:
    """Numbers of each topic, and what to read with care."""

    exclusivity: Floats
    effective_words: Floats
    corpus_words: float
    """The effective number of words of the whole corpus."""
    coherence: Floats = field(default_factory=lambda: np.zeros(0))
    leads: Floats = field(default_factory=lambda: np.zeros(0))
    """Part of the documents with the topic where it is the largest."""
    effective_documents: Floats = field(default_factory=lambda: np.zeros(0))
    every: int = 1
    """Every so manieth document was looked at."""
    care: dict[int, list[Sentence]] = field(default_factory=dict)


def topic_quality(
    model: Model, rows: scipy.sparse.csr_array, words: ReportWords, state: State | None, above: NDArray[np.int64],
    unit: str, counted: bool = True,
) -> TopicQuality:  # fmt: skip
    """What the model alone tells, and what the state adds."""
    totals = np.maximum(np.asarray(rows.sum(axis=1)).ravel(), 1e-300)
    inside = rows.data / np.repeat(totals, np.diff(rows.indptr))
    everywhere = np.bincount(rows.indices, inside, rows.shape[1])
    topic = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    squares = np.bincount(topic, inside**2, rows.shape[0])
    exclusivity = np.zeros(rows.shape[0])
    for k in range(rows.shape[0]):
        own = slice(rows.indptr[k], rows.indptr[k + 1])
        best = np.lexsort((rows.indices[own], -inside[own]))[:TOP]
        if len(best):
            exclusivity[k] = np.mean(inside[own][best] / everywhere[rows.indices[own][best]])
    uses = np.asarray(rows.sum(axis=0)).ravel()
    corpus = 1 / max(float(((uses / max(uses.sum(), 1e-300)) ** 2).sum()), 1e-300)
    found = TopicQuality(exclusivity, np.divide(1, squares, out=np.zeros(len(squares)), where=squares > 0), corpus)
    if state is not None and state.placed:
        _add_diagnostics(found, model, state)
    _add_care(found, model, rows, above, unit, "rests on few words" if counted else "is small")
    return found


def _add_diagnostics(found: TopicQuality, model: Model, state: State) -> None:
    """Coherence, and how often topics lead."""
    found.every = max(1, -(-state.n_tokens * state.paths // SAMPLED_TOKENS))
    if found.every > 1:
        state = sample_documents(state, found.every)
    told: list[dict[str, Any]] = topic_diagnostics(model, state, TOP)
    found.coherence = np.array([row["coherence"] for row in told])
    found.leads = np.array([row["rank_1_docs"] for row in told])
    found.effective_documents = np.exp([row["document_entropy"] for row in told])


def sample_documents(state: State, every: int) -> State:
    """Every n-th document of a state."""
    from dataclasses import replace

    from topicx.corpus.table import Table
    from topicx.strings import take_rows

    state = state.path(0) if state.paths > 1 else state
    chosen = np.arange(0, state.n_documents, every)
    words, offsets = take_rows(state.words, state.offsets, chosen)
    z, _ = take_rows(state.z, state.offsets, chosen)
    groups = state.groups[chosen] if len(state.groups) else state.groups
    return replace(
        state, words=words, offsets=offsets, z=z, groups=groups, ids=state.ids[:0], table=Table(), side={}, extra={},
        allowed=None, digest="",
    )  # fmt: skip


def _add_care(
    found: TopicQuality, model: Model, rows: scipy.sparse.csr_array, above: NDArray[np.int64], unit: str, small: str
) -> None:  # fmt: skip
    """Why a topic is to be read with care."""
    weights, shown = model.topic_weights, model.shown
    topics = int(shown.sum())
    twins = _similar_topics(rows) if topics > 1 else {}
    exclusive = float(np.median(found.exclusivity[shown])) if topics else 0.0
    floor = _lower_fence(found.coherence[shown]) if len(found.coherence) and topics >= 8 else -np.inf
    for k in np.flatnonzero(shown).tolist():
        why: list[Sentence] = []
        if weights[k] * topics < 0.35 and topics >= 5:
            why.append([f"{small} ({as_percent(weights[k])})"])
        if len(found.effective_documents) and 0 < found.effective_documents[k] < 5:
            why.append([f"comes from few {plural_unit(unit)} (about {max(round(found.effective_documents[k]), 1)})"])
        elif above.size and 0 < above[0, k] < 10 and above[0].max() > 100:
            why.append([f"stands in few {plural_unit(unit)} ({above[0, k]} with a tenth or more)"])
        if len(found.coherence) and found.coherence[k] < floor:
            why.append([f"its words meet in one {singular_unit(unit)} less often than those of most topics"])
        if topics >= 5 and found.exclusivity[k] < exclusive / 2:
            why.append(["shares most of its words with other topics"])
        why += [["says almost the same as ", j] for j in twins.get(k, []) if shown[j]]
        if why:
            found.care[k] = why


def _lower_fence(values: Floats) -> float:
    """Below this a value is unlike most: a quartile below the first quartile."""
    first, third = np.percentile(values, [25, 75])
    return float(first - (third - first))


def _similar_topics(rows: scipy.sparse.csr_array) -> dict[int, list[int]]:
    """The topics that say almost the same as each."""
    norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    likeness = np.asarray((rows @ rows.T).toarray())
    scale = np.outer(norms, norms)
    likeness = np.divide(likeness, scale, out=np.zeros_like(likeness), where=scale > 0)
    np.fill_diagonal(likeness, 0)
    return {k: np.flatnonzero(likeness[k] >= SAME).tolist() for k in range(len(norms)) if (likeness[k] >= SAME).any()}


def interpret_topic(k: int, quality: TopicQuality, words: ReportWords, rows_total: Floats, unit: str) -> list[str]:
    """What to make of a topic, a sentence each."""
    told: list[str] = []
    own = slice(words.starts[k], words.starts[k + 1])
    uses = words.uses[words.chosen[own]]
    part = words.used[own] / np.maximum(uses, 1e-300)
    best = words.of_topic(k, 0.4, 60)
    alone = {int(w) for w, p, n in zip(words.chosen[own], part, words.used[own], strict=True) if p >= 0.9 and n >= 5}
    said = [f"“{words.words[w]}”" for w in best if w in alone][:3]
    if len(said) > 1:
        told.append(f"{listed_words(said)} occur almost nowhere else, so they say best what the topic is.")
    elif said:
        told.append(f"{said[0]} occurs almost nowhere else, so it says best what the topic is.")
    effective = quality.effective_words[k]
    if effective >= 1:
        against = ", more particular than the corpus as a whole" if effective < quality.corpus_words / 1.5 else ""
        told.append(f"It draws on about {format_count(effective)} words{against}.")
    if len(quality.leads) and quality.leads[k] > 0:
        told.append(_leading_sentence(float(quality.leads[k]), unit))
    return told


def _leading_sentence(part: float, unit: str) -> str:
    if part > 0.5:
        return f"It leads most of the {plural_unit(unit)} that it occurs in: a subject of its own."
    parts = round(1 / part)
    if parts > 20:
        return f"It leads hardly any of the {plural_unit(unit)} that it occurs in: it goes along with other topics."
    many = plural_unit(unit)
    return f"It leads about one in {parts} of the {many} that it occurs in, and goes along with others in the rest."


@dataclass(frozen=True)
class Settling:
    """Whether the chain has settled."""

    known: bool
    settled: bool = False
    change: float = 0.0
    sweeps: int = 0
    of: int = 0


def judge_settling(model: Model) -> Settling:
    """From the last quarter of the trace: whether its line moves more than the points scatter about it."""
    score = np.asarray(model.trace.get("score", np.zeros(0)), np.float64)
    sweep = np.asarray(model.trace.get("sweep", np.arange(len(score))), np.float64)
    kept = np.isfinite(score)
    score, sweep = score[kept], sweep[kept]
    if len(score) < 8:
        return Settling(False)
    last = sweep >= sweep[-1] - (sweep[-1] - sweep[0]) / 4
    x, y = sweep[last] - sweep[last].mean(), score[last]
    if len(y) < 4 or not np.any(x):
        return Settling(False)
    slope = float((x * y).sum() / (x * x).sum())
    noise = float(np.std(y - y.mean() - slope * x))
    change = slope * float(np.ptp(x))
    settled = abs(change) <= max(2 * noise, STEADY)
    return Settling(True, settled, change, round(float(np.ptp(x))), round(float(sweep[-1])))


def quality_sentence(found: TopicQuality, settled: Settling, topics: int) -> str:
    """Whether the model may be relied on."""
    careful = len(found.care)
    verb = "needs" if careful == 1 else "need"
    if careful:
        care = (
            f"{careful} of {topics} topics {verb} care in reading" if topics > 1 else "the topic needs care in reading"
        )
    else:
        care = "no topic asks for special care"
    if not settled.known:
        return care[0].upper() + care[1:]
    way = "was still improving" if settled.change > 0 else "was still moving"
    return f"{'The chain has settled' if settled.settled else f'The chain {way} when it stopped'}; {care}"
