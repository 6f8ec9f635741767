"""MedLDA by Gibbs sampling: topics that classify, in linear time.

Zheng, Yu & Xing 2015, "Linear Time Samplers for Supervised Topic Models using Compositional Proposals"; the model is
that of Zhu, Chen, Perkins & Zhang 2014 (hinge, ε-insensitive) and Zhu, Zheng & Zhang 2013 (logistic). Beside its words,
a document has targets; classifiers over its topic shares and the topics are learnt together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.declare import choice_option, declare_option, declared_options, number_option, positive_option, whole_option
from topicx.errors import InputError
from topicx.estimate.side_by_side import MOST_TOPICS, join_models_side_by_side
from topicx.files.array_sizes import DOCUMENTS, TOPICS, as_size, beside
from topicx.files.file_kinds import FLOAT, HIGHEST
from topicx.files.schema import Array, require_consistent, string_arrays
from topicx.files.schema import is_whole_number as whole_number
from topicx.models.definition import Definition, Priors, initial_state
from topicx.models.label_calibration import chosen_documents, make_scores_comparable, shares_as_new
from topicx.models.targets import TASKS, classes_of, read_targets
from topicx.predict.reader import Read, SideBySide
from topicx.predict.sampling_plan import UsualSampling
from topicx.sampling import sampler_registry
from topicx.sampling.method import Update
from topicx.sampling.run_options import Options
from topicx.sampling.updates.classifier_draws import Classifier, Tasks, loss_of_constants, padded_columns
from topicx.sampling.updates.prior_fixed_points import LearnPriors
from topicx.state import State
from topicx.strings import Strings

if TYPE_CHECKING:
    from topicx.model import Model


TASK_COLUMNS, WIDTH = beside("tasks"), beside("width")
"""Classifiers, and the columns that their arrays have: filled up to whole vectors."""
CLASS_WEIGHT = 102.4
"""λ of classes and labels, where nobody says another: that of the paper's runs."""
LEARNT_NOTHING = 0.95
"""A loss of so much of that of scores that are the same for all documents, from which on nothing has been learnt."""


@dataclass(frozen=True)
class MedldaOptions:
    """The options of MedLDA."""

    task: str = choice_option(
        "auto", ("auto", *TASKS),
        help="What is predicted: one of two classes by one classifier, of many by one each, any number of labels, "
        "a number. auto: by the targets (two classes: multiclass).",
    )  # fmt: skip
    target: str | None = declare_option(
        None, str, optional=True, shown="the labels", metavar="COLUMN",
        help="The column of the corpus that holds the targets (time and label are columns, too).",
    )  # fmt: skip
    strategy: str = choice_option(
        "multitask", ("multitask", "one-vs-all"),
        help="Several classes: all classifiers over the same topics, or for each class a model of its own, of as many "
        "topics, that tells it from all others.",
    )  # fmt: skip
    family: str = choice_option("medlda", ("medlda", "slda"), help="slda: the logistic loss (supervised LDA).")
    loss: str = choice_option(
        "auto", ("auto", "hinge", "logistic", "epsilon"),
        help="auto: hinge for classes (slda: logistic), epsilon for numbers.",
    )  # fmt: skip
    lambda_: float | None = positive_option(
        None, optional=True, flags=("--lambda",), shown="102.4; numbers: √(2 × words a document)",
        help="λ: how much the targets weigh against the words.",
    )  # fmt: skip
    nu: float | None = positive_option(
        None, optional=True, shown="(λ / 1.6)²; logistic: λ / 2",
        help="ν: the precision of a weight's prior; larger keeps weights smaller.",
    )  # fmt: skip
    epsilon: float | None = number_option(
        None, 0, optional=True, shown="0.001 standard deviations of the targets",
        help="Errors up to here cost nothing (epsilon), in the target's own unit.",
    )  # fmt: skip
    gibbs_steps: int = whole_option(2, 1, 1000, help="Rounds over the weights between two sweeps (sampler light).")
    proposals: str = choice_option(
        "mixture", ("mixture", "cycle", "doc", "word", "exp"),
        help="How light combines its proposals: at random, by turns, or one of them alone.",
    )  # fmt: skip
    class_weight: str = choice_option(
        "none", ("none", "balanced"), help="balanced: rare classes weigh as much as frequent ones."
    )
    bias: bool | None = declare_option(
        None, bool, optional=True, shown="where several classes or labels share topics", flags=("--bias/--no-bias",),
        help="Give every classifier a bias term.",
    )  # fmt: skip
    weight_samples: int = whole_option(
        10, 1, 100_000, help="The draws of the weights, of the last sweeps, that are averaged."
    )
    weight_lag: int = whole_option(1, 1, help="Sweeps from one of these draws to the next.")

    def precision(self, loss: str, weight: float) -> float:
        """ν for this λ. Without one: that of weights of precision 1 and a margin of λ / 1.6, as in the paper;
        the logistic loss has no margin, and wants larger scores."""
        if self.nu is not None:
            return self.nu
        return weight / 2 if loss == "logistic" else (weight / 1.6) ** 2

    def loss_of(self, task: str) -> str:
        """The loss that is meant for a task, or InputError."""
        loss = self.loss
        if loss == "auto":
            loss = "epsilon" if task == "regression" else "logistic" if self.family == "slda" else "hinge"
        if (loss == "epsilon") != (task == "regression"):
            raise InputError(f"loss {loss} is not for the task {task}")
        if self.family == "slda" and loss != "logistic":
            raise InputError(f"family slda has the loss logistic, not {loss}")
        return loss


