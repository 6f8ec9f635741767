"""Topics whose words differ by slice as models: trained, resumed, finished, used, shown."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topicx
from tests.conftest import run_topicx
from tests.sampling.test_sliced_topics import drifting, larger, make_method
from tests.twins import slices as twin
from topicx.corpus.corpus import Corpus
from topicx.corpus.slices import times_of
from topicx.corpus.table import Texts, Times
from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.estimate.topic_edits import edit_topics, follow_model_edits
from topicx.evaluate import completion
from topicx.evaluate.completion_groups import completion_by_group, groups_of_model
from topicx.model import Model
from topicx.models.slice_cuts import SliceCuts, cut_corpus
from topicx.models.slices import SliceConditionals, SlicedDefinition, SlicesOptions
from topicx.predict.inference import infer
from topicx.run import Result, Run
from topicx.sampling.run_options import Options
from topicx.sampling.samplers.sliced_topics import SlicedTopics
from topicx.sampling.sweep_loop import Checkpoints, Interrupted
from topicx.state import State
from topicx.strings import Strings
from topicx.views import describe_slices, describe_word, plot_slices, slice_rows, slices_of_model

TOPICS, WORDS, YEARS, TURN = 3, 60, 10, 6


def truth() -> np.ndarray:
    """φ of each year, topics × words: in the first topic, words 0 to 4 give way to words 5 to 9 in the year TURN."""
    phi = np.zeros((YEARS, TOPICS, WORDS))
    random = np.random.default_rng(0)
    base = random.dirichlet(np.full(WORDS - 10, 0.2), TOPICS)
    for year in range(YEARS):
        phi[year, :, 10:] = base
        phi[year, 0, 10:] *= 0.5
        phi[year, 0, 5:10] = 0.1 * (year >= TURN)
        phi[year, 0, 0:5] = 0.1 * (year < TURN)
    return phi


def planted(documents: int = 600, length: int = 40, seed: int = 1) -> Corpus:
    """Documents of ten years and two parties, shuffled."""
    random, phi = np.random.default_rng(seed), truth()
    years = random.integers(0, YEARS, documents)
    words = []
    for year, row in zip(years, random.dirichlet(np.full(TOPICS, 0.3), documents), strict=True):
        words += [int(random.choice(WORDS, p=phi[year, k])) for k in random.choice(TOPICS, length, p=row)]
    parties = np.where(years >= TURN, "left", "right")
    parties[:20] = ""
    return Corpus(
        np.array(words, np.uint32), np.arange(documents + 1, dtype=np.int64) * length,
        Strings.of([f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(WORDS)]),
        ids=Strings.of([f"d{i}" for i in range(documents)]), columns={"party": Strings.of(parties.tolist())},
        time=2000.0 + years,
    )  # fmt: skip


def train(
    corpus: Corpus, own: dict[str, Any] | None = None, threads: int = 1, phi: str = "auto", **o: Any
) -> Result:  # fmt: skip
    given = {"topics": TOPICS, "iterations": 60, "alpha": 0.3, "start": "soft", "seed": 2} | o
    options = Options(model="slices", own=own or {"over": "time", "moves_burn_in": 20}, **given)
    with Threads(threads) as engine:
        return Run.start(corpus, options, engine).train().result(phi=phi)


@cache
def trained() -> Result:
    return train(planted(), iterations=200)


def test_a_planted_drift_is_found() -> None:
    """Which words gave way to which, and when; and that the other topics stayed."""
    model, phi = trained().model, truth()
    found = slices_of_model(model)
    assert found.names == [str(2000 + year) for year in range(YEARS)] and found.drift
    learnt = found.words_of_topics()
    mine = [int(np.abs(learnt - phi[:, [k]]).sum(axis=2).mean(axis=0).argmin()) for k in range(TOPICS)]
    assert sorted(mine) == [0, 1, 2]
    assert np.abs(learnt[:, mine] - phi).sum(axis=2).mean() < 0.25
    row = describe_slices(model, 10, [mine[0]])[0]
    early, late = {f"wa{chr(97 + i)}" for i in range(5)}, {f"wa{chr(97 + i)}" for i in range(5, 10)}
    assert set(row["rose"][:5]) == late and set(row["fell"][:5]) == early
    assert set(row["slices"][TURN]["new"]) >= late - set(row["words"][:0]) and set(row["slices"][TURN]["gone"]) >= early
    mean, low, high = found.intervals()
    assert int(mean[0, :, mine[0]].argmax()) == TURN and mean[0, TURN, mine[0]] > 0.25
    assert low[0, TURN, mine[0]] > high[0, np.arange(YEARS) != TURN][:, mine[0]].max()
    assert np.all(low <= mean + 1e-7) and np.all(mean <= high + 1e-7)
    assert mean[1, -1, mine[0]] > 0.4 and mean[1, -1, mine[1]] < 0.3


def test_held_out_words_are_more_probable_than_under_lda() -> None:
    corpus, test = planted(), planted(seed=9)
    lda = topicx.LDA(TOPICS, iterations=200, alpha=0.3, seed=2).fit(corpus).model
    ours = completion.completion(trained().model, None, test).perplexity
    assert ours < 0.97 * completion.completion(lda, None, test).perplexity


@pytest.mark.parametrize("own", [{"over": "time", "moves_burn_in": 5}, {"across": "party", "closeness_by_topic": True}])
def test_a_resumed_run_ends_in_the_same_bits(tmp_path: Path, own: dict[str, Any]) -> None:
    corpus, place = planted(150), str(tmp_path / "checkpoint")
    learn = {"optimize_interval": 10, "optimize_burn_in": 5, "optimize": "alpha+beta", "partitions": 2, "samples": 2}
    whole = train(corpus, own, threads=3, iterations=40, **learn)
    options = Options(model="slices", own=own, topics=TOPICS, iterations=40, alpha=0.3, start="soft", seed=2, **learn)
    with Threads(1) as engine:
        run, sweeps = Run.start(corpus, options, engine), []
        with pytest.raises(Interrupted):
            run.train([sweeps.append], Checkpoints(place), lambda: len(sweeps) == 47)
        resumed = Run.resume(place, engine).train().result()
    assert np.array_equal(whole.state.z, resumed.state.z)
    assert whole.state.side.keys() == resumed.state.side.keys() and whole.model.side.keys() == resumed.model.side.keys()
    for side, other in ((whole.state.side, resumed.state.side), (whole.model.side, resumed.model.side)):
        assert all(np.array_equal(side[name], other[name]) for name in side)
    assert np.array_equal(whole.model.values, resumed.model.values)
    b = whole.model.side["closeness"]
    assert (len(set(b.tolist())) == TOPICS) == ("across" in own)


def test_several_chains_and_files(tmp_path: Path) -> None:
    result = train(planted(60), iterations=10)
    result.model.save(str(tmp_path / "s.model"))
    result.state.save(str(tmp_path / "s.state"))
    model, state = Model.load(str(tmp_path / "s.model")), State.load(str(tmp_path / "s.state"))
    assert model == result.model and state == result.state
    slices = slices_of_model(model)
    assert np.allclose(slices.tokens.sum(axis=1), np.bincount(state.side["slice_of"], state.lengths))
    again = Run.from_state(
        state, Options(topics=TOPICS, iterations=3, model="slices", own={"over": "time"}), Threads(1)
    )
    assert again.train().result().model.side["slice_tokens"].sum() == state.n_tokens
    other = Options(topics=TOPICS, model="slices", own={"across": "party"})
    with pytest.raises(InputError, match="slices of its own: begin with --over time"):
        Run.from_state(state, other, Threads(1))
    state.side["slice_of"] = state.side["slice_of"] + 5
    with pytest.raises(InputError, match="slices that it does not name"):
        SlicedDefinition(SlicesOptions(over="time")).verify_state(state)


@pytest.mark.parametrize("drift", [True, False])
def test_conditionals_are_those_of_the_formula(drift: bool) -> None:
    """p(z | all others), with the expected words of the slice that a token's comes from."""
    state = larger(12, 5, drift=drift)
    method = make_method(state)
    method.start(random=True)
    method.sweep(0)
    state = method.sync()
    parents = method.parents.tolist()
    shape = (5, state.n_words, 5)
    of = np.repeat(state.side["slice_of"].astype(np.int64), state.lengths)
    z = state.z.astype(np.int64)
    n = twin.counts_of(state.words.astype(np.int64), of, z, shape)
    tables = np.zeros(shape, np.int64)
    bounds = state.side["table_offsets"]
    for s in range(5):
        here = slice(bounds[s], bounds[s + 1])
        tables[s, state.side["table_words"][here], state.side["table_topics"][here]] = state.side["table_counts"][here]
    b = state.side["closeness"]
    phi, customers = twin.expected(n, tables, parents, state.beta, b), twin.customers(n, tables, parents)
    wanted = np.zeros((state.n_documents, 5))
    for d in range(state.n_documents):
        own = np.bincount(z[state.offsets[d] : state.offsets[d + 1]], minlength=5)
        for t in range(state.offsets[d], state.offsets[d + 1]):
            s, w = of[t], state.words[t]
            prior = state.beta[w] + np.zeros(5) if parents[s] < 0 else b * phi[parents[s], w]
            total = state.beta.sum() + np.zeros(5) if parents[s] < 0 else b
            less = np.arange(5) == z[t]
            p = (own - less + state.alpha[0]) * (prior + customers[s, w] - less)
            p /= total + customers[s].sum(axis=0) - less
            wanted[d] += p / p.sum()
    wanted += state.alpha[0]
    found = np.concatenate([rows for _, rows in SliceConditionals(state).documents()])
    assert np.allclose(found, wanted / wanted.sum(axis=1, keepdims=True), rtol=1e-5)
    words = SliceConditionals(state).words()
    assert np.isclose(words.values.sum(), state.n_tokens)


