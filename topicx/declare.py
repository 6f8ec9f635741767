"""Options are declared once: default, limits, help, and which samplers know them. Checks, refusals, the command line
and the documentation follow from the declaration. A declaration is a field of a frozen dataclass:

    class Options:
        iterations: int = whole(1000, 0, 1_000_000, help="Sweeps over the whole corpus.")
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

import numpy as np

from topicx.errors import InputError


@dataclass(frozen=True)
class Declared:
    """What is said of an option beside its default."""

    kind: type
    """Type of the value: int, float, bool or str."""
    help: str
    low: float | None = None
    high: float | None = None
    above: float | None = None
    """A limit that the value itself must not reach."""
    choices: tuple[str, ...] = ()
    optional: bool = False
    """Whether None is a value (the default then, and `shown` says what it means)."""
    shown: str | None = None
    """The default in words, for the help."""
    flags: tuple[str, ...] = ()
    """Spellings on the command line; empty: the name with dashes."""
    samplers: tuple[str, ...] = ()
    """The samplers that have it; empty: all."""
    capability: str = ""
    """What a sampler must be able to do for it to mean something."""
    check: Callable[[str, Any], None] | None = None
    """A check of its own instead of the limits."""
    parse: Callable[[str], Any] | None = None
    """How the command line's text becomes a value, where `kind` does not say it."""
    metavar: str | None = None
    auto: bool = False
    """Whether "auto" is a value beside the numbers."""
    hidden: bool = False
    """Not for the command line (several chains set it, say)."""


def declare_option(default: Any, kind: type, help: str, **more: Any) -> Any:
    """A declared field of an options dataclass."""
    return field(default=default, metadata={"declared": Declared(kind, help, **more)})


AUTO = "auto"
"""What an option can be besides a number, where it says so: found by the run itself."""


def whole_option(default: int | str | None, low: int, high: int | None = None, *, help: str, **more: Any) -> Any:
    return declare_option(default, int, help, low=low, high=high, **more)


def number_option(
    default: float | None, low: float | None = None, high: float | None = None, *, help: str, **more: Any
) -> Any:
    return declare_option(default, float, help, low=low, high=high, **more)


def positive_option(default: float | None, *, help: str, **more: Any) -> Any:
    return declare_option(default, float, help, check=check_positive, above=0, **more)


def choice_option(default: str | None, choices: Sequence[str], *, help: str, **more: Any) -> Any:
    return declare_option(default, str, help, choices=tuple(choices), **more)


def flag_option(default: bool = False, *, help: str, **more: Any) -> Any:
    return declare_option(default, bool, help, **more)


def declared_options(options: type | object) -> dict[str, tuple[Declared, Any]]:
    """The declared fields of an options class: name → (declaration, default)."""
    found = {}
    for each in fields(options):  # type: ignore[arg-type]
        if "declared" in each.metadata:
            found[each.name] = each.metadata["declared"], None if each.default is MISSING else each.default
    return found


def check_all(options: object) -> None:
    """InputError unless every declared field holds what its declaration allows."""
    for name, (declared, _) in declared_options(options).items():
        value = getattr(options, name)
        if (value is None and declared.optional) or (declared.auto and value == AUTO):
            continue
        if declared.check is not None:
            declared.check(name, value)
        elif declared.choices:
            if value not in declared.choices:
                raise InputError(f"{name} must be one of {', '.join(declared.choices)}, not {value!r}")
        elif declared.kind is int:
            high = None if declared.high is None else int(declared.high)
            check_whole(name, value, int(declared.low or 0), high)
        elif declared.kind is float:
            check_number(name, value, declared.low, declared.high, declared.above)
        elif declared.kind is bool and not isinstance(value, bool):
            raise InputError(f"{name} must be True or False, not {value!r}")


ALIASES = {
    "topics": "k K num_topics n_topics n_components number_of_topics ntopics",
    "iterations": "n_iter max_iter num_iterations n_iterations iter iters passes sweeps epochs",
    "alpha": "doc_topic_prior topic_prior",
    "beta": "eta topic_word_prior word_topic_prior",
    "seed": "random_state random_seed rng",
    "threads": "n_jobs workers num_threads n_threads num_workers",
    "optimize_interval": "optim_interval optimize_every eval_every learn_alpha",
    "optimize_burn_in": "burn_in burnin",
    "sampler": "algorithm method learning_method",
    "batch_documents": "batch_size chunksize",
    "verbose": "progress show_progress quiet",
}
"""What other programs call our options."""


def check_known(what: str, options: type, names: Iterable[str], more: Iterable[str] = ()) -> None:
    """InputError if `what` has no option of one of these names (nor `more`); the right one, where it is near."""
    from difflib import get_close_matches

    known = [each.name for each in fields(options)] + list(more)
    for name in names:
        if name not in known:
            close = [ours for ours, theirs in ALIASES.items() if name in theirs.split() and ours in known]
            close = close or get_close_matches(name, known, n=1)
            raise InputError(f"{what} has no option {name!r}" + (f"; did you mean {close[0]!r}?" if close else ""))


def check_whole(name: str, value: Any, low: int, high: int | None) -> None:
    """`value` is a whole number within the limits, or InputError names it."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InputError(f"{name} must be a whole number, not {value!r}")
    if value < low or (high is not None and value > high):
        limits = f"at least {low}" if high is None else f"from {low} to {high}"
        raise InputError(f"{name} must be {limits}, not {value}")


def check_number(name: str, value: Any, low: float | None, high: float | None, above: float | None = None) -> None:
    """`value` is a finite number within the limits, or InputError names it."""
    if isinstance(value, bool | str) or not _is_finite(value):
        raise InputError(f"{name} must be a finite number, not {value!r}")
    if above is not None and not value > above:
        raise InputError(f"{name} must be greater than {above:g}, not {value}")
    if (low is not None and value < low) or (high is not None and value > high):
        limits = (
            f"at least {low:g}" if high is None else f"at most {high:g}" if low is None else f"from {low:g} to {high:g}"
        )
        raise InputError(f"{name} must be {limits}, not {value}")


def check_positive(name: str, value: Any) -> None:
    """`value` is a number above zero that single precision holds with room to spare, or InputError names it."""
    if isinstance(value, bool | str) or not (_is_finite(value) and value > 0):
        raise InputError(f"{name} must be a finite number greater than 0, not {value}")
    if not 1e-30 <= value <= 1e30:
        raise InputError(f"{name} must be from 1e-30 to 1e30, not {value}")


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except (TypeError, OverflowError):  # no number, or a whole one that no float holds
        return False
