"""Evaluation: estimators of likelihoods against exact enumeration, coherence against counting (and gensim), diagnostics
against MALLET's own file."""

from __future__ import annotations

import gzip
import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import foreign
from tests.conftest import Run, lda_corpus
from tests.predict.test_inference import TINY, make_model, many
from tests.twins import infer as twin
from topicx._kernels.infer import infer as kernel
from topicx.corpus.corpus import Corpus
from topicx.errors import InputError
from topicx.estimate import estimate
from topicx.evaluate.chib import chib
from topicx.evaluate.coherence import MEASURES, WindowCounts, coherence
from topicx.evaluate.completion import completion, completion_perplexity
from topicx.evaluate.diagnostics import MALLET, infer_state, similar_topic_pairs, topic_diagnostics
from topicx.evaluate.left_to_right import left_to_right
from topicx.evaluate.model_likelihood import joint_log_likelihood, training_likelihood
from topicx.model import Model
from topicx.predict.inference import infer
from topicx.state import NONE, Seeds, State
from topicx.strings import Strings

# -- likelihoods against enumeration -----------------------------------------------------------------------------------


@pytest.mark.parametrize("resample", [True, False])
@pytest.mark.parametrize("case", range(len(TINY)))
def test_left_to_right_is_unbiased(case: int, resample: bool) -> None:
    """The mean of exp(sequential) over 40,000 particles is p(w) within 4.5 standard errors (fixed seeds)."""
    words, phi, alpha = TINY[case]
    _, _, exact = twin.posterior(words, np.array(phi), np.array(alpha))
    times = 400
    tokens, offsets, keys, rows, alphas, groups, logs = many(words, phi, alpha, times)
    averaged, single = np.zeros(times), np.zeros((times, 100))
    kernel.left_to_right(tokens, offsets, keys, rows, alphas, groups, 100, resample, averaged, single)
    divisor = logs[words].sum()
    values = np.exp(single.ravel() + divisor)
    assert abs(values.mean() - exact) < 4.5 * values.std() / math.sqrt(values.size)
    if resample:  # Wallach's form has a bias; it shows where topics hardly mix (small α, sharp topics)
        bias = np.exp(averaged + divisor).mean() / exact - 1
        assert bias > 0.1 if case == 1 else abs(bias) < 0.03


@pytest.mark.parametrize("case", range(len(TINY)))
def test_chib_is_unbiased(case: int) -> None:
    """The mean of 20,000 estimates of p(w) is p(w) within 4.5 standard errors, and a long chain comes close alone."""
    words, phi, alpha = TINY[case]
    _, _, exact = twin.posterior(words, np.array(phi), np.array(alpha))
    tokens, offsets, keys, rows, alphas, groups, logs = many(words, phi, alpha, 20_000)
    values = np.zeros(20_000)
    kernel.chib_likelihoods(tokens, offsets, keys, rows, alphas, groups, 3, 4, values)
    found = np.exp(values + logs[words].sum())
    assert abs(found.mean() - exact) < 4.5 * found.std() / math.sqrt(len(found))
    kernel.chib_likelihoods(
        tokens[: len(words)], offsets[:2], keys[:1], rows, alphas, groups[:1], 20, 50_000, values[:1]
    )
    assert abs(values[0] + logs[words].sum() - math.log(exact)) < 0.02


def test_the_estimators_agree_on_a_corpus() -> None:
    corpus, model = lda_corpus(documents=30, length=15), make_model(topics=4)
    a = left_to_right(model, None, corpus, particles=200)
    b = chib(model, None, corpus, samples=2000)
    assert a.tokens == b.tokens == corpus.n_tokens
    np.testing.assert_allclose(a.documents, b.documents, atol=1)
    assert abs(a.per_token - b.per_token) < 0.01
    assert abs(a.further["wallach"].sum() / a.tokens - a.per_token) < 0.01
    for threads in (2, 3):
        assert np.array_equal(left_to_right(model, None, corpus, particles=200, threads=threads).documents, a.documents)
        assert np.array_equal(chib(model, None, corpus, samples=2000, threads=threads).documents, b.documents)
    assert a.documents[7] == 0 and b.documents[7] == 0  # an empty document


