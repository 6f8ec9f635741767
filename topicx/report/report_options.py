"""What a report shall hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from topicx.report.figures import format_count

SNIPPETS = ("none", "short", "full")
SHARES = ("effects", "plug-in")
FORMATS = ("html", "md", "json")


@dataclass(frozen=True)
class ReportOptions:
    """What is asked of a report; every field has an option of `topicx report`."""

    title: str = ""
    unit: str = "text"
    """What one document is called; a comma parts an irregular plural (story,stories)."""
    by: tuple[str, ...] = ()
    bins: str | None = None
    shares: str | None = None
    """How shares of groups are found: effects or plug-in; None: effects, unless that takes long."""
    snippets: str = "short"
    titles: str | None = None
    """The column that holds the documents' titles (None: `title`, if there is one)."""
    max_size: int = 10_000_000
    """Bytes that a page may have."""
    language: str = "en"
    """The language of the texts, as HTML names it."""
    command: str = ""
    """The command that made the report, for those who want to make it again."""
    about: str = ""
    """A text of the author's own about the model."""
    seed: int = 1


@dataclass(frozen=True)
class SizeLimits:
    """How much of texts, titles and documents a page keeps."""

    text: int = 1 << 30
    """Characters of a whole text."""
    passages: int = 20
    """Passages a topic."""
    passage: int = 340
    title: int = 200
    share: float = 0.01
    """The least share of a document that is kept."""
    documents: float = 1.0
    """The part of the documents that is kept."""

    def left_out(self, kept: int, documents: int, unit: str, full: bool) -> list[str]:
        """What is left out, in words, of a page that keeps so many of the documents. full: texts were asked for."""
        usual, told = SizeLimits(), list[str]()
        if full and self.text < usual.text:
            told.append(f"texts are cut at {self.text} characters" if self.text else "whole texts are left out")
        if self.passage < usual.passage:
            told.append(f"passages are cut at {self.passage} characters")
        if self.title < usual.title:
            told.append(f"titles are cut at {self.title} characters")
        if self.share > usual.share:
            told.append(f"shares of {unit} begin at {self.share:.0%}")
        if self.passages < usual.passages:
            told.append(f"topics have {self.passages} passages at most")
        if kept < documents:
            here = f"{format_count(kept)} of {format_count(documents)} {unit} are here"
            told.append(f"{here}, the typical ones and a sample of the others")
        return told


def smaller_limits(full: bool) -> list[SizeLimits]:
    """Limits by falling size: what a page loses first."""
    changes: list[dict[str, Any]] = [{"text": length} for length in (4000, 1500, 600, 0)] if full else []
    changes += [{"passage": 200}, {"title": 40}, {"share": 0.02}, {"passages": 8}]
    changes += [{"documents": part} for part in (0.5, 0.25, 0.1, 0.05, 0.02, 0.01)]
    steps = [SizeLimits()]
    for change in changes:
        steps.append(replace(steps[-1], **change))
    return steps
