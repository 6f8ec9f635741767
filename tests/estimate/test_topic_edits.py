"""Topics merged, named and hidden by hand, and words taken out of a state."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import lda_corpus
from tests.corpus.test_import_command import Run, run  # noqa: F401
from topicx import LDA, Corpus, LabeledLDA, Model, State
from topicx.errors import InputError
from topicx.estimate import estimate
from topicx.estimate.topic_edits import (
    GONE,
    edit_topics,
    follow_model_edits,
    hide_topics,
    merge_topics,
    merged_state,
    name_topics,
    prune_words_of_state,
    targets_of,
)
from topicx.run import model_of_expected_counts
from topicx.strings import Strings


@pytest.fixture(scope="module")
def trained() -> LDA:
    corpus = lda_corpus()
    corpus.columns = {"half": Strings.of("ab"[d % 2] for d in range(len(corpus)))}
    return LDA(6, iterations=60, seed=3, optimize_interval=5, optimize_burn_in=5, phi="cgs").fit(corpus)


def test_merging_adds_up(trained: LDA) -> None:
    model = trained.model
    found = merge_topics(model, [[4, 1, 0], [2, 5]])
    before, after = model.counts().toarray(), found.counts().toarray()
    assert np.array_equal(after[:, 4], before[:, [4, 1, 0]].sum(axis=1)) and np.array_equal(after[:, 3], before[:, 3])
    assert np.array_equal(after[:, 2], before[:, 2] + before[:, 5]) and not after[:, [0, 1, 5]].any()
    assert found.alpha[0, 4] == pytest.approx(model.alpha[0, [4, 1, 0]].sum())
    assert (found.alpha[0, [0, 1, 5]] == GONE).all() and found.shown.tolist() == [False, False, True, True, True, False]
    assert found.topic_weights.sum() == pytest.approx(1) and found.merged.tolist() == [4, 4, 2, 3, 4, 2]
    assert np.allclose(found.topic_word.sum(axis=1), 1) and model.merged.size == 0  # the model stays as it is
    twice = merge_topics(found, [[3, 4]])  # what went into 4 goes with it
    assert (
        twice.merged.tolist() == [3, 3, 2, 3, 3, 2]
        and twice.counts().toarray()[:, 3].sum() == before[:, [0, 1, 3, 4]].sum()
    )
    with pytest.raises(InputError, match="topic 1 is a part of topic 4 already"):
        merge_topics(found, [[3, 1]])


def test_theta_of_merged_topics_is_the_sum(trained: LDA) -> None:
    """θ by many samples under merged φ is near the sum of the parts' θ; merged topics that are gone have none."""
    corpus = lda_corpus(seed=0)
    found = merge_topics(trained.model, [[4, 1]])
    parts, whole = (m.transform(corpus, burn_in=50, samples=200, theta="cgsp") for m in (trained.model, found))
    assert (whole[:, 1] < 1e-6).all() and np.allclose(whole.sum(axis=1), 1, atol=1e-5)
    lengths = corpus.lengths
    long = lengths > 30
    assert np.abs(whole[long, 4] - parts[long][:, [4, 1]].sum(axis=1)).mean() < 0.05


def test_the_state_follows(trained: LDA) -> None:
    found = merge_topics(trained.model, [[4, 1]])
    state = follow_model_edits(trained.state, found)
    state.verify()
    assert np.array_equal(state.z, np.where(trained.state.z == 1, 4, trained.state.z))
    again = model_of_expected_counts(state.word_topics(), state, "cgs")
    assert np.array_equal(again.counts().toarray(), found.counts().toarray())
    assert np.allclose(estimate(state, phi="cgs").alpha, found.alpha)
    assert follow_model_edits(trained.state, trained.model) is trained.state
    with pytest.raises(InputError, match="not of the model's run"):
        merged_state(trained.state, targets_of([[0, 1]], 4))


def test_typical_documents_of_a_merged_topic(trained: LDA) -> None:
    model, found = trained.model, merge_topics(trained.model, [[4, 1]])
    number = model.example_documents.shape[1]
    known: dict[int, float] = {}
    for k in (1, 4):
        for d, weight in zip(model.example_documents[k].tolist(), model.example_weights[k].tolist()):
            if d >= 0:
                known[d] = known.get(d, 0) + weight
    best = sorted(known.items(), key=lambda pair: (-pair[1], pair[0]))[:number]
    assert found.example_documents[4].tolist()[: len(best)] == [d for d, _ in best]
    assert np.allclose(found.example_weights[4][: len(best)], [min(w, 1) for _, w in best])
    assert (found.example_documents[1] == -1).all() and (found.example_documents[1:2] == -1).all()
    for rank, (document, _) in enumerate(best):
        flat = 4 * number + rank
        assert found.example_ids[flat] == str(document)
        assert found.example_columns.told("half")[flat] == "ab"[document % 2]


