"""The same bits from version to version: digests of what 40 small runs leave, pinned.

A difference means that results change for everybody. Where that is wanted, say so in the changelog and pin anew:
`python -m tests.properties.test_fingerprints` prints the digests of the present code.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from tests.places import ROOT
from topicx.cli import cli

PINNED = ROOT / "tests" / "fingerprints.json"

# One corpus for all: 60 documents of the three-topic synthetic corpus, and a Zipfian one.
CORPORA = {
    "c": "datasets make compound --documents 40 --tokens 60 --seed 5 -o c.corpus",
    "z": "datasets make zipf --documents 150 --tokens 60 --words 400 -k 20 --seed 6 -o z.corpus",
}
TRAIN = "train {corpus}.corpus -k 12 --iterations 12 --seed 3 -o m.model --state s.state"
RUNS = {
    **{
        f"{sampler} {corpus}": f"{TRAIN} --sampler {sampler}".format(corpus=corpus)
        for sampler in ("dense", "sparse", "light", "alias", "partial", "tree", "warp")
        for corpus in "cz"
    },
    **{
        f"{sampler} z": f"{TRAIN} --sampler {sampler}".format(corpus="z")
        for sampler in ("cvb0", "cvb", "vb", "scvb0")
    },
    **{
        f"partitions {sampler}": f"{TRAIN} --sampler {sampler} --partitions 3 --threads 2".format(corpus="z")
        for sampler in ("sparse", "light", "tree", "cvb0")
    },
    **{
        f"learnt priors {sampler}": f"{TRAIN} --sampler {sampler} --optimize-interval 3 --optimize-burn-in 3".format(
            corpus="z"
        )
        for sampler in ("sparse", "light", "warp", "cvb0", "vb")
    },
    "learnt symmetric priors": TRAIN.format(corpus="z")
    + " --optimize-interval 3 --optimize-burn-in 3 --optimize symmetric-alpha",
    "growing start": TRAIN.format(corpus="z") + " --start growing",
    "progressive start": TRAIN.format(corpus="z") + " --start progressive",
    "soft start": TRAIN.format(corpus="z") + " --start soft",
    "modes": TRAIN.format(corpus="z") + " --icm 5",
    "samples": TRAIN.format(corpus="z") + " --samples 3 --lag 2",
    "steps": TRAIN.format(corpus="z") + " --sampler light --mh-steps 5",
    "sparse phi": TRAIN.format(corpus="z") + " --sampler partial --sparse-phi",
    "minibatches": TRAIN.format(corpus="z") + " --sampler scvb0 --batch-documents 32 --document-passes 3",
    "cgs": TRAIN.format(corpus="z") + " --estimator cgs",
    "chains": TRAIN.format(corpus="z") + " --chains 2",
    "seed words": TRAIN.format(corpus="z") + " --seed-words seeds.txt --seed-weight 50",
    "word prior": TRAIN.format(corpus="z") + " --word-prior prior.txt",
    "resumed": TRAIN.format(corpus="z") + " --resume c.checkpoint",
    "estimate": "estimate s.state -o m.model",
    "estimate sparsely": "estimate s.state -o m.model --phi cgs",
    "theta": "estimate s.state -o m.model --doc-topics t.npz",
    "infer": "infer m.model c.corpus -o t.npz --metadata none --seed 4",
    "infer samples": "infer m.model c.corpus -o t.npz --metadata none --seed 4 --samples 3 --theta cgs",
}  # fmt: skip


def run(line: str) -> None:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        cli.main(args=[*line.split(), "-q"], prog_name="topicx", standalone_mode=False)


def digest(folder: Path) -> dict[str, str]:
    """Of each output: a digest of its arrays by name, none of which is a time."""
    import numpy as np

    found = {}
    for name in ("m.model", "s.state", "t.npz"):
        path = folder / name
        if not path.exists():
            continue
        arrays = dict(np.load(path)) if name.endswith("npz") else load_file(path)
        told = hashlib.sha256()
        for key in sorted(arrays):
            values = np.ascontiguousarray(arrays[key])
            known = not key.startswith(("trace.", "column.", "example_columns."))  # what documents carry is no result
            if values.size and known:  # arrays that a later version adds are empty here
                told.update(f"{key} {values.dtype} {values.shape} ".encode() + values.tobytes())
        found[name] = told.hexdigest()[:16]
        path.unlink()
    return found


@contextlib.contextmanager
def in_folder(folder: Path):  # type: ignore[no-untyped-def]
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def prepare(folder: Path) -> None:
    with in_folder(folder):
        for line in CORPORA.values():
            run(line)
        Path("seeds.txt").write_text("0 w001 w002\n3 w005\n")
        Path("prior.txt").write_text("w003 0.5\n")


def fingerprint(name: str, folder: Path) -> dict[str, str]:
    line = RUNS[name]
    with in_folder(folder):
        if "--resume" in line:
            start = TRAIN.format(corpus="z").replace("--iterations 12", "--iterations 7")
            run(start + " --checkpoint c.checkpoint --checkpoint-interval 3")
            line = "train --resume c.checkpoint --iterations 12 -o m.model --state s.state"
        if line.startswith(("estimate", "infer")):
            run(TRAIN.format(corpus="z" if line.startswith("estimate") else "c"))
        before = digest(folder) if line.startswith("train") else {}
        assert not before or "--resume" in RUNS[name]
        run(line)
        return digest(folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("fingerprints")
    prepare(place)
    return place


@pytest.mark.parametrize("name", RUNS)
def test_same_bits(name: str, folder: Path) -> None:
    assert fingerprint(name, folder) == json.loads(PINNED.read_text())[name]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        prepare(Path(place))
        json.dump({name: fingerprint(name, Path(place)) for name in RUNS}, sys.stdout, indent=1)
        print()
