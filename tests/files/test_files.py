"""Files: every flipped byte and every truncation is reported, nothing is lost or half written."""

from __future__ import annotations

import gzip
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file

from topicx.errors import InputError, TopicxError
from topicx.files import container
from topicx.strings import Strings


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small"
    arrays = {
        "a": np.arange(5, dtype=np.uint32), "b": np.linspace(0, 1, 3), "c": np.zeros(0, np.uint16),
        **Strings.of(["x", "", "hé"]).arrays("names"),
    }  # fmt: skip
    container.write(path, "corpus", arrays, {"seed": 1, "text": '}"{'}, {"of": "0" * 64})
    return path


def test_round_trip(small: Path) -> None:
    file = container.read(small, "corpus")
    assert file.meta == {"seed": 1, "text": '}"{'}
    assert file.parents == {"of": "0" * 64}
    assert file.arrays["a"].tolist() == [0, 1, 2, 3, 4]
    assert list(Strings.from_arrays(file.arrays, "names")) == ["x", "", "hé"]


def test_every_flipped_byte_is_reported(small: Path, tmp_path: Path) -> None:
    whole = small.read_bytes()
    rng = random.Random(1)
    damaged = tmp_path / "damaged"
    for position in range(len(whole)):
        data = bytearray(whole)
        data[position] ^= rng.randrange(1, 256)
        damaged.write_bytes(data)
        with pytest.raises(InputError, match="damaged"):
            container.read(damaged)


def test_every_truncation_is_reported(small: Path, tmp_path: Path) -> None:
    whole = small.read_bytes()
    damaged = tmp_path / "damaged"
    for size in range(len(whole)):
        damaged.write_bytes(whole[:size])
        with pytest.raises(InputError, match="damaged"):
            container.read(damaged)
    damaged.write_bytes(whole + b"\0")
    with pytest.raises(InputError, match="too many"):
        container.read(damaged)


def test_the_public_library_reads_it(small: Path) -> None:
    assert load_file(small)["a"].tolist() == [0, 1, 2, 3, 4]


def test_equal_content_has_equal_bytes_and_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digests = []
    for name, date in (("one", "0"), ("two", "0"), ("three", "86400")):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", date)
        digests.append(container.write(tmp_path / name, "model", {"x": np.ones(3)}, {"b": 1, "a": 2}))
    assert len(set(digests)) == 1
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert (tmp_path / "one").read_bytes() != (tmp_path / "three").read_bytes()


def test_wrong_kind_and_newer_format_are_named(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="is a topicx corpus, but a model is needed"):
        container.read(small, "model")
    monkeypatch.setattr(container, "FORMAT_VERSION", 7)
    container.write(tmp_path / "new", "model", {}, {})
    monkeypatch.undo()
    with pytest.raises(InputError, match="format 7"):
        container.read(tmp_path / "new")


def test_missing_file_and_folder() -> None:
    with pytest.raises(InputError, match=r"nowhere/x: cannot be read: No such file"):
        container.read("nowhere/x")
    with pytest.raises(InputError, match=r"nowhere/x: cannot be written: No such file"):
        container.write("nowhere/x", "model", {}, {})


def test_a_failure_while_writing_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError), container.atomic_output(path, binary=False) as out:
        out.write("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["out.txt"]


def test_a_full_disk_is_a_failure_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    program = (
        "import resource, signal, sys, numpy as np\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "sys.dont_write_bytecode = True\n"  # half a module would stay
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))\n"
        "from topicx.files import container\nfrom topicx.errors import TopicxError\n"
        "try: container.write(sys.argv[1], 'model', {'x': np.zeros(10_000)}, {})\n"
        "except TopicxError as error: print(error); sys.exit(error.exit_status)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], text=True, capture_output=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "writing failed" in done.stdout
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_gz_is_compressed_and_reproducible(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        with container.atomic_output(tmp_path / name, binary=False) as out:
            out.write("text\n")
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"text\n"
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_output_respects_links_and_umask(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with container.atomic_output(tmp_path / "link", binary=False) as out:
        out.write("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o666 & ~mask


@pytest.mark.parametrize("positions", [True, False])
def test_spools_and_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, positions: bool) -> None:
    """`positions`: whether the system can read at a position of a file (Windows cannot)."""
    if not positions:
        monkeypatch.delattr(os, "preadv", raising=False)
    spool = container.Spool(np.uint32)
    for begin in range(0, 100, 10):
        spool.append(np.arange(begin, begin + 10))
    container.write(tmp_path / "spooled", "corpus", {"words": spool}, {})
    container.write(tmp_path / "array", "corpus", {"words": np.arange(100, dtype=np.uint32)}, {})
    with container.open_file(tmp_path / "spooled") as file:
        assert file.slice("words", 15, 25).tolist() == list(range(15, 25))
        assert file.slice("words", 95, 200).tolist() == list(range(95, 100))
        spooled = file.digest
    assert spooled == container.read(tmp_path / "array").digest


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(), max_size=20))
def test_strings_round_trip(values: list[str]) -> None:
    strings = Strings.of(values)
    clean = [value.encode("utf-8", "surrogatepass").decode("utf-8", "replace") for value in values]
    assert list(strings) == clean == [strings[i] for i in range(len(values))]
    assert list(strings[::2]) == clean[::2]


def test_errors_have_an_exit_status() -> None:
    assert (TopicxError.exit_status, InputError.exit_status) == (1, 2)