def test_expected_counts_with_a_remainder(trained: LDA) -> None:
    model = estimate(trained.state, phi="cgsp", max_entries=40)
    assert len(model.remainder)
    found = merge_topics(model, [[0, 3]])
    sums = model.totals[0] + model.totals[3]
    assert found.totals[0] == pytest.approx(sums) and found.totals[3] == pytest.approx(0)
    assert np.allclose(found.phi_of([1]) * (found.totals + found.beta_sum) - found.beta[1],
                       ((model.phi_of([1]) * (model.totals + model.beta_sum) - model.beta[1])[0, [0, 1, 2, 0, 4, 5]]
                        + [(model.phi_of([1]) * (model.totals + model.beta_sum) - model.beta[1])[0, 3], 0, 0, 0, 0, 0])
                       * [1, 1, 1, 0, 1, 1])  # fmt: skip


def test_names_and_hidden_topics(trained: LDA) -> None:
    model = name_topics(trained.model, {4: " old  school ", 0: "art"})
    assert model.called == ["art", "topic_1", "topic_2", "topic_3", "old school", "topic_5"]
    assert name_topics(model, {4: "", 0: ""}).called == [] and name_topics(model, {1: "topic_1"}).called[1] == "topic_1"
    assert merge_topics(model, [[1, 4]]).called[4] == "topic_4"  # the name has gone with its topic
    marked = hide_topics(hide_topics(model, [2]), [3])
    assert marked.shown.tolist() == [True, True, False, False, True, True] and model.shown.all()
    for call, message in (
        (lambda: name_topics(model, {1: "art"}), "both be 'art'"),
        (lambda: name_topics(model, {1: "topic_4"}), "without a name"),
        (lambda: name_topics(model, {6: "x"}), "name: 6 is not a topic; there are 0 to 5"),
        (lambda: hide_topics(model, [-1]), "hide: -1"),
        (lambda: hide_topics(model, range(6)), "no topic would be left"),
        (lambda: merge_topics(model, [[1]]), "name two"),
        (lambda: merge_topics(model, [[1, 2], [2, 3]]), "named twice"),
        (lambda: edit_topics(model, [[1, 2]], {2: "x"}), "topic 2 is a part of topic 1: name or hide that one"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=message):
            call()


def test_models_that_know_topics_by_number_are_not_merged() -> None:
    corpus = lda_corpus(30)
    corpus = corpus.with_labels(["a", "b", "c"] * 10)
    for made in (LDA(3, iterations=3, model="medlda"), LabeledLDA(iterations=3)):
        model = made.fit(corpus)
        with pytest.raises(InputError, match="knows its topics by number"):
            merge_topics(model.model, [[0, 1]])


def test_compound_models_add_up_their_proportions() -> None:
    corpus = lda_corpus(60)
    corpus.collection, corpus.collection_names = np.arange(60, dtype=np.int32) % 2, Strings.of(["x", "y"])
    lda = LDA(4, iterations=30, model="compound", own={"pi_burn_in": 5}).fit(corpus)
    found = merge_topics(lda.model, [[0, 2]])
    assert np.allclose(found.side["pi"][:, 0], lda.model.side["pi"][:, [0, 2]].sum(axis=1))
    assert np.allclose(found.side["pi_draws"].sum(axis=2), 1, atol=1e-5) and not found.side["pi"][:, 2].any()


def test_words_taken_out_of_a_state(trained: LDA) -> None:
    state, gone = trained.state, ["w001", "w007"]
    left = prune_words_of_state(state, stopwords=gone)
    left.verify()
    numbers = [list(state.vocabulary).index(word) for word in gone]
    kept = ~np.isin(state.words, numbers)
    assert np.array_equal(left.z, state.z[kept]) and list(left.ids) == list(state.ids)
    assert [left.vocabulary[int(w)] for w in left.words] == [state.vocabulary[int(w)] for w in state.words[kept]]
    assert len(left.beta) == len(np.unique(left.words)) and left.columns == state.columns


def test_the_command_line(run: Run) -> None:  # noqa: F811
    corpus = lda_corpus()
    corpus.time = 1990.0 + np.arange(len(corpus)) % 3
    corpus.save("c")
    assert run("train", "c", "-k", "6", "--iterations", "40", "-o", "m", "--state", "s", "--phi", "cgs", "-q")[0] == 0
    status, _, err = run("topics", "m", "--merge", "3,1", "--name", "4=old school", "--hide", "2", "-o", "n")
    assert status == 0 and "wrote n: 4 topics of 6 are shown" in err
    _, out, _ = run("topics", "n", "-n", "3")
    assert [line[:2].strip() for line in out.splitlines()] == ["0", "3", "4", "5"] and "4 old school  " in out
    assert len(json.loads(run("topics", "n", "--json", "-t", "2", "-t", "1")[1])) == 2
    assert run("infer", "n", "c", "-o", "t.tsv", "-q")[0] == 0
    head, *rows = [line.split("\t") for line in Path("t.tsv").read_text().splitlines()]
    assert head[4:] == ["topic_0", "topic_1", "topic_2", "topic_3", "old school", "topic_5"]
    shares = np.array([row[4:] for row in rows], float)
    assert not shares[:, [1, 2]].any() and (shares.sum(axis=1) < 1.0001).all() and shares[:, 3].sum() > 0
    _, out, _ = run("infer", "n", "c", "--top", "1", "-q")
    assert "old_school:" in out and " 2:" not in out
    for source in (("--corpus", "c"), ("--state", "s")):
        found = json.loads(run("topics", "n", "--by", "time", *source, "--top", "9", "--json")[1])
        assert {topic["topic"] for topic in found["groups"][0]["topics"]} == {0, 3, 4, 5}
    status, _, err = run("export", "n", "--state", "s", "--format", "pyldavis", "-o", "p.json")
    assert status == 0 and "0: topic_0, 1: topic_3, 2: old school, 3: topic_5" in err
    data = json.loads(Path("p.json").read_text())  # without the topics that are hidden, in the order of the others
    assert not data["sort_topics"] and data["start_index"] == 0
    theta, phi = np.array(data["doc_topic_dists"]), np.array(data["topic_term_dists"])
    assert theta.shape[1] == 4 and np.allclose(theta.sum(axis=1), 1)
    assert np.allclose(phi, Model.load("n").topic_word[[0, 3, 4, 5]])
    about = json.loads(run("info", "n", "--json")[1])
    assert "merge 3,1" in json.dumps(about) and Model.load("n").parents["model"] == Model.load("m").digest
    # a state, and training that goes on from it
    assert run("topics", "s", "--merge", "3,1", "-o", "s2")[0] == 0
    assert (State.load("s2").z != 1).all() and State.load("s2").columns.keys() == {"time"}
    Path("seen.txt").write_text("w001\nw002\n")
    status, _, err = run("prune", "s2", "--stoplist-file", "seen.txt", "-o", "s3")
    assert status == 0 and "53 words, with their topics; left out 7 words" in err  # five have no token
    assert (
        run("train", "--init-state", "s3", "--iterations", "9", "-o", "next", "--doc-topics", "d.jsonl", "-q")[0] == 0
    )
    assert "w001" not in list(Model.load("next").vocabulary)
    rows_of = json.loads(run("topics", "next", "--compare", "m", "--json")[1])
    same = [row["topic"] == row["other"] for row in rows_of if row["topic"] not in (None, 1, 3)]
    assert sum(same) >= 3  # topics keep their numbers
    assert json.loads(Path("d.jsonl").read_text().splitlines()[1])["time"] == 1991
    for arguments, message in (
        (["m", "--merge", "1,2"], "give the file to write"),
        (["m", "-o", "x"], "--output: is for --merge"),
        (["m", "--merge", "1;2", "-o", "x"], "--merge '1;2': is not a list"),
        (["m", "--name", "art", "-o", "x"], "--name 'art': is not NUMBER=NAME"),
        (["m", "--hide", "9", "-o", "x"], "9 is not a topic; there are 0 to 5"),
        (["m", "--hide", "1", "-o", "m"], "m: is an input, too"),
        (["m", "--hide", "1", "-o", "x", "--by", "time"], "--by: does not go with"),
        (["s", "--hide", "1", "-o", "x"], "the topics of a state have numbers alone"),
    ):
        status, _, err = run("topics", *arguments)
        assert status == 2 and message in err, err
    assert run("prune", "s", "--drop-empty", "-o", "x")[0] == 2 and not Path("x").exists()


def test_files_of_edited_models_come_back(trained: LDA, tmp_path: Path) -> None:
    model = edit_topics(trained.model, [[0, 1]], {3: "x"}, [2])
    model.save(tmp_path / "m")
    again = Model.load(tmp_path / "m")
    assert again == model and again.meta["edits"] == ["merge 0,1", "name 3=x", "hide 2"]
    assert again.called == model.called and isinstance(lda_corpus(), Corpus)
