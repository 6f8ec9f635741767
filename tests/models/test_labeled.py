"""Models of labels: what they begin with, the priors of new documents, the number of labels, measures, and that the
command line and the Python class do what they say.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.twins import labels as twin
from tests.twins import restricted as restricted_twin
from topicx import LabeledLDA
from topicx._kernels.soft import restricted_soft
from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.evaluate.label_measures import LabelMeasures, compare_f1, measure_labels, z_test
from topicx.model import Model
from topicx.model_registry import with_defaults
from topicx.models.labeled import LabelIndex, allowed_topics
from topicx.predict.inference import Inference
from topicx.predict.label_number import LabelNumber, features_of
from topicx.predict.label_reader import chosen_labels, label_reader
from topicx.run import Run
from topicx.sampling.run_options import Options
from topicx.sampling.sweep_loop import Checkpoints, Interrupted

MODELS = ("labeled", "prior", "dependency")


def tagged(documents: int = 150, labels: int = 8, seed: int = 1, length: int = 30) -> Corpus:
    """Documents drawn from their labels' words; two labels always come together, some documents have none."""
    random = np.random.default_rng(seed)
    phi = random.dirichlet(np.full(60, 0.05), labels)
    texts, tags = [], []
    for d in range(documents):
        own = set(random.choice(labels, random.integers(1, 4), replace=False).tolist())
        own |= {1} if 0 in own else set()
        words = [random.choice(60, p=phi[k]) for k in random.choice(sorted(own), length)]
        texts.append([f"w{w:02}" for w in words])
        tags.append([f"label {k}" for k in sorted(own)] if d % 25 != 7 else [])
    tags[0].append("only here")
    return Corpus.from_documents(texts, labels=[t or None for t in tags])


def options(model: str, **more: Any) -> Options:
    own = {
        name: more.pop(name) for name in ("background", "topics_per_label", "label_topics", "rounds") if name in more
    }
    if model == "dependency":
        own = {"label_topics": 4, "label_sweeps": 50} | own
    return Options(model=model, own=own, **with_defaults(model, {"iterations": 20} | more))


def trained(model: str, corpus: Corpus, **more: Any) -> Run:
    return Run.start(corpus, options(model, **more), Threads(1)).train()


# -- beginnings ------------------------------------------------------------


def test_topics_are_labels_and_documents_without_have_all() -> None:
    corpus = tagged()
    labels = LabelIndex.of(corpus)
    state = Run.start(corpus, options("labeled", background=2, topics_per_label=3), Threads(1)).chain.state
    assert state.n_topics == 3 * 9 + 2
    assert state.allowed is not None
    for d in range(corpus.n_documents):
        own = state.allowed[1][state.allowed[0][d] : state.allowed[0][d + 1]].tolist()
        names = [list(labels.names).index(name) for name in corpus.labels(d)]
        wanted = [3 * k + i for k in names for i in range(3)] + [27, 28] if names else list(range(29))
        assert own == wanted
    assert np.allclose(state.alpha, 50 / 29)
    assert np.allclose(state.beta, 0.1)


def test_a_corpus_without_labels_and_options_that_mean_nothing_are_refused() -> None:
    corpus = Corpus.from_documents([["a", "b"], ["b"]])
    with pytest.raises(InputError, match="the corpus has none"):
        Run.start(corpus, options("labeled"), Threads(1))
    with pytest.raises(InputError, match="the labels say how many"):
        Run.start(tagged(), options("labeled", topics=7), Threads(1))
    with pytest.raises(InputError, match="gives every document every topic"):
        Run.start(tagged(), options("labeled", sampler="sparse"), Threads(1))
    with pytest.raises(InputError, match="65,535 are possible"):
        many = Corpus.from_documents([["a"]] * 70, labels=[[f"l{i}"] for i in range(70)])
        Run.start(many, options("labeled", topics_per_label=1000), Threads(1))


def test_what_the_user_is_told() -> None:
    run = Run.start(tagged(), options("prior"), Threads(1))
    told = "\n".join(run.definition.notes(run.chain.state))
    assert "9 labels on 144 documents" in told
    assert "6 documents without labels" in told
    assert "1 labels have one document" in told


