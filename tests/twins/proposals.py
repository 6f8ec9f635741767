"""Twins of the kernels that propose and of the sum tree: the same random stream, the same order of every addition."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.twins.gibbs import NONE, Cell, Stream, f32, inverse, scan

RUN = 32
CHANCE = f32(5.9604645e-08)


class Table:
    """Walker's table (walker.pxd)."""

    def __init__(self, weights: Any) -> None:
        self.n = n = len(weights)
        self.keep, self.other = np.ones(n, f32), np.arange(n)
        self.total = 0.0
        for weight in weights:
            self.total += float(weight)
        if not self.total > 0:
            return
        scale = n / self.total
        scaled = [float(weight) * scale for weight in weights]
        small = [i for i in range(n) if scaled[i] < 1]
        large = [i for i in range(n) if not scaled[i] < 1]
        while small and large:
            lesser, greater = small.pop(), large[-1]
            self.keep[lesser], self.other[lesser] = scaled[lesser], greater
            scaled[greater] -= 1 - scaled[lesser]
            if scaled[greater] < 1:
                small.append(large.pop())

    def draw(self, u: float) -> int:
        x = u * self.n
        i = min(int(x), self.n - 1)
        return i if x - i < float(self.keep[i]) else int(self.other[i])


def light_sweep(cell: Any, documents: Any, block: int, key: int) -> int:
    """topicx._kernels.gibbs.light.sweep."""
    c, stream, changed, group = Cell(cell, documents, block), Stream(key), 0, -1
    topics, totals = c.n_topics, c.totals
    inverses = [inverse(n, c.beta_sum) for n in totals]
    for document in c.documents:
        z, prior = document.z, document.prior
        if document.group != group:
            group, table = document.group, Table(prior)
            alpha_sum = float(f32(table.total))
        own = document.end - document.begin
        counts = np.bincount(document.placed(), minlength=topics)
        for begin in range(document.first, document.last, RUN):
            run = range(begin, min(begin + RUN, document.last))
            asked = []
            for t in run:
                w = int(c.words[t])
                start, others, beta = int(c.word_start[w]), int(c.word_start[w + 1] - c.word_start[w]) - 1, c.beta[w]
                for _ in range(c.steps):
                    x = stream.uniform() * (others + topics * float(beta))
                    if x < others:
                        place = int(c.word_places[start + int(x)])
                        place = int(c.word_places[start + others]) if place == t + document.shift else place
                        by_word: tuple[str, int] = ("token", place)
                    else:
                        by_word = ("topic", min(int((x - others) / float(beta)), topics - 1))
                    x = stream.uniform() * (own - 1 + alpha_sum)
                    if x < own - 1:
                        k = document.begin + int(x)
                        by_document: tuple[str, int] = ("token", k if k < t else k + 1)
                    else:
                        by_document = ("topic", table.draw(stream.uniform()))
                    bits = stream.next()
                    asked.append((by_word, by_document, f32(bits >> 40) * CHANCE, f32(bits & 0xFFFFFF) * CHANCE))
            for t in run:
                w, old = int(c.words[t]), int(z[t])
                now, less, row = old, inverse(totals[old] - 1, c.beta_sum), c.rows.counts(w, topics)

                def by_documents(k: int, old: int = old, less: Any = less, of: Any = (prior, counts)) -> Any:
                    return (of[0][k] + f32(of[1][k] - (k == old))) * (less if k == old else inverses[k])

                def by_words(k: int, old: int = old, less: Any = less, row: Any = row, w: int = w) -> Any:
                    return (f32(row[k]) - f32(k == old) + c.beta[w]) * (less if k == old else inverses[k])

                for _ in range(c.steps):
                    by_word, by_document, one, two = asked.pop(0)
                    proposals = ((by_word, c.assigned, one, by_documents), (by_document, z, two, by_words))
                    for kind, ((what, number), source, chance, weigh) in enumerate(proposals):
                        new = int(source[number]) if what == "token" else number
                        if new != now:
                            c.tally[2 * kind] += 1
                            if chance * weigh(now) < weigh(new):
                                c.tally[2 * kind + 1] += 1
                                now = new
                if now != old:
                    changed += 1
                    c.rows.move_apart(w, old, now)
                    totals[old] -= 1
                    totals[now] += 1
                    inverses[old], inverses[now] = less, inverse(totals[now], c.beta_sum)
                    counts[old] -= 1
                    counts[now] += 1
                    z[t] = now
    return changed


# -- the sum tree --------------------------------------------------------------------------------------------------


def sum16(v: Any) -> Any:
    a = v[:8] + v[8:]
    b = a[:4] + a[4:]
    return (b[0] + b[2]) + (b[1] + b[3])