def test_completion_of_one_topic_and_of_uniform_topics() -> None:
    corpus = lda_corpus()
    p = np.random.default_rng(0).dirichlet(np.ones(60))
    result = completion(p[None], [0.3], corpus)
    position = np.arange(corpus.n_tokens) - np.repeat(corpus.offsets[:-1], corpus.lengths)
    held = position >= np.repeat(corpus.lengths // 2, corpus.lengths)
    assert result.tokens == held.sum()
    np.testing.assert_allclose(result.log_likelihood, np.log(p[corpus.words[held]]).sum(), rtol=1e-6)
    assert completion_perplexity(np.full((7, 60), 1 / 60), np.ones(7), corpus) == pytest.approx(60, rel=1e-6)


def test_completion_is_the_posterior_predictive() -> None:
    """θ of "first half, then score" is the posterior mean: against enumeration, for a document of five words."""
    words, phi, alpha = [2, 0, 1, 1, 0], np.array(TINY[1][1]), np.array(TINY[1][2])
    exact, states, _ = twin.posterior(words[:2], phi, alpha)
    counts = np.array([np.bincount(state, minlength=2) for state in states])
    theta = exact @ (counts + alpha) / (2 + alpha.sum())
    expected = np.log(theta @ phi[:, words[2:]]).sum()
    corpus = Corpus(np.array(words, np.uint32), np.array([0, 5]), Strings.of("abc"))
    found = completion(phi, alpha, corpus, samples=20_000, lag=1)
    assert found.log_likelihood == pytest.approx(expected, abs=0.01)


def test_completion_does_not_depend_on_threads_order_or_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus, model = lda_corpus(documents=150), make_model()
    for share in ("half", 0.3):
        whole = completion(model, None, corpus, share=share)
        order = np.random.default_rng(2).permutation(150)
        again = completion(model, None, corpus.select(order), share=share, threads=3)
        assert np.array_equal(again.documents, whole.documents[order])
        with monkeypatch.context() as patch:
            patch.setattr("topicx.predict.predictor.BATCH_DOCUMENTS", 7)
            assert np.array_equal(completion(model, None, corpus, share=share).documents, whole.documents)
        scored = corpus.lengths - (corpus.lengths // 2 if share == "half" else np.floor(corpus.lengths * 0.3 + 0.5))
        assert np.array_equal(whole.scored, scored)
    with pytest.raises(InputError, match="share"):
        completion(model, None, corpus, share=1.5)
    with pytest.raises(InputError, match="59 words"):
        completion(np.ones((2, 59)), [1, 1], corpus)
    with pytest.raises(InputError, match="probability 0"):
        completion(np.eye(2, 60), [1, 1], corpus)
    with pytest.raises(InputError, match="alpha"):
        completion(np.full((2, 60), 1 / 60), [1, 1, 1], corpus)


def urn(state: State) -> float:
    """log p(w, z) token by token: a document's urn of topics, a topic's urn of words."""
    prior = np.tile(state.beta, (state.n_topics, 1))
    for word, topic, count in zip(state.seeds.words, state.seeds.topics, state.seeds.counts):
        prior[topic, word] += count
    words, total, tokens = np.zeros_like(prior), 0.0, 0
    for d in range(state.n_documents):
        alpha = state.alpha[state.groups[d] if len(state.groups) else 0]
        topics = np.zeros(state.n_topics)
        for i in range(state.offsets[d], state.offsets[d + 1]):
            k, w = state.z[i], state.words[i]
            if k == NONE:
                continue
            total += math.log((topics[k] + alpha[k]) / (topics.sum() + alpha.sum()))
            total += math.log((words[k, w] + prior[k, w]) / (words[k].sum() + prior[k].sum()))
            topics[k] += 1
            words[k, w] += 1
            tokens += 1
    return total / tokens


@pytest.mark.parametrize("case", range(8))
def test_the_joint_likelihood_is_the_urns(case: int) -> None:
    rng = np.random.default_rng(case)
    lengths = rng.integers(0, 8, 9)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    z = rng.integers(0, 4, offsets[-1]).astype(np.uint16)
    if case & 1:
        z[rng.random(len(z)) < 0.2] = NONE
    state = State(
        rng.integers(0, 9, len(z)).astype(np.uint32), offsets, z,
        rng.random((3, 4)) + 0.1 if case & 2 else np.full((1, 4), 0.3),
        rng.random(9) + 0.01 if case & 4 else np.full(9, 0.1),
        Strings.of("abcdefghi"), Strings.of(map(str, range(9))),
        groups=rng.integers(0, 3, 9).astype(np.uint32) if case & 2 else np.zeros(0, np.uint32),
        seeds=Seeds.of([(0, 1, 3), (5, 2, 1), (0, 2, 2)]) if case % 3 else Seeds(),
    )  # fmt: skip
    assert joint_log_likelihood(state) == pytest.approx(urn(state), rel=1e-12)


def test_the_training_likelihood() -> None:
    corpus, model = lda_corpus(), make_model()
    theta = infer(model, corpus).astype(float)
    documents = np.repeat(np.arange(corpus.n_documents), corpus.lengths)
    expected = np.log((theta[documents] * model.topic_word.T[corpus.words]).sum(axis=1)).sum()
    found = training_likelihood(model, corpus)
    assert found.log_likelihood == pytest.approx(expected, rel=1e-6)
    assert found.tokens == corpus.n_tokens
    state = infer_state(model, corpus)
    counts = np.zeros((corpus.n_documents, 5))
    np.add.at(counts, (documents, state.z), 1)
    theta = (counts + model.alpha[0]) / (corpus.lengths[:, None] + model.alpha.sum())
    expected = np.log((theta[documents] * model.topic_word.T[corpus.words]).sum(axis=1)).sum()
    assert training_likelihood(model, state, theta="cgs").log_likelihood == pytest.approx(expected, rel=1e-6)


# -- coherence -----------------------------------------------------------------------------------------------------


def texts_and_topics() -> tuple[list[list[str]], list[list[str]], Corpus]:
    rng = np.random.default_rng(3)
    names = [f"w{i:02d}" for i in range(30)]
    texts = []
    for t in range(120):
        low, high = (0, 40) if t % 9 else (130, 200)
        texts.append([names[i] for i in np.minimum(rng.geometric(0.12, rng.integers(low, high)) - 1, 29)])
    topics = [[names[i] for i in rng.choice(22, 6, replace=False)] for _ in range(7)]
    place = {name: i for i, name in enumerate(names)}
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts])])
    words = np.array([place[word] for text in texts for word in text], np.uint32)
    return texts, topics, Corpus(words, offsets, Strings.of(names))