def test_a_document_with_a_label_twice_has_it_once() -> None:
    labels = LabelIndex(Corpus.from_documents([["a"]], labels=[["x"]]).label_names, np.array([0, 2]), np.array([0, 0]))
    offsets, topics = allowed_topics(labels, 1, 1)
    assert offsets.tolist() == [0, 2]
    assert topics.tolist() == [0, 1]


# -- priors of new documents ------------------------------------------------------------


def test_priors_are_equations_58_and_59() -> None:
    corpus = tagged()
    frequencies = LabelIndex.of(corpus).frequencies
    plain, prior = (trained(model, corpus).result(examples=0).model for model in ("labeled", "prior"))
    assert np.allclose(plain.alpha, 50 / 9)
    assert np.allclose(prior.alpha[0], 50 * frequencies / frequencies.sum() + 30 / 9)
    assert np.allclose(prior.side["training_alpha"], 50 / 9)
    assert list(prior.topic_names) == list(LabelIndex.of(corpus).names)


def test_several_topics_share_a_labels_prior_and_the_background_keeps_its_proportion() -> None:
    corpus = tagged()
    model = trained("prior", corpus, background=1, topics_per_label=2).result(examples=0).model
    frequencies = LabelIndex.of(corpus).frequencies
    wanted = 50 * frequencies / frequencies.sum() + 30 / 9
    assert np.allclose(model.alpha[0, :18].reshape(9, 2).sum(axis=1), wanted)
    a_document = frequencies.sum() / 144 * 2
    assert np.isclose(model.alpha[0, 18], 80 / a_document)
    assert list(model.topic_names)[:2] == ["label 0 1", "label 0 2"]
    assert model.topic_names[18] == "background 1"


def test_dependency_expects_labels_that_go_together() -> None:
    corpus = tagged(documents=400)
    run = trained("dependency", corpus)
    model = run.result(examples=0).model
    definition: Any = run.definition
    reader = definition.reader(model)
    names = list(model.topic_names)
    zero, one = names.index("label 0"), names.index("label 1")
    z = np.full(12, zero, np.uint16)
    keys = np.arange(1, 3, dtype=np.uint64)
    offsets = np.array([0, 12, 12])
    alpha = reader.adapted_alpha(z, offsets, keys)
    assert alpha.shape == (2, len(names))
    np.testing.assert_allclose(alpha.sum(axis=1), 80, rtol=1e-5)
    gain = alpha[0] - alpha[1]  # the second document says nothing
    assert gain[one] > np.median(gain)
    shares = reader.label_shares(z, offsets, keys)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-5)
    best = [label for group in definition.groups_of_labels(model, 2) for label, _ in group]
    assert {"label 0", "label 1"} <= set(best)


# -- new documents ------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_labels_are_found_again(model: str) -> None:
    random = np.random.default_rng(1)
    both = tagged(480, length=40)
    chosen = random.permutation(480)
    train, test = both.select(chosen[:400]), both.select(chosen[400:])
    found = trained(model, train, iterations=60).result(examples=0).model
    result = measure_labels(found, test, label_reader(found), burn_in=20, samples=10)
    assert result["precision_at"]["1"] > 0.8
    assert result["micro_f1"] > 0.6
    assert result["ranking_loss"] < 0.15
    assert result["documents"] + result["unlabelled"] == 80


def test_what_goes_together_is_learnt_on_the_engine_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_pool(*arguments: Any, **more: Any) -> None:
        pytest.fail("threads are made")

    monkeypatch.setattr("topicx.engines.threads.ThreadPoolExecutor", no_pool)
    asked = options("dependency", iterations=3, label_topics=3)
    found = Run.start(tagged(), asked, Threads(1)).train().result().model
    monkeypatch.undo()
    assert found.side["label_topic_word"].shape == (3, 9)
    with Threads(2) as engine:
        assert Run.start(tagged(), asked, engine).train().result().model == found


@pytest.mark.parametrize("model", MODELS)
def test_a_documents_labels_depend_on_its_words_and_the_seed_alone(model: str) -> None:
    corpus = tagged()
    found = trained(model, corpus).result(examples=0).model
    labeller = label_reader(found)

    def scores(documents: Corpus, threads: int = 1, seed: int = 1) -> np.ndarray:
        inference = Inference(found, chains=2, samples=3, threads=threads, seed=seed)
        return np.concatenate([labeller.scores(part) for part in inference.stream(inference.corpus(documents))])

    every = scores(corpus)
    assert np.array_equal(every, scores(corpus, threads=3))
    assert np.array_equal(every[::-1], scores(corpus.select(np.arange(corpus.n_documents)[::-1])))
    assert np.array_equal(every[5:6], scores(corpus.select(np.array([5]))))
    assert not np.array_equal(every, scores(corpus, seed=2))


