"""The kernels against their twins, bit for bit; each instruction set against the others; and the posterior."""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys

import numpy as np
import pytest

from tests.places import ROOT
from tests.twins import gibbs, proposals
from topicx._kernels.estimate import counts
from topicx._kernels.gibbs import alias, dense, first_topics, light, rows, sparse, tree, warp
from topicx._kernels.gibbs.cell import Cell, FixedFactor

NONE = 0xFFFF
KERNELS = {"dense": (dense.sweep, gibbs.dense_sweep), "sparse": (sparse.sweep, gibbs.sparse_sweep)}


class Case:
    """A small random corpus cut into P x P cells, with an assignment, priors and rows."""

    def __init__(
        self,
        K,
        P=1,
        seed=0,
        V=30,
        D=9,
        mean=25,
        groups=1,
        missing=0.0,
        forms=(0.125, 0.08),
        pseudo=False,
        repeat=False,
        beta=0.1,
    ):
        rng = np.random.default_rng(seed)
        lengths = rng.poisson(mean, D)
        lengths[D // 2] = 0
        self.K, self.P, self.D = K, P, D
        self.offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        zipf = 1 / np.arange(1, V + 1)
        self.words = rng.choice(V, self.offsets[-1], p=zipf / zipf.sum()).astype(np.uint32)
        segments = np.zeros((D, P + 1), dtype=np.int64)
        for d in range(D):
            part = self.words[self.offsets[d] : self.offsets[d + 1]]
            order = np.argsort(part if repeat else part % P, kind="stable")
            order = order[np.argsort(part[order] % P, kind="stable")]
            part[:] = part[order]
            segments[d] = self.offsets[d] + np.searchsorted(part % P, np.arange(P + 1))
        self.segments = segments.ravel()
        self.z = rng.integers(0, K, len(self.words)).astype(np.uint16)
        self.z[rng.random(len(self.z)) < missing] = NONE
        self.freq = np.bincount(self.words, minlength=V).astype(np.int64)
        self.pseudo = None
        if pseudo:
            topics = np.array([0, K - 1, K // 2], np.uint16)
            self.pseudo = (np.array([0, 3, 3], np.uint32), topics, np.array([4, 70, 1]))
        self.forms = forms
        self.rows = rows.build_rows(self.words, self.z, K, self.freq, self.pseudo, *forms)
        self.totals = rows.topic_totals_of_rows(*self.rows, K)
        self.alpha = rng.gamma(1.0, 0.3, (groups, K)) + 0.01
        self.groups = rng.integers(0, groups, D).astype(np.uint32) if groups > 1 else np.zeros(0, np.uint32)
        self.beta = (rng.gamma(1.0, beta, V) + 0.001).astype(np.float32)
        self.beta_sum = float(self.beta.sum(dtype=np.float64))

    def copy(self):
        other = Case.__new__(Case)
        other.__dict__.update(self.__dict__)
        start, cells, length, bits = self.rows
        other.z, other.totals = self.z.copy(), self.totals.copy()
        other.rows = (start, rows.as_aligned_cells(cells.copy()), length.copy(), bits)
        return other

    def cell(self, **asked):
        start, cells, length, bits = self.rows
        return Cell(
            words=self.words, assigned=self.z, offsets=self.offsets, segments=self.segments, blocks=self.P,
            row_start=start, row_cells=cells, row_len=length, topic_bits=bits, totals=self.totals, alpha=self.alpha,
            groups=self.groups, beta=self.beta, beta_sum=self.beta_sum, **asked,
        )  # fmt: skip

    def sweep(self, run, number, maximise=False, **asked):
        """One sweep cell by cell, all on the same totals: P = 3 tests cells, not the schedule."""
        changed = 0
        for e in range(self.P):
            for i in range(self.P):
                docs = np.arange(i, self.D, self.P, dtype=np.uint32)
                key = (number * 1000 + e * self.P + i) * 0x1234567DEADBEEF % (1 << 64)
                changed += run(self.cell(maximise=maximise, **asked), docs, (i + e) % self.P, key)
        return changed

    def verify(self):
        assert rows.check_rows(*self.rows, self.K, self.words, self.z, self.freq, self.pseudo) == ""
        np.testing.assert_array_equal(rows.topic_totals_of_rows(*self.rows, self.K), self.totals)


SPARSE_ONLY, DENSE_ONLY, MIXED = (9.0, 2.0), (0.0, 0.0), (0.125, 0.08)
CASES = {
    **{f"K={k}": {"K": k, "seed": k} for k in (1, 2, 3, 15, 16, 17, 20, 31, 33, 48, 63, 64, 65, 70)},
    "segments": {"K": 20, "P": 3, "mean": 40},
    "segments, groups": {"K": 37, "P": 3, "groups": 3, "D": 14},
    "unplaced": {"K": 12, "missing": 0.3},
    "nothing placed": {"K": 40, "missing": 1.0},
    "unplaced, segments": {"K": 33, "P": 3, "missing": 0.5},
    "sparse rows": {"K": 10, "forms": SPARSE_ONLY, "mean": 60},
    "dense rows": {"K": 18, "forms": DENSE_ONLY, "mean": 60},
    "repeats": {"K": 10, "repeat": True, "mean": 80},
    "repeats, sparse rows": {"K": 50, "repeat": True, "mean": 80, "forms": SPARSE_ONLY},
    "pseudo-counts": {"K": 21, "pseudo": True},
    "long rows": {"K": 150, "V": 4, "mean": 150, "forms": DENSE_ONLY},
    "long sparse rows": {"K": 300, "V": 3, "mean": 150, "forms": SPARSE_ONLY, "repeat": True},
    "many topics, short documents": {"K": 600, "D": 80, "mean": 6, "V": 40, "groups": 2},
    "tiny beta": {"K": 24, "beta": 1e-7},
}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", CASES)
def test_twin(kernel, name):
    case = Case(**CASES[name])
    twin = case.copy()
    run, slow = KERNELS[kernel]
    for number in range(3):
        changed = case.sweep(run, number)
        assert changed == twin.sweep(slow, number)
        np.testing.assert_array_equal(case.z, twin.z)
        np.testing.assert_array_equal(case.totals, twin.totals)
        np.testing.assert_array_equal(case.rows[1], twin.rows[1])
        np.testing.assert_array_equal(case.rows[2], twin.rows[2])
        assert (case.z != NONE).all()
        case.verify()
        for one in (case, twin):
            rows.rebalance_rows(*one.rows, one.K, one.freq, *one.forms)


def same(case, twin):
    for mine, theirs in (
        (case.z, twin.z),
        (case.totals, twin.totals),
        *zip(case.rows[1:3], twin.rows[1:3], strict=True),
    ):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("name", CASES)
def test_twin_of_the_tree(name):
    case = Case(**CASES[name])
    twin = case.copy()
    for number in range(2):
        assert case.sweep(tree.sweep, number) == twin.sweep(proposals.tree_sweep, number)
        same(case, twin)
        case.verify()


PLACED = [name for name in CASES if not CASES[name].get("missing") and not CASES[name].get("pseudo")]


@pytest.mark.parametrize("name", PLACED)
def test_twin_of_light(name):
    case = Case(**CASES[name])
    twin = case.copy()
    start, places = light.index_words(case.words, np.zeros(0, np.uint32), np.zeros(0, np.int64), len(case.freq))
    tallies = [np.zeros(4, np.int64) for _ in range(2)]
    asked = {"word_start": start, "word_places": places, "steps": 2}
    for number in range(2):
        changed = case.sweep(light.sweep, number, tally=tallies[0], **asked)
        assert changed == twin.sweep(proposals.light_sweep, number, tally=tallies[1], **asked)
        same(case, twin)
        np.testing.assert_array_equal(*tallies)
        case.verify()


@pytest.mark.parametrize("name", PLACED)
def test_twin_of_alias(name):
    case = Case(**CASES[name])
    twin = case.copy()
    tallies = [np.zeros(2, np.int64) for _ in range(2)]
    for number in range(2):
        changed = case.sweep(alias.sweep, number, tally=tallies[0], steps=2)
        assert changed == twin.sweep(proposals.alias_sweep, number, tally=tallies[1], steps=2)
        same(case, twin)
        np.testing.assert_array_equal(*tallies)
        case.verify()


@pytest.mark.parametrize("name", ["K=1", "K=17", "segments, groups", "repeats", "tiny beta"])
def test_twins_of_warp(name):
    """Both phases, by turns, with a few seeds' pseudo-counts."""
    case = Case(**CASES[name])
    words = len(case.freq)
    every = np.arange(case.D, dtype=np.uint32)
    start, places = warp.index_words(case.words, case.offsets, every, words)
    seed_start = np.repeat([0, 1, 3], [1, 3, words - 3]).astype(np.int64)
    seed_topics, seed_counts = np.array([0, case.K - 1, case.K // 2], np.uint16), np.array([4, 1, 2], np.int64)
    first = np.repeat(case.z[:, None], 3, axis=1)
    sides = [(warp, first.copy(), np.zeros((4, 2), np.int64)), (proposals, first.copy(), np.zeros((4, 2), np.int64))]
    for kernels, records, tally in sides:
        totals = np.bincount(case.z, minlength=case.K)
        for turn in range(4):
            moved, inverse = np.zeros(case.K, np.int64), (1 / (totals + case.beta_sum)).astype(np.float32)
            if turn % 2 == 0:
                changed = kernels.word_phase(
                    records, start, places, 0, words, case.beta, seed_start, seed_topics, seed_counts, inverse, moved,
                    turn + 7, tally[turn],
                )  # fmt: skip
            else:
                changed = kernels.document_phase(
                    records, case.offsets, every, case.alpha, case.groups, inverse, moved, turn + 7, tally[turn]
                )
            totals = totals + moved
            np.testing.assert_array_equal(totals, np.bincount(records[:, 0], minlength=case.K))
            assert changed >= np.abs(moved).sum() / 2
    np.testing.assert_array_equal(sides[0][1], sides[1][1])
    np.testing.assert_array_equal(sides[0][2], sides[1][2])
    assert case.K == 1 or (sides[0][1] != first).any()


@pytest.mark.parametrize("name", ["K=1", "K=17", "segments, groups", "unplaced", "repeats"])
def test_modes(name):
    """Iterated conditional modes: kernels and twins agree with each other, and the sweeps come to rest."""
    case = Case(**CASES[name])
    others = [case.copy() for _ in range(3)]
    for number in range(40):
        changed = case.sweep(sparse.sweep, number, True)
        if number < 3:
            for other, run in zip(others, (dense.sweep, gibbs.dense_sweep, gibbs.sparse_sweep), strict=True):
                assert other.sweep(run, number, True) == changed
                np.testing.assert_array_equal(other.z, case.z)
        case.verify()
        if changed == 0:
            break
    assert changed == 0


@pytest.mark.parametrize("name", ["K=17", "segments, groups", "unplaced", "repeats"])
def test_a_factor_is_multiplied_in(name):
    """The dense kernel with a factor of each document and topic, against its twin."""
    case = Case(**CASES[name])
    twin = case.copy()
    factor = np.random.default_rng(5).gamma(0.5, 1.0, (case.D, case.K)).astype(np.float32)
    for number in range(3):
        changed = case.sweep(dense.sweep, number, factor=FixedFactor(factor))
        assert changed == twin.sweep(lambda *args: gibbs.dense_sweep(*args, factor=factor), number)
        np.testing.assert_array_equal(case.z, twin.z)
        case.verify()
    plain = Case(**CASES[name])
    for number in range(3):
        plain.sweep(dense.sweep, number)
    assert not np.array_equal(plain.z, case.z)


def digest(name: str) -> str:
    case = Case(**CASES[name])
    for kernel in KERNELS:
        for number in range(4):
            case.sweep(KERNELS[kernel][0], number)
    return case.z.tobytes().hex()


def test_instruction_sets_agree():
    """SSE2, AVX2 and AVX-512 give the same bits (each that this CPU has)."""
    code = (
        "import hashlib, tests.kernels.test_kernels as t; print(t.dense.instruction_set(), "
        "hashlib.sha256(''.join(t.digest(n) for n in t.CASES).encode()).hexdigest())"
    )
    here = ROOT
    command, seen = [sys.executable, "-c", code], {}
    for instructions in ("plain", "avx2", "avx512"):
        env = dict(os.environ, TOPICX_INSTRUCTIONS=instructions)
        done = subprocess.run(command, cwd=here, env=env, capture_output=True, text=True, check=True)
        name, value = done.stdout.split()
        seen[name] = value
    assert "plain" in seen
    assert len(set(seen.values())) == 1, seen


def exact_posterior(words, docs, K, V, alpha, beta):
    """p(z | words) of every assignment, by enumeration."""
    N, D = len(words), docs.max() + 1
    log_p = np.empty(K**N)
    for index, z in enumerate(itertools.product(range(K), repeat=N)):
        nd, nw = np.zeros((D, K)), np.zeros((K, V))
        for w, d, k in zip(words, docs, z, strict=True):
            nd[d, k] += 1
            nw[k, w] += 1
        counts = np.concatenate([(nd + alpha).ravel(), (nw + beta).ravel()])
        log_p[index] = sum(map(math.lgamma, counts)) - sum(map(math.lgamma, nw.sum(1) + beta.sum()))
    p = np.exp(log_p - log_p.max())
    return p / p.sum()


@pytest.mark.parametrize("forms", [SPARSE_ONLY, DENSE_ONLY])
@pytest.mark.parametrize("kernel", KERNELS)
def test_posterior(kernel, forms):
    """Frequencies of all 3^6 assignments against the posterior, asymmetric alpha and beta, repeated words."""
    K, V = 3, 3
    words, docs = np.array([0, 0, 1, 2, 0, 1], np.uint32), np.array([0, 0, 0, 1, 1, 1])
    alpha, beta = np.array([0.3, 0.8, 1.5]), np.array([0.4, 0.2, 0.9], np.float32)
    offsets = np.array([0, 3, 6], np.int64)
    segments = np.array([0, 3, 3, 6], np.int64)
    expected = exact_posterior(words, docs, K, V, alpha, beta.astype(float))
    # slots wide enough for dense rows: pretend the words are frequent elsewhere
    freq = np.full(V, 16 if forms == DENSE_ONLY else 3, np.int64)
    z = np.zeros(6, np.uint16)
    layout = rows.build_rows(words, z, K, freq, None, *forms)
    totals = rows.topic_totals_of_rows(*layout, K)
    place = K ** np.arange(5, -1, -1)
    both = np.arange(2, dtype=np.uint32)
    start, cells, length, bits = layout
    cell = Cell(
        words=words, assigned=z, offsets=offsets, segments=segments, blocks=1, row_start=start, row_cells=cells,
        row_len=length, topic_bits=bits, totals=totals, alpha=alpha[None], groups=np.zeros(0, np.uint32), beta=beta,
        beta_sum=float(beta.sum(dtype=np.float64)),
    )  # fmt: skip
    sweeps, seen = 150_000, np.zeros(K**6)
    for number in range(sweeps):
        key = number * 0x9E3779B97F4A7C15 % 2**64
        KERNELS[kernel][0](cell, both, 0, key)
        seen[int(z.astype(np.int64) @ place)] += 1
    # successive sweeps are dependent: the statistic is divided by a generous autocorrelation time
    big = expected * sweeps > 50
    chi = (((seen - expected * sweeps) ** 2) / (expected * sweeps))[big].sum() / 3
    assert chi < big.sum() + 5 * math.sqrt(2 * big.sum())
    assert np.abs(seen / sweeps - expected).max() < 0.004


def test_check_finds_faults():
    case = Case(K=20, mean=60)
    case.verify()
    start, cells, length, bits = case.rows
    for at in (0, int(start[5]), len(cells) - 1):
        cells[at] += 1 << bits
        assert rows.check_rows(*case.rows, case.K, case.words, case.z, case.freq)
        cells[at] -= 1 << bits
    length[2] = 3000
    assert "word 2" in rows.check_rows(*case.rows, case.K, case.words, case.z, case.freq)


def test_csr_and_rebalance_keep_counts():
    case = Case(K=40, V=12, mean=80)
    want = np.zeros((12, 40), np.int64)
    np.add.at(want, (case.words, case.z), 1)
    for forms in ((9.0, 2.0), (0.0, 0.0), (0.2, 0.1)):
        rows.rebalance_rows(*case.rows, case.K, case.freq, *forms)
        indptr, topics, counts = rows.to_csr(*case.rows, case.K)
        have = np.zeros_like(want)
        for w in range(12):
            part = slice(indptr[w], indptr[w + 1])
            assert (np.diff(topics[part].astype(int)) > 0).all()
            have[w, topics[part]] = counts[part]
        np.testing.assert_array_equal(have, want)
        case.verify()


@pytest.mark.parametrize("forms", [(9.0, 2.0), (0.2, 0.1)])
@pytest.mark.parametrize("topics", [5, 40, 300])
def test_rows_are_their_entries_in_use(topics: int, forms: tuple[float, float]) -> None:
    """The entries and lengths say all; the twin cuts each row out."""
    case = Case(K=topics, V=12, mean=80)
    rows.rebalance_rows(*case.rows, case.K, case.freq, *forms)
    start, cells, length, _ = case.rows
    used = [cells[a : b if n < 0 else a + n] for a, b, n in zip(start, start[1:], length, strict=False)]
    entries = rows.entries_in_use(start, cells, length)
    np.testing.assert_array_equal(entries, np.concatenate(used))
    again = rows.rows_of_entries(start, entries, length)
    np.testing.assert_array_equal(again, cells)
    assert again.ctypes.data % 64 == 0


def test_rows_of_no_words() -> None:
    start, length = np.zeros(1, np.int64), np.zeros(0, np.int32)
    entries = rows.entries_in_use(start, np.zeros(0, np.uint32), length)
    assert len(entries) == len(rows.rows_of_entries(start, entries, length)) == 0


@pytest.mark.parametrize("topics", [5, 300])
def test_counts_of_documents(topics: int) -> None:
    """What is told of each document's counts is what bincount says, tokens without a topic left out."""
    random = np.random.default_rng(topics)
    lengths = np.append(random.integers(0, 60, 40), [0, 900])
    offsets = np.append(0, np.cumsum(lengths))
    z = random.integers(0, topics, offsets[-1]).astype(np.uint16)
    z[random.random(len(z)) < 0.1] = 0xFFFF
    alpha, groups = random.random((2, topics)) + 0.1, random.integers(0, 2, len(lengths)).astype(np.uint32)
    table = [np.bincount(z[a:b], minlength=0x10000)[:topics] for a, b in zip(offsets, offsets[1:])]
    table = np.array(table[3:])  # rows 3 to the end
    times, placed = np.zeros(901, np.int64), np.empty(len(table), np.int64)
    counts.count_counts(z, offsets, 3, len(lengths), topics, times, placed)
    assert np.array_equal(placed, table.sum(axis=1))
    assert np.array_equal(times, np.bincount(table[table > 0], minlength=901))

    alpha_sum, least = alpha.sum(axis=1)[groups], np.full(topics, 0.02)
    found = np.empty(len(z), np.int64), np.empty(len(z), np.uint16), np.empty(len(z))
    used = counts.representative_shares(
        z, offsets, 3, len(lengths), 2, alpha, groups, lengths, alpha_sum, 10.0, least, *found
    )
    shares = (table / 2 + alpha[groups[3:]]) / (lengths + alpha_sum)[3:, None]
    kept = (table > 0) & (shares >= 0.02) & (lengths[3:, None] >= 10)
    order = np.lexsort((found[1][:used], found[0][:used]))
    documents, columns = np.nonzero(kept)
    assert np.array_equal(found[0][order], documents + 3) and np.array_equal(found[1][order], columns)
    assert np.array_equal(found[2][order], shares[kept])


@pytest.mark.parametrize("topics", [1, 2, 7, 100, 257, 4096, 40_000, 0xFFFF])
def test_first_topics_are_numpys(topics: int) -> None:
    for key, size in ((3, 0), (1 << 63, 1), (5, 17), (77, 5_000)):
        out = np.full(size, NONE, np.uint16)
        first_topics.draw_first_topics(key, topics, out)
        generator = np.random.Generator(np.random.Philox(key=key))
        assert np.array_equal(out, generator.integers(0, topics, size, dtype=np.uint16))


@pytest.mark.parametrize("topics", [60, 300, 1000, 5000])
def test_rows_of_any_length_as_csr(topics: int) -> None:
    """Dense rows, and sparse ones that are sorted or spread: the counts of each word, topics ascending."""
    random, words = np.random.default_rng(topics), 40
    w = np.sort(np.minimum(random.zipf(1.5, 4_000) - 1, words - 1)).astype(np.uint32)
    z = random.integers(0, topics, len(w)).astype(np.uint16)
    built = rows.build_rows(w, z, topics, np.bincount(w, minlength=words), None, 2.0, 0.0)
    indptr, columns, values = rows.to_csr(*built, topics)
    for word in range(words):
        expected = np.bincount(z[w == word], minlength=topics)
        own = slice(indptr[word], indptr[word + 1])
        assert np.array_equal(columns[own], np.flatnonzero(expected))
        assert np.array_equal(values[own], expected[expected > 0])