class Tree:
    """Leaves, and the sums of each 16 of a level above it."""

    def __init__(self, leaves: int) -> None:
        self.levels = [np.zeros(leaves, f32)]
        while len(self.levels[-1]) > 16:
            self.levels.append(np.zeros((len(self.levels[-1]) // 16 + 15) // 16 * 16, f32))

    def renew(self) -> Any:
        for below, above in zip(self.levels, self.levels[1:], strict=False):
            for i in range(len(below) // 16):
                above[i] = sum16(below[16 * i : 16 * i + 16])
        return sum16(self.levels[-1])

    def find(self, r: Any) -> int:
        k = 0
        for level in reversed(self.levels):
            v = level[16 * k : 16 * k + 16]
            ends = np.concatenate([[f32(0)], scan(v)])
            lane = min(int((ends[1:] <= r).sum()), 15)
            while lane > 0 and not v[lane] > 0:
                lane -= 1
            r = r - ends[lane]
            k = 16 * k + lane
        return k


def find_in_lanes(sums: Any, r: Any) -> int:
    """tx_find (vectors.h): sums run down the chunks, a column a lane; -1: no weight."""
    ends = np.concatenate([[f32(0)], scan(sums[-1])])
    lane = min(int((ends[1:] <= r).sum()), 15)
    r = r - ends[lane]
    if r < sums[-1, lane]:
        return 16 * int((sums[:-1, lane] <= r).sum()) + lane
    near = next((i for i in (*range(lane, 16), *range(lane, -1, -1)) if sums[-1, i] > 0), -1)
    if near < 0:
        return -1
    column = sums[:, near]
    return 16 * max(i for i in range(len(sums)) if i == 0 or column[i - 1] < column[-1]) + near


def tree_sweep(cell: Any, documents: Any, block: int, key: int) -> int:
    """topicx._kernels.gibbs.tree.sweep."""
    c, stream, changed = Cell(cell, documents, block), Stream(key), 0
    topics, totals = c.n_topics, c.totals
    tree = Tree((topics + 15) // 16 * 16)
    most = c.alpha.astype(f32).max(axis=0)
    inverses = [inverse(n, c.beta_sum) for n in totals]
    lists: list[list[list[int]]] = []  # of each document: [topic, count] in the kernel's order
    for document in c.documents:
        placed = document.placed()
        lists.append([[k, placed.count(k)] for k in dict.fromkeys(placed)])
    tokens = [(int(c.words[t]), i, t) for i, d in enumerate(c.documents) for t in range(d.first, d.last)]
    for w in sorted({token[0] for token in tokens}):
        counts, scale = c.rows.counts(w, topics), f32(1) / c.beta[w]
        touched = [k for k, _ in c.rows.entries(w)] if not c.rows.dense(w) else []

        def factor(k: int, counts: Any = counts, scale: Any = scale) -> Any:
            return (f32(1) + f32(counts[k]) * scale) * inverses[k]

        weights = [factor(k) for k in range(topics)]
        tree.levels[0][:topics] = most * np.array(weights, f32)
        for _, i, t in (token for token in tokens if token[0] == w):
            document, mine = c.documents[i], lists[i]
            z, total, old, less = document.z, tree.renew(), int(document.z[t]), f32(0)
            if old == NONE:
                old = -1
            else:
                inverse_less = inverse(totals[old] - 1, c.beta_sum)
                less = (f32(1) + f32(counts[old] - 1) * scale) * inverse_less
            own, sums = f32(0), np.zeros(((len(mine) + 15) // 16, 16), f32)
            for at, (k, n) in enumerate(mine):
                sums[at // 16, at % 16] = (f32(n) - f32(1)) * less if k == old else f32(n) * weights[k]
            if len(mine):
                sums = np.add.accumulate(sums, axis=0, dtype=f32)
                own = scan(sums[-1])[15]
            if old >= 0:
                excess = tree.levels[0][old] - most[old] * less
                if excess + excess > own + total:
                    tree.levels[0][old] = most[old] * less
                    total = tree.renew()
            mass = float(own) + float(total)
            while True:
                x = stream.uniform() * mass
                if x < float(own):
                    at = find_in_lanes(sums, f32(x))
                    if at >= 0:
                        new = mine[at][0]
                        break
                new = tree.find(f32(x - float(own)))
                if new != old and not len(c.groups):
                    break
                weight = document.prior[new] * (less if new == old else weights[new])
                if stream.uniform() * float(tree.levels[0][new]) < float(weight):
                    break
            if new == old:
                tree.levels[0][old] = most[old] * weights[old]
                continue
            changed += 1
            if old >= 0:
                counts[old] -= 1
                totals[old] -= 1
                inverses[old], weights[old] = inverse_less, less
                tree.levels[0][old] = most[old] * less
                at = [k for k, _ in mine].index(old)
                mine[at][1] -= 1
                if mine[at][1] == 0:
                    last = mine.pop()
                    if at < len(mine):
                        mine[at] = last
            counts[new] += 1
            totals[new] += 1
            inverses[new] = inverse(totals[new], c.beta_sum)
            weights[new] = factor(new)
            tree.levels[0][new] = most[new] * weights[new]
            touched += [] if new in touched else [new]
            at = next((i for i, (k, _) in enumerate(mine) if k == new), len(mine))
            if at == len(mine):
                mine.append([new, 0])
            mine[at][1] += 1
            z[t] = new
        c.rows.put(w, counts, touched)
        tree.levels[0][:topics] = most * np.array(inverses, f32)
    return changed


# -- WarpLDA -------------------------------------------------------------------------------------------------------


def judged(record: Any, counts: Any, prior: Any, inverses: Any, stream: Stream, tally: Any) -> int:
    """The topic of a token after its proposals; counts leave it out."""
    now = int(record[0])
    for new in map(int, record[1:]):
        if new != now:
            tally[0] += 1
            chance = f32(stream.next() >> 40) * CHANCE
            if chance * ((counts[now] + prior[now]) * inverses[now]) < (counts[new] + prior[new]) * inverses[new]:
                tally[1] += 1
                now = new
    return now


def judge_all(
    records: Any, of: Any, counts: Any, prior: Any, inverses: Any, moved: Any, stream: Any, tally: Any
) -> int:
    changed = 0
    for t in of:
        old = int(records[t, 0])
        counts[old] -= f32(1)
        new = judged(records[t], counts, prior, inverses, stream, tally)
        counts[new] += f32(1)
        if new != old:
            records[t, 0] = new
            changed += 1
            moved[old] -= 1
            moved[new] += 1
    return changed


def word_phase(
    records: Any, start: Any, places: Any, first: int, last: int, beta: Any, seed_start: Any, seed_topics: Any,
    seed_counts: Any, inverses: Any, moved: Any, key: int, tally: Any,
) -> int:  # fmt: skip
    """topicx._kernels.gibbs.warp.word_phase."""
    stream, topics, changed = Stream(key), len(inverses), 0
    for w in range(first, last):
        tokens = places[start[w] : start[w + 1]]
        n = len(tokens)
        if n == 0:
            continue
        counts = np.bincount(records[tokens, 0], minlength=topics).astype(f32)
        seeds = [(int(seed_topics[i]), int(seed_counts[i])) for i in range(seed_start[w], seed_start[w + 1])]
        for topic, count in seeds:
            counts[topic] += f32(count)
        pseudo = sum(count for _, count in seeds)
        changed += judge_all(records, tokens, counts, np.full(topics, beta[w]), inverses, moved, stream, tally)
        mass = n + pseudo + topics * float(beta[w])
        current = records[tokens, 0].copy()
        for t in tokens:
            for m in range(1, records.shape[1]):
                x = stream.uniform() * mass
                if x < n:
                    records[t, m] = current[int(x)]
                elif x < n + pseudo:
                    owners = [topic for topic, count in seeds for _ in range(count)]
                    records[t, m] = owners[int(x - n)]
                else:
                    records[t, m] = min(int((x - n - pseudo) / float(beta[w])), topics - 1)
    return changed


def document_phase(
    records: Any, offsets: Any, docs: Any, alpha: Any, groups: Any, inverses: Any, moved: Any, key: int, tally: Any
) -> int:
    """topicx._kernels.gibbs.warp.document_phase."""
    stream, topics, changed = Stream(key), len(inverses), 0
    for d in docs:
        tokens = range(offsets[d], offsets[d + 1])
        n = len(tokens)
        if n == 0:
            continue
        prior = alpha[groups[d] if len(groups) else 0].astype(f32)
        table = Table(prior)
        counts = np.bincount(records[tokens.start : tokens.stop, 0], minlength=topics).astype(f32)
        changed += judge_all(records, tokens, counts, prior, inverses, moved, stream, tally)
        mass = n + table.total
        for t in tokens:
            for m in range(1, records.shape[1]):
                x = stream.uniform() * mass
                if x < n:
                    records[t, m] = records[tokens.start + int(x), 0]
                else:
                    records[t, m] = table.draw((x - n) / table.total)
    return changed


# -- AliasLDA ------------------------------------------------------------------------------------------------------


def mixed(key: int, part: int) -> int:
    """streams.key, one number more."""
    word = (1 << 64) - 1
    x = ((key ^ part) + 0x9E3779B97F4A7C15) & word
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & word
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & word
    return x ^ (x >> 31)


def alias_sweep(cell: Any, documents: Any, block: int, key: int) -> int:
    """topicx._kernels.gibbs.alias.sweep."""
    changed, n = 0, len(documents)
    for batch in range(8):
        part = documents[batch * n // 8 : (batch + 1) * n // 8]
        if len(part):
            changed += alias_batch(Cell(cell, part, block), Stream(mixed(mixed(0, key), batch)))
    return changed


def alias_batch(c: Cell, stream: Stream) -> int:
    topics, totals, rows, changed = c.n_topics, c.totals, c.rows, 0
    padded = (topics + 15) // 16 * 16
    tokens = [(d, t, int(c.words[t])) for d in c.documents for t in range(d.first, d.last)]
    for d, t, w in tokens:
        rows.take(w, int(d.z[t]))
        totals[d.z[t]] -= 1
    smooth = np.zeros(topics, f32)
    for k in range(topics):
        for row in c.alpha:
            smooth[k] += f32(row[k] / len(c.alpha))
        smooth[k] = f32(float(smooth[k]) / (float(totals[k]) + c.beta_sum))
    everywhere = Table(smooth)
    stale = {}
    for w in dict.fromkeys(w for _, _, w in tokens):
        counts = rows.counts(w, topics)
        entries = [(k, int(counts[k])) for k in range(topics) if counts[k]] if rows.dense(w) else rows.entries(w)
        table = Table(np.array([f32(m) * smooth[k] for k, m in entries], f32))
        stale[w] = ([k for k, _ in entries], dict(entries), table)
    for d, t, w in tokens:
        rows.move(w, -1, int(d.z[t]))
        totals[d.z[t]] += 1
    inverses = np.array([inverse(m, c.beta_sum) for m in totals] + [f32(0)] * (padded - topics), f32)
    for d in c.documents:
        mine = list(dict.fromkeys(d.placed()))
        own_counts = np.bincount(d.placed(), minlength=topics)
        for t in range(d.first, d.last):
            w, old = int(c.words[t]), int(d.z[t])
            now, beta, counts = old, c.beta[w], rows.counts(w, topics)
            counts[old] -= 1
            own_counts[old] -= 1
            inverse_old, inverses[old] = inverses[old], inverse(totals[old] - 1, c.beta_sum)
            inverse_less = inverses[old]
            sums = np.zeros(((len(mine) + 15) // 16, 16), f32)
            for at, k in enumerate(mine):
                sums[at // 16, at % 16] = f32(own_counts[k]) * ((f32(counts[k]) + beta) * inverses[k])
            sums = np.add.accumulate(sums, axis=0, dtype=f32)
            own = float(scan(sums[-1])[15])
            order, older, table = stale[w]
            stale_word = float(f32(table.total))
            mass = own + stale_word + float(beta * f32(everywhere.total))

            def densities(k: int, of: Any = (counts, own_counts, older, beta, d.prior)) -> tuple[Any, Any]:
                counts, own_counts, older, beta, prior = of
                c_k = (f32(counts[k]) + beta) * inverses[k]
                q = f32(own_counts[k]) * c_k + smooth[k] * (f32(older.get(k, 0)) + beta)
                return c_k * (f32(own_counts[k]) + prior[k]), q

            for _ in range(c.steps):
                x, new = stream.uniform() * mass, -1
                if x < own:
                    at = find_in_lanes(sums, f32(x))
                    new = mine[at] if at >= 0 else -1
                elif x < own + stale_word:
                    new = order[table.draw(stream.uniform())]
                if new < 0:
                    new = everywhere.draw(stream.uniform())
                x = stream.uniform()
                if new == now:
                    continue
                c.tally[0] += 1
                (p_now, q_now), (p_new, q_new) = densities(now), densities(new)
                if x * float(p_now * q_new) < float(p_new * q_now):
                    c.tally[1] += 1
                    now = new
            own_counts[now] += 1
            if now == old:
                inverses[old] = inverse_old
                continue
            changed += 1
            rows.move_apart(w, old, now)
            totals[old] -= 1
            totals[now] += 1
            inverses[old], inverses[now] = inverse_less, inverse(totals[now], c.beta_sum)
            if own_counts[old] == 0:
                at, last = mine.index(old), mine.pop()
                if at < len(mine):
                    mine[at] = last
            if now not in mine:
                mine.append(now)
            d.z[t] = now
    return changed
