"""What a run takes of memory, asked before it begins."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace

from topicx.engines.memory_limits import told_size
from topicx.engines.threads import Engine
from topicx.errors import InputError
from topicx.files.mapped_arrays import file_of
from topicx.sampling import sampler_registry
from topicx.sampling.run_options import Options
from topicx.sampling.starts import begins_with_scvb0, soft_method, soft_topics
from topicx.state import State


def fitting_memory(
    state: State, options: Options, sampler: sampler_registry.Entry, engine: Engine, soft: bool = False
) -> int:
    """About how many bytes the run takes, the corpus and a soft start included; InputError, with what would do, if it
    may not."""
    held = sum(array.nbytes for array in (state.words, state.offsets, state.ids.data) if file_of(array) is None)
    if engine.places is not None and not soft:  # the tokens are elsewhere; here are their topics, in a file if many
        return held + 2 * state.n_tokens + 24 * state.n_words
    alone, room = sampler.load().memory(state, options), engine.room(held)
    scvb0 = begins_with_scvb0(state, options, "soft")
    method = soft_method(state, soft_topics(state, options), scvb0) if soft else sampler.load()
    needed = max(alone, method.memory(state, options))
    if needed > room:
        fits = [
            entry
            for entry in sampler_registry.able_samplers(sampler.capabilities)
            if entry.load().memory(state, options) <= room
        ]
        do = ["another start (hot, random)"] if alone <= room else [f"the sampler {fits[0].name}"] if fits else []
        do += ["fewer paths"] if options.paths > 1 else []
        topics = _most_topics(state, options, sampler, room)
        do += [f"{topics:,} topics at most"] if 1 < topics < state.n_topics else []
        raise InputError(
            f"memory: {state.n_tokens:,} tokens and {state.n_topics:,} topics take {sampler.name} about "
            f"{told_size(held + needed)}, and it may take {told_size(max(held + room, 0))}: "
            f"{' or '.join([*do, 'scvb0 --stream, which reads the corpus from disk'])} would do"
        )
    return held + needed


def _most_topics(state: State, options: Options, sampler: sampler_registry.Entry, room: int) -> int:
    """The most topics that fit; 0 if none do."""

    def fits(topics: int) -> bool:
        return sampler.load().memory(replace(state, alpha=state.alpha[:, :topics]), options) <= room

    return bisect_left(range(1, state.n_topics + 1), True, key=lambda topics: not fits(topics))