@pytest.mark.parametrize("size", [1, 2, 10, 50, 0])
def test_windows_are_counted_exactly(size: int) -> None:
    texts, topics, corpus = texts_and_topics()
    found = WindowCounts(topics, corpus, size)
    total, together = 0, {}
    for text in texts:
        if not text:
            continue
        span = size if 0 < size < len(text) else len(text)
        for start in range(len(text) - span + 1):
            total += 1
            window = set(text[start : start + span])
            for a in window:
                for b in window:
                    together[a, b] = together.get((a, b), 0) + 1
    assert found.windows == total
    for words in topics:
        assert found.matrix(words).tolist() == [[together.get((a, b), 0) for b in words] for a in words]


def test_the_measures_by_their_formulas() -> None:
    corpus = Corpus.from_documents([list("abc"), list("abd"), list("ae"), list("ffff")])
    topics = [["a", "b", "c"]]
    assert coherence(topics, corpus, "umass").mean == pytest.approx(math.log(3 / 3) + math.log(2 / 3) + math.log(2 / 2))
    pmi = [math.log(2 / 4 / (3 / 4 * 2 / 4)), math.log(1 / 4 / (3 / 4 / 4)), math.log(1 / 4 / (2 / 4 / 4))]
    assert coherence(topics, corpus, "uci").mean == pytest.approx(np.mean(pmi))
    npmi = [pmi[0] / math.log(2), pmi[1] / math.log(4), pmi[2] / math.log(4)]
    assert coherence(topics, corpus, "npmi").mean == pytest.approx(np.mean(npmi))
    vectors = np.array([[1, npmi[0], npmi[1]], [npmi[0], 1, npmi[2]], [npmi[1], npmi[2], 1]])
    whole = vectors.sum(axis=0)
    cosines = vectors @ whole / np.linalg.norm(vectors, axis=1) / np.linalg.norm(whole)
    assert coherence(topics, corpus, "cv").mean == pytest.approx(cosines.mean())
    # A word that the reference does not have; and a topic of such words alone.
    partly = coherence([["a", "b", "zzz"], ["yyy", "zzz"]], corpus, "uci")
    assert partly.topics[0] == pytest.approx(pmi[0])
    assert math.isnan(partly.topics[1]) and partly.missing == ["zzz", "yyy"]
    with pytest.raises(InputError, match="no word in common"):
        coherence([["yyy", "zzz"]], corpus)
    with pytest.raises(InputError, match="measure"):
        coherence(topics, corpus, "c_w2v")


