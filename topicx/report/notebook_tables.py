"""What notebooks show of models and states: plain tables without script, style or pictures, which they would strip."""

from __future__ import annotations

from collections.abc import Sequence

from topicx.model import Model
from topicx.report.figures import format_count
from topicx.report.front_table import text_of
from topicx.state import State

ROWS = 30


def table_of(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]], below: str = "") -> str:
    """A table; the first cell of a row is its head."""
    head = "".join(f"<th>{text_of(one)}</th>" for one in heads)
    body = "".join(
        f"<tr><th>{text_of(row[0])}</th>{''.join(f'<td>{text_of(cell)}</td>' for cell in row[1:])}</tr>" for row in rows
    )
    foot = f"<p>{text_of(below)}</p>" if below else ""
    return (
        f"<table><caption>{text_of(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{foot}"
    )


def model_table(model: Model) -> str:
    """The largest topics of a model: number, name, share, words."""
    weights, top = model.topic_weights, model.top_words(10)
    order = [k for k in sorted(range(model.n_topics), key=lambda k: (-weights[k], k)) if model.shown[k]]
    named = any(model.topic_names)
    heads = ["topic", *(["name"] if named else []), "share", "words"]
    rows = [
        [str(k), *([model.topic_names[k]] if named else []), f"{weights[k]:.1%}", " ".join(word for word, _ in top[k])]
        for k in order[:ROWS]
    ]
    left = len(order) - ROWS
    below = f"… and {format_count(left)} more: model.report() shows all." if left > 0 else "model.report() shows more."
    return table_of(repr(model), heads, rows, below)


def state_table(state: State) -> str:
    """What a state holds."""
    rows = [
        ["documents", format_count(state.n_documents)],
        ["tokens", format_count(state.n_tokens)],
        ["topics", format_count(state.n_topics)],
    ]
    rows += [["words", format_count(state.n_words)], ["documents carry", ", ".join(state.columns) or "nothing more"]]
    return table_of(repr(state), ["", ""], rows)
