"""Small states in every format that `topicx estimate` reads, written here; and ways to damage a file."""

from __future__ import annotations

import gzip
from pathlib import Path
from random import Random

import numpy as np

from topicx.state import State
from topicx.strings import Strings

FORMATS = ("mallet", "mallet-gz", "warplda", "gibbslda", "lightlda", "topicx")


def small_state(seed: int = 0, documents: int = 5, words: int = 7, topics: int = 3, length: int = 6) -> State:
    """Every word and topic occurs; words ascend within a document, as WarpLDA's and LightLDA's do."""
    rng = np.random.default_rng(seed)
    rows = [np.sort(rng.integers(0, words, int(n))) for n in rng.integers(1, length + 1, documents)]
    rows.append(np.arange(words))
    tokens = np.concatenate(rows).astype(np.uint32)
    offsets = np.concatenate([[0], np.cumsum([len(r) for r in rows])]).astype(np.int64)
    z = rng.integers(0, topics, len(tokens)).astype(np.uint16)
    z[-topics:] = np.arange(topics)
    # type indices as MALLET gives them: in the order of appearance
    order = tokens[np.sort(np.unique(tokens, return_index=True)[1])]
    names = [f"w{i}é" for i in range(words)]
    assert len(order) == words
    return State(
        tokens, offsets, z, np.full((1, topics), 0.1), np.full(words, 0.01), Strings.of(names),
        Strings.of(str(d) for d in range(len(rows))),
    )  # fmt: skip


def write(state: State, format: str, folder: Path) -> tuple[Path, list[Path]]:
    """The path to give to `read_state`, and all files of the state."""
    k, v = state.n_topics, state.n_words
    rows = [
        list(zip(state.words[a:b].tolist(), state.z[a:b].tolist()))
        for a, b in zip(state.offsets[:-1].tolist(), state.offsets[1:].tolist())
    ]
    alpha, beta = float(state.alpha[0, 0]), float(state.beta[0])
    if format.startswith("mallet"):
        text = "#doc source pos typeindex type topic\n#alpha : " + f"{alpha} " * k + f"\n#beta : {beta}\n"
        for d, row in enumerate(rows):
            for at, (w, t) in enumerate(row):
                text += f"{d} a source.txt {at} {w} {state.vocabulary[w]} {t}\n"
        path = folder / ("state.gz" if format.endswith("gz") else "state")
        path.write_bytes(gzip.compress(text.encode(), mtime=0) if format.endswith("gz") else text.encode())
        return path, [path]
    counts = np.zeros((v, k), int)
    np.add.at(counts, (state.words, state.z), 1)
    if format == "warplda":
        files = [folder / "train.z.estimate", folder / "train.model", folder / "train.vocab"]
        lines = [" ".join([str(len(row)), *(f"{w}:{t}" for w, t in row)]) for row in rows]
        files[0].write_text("\n".join(lines) + "\n")
        lines = [f"{v} {k} {alpha} {beta}"]
        for row in counts:
            lines.append(f"{np.count_nonzero(row)}\t" + "".join(f"{t}:{n} " for t, n in enumerate(row) if n))
        files[1].write_text("\n".join(lines) + "\n")
        files[2].write_text("".join(f"{w}\n" for w in state.vocabulary))
        return files[0], files
    if format == "gibbslda":
        files = [folder / "m.tassign", folder / "m.others", folder / "wordmap.txt"]
        files[0].write_text("".join(" ".join(f"{w}:{t}" for w, t in row) + " \n" for row in rows))
        files[1].write_text(f"alpha={alpha}\nbeta={beta}\nntopics={k}\nndocs={len(rows)}\nnwords={v}\nliter=9\n")
        files[2].write_text(f"{v}\n" + "".join(f"{w} {i}\n" for i, w in enumerate(state.vocabulary)))
        return files[0], files
    if format == "lightlda":
        files = [folder / "block.0", folder / "dict.txt", folder / "server_0_table_0.model",
                 folder / "server_0_table_1.model", folder / "doc_topic.0"]  # fmt: skip
        values: list[int] = []
        offsets = [0]
        for row in rows:
            values += [0, *(n for pair in row for n in pair)]
            offsets.append(len(values))
        files[0].write_bytes(np.array([len(rows), *offsets], "<i8").tobytes() + np.array(values, "<i4").tobytes())
        files[1].write_text("".join(f"{i}\t{w}\t{counts[i].sum()}\n" for i, w in enumerate(state.vocabulary)))
        files[2].write_text("".join(
            f"{w} " + " ".join(f"{t}:{n}" for t, n in enumerate(row) if n) + "\n" for w, row in enumerate(counts)
        ))  # fmt: skip
        files[3].write_text("0 " + " ".join(f"{t}:{n}" for t, n in enumerate(counts.sum(axis=0))) + "\n")
        lines = []
        for d, row in enumerate(rows):
            n = np.bincount([t for _, t in row], minlength=k)
            lines.append(f"{d}  " + " ".join(f"{t}:{c}" for t, c in enumerate(n) if c) + "\n")
        files[4].write_text("".join(lines))
        return folder, files
    path = folder / "run.state"
    state.save(path)
    return path, [path]


def damaged(data: bytes, rng: Random) -> bytes:
    """One to three of the things that happen to files, and some that do not."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = _damage(data, rng)
    return data


def _damage(data: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    size = rng.choice((1, 1, 2, 5, 40))
    odd = [b"", b"-1", b"99999999999999999999", b"1e9", b"nan", b"inf", b"-", b":", b" ", b"\t", b"\n", b"\r\n", b"\0",
           b"\xff", b"0", b"7", b"65535", b"65536", b"4294967296", b"#", b"\xe2\x80\xa8"]  # fmt: skip
    lines = data.split(b"\n")
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(10)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + data[at + size :]
    if kind == 2:
        return data[:at] + rng.choice(odd) + data[at:]
    if kind == 3:
        return data[:at] + rng.choice(odd) + data[at + size :]
    if kind == 4:
        return data[:at] + bytes(rng.randrange(256) for _ in range(size)) + data[at + size :]
    if kind == 5:
        del lines[one]
    elif kind == 6:
        lines.insert(one, lines[other])
    elif kind == 7:
        lines[one], lines[other] = lines[other], lines[one]
    elif kind == 8:
        fields = lines[one].split(b" ")
        fields[rng.randrange(len(fields))] = rng.choice(odd)
        lines[one] = b" ".join(fields)
    else:
        return data[: at + size] + data[at:]
    return b"\n".join(lines)