# Topics that tell classes apart are left slowly: where a chain starts matters more than its length. So nothing is drawn
# for a new document, and where samples are asked for there are several chains.
USUAL = UsualSampling(burn_in=20, chains=5, soft_sweeps=10, theta="cvb0")


class MedldaDefinition(Definition):
    """Topics and classifiers."""

    name: ClassVar[str] = "medlda"
    summary: ClassVar[str] = "topics that predict classes, labels or numbers (Zheng, Yu & Xing 2015)"
    Own: ClassVar[type] = MedldaOptions
    capabilities: ClassVar[frozenset[str]] = frozenset({sampler_registry.FACTOR})
    defaults: ClassVar[Mapping[str, Any]] = {"iterations": 100, "alpha_sum": 6.4}
    unfit: ClassVar[Mapping[str, str]] = {"paths": "its samplers have one assignment of the corpus"}
    elsewhere: ClassVar[str] = "'train --model medlda --folds 5 --try-topics 10,20,40' chooses what predicts best"
    joins: ClassVar[bool] = True

    def needs(self, options: Options) -> frozenset[str]:
        """Who says how to propose wants a sampler that does."""
        unsaid = MedldaOptions()
        said = self.own.proposals != unsaid.proposals or self.own.gibbs_steps != unsaid.gibbs_steps
        proposes = said or options.mh_steps != declared_options(options)["mh_steps"][1]
        return self.capabilities | (frozenset({sampler_registry.PROPOSALS}) if proposes else frozenset())

    def state(self, corpus: Corpus, options: Options, priors: Priors) -> State:
        own = self.own
        targets = read_targets(corpus, own.task, own.target)
        own.loss_of(targets.task)
        self._check_idle(targets.task, options)
        known = targets.known * (corpus.lengths > 0).astype(np.uint8)  # an empty document says nothing of topics
        side = targets.side() | {"supervised": known}
        state = initial_state(corpus, options, priors, side=side)
        if self.parts(state) * state.n_topics > MOST_TOPICS:
            raise InputError(
                f"topics: {state.n_topics:,} for each of {self.parts(state):,} classes are more than a model can have, "
                f"{MOST_TOPICS:,}"
            )
        state.side |= self.tasks(state, options).side(state.n_topics)
        state.meta["task"] = targets.task
        return state

    @staticmethod
    def side_arrays(own: Any, meta: Mapping[str, Any], finished: bool) -> tuple[Array, ...]:
        task = meta.get("task")
        if task not in TASKS:
            raise InputError(f"there is no task {task!r}")
        tasks = as_size(1) if task in ("binary", "regression") else TASK_COLUMNS
        classes = {"binary": as_size(2), "regression": as_size(0)}.get(str(task), TASK_COLUMNS)
        of_topics = partial(Array, types="float64", shape=(TOPICS + 1, tasks), low=-HIGHEST, high=HIGHEST)
        both = (
            Array("scale", "float64", 2, low=-HIGHEST, high=HIGHEST),
            *string_arrays("classes", classes, is_beside=True),
        )
        if finished:
            return (of_topics("eta"), of_topics("eta_spread", low=0), *both)
        wide = partial(of_topics, shape=(TOPICS + 1, WIDTH))
        of_documents = partial(Array, types="float32", shape=(DOCUMENTS, WIDTH), low=-FLOAT, high=FLOAT)
        return (
            Array("targets", "int8 float32", (DOCUMENTS, tasks), low=-FLOAT, high=FLOAT),
            Array("task", "int64", 1, low=TASKS.index(str(task)), high=TASKS.index(str(task))),
            Array("supervised", "uint8", DOCUMENTS, high=1), of_documents("pull"), of_documents("curve", low=0),
            wide("eta"), wide("eta_sum"), wide("eta_squares", low=0, high=HIGHEST**3),
            Array("eta_kept", "int64", 1, low=0), *both,
        )  # fmt: skip

    def _check_idle(self, task: str, options: Options) -> None:
        """InputError if an option was set that has no effect here."""
        given = {
            name for name, (_, default) in declared_options(self.own).items() if getattr(self.own, name) != default
        }
        idle = {
            "epsilon": (task != "regression", "is for regressions"),
            "class_weight": (task == "regression", "is for classes"),
            "strategy": (task not in ("multiclass", "multilabel"), "one-vs-all is for several classes"),
            "proposals": (options.sampler == "dense", "is for the sampler light"),
            "gibbs_steps": (options.sampler == "dense", "is for the sampler light: dense draws all weights together"),
            "weight_lag": (self.own.weight_samples == 1, "is for more than one of weight_samples"),
        }
        for name, (holds, why) in idle.items():
            if holds and name in given:
                raise InputError(f"{name} {why}")

    def tasks(self, state: State, options: Options) -> Tasks:
        """What the classifiers learn, from a state's side arrays."""
        own, side = self.own, state.side
        sampler = sampler_registry.choose_sampler(options.sampler, self.needs(options), topics=state.n_topics)
        task = task_of(side)
        targets = side["targets"]
        if self._alone(task):
            at = part_of(state, options.chain)
            targets = targets[:, at : at + 1]
        targets = np.ascontiguousarray(targets, np.float32)
        known = side["supervised"]
        require_consistent(float(side["scale"][1]) > 0, "a scale of targets that is not positive")
        up = down = np.ones(0)
        if own.class_weight == "balanced" and task != "regression":
            total = max(int(known.sum()), 1)
            positive = np.maximum((targets[known > 0] > 0).sum(axis=0), 1)
            up, down = total / (2 * positive), total / (2 * np.maximum(total - positive, 1))
        weight = self._target_weight(task, state)
        return Tasks(
            targets, known, own.loss_of(task), weight, up, down, self._epsilon(task, float(side["scale"][1])),
            own.precision(own.loss_of(task), weight), self._biased(side), own.gibbs_steps, sampler.name == "dense",
        )  # fmt: skip

    def _target_weight(self, task: str, state: State) -> float:
        """λ. Without one: of numbers more where documents are longer, whose words say more; it was chosen on film
        reviews, paragraphs of speeches and papers (docs/reference/models/medlda.md)."""
        if self.own.lambda_ is not None:
            return float(self.own.lambda_)
        if task != "regression":
            return CLASS_WEIGHT
        return float(np.sqrt(2 * state.n_tokens / max(int((state.lengths > 0).sum()), 1)))

    def _epsilon(self, task: str, spread: float) -> float:
        """Errors that cost nothing, in standard deviations of the targets."""
        if self.own.epsilon is None:
            return 0.001
        if task == "regression" and self.own.epsilon >= spread:
            raise InputError(
                f"epsilon: {self.own.epsilon:g} is as much as the targets' standard deviation, {spread:.3g}: "
                "nothing would be learnt"
            )
        return float(self.own.epsilon) / spread

    def _biased(self, side: Mapping[str, NDArray[Any]]) -> bool:
        """Whether classifiers have a bias. Where many classes share topics each is rare, and the best that topics which
        tell nothing can say is "no", which all weights together would have to say against their prior: sweeps go by
        before any of them says more. Beside topics of a class's own a bias is mostly noise: any does that separates the
        training documents, whose shares are sharper than those of new ones."""
        if self.own.bias is not None:
            return self.own.bias
        task, number = task_of(side), side["targets"].shape[1]
        return not self._alone(task) and (task == "multilabel" or (task == "multiclass" and number > 2))

    def _alone(self, task: str) -> bool:
        """Whether every class has a model of its own."""
        return self.own.strategy == "one-vs-all" and task in ("multiclass", "multilabel")

    def parts(self, state: State) -> int:
        """A part a class, where every class has a model of its own."""
        return int(state.side["targets"].shape[1]) if self._alone(task_of(state.side)) else 1

    def of_part(self, state: State, part: int) -> State:
        return replace(state, meta=state.meta | {"part": part}) if self._alone(task_of(state.side)) else state

    def updates(self, options: Options, state: State) -> Sequence[Update]:
        own, side = self.own, state.side
        width = padded_columns(1 if self._alone(task_of(side)) else side["targets"].shape[1])
        require_consistent(
            side["eta"].shape[1] == side["pull"].shape[1] == width, "weights for another number of targets"
        )
        keep = range(int(options.iterations), 0, -own.weight_lag)[: own.weight_samples]
        return [LearnPriors.of(options), Classifier(self.tasks(state, options), frozenset(keep))]

    def notes_at_end(self, state: State, options: Options, figures: Mapping[str, float]) -> list[str]:
        """A word for a run whose classifiers are no better than none."""
        tasks = self.tasks(state, options)
        nothing = loss_of_constants(tasks, task_of(state.side))
        if not figures.get("loss", 0.0) > LEARNT_NOTHING * nothing:
            return []
        return [
            f"the loss is {figures['loss']:.3g}, and that of a model that knows nothing of the targets {nothing:.3g}: "
            "more sweeps, --start soft or another --lambda may help"
        ]

    def pooled_side(
        self, sides: Sequence[Mapping[str, NDArray[Any]]], orders: Sequence[NDArray[np.int64]]
    ) -> dict[str, NDArray[Any]]:
        """The draws of the weights of all states (their last ones, where none were kept), as those of one."""
        found = dict(sides[0])
        for name, power in (("eta_sum", 1), ("eta_squares", 2)):
            found[name] = np.sum([
                (side[name] if side["eta_kept"][0] else side["eta"] ** power)[np.append(order, len(order))]
                for side, order in zip(sides, orders, strict=True)
            ], axis=0)  # fmt: skip
        found["eta_kept"] = np.array([sum(max(int(side["eta_kept"][0]), 1) for side in sides)], np.int64)
        return found

    def finish(self, state: State, model: Model, samples: Sequence[State]) -> None:
        super().finish(state, model, samples)
        side = state.side
        task = task_of(side)
        number = side["targets"].shape[1]
        width = 1 if self._alone(task) else number
        kept = max(int(side["eta_kept"][0]), 1)
        mean = side["eta_sum"][:, :width] / kept if side["eta_kept"][0] else side["eta"][:, :width].copy()
        spread = np.sqrt(np.maximum(side["eta_squares"][:, :width] / kept - mean**2, 0))
        if task == "multilabel":
            mean, spread = self._comparable(state, model, mean, spread)
        if self._alone(task):  # one of `number` models whose scores are averaged (eq. 25)
            whole = np.zeros((2, len(mean), number))
            whole[:, :, part_of(state, model.meta["options"]["chain"])] = number * mean[:, 0], number * spread[:, 0]
            mean, spread = whole
        model.side |= {"eta": np.ascontiguousarray(mean), "eta_spread": np.ascontiguousarray(spread)}
        model.side |= {"scale": side["scale"], **Strings.of(classes_of(side)).arrays("classes")}
        model.meta["task"] = task
        model.meta.pop("part", None)

    def _comparable(
        self, state: State, model: Model, mean: NDArray[np.float64], spread: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weights of labels whose scores can be compared, and the same for their spread."""
        chosen = chosen_documents(state.side["supervised"], mean.shape[1])
        scores = scores_of(mean, shares_as_new(state, model, chosen, USUAL.soft_sweeps))
        targets = state.side["targets"][chosen]
        if self._alone("multilabel"):
            at = part_of(state, model.meta["options"]["chain"])
            targets = targets[:, at : at + 1]
        factor, term = make_scores_comparable(scores, targets > 0)
        mean, spread = mean * factor, spread * np.abs(factor)
        mean[-1] += term
        return mean, spread

    def joined(self, before: Model, chains: int, model: Model) -> Model:
        both = join_models_side_by_side(before, model)
        both.side = dict(model.side)
        for name in ("eta", "eta_spread"):  # the last row is the bias
            first, second = before.side[name], model.side[name]
            last = (chains * first[-1] + second[-1]) / (chains + 1)
            both.side[name] = np.ascontiguousarray(np.vstack([first[:-1], second[:-1], last]))
        both.meta = model.meta | {"chains": chains + 1}
        return both

    def verify(self, model: Model) -> None:
        blocks = model.meta.get("chains", 1)
        if not (whole_number(blocks, 1, MOST_TOPICS) and model.n_topics % blocks == 0):
            raise InputError(f"the model has {model.n_topics} topics, which are not of {blocks!r} chains")
        eta = model.side.get("eta")
        if eta is None or eta.ndim != 2 or len(eta) != model.n_topics + 1:
            raise InputError(f"the model's weights are not those of {model.n_topics} topics")

    # -- new documents -----------------------------------------------------------------------------------------

    def reader(self, model: Model) -> MedldaReader:
        return MedldaReader(model)


class MedldaReader(SideBySide):
    """Documents with the class, the labels or the value that their topics' shares say."""

    def __init__(self, model: Model) -> None:
        number = int(model.meta.get("chains", 1))
        # Models of several chains are an average already.
        super().__init__(model, number, replace(USUAL, chains=1) if number > 1 else USUAL)
        self.model = model

    def predicted_columns(self) -> dict[str, type]:
        """Columns of a prediction: class and score; labels and scores; or value."""
        task = str(self.model.meta["task"])
        if task == "regression":
            return {"value": float}
        return {"labels": list, "scores": list} if task == "multilabel" else {"class": str, "score": float}

    def predict(self, read: Read) -> Sequence[Sequence[Any]]:
        """The columns of new documents; of several labels those that are predicted, with their scores."""
        return predict_rows(self.model, read.theta)


def predict_rows(model: Model, theta: NDArray[np.float32]) -> Sequence[Sequence[Any]]:
    """What the model predicts of documents with these topic shares: the values of each of the reader's columns."""
    task, scores, names = str(model.meta["task"]), decision_scores(model, theta), classes_of(model.side)
    if task == "regression":
        return [scores[:, 0].tolist()]
    if task == "multilabel":
        chosen = labels_of(scores)
        labels = [[names[label] for label in ranked] for ranked in chosen]
        return [labels, [[f"{scores[d, label]:.6f}" for label in ranked] for d, ranked in enumerate(chosen)]]
    best = (scores[:, 0] > 0).astype(int) if task == "binary" else scores.argmax(axis=1)
    return [[names[i] for i in best.tolist()], scores.max(axis=1).tolist()]


def part_of(state: State, chain: int) -> int:
    """The class that a chain of one-vs-all tells from all others. Older states say it by their chain's number."""
    number = state.side["targets"].shape[1]
    part = int(state.meta.get("part", chain % number))
    require_consistent(part < number, f"the part {part} of a model of {number} classes")
    return part


def task_of(side: Mapping[str, NDArray[Any]]) -> str:
    """The task, from the side arrays of a state."""
    if "task" not in side:
        raise InputError("the state of another model has no targets to learn: the model medlda begins with a corpus")
    return TASKS[int(side["task"][0])]


def decision_scores(model: Model, theta: NDArray[Any]) -> NDArray[np.float64]:
    """The scores of documents with these topic shares: a column per task; of a regression the values."""
    scores = scores_of(model.side["eta"], theta)
    if str(model.meta["task"]) == "regression":
        mean, spread = model.side["scale"]
        scores = mean + spread * scores
    return np.asarray(scores)


def scores_of(eta: NDArray[np.float64], theta: NDArray[Any]) -> NDArray[np.float64]:
    """θ·η and the bias, the last row of η."""
    shares = np.asarray(theta, np.float64)
    scores = np.repeat(eta[-1:], len(shares), axis=0)
    for topic in range(shares.shape[1]):  # not a matrix product: its last bits depend on the processor and the batch
        scores += shares[:, topic, None] * eta[topic]
    return np.asarray(scores)


def labels_of(scores: NDArray[np.float64]) -> list[list[int]]:
    """The labels of each document: those of a score above 0, the highest first; the highest alone where none is."""
    order = np.argsort(-scores, axis=1, kind="stable")
    numbers = np.maximum((scores > 0).sum(axis=1), 1)
    return [order[d, :n].tolist() for d, n in enumerate(numbers)]
