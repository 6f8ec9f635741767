"""What the arrays of a file must be, declared once: writing, reading and verifying follow from the declarations.

A `Schema` is a list of parts: an `Array`, `TextArrays` (strings: two arrays), `Ragged` (rows of different lengths: two
arrays), `Many` (arrays by name under one prefix). Each array has a type, a shape in named sizes (`DOCUMENTS + 1`, of
`array_sizes`), and rules for its values. A size is learnt from the first array that has it and must fit everywhere
else, so that most of what can be wrong is found before any value is looked at. Values are checked piece by piece as
they are read: one pass, whether the file is loaded or streamed. A declaration that cannot be meant is refused where it
is made.

Arrays that no part names are kept as they are (`extra`): a newer version's survive a round trip.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.errors import InputError
from topicx.files.array_sizes import ArraySize, Shape, as_shape, as_size, named_size, size_beside
from topicx.strings import Strings

PIECE = 1 << 18
"""Values that are checked at a time: they are still in the cache from being read."""
SHARES = 1e-6
"""How far from 1 a sum of shares may be."""
TYPES = frozenset(
    ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64", "bool"]
)
"""Types that arrays of files have."""
Table = Mapping[str, tuple[str, tuple[int, ...]]]
"""Type and shape of each array."""


class Inconsistent(InputError):
    """Arrays that do not go together; the message says which and why, and the caller says of which file."""


def require_consistent(holds: bool, problem: str) -> None:
    """Inconsistent, with this problem, unless it holds."""
    if not holds:
        raise Inconsistent(problem)


@dataclass(frozen=True)
class Array:
    """One array (or, with a * in its name, each that is called so: the same text stands for every *)."""

    name: str
    types: str
    """Type of the array, or several."""
    shape: Shape
    """A size for each dimension (or the one of its only dimension); None: any shape."""
    low: float | None = None
    high: float | None = None
    below: ArraySize | None = None
    """Values are below this size."""
    none: bool = False
    """Whether the type's largest number (which says "none") is allowed beside the range."""
    nan: bool = False
    """Whether NaN is allowed beside the range."""
    ends: ArraySize | None = None
    """Offsets: they begin at 0, never fall, and end at this size."""
    total: ArraySize | None = None
    """The sum of all values is this size."""
    empty: int | None = None
    """How many entries it has where there is nothing to say; `shape` does not bind then."""
    partner: str = ""
    """The array that is empty if, and only if, this one is."""
    attribute: str = ""
    """Where the object keeps it, if not under the array's name."""
    since: int = 1
    """Version of the format that it came with. What came later than 1 is written only if there is something in it."""
    required: bool = True
    shares: bool = False
    """Whether the entries of each row (along the last dimension) sum to 1."""

    def __post_init__(self) -> None:
        as_shape(self.shape)
        for one in self.types.split():
            if one not in TYPES:
                raise ValueError(f"{self.name!r}: there is no type {one!r} in files")
        if not all(one.is_plain for one in self._asked.values()):
            raise ValueError(f"{self.name!r}: values are compared with one size, not with sums or products")

    @property
    def dimensions(self) -> tuple[ArraySize, ...] | None:
        """A size for each dimension; None: any shape."""
        return as_shape(self.shape)

    @property
    def _asked(self) -> dict[str, ArraySize]:
        """The sizes that values are compared with."""
        sizes = {"below": self.below, "ends": self.ends, "total": self.total}
        return {key: one for key, one in sizes.items() if one is not None}

    @property
    def asked(self) -> tuple[ArraySize, ...]:
        """The sizes that values are compared with."""
        return tuple(self._asked.values())

    @property
    def sizes(self) -> tuple[ArraySize, ...]:
        """All sizes of the declaration."""
        return (*(self.dimensions or ()), *self.asked)

    def _with_sizes(self, change: Callable[[ArraySize], ArraySize]) -> Array:
        shape = self.dimensions
        changed: dict[str, Any] = {key: change(one) for key, one in self._asked.items()}
        return replace(self, shape=shape and tuple(change(one) for one in shape), **changed)

    @property
    def place(self) -> str:
        return self.attribute or self.name

    @property
    def arrays(self) -> tuple[Array, ...]:
        return (self,)

    def under(self, prefix: str, required: bool) -> Array:
        """This array under a prefix, as are the sizes of arrays that stand beside it."""
        named = replace(self, name=prefix + self.name, required=self.required and required)
        return named._with_sizes(lambda one: one.under(prefix))

    def put(self, value: Any) -> dict[str, Any]:
        return {} if value is None or (self.since > 1 and not len(value)) else {self.name: value}

    def get(self, arrays: Mapping[str, Any]) -> Any:
        if self.name in arrays:
            return arrays[self.name]
        return None if self.empty is None else np.zeros(self._no_shape(), self.types.split()[0])

    def _no_shape(self) -> tuple[int, ...]:
        return (self.empty or 0,) + (0,) * (len(self.dimensions or ()) - 1)

    def matched(self, name: str) -> str | None:
        """What * stands for in this name ('' where there is none); None: another name."""
        head, star, tail = self.name.partition("*")
        if not star:
            return "" if name == self.name else None
        inside = name[len(head) : len(name) - len(tail)]
        fits = name.startswith(head) and name.endswith(tail) and len(name) > len(head) + len(tail)
        return inside if fits else None

    def named(self, part: str) -> Array:
        """The declaration with this for *."""
        if not part:
            return self
        return replace(self._with_sizes(lambda one: one.named(part)), name=self.name.replace("*", part))