def test_what_a_document_means_depends_on_its_slice() -> None:
    model = trained().model
    reader, found = SlicedDefinition(SlicesOptions(over="time")).reader(model), slices_of_model(model)
    learnt = found.words_of_topics()
    assert np.allclose(learnt.sum(axis=2), 1, atol=1e-4)
    pairs = np.array([3 * WORDS + 7, 8 * WORDS + 7, YEARS * WORDS + 7], np.int64)
    rows, logs = reader.topics.rows_of(pairs)
    wanted = np.array([learnt[3, :, 7], learnt[8, :, 7], model.topic_word[:, 7]])
    assert np.allclose(rows[:, :TOPICS] * np.exp(logs)[:, None], wanted, rtol=1e-4)
    reader.topics.memory = 0  # rows of the words in hand alone
    reader.topics._all = None
    assert not reader.topics.fits
    words = np.arange(5, 10).repeat(8).astype(np.uint32)
    documents = Corpus(np.tile(words, 5), np.arange(6, dtype=np.int64) * 40, model.vocabulary,
                       time=np.array([2003.0, 2008.0, 1950.0, 2050.0, np.nan]))  # fmt: skip
    theta = infer(model, documents)
    k = int(learnt[8, :, 5:10].sum(axis=1).argmax())
    assert theta[1, k] > 0.85 and theta[3, k] > 0.85
    assert list(model.infer(documents).predicted["slice"]) == ["2003", "2008", "2000", "2009", ""]
    found_log = completion.completion(model, None, documents)
    assert found_log.documents[1] > found_log.documents[0] + 5


