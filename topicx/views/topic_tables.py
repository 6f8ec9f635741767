"""A model's topics as a table, and which topics are alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from topicx.declare import check_whole
from topicx.errors import InputError
from topicx.model import Model

if TYPE_CHECKING:
    import pandas

WORDS = 10
"""Words of each topic."""


def topic_table(model: Model, words: int = WORDS) -> pandas.DataFrame:
    """Make a table of a model's topics.

    Parameters
    ----------
    model : Model
        A trained model.
    words : int, default 10
        Words of each topic.

    Returns
    -------
    pandas.DataFrame
        A row for each topic that is not hidden, by its number: name ("" where it has none), share of the tokens, α (the
        mean over groups of documents, where there are several), effective words (how many words as probable as each
        other would be as mixed), the most probable words, and the most typical document.

    Examples
    --------
    >>> import topicx
    >>> lda = topicx.LDA(topics=8, iterations=50, seed=1, verbose=False).fit(topicx.datasets.embedded())
    >>> table = topic_table(lda.model, words=3)
    >>> list(table.columns)
    ['name', 'share', 'alpha', 'effective_words', 'words', 'document']
    >>> table.index.name, round(float(table["share"].sum()), 6)
    ('topic', 1.0)
    """
    check_whole("words", words, 0, None)
    try:
        import pandas
    except ImportError:
        raise InputError("data frames need pandas: pip install 'topicx[dataframe]'") from None

    shown = np.flatnonzero(model.shown)
    top, alpha = model.top_words(words), model.alpha.mean(axis=0)
    documents = model.example_documents
    number = documents.shape[1]
    typical = [model.example_ids[k * number] if number and documents[k, 0] >= 0 else "" for k in shown.tolist()]
    return pandas.DataFrame(
        {
            "name": [model.topic_names[k] if len(model.topic_names) else "" for k in shown.tolist()],
            "share": model.topic_weights[shown],
            "alpha": alpha[shown],
            "effective_words": _effective_words(model)[shown],
            "words": [" ".join(word for word, _ in top[k]) for k in shown.tolist()],
            "document": typical,
        },
        index=pandas.Index(shown, name="topic"),
    )


def similar_topics(model: Model, topic: int, number: int = 5) -> list[tuple[int, float]]:
    """Find the topics whose words are most like a topic's.

    Parameters
    ----------
    model : Model
        A trained model.
    topic : int
        Number of the topic.
    number : int, default 5
        Topics to find, of those that are not hidden.

    Returns
    -------
    list of (int, float)
        Numbers of topics and similarities, the most similar first: 1 for the same probabilities of words, 0 for no word
        in common (1 minus Hellinger's distance, as `topicx.estimate.align_topics` has it between models).

    Examples
    --------
    >>> import topicx
    >>> lda = topicx.LDA(topics=8, iterations=50, seed=1, verbose=False).fit(topicx.datasets.embedded())
    >>> found = similar_topics(lda.model, 0, number=2)
    >>> len(found), found[0][1] >= found[1][1], 0 in dict(found)
    (2, True, False)
    """
    check_whole("topic", topic, 0, model.n_topics - 1)
    check_whole("number", number, 1, None)
    overlap = np.zeros(model.n_topics)
    step = max((1 << 22) // model.n_topics, 1)
    for begin in range(0, model.n_words, step):
        phi = np.sqrt(model.phi_of(np.arange(begin, min(begin + step, model.n_words))))
        overlap += phi[:, topic] @ phi
    similar = 1 - np.sqrt(np.clip(1 - overlap, 0, 1))
    order = [int(k) for k in np.argsort(-similar, kind="stable") if k != topic and model.shown[k]]
    return [(k, float(similar[k])) for k in order[:number]]


def _effective_words(model: Model) -> NDArray[np.float64]:
    """The exponential of the entropy of each topic's words."""
    entropy = np.zeros(model.n_topics)
    step = max((1 << 22) // model.n_topics, 1)
    for begin in range(0, model.n_words, step):
        phi = model.phi_of(np.arange(begin, min(begin + step, model.n_words)))
        entropy -= (phi * np.log(np.maximum(phi, 1e-300))).sum(axis=0)
    return np.exp(entropy)