def string_arrays(
    name: str, count: ArraySize | int, empty: bool = False, partner: str = "", is_beside: bool = False
) -> tuple[Array, Array]:
    """The two arrays of strings, of which there are `count` (or, where `empty`, none). is_beside: whether they are to
    stand under a prefix, so that the number of their bytes belongs to the arrays there."""
    end = (size_beside if is_beside else named_size)(f"{name}.bytes")
    return (
        Array(f"{name}.offsets", "int64", as_size(count) + 1, ends=end, empty=1 if empty else None, partner=partner),
        Array(f"{name}.bytes", "uint8", end),
    )


@dataclass(frozen=True)
class TextArrays:
    """Strings: their bytes, and offsets into them."""

    name: str
    count: ArraySize | int
    empty: bool = False
    partner: str = ""
    attribute: str = ""
    since: int = 1
    is_beside: bool = False
    """Whether they are to stand under a prefix, so that the number of their bytes belongs to the arrays there."""

    @property
    def place(self) -> str:
        return self.attribute or self.name

    @property
    def arrays(self) -> tuple[Array, ...]:
        found = string_arrays(self.name, self.count, self.empty, self.partner, self.is_beside)
        return found if self.since == 1 else tuple(replace(a, since=self.since, required=False) for a in found)

    def put(self, value: Strings) -> dict[str, Any]:
        return value.arrays(self.name) if self.since == 1 or len(value) else {}

    def get(self, arrays: Mapping[str, Any]) -> Strings:
        return Strings.from_arrays(arrays, self.name) if f"{self.name}.offsets" in arrays else Strings.of([])


