"""Several states of one corpus become one model: what a model's definition keeps beside the counts is averaged, too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.conftest import lda_corpus
from tests.models.test_compound import corpus_of
from topicx.cli import main
from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Threads
from topicx.evaluate.time_concentration import TimeConcentration, weight_quantiles
from topicx.model import Model
from topicx.run import Run
from topicx.sampling.run_options import Options
from topicx.state import State


def states_of(corpus: Corpus, place: Path, options: Options) -> tuple[list[State], Model]:
    """The states of three chains (the third is the first with its topics the other way round), and their model."""
    states = []
    for chain in range(2):
        run = Run.start(corpus, Options(**vars(options) | {"chain": chain}), Threads(1)).train()
        states.append(run.result().state)
        states[-1].save(place / f"{chain}.state")
    with pytest.raises(SystemExit) as stop:
        main(
            [
                "estimate",
                *(str(place / f"{chain}.state") for chain in range(2)),
                "--align",
                "-o",
                str(place / "m"),
                "-q",
            ]
        )
    assert not stop.value.code
    return states, Model.load(place / "m")


def test_compound_states_are_averaged_in_all_that_they_have(tmp_path: Path) -> None:
    corpus = corpus_of()
    options = Options(topics=4, iterations=30, model="compound", own={"pi_burn_in": 5})
    states, model = states_of(corpus, tmp_path, options)
    one = [state.side["pi_draws"] for state in states]
    assert len(model.side["pi_draws"]) == sum(map(len, one))
    assert np.allclose(model.side["pi_draws"][: len(one[0])], one[0])
    rest = model.side["pi_draws"][len(one[0]) :]
    order = [int(np.argmax([np.array_equal(rest[:, :, k], one[1][:, :, j]) for j in range(4)])) for k in range(4)]
    assert sorted(order) == [0, 1, 2, 3] and np.array_equal(rest, one[1][:, :, order])
    scale = np.mean([state.side["scale"][0] for state in states])
    assert np.allclose(model.alpha, scale * model.side["pi"])
    assert np.allclose(model.side["pi"], model.side["pi_draws"].mean(axis=0))


def test_the_weights_of_medlda_states_are_averaged(tmp_path: Path) -> None:
    corpus = lda_corpus(documents=60, words=30, topics=2).with_labels(["a", "b"] * 30)
    options = Options(topics=3, iterations=12, alpha_sum=1.0, model="medlda", own={"weight_samples": 4})
    states, model = states_of(corpus, tmp_path, options)
    means = [state.side["eta_sum"][:, :2] / 4 for state in states]
    found = model.side["eta"]
    assert not np.allclose(found, means[0]) and np.allclose(found[-1], (means[0][-1] + means[1][-1]) / 2)
    others = 2 * found[:-1] - means[0][:-1]
    assert {tuple(row.round(9)) for row in others} == {tuple(row.round(9)) for row in means[1][:-1]}


@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e-6, 1e6])
def test_a_regression_does_not_depend_on_the_unit_of_its_targets(unit: float) -> None:
    corpus = lda_corpus(documents=100, words=30, topics=2)
    number = np.array(
        [
            np.mean(corpus.words[corpus.offsets[d] : corpus.offsets[d + 1]] < 15) if corpus.lengths[d] else 0.5
            for d in range(100)
        ]
    )

    def predicted(factor: float) -> np.ndarray:
        told = corpus.with_labels([repr(float(value)) for value in number * factor])
        own = {"target": "label", "lambda_": 10.0}
        options = Options(topics=3, iterations=15, alpha_sum=1.0, model="medlda", own=own)
        model = Run.start(told, options, Threads(1)).train().result().model
        values = model.infer(told).predicted["value"]
        return np.array(values) / factor

    once = predicted(1.0)
    assert np.corrcoef(once, number)[0, 1] > 0.6
    assert np.allclose(predicted(unit), once, rtol=1e-3)


def test_half_of_an_odd_number_of_buckets_is_half() -> None:
    weights = np.random.default_rng(1).random((40, 3))
    for buckets in (3, 5, 20):
        found = TimeConcentration(
            np.arange(40.0), [str(at) for at in range(40)], np.ones(40, np.int64), weights, np.zeros(40),
            weight_quantiles(weights, buckets), 0,
        )  # fmt: skip
        for k, (begin, end) in enumerate(zip(*found.densest(), strict=True)):
            sums = np.concatenate([[0], np.cumsum(weights[:, k])])
            inside = np.diff(np.interp([begin, end], np.arange(41), sums))[0] / sums[-1]
            assert inside == pytest.approx(0.5)
