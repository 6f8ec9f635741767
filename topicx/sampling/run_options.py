"""Everything that decides a training run's result, declared in one place. Threads are not here: they decide nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx import model_registry
from topicx.declare import (
    AUTO,
    check_all,
    check_positive,
    check_whole,
    choice_option,
    declare_option,
    declared_options,
    flag_option,
    number_option,
    positive_option,
    whole_option,
)
from topicx.errors import InputError
from topicx.sampling import sampler_registry
from topicx.sampling.run_length import (
    AUTO_BURN_IN,
    AUTO_INTERVAL,
    AUTO_LAG,
    AUTO_SAMPLES,
    MANY_LAG,
    MOST_SWEEPS,
    SOFT_TOPICS,
)
from topicx.sampling.sampler_registry import GROWS, LEVELS, MODES, PARTITIONS, PATHS, SAMPLES, SOFTENS
from topicx.state import MAX_TOPICS

STARTS = ("auto", "growing", "hot", "progressive", "random", "soft")
START_NEEDS = {"auto": "", "random": "", "soft": SOFTENS, "hot": SAMPLES}
"""What a sampler must be able to do for a start (others: GROWS)."""
LEARNABLE = ("alpha", "symmetric-alpha", "beta")
USUAL: dict[str, Any] = {
    "iterations": 1000, "beta": 0.01, "optimize_interval": 0, "optimize_burn_in": 50, "optimize": "alpha+beta",
    "samples": 1, "lag": 10,
}  # fmt: skip
"""Values that a run of a given number of sweeps has where nothing was said; `iterations`, where auto can't be."""
OF_AUTO: dict[str, Any] = USUAL | {
    "optimize_interval": AUTO_INTERVAL, "optimize_burn_in": AUTO_BURN_IN, "samples": AUTO_SAMPLES, "lag": AUTO_LAG,
}  # fmt: skip
"""The values that a run has which ends by itself."""


def usual_value(name: str, default: Any) -> Any:
    """The value that an option has where nothing was said, and the run has a given number of sweeps."""
    return USUAL.get(name, default)


def _check_alpha(name: str, value: Any) -> None:
    if isinstance(value, str):
        raise InputError(
            f"{name} must be a number, or a number for each topic, not {value!r}: optimize_interval=10 learns it"
        )
    for one in value if isinstance(value, tuple) else (value,):
        check_positive(name, one)


def _check_sampler(name: str, value: Any) -> None:
    if value != "auto":
        sampler_registry.find_sampler(value)  # those that a program has added, too


def _check_optimize(name: str, value: Any) -> None:
    unknown = set(str(value).split("+")) - set(LEARNABLE)
    if unknown:
        raise InputError(f"{name}: {', '.join(sorted(unknown))!r} is not alpha, symmetric-alpha or beta")


MOST_PARTITIONS = 1024


def parse_partitions(text: str) -> int | str:
    """The option `partitions` from a text: a number, or two (machines and threads); InputError if it is neither."""
    outer, times, inner = text.strip().partition("x")
    parts = (outer, inner) if times else (text,)
    if not all(part.strip().isdecimal() and len(part) < 10 for part in parts):
        raise InputError(f"{text!r} is neither a number nor two with an x between, such as 4x16")
    numbers = [int(part) for part in parts]
    if times and 0 in numbers:
        raise InputError(f"{text!r}: machines and threads are at least 1 each")
    if not 0 <= math.prod(numbers) <= MOST_PARTITIONS:
        raise InputError(f"{text!r} is more than {MOST_PARTITIONS} in all")
    return numbers[-1] if numbers[0] == 1 or not times else f"{numbers[0]}x{numbers[1]}"


def _check_partitions(name: str, value: Any) -> None:
    if isinstance(value, str):
        try:
            parse_partitions(value)
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
    else:
        check_whole(name, value, 0, MOST_PARTITIONS)


