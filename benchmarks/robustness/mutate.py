"""Files that lie: mutations of our own files with every checksum repaired, and of other programs' text.

Everything follows from a `random.Random`, so that a case is its number.
"""

from __future__ import annotations

import hashlib
import json
import random
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from topicx.files import container
from topicx.files.container import _content_digest, _with_header_digest

Arrays = dict[str, NDArray[Any]]

JSON_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 7, 2**31, 2**40, 2**63, 10**30, -(2**63), 0.5, 1e308, 5e-324, "", "x", "cgs",
    "auto", "x" * 5000, "\x1b[31m\0\n", "é\ud7ff", [], [[]], [1], ["a"], ["a", 1], {}, {"a": 1}, {"": None},
)  # fmt: skip


def mutated(source: container.File, rng: random.Random) -> bytes:
    """The file with one to three lies in it."""
    with np.errstate(all="ignore"):
        return _mutated(source, rng)


def _mutated(source: container.File, rng: random.Random) -> bytes:
    arrays = {name: array.copy() for name, array in source.arrays.items()}
    meta = json.loads(json.dumps(source.meta))
    how = rng.random()
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if rng.random() < 0.75:
            _change_arrays(arrays, rng)
        else:
            meta = _change_json(meta, rng)
    data = pack(source.kind, arrays, meta, source.parents, rng if how < 0.08 else None)
    if how > 0.98:  # what no writer repairs
        return _flipped(data, rng)
    return data


def _change_arrays(arrays: Arrays, rng: random.Random) -> None:
    if not arrays:
        return
    name = rng.choice(sorted(arrays))
    array = arrays[name]
    if rng.random() < 0.65 and array.size:
        _change_values(array, rng, arrays)
        return
    what = rng.randrange(10)
    if what == 0:
        del arrays[name]
    elif what == 1:
        arrays[name] = array[: rng.randrange(len(array) + 1)].copy() if array.ndim else array
    elif what == 2:
        arrays[name] = np.concatenate([array, array]) if 0 < array.size < 10**6 and array.ndim else array
    elif what == 3:
        arrays[name] = array.astype(rng.choice(("uint8", "int8", "uint16", "int16", "uint32", "int32", "int64",
                                                "uint64", "float32", "float64", "bool")))  # fmt: skip
    elif what == 4:
        arrays[name] = array.reshape(-1).view(np.uint8).copy()
    elif what == 5:
        shapes = ((1, array.size), (array.size, 1), (array.size,), (1, 1, array.size))
        arrays[name] = array.reshape(rng.choice(shapes)) if rng.random() < 0.8 else np.zeros((), array.dtype)
    elif what == 6:
        arrays[name] = np.zeros((0,) * max(array.ndim, 1), array.dtype)
    elif what == 7:
        arrays[name] = arrays[rng.choice(sorted(arrays))].copy()
    elif what == 8:
        arrays[
            rng.choice((name + "x", "side.x", "trace.x", "column.x", "method.x", "sample.1.z", "allowed.topics"))
        ] = array
        del arrays[name]
    else:
        extra = rng.randrange(1, 40)
        arrays[name] = np.resize(array, len(array) + extra) if array.ndim == 1 and array.size else array


def _change_values(array: NDArray[Any], rng: random.Random, arrays: Arrays) -> None:
    flat = array.reshape(-1)
    where: Any = rng.choice((0, -1, rng.randrange(len(flat)), rng.randrange(len(flat)), slice(None)))
    kind = array.dtype.kind
    what = rng.randrange(8)
    with np.errstate(all="ignore"):
        if what == 0:
            rng.shuffle(flat)
        elif what == 1:
            flat[:] = flat[::-1].copy()
        elif what == 2:
            raw = flat.view(np.uint8)
            for _ in range(rng.choice((1, 4, 100))):
                raw[rng.randrange(len(raw))] = rng.randrange(256)
        elif what == 3 and kind in "iuf":
            flat[where] = (flat[where] + np.array(rng.choice((1, 2, -1)), np.int64)).astype(array.dtype)
        elif kind == "f":
            flat[where] = rng.choice((np.nan, np.inf, -np.inf, -1.0, 0.0, -0.0, 1e308, 5e-324, 1e30, 1e-30, 1e38, 2.0))
        elif kind == "b":
            flat[where] = rng.random() < 0.5
        else:
            sizes = [len(a) + d for a in arrays.values() if a.ndim for d in (-1, 0, 1)]
            value = rng.choice((0, -1, 1, 2**15, 65534, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**62, -(2**63), 10**6,
                                rng.randrange(300), rng.choice(sizes)))  # fmt: skip
            flat[where] = np.array(value & (2**64 - 1), np.uint64).astype(array.dtype)


