"""The one builder of corpora: documents come in batches, everything waits on disk, and the vocabulary is
settled last.

Memory is the vocabulary (words, and a few counts for each) and buffers, however long the input is: tokens and
all that documents carry go to `files.Spool`s beside the output. Words have provisional ids by first
appearance until the input ends. Then words below the limits go, the rest are numbered by falling frequency
(ties by the word's UTF-8), and the tokens are renumbered on their way into the file. That order is the same
for the same input, and puts the words that samplers touch most into few cache lines.
"""

from __future__ import annotations

import datetime
import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx import files
from topicx._kernels.tokens import Words, settle
from topicx.corpus.bigrams import BigramOptions, find_bigrams
from topicx.corpus.corpus import Corpus
from topicx.corpus.read import Batch, Counts, plain
from topicx.corpus.tokenize import NONE, Encoder, PairTable, Tokenizer
from topicx.errors import InputError
from topicx.kinds import CORPUS
from topicx.strings import Strings

_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)
_PLAIN = (str, int, float)
_PIECE = 1 << 18
_EPOCH = datetime.date(1970, 1, 1).toordinal()


@dataclass
class BuildOptions:
    """What the builder keeps."""

    min_count: int = 1
    """Words with fewer tokens than this are dropped."""
    min_doc_freq: int = 1
    """Words in fewer documents than this are dropped."""
    max_doc_freq: float = 1.0
    """Words in more than this share of the documents are dropped."""
    drop_empty: bool = False
    """Whether documents without a word left are dropped."""
    snippet: int = 80
    """Characters of the text's beginning to keep as the column `snippet`."""
    bigrams: BigramOptions | None = None


