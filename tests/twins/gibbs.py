"""Slow, readable twins of the Gibbs kernels: the same random stream, the same order of every addition, the same z.

Numbers that are float32 in the kernel are np.float32 here, doubles are Python floats; lanes are arrays of 16. Each
function takes the arguments of its kernel and changes the arrays of the same cell.
"""

from __future__ import annotations

from typing import Any

import numpy as np

NONE = 0xFFFF
SMOOTH_TO = 8  # chunks up to which a dense row's weights include beta
LISTED = 16
REFRESH = 64
WORD = (1 << 64) - 1
f32 = np.float32


class Stream:
    """xoshiro256++ seeded by splitmix64 (rng.h)."""

    def __init__(self, key: int) -> None:
        self.s = []
        for _ in range(4):
            key = (key + 0x9E3779B97F4A7C15) & WORD
            x = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9 & WORD
            x = (x ^ (x >> 27)) * 0x94D049BB133111EB & WORD
            self.s.append(x ^ (x >> 31))

    def next(self) -> int:
        a, b, c, d = self.s
        total = (a + d) & WORD
        result = (((total << 23) | (total >> 41)) + a) & WORD
        t = (b << 17) & WORD
        c ^= a
        d ^= b
        b ^= c
        a ^= d
        c ^= t
        d = ((d << 45) | (d >> 19)) & WORD
        self.s = [a, b, c, d]
        return result

    def uniform(self) -> float:
        return (self.next() >> 11) * 2.0**-53


def scan(sums: np.ndarray) -> np.ndarray:
    """Inclusive sums across the lanes, in steps of 1, 2, 4 and 8."""
    sums = sums.copy()
    for step in (1, 2, 4, 8):
        sums[step:] = sums[:-step] + sums[step:]
    return sums


def inverse(n: int, beta_sum: float) -> np.float32:
    """1 / (n + B), in double, rounded once."""
    with np.errstate(divide="ignore"):
        return f32(np.float64(1.0) / (np.float64(n) + beta_sum))


class Rows:
    """The word rows, read and changed as the kernels do (rows.pxd)."""

    def __init__(self, start, cells, length, bits) -> None:
        self.start, self.cells, self.length, self.bits = start, cells, length, bits
        self.mask = (1 << bits) - 1

    def row(self, w: int) -> np.ndarray:
        return self.cells[self.start[w] : self.start[w + 1]]

    def dense(self, w: int) -> bool:
        return bool(self.length[w] < 0)

    def entries(self, w: int) -> list[tuple[int, int]]:
        """(topic, count) of a sparse row, in its order."""
        return [(int(c) & self.mask, int(c) >> self.bits) for c in self.row(w)[: self.length[w]]]

    def find(self, w: int, k: int) -> int:
        if self.dense(w):
            return k
        return next((i for i, (topic, _) in enumerate(self.entries(w)) if topic == k), -1)

    def number(self, w: int, i: int) -> int:
        return int(self.row(w)[i]) >> (0 if self.dense(w) else self.bits)

    def counts(self, w: int, n_topics: int) -> np.ndarray:
        if self.dense(w):
            return self.row(w)[:n_topics].astype(np.int64)
        counts = np.zeros(n_topics, dtype=np.int64)
        for k, n in self.entries(w):
            counts[k] = n
        return counts

    def move(self, w: int, old: int, new: int) -> bool:
        """Take a token from topic old (-1: from nowhere) to new; True if entries moved."""
        row = self.row(w)
        if self.dense(w):
            if old >= 0:
                row[old] -= 1
            row[new] += 1
            return False
        moved = False
        at, new_at, one = self.find(w, old) if old >= 0 else -1, self.find(w, new), 1 << self.bits
        if new_at >= 0:
            row[new_at] += one
        if at >= 0:
            row[at] -= one
            if int(row[at]) >> self.bits == 0:
                self.length[w] -= 1
                last = self.length[w]
                row[at] = row[last]
                row[last] = 0
                moved = True
        if new_at < 0:
            row[self.length[w]] = one | new
            self.length[w] += 1
            moved = True
        return moved

    def move_apart(self, w: int, old: int, new: int) -> None:
        """As `move`, in two steps: a token less, a token more (rows.pxd, row_remove and row_add)."""
        self.take(w, old)
        self.move(w, -1, new)

    def take(self, w: int, old: int) -> None:
        row = self.row(w)
        if self.dense(w):
            row[old] -= 1
        else:
            at = self.find(w, old)
            row[at] -= 1 << self.bits
            if int(row[at]) >> self.bits == 0:
                self.length[w] -= 1
                row[at] = row[self.length[w]]
                row[self.length[w]] = 0

    def put(self, w: int, counts: np.ndarray, order: list[int]) -> None:
        """Write a row anew; a sparse one in this order of topics."""
        row = self.row(w)
        if self.dense(w):
            row[: len(counts)] = counts
            return
        entries = [int(counts[k]) << self.bits | k for k in order if counts[k]]
        row[: max(self.length[w], len(entries))] = 0
        row[: len(entries)] = entries
        self.length[w] = len(entries)


