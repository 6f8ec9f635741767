"""The embedded texts are fit to be shown, and the synthetic corpora are what they say they are."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import itertools
import json
import os
import subprocess
import sys
import unicodedata
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

from topicx import datasets
from topicx.cli import cli
from topicx.corpus.corpus import Corpus
from topicx.datasets.draws import Draws, portable_exp, portable_log
from topicx.datasets.generators import GENERATORS, SIZES
from topicx.errors import InputError

TEXTS = list(datasets.embedded_texts())
SMALL = {
    "bars": {"documents": 50},
    "bands": {"documents": 50},
    "compound": {"documents": 10, "tokens": 50},
    "compound-drawn": {"documents": 10, "tokens": 50, "collections": 3, "topics": 4},
    "hmm": {"tokens": 1000},
    "zipf": {"documents": 40, "tokens": 30, "words": 200, "topics": 5},
}

# -- the texts ------------------------------------------------------------------------------------------


def test_texts_are_enough_and_have_their_fields():
    assert len(TEXTS) >= 240
    assert len({text.id for text in TEXTS}) == len(TEXTS)
    labels, collections = Counter(t.label for t in TEXTS), Counter(t.collection for t in TEXTS)
    assert len(labels) == 8 and min(labels.values()) >= 30
    assert set(collections) == {"columns", "letters", "reports"} and min(collections.values()) >= 60
    assert {text.year for text in TEXTS} == set(range(1990, 2020))
    assert len({(text.label, text.collection) for text in TEXTS}) == 24
    assert all(text.id.startswith(f"{text.label}-") for text in TEXTS)


def test_text_files_are_clean():
    files = sorted((Path(datasets.__file__).parent / "texts").glob("*.tsv"))
    assert len(files) == 8
    for file in files:
        content = file.read_bytes().decode("utf-8")
        assert content.endswith("\n") and "\r" not in content and "\ufeff" not in content
        assert unicodedata.is_normalized("NFC", content)
        assert all(line.count("\t") == 4 for line in content.splitlines())
        for line in content.splitlines():
            text = line.split("\t")[4]
            assert text == " ".join(text.split())
            assert '"' not in text  # so that every reader of tsv agrees, whatever it thinks of quotes
            assert text[0].isupper() or text[0] == "'"
            assert text[-1] in ".!?'"
            assert all(c.isprintable() and (c.isascii() or c.isalpha()) for c in text)


def test_texts_are_60_to_120_words():
    assert [text.id for text in TEXTS if not 60 <= len(text.text.split()) <= 120] == []


def test_texts_are_no_variants_of_each_other():
    words = [text.text.lower().split() for text in TEXTS]
    fours = [{tuple(w[i : i + 4]) for i in range(len(w) - 3)} for w in words]
    sets = [set(w) for w in words]
    for i, j in itertools.combinations(range(len(TEXTS)), 2):
        assert len(fours[i] & fours[j]) <= 2, (TEXTS[i].id, TEXTS[j].id)
        assert len(sets[i] & sets[j]) < 0.25 * len(sets[i] | sets[j]), (TEXTS[i].id, TEXTS[j].id)
    openings = Counter(tuple(w[:3]) for w in words)
    assert max(openings.values()) <= 3


def test_embedded_corpus():
    corpus = datasets.embedded()
    assert corpus.n_documents == len(TEXTS)
    assert list(corpus.ids) == [text.id for text in TEXTS]
    assert list(corpus.collection_names) == ["columns", "letters", "reports"]
    assert corpus.labels(0) == ["astronomy"] and corpus.time[0] == 1990
    assert "the" not in set(corpus.vocabulary) and "telescope" in set(corpus.vocabulary)


# -- the draws ------------------------------------------------------------------------------------------


def test_log_and_exp_agree_with_numpy():
    u = Draws(1, "test").uniform(100_000)
    np.testing.assert_allclose(portable_log(u), np.log(u), rtol=1e-15, atol=1e-16)
    np.testing.assert_allclose(portable_log(1e9 * u), np.log(1e9 * u), rtol=1e-15, atol=1e-16)
    x = (u - 0.5) * 1390
    np.testing.assert_allclose(portable_exp(x), np.exp(x), rtol=1e-15)
    assert portable_exp(np.array([-np.inf, -800.0])).tolist() == [0, 0]


@pytest.mark.parametrize("shape", [0.01, 0.3, 1.0, 2.0, 3.7])
def test_gamma_variates(shape):
    values = np.exp(Draws(2, "test").log_gamma(np.full(20_000, shape)))
    assert stats.kstest(values, stats.gamma(shape).cdf).pvalue > 1e-3


def test_dirichlet_and_choose():
    draws = Draws(3, "test")
    theta = draws.dirichlet(np.tile([0.5, 1.5, 0.0, 2.0], (20_000, 1)))
    np.testing.assert_allclose(theta.sum(axis=1), 1)
    np.testing.assert_allclose(theta.mean(axis=0), [0.125, 0.375, 0, 0.5], atol=0.01)
    assert stats.kstest(theta[:, 1], stats.beta(1.5, 2.5).cdf).pvalue > 1e-3
    rows = np.repeat([0, 1], 50_000)
    p = np.array([[0.1, 0.0, 0.6, 0.3, 0.0], [0.0, 0.0, 0.0, 0.5, 0.5]])
    chosen = draws.choose(p, rows)
    for row in (0, 1):
        counts = np.bincount(chosen[rows == row], minlength=5)
        assert np.array_equal(counts > 0, p[row] > 0)
        assert stats.chisquare(counts[p[row] > 0], 50_000 * p[row][p[row] > 0]).pvalue > 1e-3


# -- the generators -------------------------------------------------------------------------------------


def fingerprint(corpus: Corpus) -> str:
    digest = hashlib.sha256()
    for array in (corpus.words, corpus.offsets, *(corpus.truth[name] for name in sorted(corpus.truth))):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


# Changing these changes everybody's synthetic corpora: only with a line in the changelog.
FINGERPRINTS = {
    "bars": "ae98f17b44790421",
    "bands": "ab79290f52dcb1cd",
    "compound": "2198caac03e95b88",
    "compound-drawn": "94f88c89ef5e5a0d",
    "hmm": "74b91b36d62539db",
    "zipf": "90d2d248018eec48",
}


@pytest.mark.parametrize("name", list(GENERATORS))
def test_same_seed_same_corpus(name):
    first, again, other = (datasets.make(name, seed, **SMALL[name]) for seed in (7, 7, 8))
    assert fingerprint(first) == fingerprint(again) != fingerprint(other)
    assert fingerprint(first) == FINGERPRINTS[name]


@pytest.mark.skipif(sys.platform != "linux", reason="one system is enough")
def test_same_corpus_without_vector_units():
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); import test_datasets as t;"
        "from topicx import datasets;"
        "print(json.dumps({n: t.fingerprint(datasets.make(n, 7, **t.SMALL[n])) for n in t.GENERATORS}))"
    )
    features = [
        name
        for name, there in np._core._multiarray_umath.__cpu_features__.items()
        if there and name in np._core._multiarray_umath.__cpu_dispatch__
    ]
    done = subprocess.run(
        [sys.executable, "-c", code, str(Path(__file__).parent)],
        env=os.environ | {"NPY_DISABLE_CPU_FEATURES": " ".join(features)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == FINGERPRINTS


@pytest.mark.parametrize("name", list(GENERATORS))
def test_shapes_and_files(name, tmp_path):
    corpus = datasets.make(name, 3, **SMALL[name])
    assert corpus.words.dtype == np.uint32
    assert corpus.offsets[-1] == len(corpus.words) == len(corpus.truth["z"])
    assert corpus.words.max() < corpus.n_words
    assert corpus.truth["z"].dtype == np.uint16
    corpus.save(tmp_path / "corpus")
    loaded = Corpus.load(tmp_path / "corpus")
    assert fingerprint(loaded) == fingerprint(corpus)
    assert loaded.meta["dataset"] == name and loaded.meta["seed"] == 3
    assert np.array_equal(loaded.word_frequencies, np.bincount(corpus.words, minlength=corpus.n_words))
    pairs = {(d, w) for d in range(len(corpus)) for w in corpus.document(d)}
    counts = Counter(w for _, w in pairs)
    assert [counts[w] for w in corpus.vocabulary] == loaded.document_frequencies.tolist()
    if len(corpus) > 3:
        part = corpus.select([3, 1])
        begin, end = corpus.offsets[3], corpus.offsets[4]
        assert np.array_equal(part.truth["z"][: end - begin], corpus.truth["z"][begin:end])
        assert len(part.truth["z"]) == part.n_tokens
        if "document_topic" in part.truth:
            assert np.array_equal(part.truth["document_topic"], corpus.truth["document_topic"][[3, 1]])


def word_given_topic(corpus: Corpus) -> float:
    """The p-value of the words given their topics, cells of too small expectation left out."""
    phi = corpus.truth["topic_word"].astype(float)
    topics, words = phi.shape
    z = corpus.truth["z"].astype(np.int64)
    counts = np.bincount(z * words + corpus.words, minlength=topics * words).reshape(topics, words)
    assert not counts[phi == 0].any()
    expected = counts.sum(axis=1, keepdims=True) * phi / phi.sum(axis=1, keepdims=True)
    used = expected >= 5
    chi2 = ((counts - expected)[used] ** 2 / expected[used]).sum()
    return float(stats.chi2.sf(chi2, used.sum() - topics))


def topic_given_document(corpus: Corpus) -> float:
    """Topics of tokens against θ, summed over the documents (normal approximation, smallest p)."""
    theta = corpus.truth["document_topic"].astype(float)
    z = corpus.truth["z"]
    p = []
    for topic in range(theta.shape[1]):
        mean = (corpus.lengths * theta[:, topic]).sum()
        variance = (corpus.lengths * theta[:, topic] * (1 - theta[:, topic])).sum()
        p.append(2 * stats.norm.sf(abs((z == topic).sum() - mean) / np.sqrt(variance)))
    return min(p) * len(p)


@pytest.mark.parametrize("name", ["bars", "bands", "compound", "compound-drawn"])
def test_tokens_follow_their_truth(name):
    corpus = datasets.make(name, seed=5)
    np.testing.assert_allclose(corpus.truth["topic_word"].sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(corpus.truth["document_topic"].sum(axis=1), 1, rtol=1e-5)
    assert word_given_topic(corpus) > 1e-3
    assert topic_given_document(corpus) > 1e-3


def test_bars_are_bars():
    topics = datasets.make("bars").truth["topic_word"].reshape(10, 5, 5)
    for topic in range(10):
        lit = topics[topic] > 0
        assert lit.sum() == 5 and (lit.all(axis=0).any() or lit.all(axis=1).any())


def test_bands_overlap():
    topics = datasets.make("bands").truth["topic_word"]
    inside = topics > 0.001
    assert inside.sum(axis=1).tolist() == [11] + [21] * 8 + [11]
    assert Counter(inside.sum(axis=0).tolist()) == {2: 90, 1: 10}
    np.testing.assert_allclose(topics.min(axis=1), 0.0005, rtol=1e-6)


def test_compound_is_the_papers():
    corpus = datasets.make("compound")
    assert (len(corpus), corpus.n_words, corpus.truth["pi"].shape) == (200, 40, (2, 3))
    np.testing.assert_allclose(corpus.truth["pi"], [[0.002, 0, 0.997], [0.584, 0.386, 0.030]], atol=0.0015)
    assert [corpus.collection_of(d) for d in (0, 99, 100)] == ["collection1", "collection1", "collection2"]
    many = datasets.make("compound-drawn", seed=2, documents=2000, tokens=20, alpha=2.0)
    for j in (0, 1):
        mean = many.truth["document_topic"][many.collection == j].mean(axis=0)
        np.testing.assert_allclose(mean, many.truth["pi"][j], atol=0.05)


def test_hmm():
    corpus = datasets.make("hmm", seed=4)
    z = corpus.truth["z"].astype(int)
    assert (len(corpus), corpus.n_tokens) == (1, 200_000)
    assert stats.binomtest(int((z[1:] != z[:-1]).sum()), len(z) - 1, 0.45).pvalue > 1e-3
    counts = np.bincount(z * 10 + corpus.words, minlength=20).reshape(2, 10)
    expected = counts.sum(axis=1, keepdims=True) * corpus.truth["emissions"]
    assert stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), 18) > 1e-3
    np.testing.assert_allclose(corpus.truth["transitions"], [[0.55, 0.45], [0.45, 0.55]])


def test_zipf_is_lda_with_zipfian_words():
    corpus = datasets.make("zipf", seed=6, documents=20_000, tokens=50, words=5000, topics=20, alpha=0.2)
    assert corpus.n_tokens == 1_000_000
    assert 25 <= corpus.lengths.min() < 30 and 70 < corpus.lengths.max() <= 75
    np.testing.assert_allclose(corpus.truth["topic_word"].sum(axis=1), 1, rtol=1e-5)
    assert word_given_topic(corpus) > 1e-3
    ranks = np.arange(1, 1001)
    slope = stats.linregress(np.log(ranks), np.log(np.sort(corpus.word_frequencies)[::-1][:1000])).slope
    assert -1.15 < slope < -0.9
    # Dirichlet-multinomial: two tokens of a document have the same topic with probability (α + 1)/(Kα + 1).
    # One pair a document, so that the pairs are independent.
    z = corpus.truth["z"]
    same = int((z[corpus.offsets[:-1]] == z[corpus.offsets[1:] - 1]).sum())
    assert stats.binomtest(same, len(corpus), 1.2 / 5).pvalue > 1e-3
    middle = int((z[corpus.offsets[:-1] + 7] == z[corpus.offsets[:-1] + 20]).sum())
    assert stats.binomtest(middle, len(corpus), 1.2 / 5).pvalue > 1e-3
    assert stats.chisquare(np.bincount(z[corpus.offsets[:-1]], minlength=20)).pvalue > 1e-3


def test_zipf_keeps_large_topics_as_slots(monkeypatch):
    from topicx.datasets import generators

    plain = datasets.make("zipf", 1, **SMALL["zipf"])
    monkeypatch.setattr(generators, "DENSE_LIMIT", 10)
    large = datasets.make("zipf", 1, **SMALL["zipf"])
    assert np.array_equal(plain.words, large.words)
    slots = large.truth["topic_slots"]
    shares = np.array([np.bincount(row, minlength=200) for row in slots]) / slots.shape[1]
    np.testing.assert_array_equal(shares.astype(np.float32), plain.truth["topic_word"])


def test_zipf_smallest_sizes():
    corpus = datasets.make("zipf", documents=1, tokens=1, words=2, topics=1, exponent=0)
    assert corpus.n_tokens == 1
    assert datasets.make("zipf", documents=3, tokens=1, words=3, topics=2).lengths.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("name", "sizes", "message"),
    [
        ("brs", {}, "no dataset 'brs'"),
        ("bars", {"exponent": 1.0}, "dataset bars has no option exponent"),
        ("bars", {"documents": 0}, "documents: 0 is not from 1"),
        ("bars", {"documents": 2.5}, "documents: 2.5 is not a whole number"),
        ("bars", {"documents": True}, "documents: True is not"),
        ("bars", {"alpha": float("nan")}, "alpha: nan is not a number"),
        ("bars", {"alpha": "x"}, "alpha: 'x' is not a number"),
        ("bars", {"seed": -1}, "seed: -1"),
        ("zipf", {"topics": 70000}, "topics: 70000 is not from 1 to 65535"),
        ("hmm", {"transition": 1.5}, "transition: 1.5 is not from 0 to 1"),
    ],
)
def test_wrong_calls(name, sizes, message):
    with pytest.raises(InputError, match=message):
        datasets.make(name, **sizes)


def test_every_size_is_known():
    assert {size for generator in GENERATORS.values() for size in generator.sizes} == set(SIZES)
    assert datasets.names() == list(GENERATORS) == list(SMALL)


# -- the command ----------------------------------------------------------------------------------------


def run(*arguments: str) -> str:
    done = CliRunner().invoke(cli, ["datasets", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_list():
    text = run("list")
    listed = json.loads(run("list", "--json"))
    assert [entry["name"] for entry in listed] == datasets.names()
    for generator in GENERATORS.values():
        assert generator.summary in text
        assert all(f"--{size} " in text for size in generator.sizes)


def test_make(tmp_path):
    path = tmp_path / "c"
    options = "--seed 9 --documents 20 -k 3 --words 50 --alpha 0.5"
    run("make", "zipf", "-o", str(path), *options.split())
    sizes = {"documents": 20, "topics": 3, "words": 50, "alpha": 0.5}
    assert fingerprint(Corpus.load(path)) == fingerprint(datasets.make("zipf", 9, **sizes))


@pytest.mark.parametrize("name", ["t.tsv", "t.jsonl", "t.txt.gz"])
def test_texts(name, tmp_path):
    run("texts", "-o", str(tmp_path / name), "--quiet")
    raw = (tmp_path / name).read_bytes()
    content = (gzip.decompress(raw) if name.endswith(".gz") else raw).decode()
    if name.endswith(".jsonl"):
        rows = [json.loads(line) for line in content.splitlines()]
    else:
        rows = list(csv.DictReader(io.StringIO(content), delimiter="\t"))
    assert [row["text"] for row in rows] == [text.text for text in TEXTS]
    assert [int(row["year"]) for row in rows] == [text.year for text in TEXTS]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["make", "brs", "-o", "x"], "there is no dataset 'brs'"),
        (["make", "bars", "-o", "x", "--gamma", "1"], "dataset bars has no option gamma"),
        (["make", "bars", "-o", "x", "--documents", "0"], "--documents"),
        (["make", "bars", "-o", "x", "--alpha", "inf"], "--alpha"),
        (["make", "bars"], "--output"),
        (["make", "bars", "-o", "/nowhere/x", "--documents", "1"], "/nowhere/x"),
        (["texts", "-o", "x.csv"], "x.csv"),
        (["texts", "-o", "x", "--format", "xml"], "--format"),
        (["nothing"], "nothing"),
    ],
)
def test_wrong_use(arguments, message, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "topicx", "datasets", *arguments], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert message in done.stderr and len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_texts_as_a_folder(tmp_path):
    run("texts", "-o", str(tmp_path / "papers"), "--format", "dir", "--quiet")
    paths = sorted((tmp_path / "papers").rglob("*.txt"))
    texts = {text.id: text for text in TEXTS}
    assert len(paths) == 440
    for path in paths:
        assert path.read_text(encoding="utf-8") == texts[path.stem].text + "\n"
        assert path.parent.name == str(texts[path.stem].year)
    with pytest.raises(InputError, match="is there, and no empty folder"):
        run("texts", "-o", str(tmp_path / "papers"), "--format", "dir")