@pytest.mark.parametrize("window", [None, 3, 5])
@pytest.mark.parametrize(("ours", "theirs"), list(zip(MEASURES, ("u_mass", "c_uci", "c_npmi", "c_v"))))
def test_coherence_agrees_with_gensim(ours: str, theirs: str, window: int | None) -> None:
    pytest.importorskip("gensim", reason="gensim is not installed")
    from gensim.corpora import Dictionary
    from gensim.models import CoherenceModel

    if ours == "umass" and window is not None:
        pytest.skip("u_mass has no window")
    texts, topics, corpus = texts_and_topics()
    dictionary = Dictionary(texts)
    expected = CoherenceModel(
        topics=topics, texts=texts, corpus=[dictionary.doc2bow(text) for text in texts], dictionary=dictionary,
        coherence=theirs, topn=6, window_size=window, processes=1,
    ).get_coherence_per_topic()  # fmt: skip
    found = coherence(topics, corpus, ours, window=window, convention="gensim")
    np.testing.assert_allclose(found.topics, expected, atol=1e-6)


# What gensim 4.4.0 said of `texts_and_topics()`: c_v, c_npmi and c_uci of the first two topics, u_mass likewise.
GENSIM = {
    "umass": [-0.7338225105224485, -0.5179915600290205],
    "uci": [-0.12113339117503957, -0.09263805971771517],
    "npmi": [-0.030900536292559153, -0.030174312938418223],
    "cv": [0.4942062519565824, 0.5119651756196381],
}


@pytest.mark.parametrize("measure", MEASURES)
def test_coherence_agrees_with_what_gensim_said(measure: str) -> None:
    _, topics, corpus = texts_and_topics()
    found = coherence(topics, corpus, measure, convention="gensim").topics[:2]
    np.testing.assert_allclose(found, GENSIM[measure], atol=1e-9)


# -- diagnostics ---------------------------------------------------------------------------------------------------


def mallet_state(path: Path) -> State:
    words, z, names, offsets, last = [], [], {}, [0], None
    with gzip.open(path, "rt") as lines:
        next(lines)
        alpha = np.array([float(x) for x in next(lines).split(":")[1].split()])
        beta = float(next(lines).split(":")[1])
        for line in lines:
            document, _, _, number, word, topic = line.split()
            if document != last and last is not None:
                offsets.append(len(words))
            last = document
            names[int(number)] = word
            words.append(int(number))
            z.append(int(topic))
    offsets.append(len(words))
    return State(
        np.array(words, np.uint32), np.array(offsets), np.array(z, np.uint16), alpha[None], np.full(len(names), beta),
        Strings.of(names[i] for i in range(len(names))), Strings.of(map(str, range(len(offsets) - 1))),
    )  # fmt: skip


