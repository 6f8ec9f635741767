"""Names of topics from a program that the user has: it reads a line of JSON, and prints a name."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator

from topicx.errors import InputError, TopicxError
from topicx.estimate.topic_edits import edit_topics
from topicx.library_threads import outer_environment
from topicx.model import Model
from topicx.report.topic_words import report_words, topic_rows
from topicx.strings import one_line

WORDS, SNIPPETS, LONGEST = 20, 5, 80
SECONDS = 300
"""After so long a program that does not answer is given up."""


def unnamed_requests(model: Model) -> Iterator[str]:
    """A line of JSON for each shown topic without a name."""
    words = report_words(model, topic_rows(model))
    weights, number = model.topic_weights, model.example_documents.shape[1]
    for k in range(model.n_topics):
        if not model.shown[k] or (len(model.topic_names) and model.topic_names[k]):
            continue
        examples = [k * number + i for i in range(number) if model.example_documents[k, i] >= 0][:SNIPPETS]
        texts = [model.example_snippets[at] for at in examples] if len(model.example_snippets) else []
        yield json.dumps(
            {
                "topic": k, "share": round(float(weights[k]), 6), "words": words.names(k, 1.0, WORDS),
                "distinctive": words.names(k, 0.2, WORDS), "snippets": [text for text in texts if text],
            }, ensure_ascii=False,
        )  # fmt: skip


def named_by_command(model: Model, command: str, tell: Callable[[str], None]) -> Model:
    """The model with a name for each topic that has none: the first line that the program prints for it."""
    names: dict[int, str] = {}
    taken = set(model.topic_names)
    for request in unnamed_requests(model):
        k = json.loads(request)["topic"]
        name = _answer(command, request, k)
        if name in taken:
            name = f"{name} ({k})"
        taken.add(name)
        names[k] = name
        tell(f"{k} {name}")
    if not names:
        raise InputError("--name-by: every topic that is shown has a name")
    return edit_topics(model, (), names)


def _answer(command: str, request: str, topic: int) -> str:
    try:
        done = subprocess.run(
            command, shell=True, input=request + "\n", capture_output=True, encoding="utf-8", errors="replace",
            timeout=SECONDS, check=False, env=outer_environment(),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise TopicxError(f"--name-by: no answer for topic {topic} within {SECONDS} seconds") from None
    if done.returncode:
        said = one_line(done.stderr.strip().splitlines()[-1]) if done.stderr.strip() else "nothing on standard error"
        raise TopicxError(f"--name-by: the command failed for topic {topic} (exit status {done.returncode}): {said}")
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    name = one_line(lines[0]).strip().strip("\"'“”").strip() if lines else ""
    if not name:
        raise TopicxError(f"--name-by: the command printed no name for topic {topic}")
    return name[:LONGEST].rstrip()