def heaviest(q, counts, beta: np.float32, old: int, q_less: np.float32) -> int:
    """argmax, the lowest of equals."""
    most, found = f32(-1), 0
    for k in range(len(counts)):
        p = (q_less if k == old else q[k]) * (f32(counts[k] - (k == old)) + beta)
        if p > most:
            most, found = p, k
    return found


def dense_draw(q, counts, beta: np.float32, old: int, q_less: np.float32, u: float) -> int:
    """One draw from q_k (n_k + beta) over all topics (lanes_body.h, dense_draw)."""
    chunks = len(q) // 16
    weights = np.zeros(16 * chunks, dtype=f32)
    for k in range(16 * chunks):
        n = counts[k] if k < len(counts) else 0
        weights[k] = (q_less if k == old else q[k]) * (f32(n - (k == old)) + beta)
    sums = np.add.accumulate(weights.reshape(chunks, 16), axis=0, dtype=f32)
    ends = scan(sums[-1])
    r = min(f32(u * float(ends[15])), ends[15] * f32(0.99999994))
    lane = int((ends <= r).sum())
    if lane < 16:
        r = r - (ends[lane - 1] if lane else f32(0))
        if r < sums[-1, lane]:
            return 16 * int((sums[:-1, lane] <= r).sum()) + lane
    lane = min(lane, 15)
    some = [i for i in (*range(lane, 16), *range(lane - 1, -1, -1)) if sums[-1, i] > 0] or [0]
    column = sums[:, some[0]]
    return 16 * max(c for c in range(chunks) if c == 0 or column[c - 1] < column[-1]) + some[0]


class Cell:
    """The arrays of a kernel's cell (cell.pxd), and its documents."""

    def __init__(self, cell: Any, numbers: Any, block: int) -> None:
        for name in ("words", "assigned", "offsets", "segments", "totals", "alpha", "groups", "beta", "tally"):
            setattr(self, name, np.asarray(getattr(cell, name)))
        self.word_start, self.word_places = np.asarray(cell.word_start), np.asarray(cell.word_places)
        self.blocks, self.beta_sum, self.steps = cell.blocks, cell.beta_sum, cell.steps
        self.maximise = bool(cell.maximise)
        self.rows = Rows(
            np.asarray(cell.row_start), np.asarray(cell.row_cells), np.asarray(cell.row_len), cell.topic_bits
        )
        self.n_topics = self.alpha.shape[1]
        self.documents = [d for d in (Document(self, int(n), block) for n in numbers) if d.first < d.last]


class Document:
    """One that has tokens of the block: they are first … last - 1, all its tokens begin … end - 1."""

    def __init__(self, cell: Cell, number: int, block: int) -> None:
        documents, tokens = len(cell.offsets) - 1, len(cell.words)
        path, d = divmod(number, documents)
        self.number, self.shift = number, path * tokens
        self.z = cell.assigned[path * tokens :]
        self.begin, self.end = int(cell.offsets[d]), int(cell.offsets[d + 1])
        at = d * (cell.blocks + 1) + block
        self.first, self.last = int(cell.segments[at]), int(cell.segments[at + 1])
        self.group = int(cell.groups[d]) if len(cell.groups) else 0
        self.prior = cell.alpha[self.group].astype(f32)

    def placed(self) -> list[int]:
        return [int(k) for k in self.z[self.begin : self.end] if k != NONE]