def test_scores_are_shares_of_the_words_without_the_prior() -> None:
    corpus = tagged()
    model = trained("prior", corpus).result(examples=0).model
    inference = Inference(model, theta="cgs", samples=4, threads=1)
    part = next(iter(inference.stream(inference.corpus(corpus))))
    lengths = np.diff(part.documents.offsets)[:, None]
    words = label_reader(model).scores(part)
    total = part.theta * (lengths + model.alpha.sum()) - model.alpha
    np.testing.assert_allclose(words * lengths, total, atol=2e-3)
    np.testing.assert_allclose(np.round(words * lengths * 4), words * lengths * 4, atol=5e-3)  # means of 4 counts
    shares = label_reader(model, score="theta").scores(part)
    np.testing.assert_allclose(shares, part.theta, rtol=1e-4)


def test_a_document_of_unknown_words_is_ranked_by_the_prior() -> None:
    corpus = tagged()
    model = trained("prior", corpus).result(examples=0).model
    strange = Corpus.from_documents([["never", "seen"], [corpus.vocabulary[0]]])
    inference = Inference(model, threads=1)
    part = next(iter(inference.stream(inference.corpus(strange))))
    scores = label_reader(model).scores(part)
    assert np.array_equal(np.argsort(-scores[0]), np.argsort(-model.alpha[0].astype(np.float32), kind="stable"))


def test_sets_by_number_top_and_threshold() -> None:
    corpus = tagged()
    model = trained("prior", corpus).result(examples=0).model
    inference = Inference(model, threads=1)
    part = next(iter(inference.stream(inference.corpus(corpus))))
    scores = label_reader(model).scores(part)
    number = LabelNumber.from_side(model.side, model.n_words)
    assert number is not None
    sizes = label_reader(model).labelled(part).sets.sum(axis=1)
    assert np.array_equal(sizes, number.predict(part.documents.words, part.documents.offsets))
    assert np.all(label_reader(model, top=2).labelled(part).sets.sum(axis=1) == 2)
    above = label_reader(model, threshold=0.3).labelled(part).sets
    assert np.array_equal(above, scores >= 0.3)
    both = label_reader(model, threshold=0.1, top=1).labelled(part).sets
    assert both.sum(axis=1).max() == 1
    chosen = label_reader(model, top=3)
    names = chosen.names_of_sets(chosen.labelled(part).sets, scores)
    assert names[0] == [chosen.names[int(k)] for k in np.argsort(-scores[0], kind="stable")[:3]]


def test_labels_never_seen_count_as_missed() -> None:
    corpus = tagged()
    model = trained("prior", corpus).result(examples=0).model
    new = corpus.with_labels([["quite new"]] * corpus.n_documents)
    result = measure_labels(model, new, label_reader(model))
    assert result["unseen_labels"] == 1
    assert result["micro_f1"] == 0
    assert result["coverage"] == 10  # it stands behind the nine that are known
    with pytest.raises(InputError, match="no labels"):
        measure_labels(model, corpus.with_labels([None] * corpus.n_documents), label_reader(model))


def test_cvb0_with_fixed_topics_is_its_fixed_point() -> None:
    random = np.random.default_rng(4)
    rows = random.random((6, 16)).astype(np.float32)
    rows[:, 5:] = 0
    words, offsets = np.array([0, 1, 1, 5, 2], np.uint32), np.array([0, 4, 4, 5])
    alpha = random.random((2, 5)).astype(np.float32)
    groups = np.array([1, 0, 0], np.uint32)
    theta, z = np.zeros((3, 5), np.float32), np.zeros(5, np.uint16)
    restricted_soft.fold_in(words, offsets, rows, alpha, groups, 200, theta, z)
    for d in range(3):
        own, prior = words[offsets[d] : offsets[d + 1]], alpha[groups[d]].astype(float)
        gamma = np.zeros((len(own), 5))
        for _ in range(200):
            for i, w in enumerate(own):
                p = rows[w, :5] * (prior + gamma.sum(axis=0) - gamma[i])
                gamma[i] = p / p.sum()
        expected = prior + gamma.sum(axis=0)
        np.testing.assert_allclose(theta[d], expected / expected.sum(), atol=1e-5)
        assert z[offsets[d] : offsets[d + 1]].tolist() == gamma.argmax(axis=1).tolist()