class Builder:
    """Add batches, then `save` or `corpus`. `like` fixes the vocabulary: other words are counted as
    unknown."""

    def __init__(
        self,
        tokenizer: Tokenizer | None = None,
        options: BuildOptions | None = None,
        *,
        like: Sequence[str] | None = None,
        directory: str | os.PathLike[str] | None = None,
    ) -> None:
        self.tokenizer = tokenizer
        self.options = options or BuildOptions()
        self.directory = directory
        self.like = like
        self.encoder = Encoder(tokenizer or Tokenizer(), like) if like is not None else None
        self.words = self.encoder.words if self.encoder else Words()
        self.n_documents = 0
        self.unknown = self.stopped = 0
        self._pairs = PairTable()
        self._flags = np.zeros(0, dtype=np.uint8)
        self._tokens = np.zeros(0, dtype=np.int64)
        self._documents = np.zeros(0, dtype=np.int64)
        self._last = np.zeros(0, dtype=np.int64)
        self._known_words = 0
        self._spools: list[files.Spool] = []
        self._ids = self._spool(np.uint32)
        self._lengths = self._spool(np.int64)
        self._names = _Texts(self)
        self._labels = _Names(self, many=True)
        self._collections = _Names(self, many=False)
        self._times = _Times(self)
        self._columns: dict[str, _Column] = {}
        self._snippets = _Texts(self) if self.options.snippet else None
        self._texts_seen = False
        self._map: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._map_of: Sequence[str] | None = None
        self._numbered: dict[int, NDArray[np.int64]] = {}

    def _spool(self, dtype: Any) -> files.Spool:
        spool = files.Spool(dtype, self.directory)
        self._spools.append(spool)
        return spool

    def close(self) -> None:
        """Free the disk space that waits."""
        for spool in self._spools:
            spool.close()

    def __enter__(self) -> Builder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def n_tokens(self) -> int:
        return self._ids.size

    # -- adding --------------------------------------------------------------------------------------------------

    def add(self, batch: Batch) -> None:
        """Add a batch of documents."""
        if batch.counts is not None:
            ids, lengths = self._from_counts(batch.counts)
        elif batch.words is not None:
            ids, lengths = self.words.encode_words(list(batch.words))
        else:
            self._texts_seen = True
            ids, lengths = (self.tokenizer or Tokenizer()).ids(batch.texts, self.words)
        self._add(ids, lengths, batch)

    def add_words(self, documents: list[Sequence[str]], batch: Batch) -> None:
        """Add documents that are lists of words already."""
        ids, lengths = self.words.encode_words(documents)
        self._add(ids, lengths, batch)

    def _add(self, ids: NDArray[np.uint32], lengths: NDArray[np.int64], batch: Batch) -> None:
        n = len(lengths)
        if self.encoder:
            ids, lengths = self.encoder.settle(ids, lengths)
            self.unknown, self.stopped = self.encoder.unknown, self.encoder.stopped
        elif self.options.bigrams is None:
            ids, lengths = self._settle(ids, lengths)
        else:
            self._grow()
            self._tokens[: len(self.words)] += np.bincount(ids, minlength=len(self.words))
        self._ids.append(ids)
        self._lengths.append(lengths)
        start = self.n_documents
        self._names.add([str(start + i) for i in range(n)] if batch.ids is None else [
            str(start + i) if name is None else name for i, name in enumerate(batch.ids)
        ])  # fmt: skip
        self._labels.add(batch.labels, n)
        self._collections.add(batch.collections, n)
        self._times.add(batch, n)
        for name, values in batch.columns.items():
            if name not in self._columns:
                self._columns[name] = _Column(self, name)
                self._columns[name].add([None] * start)
            self._columns[name].add(values)
        for name, column in self._columns.items():
            if name not in batch.columns:
                column.add([None] * n)
        if self._snippets is not None:
            size = self.options.snippet
            texts = batch.texts if batch.words is None else [" ".join(words[: size + 1]) for words in batch.words]
            self._snippets.add([snippet(text, size) for text in texts] if texts else [""] * n)
        self.n_documents += n

    def _settle(self, ids: NDArray[np.uint32], lengths: NDArray[np.int64]) -> tuple[Any, NDArray[np.int64]]:
        self._grow()
        out, out_lengths = np.empty(len(ids), dtype=np.uint32), np.empty(len(lengths), dtype=np.int64)
        kept, _, stopped = settle(
            ids, lengths, self._flags, self._pairs.keys, self._pairs.values, self.n_documents,
            self._tokens, self._documents, self._last, out, out_lengths,
        )  # fmt: skip
        self.stopped += stopped
        return out[:kept], out_lengths

    def _grow(self) -> None:
        """Room in the counts for words that are new, and their flag if they are stop words."""
        n = len(self.words)
        if n > len(self._flags):
            more = max(n, 2 * len(self._flags), 1 << 12) - len(self._flags)
            self._flags = np.concatenate([self._flags, np.zeros(more, np.uint8)])
            self._tokens = np.concatenate([self._tokens, np.zeros(more, np.int64)])
            self._documents = np.concatenate([self._documents, np.zeros(more, np.int64)])
            self._last = np.concatenate([self._last, np.full(more, -1, np.int64)])
        if self.tokenizer is not None and self.tokenizer.stopwords:
            for i in range(self._known_words, n):
                self._flags[i] = self.tokenizer.is_stopword(self.words.word(i))
        self._known_words = n

    def _from_counts(self, counts: Counts) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Tokens from counts: each word as often as its count says, side by side."""
        if counts.vocabulary is None:
            high = int(counts.words.max(initial=-1)) + 1
            words = self._numbered.get(counts.base, np.zeros(0, np.int64))
            new = [str(i + counts.base) for i in range(len(words), high)]
            added = np.array([self.words.add(word) for word in new], dtype=np.int64)
            words = self._numbered[counts.base] = np.concatenate([words, added])
        else:
            if counts.vocabulary is not self._map_of:
                self._map = np.array([self.words.add(word) for word in counts.vocabulary], dtype=np.int64)
                self._map_of = counts.vocabulary
            words = self._map
        if counts.counts.sum(dtype=np.float64) > 2**33:
            raise InputError("the counts of one batch of documents are more than eight thousand million tokens")
        ids = np.repeat(words[counts.words].astype(np.uint32), counts.counts)
        ends = np.concatenate([[0], np.cumsum(counts.counts)])
        pairs = np.concatenate([[0], np.cumsum(counts.lengths)])
        return ids, np.diff(ends[pairs])

    # -- finishing -----------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], meta: dict[str, Any] | None = None) -> dict[str, Any]:
        """Write the corpus file; returns its metadata."""
        arrays, about = self._finish(meta or {})
        files.write(path, CORPUS, arrays, about)
        return about

    def corpus(self, meta: dict[str, Any] | None = None) -> Corpus:
        """The corpus in memory."""
        arrays, about = self._finish(meta or {})
        loaded = {name: _loaded(array) if isinstance(array, files.Spool) else array for name, array in arrays.items()}
        return Corpus.from_arrays(loaded, about)

    def _finish(self, meta: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        tokenizer = self.tokenizer
        if self.options.bigrams is not None and not self.encoder:
            tokenizer = self._join_bigrams(tokenizer or Tokenizer())
        n = len(self.words)
        if self.encoder:
            tokens, documents = self.encoder.tokens[:n], self.encoder.documents[:n]
            kept = np.arange(self.encoder.n_words)
        else:
            self._grow()
            tokens, documents = self._tokens[:n], self._documents[:n]
            kept = self._kept_words(tokens, documents)
        if not self.n_documents:
            raise InputError("no documents in the input")
        mapping = np.full(n, NONE, dtype=np.uint32)
        mapping[kept] = np.arange(len(kept), dtype=np.uint32)
        words, lengths = self._renumber(mapping)
        if not words.size:
            raise InputError(
                f"nothing is left: {self.n_documents:,} documents, but none has a word that the options keep"
            )
        empty = sum(int((piece == 0).sum()) for piece in lengths.chunks(_PIECE))
        drop = self.options.drop_empty and empty > 0

        def mask() -> Iterator[NDArray[np.bool_]] | None:
            return (piece > 0 for piece in lengths.chunks(_PIECE)) if drop else None

        arrays: dict[str, Any] = {
            "words": words,
            "offsets": self._offsets(lengths, filled_only=drop),
            "word_frequencies": np.ascontiguousarray(tokens[kept]),
            "document_frequencies": np.ascontiguousarray(documents[kept]),
            **self._vocabulary(kept).arrays("vocabulary"),
            **self._names.arrays("ids", mask()),
            **self._labels.arrays("label", mask()),
            **self._collections.arrays("collection", mask()),
            "time": self._times.array(mask()),
        }
        columns = []
        if self._snippets is not None and self._texts_seen:
            arrays |= self._snippets.arrays("column.snippet", mask())
            columns.append("snippet")
        for name, column in self._columns.items():
            arrays |= column.arrays(f"column.{name}", mask())
            columns.append(name)
        about = dict(meta) | {
            "columns": sorted(columns),
            "tokenizer": tokenizer.to_meta() if tokenizer else None,
            "counts": {
                "documents": self.n_documents - (empty if drop else 0),
                "empty_documents": 0 if drop else empty,
                "dropped_documents": empty if drop else 0,
                "tokens": words.size,
                "words": len(kept),
                "dropped_words": 0 if self.encoder else int((documents > 0).sum()) - len(kept),
                "dropped_tokens": self._ids.size - words.size,
                "stopword_tokens": self.stopped,
                "unknown_tokens": self.unknown,
            },
        }
        if self._times.kind:
            about["time"] = self._times.kind
        return arrays, about

    def _kept_words(self, tokens: NDArray[np.int64], documents: NDArray[np.int64]) -> NDArray[np.int64]:
        """The words within the limits, by falling frequency, ties by the word."""
        most = math.floor(self.options.max_doc_freq * self.n_documents + 1e-9)
        keep = (tokens >= max(self.options.min_count, 1)) & (documents >= self.options.min_doc_freq)
        kept = np.flatnonzero(keep & (documents <= most))
        data, offsets = self.words.arrays()
        raw = data.tobytes()
        spelling = [raw[offsets[i] : offsets[i + 1]] for i in kept.tolist()]
        rank = np.empty(len(kept), dtype=np.int64)
        rank[sorted(range(len(kept)), key=spelling.__getitem__)] = np.arange(len(kept))
        return kept[np.lexsort((rank, -tokens[kept]))]

    def _vocabulary(self, kept: NDArray[np.int64]) -> Strings:
        data, offsets = self.words.arrays()
        lengths = np.diff(offsets)[kept]
        new = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        index = np.arange(new[-1]) + np.repeat(offsets[kept] - new[:-1], lengths)
        return Strings(data[index], new)

    def _renumber(self, mapping: NDArray[np.uint32]) -> tuple[files.Spool, files.Spool]:
        """Final word ids and document lengths, piece by piece."""
        words, lengths = self._spool(np.uint32), self._spool(np.int64)
        for piece_lengths, ids in _ragged(self._lengths, self._ids):
            final = mapping[ids]
            kept = final != NONE
            sums = np.concatenate([[0], np.cumsum(kept)])
            ends = np.concatenate([[0], np.cumsum(piece_lengths)])
            words.append(final[kept])
            lengths.append(np.diff(sums[ends]))
        return words, lengths

    def _offsets(self, lengths: files.Spool, filled_only: bool = False) -> files.Spool:
        """Offsets from lengths."""
        offsets = self._spool(np.int64)
        offsets.append(np.zeros(1, np.int64))
        total = 0
        for piece in lengths.chunks(_PIECE):
            if filled_only:
                piece = piece[piece > 0]
            ends = np.cumsum(piece) + total
            offsets.append(ends)
            total = int(ends[-1]) if len(ends) else total
        return offsets

    def _join_bigrams(self, tokenizer: Tokenizer) -> Tokenizer:
        """The second and third pass over the waiting tokens: count pairs, then join the significant ones."""
        from dataclasses import replace

        assert self.options.bigrams is not None
        self._grow()
        pairs = find_bigrams(
            lambda: _ragged(self._lengths, self._ids),
            self._tokens[: len(self.words)], self._flags[: len(self.words)], self.words, self.options.bigrams,
        )  # fmt: skip
        names = [(self.words.word(a), self.words.word(b)) for a, b in pairs]
        self._pairs = PairTable.of({pair: self.words.add(f"{a}_{b}") for pair, (a, b) in zip(pairs, names)})
        self._tokens[:] = 0
        old_ids, old_lengths = self._ids, self._lengths
        self._ids, self._lengths = self._spool(np.uint32), self._spool(np.int64)
        total, self.n_documents = self.n_documents, 0
        for lengths, ids in _ragged(old_lengths, old_ids):
            ids, lengths = self._settle(ids, lengths)
            self._ids.append(ids)
            self._lengths.append(lengths)
            self.n_documents += len(lengths)
        assert self.n_documents == total
        old_ids.close()
        return replace(tokenizer, phrases=tuple(names))


# -- what documents carry ------------------------------------------------------------------------------------------


class _Texts:
    """A string a document."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._data, self._lengths = builder._spool(np.uint8), builder._spool(np.int64)

    def add(self, values: Sequence[str]) -> None:
        joined = "".join(values)
        if joined.isascii():
            self._data.append(np.frombuffer(joined.encode(), dtype=np.uint8))
            self._lengths.append(np.fromiter(map(len, values), dtype=np.int64, count=len(values)))
            return
        encoded = [value.encode("utf-8", "replace") for value in values]
        self._data.append(np.frombuffer(b"".join(encoded), dtype=np.uint8))
        self._lengths.append(np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded)))

    def arrays(self, name: str, mask: Iterator[NDArray[np.bool_]] | None) -> dict[str, Any]:
        data, lengths = self._data, self._lengths
        if mask is not None:
            data, lengths = _filtered(self._builder, lengths, data, mask)
        return {f"{name}.bytes": data, f"{name}.offsets": self._builder._offsets(lengths)}

    def values(self) -> Iterator[list[str]]:
        """The strings again, some at a time."""
        for lengths, data in _ragged(self._lengths, self._data):
            raw, ends = data.tobytes(), np.cumsum(lengths).tolist()
            yield [raw[begin:end].decode() for begin, end in zip([0, *ends[:-1]], ends)]