def dense_sweep(cell, documents, block, key, factor=None) -> int:
    """topicx._kernels.gibbs.dense.sweep; factor: a row a document number (FixedFactor)."""
    cell = Cell(cell, documents, block)
    n_topics, changed, stream = cell.n_topics, 0, Stream(key)
    totals, rows = cell.totals, cell.rows
    for document in cell.documents:
        prior, z = document.prior, document.z
        counts = np.bincount(document.placed(), minlength=n_topics).astype(f32)
        q = np.zeros((n_topics + 15) // 16 * 16, dtype=f32)
        for k in range(n_topics):
            q[k] = (prior[k] + counts[k]) * inverse(totals[k], cell.beta_sum)
        for t in range(document.first, document.last):
            w, old, q_less = int(cell.words[t]), int(z[t]), f32(0)
            if old == NONE:
                old = -1
            else:
                q_less = (prior[old] + (counts[old] - f32(1))) * inverse(totals[old] - 1, cell.beta_sum)
            weights, less, row = q, q_less, rows.counts(w, n_topics)
            if factor is not None:
                f = factor[document.number].astype(f32)
                weights, less = q.copy(), q_less * f[old] if old >= 0 else f32(0)
                weights[:n_topics] *= f
            if cell.maximise:
                new = heaviest(weights, row, cell.beta[w], old, less)
            else:
                new = dense_draw(weights, row, cell.beta[w], old, less, stream.uniform())
            if new == old:
                continue
            changed += 1
            if old >= 0:
                totals[old] -= 1
                counts[old] -= f32(1)
                q[old] = q_less
            totals[new] += 1
            counts[new] += f32(1)
            q[new] = (prior[new] + counts[new]) * inverse(totals[new], cell.beta_sum)
            rows.move(w, old, new)
            z[t] = new
    return changed


class Bucket:
    """The weights of one row: q_k n_kw by entry, or q_k (n_kw + beta_w) where a dense row is short."""

    def __init__(self, cell: Sparse, w: int) -> None:
        self.w, self.rows, q = w, cell.rows, cell.q
        row, self.dense = self.rows.row(w), self.rows.dense(w)
        self.chunks = len(q) // 16 if self.dense else (int(self.rows.length[w]) + 15) // 16
        self.beta = cell.beta[w]
        self.smooth = self.beta if self.dense and self.chunks <= SMOOTH_TO else f32(0)
        self.p = np.zeros((self.chunks + 7) // 8 * 128, dtype=f32)
        for i in range(16 * self.chunks):
            k, n = (i, int(row[i])) if self.dense else (int(row[i]) & self.rows.mask, int(row[i]) >> self.rows.bits)
            self.p[i] = q[k] * (f32(n) + self.smooth)
        self.groups = np.array([self.lanes(8 * g, 8 * g + 8) for g in range((self.chunks + 7) // 8)]).reshape(-1, 16)
        total = np.zeros(16, dtype=f32)
        for part in self.groups:
            total = total + part
        self.scan = scan(total)

    def lanes(self, first: int, last: int) -> np.ndarray:
        total = np.zeros(16, dtype=f32)
        for c in range(first, min(last, self.chunks)):
            total = total + self.p[16 * c : 16 * c + 16]
        return total

    def adjust(self, i: int, p: np.float32) -> None:
        step = p - self.p[i]
        self.p[i] = p
        self.scan[i % 16 :] += step
        if self.chunks > 8:
            self.groups[i // 128, i % 16] += step

    def weigh(self, q, i: int) -> np.float32:
        """The weight of entry i from its row as it now is."""
        k = i if self.dense else int(self.rows.row(self.w)[i]) & self.rows.mask
        return q[k] * (f32(self.rows.number(self.w, i)) + self.smooth)

    def entry(self, lane: int, r: np.float32) -> int:
        c = 0
        if self.chunks > 8:
            g = 0
            while g < (self.chunks - 1) // 8 and not r < self.groups[g, lane]:
                r = r - self.groups[g, lane]
                g += 1
            c = 8 * g
        if self.chunks > 1:
            p = self.p[16 * c : 16 * c + 128].reshape(8, 16)[:, lane]
            s1 = p[0] + p[1]
            s3 = s1 + (p[2] + p[3])
            s5 = s3 + (p[4] + p[5])
            s7 = s5 + (p[6] + p[7])
            c += sum(bool(s <= r) for s in (p[0], s1, s1 + p[2], s3, s3 + p[4], s5, s5 + p[6], s7))
        i = 16 * c + lane
        if i < 16 * self.chunks and self.p[i] > 0:
            return i
        return max((i for i in range(16 * self.chunks) if self.p[i] > 0), default=0)


class Sparse:
    """One cell of the SparseLDA kernel."""

    def __init__(self, rows, totals, beta, beta_sum) -> None:
        self.rows, self.totals, self.beta, self.beta_sum = rows, totals, beta, beta_sum
        self.n_topics = len(totals)
        self.q = np.zeros((self.n_topics + 15) // 16 * 16, dtype=f32)
        self.counts = np.zeros(self.n_topics, dtype=f32)
        self.prior = np.zeros(self.n_topics, dtype=f32)
        self.changed = 0
        self.listed = False
        self.topics: list[int] = []

    def weight(self, k: int, step: int = 0) -> np.float32:
        return (self.prior[k] + (self.counts[k] + f32(step))) * inverse(self.totals[k] + step, self.beta_sum)

    def weights(self) -> None:
        for k in range(self.n_topics):
            self.q[k] = self.weight(k)

    def sums(self) -> None:
        """Sums of q over 16 topics, over 256, over all."""
        chunks = len(self.q) // 16
        self.blocks = []
        for c in range(chunks):
            x = [0.0] * 4
            for j in range(16):
                x[j % 4] += float(self.q[16 * c + j])
            self.blocks.append((x[0] + x[1]) + (x[2] + x[3]))
        self.supers, self.total = [], 0.0
        for a in range(0, chunks, 16):
            part = 0.0
            for x in self.blocks[a : a + 16]:
                part += x
            self.supers.append(part)
            self.total += part

    def set_q(self, k: int, q: np.float32) -> None:
        step = float(q) - float(self.q[k])
        self.q[k] = q
        self.blocks[k // 16] += step
        self.supers[k // 256] += step
        self.total += step

    def count(self, k: int, step: int) -> None:
        q = self.weight(k, step)
        if step > 0 and self.counts[k] == 0 and self.listed:
            self.topics.append(k)
        self.counts[k] += f32(step)
        self.totals[k] += step
        self.set_q(k, q)

    def smooth_draw(self, r: float, old: int, q_less: np.float32) -> int:
        cut = float(self.q[old]) - float(q_less) if old >= 0 else 0.0
        a = 0
        while a < len(self.supers) - 1:
            x = self.supers[a] - (cut if old >= 0 and a == old // 256 else 0.0)
            if r < x:
                break
            r -= x
            a += 1
        c = 16 * a
        while c < min(16 * a + 16, len(self.blocks)) - 1:
            x = self.blocks[c] - (cut if old >= 0 and c == old // 16 else 0.0)
            if r < x:
                break
            r -= x
            c += 1
        q = self.q.copy()
        if old >= 0:
            q[old] = q_less
        k = 16 * c + int((scan(q[16 * c : 16 * c + 16]) <= f32(r)).sum())
        if k < 16 * c + 16 and k < self.n_topics and q[k] > 0:
            return k
        k = min(self.n_topics - 1, 16 * c + 15)
        while k > 0 and not q[k] > 0:
            k -= 1
        return k

    def tokens(self, words, z, first: int, last: int, stream: Stream, maximise: bool) -> None:
        here, t = Bucket(self, int(words[first])), first
        while t < last:
            w, end = int(words[t]), t + 1
            while end < last and words[end] == w:
                end += 1
            # the next row is weighed before this one is drawn from, and told of every change
            following = Bucket(self, int(words[end])) if end < last else None
            while t < end:
                here = self.token(words, z, t, end, here, following, stream, maximise)
                t += 1
            if following is not None:
                here = following

    def token(self, words, z, t, end, here: Bucket, following, stream: Stream, maximise: bool) -> Bucket:
        w, old, at, q_less, p_less, p_here = int(words[t]), int(z[t]), -1, f32(0), f32(0), f32(0)
        sums, q_sum, rest = here.scan.copy(), self.total, f32(0)
        if old == NONE:
            old = -1
        else:
            at = self.rows.find(w, old)
            q_less = self.weight(old, -1)
            p_less = q_less * (f32(self.rows.number(w, at)) - f32(1) + here.smooth)
            p_here = here.p[at]
            sums[at % 16 :] += -p_here
            q_sum += float(q_less) - float(self.q[old])
        if here.smooth == 0:
            rest = f32(float(here.beta) * q_sum)
        if maximise:
            new = heaviest(self.q, self.rows.counts(w, self.n_topics), here.beta, old, q_less)
            if new == old:
                return here
        else:
            others = sums[15]
            if others + (p_less + rest) < p_here * f32(0.015625):
                here.p[at] = 0
                sums = scan(here.lanes(0, here.chunks))
                here.p[at] = p_here
                others = sums[15]
            u = stream.uniform()
            r = f32(u) * (others + (p_less + rest))
            if r < p_less:
                return here
            r = r - p_less
            if old >= 0:
                here.p[at] = 0
                if here.chunks > 8:
                    here.groups[at // 128, at % 16] -= p_here
            if r < rest or not others > 0:
                exact = u * (float(others) + float(p_less) + float(here.beta) * q_sum) - float(p_less)
                new = self.smooth_draw(exact / float(here.beta) if exact > 0 else 0.0, old, q_less)
            else:
                r = r - rest
                lane = min(int((sums <= r).sum()), 15)
                i = here.entry(lane, r - (sums[lane - 1] if lane else f32(0)))
                new = i if here.dense else int(self.rows.row(w)[i]) & self.rows.mask
            if new == old:
                return Bucket(self, w) if t + 1 < end else here
        self.changed += 1
        if old >= 0:
            self.count(old, -1)
        self.count(new, 1)
        moved = self.rows.move(w, old, new)
        z[t] = new
        if t + 1 < end:
            if moved:
                here = Bucket(self, w)
            else:
                here.scan = sums
                if old >= 0:
                    here.adjust(at, p_less)
                new_at = self.rows.find(w, new)
                here.adjust(new_at, here.weigh(self.q, new_at))
        if following is not None:
            where = [self.rows.find(following.w, k) if k >= 0 else -1 for k in (old, new)]
            for i in where:
                if i >= 0:
                    following.adjust(i, following.weigh(self.q, i))
        return here


def sparse_sweep(cell, documents, block, key) -> int:
    """topicx._kernels.gibbs.sparse.sweep."""
    c = Cell(cell, documents, block)
    state = Sparse(c.rows, c.totals, c.beta, c.beta_sum)
    stream, current, since = Stream(key), -1, 0
    state.listed = len(state.q) * len(c.documents) > LISTED * sum(d.last - d.first for d in c.documents)
    for document in c.documents:
        if document.group != current:
            current, since = document.group, 0
            state.prior = document.prior
            state.weights()
        placed = document.placed()
        span = document.first, document.last
        if state.listed:
            if since % REFRESH == 0:
                state.sums()
            since += 1
            state.topics = list(dict.fromkeys(placed))
            for k in placed:
                state.counts[k] += f32(1)
            for k in state.topics:
                state.set_q(k, state.weight(k))
            state.tokens(c.words, document.z, *span, stream, c.maximise)
            for k in state.topics:
                state.counts[k] = 0
                state.set_q(k, state.weight(k))
        else:
            for k in placed:
                state.counts[k] += f32(1)
            state.weights()
            state.sums()
            state.tokens(c.words, document.z, *span, stream, c.maximise)
            state.counts[:] = 0
    return state.changed
