"""Which topics speak for each class of a supervised model, or for the ends of its scale."""

from __future__ import annotations

from typing import Any

import numpy as np

from topicx.errors import InputError
from topicx.model import Model
from topicx.models.medlda import classifiers_of

MOST = 8
"""Topics that are shown of a class at most."""


def strongest_topics(model: Model, words: int = 10) -> list[dict[str, Any]]:
    """Topics of each class by falling weight η, of a model that predicts.

    Parameters
    ----------
    model : Model
        A MedLDA model.
    words : int, default 10
        Words of each topic.

    Returns
    -------
    list of dict
        A row a class (of two classes one each; of a regression one for high and one for low values): topics with
        weight, standard deviation of its draws, and words.
    """
    if model.meta.get("model") != "medlda" or "eta" not in model.side:
        raise InputError("the model has no weights: it was not trained with targets (train --model medlda)")
    learnt = classifiers_of(model)
    eta, spread = learnt.weights, learnt.spreads
    top = model.top_words(words)
    number = min(MOST, max(1, model.n_topics // 2))
    names = list(learnt.classes)
    columns = [(name, 1.0, column) for column, name in enumerate(names)]
    if len(names) == 2 and eta.shape[1] == 1:
        columns = [(names[1], 1.0, 0), (names[0], -1.0, 0)]
    elif not names:
        columns = [("high values", 1.0, 0), ("low values", -1.0, 0)]
    rows = []
    for name, sign, column in columns:
        order = np.argsort(-sign * eta[:, column], kind="stable")[:number]
        topics = [
            {
                "topic": int(topic), **model.named(topic), "weight": round(float(eta[topic, column]), 6),
                "spread": round(float(spread[topic, column]), 6), "words": [word for word, _ in top[topic]],
            }
            for topic in order
            if model.shown[topic] and eta[topic, column]  # 0: the topic is of another class's own model
        ]  # fmt: skip
        rows.append({"of": name, "topics": topics})
    return rows