def test_cuts() -> None:
    corpus = planted(50)
    cuts, of = cut_corpus(corpus, "time", "", None, 5)
    assert cuts.names == ["2000-2004", "2005-2009"] and cuts.begins == [2000, 2005, 2010] and set(of) == {0, 1}
    assert SliceCuts.of_meta({"slices": json.loads(json.dumps(cuts.to_meta()))}) == cuts
    new, strange = cuts.of_documents(Times(np.array([1999.0, 2004.9, 2009, 2010, np.nan]), False), 5)
    assert new.tolist() == [0, 0, 1, 1, -1] and strange.tolist() == [True, False, False, True, True]
    cuts, of = cut_corpus(corpus, "", "party", None, None)
    assert cuts.names == ["(common)", "left", "right", "(none)"] and np.bincount(of).tolist()[0] == 0
    new, strange = cuts.of_documents(Texts(Strings.of(["left", "green", ""])), 3)
    assert new.tolist() == [1, 0, 3] and strange.tolist() == [False, True, False]
    assert cuts.of_documents(None, 2)[0].tolist() == [-1, -1]
    days = Times(np.array([0.0, 3000.0, 9000.0]), True)
    dated = Corpus(np.zeros(3, np.uint32), np.arange(4, dtype=np.int64), Strings.of(["a"]), time=days.values,
                   meta={"time": "date"})  # fmt: skip
    if isinstance(dated.table["time"], Times) and dated.table["time"].dates:
        cuts, _ = cut_corpus(dated, "time", "", "decade", None)
        assert cuts.names == ["1970-1979", "1980-1989", "1990-1999"] and cuts.begins[-1] == 10957
    with pytest.raises(InputError, match="no cuts of a column"):
        SliceCuts.of_meta({"slices": {"column": 3}})


