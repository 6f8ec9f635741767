"""Seed words hold the topics that they name, however frequent they are and however a run starts; and a run says which
do not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from topicx.classes.lda_class import LDA
from topicx.cli import main
from topicx.corpus.corpus import Corpus
from topicx.datasets import embedded
from topicx.errors import InputError
from topicx.views.seeds_held import deserted_topics, lost_seeds, seeds_message

THEMES = (
    ("team", "coach"), ("orbit", "planet"), ("patients", "blood"), ("bank", "market"), ("bus", "passengers"),
    ("soil", "garden"),
)  # fmt: skip


@pytest.fixture(scope="module")
def frequent() -> Corpus:
    """The embedded corpus twenty times over: seed words have a thousand tokens."""
    corpus = embedded()
    return corpus.select(np.tile(np.arange(corpus.n_documents), 20))


@pytest.mark.parametrize("start", ["random", "soft", "hot"])
def test_seeds_hold_by_default(start: str, frequent: Corpus) -> None:
    seeds = {7 - k: words for k, words in enumerate(THEMES)}

    def lost(weight: int | None) -> int:
        lda = LDA(8, iterations=20, seed=1, start=start, seed_words=seeds, seed_weight=weight, verbose=False)
        lda.fit(frequent)
        return sum(map(len, lost_seeds(lda.model, lda.state).values()))

    assert lost(None) == 0
    assert lost(1) > 4  # which is what says that the seeds did it


def test_a_seed_word_counts_as_the_tokens_that_it_has() -> None:
    corpus = Corpus.from_documents([["often"] * 70 + ["seldom"], ["other"]])
    lda = LDA(2, iterations=1, seed_words={1: ["often", "seldom"]}, verbose=False).fit(corpus)
    told = dict(zip(lda.state.seeds.words.tolist(), lda.state.seeds.counts.tolist(), strict=True))
    assert {corpus.vocabulary[word]: count for word, count in told.items()} == {"often": 70, "seldom": 50}
    with pytest.raises(InputError, match=r"seed_words: \{topic: words\} is needed, not a list"):
        LDA(2, seed_words=["often"], verbose=False).fit(corpus)  # type: ignore[arg-type]


def test_a_run_says_which_seeds_did_not_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], frequent: Corpus
) -> None:
    monkeypatch.chdir(tmp_path)
    frequent.save("c")
    Path("seeds").write_text("".join(f"{7 - k} {' '.join(words)}\n" for k, words in enumerate(THEMES)))
    told = {}
    for name, weight in (("weak", ["--seed-weight", "1"]), ("default", [])):
        call = ["train", "c", "-k", "8", "--iterations", "20", "--seed-words", "seeds", *weight, "-o", "m"]
        with pytest.raises(SystemExit) as stop:
            main([*call, "--start", "random"])
        assert not stop.value.code
        told[name] = capfd.readouterr().err
    assert "of 12 seed words are not among the 20 top words of their topics (topic " in told["weak"]
    assert "a larger --seed-weight holds them" in told["weak"] and "seed words" not in told["default"]


def test_a_topic_that_has_none_of_its_seeds_tokens_is_told() -> None:
    """Their weight alone makes seeds the first words of a topic: so tokens are counted, too."""
    documents = [[f"{half}{(at + place) % 10}" for place in range(10)] for at in range(100) for half in "ab"]
    corpus = Corpus.from_documents(documents)
    seeds = {0: ["a0", "a1"], 1: ["b0", "b1"]}
    lda = LDA(2, iterations=50, seed=1, start="random", alpha=0.01, seed_words=seeds, verbose=False).fit(corpus)
    assert deserted_topics(lda.state) == {} and seeds_message(lda.model, lda.state) is None
    lda.state.z[lda.state.z == 0] = 1
    lda.state.z[: corpus.n_tokens // 20] = 0
    mine = np.isin(lda.state.words, [list(corpus.vocabulary).index(word) for word in seeds[0]])
    share = float((lda.state.z[mine] == 0).mean())
    assert deserted_topics(lda.state) == {0: pytest.approx(share)} and 0 < share < 0.1
    assert f"(topic 0: {share:.0%})" in (seeds_message(lda.model, lda.state) or "")
