"""A report as Markdown, for where Markdown is shown: tables of topics, a section a topic, quality, how it was made."""

from __future__ import annotations

import numpy as np

from topicx.report.figures import as_percent, format_count, plural_unit
from topicx.report.markdown_groups import group_sections
from topicx.report.markdown_texts import escape_markdown, spark_blocks
from topicx.report.report_contents import ReportContents, families_sentence, size_sentence
from topicx.report.topic_recurrence import search_sentence
from topicx.views.topic_passages import PassageFinder

WORDS = 20
"""Words of a topic's section."""
PASSAGES = 5
LONGEST = 200
"""Characters of a passage."""


def markdown_report(contents: ReportContents) -> str:
    """The whole report."""
    lines = [
        f"# {escape_markdown(contents.options.title)}",
        "",
        f"{escape_markdown(contents.told(contents.headline))}.",
        "",
    ]
    lines += [escape_markdown(size_sentence(contents)), "", *_table_of_topics(contents), ""]
    if contents.options.about:
        lines += [escape_markdown(contents.options.about), ""]
    finder = PassageFinder(contents.model, LONGEST)
    for k in contents.order():
        if contents.model.shown[k]:
            lines += _topic_section(contents, k, finder)
    lines += group_sections(contents)
    lines += _family_lines(contents)
    lines += [
        "## Quality",
        "",
        escape_markdown(contents.quality_sentence()) + ".",
        "",
    ]
    lines += [
        f"- {k} {escape_markdown(contents.called(k))}: {'; '.join(escape_markdown(contents.told(one)) for one in why)}"
        for k, why in contents.quality.care.items()
    ]
    searched = search_sentence(contents.search, contents.model.n_topics)
    lines += ["", escape_markdown(searched)] if searched else []
    lines += ["", "## How this was made", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {escape_markdown(value)} |" for name, value in contents.about]
    return "\n".join(lines) + "\n"


def _table_of_topics(contents: ReportContents) -> list[str]:
    time = contents.time
    heads = ["No.", "Topic", contents.share_heading, *(["Over time", "Most in"] if time else [])]
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for k in contents.order():
        away = "" if contents.model.shown[k] else " (hidden)"
        named = len(contents.model.topic_names) and contents.model.topic_names[k]
        words = escape_markdown(" ".join(contents.top[k]))
        cells = [
            str(k),
            f"**{escape_markdown(contents.called(k))}** {words}{away}" if named else words + away,
            f"{100 * contents.weights[k]:.1f}%",
        ]
        if time:
            known = np.isfinite(time.shares.found.times)
            at = time.most[k]
            cells += [
                spark_blocks(time.shares.mean[known, k]),
                escape_markdown(time.names[at]) if at >= 0 else "",
            ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _topic_section(contents: ReportContents, topic: int, finder: PassageFinder) -> list[str]:
    documents = contents.documents
    said = contents.topic_sentence(topic)
    lines = [f"## {topic} {escape_markdown(contents.called(topic))}", ""]
    if said:
        lines += [f"{escape_markdown(said)}.", ""]
    words = ", ".join(escape_markdown(word) for word in contents.words.names(topic, 0.6, WORDS))
    lines += [f"Words: {words}", ""]
    if contents.notes.get(topic):
        lines += [escape_markdown(contents.notes[topic]), ""]
    if contents.making[topic]:
        lines += [escape_markdown(" ".join(contents.making[topic])), ""]
    for table in contents.tables:
        told = "; ".join(", ".join(str(cell) for cell in row if cell != "") for row in table.rows[topic])
        lines += [f"{table.title}: {escape_markdown(told)}", ""] if told else []
    if contents.phrases and contents.phrases[topic]:
        lines += ["Phrases: " + ", ".join(escape_markdown(text) for text, _ in contents.phrases[topic]), ""]
    if documents and contents.typical[topic]:
        unit = plural_unit(contents.options.unit)
        lines += [
            f"{format_count(int(documents.above[0, topic]))} {unit} have a tenth or more of it. Where it is purest:",
            "",
        ]
        typical = contents.typical[topic][:PASSAGES]
        quoted = len(documents.texts) > 0 and contents.options.snippets != "none"
        texts = [documents.texts[document] if quoted else "" for document, _ in typical]
        for (document, share), text in zip(typical, finder.passages(topic, texts), strict=True):
            passage = ": " + escape_markdown(text) if text else ""
            lines.append(f"- {as_percent(share)} {escape_markdown(documents.ids[document])}{passage}")
        lines.append("")
    near = ", ".join(
        f"{j} {escape_markdown(contents.called(j))} ({value:.2f})" for j, value in contents.near[topic][:3]
    )
    return [*lines, f"Says similar things: {near}", ""] if near else lines


def _family_lines(contents: ReportContents) -> list[str]:
    families = contents.families
    if len(families.order) < 2:
        return []
    told = "".join(
        part["w"] if isinstance(part, dict) else part for part in families_sentence(contents, families.usual)
    )
    lines = ["## Families", "", f"{escape_markdown(told)}.", ""]
    for words, members in zip(families.words[families.usual], families.cuts[families.usual], strict=True):
        named = ", ".join(contents.model.vocabulary[w] for w in words)
        lines.append(
            f"- **{escape_markdown(named)}**: "
            + "; ".join(f"{k} {escape_markdown(contents.called(k))}" for k in members)
        )
    return [*lines, ""]
