"""Compound LDA (George, Xia & Michailidis 2019): collections with topic proportions π_j of their own over common
topics.

    π_j ~ Dirichlet(α, …, α),    θ_jd ~ Dirichlet(γ π_j),    φ_k ~ Dirichlet(β)

A collection is a group of documents with α_j = γ π_j: any sampler that knows groups draws the topics of the words. π is
renewed between sweeps (topicx.sampling.updates.group_proportions, topicx.variational.vem).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.corpus.slices import even_slices
from topicx.corpus.table import Times
from topicx.declare import choice_option, positive_option, whole_option
from topicx.errors import InputError
from topicx.estimate.topic_edits import sum_merged_columns
from topicx.files.array_sizes import PRIOR_GROUPS, TOPICS, size_beside
from topicx.files.file_kinds import COUNT, FINITE, HIGHEST, LOWEST
from topicx.files.schema import Array
from topicx.models.definition import Definition, Priors, initial_state
from topicx.sampling.method import Update
from topicx.sampling.run_options import Options
from topicx.sampling.sampler_registry import BOUND, GROUPS, SAMPLES
from topicx.sampling.updates.group_proportions import Auxiliary, Langevin
from topicx.sampling.updates.prior_fixed_points import LEAST, LearnScale
from topicx.state import State

if TYPE_CHECKING:
    from topicx.model import Model

KINDS = {"ags": Auxiliary, "mgs": Langevin}
NONE_NAME = "(none)"
"""The collection of documents that have none."""


@dataclass(frozen=True)
class CompoundOptions:
    """The options of compound LDA."""

    pi: str = choice_option(
        "ags", ("ags", "mgs", "vem"),
        help="How the collections' topic proportions are found: ags (auxiliary numbers of tables; mixes best), mgs "
        "(Metropolis-adjusted Langevin steps), vem (variational EM; with the sampler vem).",
    )  # fmt: skip
    gamma: float = positive_option(1.0, help="γ: how closely documents follow their collection's proportions.")
    pi_alpha: float = positive_option(1.0, help="α of the Dirichlet from which a collection's proportions come.")
    spans: int = whole_option(
        0, 0, 1000, help="Make the collections of the documents' times: so many spans of about as many documents each "
        "(0: the corpus's own collections).",
    )  # fmt: skip
    pi_burn_in: int = whole_option(
        100, 0, help="Sweeps before draws of π are kept (for means and intervals); until then mgs adapts its steps."
    )


class Compound(Definition):
    """Collections over common topics."""

    name: ClassVar[str] = "compound"
    summary: ClassVar[str] = "compound LDA: topic proportions for each collection, over common topics"
    Own: ClassVar[type] = CompoundOptions
    unfit: ClassVar[Mapping[str, str]] = {
        "alpha": "documents' α is γπ of their collection: give gamma and pi_alpha",
        "alpha_sum": "documents' α is γπ of their collection: give gamma and pi_alpha",
    }

    def needs(self, options: Options) -> frozenset[str]:
        return frozenset({GROUPS, BOUND if self.own.pi == "vem" else SAMPLES})

    def state(self, corpus: Corpus, options: Options, priors: Priors) -> State:
        groups, names = spans_of(corpus, self.own.spans) if self.own.spans else collections_with_rest(corpus)
        pi = np.full((len(names), options.topics), 1 / options.topics)
        side = self._side(pi, self.own.gamma) | {"times": mean_times(corpus, groups, len(names))}
        return initial_state(
            corpus, options, priors, alpha=self.own.gamma * pi, groups=groups, group_names=names, side=side
        )  # fmt: skip

    def _side(self, pi: NDArray[np.float64], gamma: float) -> dict[str, NDArray[Any]]:
        side: dict[str, NDArray[Any]] = {"pi": pi, "scale": np.array([gamma])}
        if self.own.pi == "vem":
            alpha = self.own.pi_alpha
            side |= {"concentration": np.array([alpha]), "precision": np.full(len(pi), pi.shape[1] * max(alpha, 1.0))}
        return side

    @staticmethod
    def side_arrays(own: Any, meta: Mapping[str, Any], finished: bool) -> tuple[Array, ...]:
        vem = own.pi == "vem"
        found = (
            Array("pi", "float64", (PRIOR_GROUPS, TOPICS), low=0.99 * LEAST if vem else 0, high=1.000001),
            Array("scale", "float64", 1, low=LOWEST, high=HIGHEST),
            Array("times", "float64", PRIOR_GROUPS, low=-FINITE, high=FINITE, nan=True, required=False),
            Array(
                "pi_draws",
                "float32",
                (size_beside("draws"), PRIOR_GROUPS, TOPICS),
                low=0,
                high=1.000001,
                required=False,
            ),
            Array("phi", "float64", (PRIOR_GROUPS, TOPICS), low=-HIGHEST, high=HIGHEST, required=False),
        )
        if finished:
            return (*found, Array("documents", "int64", PRIOR_GROUPS, low=0, high=COUNT))
        return (
            *found,
            Array("concentration", "float64", 1, low=LOWEST, high=HIGHEST, required=vem),
            Array("precision", "float64", PRIOR_GROUPS, low=LOWEST, high=HIGHEST, required=vem),
        )

    def updates(self, options: Options, state: State) -> Sequence[Update]:
        if "pi" not in state.side:  # a state of another model
            sums = state.alpha.sum(axis=1)
            state.side |= self._side(state.alpha / sums[:, None], float(sums.mean()))
        if not np.all(np.abs(state.side.get("phi", np.ones((1, 1)))).sum(axis=1) > 0):
            raise InputError("the state is not consistent: it has φ of a collection that are all 0")
        what = frozenset(options.optimize.split("+"))
        if "symmetric-alpha" in what:
            raise InputError("optimize: symmetric-alpha is not for the model compound; alpha learns its γ")
        if self.own.pi == "vem":
            from topicx.variational.vem import Maximise

            return [Maximise(options.optimize_interval, options.optimize_burn_in, what)]
        return [KINDS[self.own.pi](self.own.pi_alpha, self.own.pi_burn_in), LearnScale.of(options)]

    def merged_side(self, side: Mapping[str, NDArray[Any]], target: NDArray[np.uint16]) -> dict[str, NDArray[Any]]:
        """Proportions of topics add up."""
        further = set(side) - {"pi", "pi_draws", "scale", "times", "documents"}
        if further:
            raise InputError(f"merge: a model {self.name} knows its topics by number ({min(further)})")
        return {
            name: sum_merged_columns(one, target) if name in ("pi", "pi_draws") else one for name, one in side.items()
        }

    def pooled_side(
        self, sides: Sequence[Mapping[str, NDArray[Any]]], orders: Sequence[NDArray[np.int64]]
    ) -> dict[str, NDArray[Any]]:
        """The mean of π and γ, and the draws of all states."""
        pairs = list(zip(sides, orders, strict=True))
        found = dict(sides[0])
        found["pi"] = np.mean([side["pi"][:, order] for side, order in pairs], axis=0)
        found["scale"] = np.mean([side["scale"] for side in sides], axis=0)
        if all(len(side.get("pi_draws", ())) for side in sides):
            found["pi_draws"] = np.concatenate([side["pi_draws"][:, :, order] for side, order in pairs])
        else:
            found.pop("pi_draws", None)
        return found

    def finish(self, state: State, model: Model, samples: Sequence[State]) -> None:
        """α of the model is γ times the mean of π over the draws that the chain kept."""
        super().finish(state, model, samples)
        side = state.side
        model.side = {name: side[name] for name in ("pi", "scale", "pi_draws", "times") if name in side}
        if len(side.get("pi_draws", ())):
            model.side["pi"] = side["pi_draws"].astype(np.float64).mean(axis=0)
        sizes = np.bincount(state.groups, minlength=len(state.alpha))
        model.side["documents"] = sizes.astype(np.int64)
        model.alpha = np.maximum(float(side["scale"][0]) * model.side["pi"], LEAST)


def collections_with_rest(corpus: Corpus) -> tuple[NDArray[np.uint32], list[str]]:
    """The collection of each document, and all names; documents without one are together in one more."""
    names = list(corpus.collection_names)
    if not len(corpus.collection) or not np.any(corpus.collection >= 0):
        raise InputError(
            "the corpus has no collections, which the model compound compares: import it with --collection-field "
            "(or from a folder of folders)"
        )
    return _with_the_rest(corpus.collection.astype(np.int64), names)


def spans_of(corpus: Corpus, number: int) -> tuple[NDArray[np.uint32], list[str]]:
    """Spans of time with about as many documents each; documents of one time are together."""
    times = corpus.table.get("time")
    if not isinstance(times, Times) or not np.isfinite(times.values).any():
        raise InputError("spans: no document of the corpus has a time; import it with --time-field")
    found = even_slices(times, number, "spans")
    return _with_the_rest(found.of_documents(corpus.n_documents), found.names)


def _with_the_rest(groups: NDArray[np.int64], names: list[str]) -> tuple[NDArray[np.uint32], list[str]]:
    if np.any(groups < 0):
        groups = np.where(groups < 0, len(names), groups)
        names = [*names, NONE_NAME]
    return groups.astype(np.uint32), names


def mean_times(corpus: Corpus, groups: NDArray[np.uint32], number: int) -> NDArray[np.float64]:
    """The mean time of each group's documents, NaN where none has one."""
    times = corpus.table.get("time")
    if not isinstance(times, Times):
        return np.full(number, np.nan)
    known = np.isfinite(times.values)
    counts = np.bincount(groups[known], minlength=number)
    sums = np.bincount(groups[known], times.values[known], number)
    result: NDArray[np.float64] = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return result