class _Names:
    """Names from a small set (labels, collections): a number each, sorted by name at the end."""

    def __init__(self, builder: Builder, many: bool) -> None:
        self._builder, self._many = builder, many
        self._numbers: dict[str, int] = {}
        self._ids = builder._spool(np.int32)
        self._lengths = builder._spool(np.int64)
        self._documents = 0

    def add(self, values: Sequence[Any] | None, n: int) -> None:
        """Labels (a sequence a document) or collections (a name or None); None: the batch has none."""
        numbers = self._numbers
        if not self._many:
            if values is None or not any(value is not None for value in values):
                self._ids.append(np.full(n, -1, np.int32))
                return
            self._ids.append([-1 if value is None else numbers.setdefault(value, len(numbers)) for value in values])
            return
        if values is None:
            self._lengths.append(np.zeros(n, np.int64))
            return
        self._ids.append([numbers.setdefault(name, len(numbers)) for names in values for name in names])
        self._lengths.append(np.fromiter(map(len, values), dtype=np.int64, count=n))

    def arrays(self, name: str, mask: Iterator[NDArray[np.bool_]] | None) -> dict[str, Any]:
        """`name` is `label` or `collection`."""
        order = sorted(self._numbers)
        rank = np.empty(len(order) + 1, dtype=np.int32)
        rank[[self._numbers[one] for one in order]] = np.arange(len(order), dtype=np.int32)
        rank[-1] = -1
        names = Strings.of([one.encode("utf-8", "replace").decode() for one in order]).arrays(f"{name}_names")
        builder = self._builder
        if self._many:
            if not order:
                return names | {"label_offsets": np.zeros(0, np.int64), "label_ids": np.zeros(0, np.uint32)}
            data, lengths = self._ids, self._lengths
            if mask is not None:
                data, lengths = _filtered(builder, lengths, data, mask)
            final = builder._spool(np.uint32)
            for piece in data.chunks(_PIECE):
                final.append(rank[piece].astype(np.uint32))
            return names | {"label_offsets": builder._offsets(lengths), "label_ids": final}
        if not order:
            return names | {"collection": np.zeros(0, np.int32)}
        final = builder._spool(np.int32)
        for piece in self._ids.chunks(_PIECE):
            final.append(rank[piece] if mask is None else rank[piece[next(mask)]])
        return names | {"collection": final}


