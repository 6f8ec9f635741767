"""Averages over samples of a chain, and over chains.

The mean of expected counts (or of θ) over samples is a better estimate than one sample, if topic k means the same in
all of them (Papanikolaou et al. 2017, sections 3.3.1 and 4; Griffiths & Steyvers 2004 warn of it). It does with φ
fixed, and for most of the time in samples of one chain that are not far apart. It never does across chains: their
numbering of topics is arbitrary. So the topics are compared first: where the best matching of a model's topics to the
first's is not the identity, the average is refused, or made after renumbering if the caller asks for that
(`align=True`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.errors import InputError
from topicx.estimate.topic_alignment import align_topics as aligned
from topicx.model import Model

ROOM = 1 << 22
"""Numbers that rows are added up in at a time."""
Sums = tuple[NDArray[np.int64], NDArray[np.uint16], NDArray[np.float64]]
"""Rows of a sparse matrix: where each begins, the columns of its entries, and the entries."""


def order_of(first: Model, model: Model, names: tuple[str, str], *, align: bool = False) -> NDArray[np.int64]:
    """The model's topics in the order of the first model's: the identity unless `align`; refused with the reason."""
    _check_compatible(first, model, *names)
    chains = [_chain_identity(m) for m in (first, model)]
    if not align and None not in chains and chains[0] != chains[1]:
        raise InputError(
            f"{names[1]} and {names[0]} are of different chains, whose numbering of topics is arbitrary: an average "
            "would mix unlike topics. --align renumbers them first"
        )
    order = np.array([pair.b for pair in aligned(first, model)], np.int64)
    moved = np.flatnonzero(order != np.arange(first.n_topics))
    if len(moved) and not align:
        k = int(moved[0])
        raise InputError(
            f"{names[1]} and {names[0]} do not number their topics alike ({len(moved)} of {first.n_topics} differ; "
            f"topic {k} of the latter is most like topic {order[k]} of the former): an average would mix unlike "
            "topics. --align renumbers them first"
        )
    return order


def topic_orders(models: Sequence[Model], *, align: bool = False) -> list[NDArray[np.int64]]:
    """Orders of models' topics in which topics of equal number mean the same.

    Parameters
    ----------
    models : sequence of Model
        Models of one chain, or (with `align`) of several.
    align : bool, default False
        Match the topics of models that come from different chains.

    Returns
    -------
    list of ndarray
        An order for each model; that of the first is 0, 1, 2 …
    """
    orders: list[NDArray[np.int64]] = [np.arange(models[0].n_topics)]
    for at, model in enumerate(models[1:], 2):
        orders.append(order_of(models[0], model, ("model 1", f"model {at}"), align=align))
    return orders


def _chain_identity(model: Model) -> Any:
    """What tells chains apart, where it is known: all options with the seed."""
    meta = model.meta
    if "seed" not in meta or "options" not in meta:
        return None
    return {k: v for k, v in meta["options"].items() if k != "iterations"}, meta["seed"], meta.get("chain", 0)


def _check_compatible(first: Model, model: Model, first_name: str, name: str) -> None:
    if model.n_topics != first.n_topics:
        raise InputError(f"{name} has {model.n_topics} topics and {first_name} {first.n_topics}: they have no average")
    if model.vocabulary != first.vocabulary:
        raise InputError(f"{name} and {first_name} have different vocabularies: they have no average")
    if len(model.alpha) != len(first.alpha):
        raise InputError(f"{name} has {len(model.alpha)} groups of documents and {first_name} {len(first.alpha)}")


def average_models(
    models: Iterable[Model], orders: Sequence[NDArray[np.int64]], weights: Sequence[int] | None = None
) -> Model:
    """Average the expected counts, α and β of models.

    Parameters
    ----------
    models : iterable of Model
        Models of the same vocabulary and number of topics. They are taken one after the other: those of an iterator
        need not all be in memory.
    orders : sequence of ndarray
        Order of each model's topics, as `topic_orders` gives it.
    weights : sequence of int, optional
        Samples that each model stands for. By default one.

    Returns
    -------
    Model
        The mean.
    """
    coming = iter(models)
    first = next(coming, None)
    if first is None:
        raise InputError("there is no model to average")
    weights = weights or [1] * len(orders)
    number, topics = sum(weights), first.n_topics
    alphas: list[NDArray[np.float64]] = []
    betas: list[NDArray[np.float64]] = []
    remainder, share = np.zeros(0), np.zeros(topics)

    def parts() -> Iterator[Sums]:
        nonlocal remainder, share
        for model, order, weight in zip(chain([first], coming), orders, weights, strict=True):
            alphas.append(model.alpha[:, order])
            betas.append(model.beta)
            if len(model.remainder):
                remainder = (remainder if len(remainder) else np.zeros(first.n_words)) + model.remainder * weight
                share += model.remainder.sum() * model.remainder_share[order] * weight
            columns, values = model.topics, model.values
            if not np.array_equal(order, np.arange(topics)):
                back = np.empty(topics, np.uint16)
                back[order] = np.arange(topics)  # its topic order[k] is topic k here
                columns = back[columns]
            yield model.indptr, columns, values if weight == 1 else values.astype(np.float64) * weight

    indptr, columns, total = add_rows(parts(), first.n_words, topics)
    total /= number
    mean = Model(
        vocabulary=first.vocabulary,
        alpha=_weighted_mean(alphas, weights),
        beta=_weighted_mean(betas, weights),
        indptr=indptr,
        topics=columns,
        values=total,
        remainder=remainder / number,
        remainder_share=share / share.sum() if share.sum() > 0 else np.zeros(0),
        meta=dict(first.meta),
    )
    mean.meta["estimator"] = dict(first.meta.get("estimator", {})) | {"samples": number}
    return mean


def add_rows(parts: Iterable[Sums], rows: int, columns: int) -> Sums:
    """The sum of matrices of so many rows and columns, entry by entry in this order, without what is zero. Those whose
    entries are in the same places (dense ones, say) are added at once, and not kept."""
    kept: list[Sums] = []
    for part in parts:
        if len(kept) == 1 and all(np.array_equal(part[at], kept[0][at]) for at in (0, 1)):
            total = kept[0][2]
            total += part[2]
        else:
            kept.append(part if kept else (part[0], part[1], part[2].astype(np.float64)))
    if len(kept) == 1:
        return _without_zeros(*kept[0])
    indptr = np.zeros(rows + 1, np.int64)
    found: list[NDArray[np.uint16]] = [np.zeros(0, np.uint16)]
    values: list[NDArray[np.float64]] = [np.zeros(0)]
    step = max(ROOM // max(columns, 1), 1)
    for begin in range(0, rows, step):
        end = min(begin + step, rows)
        total = np.zeros((end - begin) * columns)
        for offsets, of_entry, numbers in kept:
            first, last = int(offsets[begin]), int(offsets[end])
            row = np.repeat(np.arange(end - begin) * columns, np.diff(offsets[begin : end + 1]))
            total[row + of_entry[first:last]] += numbers[first:last]
        at = np.flatnonzero(total)
        indptr[begin + 1 : end + 1] = np.bincount(at // columns, minlength=end - begin)
        found.append((at % columns).astype(np.uint16))
        values.append(total[at])
    return np.cumsum(indptr), np.concatenate(found), np.concatenate(values)


def _without_zeros(indptr: NDArray[np.int64], columns: NDArray[np.uint16], values: NDArray[np.float64]) -> Sums:
    kept = values != 0
    if kept.all():
        return indptr, columns, values
    return np.concatenate([[0], np.cumsum(kept)])[indptr], columns[kept], values[kept]


def _weighted_mean(arrays: Sequence[NDArray[np.float64]], weights: Sequence[int]) -> NDArray[np.float64]:
    if set(weights) == {1}:
        return np.asarray(np.mean(arrays, axis=0))
    return np.asarray(np.average(arrays, axis=0, weights=weights))