# -- the number of labels ------------------------------------------------------------


@pytest.mark.parametrize("scaled", [False, True])
def test_the_regression_is_ridge_regression(scaled: bool) -> None:
    random = np.random.default_rng(2)
    offsets = np.concatenate([[0], np.cumsum(random.integers(3, 30, 60))])
    words = random.integers(0, 12, offsets[-1]).astype(np.uint32)
    features = features_of(words, offsets, 12).toarray()
    if scaled:
        features /= np.linalg.norm(features, axis=1, keepdims=True)
    numbers = 2 + features @ random.normal(size=12) + random.normal(scale=0.02, size=60)
    found = LabelNumber.fit(words, offsets, 12, numbers)
    assert found.scaled == scaled  # as the numbers were made
    centred = features - features.mean(axis=0)
    exact = np.linalg.solve(centred.T @ centred + found.penalty * np.eye(12), centred.T @ (numbers - numbers.mean()))
    np.testing.assert_allclose(found.weights, exact, atol=1e-3)
    base = numbers.mean() - features.mean(axis=0) @ exact
    np.testing.assert_allclose(found.expected(words, offsets), features @ exact + base, atol=2e-2)
    predicted = found.predict(words, offsets)
    assert predicted.min() >= 1
    again = LabelNumber.from_side(found.side(), 12)
    assert again is not None
    assert np.array_equal(again.predict(words, offsets), predicted)


def test_regressions_of_before_are_not_scaled() -> None:
    side = {"label_number": np.array([2.0, 4.0, 10.0]), "label_number_weights": np.ones(3, np.float32)}
    number = LabelNumber.from_side(side, 3)
    assert number is not None and not number.scaled
    words, offsets = np.array([0, 1], np.uint32), np.array([0, 2])
    np.testing.assert_allclose(number.expected(words, offsets), [2 + 2 * np.log(2)])


# -- measures ------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_measures_are_the_twins(seed: int) -> None:
    random = np.random.default_rng(seed)
    truth = random.random((40, 7)) < 0.3
    truth[np.arange(40), random.integers(0, 7, 40)] = True
    truth[:, 6] &= seed != 1  # a label that nobody has
    truth[~truth.any(axis=1), 0] = True
    scores = np.round(random.random((40, 7)), 1 if seed else 9)  # with ties, and without
    sets = random.random((40, 7)) < 0.4
    sets[:, 6] &= seed != 1
    measures = LabelMeasures(7, (1, 3))
    measures.add(scores[:15], truth[:15], sets[:15])
    measures.add(scores[15:], truth[15:], sets[15:])
    result = measures.result()
    flat = result | {f"at_{depth}": value for depth, value in result["precision_at"].items()}
    for name, value in twin.measures(scores, truth, sets).items():
        assert flat[name] == pytest.approx(value), name


def test_choose_takes_the_first_of_equals() -> None:
    scores = np.array([[0.2, 0.5, 0.5, 0.1], [0.3, 0.3, 0.3, 0.3]])
    assert chosen_labels(scores, 2).tolist() == [[False, True, True, False], [True, True, False, False]]
    assert chosen_labels(scores, np.array([1, 3])).sum(axis=1).tolist() == [1, 3]
    assert chosen_labels(scores, threshold=0.3).sum(axis=1).tolist() == [2, 4]


def test_z_test_of_proportions() -> None:
    test = z_test(0.26, 0.30, 2500)
    assert test["z"] == pytest.approx(-0.04 / np.sqrt(0.3 * 0.7 / 2500))
    assert test["p"] == pytest.approx(1.28e-5, rel=0.02)
    assert z_test(0.3, 0.3, 10) == {"z": 0.0, "p": 1.0}
    with pytest.raises(InputError, match="same ones"):
        compare_f1({"documents": 3}, {"documents": 4})


# -- runs ------------------------------------------------------------


