"""A chain of a topic model: a plan of steps, the updates after each sweep, the trace's columns, what checkpoints keep.
The loop itself is `topicx.sampling.sweep_loop`. Samplers and models add nothing here: they are Methods and updates.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from topicx.engines.places import Places
from topicx.engines.threads import Engine
from topicx.errors import InputError, TopicxError
from topicx.files import container
from topicx.files.file_kinds import CHECKPOINT
from topicx.files.mapped_arrays import check_unchanged
from topicx.files.schema import Inconsistent, require_consistent
from topicx.sampling import random_streams, sampler_registry
from topicx.sampling.memory_needed import fitting_memory
from topicx.sampling.method import Method, Update
from topicx.sampling.run_length import RunLength
from topicx.sampling.run_options import Options
from topicx.sampling.starts import (
    SETTLING,
    begins_with_scvb0,
    choose_start,
    growth_of,
    has_long_documents,
    has_many_topics,
    hot_priors,
    hot_sweeps,
    is_thinned,
    place_first,
    soft_method,
    soft_part,
    soft_sweeps,
    soft_topics,
    thin_part,
)
from topicx.sampling.sweep_loop import Step, Trace, Training
from topicx.sampling.thinned_corpus import ThinnedCorpus
from topicx.sampling.updates.prior_fixed_points import LearnPriors
from topicx.state import NONE, State

GROWTH = ((0.02, 100), (0.04, 60), (0.08, 50), (0.16, 40), (0.32, 20), (0.6, 10))
"""A growing start: shares of the documents and the sweeps over each, before the whole corpus is swept."""


BEFORE = ("thin", "grow", "soft", "hot")
"""Steps before the first sweep over the whole corpus."""


def plan_steps(
    options: Options, start: str, soft: int = 0, hot: int = 0, sweeps: int | None = None,
    growth: Sequence[tuple[float, int]] = GROWTH, thin: tuple[float, int] = (1.0, 0),
    part: tuple[float, int] = (1.0, 0),
) -> list[Step]:  # fmt: skip
    """All steps of a run, in order: so that a checkpoint is a position in it. soft, hot: those of a start; growth: the
    parts with which it grows; thin: the share of the tokens with which it begins, and the sweeps over it; part: the
    share of the documents that a soft start has, and the hot sweeps over it; sweeps: how many there are, where not the
    options but the run itself says so."""
    sweeps = int(options.iterations) if sweeps is None else sweeps
    steps = [Step("thin", thin[0], 0)] * thin[1] + [Step("soft", part[0], 0)] * soft
    steps += [Step("hot", part[0], 0)] * part[1] + [Step("hot", 1.0, 0)] * (hot - part[1])
    if start == "growing":
        steps += [Step("grow", share, 0) for share, number in growth for _ in range(number)]
    if start in ("growing", "progressive"):
        steps.append(Step("grow", 1.0, 0))
    steps += [Step("sweep", 1.0, number + 1) for number in range(sweeps)]
    steps += [Step("icm", 1.0, sweeps + number + 1) for number in range(options.icm)]
    return steps


class Trained(Protocol):
    """What a chain asks of the model that is trained (see `topicx.models.definition`)."""

    def needs(self, options: Options) -> frozenset[str]:
        """What a sampler must be able to do."""
        ...

    def updates(self, options: Options, state: State) -> Sequence[Update]:
        """What happens between sweeps, in this order."""
        ...


class Plain:
    """No model beyond the state: any sampler, and the priors learnt as the options say."""

    def needs(self, options: Options) -> frozenset[str]:
        return frozenset()

    def updates(self, options: Options, state: State) -> Sequence[Update]:
        return [LearnPriors.of(options)]


class Chain(Training):
    """A method, its plan, and how far it has come."""

    def __init__(self, state: State, options: Options, engine: Engine, model: Trained | None = None) -> None:
        state.verify()
        model = model or Plain()
        self.options = options
        self.engine = engine
        needs = model.needs(options) | ({sampler_registry.GROUPS} if len(state.alpha) > 1 else frozenset())
        needs |= {sampler_registry.ALLOWED} if state.allowed is not None else frozenset()
        if options.paths != state.paths:
            raise InputError(f"paths: {options.paths} is not what the state has, {state.paths}")
        if state.paths > 1 and options.sampler == "auto":
            needs |= {sampler_registry.PATHS}  # one that was named is refused beside the option, below
        spread = _check_spread(options, needs, engine.places) if engine.places is not None else frozenset()
        self.sampler = sampler_registry.choose_sampler(
            options.sampler, needs | spread, f"the model {options.model}", state.n_topics
        )
        options.check_sampler(self.sampler)
        self.start = choose_start(state, options, self.sampler, needs)
        self.memory = fitting_memory(state, options, self.sampler, engine, self.start == "soft")
        thinned = is_thinned(state, options, self.start)
        self.thin = thin_part(state) if thinned else (1.0, 0)
        """The share of every document's tokens with which a soft start may begin, and the sweeps over it."""
        self.part = soft_part(state, options, self.start)
        """The share of the documents that a soft start may have, and the hot sweeps over it. None of them: each soft
        step has other documents."""
        self.soft = soft_sweeps(state, options) if self.start == "soft" else 0
        """Steps of a soft start: the plan begins with them, or they follow those sweeps."""
        self.hot = hot_sweeps(state, options, self.start)
        """Sweeps with a larger β after them."""
        self.learns_hot = options.ends_itself
        """Whether priors are learnt in them already, and α in the soft sweeps."""
        self.growth = growth_of(state) if options.ends_itself else GROWTH
        """The parts of the documents with which a growing start begins, and the sweeps over each."""
        self.length = _length_of(options, self.start, state)
        """Where the run ends, if it says so itself."""
        self.steps = self._plan()
        self.trace = Trace()
        self.figures: dict[str, float] = {}
        """What the updates said last."""
        self.notes: dict[str, Any] = {}
        """What the caller wants to find again when the chain is resumed."""
        self.start_arrays: dict[str, NDArray[Any]] = {}
        """Priors and side arrays that the next of several chains begins with: kept in checkpoints."""
        self.samples: dict[int, State] = {}
        """The states after these sweeps, which the model averages beside the last one (Options.samples)."""
        self.method: Method = self._method_of(state)
        self.updates = list(model.updates(options, state))

    @property
    def state(self) -> State:
        return self.method.state

    def _plan(self) -> list[Step]:
        """The steps, as far as they are known."""
        sweeps = self.length.planned if self.length else None
        return plan_steps(self.options, self.start, self.soft, self.hot, sweeps, self.growth, self.thin, self.part)

    @property
    def hardens(self) -> int:
        """The steps before every token has a topic of its own, where a start has such."""
        return self.thin[1] + self.soft

    @property
    def by_scvb0(self) -> bool:
        """Whether its soft steps are of SCVB0 on short documents: each has a part of them, and hot sweeps have not."""
        return self.part[0] < 1 and not self.part[1]

    @property
    def sweeps(self) -> int:
        """How many sweeps over the whole corpus the run makes, as far as it is known."""
        return self.length.planned if self.length else int(self.options.iterations)

    @property
    def work(self) -> float:
        """What the whole run costs, in sweeps over the whole corpus, as far as it is known."""
        return sum(step.share for step in self.steps)

    def _method_of(self, state: State) -> Method:
        """The method of the steps from the present position on."""
        share, thin = self.thin
        if self.position < thin:
            return ThinnedCorpus(state, self.options, self.engine, self.sampler.load(), share)
        if self.position < self.hardens and self.part[1]:
            from topicx.variational.first_documents import FirstDocuments

            return FirstDocuments(state, self.options, self.engine, self.part[0])
        if self.position < self.hardens:
            topics = state.n_topics if thin else soft_topics(state, self.options)
            return soft_method(state, topics, self.by_scvb0)(state, self.options, self.engine)
        if self.engine.places is None:
            return self.sampler.load()(state, self.options, self.engine)
        from topicx.sampling.ring.ring import Ring

        return Ring(cast(Any, self.sampler.load()), state, self.options, self.engine, self.engine.places)

    def _soften(self) -> None:
        """The end of sweeps over a part of the tokens: CVB0 begins with their topics and α, and finds those of all.
        β is what it was: with that of a part, many topics are less coherent (page "performance")."""
        state = self.method.sync()
        if self.options.optimize_interval and "beta" in self.options.optimize.split("+"):
            state.beta = np.full(state.n_words, float(self.options.beta))
        self.method = self._method_of(state)
        self.method.start(random=False)

    def _harden(self) -> None:
        """The end of a soft start: every token's topic is drawn, and the sampler takes over."""
        state = self.method.state
        state.z = self.method.drawn(
            random_streams.stream_key(self.options.seed, self.options.chain, random_streams.HARDEN)
        )
        del self.method  # its assignments are larger than all that the sampler needs
        self.method = self._method_of(state)
        self.method.start(random=True)

    @property
    def total(self) -> int:
        return len(self.steps)

    def begin(self) -> None:
        if self.position == 0 and self.start == "growing" and self.learns_hot:
            place_first(self.state, self.options, self.engine)
            self.method.start(random=True)  # which are there already
        elif self.position == 0:
            self.method.start(random=self.start in ("random", "state", "soft", "hot"))
        elif self._unrecorded_end():
            self.record(self.steps[-1], self.figures, last=True)

    def advance(self, most: int) -> tuple[Step, dict[str, float]]:
        step, position = self.steps[self.position], self.position
        check_unchanged(self.state.words)
        if step.kind == "icm":
            figures = self.method.maximise(position)
        elif step.kind == "hot":
            figures = self._sweep_hot(position, step.share)
        else:
            figures = self.method.sweep(position, step.share)
        if step.kind == "sweep":
            self._update(step.sweep + (self.hot if self.learns_hot else 0), position)
            if self.length and self.length.due(step.sweep):
                self.length.look(step.sweep, self.method.score())
                self.steps = self._plan()
                kept = self.options.sample_sweeps(self.sweeps)  # others were for an end that has not come
                self.samples = {sweep: sample for sweep, sample in self.samples.items() if sweep in kept}
            if step.sweep in self.options.sample_sweeps(self.sweeps):
                self.samples[step.sweep] = _copy_state(self.method.sync())
        if step.kind == "soft" and self.learns_hot:
            self._learn_soft(position)
        if step.kind in ("grow", "thin") and self.learns_hot:
            self._learn_from_part(position)
        self.position = position + 1
        if step.kind == "thin" and self.position == self.thin[1]:
            self._soften()
        if step.kind == "soft" and self.position == self.hardens:
            self._harden()
        if step.kind == "icm" and figures.get("changed") == 0:
            self.position = self.total  # nothing will change any more
        return step, figures | self.figures

    def _learn_soft(self, position: int) -> None:
        """α of topics that are still soft, of a run that learns its priors. Topics that were all alike until the first
        Gibbs sweep stay alike in size, and are less coherent (page "performance")."""
        what = {*self.options.optimize.split("+")} & {"alpha", "symmetric-alpha"}
        able = self.method.learns and not has_long_documents(self.state) and not self.thin[1]
        if self.options.optimize_interval and what and able:
            LearnPriors(1, -1, frozenset(what))(self.method, position)

    def _learn_from_part(self, position: int) -> None:
        """The updates that are due after a sweep over a part of the documents, or of their tokens, once these have
        settled. The first documents of a growing start need not: none came to others."""
        first = position
        while first and self.steps[first - 1].share == self.steps[position].share:
            first -= 1
        settled = first == 0 and self.steps[position].kind == "grow"
        if settled or position - first >= SETTLING:
            self._update(position + 1, position)

    def _sweep_hot(self, position: int, share: float) -> dict[str, float]:
        """A sweep with hotter priors, which are their own again afterwards. A run that ends by itself learns these, but
        not while documents that have just joined settle."""
        alpha, beta, number = self.state.alpha, self.state.beta, position - self.hardens
        self.method.set_priors(*hot_priors(self.state, self.options, number, self.hot, self.by_scvb0))
        figures = self.method.sweep(position, share)
        self.method.set_priors(alpha, beta)
        grown = self.part[1]
        settling = grown and grown <= number < grown + SETTLING
        if self.learns_hot and not settling:
            self._update(number + 1, position)
        return figures

    def _unrecorded_end(self) -> bool:
        """Whether the run was stopped at a sweep without a record, and is to end there now."""
        step = self.steps[-1]
        return self.position == self.total and step.kind == "sweep" and self.trace.last != step.sweep

    def _update(self, sweep: int, position: int) -> None:
        for number, update in enumerate(self.updates):
            if update.due(sweep):
                key = random_streams.stream_key(
                    self.options.seed, self.options.chain, random_streams.UPDATE, position, number
                )
                self.figures |= update(self.method, key)

    def record(self, step: Step, figures: dict[str, float], last: bool) -> float | None:
        due = step.kind not in BEFORE and step.sweep % self.options.trace_interval == 0
        if not (due or last):
            return None
        score = self.method.score()
        state = self.method.state
        row = {"sweep": float(step.sweep), "score": score, "seconds": self.seconds}
        row |= {"alpha_sum": float(state.alpha.sum(axis=1).mean()), "beta": float(state.beta.mean())}
        for name, value in row.items():
            if not math.isfinite(value):
                raise TopicxError(
                    f"sweep {step.sweep}: {name} is {value}: the numbers of this run have left what "
                    f"{self.sampler.name} can compute with; larger alpha and beta, or another sampler, may do"
                )
        self.trace.add(row | figures)
        return score

    # -- checkpoints -------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Everything that the next step depends on."""
        state = self.method.sync()
        arrays: dict[str, NDArray[Any]] = dict(state.arrays())
        arrays |= {f"method.{name}": array for name, array in self.method.arrays().items()}
        arrays |= {f"start.{name}": array for name, array in self.start_arrays.items()}
        for update in self.updates:
            arrays |= {f"update.{update.name}.{name}": array for name, array in update.arrays().items()}
        arrays |= {f"trace.{name}": array for name, array in self.trace.arrays().items()}
        for sweep, sample in self.samples.items():
            arrays |= {f"sample.{sweep}.{name}": getattr(sample, name) for name in ("z", "alpha", "beta")}
            arrays |= {f"side_sample.{sweep}.{name}": array for name, array in sample.side.items()}
        meta = {
            "options": self.options.to_meta(),
            "sampler": self.sampler.name,
            "start": self.start,
            **({"thin": list(self.thin)} if self.thin[1] else {}),
            **({"part": list(self.part)} if self.part[0] < 1 else {}),
            "soft": self.soft,
            "hot": self.hot,
            "position": self.position,
            "steps": len(self.steps),
            "seconds": round(self.seconds, 3),
            "figures": self.figures,
            **({"learns_hot": True} if self.learns_hot else {}),
            **({"length": self.length.to_meta()} if self.length else {}),
            "trace": list(self.trace.columns),  # in their order, which arrays of a file do not have
            "notes": self.notes,
            "state": state.meta,
        }
        container.write(path, CHECKPOINT, arrays, meta, state.parents)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        engine: Engine,
        iterations: int | str | None = None,
        model_of: Callable[[Options], Trained | None] = lambda options: None,
    ) -> Chain:
        """Continue from a checkpoint, perhaps to another number of sweeps. `model_of` knows the options' model."""
        file = container.read(path, CHECKPOINT)
        try:
            return cls._restored(file, engine, iterations, model_of)
        except Inconsistent as problem:
            raise InputError(f"{file.path}: the checkpoint is not consistent: it has {problem}") from None
        except KeyError as missing:
            raise InputError(f"{file.path}: the checkpoint lacks {missing}") from None

    @classmethod
    def _restored(
        cls, file: container.File, engine: Engine, iterations: int | str | None,
        model_of: Callable[[Options], Trained | None],
    ) -> Chain:  # fmt: skip
        meta = file.meta
        try:
            options = Options.from_meta(meta["options"] | {"sampler": meta["sampler"]})
        except (InputError, TypeError, ValueError) as error:
            raise InputError(f"{file.path}: the checkpoint's options: {error}") from None
        position, start, named = meta["position"], meta["start"], meta["options"]["sampler"]
        soft, hot = meta.get("soft", 0), meta.get("hot", 0)
        thin, part = (
            (float(share), int(number)) for share, number in (meta.get(name, (1.0, 0)) for name in ("thin", "part"))
        )
        state = State.from_file(replace(file, meta=meta["state"]))
        length = _restored_length(options, meta, state)
        growth = growth_of(state) if meta.get("learns_hot") is True else GROWTH
        steps = plan_steps(options, start, soft, hot, length.planned if length else None, growth, thin, part)
        require_consistent(position <= len(steps), f"position {position}, beyond the end of its plan")
        grown = any(step.kind not in ("grow", "thin") and step.share == 1 for step in steps[:position])
        require_consistent(state.paths == options.paths, f"{state.paths} paths, not {options.paths}")
        require_consistent(
            not grown or not bool((state.z == NONE).any()), "tokens without a topic, which have been swept"
        )
        if iterations is not None and iterations != options.iterations:
            _check_more(file.path, options, steps[:position], iterations)
            options, length = replace(options, iterations=iterations), None
        chain = cls(state, options, engine, model_of(options))
        chain.options = chain.method.options = replace(options, sampler=named)
        chain.start, chain.soft, chain.hot, chain.position, chain.length = start, soft, hot, position, length
        chain.learns_hot, chain.growth = meta.get("learns_hot") is True, growth
        chain.thin, chain.part = thin, part
        chain.steps = chain._plan()
        if position < chain.hardens:
            chain.method = chain._method_of(state)
        chain.seconds = float(meta["seconds"])
        chain.figures, chain.notes = dict(meta.get("figures", {})), dict(meta["notes"])
        chain.start_arrays = _arrays_under_prefix("start.", file.arrays)
        columns = {name: array.tolist() for name, array in _arrays_under_prefix("trace.", file.arrays).items()}
        order = {name: at for at, name in enumerate(meta.get("trace", []))}
        chain.trace = Trace(dict(sorted(columns.items(), key=lambda column: order.get(column[0], len(order)))))
        if position < len(chain.steps):
            chain.trace.keep(lambda sweep: sweep % options.trace_interval == 0)  # not what was the last sweep then
        chain._restore_samples(file)
        own = _arrays_under_prefix("method.", file.arrays)
        chain.method.verify_arrays(own)
        chain.method.restore(own)
        for update in chain.updates:
            update.restore(_arrays_under_prefix(f"update.{update.name}.", file.arrays))
        return chain

    def _restore_samples(self, file: container.File) -> None:
        """The samples that the file has, or the last state, if it is one now."""
        options, state = self.options, self.state
        done = max((step.sweep for step in self.steps[: self.position]), default=0)
        for sweep in options.sample_sweeps(self.sweeps):
            if f"sample.{sweep}.z" in file.arrays:
                kept = _arrays_under_prefix(f"sample.{sweep}.", file.arrays)
                side = _arrays_under_prefix(f"side_sample.{sweep}.", file.arrays)
                self.samples[sweep] = replace(state, z=kept["z"], alpha=kept["alpha"], beta=kept["beta"], side=side)
            elif sweep == done:
                self.samples[sweep] = _copy_state(state)
            elif sweep < done:
                least = done + (options.samples - 1) * options.lag
                raise InputError(
                    f"{file.path}: has no sample of sweep {sweep}, which its chain has passed; {options.samples} "
                    f"samples {options.lag} sweeps apart need at least {least} iterations"
                )


