"""Topics with keywords as models: keywords read and matched, trained, resumed, finished, used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topicx
from tests.conftest import run_topicx
from topicx.classes.lda_class import LDA
from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.estimate.topic_edits import edit_topics
from topicx.evaluate.keyword_hold import measure_keywords
from topicx.model import Model
from topicx.models.keyword import Keyword, KeywordConditionals, KeywordOptions, adopted_counts
from topicx.models.keyword_lists import describe_keyword_lists, keywords_of, match_keywords
from topicx.predict.inference import infer
from topicx.run import Result, Run
from topicx.sampling.run_options import Options
from topicx.sampling.sweep_loop import Checkpoints, Interrupted
from topicx.state import State
from topicx.strings import Strings

TOPICS, WORDS = 5, 90
KEYWORDS = {"first": ["keya", "keyb"], "second": ["keyc", "KEYD*"]}


def planted(documents: int = 300, length: int = 30, seed: int = 1) -> Corpus:
    """Five topics; a tenth of the words of the first two are keywords, and some of all topics by mistake."""
    random = np.random.default_rng(seed)
    phi = np.random.default_rng(0).dirichlet(np.full(WORDS, 0.08), TOPICS)
    theta = random.dirichlet(np.full(TOPICS, 0.25), documents)
    right = random.integers(0, 2, documents)
    words = []
    for row in theta:
        for k in random.choice(TOPICS, length, p=row):
            if k < 2 and random.random() < 0.1:
                words.append(WORDS + 2 * k + int(random.integers(0, 2)))
            elif random.random() < 0.005:
                words.append(WORDS + int(random.integers(0, 4)))
            else:
                words.append(int(random.choice(WORDS, p=phi[k])))
    vocabulary = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(WORDS)] + ["keya", "keyb", "keyc", "keydx"]
    return Corpus(
        np.array(words, np.uint32), np.arange(documents + 1, dtype=np.int64) * length, Strings.of(vocabulary),
        ids=Strings.of([f"d{i}" for i in range(documents)]),
        truth={"topic_word": np.pad(phi, ((0, 0), (0, 4))), "document_topic": theta},
        columns={"party": Strings.of(["right" if one else "left" for one in right])},
    )  # fmt: skip


def train(corpus: Corpus, own: dict[str, Any] | None = None, threads: int = 1, phi: str = "auto", **o: Any) -> Result:
    given = {"keywords": KEYWORDS, "residual": 3} | (own or {})
    learn = {"optimize_interval": 10, "optimize_burn_in": 20, "optimize": "alpha", "start": "random"}
    options = Options(model="keyword", own=given, **{"iterations": 60} | learn | o)
    with Threads(threads) as engine:
        return Run.start(corpus, options, engine).train().result(phi=phi)


def test_files_of_keywords_of_every_kind(tmp_path: Path) -> None:
    wanted = {"school": ["teach*", "pupil"], "health": ["nurse", "doctor"]}
    texts = {
        "lines": "# mine\nschool: teach*, pupil\nhealth: nurse doctor\n",
        "yaml": "---\nschool:\n  - teach*\n  - 'pupil'\nhealth: [nurse, \"doctor\"]  # two\n",
        "json": json.dumps(wanted),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        assert keywords_of(str(tmp_path / name)) == wanted, name
    assert keywords_of(wanted) == wanted
    for text, message in (
        ("school teach", "1: 'name: word, word'"), ("- teach\n", "before the name"),
        ("a: b\na: c\n", "2: the topic 'a'"), ("{", "bad:"), ("a:\n", "has no words"), ("", "no topic has any"),
    ):  # fmt: skip
        (tmp_path / "bad").write_text(text)
        with pytest.raises(InputError, match=message):
            keywords_of(str(tmp_path / "bad"))
    with pytest.raises(InputError, match="needs a list of words"):
        keywords_of({"a": "word"})
    with pytest.raises(InputError, match="cannot be read"):
        keywords_of(str(tmp_path / "none"))


def test_keywords_are_matched_and_told() -> None:
    vocabulary = ["teacher", "Teaching", "pupil", "nurse", "te.ch"]
    words, topics, missing = match_keywords({"a": ["teach*", "p?pil"], "b": ["NURSE", "pupil", "x*"]}, vocabulary)
    assert list(zip(words.tolist(), topics.tolist(), strict=True)) == [(0, 0), (1, 0), (2, 0), (2, 1), (3, 1)]
    assert missing == ["x* (b)"]
    lines = describe_keyword_lists(["a", "b"], words, topics, vocabulary, np.array([5, 500, 1, 100, 40_000]))
    assert lines[0] == "keywords of a: Teaching 500 (1.23%, common); teacher 5 (0.01%, rare); pupil 1 (0.00%, rare)"
    with pytest.raises(InputError, match="no word of the topic 'c'"):
        match_keywords({"c": ["teacherx"]}, vocabulary)


def test_planted_topics_are_found_by_their_keywords() -> None:
    corpus = planted()
    model = train(corpus, iterations=200).model
    assert list(model.topic_names) == ["first", "second", "other1", "other2", "other3"]
    for topic in (0, 1):
        distance = np.abs(model.topic_word[topic] - corpus.truth["topic_word"]).sum(axis=1)
        assert distance.argmin() == topic and distance[topic] < 0.6
        assert 0.05 < model.side["keyword_shares"][topic] < 0.2
    assert np.all(model.side["keyword_shares"][2:] == 0)
    theta = infer(model, corpus)
    right = [np.corrcoef(theta[:, k], corpus.truth["document_topic"][:, k])[0, 1] for k in (0, 1)]
    assert min(right) > 0.85


@pytest.mark.parametrize("formula", ["~ 1", "~ party"])
@pytest.mark.parametrize("partitions", [0, 2])
def test_a_resumed_run_ends_in_the_same_bits(tmp_path: Path, formula: str, partitions: int) -> None:
    corpus, place = planted(60), str(tmp_path / "checkpoint")
    whole = train(corpus, {"formula": formula}, threads=3, partitions=partitions)
    own = {"keywords": KEYWORDS, "residual": 3, "formula": formula}
    options = Options(model="keyword", own=own, iterations=60, optimize_interval=10, optimize_burn_in=20,
                      optimize="alpha", start="random", partitions=partitions)  # fmt: skip
    with Threads(1) as engine:
        run, sweeps = Run.start(corpus, options, engine), []
        with pytest.raises(Interrupted):
            run.train([sweeps.append], Checkpoints(place), lambda: len(sweeps) == 33)
        resumed = Run.resume(place, engine).train().result()
    assert np.array_equal(whole.state.z, resumed.state.z)
    assert np.array_equal(whole.state.side["keyed"], resumed.state.side["keyed"])
    assert np.array_equal(whole.model.values, resumed.model.values)
    assert list(resumed.model.topic_names)[:2] == ["first", "second"]
    assert whole.model.side.keys() == resumed.model.side.keys()
    if formula == "~ party":
        assert whole.model.side["coefficients"].shape == (5, 2)


@pytest.mark.parametrize("phi", ["cgs", "cgsp"])
def test_the_model_s_topics_are_both_distributions_together(phi: str) -> None:
    """(1 - π) φ + π φ̃, from counts or from expected counts."""
    result = train(planted(80), phi=phi)
    state, model = result.state, result.model
    counts = adopted_counts(state)
    n0, n1 = counts.rows[:, : state.n_topics].astype(float), np.zeros((state.n_words, state.n_topics))
    n1[counts.entry_words, counts.entry_topics] = counts.counts[:-1]
    if phi == "cgsp":
        soft = KeywordConditionals(state)
        n0, entries = np.zeros_like(n0), np.zeros(len(counts.of))
        soft.counts.conditionals(0, state.n_documents, np.zeros((0, 0)), n0, entries)
        n1[counts.entry_words, counts.entry_topics] = entries[:-1]
    has = np.zeros((state.n_words, state.n_topics))
    has[counts.entry_words, counts.entry_topics] = 1
    share = np.where(has.sum(axis=0) > 0, (n1.sum(axis=0) + 1) / (n0.sum(axis=0) + n1.sum(axis=0) + 2), 0)
    plain = (n0 + state.beta[:, None]) / (n0.sum(axis=0) + state.beta.sum())
    keyed = (n1 + 0.1) * has / np.maximum(n1.sum(axis=0) + 0.1 * has.sum(axis=0), 1e-9)
    wanted = (1 - share) * plain + share * keyed
    assert np.allclose(model.topic_word, wanted.T, rtol=1e-6)
    rows = np.concatenate([rows for _, rows in KeywordConditionals(state).documents()])
    assert np.allclose(rows.sum(axis=1), 1) and rows.shape == (80, 5)


def test_what_does_not_fit_is_refused() -> None:
    corpus = planted(20)
    for own, options, message in (
        ({"keywords": ""}, {}, "--keywords FILE"),
        ({"keywords": {"a": ["nothing"]}}, {}, "no word of the topic 'a'"),
        ({"keywords": 3}, {}, "keywords must be the name of a file"),
        ({}, {"sampler": "sparse"}, "knows no keywords of topics"),
        ({"residual": -1}, {}, "residual"),
    ):
        with pytest.raises(InputError, match=message):
            train(corpus, own, **options)
    with pytest.raises(InputError, match="topics: there are as many"):
        train(corpus, topics=7)
    lda = Run.start(corpus, Options(topics=4, iterations=5), Threads(1)).train().result().state
    with pytest.raises(InputError, match="has no keywords"):
        Run.from_state(lda, Options(topics=4, model="keyword", own={"keywords": KEYWORDS}), Threads(1))


def test_the_command_line(tmp_path: Path) -> None:
    planted(120).save(str(tmp_path / "p.corpus"))
    (tmp_path / "keys.txt").write_text("first: keya, keyb, nowhere\nsecond: keyc keyd*\n")
    told = run_topicx(
        "train", "p.corpus", "--model", "keyword", "--keywords", "keys.txt", "--residual", "3", "--iterations", "60",
        "--keyword-beta", "0.2", "--keyword-share", "1.5", "--regular-share", "2", "--formula", "~ party",
        "-o", "k.model", "--state", "k.state", cwd=tmp_path,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    assert "keywords of first: key" in told.stderr and "no document has: nowhere (first)" in told.stderr
    state = State.load(str(tmp_path / "k.state"))
    assert state.side["keyword_prior"].tolist() == [1.5, 2, 0.2]
    told = run_topicx("topics", "k.model", "-n", "30", cwd=tmp_path)
    assert told.returncode == 0 and "first" in told.stdout and "keya✓" in told.stdout and "π" in told.stdout
    rows = json.loads(run_topicx("topics", "k.model", "-n", "30", "--json", cwd=tmp_path).stdout)
    assert 0 < rows[0]["keyword_share"] < 1 and "keyword_share" not in rows[3]
    assert [word["word"] for word in rows[1]["words"] if word.get("keyword")] != []
    told = run_topicx("topics", "k.model", "--coefficients", cwd=tmp_path)
    assert told.returncode == 0 and "party[T.right]" in told.stdout
    told = run_topicx("estimate", "k.state", "-o", "again.model", "-q", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert np.array_equal(
        Model.load(str(tmp_path / "again.model")).values, Model.load(str(tmp_path / "k.model")).values
    )
    told = run_topicx("search", "p.corpus", "--model", "keyword", "-k", "5,10", cwd=tmp_path)
    assert told.returncode == 2 and "residual" in told.stderr
    told = run_topicx("evaluate", "k.model", "p.corpus", "-m", "keywords", cwd=tmp_path)
    assert told.returncode == 0 and "tokens are of their topic" in told.stdout, told.stderr


def test_how_well_keywords_hold() -> None:
    """Keywords of planted topics are of these; words that are all topics' are not."""
    corpus = planted()
    found = measure_keywords(train(corpus, iterations=150).model, corpus)
    assert found["lost"] == 0 and found["held"] > 0.8 and [row["holds"] for row in found["topics"]] == [True, True]
    assert [one["word"] for row in found["topics"] for one in row["keywords"]] != []
    frequent = [corpus.vocabulary[int(w)] for w in np.argsort(-corpus.word_frequencies)[:3]]
    wrong = train(corpus, {"keywords": {"noise": ["keya", "keyc"], "second": ["keyd*", *frequent]}}, iterations=60)
    told = measure_keywords(wrong.model, corpus)
    assert told["held"] < found["held"] and all(row["tokens"] > 0 for row in told["topics"])
    p = infer(wrong.model, corpus)
    one = int(np.flatnonzero(np.array(list(corpus.vocabulary)) == "keya")[0])
    documents = np.repeat(np.arange(corpus.n_documents), 30)[corpus.words == one]
    weights = p[documents] * wrong.model.topic_word[:, one]
    wanted = (weights[:, 0] / weights.sum(axis=1)).mean()
    keya = next(row for row in told["topics"][0]["keywords"] if row["word"] == "keya")
    assert keya["held"] == pytest.approx(wanted, abs=1e-3)
    with pytest.raises(InputError, match="has no keywords"):
        measure_keywords(LDA(2, iterations=2).fit(planted(10)).model, corpus)