@pytest.mark.parametrize("sampler", ["labeled", "labeled-cvb0"])
@pytest.mark.parametrize("model", ["prior", "dependency"])
def test_an_interrupted_run_goes_on_with_the_same_bits(model: str, sampler: str, tmp_path: Path) -> None:
    corpus = tagged()
    chosen = options(model, sampler=sampler, background=1)
    whole = Run.start(corpus, chosen, Threads(1)).train().result()
    path, seen = str(tmp_path / "c"), 0

    def stop() -> bool:
        nonlocal seen
        seen += 1
        return seen == 8

    with pytest.raises(Interrupted):
        Run.start(corpus, chosen, Threads(1)).train(checkpoints=Checkpoints(path), stop=stop)
    run = Run.resume(path, Threads(2)).train()
    rest = run.result()
    assert np.array_equal(whole.state.z, rest.state.z)
    assert np.array_equal(whole.model.values, rest.model.values)
    assert np.array_equal(whole.model.alpha, rest.model.alpha)
    assert list(whole.model.topic_names) == list(rest.model.topic_names)
    assert whole.model.side.keys() == rest.model.side.keys()
    following = Run.start(corpus, chosen, Threads(1)).train().next(1).train().result()
    assert np.array_equal(run.next(1).train().result().model.values, following.model.values)


def test_states_and_models_come_back_from_files(tmp_path: Path) -> None:
    from topicx.state import State

    result = trained("prior", tagged(), background=1).result()
    state_file, model_file = str(tmp_path / "s"), str(tmp_path / "m")
    result.state.save(state_file)
    result.model.save(model_file)
    state, model = State.load(state_file), Model.load(model_file)
    assert state.allowed is not None and result.state.allowed is not None
    assert np.array_equal(state.allowed[1], result.state.allowed[1])
    assert list(model.topic_names) == list(result.model.topic_names)
    assert np.array_equal(model.side["label_number_weights"], result.model.side["label_number_weights"])


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("topic_label", np.zeros(9, np.int32)),
        ("topic_label", np.arange(8, dtype=np.int32)),
        ("label_frequencies", np.ones(4, np.int64)),
        ("label_names.offsets", np.arange(3)),
        ("label_number", np.array([1.0, np.nan, 3.0])),
        ("label_number_weights", np.zeros(2, np.float32)),
        ("label_topic_word", np.ones((2, 3), np.float32)),
        ("label_topic_alpha", np.ones(7)),
        ("labelled", None),
    ],
)
def test_damaged_side_arrays_are_refused(name: str, array: Any) -> None:
    corpus = tagged(60)
    model = trained("dependency", corpus).result(examples=0).model
    measure_labels(model, corpus, label_reader(model), samples=1)
    model.side[name] = array
    if array is None:
        del model.side[name]
    with pytest.raises(InputError):
        measure_labels(model, corpus, label_reader(model), samples=1)


def test_the_class_averages_chains_and_samples() -> None:
    corpus = tagged()
    both = LabeledLDA(chains=2, iterations=20, samples=3, lag=2, threads=1).fit(corpus)
    assert both.model.meta["chains"] == 2
    first, second = (
        trained("prior", corpus, samples=3, lag=2, chain=chain).result(examples=0).model for chain in (0, 1)
    )
    mean = (first.counts().toarray() + second.counts().toarray()) / 2
    np.testing.assert_allclose(both.model.counts().toarray(), mean)
    assert both.labels == list(LabelIndex.of(corpus).names)
    predicted = both.predict(corpus, samples=5)
    assert len(predicted) == corpus.n_documents
    assert all(set(names) <= set(both.labels) and names for names in predicted)
    assert both.scores(corpus).shape == (corpus.n_documents, 9)
    assert both.measure(corpus)["micro_f1"] > 0.5
    assert both.document_topic.shape == (corpus.n_documents, 9)
    with pytest.raises(InputError, match="are no labels"):
        LabeledLDA("lda")
    with pytest.raises(InputError, match="has no option"):
        LabeledLDA(backgruond=2)


def test_estimates_of_a_state_are_those_of_the_twin() -> None:
    result = trained("labeled", tagged(60), background=1).result(phi="cgsp", examples=0)
    _, by_word = restricted_twin.soft_counts(result.state)
    np.testing.assert_allclose(result.model.counts().toarray(), by_word, atol=1e-9)
