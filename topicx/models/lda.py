"""Latent Dirichlet allocation: one α for all documents, topics that any document may have."""

from __future__ import annotations

from typing import ClassVar

from topicx.models.definition import Definition


class LatentDirichletAllocation(Definition):
    """The model without anything beside."""

    name: ClassVar[str] = "lda"
    summary: ClassVar[str] = "latent Dirichlet allocation (Blei, Ng & Jordan 2003)"
    ends_itself: ClassVar[bool] = True
