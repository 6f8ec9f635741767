"""A report's numbers as JSON, for other programs: what docs/reference/commands/report.md names."""

from __future__ import annotations

from typing import Any

from topicx.report.page_facts import page_facts, round_for_json
from topicx.report.report_contents import ReportContents
from topicx.views.topic_passages import PassageFinder

WORDS = 40


def json_report(contents: ReportContents) -> dict[str, Any]:
    """The facts of a page, and each topic's words, shares by columns and typical documents."""
    found = page_facts(contents)
    words = contents.words
    found["about"] = contents.about
    found["words"] = [
        [
            {"word": words.words[int(w)], "uses": round(float(used), 3), "everywhere": round(float(words.uses[w]), 3)}
            for w, used in list(zip(words.chosen[own], words.used[own], strict=True))[:WORDS]
        ]
        for own in (slice(words.starts[k], words.starts[k + 1]) for k in range(contents.model.n_topics))
    ]  # fmt: skip
    for facts, view in zip(found["by"], contents.columns, strict=True):
        low, high = view.shares.intervals()
        facts["mean"] = [round_for_json(row) for row in view.shares.mean]
        facts["low"], facts["high"] = [round_for_json(row) for row in low], [round_for_json(row) for row in high]
    found["typical"] = _typical_documents(contents)
    return found


def _typical_documents(contents: ReportContents) -> list[list[dict[str, Any]]]:
    documents, model = contents.documents, contents.model
    texts, finder = contents.options.snippets != "none", PassageFinder(model)
    found: list[list[dict[str, Any]]] = []
    if documents:
        for k, each in enumerate(contents.typical):
            found.append([{"id": documents.ids[d], "share": round(share, 5)} for d, share in each])
            if texts and len(documents.texts):
                kept = [documents.texts[d] for d, _ in each]
                for one, text, passage in zip(found[k], kept, finder.passages(k, kept), strict=True):
                    one |= {"text": text[:340], "passage": passage}
        return found
    number = model.example_documents.shape[1]
    for k in range(len(model.example_documents)):
        rows = [at for at in range(k * number, (k + 1) * number) if model.example_documents.ravel()[at] >= 0]
        found.append([
            {"id": model.example_ids[at], "share": round(float(model.example_weights.ravel()[at]), 5)} for at in rows
        ])  # fmt: skip
        if texts and len(model.example_snippets):
            kept = [model.example_snippets[at] for at in rows]
            for one, text, passage in zip(found[k], kept, finder.passages(k, kept), strict=True):
                one |= {"text": text, "passage": passage}
    return found