def test_diagnostics_are_those_of_their_definitions() -> None:
    """MALLET's measures, counted one by one from the tokens of a small state."""
    state = foreign.small_state(5, documents=12, words=20, topics=3, length=15)
    names, z, words = list(state.vocabulary), state.z.tolist(), state.words.tolist()
    documents = [list(zip(words[a:b], z[a:b])) for a, b in itertools.pairwise(state.offsets.tolist())]
    for k, row in enumerate(topic_diagnostics(None, state, top=5)):
        tokens = [word for word, topic in zip(words, z) if topic == k]
        inside = [[topic for _, topic in one].count(k) for one in documents]
        p = {word: tokens.count(word) / len(tokens) for word in set(tokens)}
        top = sorted(p, key=lambda word: (-p[word], -word))[:5]
        sets = [{word for word, topic in one if topic == k} for one in documents]
        coherence = 0.0
        for later, earlier in itertools.product(range(5), range(5)):
            if earlier < later:
                both = sum({top[later], top[earlier]} <= one for one in sets) + state.beta[top[later]]
                coherence += math.log(both / (sum(top[earlier] in one for one in sets) + state.beta[top[earlier]]))
        theta = [(n + state.alpha[0, k]) / (len(one) + state.alpha.sum()) for n, one in zip(inside, documents)]
        some = [n > 0 for n in inside]
        leads = [
            max(range(3), key=lambda topic: ([t for _, t in one].count(topic), -topic)) == k for one in documents
        ]  # fmt: skip
        smooth = [
            [sum(t == topic and w == word for w, t in zip(words, z)) + state.beta[word] for word in range(20)]
            for topic in range(3)
        ]
        phi = [[value / sum(values) for value in values] for values in smooth]
        expected = {
            "tokens": len(tokens),
            "document_entropy": -sum(n / len(tokens) * math.log(n / len(tokens)) for n in inside if n),
            "word-length": sum(len(names[word]) for word in top) / 5,
            "coherence": coherence,
            "uniform_dist": sum(q * math.log(q * 20) for q in p.values()),
            "corpus_dist": sum(q * math.log(q / (words.count(word) / len(words))) for word, q in p.items()),
            "eff_num_words": 1 / sum(q * q for q in p.values()),
            "rank_1_docs": sum(leads) / sum(some),
            "allocation_ratio": sum(t >= 0.5 and n for t, n in zip(theta, some))
            / max(sum(t >= 0.02 and n for t, n in zip(theta, some)), 1),
            "allocation_count": sum(t >= 0.3 and n for t, n in zip(theta, some)) / sum(some),
            "exclusivity": sum(phi[k][word] / sum(phi[topic][word] for topic in range(3)) for word in top) / 5,
        }
        assert [word["word"] for word in row["words"]] == [names[word] for word in top]
        for name, value in expected.items():
            assert row[name] == pytest.approx(value, abs=1e-9), (k, name)
        found = [word["token-doc-diff"] for word in row["words"]]
        assert row["token-doc-diff"] == pytest.approx(sum(found)) and set(expected) | {"token-doc-diff"} == set(MALLET)


def test_diagnostics_of_a_model_and_a_corpus() -> None:
    model = make_model()
    model.vocabulary = Strings.of(f"w{i:03}" for i in range(60))
    rows = topic_diagnostics(model, lda_corpus(), top=5)
    assert [row["topic"] for row in rows] == list(range(5))
    tops = model.top_words(5, last_first=True)
    assert [[word["word"] for word in row["words"]] for row in rows] == [[w for w, _ in words] for words in tops]
    assert sum(row["tokens"] for row in rows) == lda_corpus().n_tokens
    json.dumps(rows, allow_nan=False)
    # A topic without a token has finite numbers too.
    state = infer_state(model, lda_corpus())
    state.z[state.z == 3] = 1
    rows = topic_diagnostics(model, state, top=5)
    assert rows[3]["tokens"] == 0
    json.dumps(rows, allow_nan=False)


def test_diagnostics_by_a_model_are_those_by_its_state() -> None:
    """Equally frequent top words come in one order, whichever way the command line goes."""
    rng = np.random.default_rng(2)
    words = rng.integers(0, 40, 90).astype(np.uint32)  # few tokens, many ties
    state = State(
        words, np.arange(0, 91, 9, dtype=np.int64), rng.integers(0, 4, 90).astype(np.uint16), np.full((1, 4), 0.1),
        np.full(40, 0.01), Strings.of(f"w{i}" for i in range(40)), Strings.of(map(str, range(10))),
    )  # fmt: skip
    model = estimate(state, theta="cgs", phi="cgs")
    by_model, by_state = topic_diagnostics(model, state, top=6), topic_diagnostics(None, state, top=6)
    assert [row["words"] for row in by_model] == [row["words"] for row in by_state]
    assert [row["coherence"] for row in by_model] == [row["coherence"] for row in by_state]