class _Times:
    """The time of each document: a number, or an ISO date as days since 1970. All of one corpus are of one
    kind."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._values = builder._spool(np.float64)
        self.kind = ""
        self._known: dict[Any, float] = {}

    def add(self, batch: Batch, n: int) -> None:
        if batch.times is None:
            self._values.append(np.full(n, np.nan))
            return
        if len(self._known) > 100_000:
            self._known.clear()
        known = self._known  # times repeat, and parsing takes longer than looking up
        self._values.append(
            [
                known[value] if type(value) in _PLAIN and value in known else self._parse(value, batch, i)
                for i, value in enumerate(batch.times)
            ]
        )

    def _parse(self, value: Any, batch: Batch, at: int) -> float:
        if value is None or (isinstance(value, str) and not value.strip()):
            return math.nan
        try:
            kind, number = parse_time(value)
        except ValueError:
            raise InputError(
                f"{batch.place(at)}: the time {str(value)[:40]!r} is neither a number nor an ISO date"
            ) from None
        if self.kind and self.kind != kind:
            was = "dates" if self.kind == "date" else "numbers"
            raise InputError(f"{batch.place(at)}: the time {str(value)[:40]!r} is a {kind}, but those before are {was}")
        self.kind = kind
        if type(value) in _PLAIN:
            self._known[value] = number
        return number

    def array(self, mask: Iterator[NDArray[np.bool_]] | None) -> Any:
        if not self.kind:
            return np.zeros(0, np.float64)
        if mask is None:
            return self._values
        final = self._builder._spool(np.float64)
        for piece in self._values.chunks(_PIECE):
            final.append(piece[next(mask)])
        return final


class _Column:
    """A further column: numbers if all values are numbers, else strings."""

    def __init__(self, builder: Builder, name: str) -> None:
        if not name or name.endswith((".bytes", ".offsets")):
            raise InputError(f"--column {name!r}: a column cannot have this name in a corpus file")
        if name == "snippet" and builder.options.snippet:
            raise InputError("--column 'snippet': the corpus keeps snippets of its own there (--snippet 0 keeps none)")
        self._builder = builder
        self._texts = _Texts(builder)
        self._numeric = True

    def add(self, values: Sequence[Any]) -> None:
        texts = [plain(value) for value in values]
        if self._numeric:
            self._numeric = all(not text or _NUMBER.fullmatch(text) for text in texts)
        self._texts.add(texts)

    def arrays(self, name: str, mask: Iterator[NDArray[np.bool_]] | None) -> dict[str, Any]:
        if not self._numeric:
            return self._texts.arrays(name, mask)
        values = self._builder._spool(np.float64)
        for texts in self._texts.values():
            values.append([float(text) if text else math.nan for text in texts])
        if mask is None:
            return {name: values}
        final = self._builder._spool(np.float64)
        for piece in values.chunks(_PIECE):
            final.append(piece[next(mask)])
        return {name: final}


def parse_time(value: Any) -> tuple[str, float]:
    """`number` or `date`, and the value: a finite number; an ISO date (also 1990-05) as days since
    1970-01-01."""
    if isinstance(value, bool):
        raise ValueError
    if isinstance(value, datetime.date):  # a datetime too
        text = value.isoformat()
    elif isinstance(value, (int, float, np.integer, np.floating)):
        text = repr(float(value))
    else:
        text = str(value).strip()
    if _NUMBER.fullmatch(text):
        number = float(text)
        if not math.isfinite(number):
            raise ValueError
        return "number", number
    if re.fullmatch(r"\d{4}-\d{2}", text, re.ASCII):
        text += "-01"
    moment = datetime.datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC)
    seconds = moment.hour * 3600 + moment.minute * 60 + moment.second + moment.microsecond / 1e6
    return "date", moment.toordinal() - _EPOCH + seconds / 86400


def snippet(text: str, size: int) -> str:
    """The beginning of a text on one line."""
    found = " ".join(text[:size].split())
    if len(found) < size < len(text) and found != text[:size].strip():
        found = " ".join(text[: 8 * size].split())[:size].rstrip()
    return found


# -- pieces of spools ----------------------------------------------------------------------------------------------


def _ragged(lengths: files.Spool, data: files.Spool) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
    """Runs of documents: their lengths and their data, about a million values at a time."""
    held = np.empty(0, dtype=data.dtype)
    pieces = data.chunks(_PIECE)
    for all_lengths in lengths.chunks(_PIECE // 8):
        begin, ends = 0, np.cumsum(all_lengths)
        while begin < len(all_lengths):
            before = int(ends[begin - 1]) if begin else 0
            end = max(int(np.searchsorted(ends, before + _PIECE, side="right")), begin + 1)
            need = int(ends[end - 1]) - before
            parts = [held]
            have = len(held)
            while have < need:
                parts.append(next(pieces))
                have += len(parts[-1])
            held = np.concatenate(parts)
            yield all_lengths[begin:end], held[:need]
            held = held[need:]
            begin = end


def _filtered(
    builder: Builder, lengths: files.Spool, data: files.Spool, mask: Iterator[NDArray[np.bool_]]
) -> tuple[files.Spool, files.Spool]:
    """The data and lengths of the documents that the mask keeps."""
    new_data, new_lengths = builder._spool(data.dtype), builder._spool(np.int64)
    held = np.empty(0, dtype=bool)
    for piece, values in _ragged(lengths, data):
        while len(held) < len(piece):
            held = np.concatenate([held, next(mask)])
        keep, held = held[: len(piece)], held[len(piece) :]
        new_data.append(values[np.repeat(keep, piece)])
        new_lengths.append(piece[keep])
    return new_data, new_lengths


def _loaded(spool: files.Spool) -> NDArray[Any]:
    pieces = list(spool.chunks())
    return np.concatenate(pieces) if pieces else np.zeros(0, spool.dtype)
