"""A model's topics as plain data: what is printed, logged and written of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from topicx.model import Model
from topicx.views.example_columns import carried_by_examples
from topicx.views.topic_passages import PassageFinder


def describe_topics(
    model: Model, words: int = 10, documents: int = 3, metadata: str = "all", passages: bool = False,
    topics: Iterable[int] | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """A row a topic: its name, weight, α, foremost words and typical documents, with what these carry, and the passages
    of their texts that say most of the topic, if these are asked for. `topics`: these alone (None: all)."""
    top = model.top_words(words)
    weights = model.topic_weights
    carries = carried_by_examples(model, metadata) if documents else []
    marked, shares = _marked_keywords(model), model.side.get("keyword_shares", ())
    rows: list[dict[str, Any]] = []
    finder = PassageFinder(model) if passages else None
    for topic in range(model.n_topics) if topics is None else topics:
        examples: list[dict[str, Any]] = []
        for rank in range(min(documents, model.example_documents.shape[1])):
            if model.example_documents[topic, rank] < 0:
                break
            flat = topic * model.example_documents.shape[1] + rank
            snippet = model.example_snippets[flat] if len(model.example_snippets) else ""
            carried = {"metadata": carries[flat]} if carries else {}
            weight = round(float(model.example_weights[topic, rank]), 6)
            examples.append({"id": model.example_ids[flat], "weight": weight, **carried, "snippet": snippet})
        if finder:
            found = finder.passages(topic, [each["snippet"] for each in examples])
            for each, passage in zip(examples, found, strict=True):
                each["passage"] = passage
        rows.append({
            "topic": topic,
            **model.named(topic),
            "weight": round(float(weights[topic]), 8),
            "alpha": float(model.alpha[0, topic]),
            **({"keyword_share": round(float(shares[topic]), 6)} if len(shares) and shares[topic] > 0 else {}),
            "words": [
                {"word": word, "probability": round(value, 8), **({"keyword": True} if (topic, word) in marked else {})}
                for word, value in top[topic]
            ],
            "documents": examples,
        })  # fmt: skip
    return rows


def _marked_keywords(model: Model) -> set[tuple[int, str]]:
    """The topics and words that are keywords of theirs."""
    words, topics = (model.side.get(name, ()) for name in ("keyword_words", "keyword_topics"))
    return {(int(topic), model.vocabulary[int(word)]) for word, topic in zip(words, topics, strict=True)}