def test_duplicates() -> None:
    model = make_model(topics=4, words=200)
    dense = model.counts().toarray()
    dense[:, 3] = dense[:, 1] * 2
    from tests.predict.test_inference import Model

    twice = Model(
        model.vocabulary, model.alpha, model.beta, np.concatenate([[0], np.cumsum((dense > 0).sum(axis=1))]),
        np.nonzero(dense)[1].astype(np.uint16), dense[dense > 0],
    )  # fmt: skip
    assert [pair[:2] for pair in similar_topic_pairs(twice)] == [(1, 3)]


# -- the command line ------------------------------------------------------------------------------------------------


def test_evaluate_on_the_command_line(topicx: Run, tmp_path: Path) -> None:
    model, corpus = make_model(), lda_corpus(documents=40)
    model.save(tmp_path / "m.model")
    corpus.save(tmp_path / "c.corpus")
    infer_state(model, corpus).save(tmp_path / "s.state")
    names = ("completion", "left-to-right", "chib", "likelihood", "coherence", "diagnostics")
    methods = [part for name in names for part in ("-m", name)]
    done = topicx("evaluate", "m.model", "c.corpus", *methods, "--json", "--samples", 5)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    assert result["completion"]["perplexity"] == pytest.approx(completion(model, None, corpus, samples=5).perplexity)
    assert result["left-to-right"]["log_likelihood"] == pytest.approx(left_to_right(model, None, corpus).log_likelihood)
    assert result["coherence"]["npmi"]["mean"] == pytest.approx(coherence(model, corpus, "npmi").mean)
    assert len(result["diagnostics"]) == 5
    done = topicx("evaluate", "m.model", "s.state", *methods)
    assert done.returncode == 0, done.stderr
    assert "joint" in done.stdout and done.stdout.startswith("completion ")
    for arguments, message in (
        (["c.corpus", "c.corpus"], "a model is needed"),
        (["m.model", "m.model"], "a corpus or a state is needed"),
        (["m.model", "c.corpus", "--share", "2"], "--share"),
        (["m.model", "c.corpus", "-m", "magic"], "magic"),
        (["m.model", "c.corpus", "-m", "coherence", "--reference", "none"], "none: cannot be read"),
    ):
        done = topicx("evaluate", *arguments)
        assert done.returncode == 2 and "Traceback" not in done.stderr
        assert message in done.stderr.replace("a topicx ", "a ") or message.split()[-1] in done.stderr


def test_a_state_of_another_run_is_refused(topicx: Run, tmp_path: Path) -> None:
    lda_corpus().save(tmp_path / "c")
    lda_corpus(seed=1).save(tmp_path / "other.c")
    common = ("-k", 3, "--iterations", 4, "-q")
    assert topicx("train", "c", *common, "-o", "m", "--state", "s").returncode == 0
    assert topicx("train", "c", *common, "-o", "alone", "--seed", 1).returncode == 0  # without a record of its state
    assert topicx("train", "c", *common, "-o", "m2", "--state", "seed.s", "--seed", 2).returncode == 0
    assert topicx("train", "other.c", *common, "-o", "m3", "--state", "other.s").returncode == 0
    assert topicx("infer", "m", "other.c", "-o", "theta.tsv", "--state", "inferred.s", "-q").returncode == 0
    measure = ("-m", "diagnostics", "-q")
    assert all(topicx("evaluate", "m", state, *measure).returncode == 0 for state in ("s", "inferred.s"))
    assert topicx("evaluate", "alone", "s", *measure).returncode == 0
    for model, state, why in (
        ("m", "seed.s", "its run had seed "), ("m", "other.s", "it is of another corpus"),
        ("alone", "seed.s", "its run had seed "), ("alone", "other.s", "it is of another corpus"),
    ):  # fmt: skip
        calls = [("evaluate", model, state, *measure)]
        calls += [("export", model, "--state", state, "--format", "mallet-diagnostics", "-o", "x.xml")]
        for call in calls:
            done = topicx(*call)
            assert done.returncode == 2 and f"{state}: is not a state of this model: {why}" in done.stderr
            assert topicx(*call, "--any-state").returncode == 0
    assert "--any-state: is for states" in topicx("evaluate", "m", "c", "--any-state").stderr
    model, state = Model.load(tmp_path / "m"), State.load(tmp_path / "s")
    state.z[0] = (state.z[0] + 1) % 3
    state.save(tmp_path / "changed.s")
    assert model.unlike(State.load(tmp_path / "changed.s")) == "the model was made of another state"