def test_what_does_not_fit_is_refused() -> None:
    corpus = planted(20)
    for own, options, message in (
        ({}, {}, "say what makes the slices"),
        ({"over": "time", "across": "party"}, {}, "say what makes the slices"),
        ({"across": "party", "bins": "year"}, {}, "bins and every are for --over"),
        ({"over": "date"}, {}, "carry nothing of this name; they carry"),
        ({"over": "party"}, {}, "--over party: no document has a time there"),
        ({"over": "time", "bins": "fortnight"}, {}, "bins must be one of day, week"),
        ({"over": "time", "closeness": 0}, {}, "closeness"),
        ({"over": "time"}, {"sampler": "sparse"}, "gives topics the same words everywhere"),
        ({"over": "time"}, {"paths": 2}, "one assignment of the corpus"),
    ):
        with pytest.raises(InputError, match=message):
            train(corpus, own or {"bins": ""}, **options)
    gap = planted(20)
    gap.time[3] = np.nan
    with pytest.raises(InputError, match="1 documents have no time there, the first is 'd3'"):
        train(gap)
    lda = topicx.LDA(TOPICS, iterations=3).fit(corpus)
    with pytest.raises(InputError, match="has no slices"):
        Run.from_state(lda.state, Options(topics=TOPICS, model="slices", own={"over": "time"}), Threads(1))
    with pytest.raises(InputError, match="the same words everywhere"):
        slices_of_model(lda.model)
    with pytest.raises(InputError, match="completion is for such models"):
        topicx.evaluate.left_to_right.left_to_right(trained().model, None, corpus)


def test_the_class() -> None:
    corpus = planted(100)
    model = topicx.SlicedLDA(TOPICS, across="party", iterations=20, closeness=50, fixed_closeness=True, seed=2)
    assert model.get_params()["closeness"] == 50 if hasattr(model, "get_params") else True
    model.fit(corpus)
    assert model.closeness.tolist() == [50] * TOPICS
    assert model.slices.names == ["(common)", "left", "right", "(none)"]
    assert np.allclose(model.slices.topic_word(1).sum(axis=1), 1) and model.slices.topic_word(1).shape == (
        TOPICS,
        WORDS,
    )
    common = model.slices.topic_word(0)
    differ = np.abs(model.slices.topic_word(1) - common).sum(axis=1)
    assert differ.max() > 0.1
    with pytest.raises(InputError, match="no option 'close'"):
        topicx.SlicedLDA(close=3)


