"""DMRLoader's two files, and what DMRTopicModel makes of them."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from tests.mallet.mallet_cli import run
from topicx.corpus.corpus import Corpus
from topicx.errors import InputError
from topicx.mallet.instance_lists import load_instances
from topicx.mallet.regression_features import parameter_lines, texts_with_features, with_feature_columns
from topicx.model import Model
from topicx.models.dmr import design_of

SKY, SHOP = ["moon", "star", "planet", "orbit", "comet"], ["bank", "money", "interest", "rates", "loan"]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Texts of two subjects, which features tell apart; a line without features, one of stop words alone."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(1)
    subjects = [SKY, SHOP]
    texts, features = [], []
    for number in range(80):
        kind = number % 2
        own = random.choice(subjects[kind], 8).tolist() + random.choice(subjects[1 - kind], 2).tolist()
        texts.append(" ".join(own) + ", The and 42!")
        features.append(f"{'sky' if kind == 0 else 'shop'} weight={number / 100}")
    texts[4], features[7] = "the and of", ""
    Path("words").write_text("\n".join(texts) + "\n")
    with gzip.open("features.gz", "wt") as out:
        out.write("\n".join(features) + "\n")
    return tmp_path


def test_the_two_files_become_instances(files: Path) -> None:
    run("run cc.mallet.topics.tui.DMRLoader words features.gz d.mallet")
    instances = load_instances("d.mallet")
    assert len(instances) == 79 and instances.labels == ["sky", "weight", "shop"]
    assert list(instances.corpus.ids[:2]) == ["1", "2"]
    assert sorted(instances.corpus.vocabulary) == sorted(SKY + SHOP)
    assert instances.target(1) == "weight(1)=0.01\nshop(2)=1.0\n"
    corpus, formula = with_feature_columns(instances)
    assert formula == "~ `sky` + `weight` + `shop`"
    assert np.array(corpus.columns["sky"])[:3].tolist() == [1, 0, 1]
    assert np.array(corpus.columns["weight"])[:3] == pytest.approx([0, 0.01, 0.02])


def test_topics_and_parameters(files: Path) -> None:
    run("run cc.mallet.topics.tui.DMRLoader words features.gz d.mallet")
    run(
        "run cc.mallet.topics.DMRTopicModel --input d.mallet --num-topics 2 --num-iterations 60 --random-seed 3 "
        "--output-params p --output-topic-keys keys --output-state s.gz --output-doc-topics dt --output-model m "
        "--show-topics-interval 0 --num-top-words 5 --num-threads 2"
    )
    lines = Path("p").read_text().splitlines()
    assert [line for line in lines if not line.startswith(" ")] == [
        "FEATURES FOR CLASS topic0",
        "FEATURES FOR CLASS topic1",
    ]
    found = {(k, line.split()[0]): float(line.split()[1]) for k in (0, 1) for line in lines[1 + 5 * k : 5 + 5 * k]}
    model = Model.load("m")
    sky = int(model.topic_word[:, list(model.vocabulary).index("moon")].argmax())
    assert found[sky, "sky"] > found[1 - sky, "sky"] + 0.5
    assert found[1 - sky, "shop"] > found[sky, "shop"] + 0.5
    assert [found[0, name] for name in ("<default>", "sky", "weight", "shop")] == model.side["coefficients"][0].tolist()
    assert design_of(model.meta).columns == ["Intercept", "sky", "weight", "shop"]
    keys = Path("keys").read_text().splitlines()[sky].split("\t")
    assert sorted(keys[2].split()) == sorted(SKY)
    assert len(Path("dt").read_text().splitlines()) in (79, 80)
    with gzip.open("s.gz", "rt") as state:
        assert state.readline().startswith("#doc")


def test_what_does_not_fit_is_refused(files: Path) -> None:
    Path("short").write_text("a\n")
    for arguments, message in (
        ("run cc.mallet.topics.tui.DMRLoader words", "three files"),
        ("run cc.mallet.topics.tui.DMRLoader words short d", "ran out of features"),
    ):
        with pytest.raises(InputError, match=message):
            run(arguments)
    run("import-file --input words --output plain.mallet --keep-sequence --label 0")
    with pytest.raises(InputError, match="no features"):
        run("run cc.mallet.topics.DMRTopicModel --input plain.mallet")
    with pytest.raises(InputError, match="cannot have in a name"):
        run("run cc.mallet.topics.tui.DMRLoader words ticks d2") if Path("ticks").write_text("a`b\n" * 80) else None
        run("run cc.mallet.topics.DMRTopicModel --input d2")
    assert list(parameter_lines(np.array([[0.5, 1.0]]), ["f"])) == [
        "FEATURES FOR CLASS topic0\n", " <default> 0.5\n", " f 1.0\n",
    ]  # fmt: skip
    assert texts_with_features("words", "features.gz").names[:2] == ["1", "2"]
    assert isinstance(load_instances("plain.mallet").corpus, Corpus)
