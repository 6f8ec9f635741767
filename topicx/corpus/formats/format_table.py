"""The formats of documents. The command line's help needs nothing else of them."""

from __future__ import annotations

FORMATS = {
    "lines": ("text_lines", "a document a line: name, label, text (MALLET's habit)"),
    "text": ("text_lines", "a document a line, all of it text"),
    "dir": ("folder", "a document a file, a folder a label"),
    "files": ("folder", "a document a file"),
    "jsonl": ("jsonl", "a JSON object a line"),
    "csv": ("delimited", "rows with a header, separated by commas"),
    "tsv": ("delimited", "rows with a header, separated by tabs"),
    "parquet": ("parquet", "a Parquet table"),
    "uci": ("uci", "counts as the UCI repository's docword files have them"),
    "ldac": ("ldac", "counts as Blei's lda-c reads them"),
    "svmlight": ("svmlight", "counts as features of SVMlight and LIBSVM"),
    "arff": ("arff", "counts as Weka, Mulan and MEKA have them, with several labels"),
}
"""Module of each format in `topicx.corpus.formats`, and what the format is."""
COUNTS = ("uci", "ldac", "svmlight", "arff")
"""Formats of counts, whose documents have no text."""