def test_the_command_line(tmp_path: Path) -> None:
    planted(200).save(str(tmp_path / "p.corpus"))
    told = run_topicx(
        "train", "p.corpus", "--model", "slices", "--over", "time", "--every", "2", "-k", "3", "--iterations", "40",
        "--closeness", "300", "--closeness-shape", "2", "--closeness-rate", "0.01", "--moves-burn-in", "10",
        "--closeness-by-topic", "-o", "s.model", cwd=tmp_path,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    assert "5 slices over time, 2000-2001 to 2008-2009" in told.stderr
    both = "--over", "time", "--across", "party", "--fixed-closeness"
    told = run_topicx("train", "p.corpus", "--model", "slices", *both, "-o", "t.model", cwd=tmp_path)
    assert told.returncode == 2 and "say what makes the slices" in told.stderr
    told = run_topicx("topics", "s.model", "--over", "-n", "6", "--plot", "s.svg", "--table", "s.tsv", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert "2006-2007" in told.stdout and "rose: " in told.stdout and "+w" in told.stdout and "  - w" in told.stdout
    assert (tmp_path / "s.svg").read_text().count("<svg") == 1
    table = (tmp_path / "s.tsv").read_text().splitlines()
    assert (
        table[0].split("\t")[:5] == ["topic", "slice", "tokens", "moved", "moved_low"] and len(table) == 1 + 3 * 5 * 6
    )
    rows = json.loads(run_topicx("topics", "s.model", "--over", "-t", "1", "--json", cwd=tmp_path).stdout)
    assert len(rows) == 1 and 0 < rows[0]["slices"][2]["moved"]["mean"] < 1 and rows[0]["slices"][0]["moved"] is None
    told = run_topicx("topics", "s.model", "--word", "waa", "--word", "waf", cwd=tmp_path)
    assert told.returncode == 0 and "waf: of 10,000 words" in told.stdout
    told = run_topicx("topics", "s.model", "--word", "wzz", cwd=tmp_path)
    assert told.returncode == 2 and "'wzz' is not a word of the model" in told.stderr
    told = run_topicx("infer", "s.model", "p.corpus", "-o", "t.jsonl", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert json.loads((tmp_path / "t.jsonl").read_text().splitlines()[0])["slice"].startswith("200")
    told = run_topicx("evaluate", "s.model", "p.corpus", cwd=tmp_path)
    assert told.returncode == 0, told.stderr


def test_tables_of_slices(tmp_path: Path) -> None:
    model = trained().model
    rows = slice_rows(model, 4, [1])
    assert len(rows) == 4 * YEARS and rows[0]["rank"] == 1 and rows[0]["moved"] is None and rows[-1]["moved_low"] >= 0
    word = describe_word(model, "waa")
    assert len(word) == YEARS and word[0]["rate"] > 5 * word[-1]["rate"]
    assert sum(one["share"] for one in word[0]["topics"]) == pytest.approx(1, abs=1e-4)
    plot_slices(model, str(tmp_path / "s.png"))
    assert (tmp_path / "s.png").stat().st_size > 10_000


def test_memory_grows_with_slices() -> None:
    state = drifting()
    more = larger(60, 21)
    options = Options(topics=2)
    kind = type(make_method(state))
    assert kind.memory(more, options) > kind.memory(state, options) > 0


def test_states_of_several_chains_make_one_model(tmp_path: Path) -> None:
    """Topics of the second state in another order give what they give in the first one's, slice by slice."""
    first = trained().state
    order = np.array([2, 0, 1])
    definition = SlicedDefinition(SlicesOptions(over="time"))
    other = definition.reordered(first, order)
    back = definition.reordered(other, np.argsort(order))
    assert np.array_equal(order[other.z], first.z) and np.array_equal(back.z, first.z)
    for name in ("table_offsets", "table_words", "table_topics", "table_counts", "closeness", "moves"):
        assert np.array_equal(back.side[name], first.side[name]), name
    other.digest = ""
    first.save(str(tmp_path / "a.state"))
    other.save(str(tmp_path / "b.state"))
    for states, name in ((("a",), "one"), (("a", "b"), "both")):
        files = [f"{one}.state" for one in states]
        told = run_topicx("estimate", *files, *["--align"][: len(files) - 1], "-o", name, "-q", cwd=tmp_path)
        assert told.returncode == 0, told.stderr
    one, both = Model.load(str(tmp_path / "one")), Model.load(str(tmp_path / "both"))
    assert np.allclose(slices_of_model(one).words_of_topics(), slices_of_model(both).words_of_topics(), atol=1e-6)
    assert np.allclose(one.side["slice_tokens"], both.side["slice_tokens"])
    moves = slices_of_model(both).moves
    assert len(moves) == 2 * len(slices_of_model(one).moves)
    assert np.array_equal(moves[: len(moves) // 2], moves[len(moves) // 2 :])


def test_tables_by_slice_follow_where_topics_are_merged() -> None:
    found = trained()
    model, state = found.model, found.state
    before, merged = slices_of_model(model), edit_topics(model, [[0, 2]])
    known = slices_of_model(merged)
    assert np.allclose(known.tokens[:, 0], before.tokens[:, [0, 2]].sum(axis=1)) and not known.tokens[:, 2].any()
    assert np.allclose(known.tokens[:, 1], before.tokens[:, 1])
    words, own = known.words_of_topics(), before.words_of_topics()
    assert np.allclose(words[:, 1], own[:, 1], atol=1e-6) and np.allclose(words.sum(axis=2), 1, atol=1e-4)
    share = before.tokens[:, 0] / before.tokens[:, [0, 2]].sum(axis=1)
    mean = share[:, None] * own[:, 0] + (1 - share[:, None]) * own[:, 2]
    assert np.abs(words[:, 0] - mean).sum(axis=1).max() < 0.1  # slices of few tokens lean on those before
    assert not len(known.moves) and describe_slices(merged, 5)[0]["slices"][0]["tokens"] > 0
    followed = follow_model_edits(state, merged)
    assert set(np.unique(followed.z)) == {0, 1}
    definition = SlicedDefinition(SlicesOptions(over="time"))
    definition.verify_state(followed)
    method = SlicedTopics(followed, Options(topics=TOPICS, model="slices", sampler="dense"), Threads(1))
    method.start(random=True)
    method.verify()
    again = Run.from_state(
        followed, Options(topics=TOPICS, model="slices", iterations=0, own={"over": "time"}), Threads(1)
    )
    made = slices_of_model(again.train().result(phi="cgs").model)
    assert np.allclose(made.tokens, known.tokens)


def test_perplexity_by_slice(tmp_path: Path) -> None:
    corpus = planted(200, seed=4)
    model, rows = trained().model, {}
    found = completion.completion(model, None, corpus)
    for row in completion_by_group(found, groups_of_model(model, corpus)):
        rows[row["group"]] = row
    assert list(rows) == slices_of_model(model).names and sum(row["documents"] for row in rows.values()) == 200
    for name, row in rows.items():
        part = corpus.select(np.flatnonzero(times_of(corpus.table["time"], "time").values == float(name)))
        alone = completion.completion(model, None, part)
        assert row["tokens"] == alone.tokens and row["perplexity"] == pytest.approx(alone.perplexity, rel=0.05)
    total = sum(row["log_likelihood"] for row in rows.values())
    assert total == pytest.approx(found.log_likelihood)
    corpus.save(str(tmp_path / "c"))
    model.save(str(tmp_path / "m"))
    told = run_topicx("evaluate", "m", "c", "-q", cwd=tmp_path)
    assert told.returncode == 0 and "  2009  perplexity" in told.stdout, told.stderr
    told = run_topicx("evaluate", "m", "c", "-q", "--by", "party", "--json", cwd=tmp_path)
    groups = json.loads(told.stdout)["completion"]["groups"]
    assert [row["group"] for row in groups] == ["left", "right", "(none)"] and groups[2]["documents"] == 20
    for call, message in (
        ("--by color", "no such column; they have"), ("--bins year", "--bins: is for --by"),
        ("--by time -m chib", "--by"),
    ):  # fmt: skip
        told = run_topicx("evaluate", "m", "c", "-q", *call.split(), cwd=tmp_path)
        assert told.returncode == 2 and message in told.stderr, told.stderr
