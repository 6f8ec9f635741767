"""The front page as HTML that reads without a script: in a text browser, in print, in a mail's preview."""

from __future__ import annotations

import html
import re
from typing import Any

import numpy as np

from topicx.report.figures import as_percent, plural_unit
from topicx.report.packed_arrays import cut_text
from topicx.report.report_contents import ReportContents, size_sentence
from topicx.report.trend_sentences import Sentence

SHORT = {
    "rests on few": "small", "is small": "small", "comes from few": "few texts", "stands in few": "few texts",
    "its words meet": "scattered", "shares most": "shared words", "says almost": "duplicate",
    "does not come again": "not again", "comes again": "not always again",
}  # fmt: skip
"""Beginnings of reasons for care, and what each is called in short."""
LONGEST = 120
"""Characters of a word that the table shows."""
BAR, LINE, TALL = 58, 256, 30
"""Widths of bars and of lines over time, and the height of a line."""
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def text_of(value: Any) -> str:
    """A text as HTML has it; control characters are marked."""
    return html.escape(_CONTROLS.sub("�", str(value)), quote=True)


def sentence_html(contents: ReportContents, sentence: Sentence) -> str:
    """A sentence with its topics as links."""
    return "".join(_topic_link(contents, one) if isinstance(one, int) else text_of(one) for one in sentence)


def _topic_link(contents: ReportContents, topic: int) -> str:
    named = bool(len(contents.model.topic_names) and contents.model.topic_names[topic])
    kind = "named" if named else "unnamed"
    return (
        f'<a class="in-text {kind}" data-topic="{topic}" href="#/topic/{topic}" dir="auto">'
        f"{text_of(contents.called(topic))}</a>"
    )  # fmt: skip


def front_page(contents: ReportContents) -> str:
    """Headline, size, and the table of all topics."""
    head = f'<h1 tabindex="-1">{sentence_html(contents, contents.headline)}</h1>'
    sub = f'<p class="sub">{text_of(size_sentence(contents))}</p>'
    table = f'<div id="front-tools"></div>{_table_of_topics(contents)}<div id="front-more"></div>'
    return f"{head}{sub}{table}{_explain_topics(contents)}"


def _explain_topics(contents: ReportContents) -> str:
    """What a topic is, for those who were sent the page."""
    unit = plural_unit(contents.options.unit)
    return (
        f'<p class="note what">A topic is a set of words that often stand in the same {text_of(unit)}. '
        "It was found by counting. Names, where there are any, were given by people; others are called by their three "
        "most frequent words.</p>"
    )


def _table_of_topics(contents: ReportContents) -> str:
    time, most = contents.time, max(float(contents.weights.max()), 1e-12)
    columns = [
        '<th scope="col" class="number">No.</th>', '<th scope="col">Topic</th>',
        '<th scope="col">Most frequent words</th>', '<th scope="col" class="share">' + contents.share_heading + "</th>",
    ]  # fmt: skip
    if time:
        known = [name for name in time.names if name != "(none)"]
        ends = f"<span>{text_of(known[0])}</span><span>{text_of(known[-1])}</span>"
        said = "<span>Over time, each to its own peak</span>"
        columns.append(f'<th scope="col" class="line">{said}<span class="ends">{ends}</span></th>')
        columns.append('<th scope="col" class="most">Most in</th>')
    rows = "".join(_row_of_topic(contents, k, most) for k in contents.order())
    return (
        '<table id="front" class="topics"><caption class="hidden">All topics</caption>'
        f"<thead><tr>{''.join(columns)}</tr></thead><tbody>{rows}</tbody></table>"
    )  # fmt: skip


def _row_of_topic(contents: ReportContents, topic: int, most: float) -> str:
    named = bool(len(contents.model.topic_names) and contents.model.topic_names[topic])
    shown = bool(contents.model.shown[topic])
    words, share = contents.top[topic], float(contents.weights[topic])
    kinds = " ".join(kind for kind, so in (("unnamed", not named), ("away", not shown)) if so)
    care = contents.quality.care.get(topic)
    ring = ""
    if care:
        why = text_of("; ".join(contents.told(one) for one in care))
        ring = f'<span class="ring" title="{why}"><span class="hidden"> Read with care: {why}.</span></span>'
        ring += f'<span class="why" aria-hidden="true">{text_of(", ".join(_short_reasons(care)))}</span>'
    away = "" if shown else ' <span class="tag">hidden</span>'
    link = f'<a href="#/topic/{topic}" dir="auto">{text_of(contents.called(topic))}</a>'
    if named:
        name = f'<th scope="row" class="name">{link}{ring}{away}</th><td class="words">{_isolate_words(words)}</td>'
    else:  # its three words are its name, and are not said twice
        rest = f'<span class="rest"> {_isolate_words(words[3:])}</span>'
        name = f'<th scope="row" class="name" colspan="2">{link}{rest}{ring}{away}</th>'
    cells = [
        f'<td class="number">{topic}</td>', name,
        f'<td class="share">{_share_bar(share / most)}<span>{100 * share:.1f}%</span></td>',
    ]  # fmt: skip
    time = contents.time
    if time:
        at = time.most[topic]
        values = np.nan_to_num(time.shares.found.mean[:, topic][np.isfinite(time.shares.found.times)])
        name = time.names[at] if at >= 0 else ""
        top = f"{name}, at {as_percent(float(time.shares.found.mean[at, topic]))}" if at >= 0 else ""
        cells.append(f'<td class="line">{sparkline_svg(values)}</td>')
        cells.append(f'<td class="most" title="{text_of(top)}">{text_of(name)}</td>')
    return f'<tr data-topic="{topic}" class="{kinds}">{"".join(cells)}</tr>'


def _short_reasons(care: list[Sentence]) -> list[str]:
    """Reasons for care in a word or two each, where there is room beside a name."""
    found = [next((short for begin, short in SHORT.items() if str(one[0]).startswith(begin)), "") for one in care]
    return list(dict.fromkeys(filter(None, found)))


def _isolate_words(words: list[str]) -> str:
    """Words side by side, each in its own direction."""
    return " ".join(f"<bdi>{text_of(cut_text(word, LONGEST))}</bdi>" for word in words)


def _share_bar(part: float) -> str:
    width = max(round(BAR * part, 1), 0.5)
    return (
        f'<svg class="bar" width="{BAR}" height="8" aria-hidden="true" focusable="false">'
        f'<rect width="{width:g}" height="8"/></svg>'
    )  # fmt: skip


def sparkline_svg(values: np.ndarray[Any, Any]) -> str:
    """A line on its area, to its own peak."""
    top = max(float(values.max()), 1e-12) if len(values) else 1.0
    step = LINE / max(len(values) - 1, 1)
    points = [f"{i * step:.0f} {TALL - 1 - (TALL - 4) * float(v) / top:.0f}" for i, v in enumerate(values)]
    if len(points) == 1:
        points = [points[0], points[0].replace("0 ", f"{LINE} ", 1)]
    path = "L".join(points)
    return (
        f'<svg class="spark" viewBox="0 0 {LINE} {TALL}" preserveAspectRatio="none" aria-hidden="true">'
        f'<path class="area" d="M0 {TALL}L{path}L{LINE} {TALL}Z"/><path class="stroke" d="M{path}"/></svg>'
    )  # fmt: skip