@pytest.mark.parametrize("phi", ["cgs", "cgsp"])
def test_states_of_several_chains_make_one_model(tmp_path: Path, phi: str) -> None:
    """Residual topics of the second state stand in another order; keywords' topics are alike in all."""
    first = train(planted(150)).state
    definition = Keyword(KeywordOptions(keywords=KEYWORDS))  # type: ignore[arg-type]
    order = np.array([0, 1, 4, 2, 3])
    other = definition.reordered(first, order)
    assert np.array_equal(order[other.z], first.z)
    swapped = train(planted(150), {"keywords": dict(reversed(KEYWORDS.items()))}).state
    for state, name in ((first, "a"), (other, "b"), (swapped, "c")):
        state.save(str(tmp_path / f"{name}.state"))
    for call in ("a.state -o one", "a.state b.state --align -o both"):
        told = run_topicx("estimate", *call.split(), "--phi", phi, "-q", cwd=tmp_path)
        assert told.returncode == 0, told.stderr
    one, both = Model.load(str(tmp_path / "one")), Model.load(str(tmp_path / "both"))
    assert np.allclose(one.topic_word, both.topic_word, atol=1e-6) and list(one.topic_names) == list(both.topic_names)
    assert np.allclose(one.side["keyword_shares"], both.side["keyword_shares"])
    told = run_topicx("estimate", "a.state", "c.state", "--align", "-o", "x", "-q", cwd=tmp_path)
    assert told.returncode == 2 and "the same keywords in the same topics" in told.stderr
    with pytest.raises(InputError, match="join their lines"):
        edit_topics(one, [[0, 1]])


def test_the_class() -> None:
    corpus = planted(100)
    model = topicx.KeywordLDA(KEYWORDS, residual=3, iterations=60, threads=2).fit(corpus)
    same = train(corpus)
    assert np.array_equal(model.model.values, same.model.values) and model.keyword_shares.shape == (5,)
    assert model.keyword_shares[:2].min() > 0 and not model.keyword_shares[2:].any()
    assert model.keywords_held(corpus) == measure_keywords(model.model, corpus)
    assert model.get_params()["residual"] == 3 and "topics" not in model.get_params()
    for wrong, message in (({"topics": 9}, "there are as many as have keywords"), ({"keys": 3}, "no option 'keys'")):
        with pytest.raises(InputError, match=message):
            topicx.KeywordLDA(KEYWORDS, **wrong)