@dataclass(frozen=True)
class Options:
    """The options of a training run, as the command line and the Python API name them."""

    topics: int = whole_option(100, 1, MAX_TOPICS, help="Number of topics.", flags=("--topics", "-k"))
    sampler: str = choice_option(
        "auto", sampler_registry.sampler_names(), metavar="NAME", check=_check_sampler,
        help="How assignments are found. "
        + "; ".join(f"{group}: {', '.join(members)}" for group, members in sampler_registry.samplers_by_kind().items())
        + ". auto is sparse, the fastest exact one in our benchmarks at every number of topics, or the first that the "
        "model can use. light, warp and partial learn less in an iteration: they are for comparisons with the "
        "literature and for tens of thousands of topics.",
    )  # fmt: skip
    iterations: int | str = whole_option(
        AUTO, 0, 1_000_000, auto=True, metavar="N|auto",
        help=f"Sweeps over the whole corpus. auto: priors are learnt on the way, the run ends when the likelihood says "
        f"that more sweeps would hardly change it (after {MOST_SWEEPS} at the latest), and {AUTO_SAMPLES} states are "
        "averaged. Where that is not known (variational samplers, models other than lda, --icm, --paths): 1000, "
        "unless the model says another number.",
    )  # fmt: skip
    start: str = choice_option(
        "auto", STARTS, capability=GROWS,
        help="soft: sweeps of cvb0 or passes of scvb0, then every token's topic drawn from what they found, and sweeps "
        "with a larger beta that cools to its own; hot: random topics and such sweeps; growing: from a few documents "
        "to all of them; progressive: each token given those before it; random. auto: what gives the best topics "
        "soonest for a corpus like this and so many topics.",
    )  # fmt: skip
    alpha: float | Sequence[float] | None = declare_option(
        None, str, "α of each topic (not their sum): one number, or a file with one number a topic.",
        optional=True, shown="0.1", check=_check_alpha, metavar="NUMBER|FILE",
    )  # fmt: skip
    alpha_sum: float | None = positive_option(
        None, optional=True, help="Σα over all topics, spread evenly (MALLET's --alpha)."
    )
    beta: float = positive_option(None, optional=True, shown="0.01", help="β of each word.")
    optimize_interval: int = whole_option(
        None, 0, optional=True, shown=f"{AUTO_INTERVAL} with --iterations auto, else 0",
        help="Re-estimate the priors every N sweeps (0: never). MALLET users often take 10.",
    )  # fmt: skip
    optimize_burn_in: int = whole_option(
        None, 0, optional=True, shown=f"{AUTO_BURN_IN} with --iterations auto, else 50",
        help="Sweeps before the first re-estimation.",
    )  # fmt: skip
    optimize: str = declare_option(
        None, str, optional=True, check=_check_optimize, metavar="WHAT",
        shown="alpha+beta; with --iterations auto without what is given",
        help="What is re-estimated, joined by +: alpha (a weight a topic), symmetric-alpha, beta.",
    )  # fmt: skip
    mh_steps: int = whole_option(
        2, 1, 64, samplers=("alias", "light", "warp"), help="Proposals a token (alias, light, warp)."
    )
    sparse_phi: bool = flag_option(samplers=("partial",), help="Draw φ sparsely, by Poisson variables (partial).")
    batch_documents: int = whole_option(256, 1, samplers=("scvb0",), help="Documents in a minibatch (scvb0).")
    document_passes: int = whole_option(2, 1, 1000, samplers=("scvb0",), help="Passes over a document (scvb0).")
    rate_scale: float = positive_option(
        1.0, samplers=("scvb0",), help="Learning rate: scale·(delay+batch)^-power (scvb0)."
    )
    rate_delay: float = positive_option(4.0, samplers=("scvb0",), help="The delay in the learning rate (scvb0).")
    rate_power: float = number_option(
        0.6, None, 1, above=0, samplers=("scvb0",), help="The power in the learning rate (scvb0)."
    )
    icm: int = whole_option(
        0, 0, 1_000_000, capability=MODES, help="Last sweeps, in which tokens take their best topic."
    )
    partitions: int | str = declare_option(
        0, int, "Shards and blocks of the schedule: at most that many threads work at once. Part of the result. "
        "Machines and the threads of each, as 4x16: what runs on a cluster, and on one machine with the same result.",
        capability=PARTITIONS, shown="by the size of the corpus", check=_check_partitions, parse=parse_partitions,
        metavar="N|MxN",
    )  # fmt: skip
    paths: int = whole_option(
        1, 1, 1000, capability=PATHS,
        help="Assignments of the corpus that share the topics' word counts (Kozdoba & Mannor): more of them find "
        "better topics more often, and each costs a sweep and two bytes a token.",
    )  # fmt: skip
    samples: int = whole_option(
        None, 1, 1000, optional=True, shown=f"{AUTO_SAMPLES} with --iterations auto, else 1", capability=SAMPLES,
        help="Average the model (and --doc-topics) over so many states at the end of the chain.",
    )  # fmt: skip
    lag: int = whole_option(
        None, 1, optional=True, capability=SAMPLES,
        shown=f"{AUTO_LAG} with --iterations auto ({MANY_LAG} with more than {SOFT_TOPICS} topics), else 10",
        help="Sweeps from one of these states to the next.",
    )  # fmt: skip
    trace_interval: int = whole_option(10, 1, help="Sweeps between records of the likelihood.")
    seed: int = whole_option(1, 0, 2**63 - 1, help="Seed of every random choice.")
    chain: int = whole_option(0, 0, hidden=True, help="Which of several chains with the same seed.")
    model: str = "lda"
    """The name of the model's definition (topicx.models)."""
    own: dict[str, Any] = field(default_factory=dict)
    """Options of that model."""

    def __post_init__(self) -> None:
        if isinstance(self.alpha, Sequence | np.ndarray) and not isinstance(self.alpha, str):
            object.__setattr__(self, "alpha", tuple(float(a) for a in self.alpha))
        check_all(self)
        if isinstance(self.partitions, str):
            object.__setattr__(self, "partitions", parse_partitions(self.partitions))
        self._fill_in()
        most = MOST_SWEEPS if self.ends_itself else int(self.iterations)
        if self.samples > 1 and (self.samples - 1) * self.lag >= most:
            raise InputError(
                f"{self.samples} samples {self.lag} sweeps apart need more than {(self.samples - 1) * self.lag} "
                f"iterations, not {'auto, which are at most ' if self.ends_itself else ''}{most}"
            )
        if self.samples > 1 and self.icm:
            raise InputError("samples: an average of samples and the mode that icm seeks do not go together")
        if self.alpha is not None and self.alpha_sum is not None:
            raise InputError("alpha and alpha_sum say the same thing in two ways: give one of them")
        if isinstance(self.alpha, tuple) and len(self.alpha) != self.topics:
            raise InputError(f"alpha has {len(self.alpha)} values for {self.topics} topics")
        check_positive("alpha", float(self.alpha_vector().min()))

    @property
    def ends_itself(self) -> bool:
        """Whether the run's own trace says when it ends (`topicx.sampling.run_length`)."""
        return self.iterations == AUTO

    def _fill_in(self) -> None:
        """Options that nothing was said of get their values: those of a run that ends by itself, where it can."""
        if self.ends_itself and not self._can_end_itself():
            object.__setattr__(self, "iterations", USUAL["iterations"])
        if self.ends_itself and self.optimize_interval is None and self.optimize is None:  # what is given stays fixed
            free = {"alpha": self.alpha is None and self.alpha_sum is None, "beta": self.beta is None}
            learnt = [name for name, is_free in free.items() if is_free]
            object.__setattr__(self, "optimize", "+".join(learnt) or None)
            object.__setattr__(self, "optimize_interval", None if learnt else 0)
        if self.ends_itself and self.lag is None and self.topics > SOFT_TOPICS:
            object.__setattr__(self, "lag", MANY_LAG)
        for name, value in (OF_AUTO if self.ends_itself else USUAL).items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)

    def _can_end_itself(self) -> bool:
        """Whether it is known what the end of such a run is worth: LDA, one path, states that are samples."""
        samples = self.sampler == "auto" or SAMPLES in sampler_registry.find_sampler(self.sampler).capabilities
        return samples and self.paths == 1 and not self.icm and model_registry.find_definition(self.model).ends_itself

    def of_given_sweeps(self) -> Options:
        """These options for what can't end by itself: where that was left to the run, it has the usual sweeps."""
        return replace(self, **USUAL | {"beta": self.beta}) if self.ends_itself else self

    def with_given_beta(self) -> Options:
        """These options where β of single words is given: a run that ends by itself leaves it as it is."""
        if not self.ends_itself:
            return self
        learnt = [name for name in self.optimize.split("+") if name != "beta"]
        return replace(self, optimize="+".join(learnt)) if learnt else replace(self, optimize_interval=0)

    def sample_sweeps(self, last: int | None = None) -> list[int]:
        """The sweeps after which the samples but the last are taken, of a run with so many sweeps."""
        last = int(self.iterations) if last is None else last
        return [last - back * self.lag for back in range(self.samples - 1, 0, -1)]

    def check_sampler(self, entry: sampler_registry.Entry, given: Sequence[str] = ()) -> None:
        """InputError if an option was set that the sampler lacks: by another value than the default, or `given`."""
        for name, (declared, default) in declared_options(self).items():
            if name not in given and getattr(self, name) in (default, usual_value(name, default)):
                continue
            if declared.samplers and entry.name not in declared.samplers:
                raise InputError(f"{name} is for the sampler {' or '.join(declared.samplers)}, not for {entry.name}")
            needed = START_NEEDS.get(self.start, GROWS) if name == "start" else declared.capability
            if name == "partitions" and isinstance(self.partitions, str) and PARTITIONS in entry.capabilities:
                needed = LEVELS
            if needed and needed not in entry.capabilities:
                raise InputError(f"{name}: {entry.name} {sampler_registry.LACKS[needed]}")

    def alpha_vector(self) -> NDArray[np.float64]:
        """α as one number a topic."""
        if isinstance(self.alpha, tuple):
            return np.array(self.alpha, np.float64)
        if self.alpha_sum is not None:
            return np.full(self.topics, self.alpha_sum / self.topics)
        return np.full(self.topics, 0.1 if self.alpha is None else float(self.alpha))  # type: ignore[arg-type]

    def to_meta(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_meta(cls, meta: dict[str, Any]) -> Options:
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in meta.items() if name in known})
