"""The hierarchical Dirichlet process (Teh, Jordan, Beal & Blei 2006): as many topics as the corpus asks for.

The sampler draws the topics of words under α_k = α π_k over the topics there are and some spare ones; between sweeps
topics die and are born (topicx.sampling.updates.hdp_topics).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.declare import flag_option, positive_option
from topicx.errors import InputError
from topicx.files.file_kinds import HIGHEST, LOWEST
from topicx.files.schema import Array
from topicx.models.definition import Definition, Priors, initial_state
from topicx.sampling.method import Update
from topicx.sampling.run_options import Options
from topicx.sampling.sampler_registry import NEW_TOPICS
from topicx.sampling.updates.hdp_topics import Franchise
from topicx.sampling.updates.prior_fixed_points import LearnPriors
from topicx.state import NONE, State

if TYPE_CHECKING:
    from topicx.model import Model


@dataclass(frozen=True)
class HdpOptions:
    """The options of the hierarchical Dirichlet process."""

    hdp_alpha: float = positive_option(1.0, help="α: how many topics a document has; where learning begins.")
    hdp_gamma: float = positive_option(1.0, help="γ: how many topics there are at all; where learning begins.")
    fixed_concentrations: bool = flag_option(
        help="Keep both as they are; otherwise they are drawn anew after each sweep."
    )
    prior_shape: float = positive_option(1.0, help="Shape of the gamma priors of both concentrations.")
    prior_rate: float = positive_option(1.0, help="Rate of these priors.")


class HierarchicalDirichletProcess(Definition):
    """Topics that are born and die."""

    name: ClassVar[str] = "hdp"
    summary: ClassVar[str] = (
        "hierarchical Dirichlet process: the number of topics is found; --topics is where it starts"
    )
    Own: ClassVar[type] = HdpOptions
    capabilities: ClassVar[frozenset[str]] = frozenset({NEW_TOPICS})
    unfit: ClassVar[Mapping[str, str]] = {
        "alpha": "α_k is drawn for every topic: give hdp_alpha and hdp_gamma",
        "alpha_sum": "α_k is drawn for every topic: give hdp_alpha and hdp_gamma",
        "paths": "its samplers have one assignment of the corpus",
        "samples": "states of the chain have different topics: there is no average of them",
    }
    elsewhere: ClassVar[str] = "it finds the number of topics while it is trained"

    def state(self, corpus: Corpus, options: Options, priors: Priors) -> State:
        if priors.seed_words:
            raise InputError("seed words are of numbered topics, and those of the model hdp are born and die")
        alpha, gamma = self.own.hdp_alpha, self.own.hdp_gamma
        return initial_state(
            corpus, options, priors, alpha=np.full((1, options.topics), alpha / (options.topics + 1)),
            side={"concentrations": np.array([alpha, gamma])},
        )  # fmt: skip

    @staticmethod
    def side_arrays(own: Any, meta: Mapping[str, Any], finished: bool) -> tuple[Array, ...]:
        return (Array("concentrations", "float64", 2, low=LOWEST, high=HIGHEST),)

    def updates(self, options: Options, state: State) -> Sequence[Update]:
        own = self.own
        if len(state.alpha) > 1 or len(state.seeds.words):
            more = "several groups of documents" if len(state.alpha) > 1 else "seed words"
            raise InputError(f"the state has {more}, and the model hdp draws one α for topics that are born and die")
        state.side.setdefault("concentrations", np.array([own.hdp_alpha, own.hdp_gamma]))
        what = frozenset(options.optimize.split("+"))
        if options.optimize_interval and "beta" not in what:
            raise InputError(
                "optimize: the model hdp draws its own α after every sweep; beta is all that is learnt beside"
            )
        found: list[Update] = [Franchise(own.prior_shape, own.prior_rate, learn=not own.fixed_concentrations)]
        if options.optimize_interval:
            found.append(LearnPriors(options.optimize_interval, options.optimize_burn_in, frozenset({"beta"})))
        return found

    def closed(self, state: State) -> State:
        """Without the spare topics."""
        used = np.bincount(state.z[state.z != NONE], minlength=state.n_topics) > 0
        number = np.full(NONE + 1, NONE, np.uint16)
        number[np.flatnonzero(used)] = np.arange(int(used.sum()), dtype=np.uint16)
        return replace(
            state, z=number[state.z], alpha=np.ascontiguousarray(state.alpha[:, used]), meta=dict(state.meta)
        )

    def merged_side(self, side: Mapping[str, NDArray[Any]], target: NDArray[np.uint16]) -> dict[str, NDArray[Any]]:
        """Concentrations are of no topic."""
        further = set(side) - {"concentrations"}
        if further:
            raise InputError(f"merge: a model {self.name} knows its topics by number ({min(further)})")
        return dict(side)

    def finish(self, state: State, model: Model, samples: Sequence[State]) -> None:
        super().finish(state, model, samples)
        model.side = {"concentrations": state.side["concentrations"]}