@dataclass(frozen=True)
class Ragged:
    """A row of ascending values for each of `count`; the object keeps (offsets, values), or None."""

    name: str
    values: Array
    count: ArraySize
    since: int = 2

    @property
    def place(self) -> str:
        return self.name

    @property
    def arrays(self) -> tuple[Array, ...]:
        (end,) = self.values.dimensions or ()
        offsets = Array(f"{self.name}.offsets", "int64", self.count + 1, ends=end, required=False, since=self.since)
        return offsets, replace(self.values, required=False, since=self.since)

    def put(self, value: tuple[NDArray[np.int64], NDArray[Any]] | None) -> dict[str, Any]:
        return {} if value is None else {f"{self.name}.offsets": value[0], self.values.name: value[1]}

    def get(self, arrays: Mapping[str, Any]) -> tuple[NDArray[np.int64], NDArray[Any]] | None:
        if f"{self.name}.offsets" not in arrays or self.values.name not in arrays:
            return None
        return arrays[f"{self.name}.offsets"], arrays[self.values.name]

    def ascending(self, arrays: Mapping[str, Any]) -> None:
        """Every row names a value once, in order."""
        found = self.get(arrays)
        if found is None:
            return
        offsets, values = found
        rises = values[1:] > values[:-1]
        ends = offsets[(offsets > 0) & (offsets < len(values))] - 1
        rises[ends] = True
        require_consistent(bool(rises.all()), f"a row of {self.name} whose entries do not ascend")


