"""The files that a training is to leave."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from topicx.errors import InputError


@dataclass
class Wanted:
    """What a run is to leave."""

    model: str
    state: str | None
    doc_topics: str | None
    trace: str | None
    further: str = ""
    """The options that say where the chain is saved, and what is said while it runs."""
    join_chunks: bool = False
    """Whether θ is that of whole texts, where documents are chunks of them."""
    metadata: str = "all"
    """What documents carry that stands beside their θ."""

    def files(self) -> list[str | None]:
        return [self.model, self.state, self.doc_topics, self.trace]

    def numbered(self, number: int) -> Wanted:
        """Outputs of one of several chains: every file with the chain's number."""
        state, doc_topics, trace = (
            with_number(name, number) if name else None for name in (self.state, self.doc_topics, self.trace)
        )
        numbered = Wanted(with_number(self.model, number), state, doc_topics, trace)
        numbered.join_chunks, numbered.metadata = self.join_chunks, self.metadata
        return numbered

    def check_joined(self) -> None:
        """InputError if a file is wanted that chains side by side have each for itself."""
        for name, path in (("state", self.state), ("doc-topics", self.doc_topics)):
            if path:
                raise InputError(f"--{name}: the chains that the model is made of have one each")

    def options(self) -> str:
        """The options that name them, as a shell takes them."""
        pairs = {"-o": self.model, "--state": self.state, "--doc-topics": self.doc_topics, "--trace": self.trace}
        pairs["--metadata"] = self.metadata if self.metadata != "all" else None
        return " ".join(f"{option} {shlex.quote(name)}" for option, name in pairs.items() if name) + self.further


def with_number(name: str, number: int) -> str:
    """The number goes before the endings, which say what the file is: theta.npz, theta.0.npz."""
    path = Path(name)
    packed = ".gz" if path.name.endswith(".gz") else ""
    plain = Path(name.removesuffix(packed))
    return str(plain.with_name(f"{plain.stem}.{number}{plain.suffix}{packed}"))


def is_unfinished(path: str, load: Callable[[str], Any] | None = None) -> bool:
    """Whether no model stands there, or one of a run that was stopped: what a stopped run may write to."""
    from topicx.model import Model

    try:
        return not Path(path).exists() or "stopped_after" in (load or Model.load)(path).meta
    except InputError:
        return False
