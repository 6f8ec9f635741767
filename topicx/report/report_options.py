"""What a report shall hold."""

from __future__ import annotations

from dataclasses import dataclass, field

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
    said: tuple[str, ...] = field(default=())
    """What was left out, in words."""


def smaller_limits(full: bool) -> list[SizeLimits]:
    """Limits by falling size: what a page loses first."""
    steps: list[SizeLimits] = [SizeLimits()]

    def step(said: str, **changes: float) -> None:
        fields = {name: getattr(steps[-1], name) for name in SizeLimits.__dataclass_fields__} | changes
        fields["said"] = (*steps[-1].said, said)
        steps.append(SizeLimits(**fields))

    if full:
        for length in (4000, 1500, 600, 0):
            step(f"texts are cut at {length} characters" if length else "whole texts are left out", text=length)
    step("passages are cut at 200 characters", passage=200)
    step("titles are cut at 40 characters", title=40)
    step("shares of documents begin at 2%", share=0.02)
    step("topics have 8 passages at most", passages=8)
    for part in (0.5, 0.25, 0.1, 0.05, 0.02, 0.01):
        step(f"{part:.0%} of the documents are here, the typical ones and a sample of the others", documents=part)
    return steps
