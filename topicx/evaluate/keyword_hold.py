"""How well keywords hold: whether the words that a topic was given are of this topic in documents.

A keyword w of topic k is of its topic in a document with p(k | w, θ) = θ_k φ_kw / Σ_j θ_j φ_jw. A topic whose
keywords are mostly other topics' (`held` below one half), or hardly any of its words (`share`, π), is not the topic
that was asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from topicx.corpus.corpus import Corpus
from topicx.errors import InputError
from topicx.model import Model
from topicx.predict.inference import infer
from topicx.predict.topic_rows import match_vocabulary

__all__ = ["measure_keywords"]

HOLDS = 0.5
"""The part of its keywords' tokens that a topic must have to hold."""


def measure_keywords(model: Model, corpus: Corpus, **options: Any) -> dict[str, Any]:
    """Ask of every keyword's tokens in a corpus whether they are of its topic.

    Parameters
    ----------
    model : Model
        A model of the kind `keyword`.
    corpus : Corpus
        Documents.
    **options
        Options of `topicx.predict.infer`.

    Returns
    -------
    dict
        `held`, the part of all keywords' tokens that are of their topic (of one of them, where several topics have the
        word), `lost`, the number of topics that do not hold, and a dict a topic with the same of its keywords.
    """
    if "keyword_words" not in model.side:
        raise InputError("the model has no keywords (train --model keyword)")
    words, topics = model.side["keyword_words"].astype(np.int64), model.side["keyword_topics"].astype(np.int64)
    theta = infer(model, corpus, **options)
    known = match_vocabulary(model.vocabulary, corpus.vocabulary)[corpus.words]
    document = np.repeat(np.arange(corpus.n_documents), np.diff(corpus.offsets))
    used = np.isin(known, words)
    known, document = known[used], document[used]
    distinct, rows = np.unique(known, return_inverse=True)
    p = theta[document].astype(np.float64) * model.phi_of(distinct)[rows.reshape(-1)]
    p /= p.sum(axis=1, keepdims=True)
    sums = np.zeros((model.n_words, model.n_topics))
    np.add.at(sums, known, p)
    tokens = np.bincount(known, minlength=model.n_words)
    top = [{word for word, _ in row} for row in model.top_words(20)]
    told: list[dict[str, Any]] = []
    for k in sorted(set(topics.tolist())):
        own = words[topics == k]
        number, mine = int(tokens[own].sum()), float(sums[own, k].sum())
        each = [
            {"word": model.vocabulary[int(w)], "tokens": int(tokens[w]),
             "held": round(float(sums[w, k] / tokens[w]), 4) if tokens[w] else None,
             "among_20": model.vocabulary[int(w)] in top[k]}
            for w in own[np.argsort(-tokens[own], kind="stable")]
        ]  # fmt: skip
        held = round(mine / number, 4) if number else None
        told.append({
            "topic": k, "name": model.topic_names[k] if len(model.topic_names) else str(k),
            "share": round(float(model.side["keyword_shares"][k]), 4), "tokens": number, "held": held,
            "holds": held is not None and held >= HOLDS, "keywords": each,
        })  # fmt: skip
    shared = np.zeros((model.n_words, model.n_topics), bool)
    shared[words, topics] = True
    total = int(tokens[np.unique(words)].sum())
    return {
        "held": round(float(sums[shared].sum() / total), 4) if total else None, "tokens": total,
        "lost": sum(not row["holds"] for row in told), "topics": told,
    }  # fmt: skip
