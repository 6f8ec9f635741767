"""MedLDA by Gibbs sampling: topics that classify, in linear time.

Zheng, Yu & Xing 2015, "Linear Time Samplers for Supervised Topic Models using Compositional Proposals"; the model is
that of Zhu, Chen, Perkins & Zhang 2014 (hinge, ε-insensitive) and Zhu, Zheng & Zhang 2013 (logistic). Beside its words,
a document has targets; classifiers over its topic shares and the topics are learnt together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.declare import choice_option, declare_option, declared_options, number_option, positive_option, whole_option
from topicx.errors import InputError
from topicx.estimate.side_by_side import MOST_TOPICS, join_models_side_by_side
from topicx.files.schema import Array, require_consistent
from topicx.files.schema import is_whole_number as whole_number
from topicx.models.definition import Definition, Priors, initial_state
from topicx.models.label_calibration import chosen_documents, make_scores_comparable, shares_as_new
from topicx.models.targets import read_targets
from topicx.predict.reader import Read, SideBySide
from topicx.predict.sampling_plan import UsualSampling
from topicx.sampling import sampler_registry
from topicx.sampling.method import Update
from topicx.sampling.run_options import Options
from topicx.sampling.updates.classifier_draws import Classifier, Tasks, loss_of_constants
from topicx.sampling.updates.medlda_state import (
    TASKS,
    ClassifierState,
    LearntClassifiers,
    MedldaState,
    learnt_classifiers_schema,
    medlda_state_schema,
    padded_columns,
    scores_of_shares,
    task_of,
)
from topicx.sampling.updates.prior_fixed_points import LearnPriors
from topicx.state import State
from topicx.strings import Strings

if TYPE_CHECKING:
    from topicx.model import Model


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
        state = initial_state(corpus, options, priors)
        classifiers = targets.matrix.shape[1]
        parts = classifiers if self._alone(targets.task) else 1
        if parts * state.n_topics > MOST_TOPICS:
            raise InputError(
                f"topics: {state.n_topics:,} for each of {parts:,} classes are more than a model can have, "
                f"{MOST_TOPICS:,}"
            )
        begun = ClassifierState.begun(known, state.n_topics, 1 if self._alone(targets.task) else classifiers)
        state.side = MedldaState(
            **begun.arrays(), task=targets.task, targets=targets.matrix,
            scale=np.array([targets.mean, targets.spread]), classes=Strings.of(targets.classes),
        ).side()  # fmt: skip
        self.tasks(state, options)  # InputError, where the options do not fit the targets
        state.meta["task"] = targets.task
        return state

    @staticmethod
    def side_arrays(own: Any, meta: Mapping[str, Any], finished: bool) -> tuple[Array, ...]:
        schema = learnt_classifiers_schema if finished else medlda_state_schema
        return tuple(schema(meta.get("task", "")).declared())

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
        own, held = self.own, MedldaState.of(state.side)
        sampler = sampler_registry.choose_sampler(options.sampler, self.needs(options), topics=state.n_topics)
        task, known, targets, spread = held.task, held.supervised, held.targets, held.spread
        if self._alone(task):
            at = part_of(state, options.chain)
            targets = targets[:, at : at + 1]
        targets = np.ascontiguousarray(targets, np.float32)
        up = down = np.ones(0)
        if own.class_weight == "balanced" and task != "regression":
            total = max(int(known.sum()), 1)
            positive = np.maximum((targets[known > 0] > 0).sum(axis=0), 1)
            up, down = total / (2 * positive), total / (2 * np.maximum(total - positive, 1))
        weight = self._target_weight(task, state)
        return Tasks(
            targets, known, own.loss_of(task), weight, up, down, self._epsilon(task, spread),
            own.precision(own.loss_of(task), weight), self._biased(held), own.gibbs_steps, sampler.name == "dense",
        )  # fmt: skip

    def _target_weight(self, task: str, state: State) -> float:
        """λ. Without one: of numbers more where documents are longer, whose words say more, but not more than there are
        documents a topic: few documents are learnt by heart. It was chosen on film reviews, paragraphs of speeches,
        papers and made-up documents (docs/reference/models/medlda.md)."""
        if self.own.lambda_ is not None:
            return float(self.own.lambda_)
        if task != "regression":
            return CLASS_WEIGHT
        by_words = np.sqrt(2 * state.n_tokens / max(int((state.lengths > 0).sum()), 1))
        by_topics = int((state.side["supervised"] > 0).sum()) / state.n_topics
        return float(max(min(by_words, by_topics), 1.0))

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

    def _biased(self, held: MedldaState) -> bool:
        """Whether classifiers have a bias. Where many classes share topics each is rare, and the best that topics which
        tell nothing can say is "no", which all weights together would have to say against their prior: sweeps go by
        before any of them says more. Beside topics of a class's own a bias is mostly noise: any does that separates the
        training documents, whose shares are sharper than those of new ones."""
        if self.own.bias is not None:
            return self.own.bias
        task, number = held.task, held.n_classifiers
        return not self._alone(task) and (task == "multilabel" or (task == "multiclass" and number > 2))

    def _alone(self, task: str) -> bool:
        """Whether every class has a model of its own."""
        return self.own.strategy == "one-vs-all" and task in ("multiclass", "multilabel")

    def parts(self, state: State) -> int:
        """A part a class, where every class has a model of its own."""
        held = MedldaState.of(state.side)
        return held.n_classifiers if self._alone(held.task) else 1

    def of_part(self, state: State, part: int) -> State:
        return replace(state, meta=state.meta | {"part": part}) if self._alone(task_of(state.side)) else state

    def updates(self, options: Options, state: State) -> Sequence[Update]:
        own, held = self.own, MedldaState.of(state.side)
        width = padded_columns(1 if self._alone(held.task) else held.n_classifiers)
        require_consistent(held.width == held.pull.shape[1] == width, "weights for another number of targets")
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
        total = kept = squares = 0
        for side, order in zip(sides, orders, strict=True):
            rows = np.append(order, len(order))  # the last one is the bias
            sums, squared, number = ClassifierState.of_side(side).sums_of_draws()
            total, squares, kept = total + sums[rows], squares + squared[rows], kept + number
        pooled = replace(
            MedldaState.of(sides[0]), eta_sum=np.asarray(total), eta_squares=np.asarray(squares),
            eta_kept=np.array([kept], np.int64),
        )  # fmt: skip
        return dict(sides[0]) | pooled.side()

    def finish(self, state: State, model: Model, samples: Sequence[State]) -> None:
        super().finish(state, model, samples)
        held = MedldaState.of(state.side)
        task, number = held.task, held.n_classifiers
        mean, spread = held.mean_and_spread(1 if self._alone(task) else number)
        if task == "multilabel":
            mean, spread = self._comparable(state, held, model, mean, spread)
        if self._alone(task):  # one of `number` models whose scores are averaged (eq. 25)
            whole = np.zeros((2, len(mean), number))
            whole[:, :, part_of(state, model.meta["options"]["chain"])] = number * mean[:, 0], number * spread[:, 0]
            mean, spread = whole
        mean, spread = np.ascontiguousarray(mean), np.ascontiguousarray(spread)
        model.side |= LearntClassifiers(mean, spread, held.scale, held.classes, task).side()
        model.meta["task"] = task
        model.meta.pop("part", None)

    def _comparable(
        self, state: State, held: MedldaState, model: Model, mean: NDArray[np.float64], spread: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weights of labels whose scores can be compared, and the same for their spread."""
        chosen = chosen_documents(held.supervised, mean.shape[1])
        scores = scores_of_shares(mean, shares_as_new(state, model, chosen, USUAL.soft_sweeps))
        targets = held.targets[chosen]
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
    learnt = classifiers_of(model)
    task, scores, names = learnt.task, learnt.scores(theta), list(learnt.classes)
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


def classifiers_of(model: Model) -> LearntClassifiers:
    """What the model has learnt to predict."""
    return LearntClassifiers.of(model.side, str(model.meta["task"]))


def labels_of(scores: NDArray[np.float64]) -> list[list[int]]:
    """The labels of each document: those of a score above 0, the highest first; the highest alone where none is."""
    order = np.argsort(-scores, axis=1, kind="stable")
    numbers = np.maximum((scores > 0).sum(axis=1), 1)
    return [order[d, :n].tolist() for d, n in enumerate(numbers)]