def _check_spread(options: Options, needs: frozenset[str], places: Places) -> frozenset[str]:
    """What a sampler must also be able to do on a cluster; InputError if no training like this can be spread."""
    if options.paths > 1:
        raise InputError("paths: on a cluster there is one: the assignments of others would be on every machine")
    able = sampler_registry.able_samplers(needs | {sampler_registry.TRAVELS})
    if sampler_registry.NEW_TOPICS in needs or not able:
        raise InputError(
            f"cluster: training of the model {options.model} is not spread: it needs more than one machine's documents "
            "and one block of words (search, chains and folds of it are, each on one machine)"
        )
    if places.number > 1 and not isinstance(options.partitions, str):
        raise InputError(
            f"partitions: on {places.number} workers the schedule has two levels, which are part of the result: "
            f"{places.number}x{places.threads}, say, for as many machines with so many threads each"
        )
    return frozenset({sampler_registry.TRAVELS})


def _arrays_under_prefix(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays whose names begin so, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _copy_state(state: State) -> State:
    """The state as it is now: what the chain changes is copied."""
    side = {name: array.copy() for name, array in state.side.items()}
    return replace(state, z=state.z.copy(), alpha=state.alpha.copy(), beta=state.beta.copy(), side=side)


def _length_of(options: Options, start: str, state: State) -> RunLength | None:
    """Where a run with this start ends, if it says so itself."""
    if not options.ends_itself:
        return None
    spread = (options.samples - 1) * options.lag
    scvb0 = begins_with_scvb0(state, options, start)
    long = has_long_documents(state)
    return RunLength.after(start, spread, many=has_many_topics(state, options), long=long, scvb0=scvb0)


def _restored_length(options: Options, meta: Mapping[str, Any], state: State) -> RunLength | None:
    """What a run that ends by itself knew of its end when it was saved."""
    length = _length_of(options, str(meta["start"]), state)
    if length:
        length.restore(meta["length"])
    return length


def _check_more(path: str, options: Options, past: Sequence[Step], iterations: int | str) -> None:
    """InputError unless a run that has made these steps can have this number of iterations."""
    if isinstance(iterations, str):
        raise InputError(f"iterations: a run of a given number of sweeps can't become one that ends by itself ({path})")
    done = len([step for step in past if step.kind not in BEFORE])
    if options.icm and done > int(options.iterations):
        raise InputError(f"{path}: the run has reached its last phase (icm) and cannot get more iterations")
    if done > iterations:
        raise InputError(f"{path}: has {done} iterations already, more than the {iterations} asked for")