def _change_json(value: Any, rng: random.Random, depth: int = 0) -> Any:
    """The same value with something in it replaced, left out or added."""
    if isinstance(value, dict) and value and (depth == 0 or rng.random() < 0.8):
        key = rng.choice(sorted(value))
        what = rng.random()
        if what < 0.1:
            del value[key]
        elif what < 0.15:
            name = rng.choice(("", "x", "columns", "groups", "seed_counts", "notes", "model"))
            value[name] = json.loads(json.dumps(rng.choice(JSON_VALUES)))
        else:
            value[key] = _change_json(value[key], rng, depth + 1)
        return value
    if isinstance(value, list) and value and rng.random() < 0.6:
        at = rng.randrange(len(value))
        value[at] = _change_json(value[at], rng, depth + 1)
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.3:
        return value + rng.choice((1, -1, 0.5))
    return json.loads(json.dumps(rng.choice(JSON_VALUES)))


def pack(kind: str, arrays: Arrays, meta: Any, parents: Any, rng: random.Random | None = None) -> bytes:
    """A file of these, its checksums right; with `rng` the header is wrong in some way that a digest does not tell."""
    table: dict[str, Any] = {}
    body = b""
    for name in sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name)):
        data = np.ascontiguousarray(arrays[name]).tobytes()
        table[name] = {
            "dtype": container._DTYPES[arrays[name].dtype.name], "shape": list(arrays[name].shape),
            "data_offsets": [len(body), len(body) + len(data)],
        }  # fmt: skip
        body += data
    sums = {name: hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest() for name, array in arrays.items()}
    text = json.dumps(meta, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    parent_text, sum_text = json.dumps(parents), json.dumps(sums, sort_keys=True)
    metadata: dict[str, Any] = {
        "format": f"topicx-{kind}", "header": "0" * 64, "version": "1", "software": "topicx 0", "created": "now",
        "meta": text, "parents": parent_text, "checksums": sum_text,
        "content": _content_digest(kind, text, sum_text, parent_text),
    }  # fmt: skip
    if rng is not None and table:
        _change_header(table, metadata, rng)
    header = json.dumps({"__metadata__": metadata, **table}, separators=(",", ":"), ensure_ascii=False)
    raw = header.encode("utf-8", "replace")
    raw += b" " * (-len(raw) % 8)
    raw = len(raw).to_bytes(8, "little") + raw
    return _with_header_digest(raw, hashlib.sha256(raw).hexdigest()) + body


def _change_header(table: dict[str, Any], metadata: dict[str, Any], rng: random.Random) -> None:
    name = rng.choice(sorted(table))
    what = rng.randrange(6)
    if what == 0:
        table[name]["dtype"] = rng.choice(("F16", "BF16", "F8_E4M3", "I64", "U8", "", "x", 3))
    elif what == 1:
        table[name]["shape"] = rng.choice(([], [0], [-1], [2**62, 4], [1, 1], "x", [1.5], None))
    elif what == 2:
        table[name]["data_offsets"] = rng.choice(([0, 0], [1, 0], [0, 2**62], [-8, 8], [], "x", [0], None))
    elif what == 3:
        sums = json.loads(metadata["checksums"])
        sums.pop(name)
        metadata["checksums"] = json.dumps(sums)
    elif what == 4:
        key = rng.choice(("meta", "parents", "checksums", "version", "software", "created", "content", "format"))
        metadata[key] = rng.choice(
            ("", "x", "{}", "[]", "null", "3", "1e400", "[" * 5000, '{"a":1}', "topicx-corpus", "2")
        )
    else:
        metadata.pop(rng.choice(("meta", "parents", "checksums", "version", "software", "created", "content")))


def _flipped(data: bytes, rng: random.Random) -> bytes:
    found = bytearray(data)
    if rng.random() < 0.5:
        return bytes(found[: rng.randrange(len(found))])
    for _ in range(rng.choice((1, 3, 20))):
        found[rng.randrange(len(found))] = rng.randrange(256)
    return bytes(found)


TOKENS = (
    b"", b"0", b"-1", b"1", b"65535", b"65536", b"4294967296", b"99999999999999999999", b"1e308", b"5e-324", b"nan",
    b"inf", b"\0", b"\xff\xfe", b"\n", b"\n\n", b"\r\n", b"\t", b" ", b":", b"#", b"{", b'"', b"[", b"\x1b[31m",
    b"\xc3", b"\\u0000", b"\xe2\x80\xa8", b"0x10", b"1_000", b"+5", b"1.5", b"a" * 3000,
)  # fmt: skip


def mutated_text(data: bytes, rng: random.Random) -> bytes:
    """Another program's file with some fields, lines or bytes changed."""
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(found) + 1)
        what = rng.randrange(7)
        if what == 0:
            found[at : at + rng.choice((0, 1, 3))] = rng.choice(TOKENS)
        elif what == 1:
            found = found[:at]
        elif what == 2 and at < len(found):
            found[at] = rng.randrange(256)
        elif what == 3:
            end = min(len(found), at + rng.randrange(1, 60))
            found[at:at] = found[at:end] * rng.choice((1, 2, 20))
        else:
            lines = found.split(b"\n")
            line = rng.randrange(len(lines))
            if what == 4:
                del lines[line]
            elif what == 5:
                lines.insert(line, lines[rng.randrange(len(lines))])
            else:
                fields = lines[line].replace(b":", b" : ").split(b" ")
                fields[rng.randrange(len(fields))] = bytearray(rng.choice(TOKENS))
                lines[line] = bytearray(b" ".join(fields).replace(b" : ", b":"))
            found = bytearray(b"\n".join(lines))
        if not found:
            break
    return bytes(found)


