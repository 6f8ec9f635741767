"""Readable forms of topicx/_kernels/hmm: the same arithmetic in the same order, site by site; passes in logarithms."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

MASK = (1 << 64) - 1


def _splitmix(state):
    state = (state + 0x9E3779B97F4A7C15) & MASK
    x = state
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return state, x ^ (x >> 31)


def uniforms(key, number):
    """32 bits a site: eight streams of xoshiro256++ take turns, each gives its low half, then its high half."""
    lanes = []
    for _ in range(8):
        key, own = _splitmix(key)
        state = []
        for _ in range(4):
            own, x = _splitmix(own)
            state.append(x)
        lanes.append(state)
    out = []
    while len(out) < number:
        for lane in lanes:
            s0, s1, s2, s3 = lane
            total = (s0 + s3) & MASK
            result = ((((total << 23) | (total >> 41)) & MASK) + s0) & MASK
            t = (s1 << 17) & MASK
            s2 ^= s0
            s3 ^= s1
            s1 ^= s2
            s0 ^= s3
            s2 ^= t
            s3 = ((s3 << 45) | (s3 >> 19)) & MASK
            lane[:] = s0, s1, s2, s3
            out += [result & 0xFFFFFFFF, result >> 32]
    return out[:number]


def _pick(weights, u, old):
    sums = list(np.cumsum(weights))
    if not sums[-1] > 0:
        return old
    r = u * 2.0**-32 * sums[-1]
    return next((s for s, total in enumerate(sums[:-1]) if r < total), len(sums) - 1)


def sweep_collapsed(words, offsets, z, start, trans, emit, alpha0, alpha, beta, key):
    """Algorithm 2 of Kozdoba & Mannor, one path: every site given all counts without its own."""
    S, V = len(start), len(emit)
    u = uniforms(key, len(words))
    changed = 0
    for first, end in zip(offsets[:-1], offsets[1:]):
        for i in range(first, end):
            w, old = words[i], z[i]
            prev = z[i - 1] if i > first else None
            after = z[i + 1] if i + 1 < end else None

            def add(s, by, w=w, prev=prev, after=after):
                emit[w, s] += by
                if prev is None:
                    start[s] += by
                else:
                    trans[prev, s] += by
                if after is not None:
                    trans[s, after] += by

            add(old, -1)
            weights = []
            for s in range(S):
                weight = float(emit[w, s]) + beta
                below = float(emit[:, s].sum()) + beta * V
                weight *= float(start[s]) + alpha0 if prev is None else float(trans[prev, s]) + alpha
                if after is not None:  # the pair (prev, s) has been made by then
                    again = prev is not None and prev == s
                    weight *= float(trans[s, after] + (again and s == after)) + alpha
                    below *= float(trans[s].sum() + again) + alpha * S
                weights.append(weight / below)
            z[i] = _pick(weights, u[i], old)
            add(z[i], 1)
            changed += int(z[i] != old)
    return changed


def sweep_partial(words, offsets, z, start, trans, emit, key):
    """Algorithm 1, lines 5 to 9, one path: every site given its neighbours and the parameters."""
    S = len(start)
    u = uniforms(key, len(words))
    changed = 0
    for first, end in zip(offsets[:-1], offsets[1:]):
        for i in range(first, end):
            weights = [
                emit[words[i], s]
                * (start[s] if i == first else trans[z[i - 1], s])
                * (1.0 if i + 1 == end else trans[s, z[i + 1]])
                for s in range(S)
            ]
            old = z[i]
            z[i] = _pick(weights, u[i], old)
            changed += int(z[i] != old)
    return changed


def forward_backward(words, start, trans, emit):
    """log p of one sequence, p(state) of each site, and the expected transitions, all by logarithms."""
    with np.errstate(divide="ignore"):
        log_start, log_trans, log_emit = np.log(start), np.log(trans), np.log(emit)
    n, S = len(words), len(start)
    ahead, back = np.zeros((n, S)), np.zeros((n, S))
    ahead[0] = log_start + log_emit[words[0]]
    for i in range(1, n):
        ahead[i] = logsumexp(ahead[i - 1][:, None] + log_trans, axis=0) + log_emit[words[i]]
    for i in range(n - 2, -1, -1):
        back[i] = logsumexp(log_trans + (log_emit[words[i + 1]] + back[i + 1])[None], axis=1)
    total = logsumexp(ahead[-1])
    gamma = np.exp(ahead + back - total)
    pairs = np.zeros((S, S))
    for i in range(n - 1):
        pairs += np.exp(ahead[i][:, None] + log_trans + (log_emit[words[i + 1]] + back[i + 1])[None] - total)
    return total, gamma, pairs


def viterbi(words, log_start, log_trans, log_emit):
    """The most probable path and its log p; ties go to the lower state."""
    score, came = log_start + log_emit[words[0]], []
    for w in words[1:]:
        table = score[:, None] + log_trans
        came.append(table.argmax(axis=0))
        score = table.max(axis=0) + log_emit[w]
    path = [int(score.argmax())]
    for row in reversed(came):
        path.append(int(row[path[-1]]))
    return np.array(path[::-1]), float(score.max())
