"""Readers of MALLET's files as the programs that wrap MALLET read them, and a check of every field: what was written
for MALLET has to take ours."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from xml.etree import ElementTree

JAVA_DOUBLE = re.compile(r"-?(?:\d{1,7}\.\d+|\d\.\d+E-?\d+)")
SHORT = re.compile(r"-?\d+(?:\.\d{1,5})?")


def keys(path: Path) -> list[tuple[float, list[str]]]:
    """little-mallet-wrapper: the third field of a line, split at blanks."""
    found = []
    for k, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        topic, alpha, words = line.split("\t")
        assert int(topic) == k
        assert SHORT.fullmatch(alpha)
        assert words == "" or words.endswith(" ")
        found.append((float(alpha), words.split()))
    return found


def doc_topics(path: Path, inferred: bool = False) -> list[tuple[str, list[float]]]:
    """gensim and little-mallet-wrapper: tabs, a line that begins with #doc is skipped; polars reads a table."""
    lines = path.read_text(encoding="utf-8").split("\n")
    assert lines.pop() == ""
    if inferred:
        assert lines.pop(0) == "#doc name topic proportion ..."
    found = []
    for d, line in enumerate(lines):
        number, name, *shares = line.split("\t")
        assert int(number) == d
        assert all(JAVA_DOUBLE.fullmatch(share) for share in shares), line
        found.append((name, [float(share) for share in shares]))
    return found


def doc_topics_sparse(path: Path, inferred: bool = False) -> list[tuple[str, list[tuple[int, float]]]]:
    """dfr-browser's form: a header, and pairs in falling order."""
    lines = path.read_text(encoding="utf-8").split("\n")
    assert lines.pop(0) == "#doc name topic proportion ..."
    assert lines.pop() == ""
    found = []
    for line in lines:
        _, name, *fields = line.split("\t")
        if not inferred:
            assert fields.pop() == ""  # MALLET's tab at the end
        pairs = [(int(k), float(share)) for k, share in zip(fields[::2], fields[1::2])]
        assert pairs == sorted(pairs, key=lambda pair: (-pair[1], -pair[0]))
        found.append((name, pairs))
    return found


def state(path: Path) -> tuple[list[float], float, list[tuple[int, str, int, int, str, int]]]:
    """gensim: α in the second line, tokens as six fields parted by blanks."""
    lines = gzip.decompress(path.read_bytes()).decode().split("\n")
    assert lines.pop() == ""
    assert lines[0] == "#doc source pos typeindex type topic"
    assert lines[1].startswith("#alpha : ")
    assert lines[1].endswith(" ")
    assert lines[2].startswith("#beta : ")
    alpha = [float(field) for field in lines[1].split()[2:]]
    tokens = []
    for line in lines[3:]:
        doc, source, pos, index, word, topic = line.split(" ")
        tokens.append((int(doc), source, int(pos), int(index), word, int(topic)))
    return alpha, float(lines[2].split()[2]), tokens


def weights(path: Path) -> list[dict[str, float]]:
    """little-mallet-wrapper: topic, word, weight by tabs."""
    found: list[dict[str, float]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        topic, word, weight = line.split("\t")
        assert JAVA_DOUBLE.fullmatch(weight)
        if int(topic) == len(found):
            found.append({})
        found[int(topic)][word] = float(weight)
    return found


def counts(path: Path) -> dict[str, dict[int, int]]:
    """pycisTopic: fields parted by blanks, the second is the word, then topic:count."""
    found = {}
    for at, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        number, word, *entries = line.split(" ")
        assert int(number) == at
        pairs = [tuple(map(int, entry.split(":"))) for entry in entries]
        assert [count for _, count in pairs] == sorted((count for _, count in pairs), reverse=True)
        found[word] = dict(pairs)
    return found


def diagnostics(path: Path) -> list[dict[str, float]]:
    """Every attribute a number; words below."""
    root = ElementTree.parse(path).getroot()
    assert root.tag == "model"
    rows = []
    for topic in root:
        rows.append({name: float(value) for name, value in topic.attrib.items()})
        for word in topic:
            assert re.fullmatch(r"\d+", word.attrib["count"])
            assert re.fullmatch(r"\d\.\d{5}", word.attrib["prob"])
    return rows
