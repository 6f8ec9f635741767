"""What a page knows beside its arrays, as plain data (the page "report" names the fields of the JSON)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.report.figures import plural_unit, singular_unit
from topicx.report.report_contents import ColumnView, ReportContents, families_sentence, quality_sentence, size_sentence

Facts = dict[str, Any]


def round_for_json(values: NDArray[Any], digits: int = 6) -> list[float | None]:
    """Numbers for JSON, which has no NaN."""
    return [round(float(value), digits) if np.isfinite(value) else None for value in values.tolist()]


def page_facts(contents: ReportContents) -> Facts:
    """All facts of a report."""
    model, options, documents = contents.model, contents.options, contents.documents
    names = [model.topic_names[k] if len(model.topic_names) else "" for k in range(model.n_topics)]
    facts: Facts = {
        "version": 1,
        "title": options.title,
        "language": options.language,
        "unit": [singular_unit(options.unit), plural_unit(options.unit)],
        "topics": model.n_topics,
        "sizes": {
            "documents": len(documents) if documents else model.meta.get("documents"),
            "words": model.n_words, "listed": len(contents.words.words), "left_out": contents.words.left_out,
            "tokens": _tokens(contents),
        },
        "names": names,
        "hidden": np.flatnonzero(~model.shown).tolist(),
        "notes": {str(k): note for k, note in sorted(contents.notes.items()) if note},
        "top": contents.top,
        "share": round_for_json(contents.weights, 8),
        "headline": contents.headline,
        "subline": size_sentence(contents),
        "order": contents.order(),
        "sentences": [contents.topic_sentence(k) for k in range(model.n_topics)],
        "making": contents.making,
        "near": contents.near,
        "care": {str(k): why for k, why in contents.quality.care.items()},
        "families": _family_facts(contents),
        "quality": _quality_facts(contents),
        "by": [_column_facts(one, model.n_topics) for one in contents.columns],
        "about_text": options.about,
        "effects": contents.effects,
        "search": contents.search,
        "digest": model.digest,
    }  # fmt: skip
    if documents:
        facts |= {
            "mean": round_for_json(documents.mean, 8), "tenth": documents.above[0].tolist(),
            "half": documents.above[1].tolist(), "beside": contents.beside, "phrases": contents.phrases,
            "source": documents.source, "whole": documents.whole, "counted": documents.counted,
        }  # fmt: skip
    return facts


def _tokens(contents: ReportContents) -> int | None:
    """The words counted, if they are known."""
    documents = contents.documents
    if documents:
        return int(documents.lengths.sum()) if documents.counted else None
    told = contents.model.meta.get("tokens")
    return told if isinstance(told, int) else None


def _family_facts(contents: ReportContents) -> Facts:
    families, vocabulary = contents.families, contents.model.vocabulary
    return {
        "order": families.order,
        "merges": [[a, b, round(height, 5)] for a, b, height in families.merges],
        "usual": families.usual,
        "cuts": {str(n): members for n, members in families.cuts.items()},
        "words": {str(n): [[vocabulary[w] for w in one] for one in each] for n, each in families.words.items()},
        "sentences": {str(n): families_sentence(contents, n) for n in families.cuts},
    }


def _quality_facts(contents: ReportContents) -> Facts:
    quality, settled, model = contents.quality, contents.settled, contents.model
    score = model.trace.get("score", np.zeros(0))
    sweep = model.trace.get("sweep", np.arange(len(score)))
    step = max(1, -(-len(score) // 400))  # a long trace is thinned: a picture has no more points
    return {
        "sentence": quality_sentence(quality, settled, int(model.shown.sum())),
        "exclusivity": round_for_json(quality.exclusivity), "words": round_for_json(quality.effective_words, 1),
        "corpus_words": round(quality.corpus_words, 1), "coherence": round_for_json(quality.coherence, 3),
        "leads": round_for_json(quality.leads, 4), "every": quality.every,
        "trace": [round_for_json(np.asarray(sweep)[::step], 2), round_for_json(np.asarray(score)[::step])],
        "settled": {
            "known": settled.known, "settled": settled.settled, "change": round(settled.change, 6),
            "sweeps": settled.sweeps, "of": settled.of,
        },
    }  # fmt: skip


def _column_facts(view: ColumnView, topics: int) -> Facts:
    found = view.shares.found
    facts: Facts = {
        "column": view.shares.column, "label": view.label, "ordered": view.ordered, "names": view.names,
        "raw": list(view.shares.groups.names),
        "documents": found.documents.tolist(), "tokens": found.tokens.tolist(), "share": found.share,
    }  # fmt: skip
    if view.spans:
        facts |= {
            "kind": view.spans.kind, "headline": view.headline, "leaders": view.leaders, "trends": view.trends,
            "most": view.most, "order": view.order, "times": round_for_json(found.times, 4), "partial": view.partial,
        }  # fmt: skip
    return facts
