"""topicx mallet bulk-load: a large file of lines, with rare and common words left out on the way."""

from __future__ import annotations

import sys

from topicx.cli.common import check_outputs
from topicx.cli.mallet.arguments import Command, Option, Parsed, file, flag, inert
from topicx.cli.mallet.import_file import texts
from topicx.cli.mallet.importing import all_lines
from topicx.cli.mallet.instances import InstanceBuilder, Instances
from topicx.cli.mallet.pipe import BULK_STOPWORDS, Pipe
from topicx.cli.mallet.words import keep_words

LINE = r"^([^\t]*)\t([^\t]*)\t(.*)"


def run(parsed: Parsed) -> None:
    path = parsed.need("input", "the file to read")
    check_outputs([parsed["output"]], [path])
    words: frozenset[str] = frozenset()
    if parsed["stoplist"]:
        words = frozenset(all_lines(parsed["stoplist"]))
    elif parsed["remove-stopwords"]:
        words = BULK_STOPWORDS
    pipe = Pipe(simple=True, lowercase=not parsed["preserve-case"], stopwords=words, exact_case=True)
    pruning = parsed["prune-count"] > 0 or parsed["prune-doc-frequency"] < 1
    out = sys.stderr if parsed["output"] == "-" else sys.stdout
    done = 0
    with InstanceBuilder(pipe) as builder:
        for batch in texts(parsed, path):
            builder.add(batch)
            before, done = done, done + len(batch.names)
            if pruning:
                for count in range(before // 100_000 + 1, done // 100_000 + 1):
                    print(count * 100_000, file=out, flush=True)
        instances = builder.finish()
    if pruning:
        instances = pruned(instances, parsed["prune-count"], parsed["prune-doc-frequency"])
    instances.save(parsed["output"])


def pruned(instances: Instances, least: int, share: float) -> Instances:
    """Without words of fewer tokens than `least`, and without those in more than this share of the documents."""
    corpus = instances.corpus
    keep = (corpus.word_frequencies >= max(least, 1)) & (corpus.document_frequencies <= share * max(len(instances), 1))
    return keep_words(instances, keep)


COMMAND = Command(
    "bulk-load", "cc.mallet.util.BulkLoader", "read a large file of documents, one a line, as sequences", (
        file("input", "The file to read."),
        file("output", "The instances to write.", "mallet.data"),
        flag("preserve-case", "Keep the case of letters."),
        flag("remove-stopwords", "Take out a list of 33 English stop words."),
        file("stoplist", "Take out the words of this file instead, one a line."),
        *inert("boolean", "bulk-load always keeps the sequence", keep_sequence=False),
        Option("line-regex", "string", LINE, "A Java pattern of a line; its groups are name, label and text."),
        Option("name", "integer", 1, "The group of the name; 0: there is none.", low=0),
        Option("label", "integer", 2, "The group of the label; 0: there is none.", low=0),
        Option("data", "integer", 3, "The group of the text.", low=1),
        Option("prune-count", "integer", 0, "Leave out words with fewer tokens."),
        Option("prune-doc-frequency", "decimal", 1.0, "Leave out words in more than this share of the documents."),
    ), run,
)  # fmt: skip