WHOLE = (
    "-1",
    "0",
    "1",
    "2",
    "3",
    "7",
    str(2**31),
    str(2**62),
    str(2**63),
    "x",
    "",
    "1e3",
    "nan",
    "1.5",
    "0x2",
    "\u0663",
)
FEW = WHOLE[:6] + WHOLE[9:]
"""Of sweeps and the like, which take their time."""
REAL = ("nan", "inf", "-inf", "-1", "0", "-0.0", "1e308", "5e-324", "1e-30", "1e30", "1e-9", "0.5", "1", "2", "x",
        "", "1e999")  # fmt: skip
TEXTS = (
    "", "x", "1", "0,1", "1,1", "2,2,2", "0.5,0.5", "0=x", "9=x", "=", ",", "label", "time", "score", "note", "all",
    "nan", "none", "collection", "year", "alpha+beta", "-1", "\x1b[31m", "\u00e9", "a" * 3000, "[", "(?P<text>.*)",
    "(a+)+$", ".", "good.corpus", "good.model", "good.state", "docs.json", "text.txt", "nowhere", "light",
)  # fmt: skip
PLACES = ("o", "o.png", "o.svg", "o.csv", "o.jsonl", "o.npz", "o.gz", ".", "", "nowhere/x", "-", "/dev/full", "o/x")
SWEEPS = {"iterations", "burn_in", "samples", "particles", "chains", "restarts", "paths", "icm", "lag", "clusters",
          "document_passes", "topics", "states", "weight_samples", "pi_burn_in", "folds", "gibbs_steps"}  # fmt: skip
WRITTEN = {"output", "doc_topics", "trace", "checkpoint", "plot", "plot_file", "table", "cells", "state_file"}


def lying_options(command: click.Command, rng: random.Random) -> list[str]:
    """One to three options of a command, with values that few would give it."""
    found: list[str] = []
    options = [one for one in command.params if isinstance(one, click.Option) and "--help" not in one.opts]
    for option in rng.choices(options, k=rng.choice((1, 1, 2, 3))):
        name, flag = str(option.name), rng.choice([*option.opts, *option.secondary_opts])
        if option.is_flag or option.count:
            found.append(flag)
            continue
        if name in WRITTEN or (name == "state" and command.name in ("train", "infer")):
            value = rng.choice(PLACES)
        elif isinstance(option.type, click.Choice) and rng.random() < 0.9:
            value = rng.choice(list(option.type.choices))
        elif isinstance(option.type, click.types.IntParamType):
            value = rng.choice(FEW if name in SWEEPS else WHOLE)
        else:
            value = rng.choice(REAL if "number" in option.type.name.lower() or rng.random() < 0.2 else TEXTS)
        found += [flag, value]
    return found
