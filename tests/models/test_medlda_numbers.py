"""MedLDA of numbers: a λ that follows the documents, a start that tells something, and a word where nothing was
learnt."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from topicx.cli import main
from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Threads
from topicx.run import Run
from topicx.sampling.run_options import Options


def rated(documents: int = 300, length: int = 40, noise: float = 0.3, seed: int = 1) -> Corpus:
    """Documents of two planted topics, and a number that says how much they have of the first, told with noise."""
    random = np.random.default_rng(seed)
    phi = random.dirichlet(np.full(60, 0.1), 2)
    share = random.beta(0.8, 0.8, documents)
    words = [random.choice(60, length, p=s * phi[0] + (1 - s) * phi[1]).astype(np.uint32) for s in share]
    found = Corpus.from_documents([[f"w{w:02}" for w in each] for each in words])
    return found.with_labels([repr(float(v)) for v in share + noise * random.standard_normal(documents)])


def trained(corpus: Corpus, **further: object) -> Run:
    own = {"target": "label", "task": "regression"} | dict(further.pop("own", {}))  # type: ignore[call-overload]
    options = Options(**{"topics": 4, "iterations": 20, "alpha_sum": 2.0, "model": "medlda", "own": own} | further)  # type: ignore[arg-type]
    return Run.start(corpus, options, Threads(1)).train()


def test_lambda_follows_the_length_of_documents() -> None:
    for length, expected in ((10, 20**0.5), (90, 180**0.5)):
        run = trained(rated(documents=60, length=length), iterations=1)
        (update,) = [update for update in run.chain.updates if update.name == "classifier"]
        assert update.tasks.weight == pytest.approx(expected)  # type: ignore[attr-defined]
    for documents, topics, expected in (
        (60, 12, 5.0),
        (60, 4, 80**0.5),
        (6, 12, 1.0),
    ):  # not more than documents a topic
        run = trained(rated(documents=documents), iterations=1, topics=topics)
        assert run.chain.updates[-1].tasks.weight == pytest.approx(expected)  # type: ignore[attr-defined]
    run = trained(rated(documents=60), iterations=1, own={"lambda_": 7.0})
    assert run.chain.updates[-1].tasks.weight == 7.0  # type: ignore[attr-defined]
    classes = rated(documents=60).with_labels(["a", "b"] * 30)
    run = trained(classes, iterations=1, own={"task": "multiclass"})
    assert run.chain.updates[-1].tasks.weight == 102.4  # type: ignore[attr-defined]


def test_noisy_numbers_are_predicted_better_than_with_the_lambda_of_classes() -> None:
    corpus, fresh = rated(1100, noise=0.5), rated(1100, noise=0.0)
    number = np.array([float(fresh.labels(d)[0]) for d in range(fresh.n_documents)])
    train, test = np.arange(1000), np.arange(1000, 1100)

    def error(**own: float) -> float:
        model = trained(corpus.select(train), iterations=40, own=own, start="soft").result().model
        return float(np.mean((np.array(model.infer(corpus.select(test)).predicted["value"]) - number[test]) ** 2))

    assert error() < 0.4 * error(lambda_=102.4)


@pytest.mark.parametrize("sampler", ["dense", "light"])
def test_a_soft_start(sampler: str) -> None:
    """It is made of the words alone; the classifiers find topics that tell something at their first sweep."""
    corpus = rated()
    first = {start: trained(corpus, start=start, sampler=sampler, trace_interval=1) for start in ("soft", "random")}
    assert first["soft"].chain.start == "soft" and first["soft"].chain.soft > 0
    loss = {start: run.chain.trace.columns["loss"] for start, run in first.items()}
    assert loss["soft"][0] < loss["random"][0]


def test_a_run_that_has_learnt_nothing_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rated().save("c")
    told = {}
    for name, weight in (("nothing", "0.001"), ("something", "10")):
        call = ["train", "c", "--model", "medlda", "--target", "label", "-k", "4", "--iterations", "15", "-o", "m"]
        with pytest.raises(SystemExit) as stop:
            main([*call, "--lambda", weight, "--nu", "1000" if name == "nothing" else "1"])
        assert not stop.value.code
        told[name] = capfd.readouterr().err
    assert "and that of a model that knows nothing of the targets 0." in told["nothing"]
    assert "knows nothing" not in told["something"]


def test_the_median_of_all_is_nothing_learnt() -> None:
    """Ratings most of which are the highest: a run whose scores are the median has a loss below that of zeros, and has
    learnt nothing all the same."""
    stars = [5.0] * 70 + [1.0] * 20 + [4.0] * 10
    run = trained(rated(documents=100).with_labels([repr(star) for star in stars]), iterations=2)
    state, options = run.chain.state, run.chain.options
    scaled = (np.array(stars) - np.mean(stars)) / np.std(stars)
    median = np.abs(scaled - np.median(scaled)).mean()
    assert median < 0.8 * np.abs(scaled).mean()
    (note,) = run.definition.notes_at_end(state, options, {"loss": 0.97 * median})
    assert f"knows nothing of the targets {median:.3g}"[:-1] in note
    assert not run.definition.notes_at_end(state, options, {"loss": 0.8 * median})
    twenty = rated(documents=100).with_labels([str(d % 20) for d in range(100)])
    run = trained(twenty, iterations=2, own={"task": "multiclass"})
    (note,) = run.definition.notes_at_end(run.chain.state, options, {"loss": 0.099})  # "no" of each class: 0.1
    assert "knows nothing of the targets 0.1:" in note
