"""The names of the formats of states and models; the command line's help needs nothing else of them."""

from __future__ import annotations

READ = ("topicx", "mallet", "warplda", "lightlda", "gibbslda", "tomotopy")
"""Whose states can be read."""
STATE = (
    "mallet-state", "mallet-doc-topics", "mallet-topic-docs", "mallet-topic-phrase-report", "warplda", "pyldavis",
    "dfr-browser2",
)  # fmt: skip
"""What a state can be written as."""
MODEL = (
    "mallet-topic-keys", "mallet-topic-word-weights", "mallet-word-topic-counts", "mallet-diagnostics",
    "mallet-topic-report",
)  # fmt: skip
"""What a model can be written as, and a state by the model that is estimated from it."""
