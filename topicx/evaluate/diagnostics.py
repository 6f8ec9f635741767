"""Diagnostics of topics: MALLET's twelve, and the pairs of topics that say the same.

Counts are the state's (pseudo-counts of seed words left out); the top words are the model's. With n_kw, n_k, n_dk:

    tokens             n_k
    document_entropy   entropy of n_dk / n_k over documents: high for topics of all, low for those of a few
    word-length        mean length of the top words
    coherence          Σ_{i>j} log (D_k(w_i, w_j) + β) / (D_k(w_j) + β), D_k: documents where the words are in topic k
    uniform_dist       Kullback-Leibler divergence of n_kw / n_k from uniform
    corpus_dist        the same from the corpus's frequencies: near 0 for a topic that is only the background
    eff_num_words      1 / Σ_w (n_kw / n_k)²
    token-doc-diff     Jensen-Shannon divergence of the top words' token and document counts: high for bursty words
    rank_1_docs        of the documents with the topic, the share where it is the largest
    allocation_ratio   documents with θ_dk >= 0.5, over those with θ_dk >= 0.02
    allocation_count   of the documents with the topic, the share with θ_dk >= 0.3
    exclusivity        mean over the top words of φ_kw / Σ_k' φ_k'w
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.errors import InputError
from topicx.model import Model
from topicx.predict.document_prior import state_priors
from topicx.predict.inference import Inference
from topicx.predict.topic_rows import match_vocabulary
from topicx.state import NONE, Seeds, State

if TYPE_CHECKING:
    import scipy.sparse

__all__ = ["topic_diagnostics"]

MALLET = (
    "tokens", "document_entropy", "word-length", "coherence", "uniform_dist", "corpus_dist", "eff_num_words",
    "token-doc-diff", "rank_1_docs", "allocation_ratio", "allocation_count", "exclusivity",
)  # fmt: skip


def topic_diagnostics(
    model: Model | None, documents: State | Corpus, top: int = 20, **options: Any
) -> list[dict[str, Any]]:
    """Measures of each topic, among them MALLET's.

    Parameters
    ----------
    model : Model or None
        The model. Without one the state's counts choose the top words.
    documents : State or Corpus
        A state, or a corpus whose topics are inferred.
    top : int, default 20
        Words of each topic.
    **options
        Options of `topicx.predict.Inference`, for a corpus.

    Returns
    -------
    list of dict
        A dictionary a topic: `topic`, MALLET's twelve numbers by its names, `words` (each with its count, documents,
        coherence and so on), and `nearest` (the most similar topic, and the cosine of the two).
    """
    if top < 1:
        raise InputError(f"top: {top} must be at least 1")
    state = documents if isinstance(documents, State) else infer_state(_model_needed(model), documents, **options)
    if model is not None and model.n_topics != state.n_topics:
        raise InputError(f"the model has {model.n_topics} topics, but the state has {state.n_topics}")
    return _Diagnostics(state, model, top).rows()


def _model_needed(model: Model | None) -> Model:
    if model is None:
        raise InputError("diagnostics of a corpus need a model; a state has its own topics")
    return model


def infer_state(model: Model, corpus: Corpus, **options: Any) -> State:
    """The corpus with a topic for every token that the model knows, sampled with fixed topics."""
    from topicx.strings import Strings

    inference = Inference(model, **options)
    inference.reader.need_assignments()
    parts = list(inference.stream(inference.corpus(corpus)))
    lengths = [np.diff(part.documents.offsets) for part in parts]
    offsets = np.zeros(sum(map(len, lengths)) + 1, np.int64)
    if parts:
        np.cumsum(np.concatenate(lengths), out=offsets[1:])
    alpha, groups = state_priors(inference.reader.alpha, [part.prior for part in parts])
    return State(
        words=np.concatenate([part.documents.words for part in parts] or [np.zeros(0, np.uint32)]),
        offsets=offsets,
        z=np.concatenate([part.z for part in parts] or [np.zeros(0, np.uint16)]),
        alpha=alpha,
        beta=model.beta,
        vocabulary=model.vocabulary,
        ids=Strings.of(name for part in parts for name in part.documents.ids),
        groups=groups,
    )


class _Diagnostics:
    def __init__(self, state: State, model: Model | None, top: int) -> None:
        import scipy.sparse

        self.state = state = replace(state.spread(), seeds=Seeds())
        self.topics, self.top = state.n_topics, top
        placed = state.z != NONE
        self.words, self.z = state.words[placed].astype(np.int64), state.z[placed].astype(np.int64)
        self.documents = np.repeat(np.arange(state.n_documents), state.lengths)[placed]
        shape = (self.topics, state.n_words)
        self.nkw: scipy.sparse.csr_array = scipy.sparse.csr_array(
            (np.ones(len(self.z)), (self.z, self.words)), shape=shape
        )
        self.nkw.sum_duplicates()
        self.nk = np.bincount(self.z, minlength=self.topics).astype(np.float64)
        self.nw = np.bincount(self.words, minlength=state.n_words).astype(np.float64)
        self.top_words = self._top_words(model)

    def _top_words(self, model: Model | None) -> list[NDArray[np.int64]]:
        if model is not None:
            match = match_vocabulary(self.state.vocabulary, model.vocabulary)
            index = {word: number for number, word in enumerate(model.vocabulary)}
            tops = model.top_words(self.top, last_first=True)  # ties as MALLET has them
            found = [np.array([match[index[w]] for w, _ in words], np.int64) for words in tops]
            return [words[words >= 0] for words in found]
        result = []
        for k in range(self.topics):
            begin, end = self.nkw.indptr[k], self.nkw.indptr[k + 1]
            words, counts = self.nkw.indices[begin:end].astype(np.int64), self.nkw.data[begin:end]
            result.append(words[np.lexsort((-words, -counts))[: self.top]])  # ties as MALLET has them
        return result

    def rows(self) -> list[dict[str, Any]]:
        nk = self.nk
        present = nk > 0
        columns = {
            "tokens": nk,
            "document_entropy": self._document_entropy(),
            **self._divergences(),
            **self._documents(),
        }
        exclusive = self._exclusivity()
        together = self._together()
        nearest, likeness = most_similar(self.nkw)
        rows: list[dict[str, Any]] = []
        for k in range(self.topics):
            words = self.top_words[k]
            joint = together[k]
            alone = joint.diagonal()
            logs = np.zeros((len(words), len(words)))
            later, earlier = np.tril_indices(len(words), -1)
            beta = self.state.beta[words]
            logs[later, earlier] = np.log((joint[later, earlier] + beta[later]) / (alone[earlier] + beta[earlier]))
            counts = self._counts(k, words)
            difference = _jensen_shannon(counts, alone)
            names = [self.state.vocabulary[int(w)] for w in words]
            row: dict[str, Any] = {"topic": k}
            row |= {name: float(values[k]) for name, values in columns.items()}
            row["word-length"] = float(np.mean([len(name) for name in names])) if names else 0.0
            row["coherence"] = float(logs.sum())
            row["token-doc-diff"] = float(difference.sum())
            row["exclusivity"] = float(exclusive[k].mean()) if len(words) else 0.0
            row = {"topic": k} | {name: row[name] for name in MALLET}
            row["nearest"] = {"topic": int(nearest[k]), "cosine": float(likeness[k])}
            share = counts / nk[k] if present[k] else counts
            running = np.cumsum(share)
            corpus = self.nw[words] / max(self.nw.sum(), 1)
            with np.errstate(divide="ignore", invalid="ignore"):
                uniform = np.where(share > 0, share * np.log(share * self.state.n_words), 0.0)
                background = np.where(share > 0, share * np.log(share / corpus), 0.0)
            row["words"] = [
                {
                    "word": names[i], "count": int(counts[i]), "prob": float(share[i]),
                    "cumulative": float(running[i]), "docs": int(alone[i]),
                    "word-length": len(names[i]), "coherence": float(min(logs[i, :i], default=0.0)),
                    "uniform_dist": float(uniform[i]), "corpus_dist": float(background[i]),
                    "token-doc-diff": float(difference[i]), "exclusivity": float(exclusive[k][i]),
                }
                for i in range(len(names))
            ]  # fmt: skip
            rows.append(row)
        return rows

    def _counts(self, k: int, words: NDArray[np.int64]) -> NDArray[np.float64]:
        begin, end = self.nkw.indptr[k], self.nkw.indptr[k + 1]
        row = dict(zip(self.nkw.indices[begin:end].tolist(), self.nkw.data[begin:end].tolist()))
        return np.array([row.get(w, 0.0) for w in words.tolist()])

    def _document_entropy(self) -> NDArray[np.float64]:
        _, topics, counts = self.state.document_topics()
        sums = np.bincount(topics, weights=counts * np.log(counts), minlength=self.topics)
        safe = np.maximum(self.nk, 1)
        return np.asarray(np.log(safe) - sums / safe)

    def _divergences(self) -> dict[str, NDArray[np.float64]]:
        rows = np.repeat(np.arange(self.topics), np.diff(self.nkw.indptr))
        p = self.nkw.data / self.nk[rows]
        corpus = self.nw[self.nkw.indices] / max(self.nw.sum(), 1)

        def total(values: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.bincount(rows, weights=values, minlength=self.topics).astype(np.float64)

        squares = total(p * p)
        return {
            "uniform_dist": total(p * np.log(p * self.state.n_words)),
            "corpus_dist": total(p * np.log(p / corpus)),
            "eff_num_words": np.divide(1.0, squares, out=np.zeros(self.topics), where=squares > 0),
        }

    def _documents(self) -> dict[str, NDArray[np.float64]]:
        state = self.state
        indptr, topics, counts = state.document_topics()
        documents = np.repeat(np.arange(state.n_documents), np.diff(indptr))
        lengths = np.bincount(documents, weights=counts, minlength=state.n_documents)
        groups = state.groups[documents] if len(state.groups) else 0
        share = (counts + state.alpha[groups, topics]) / (lengths + state.document_alpha())[documents]
        having = np.bincount(topics, minlength=self.topics).astype(np.float64)
        # The largest topic of a document; the lowest number of equals.
        order = np.lexsort((topics, -counts, documents))
        first = order[np.unique(documents[order], return_index=True)[1]]
        leading = np.bincount(topics[first], minlength=self.topics)

        def at_least(level: float) -> NDArray[np.float64]:
            return np.bincount(topics[share >= level], minlength=self.topics).astype(np.float64)

        def ratio(a: NDArray[Any], b: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.divide(a, b, out=np.zeros(self.topics), where=b > 0)

        return {
            "rank_1_docs": ratio(leading, having),
            "allocation_ratio": ratio(at_least(0.5), at_least(0.02)),
            "allocation_count": ratio(at_least(0.3), having),
        }

    def _exclusivity(self) -> list[NDArray[np.float64]]:
        """φ_kw / Σ_k' φ_k'w of the top words, φ by the counts and β."""
        words = np.unique(np.concatenate(self.top_words)) if self.top_words else np.zeros(0, np.int64)
        beta = self.state.beta
        some = np.asarray(self.nkw[:, words].toarray())
        phi = (some + beta[words]) / (self.nk + beta.sum())[:, None]
        share = phi / phi.sum(axis=0)
        return [share[k, np.searchsorted(words, chosen)] for k, chosen in enumerate(self.top_words)]

    def _together(self) -> list[NDArray[np.float64]]:
        """For each topic, in how many documents each pair of its top words is in this topic."""
        import scipy.sparse

        vocabulary = self.state.n_words
        wanted = [k * vocabulary + words for k, words in enumerate(self.top_words)]
        keys = np.concatenate([*wanted, np.zeros(0, np.int64)])
        order = np.argsort(keys, kind="stable")
        tokens = self.z * vocabulary + self.words
        at = np.minimum(np.searchsorted(keys[order], tokens), max(len(keys) - 1, 0))
        hit = keys[order][at] == tokens if len(keys) else np.zeros(len(tokens), bool)
        column = order[at[hit]] if len(keys) else np.zeros(0, np.int64)
        seen = scipy.sparse.csr_array(
            (np.ones(int(hit.sum())), (self.documents[hit], column)), shape=(self.state.n_documents, len(keys))
        )
        seen.sum_duplicates()
        seen.data[:] = 1
        columns = seen.tocsc()
        result, begin = [], 0
        for words in self.top_words:
            part = columns[:, begin : begin + len(words)]
            result.append(np.asarray((part.T @ part).toarray()))
            begin += len(words)
        return result


def _jensen_shannon(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """The terms of the divergence between two lists of counts."""
    if not a.sum() or not b.sum():
        return np.zeros(len(a))
    p, q = a / a.sum(), b / b.sum()
    middle = (p + q) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * np.log(p / middle), 0.0) + np.where(q > 0, q * np.log(q / middle), 0.0)
    return np.asarray(terms / 2)


def most_similar(rows: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """For each row (topic) of a sparse matrix the most similar other row, and the cosine of the two (-1, 0: none)."""
    norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    likeness = np.asarray((rows @ rows.T).toarray(), dtype=np.float64)
    scale = np.outer(norms, norms)
    likeness = np.divide(likeness, scale, out=np.zeros_like(likeness), where=scale > 0)
    np.fill_diagonal(likeness, -1.0)
    if likeness.shape[0] < 2:
        return np.full(likeness.shape[0], -1), np.zeros(likeness.shape[0])
    nearest = likeness.argmax(axis=1)
    return nearest, likeness[np.arange(len(nearest)), nearest]


def similar_topic_pairs(model: Model, cosine: float = 0.8) -> list[tuple[int, int, float]]:
    """Pairs of topics whose expected counts of words point the same way, the most alike first."""
    rows = model.counts().T.tocsr().astype(np.float64)
    norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    likeness = np.asarray((rows @ rows.T).toarray())
    scale = np.outer(norms, norms)
    likeness = np.divide(likeness, scale, out=np.zeros_like(likeness), where=scale > 0)
    a, b = np.nonzero(np.triu(likeness >= cosine, 1))
    return sorted(((int(i), int(j), float(likeness[i, j])) for i, j in zip(a, b)), key=lambda pair: -pair[2])
