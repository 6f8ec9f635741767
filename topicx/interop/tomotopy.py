"""Saved LDA models of tomotopy, read by tomotopy itself where it is installed.

Its files carry no checksum, and a damaged one can bring down the process that loads it; so another process does,
and hands over plain arrays.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from topicx.errors import InputError
from topicx.state import MAX_TOPICS, State
from topicx.strings import Strings

# Runs by itself in the other process: tomotopy and numpy only.
_LOADER = """
import sys
import numpy as np
import tomotopy
model = tomotopy.LDAModel.load(sys.argv[1])
if type(model) is not tomotopy.LDAModel:
    sys.exit("is a tomotopy " + type(model).__name__ + ", and only LDAModel can be read")
vocabulary = list(model.used_vocabs)
words, topics, lengths, ids = [], [], [], []
for at, document in enumerate(model.docs):
    w = np.asarray(document.words, np.int64)
    z = np.asarray(document.topics, np.int64)
    kept = w < len(vocabulary)
    words.append(w[kept])
    topics.append(z[kept])
    lengths.append(int(kept.sum()))
    ids.append(document.uid or str(at))
np.savez(
    sys.argv[2],
    words=np.concatenate(words) if words else np.zeros(0, np.int64),
    z=np.concatenate(topics) if topics else np.zeros(0, np.int64),
    lengths=np.array(lengths, np.int64), alpha=np.array(model.alpha, np.float64),
    eta=float(model.eta), topics=int(model.k), weighting=int(model.tw),
    vocabulary=np.frombuffer("\\n".join(vocabulary).encode(), np.uint8),
    ids=np.frombuffer("\\n".join(i.replace("\\n", " ") for i in ids).encode(), np.uint8),
)
"""


def is_tomotopy(start: bytes) -> bool:
    """By the first bytes of the file: a model's name, then tomotopy's own mark."""
    return start[:4] == b"LDA\0" and b"TPTK" in start[:32]


def read(path: str) -> State:
    if not Path(path).is_file():
        raise InputError(f"{path}: cannot be read")
    if find_spec("tomotopy") is None:
        raise InputError(f"{path}: is a tomotopy model; to read it, install tomotopy (pip install tomotopy)")
    with tempfile.TemporaryDirectory(prefix="topicx-") as folder:
        target = Path(folder, "state.npz")
        try:
            done = subprocess.run(
                [sys.executable, "-c", _LOADER, path, str(target)], capture_output=True, text=True, timeout=3600,
                check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise InputError(f"{path}: tomotopy did not finish loading it; is the file damaged?") from None
        if done.returncode != 0 or not target.exists():
            said = (done.stderr.strip().splitlines() or [f"it ended with status {done.returncode}"])[-1]
            raise InputError(f"{path}: tomotopy cannot load it: {said[:200]}")
        with np.load(target) as arrays:
            return _make_state(path, {name: arrays[name] for name in arrays.files})


def _make_state(path: str, arrays: dict[str, np.ndarray]) -> State:
    topics = int(arrays["topics"])
    vocabulary = Strings.of(arrays["vocabulary"].tobytes().decode("utf-8", "replace").split("\n"))
    ids = Strings.of(arrays["ids"].tobytes().decode("utf-8", "replace").split("\n"))
    words, z, alpha, eta = arrays["words"], arrays["z"], arrays["alpha"], float(arrays["eta"])
    offsets = np.zeros(len(arrays["lengths"]) + 1, np.int64)
    np.cumsum(arrays["lengths"], out=offsets[1:])
    fits = (
        1 <= topics <= MAX_TOPICS and alpha.shape == (topics,) and np.all(np.isfinite(alpha)) and np.all(alpha > 0)
        and np.isfinite(eta) and eta > 0 and len(words) == len(z) > 0 and int(z.min()) >= 0 and int(z.max()) < topics
        and int(words.min()) >= 0 and int(words.max()) < len(vocabulary) and len(ids) == len(offsets) - 1
    )  # fmt: skip
    if not fits:
        raise InputError(f"{path}: what tomotopy loads from it is not consistent; is the model trained and whole?")
    return State(
        words=words.astype(np.uint32),
        offsets=offsets,
        z=z.astype(np.uint16),
        alpha=alpha[None, :],
        beta=np.full(len(vocabulary), eta),
        vocabulary=vocabulary,
        ids=ids,
        meta={"format": "tomotopy", "notes": _notes_on_weighting(int(arrays["weighting"]))},
    )


def _notes_on_weighting(weighting: int) -> list[str]:
    if not weighting:
        return []
    name = {1: "IDF", 2: "PMI"}.get(weighting, str(weighting))
    return [f"the model weighs its words (TermWeight.{name}): here every token counts as one, so φ and θ will differ"]