@dataclass(frozen=True)
class Many:
    """Arrays by name, under a prefix: the object keeps a dictionary of them (and of Strings, where `rules` say so)."""

    prefix: str
    attribute: str
    rules: tuple[Array, ...]

    @property
    def place(self) -> str:
        return self.attribute

    @property
    def arrays(self) -> tuple[Array, ...]:
        return tuple(replace(rule, required=False) for rule in self.rules)

    def put(self, value: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, one in value.items():
            found |= one.arrays(self.prefix + name) if isinstance(one, Strings) else {self.prefix + name: one}
        return found

    def get(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        names = [name for name in arrays if name.startswith(self.prefix)]
        strings = [name.removesuffix(".offsets") for name in names if f"{name.removesuffix('offsets')}bytes" in arrays]
        strings = [name for name in strings if f"{name}.offsets" in arrays and self._has_texts]
        inside = {f"{name}.{end}" for name in strings for end in ("bytes", "offsets")}
        found = {name: arrays[name] for name in names if name not in inside}
        found |= {name: Strings.from_arrays(arrays, name) for name in strings}
        return {name.removeprefix(self.prefix): found[name] for name in sorted(found)}

    @property
    def _has_texts(self) -> bool:
        return any(rule.name.endswith(".offsets") for rule in self.rules)


Part = Array | TextArrays | Ragged | Many


@dataclass(frozen=True)
class Schema:
    """All arrays of a kind of file, the limits of its sizes, and what its metadata must be."""

    kind: str
    parts: tuple[Part, ...]
    limits: Mapping[ArraySize, tuple[int, int]] = field(default_factory=dict)
    meta: Callable[[Mapping[str, Any], Mapping[str, int]], None] | None = None
    more: Callable[[Mapping[str, Any]], tuple[Array, ...]] | None = None
    """Arrays that are there by what the metadata says: declared more closely than those that any file may have."""

    def of(self, meta: Mapping[str, Any]) -> Schema:
        """The schema of a file with this metadata."""
        if self.more is None:
            return self
        fixed = [part for part in self.parts if not isinstance(part, Many)]
        free = [part for part in self.parts if isinstance(part, Many)]
        return replace(self, parts=(*fixed, *self.more(meta), *free), more=None)

    def declared(self) -> list[Array]:
        return [array for part in self.parts for array in part.arrays]

    def require_whole(self) -> Schema:
        """The schema itself. ValueError where a size is asked that no array has, or a partner is not there: what would
        bind nothing."""
        arrays = self.declared()
        learnt = {name for one in arrays for each in one.dimensions or () for name in each.names}
        asked = [each for one in arrays for each in one.asked] + list(self.limits)
        missing = {str(each) for each in asked if not each.has_star and not learnt.issuperset(each.names)}
        names = {one.name for one in arrays} | {part.place for part in self.parts}
        missing |= {str(each) for one in arrays if "*" not in one.name for each in one.sizes if each.has_star}
        missing |= {one.partner for one in arrays if one.partner and one.partner not in names}
        if missing:
            raise ValueError(f"the schema {self.kind!r} has no array for {', '.join(sorted(missing))}")
        return self

    # -- objects -------------------------------------------------------------------------------------------------

    def pack(self, owner: Any) -> dict[str, Any]:
        """The arrays of an object, by the names that files have for them."""
        arrays: dict[str, Any] = {}
        for part in self.parts:
            arrays |= part.put(attrgetter(part.place)(owner))
        return arrays | getattr(owner, "extra", {})

    def unpack(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """The object's attributes from (verified) arrays, and `extra`."""
        return {part.place: part.get(arrays) for part in self.parts} | {"extra": self.unknown(arrays)}

    def unknown(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """The arrays that are not declared."""
        declared = self.declared()
        single, several = {one.name for one in declared}, [one for one in declared if "*" in one.name]
        return {
            name: array for name, array in arrays.items()
            if name not in single and all(one.matched(name) is None for one in several)
        }  # fmt: skip

    # -- verifying -----------------------------------------------------------------------------------------------

    def checks(self, table: Table, sizes: Mapping[str, int] | None = None) -> tuple[dict[str, Check], dict[str, int]]:
        """What to do with the values of each array, and all sizes; Inconsistent, if types or shapes do not fit."""
        known = dict(sizes or {})
        chosen: dict[str, Array] = {}
        for one in self.declared():
            names: Iterable[str] = table if "*" in one.name else [one.name] if one.name in table else []
            found = [(name, one.matched(name)) for name in names if name not in chosen]
            fitting = {name: one.named(part) for name, part in found if part is not None}
            require_consistent(bool(fitting) or not one.required or "*" in one.name, f"no array {one.name!r}")
            chosen |= fitting
        for name, one in chosen.items():
            end = "" if one.ends is None else str(one.ends)
            partner = end if end.endswith(".bytes") else ""
            partner = f"{name.removesuffix('bytes')}offsets" if name.endswith(".bytes") else partner
            require_consistent(not partner or partner in table, f"no array {partner!r}")
            _check_and_learn_sizes(one, *table[name], known)
        for name, one in chosen.items():
            if one.partner in chosen:
                nothing = [math.prod(table[each][1]) == chosen[each].empty for each in (name, one.partner)]
                require_consistent(
                    nothing[0] == nothing[1], f"{name!r} without {one.partner!r}, or the other way round"
                )
        for limited, (low, high) in self.limits.items():
            found_size = known.get(str(limited), low)
            require_consistent(
                low <= found_size <= high, f"{found_size:,} {limited}, where {low:,} to {high:,} are possible"
            )
        return {name: Check(one, known) for name, one in chosen.items()}, known

    def verify(self, arrays: Mapping[str, NDArray[Any]], sizes: Mapping[str, int] | None = None) -> dict[str, int]:
        """Inconsistent, unless these arrays are as declared; returns the sizes."""
        for name, array in arrays.items():
            require_consistent(isinstance(array, np.ndarray), f"{name!r}, which is not an array")
        checks, known = self.checks({name: (a.dtype.name, a.shape) for name, a in arrays.items()}, sizes)
        for name, check in checks.items():
            check.whole(arrays[name])
        self.relate(arrays)
        return known

    def verify_object(self, owner: Any, without: Collection[str] = ()) -> None:
        """InputError unless what an object has for these parts (all but those `without`) fits together: kernels look at
        no limit of an array again."""
        kept = replace(self, parts=tuple(part for part in self.parts if part.place not in without), more=None)
        try:
            kept.verify(
                {name: array for part in kept.parts for name, array in part.put(_value_of_part(owner, part)).items()}
            )
        except Inconsistent as problem:
            raise InputError(f"the {self.kind} is not consistent: it has {problem}") from None

    def relate(self, arrays: Mapping[str, Any]) -> None:
        """Rules that need several arrays at once."""
        for part in self.parts:
            if isinstance(part, Ragged):
                part.ascending(arrays)

    def related(self) -> list[str]:
        """The arrays that `relate` needs."""
        return [array.name for part in self.parts if isinstance(part, Ragged) for array in part.arrays]


def _value_of_part(owner: Any, part: Part) -> Any:
    """What an object has for a part of its schema; Inconsistent if it is of another kind altogether."""
    value = attrgetter(part.place)(owner)
    if isinstance(part, Array):
        require_consistent(isinstance(value, np.ndarray), f"{part.place!r}, which is not an array")
    elif isinstance(part, TextArrays):
        fits = hasattr(value, "offsets") and hasattr(value, "data")
        require_consistent(fits, f"{part.place!r}, which are not strings (Strings.of makes them)")
    return value


def _check_and_learn_sizes(one: Array, dtype: str, shape: tuple[int, ...], sizes: dict[str, int]) -> None:
    """Type and shape as declared; sizes that are not known yet are learnt."""
    require_consistent(
        dtype in one.types.split(), f"{one.name!r} of type {dtype}, not {one.types.replace(' ', ' or ')}"
    )
    dimensions = one.dimensions
    if dimensions is None:
        return
    require_consistent(len(shape) == len(dimensions), f"{one.name!r} of {len(shape)} dimensions, not {len(dimensions)}")
    if one.empty is not None and all(entries == one.empty for entries in shape):
        return
    for rule, entries in zip(dimensions, shape, strict=True):
        if rule.is_any:
            continue
        rest, have, unknown = entries - rule.more, rule.known_product(sizes), rule.unknown(sizes)
        if not unknown:
            needed = f"{have + rule.more:,} are needed ({rule})"
            require_consistent(rest == have, f"{one.name!r} of {entries:,} entries, where {needed}")
            continue
        require_consistent(rest >= 0, f"{one.name!r} of {entries} entries")
        if have == 0:  # nothing to learn the size from
            require_consistent(rest == 0, f"{one.name!r} of {entries:,} entries, where none are possible")
            continue
        require_consistent(
            rest % have == 0, f"{one.name!r} of {entries:,} entries, which is no multiple of {have:,} ({rule})"
        )
        sizes[unknown[0]] = rest // have


class Check:
    """Looks at an array's values, piece after piece."""

    def __init__(self, one: Array, sizes: Mapping[str, int]) -> None:
        self.one = one
        self.low = one.low
        for asked in one.asked:
            require_consistent(str(asked) in sizes, f"{one.name!r}, and nothing that says how many {asked} there are")
        self.high = sizes[str(one.below)] - 1 if one.below else one.high
        self.end = sizes[str(one.ends)] if one.ends else None
        self.sum_wanted = sizes[str(one.total)] if one.total else None
        self.at, self.last, self.sum = 0, 0, 0
        self.limits = (self.low, self.high) != (None, None)
        self.row = max(sizes.get(str((one.dimensions or (1,))[-1]), 1), 1) if one.shares else 0
        self.rows = [0.0]
        """Sums of the rows so far."""

    @property
    def idle(self) -> bool:
        """Whether any values will do."""
        return not self.limits and not self.one.ends and self.sum_wanted is None and not self.row

    def whole(self, array: NDArray[Any]) -> None:
        if not self.idle:
            flat = array.reshape(-1)
            for begin in range(0, len(flat), PIECE):
                self.feed(flat[begin : begin + PIECE])
        self.finish()

    def feed(self, values: NDArray[Any]) -> None:
        if not len(values) or self.idle:
            return
        if self.limits:
            self._range(values)
        if self.one.ends:
            self._rising(values)
        if self.sum_wanted is not None:
            self.sum += int(values.sum())
        if self.row:
            self._add_rows(values)
        self.at += len(values)

    def _add_rows(self, values: NDArray[Any]) -> None:
        begins = np.arange(-(self.at % self.row), len(values), self.row).clip(0)
        sums = np.add.reduceat(values, begins).tolist()
        self.rows[-1] += sums[0]
        self.rows += sums[1:]
        if (self.at + len(values)) % self.row == 0:
            self.rows.append(0.0)

    def _range(self, values: NDArray[Any]) -> None:
        low, high = self.low, self.high
        if self.one.none:  # the largest number wraps round to 0, which is below all others
            shifted = values + values.dtype.type(1)
            good = high is None or int(shifted.max()) <= high + 1
        elif values.dtype.kind == "u" and not low:
            good = high is None or int(values.max()) <= high
        elif self.one.nan:
            with np.errstate(invalid="ignore"):
                least, most = np.fmin.reduce(values), np.fmax.reduce(values)
            good = bool(np.isnan(least)) or ((low is None or least >= low) and (high is None or most <= high))
        else:  # a NaN is the minimum, and no comparison holds with it
            least, most = values.min().item(), values.max().item()
            good = (low is None or least >= low) and (high is None or most <= high)
        if not good:
            raise Inconsistent(self._found(values))

    def _found(self, values: NDArray[Any]) -> str:
        """The first value that is out of range."""
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        with np.errstate(invalid="ignore"):
            numbers = values.astype(np.float64) if values.dtype.kind == "f" else values
            bad = ~((numbers >= low) & (numbers <= high))
        if self.one.none:
            bad &= values != np.iinfo(values.dtype).max
        if self.one.nan:
            bad &= ~np.isnan(values)
        at = int(np.argmax(bad))
        limits = f"from {low:g} to {high:g}" if math.isfinite(low) else f"at most {high:g}"
        if self.one.below:
            limits = f"below {self.high + 1:,}, the number of {self.one.below}"  # type: ignore[operator]
        elif self.high is None:
            limits = f"at least {low:g}"
        return f"{self.one.name}[{self.at + at}] = {values[at]}, which must be {limits}"

    def _rising(self, values: NDArray[Any]) -> None:
        if self.at == 0 and values[0] != 0:
            raise Inconsistent(f"{self.one.name} that begin at {values[0]}, not at 0")
        if values[0] < self.last or not bool((values[1:] >= values[:-1]).all()):
            steps = np.diff(values, prepend=values.dtype.type(self.last))
            at = self.at + int(np.argmax(steps < 0))
            raise Inconsistent(f"{self.one.name} that fall at entry {at}")
        self.last = int(values[-1])

    def finish(self) -> None:
        if self.end is not None and self.at and self.last != self.end:
            raise Inconsistent(f"{self.one.name} that end at {self.last:,}, not at {self.end:,}")
        if self.sum_wanted is not None and self.at and self.sum != self.sum_wanted:
            wanted = f"{self.sum_wanted:,}, the number of {self.one.total}"
            raise Inconsistent(f"{self.one.name} that sum to {self.sum:,}, not to {wanted}")
        if self.row and any(not abs(total - 1) < SHARES for total in self.rows[:-1]):
            raise Inconsistent(f"{self.one.name} with a row that does not sum to 1")


def is_list_of(value: Any, one: type | tuple[type, ...] = str) -> bool:
    """Whether this is a list of such values."""
    return isinstance(value, list | tuple) and all(isinstance(item, one) for item in value)


def is_whole_number(value: Any, low: int = 0, high: int = 1 << 62) -> bool:
    """Whether this is a whole number in a range."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def is_finite_number(value: Any, low: float = -math.inf, high: float = math.inf) -> bool:
    """Whether this is a finite number in a range."""
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and low <= value <= high
    )


def check_members(rules: Mapping[str, Callable[[Any], bool]], values: Iterable[str], meta: Mapping[str, Any]) -> None:
    """Inconsistent, if a member of the metadata is not what its rule allows."""
    for name in values:
        if name in meta:
            require_consistent(rules[name](meta[name]), f"the metadata {name!r} in a form that topicx does not write")
