"""`topicx mallet`: the calls of the programs that wrap MALLET, seeds, resumption, priors, inference."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import Run
from tests.mallet import mallet_reading as reading
from tests.mallet.mallet_cli import mallet, run, small_state, write_texts
from topicx.corpus.corpus import Corpus
from topicx.evaluate.left_to_right import left_to_right
from topicx.mallet.instance_lists import load_instances
from topicx.mallet.mallet_inference import word_logs
from topicx.mallet.mallet_priors import gamma_prior_alpha, symmetric_concentration
from topicx.strings import Strings

# -- the calls of others -------------------------------------------------------------------------------------------


def test_programming_historian(here: Path) -> None:
    run("import-dir --input dir/sky --output tutorial.mallet --keep-sequence --remove-stopwords")
    _, err = run("train-topics --input tutorial.mallet")
    assert "<1000> LL/token: -" in err
    run("train-topics --input tutorial.mallet --num-topics 4 --optimize-interval 20 --num-iterations 60 "
        "--output-state topic-state.gz --output-topic-keys tutorial_keys.txt "
        "--output-doc-topics tutorial_compostion.txt")  # fmt: skip
    alpha, _, tokens = reading.state(here / "topic-state.gz")
    assert len(alpha) == len(reading.keys(here / "tutorial_keys.txt")) == 4
    assert {source for _, source, *_ in tokens} == {f"dir/sky/doc{d}.txt" for d in range(2, 24, 3)}
    rows = reading.doc_topics(here / "tutorial_compostion.txt")
    assert [name for name, _ in rows] == sorted(f"file:{here}/dir/sky/doc{d}.txt" for d in range(2, 24, 3))
    assert all(sum(shares) == pytest.approx(1) for _, shares in rows)


def test_little_mallet_wrapper(here: Path) -> None:
    run("import-file --input a.txt --output t.mallet --keep-sequence --preserve-case")
    run("import-file --input b.txt --output n.mallet --keep-sequence --use-pipe-from t.mallet --preserve-case")
    run("train-topics --input t.mallet --num-topics 3 --inferencer-filename m --output-topic-keys k "
        "--output-doc-topics d --topic-word-weights-file w --diagnostics-file x.xml --optimize-interval 10 "
        "--num-iterations 250 --random-seed 3")  # fmt: skip
    run("infer-topics --input n.mallet --num-iterations 100 --inferencer m --output-doc-topics n")
    keys = reading.keys(here / "k")
    weights = reading.weights(here / "w")
    assert len(weights) == 3
    for (_, words), row in zip(keys, weights):
        assert [row[word] for word in words] == sorted((row[word] for word in words), reverse=True)
        assert max(row, key=lambda word: row[word]) in words
    assert len(reading.doc_topics(here / "d")) == 24
    assert len(reading.doc_topics(here / "n", inferred=True)) == 7
    rows = reading.diagnostics(here / "x.xml")
    assert sum(row["tokens"] for row in rows) == load_instances("t.mallet").corpus.n_tokens
    # Three subjects: a topic each, and documents of one subject mostly in one topic.
    best = [int(np.argmax(shares)) for _, shares in reading.doc_topics(here / "d")]
    assert len({(d % 3, k) for d, k in enumerate(best)}) == 3


def test_gensim(here: Path) -> None:
    mallet("import-file", "--preserve-case", "--keep-sequence", "--remove-stopwords", "--token-regex", r"\S+",
           "--input", "a.txt", "--output", "c.mallet")  # fmt: skip
    run("train-topics --input c.mallet --num-topics 3 --alpha 50 --optimize-interval 0 --num-threads 4 --output-state "
        "s.mallet.gz --output-doc-topics d.txt --output-topic-keys k.txt --num-iterations 30 --inferencer-filename "
        "i.mallet --doc-topics-threshold 0.0 --random-seed 0")  # fmt: skip
    alpha, beta, tokens = reading.state(here / "s.mallet.gz")
    assert alpha == [50 / 3] * 3
    assert beta == 0.01
    instances = load_instances("c.mallet").corpus
    assert [index for _, _, _, index, _, _ in tokens] == instances.words.tolist()
    assert [word for *_, word, _ in tokens] == [instances.vocabulary[int(w)] for w in instances.words]
    assert "light" in instances.vocabulary
    assert any(word.endswith(",") for word in instances.vocabulary)  # blanks alone part words
    run("import-file --preserve-case --keep-sequence --input b.txt --output c.infer --use-pipe-from c.mallet")
    run("infer-topics --input c.infer --inferencer i.mallet --output-doc-topics d.infer --num-iterations 100 "
        "--doc-topics-threshold 0.0 --random-seed 0")  # fmt: skip
    assert all(len(shares) == 3 for _, shares in reading.doc_topics(here / "d.infer", inferred=True))


def test_pycistopic(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLET_MEMORY", "200G")
    rng = np.random.default_rng(1)
    lines = [f"{d}\t0\t{' '.join(map(str, rng.zipf(1.4, 40) % 300))}\n" for d in range(30)]
    (here / "m.txt").write_text("".join(lines))
    mallet("import-file", "--preserve-case", "--keep-sequence", "--token-regex", r"\S+", "--input", "m.txt", "--output",
           "m.mallet")  # fmt: skip
    run("train-topics --input m.mallet --num-topics 5 --alpha 50 --beta 0.1 --optimize-interval 0 --num-threads 2 "
        "--num-iterations 20 --word-topic-counts-file w --output-doc-topics d --doc-topics-threshold 0.0 "
        "--random-seed 555")  # fmt: skip
    counts = reading.counts(here / "w")
    assert sum(sum(entries.values()) for entries in counts.values()) == 30 * 40
    assert all(word.isdigit() for word in counts)
    assert [name for name, _ in reading.doc_topics(here / "d")] == [str(d) for d in range(30)]


def test_tethne_and_the_installed_script(topicx: Run, tmp_path: Path) -> None:
    write_texts(tmp_path)
    assert topicx("mallet", "--install", "home dir").returncode == 0
    script = tmp_path / "home dir" / "bin" / "mallet"
    assert os.access(script, os.X_OK)
    assert "%*" in (tmp_path / "home dir" / "bin" / "mallet.bat").read_text()
    calls = ("import-file --input a.txt --output t.mallet --keep-sequence --remove-stopwords",
             "train-topics --input t.mallet --num-topics 3 --num-iterations 20 --output-doc-topics d "
             "--word-topic-counts-file w --output-model m")  # fmt: skip
    for call in calls:
        done = subprocess.run(
            [str(script), *call.split()], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout == ""
    progress = [line for line in done.stderr.splitlines() if line.startswith("<")]
    assert [line.split(">")[0] for line in progress] == ["<10", "<20"]
    assert float(progress[1].split("LL/token: ")[1]) < 0
    assert done.stderr.rstrip().splitlines()[-1].startswith("Total time: ")


def test_mimnos_recipe(here: Path) -> None:
    run("import-file --input a.txt --output a.mallet --keep-sequence")
    out, _ = run("info --print-feature-counts --input a.mallet")
    rows = [line.split("\t") for line in out.splitlines()]
    assert all(len(row) == 3 and row[1].isdigit() and row[2].isdigit() for row in rows)
    common = sorted(rows, key=lambda row: -int(row[1]))[:5]
    (here / "own.txt").write_text("\n".join(row[0] for row in common))
    run("import-file --input a.txt --output b.mallet --keep-sequence --stoplist-file own.txt")
    assert not {row[0] for row in common} & set(load_instances("b.mallet").corpus.vocabulary)
    run("train-topics --input b.mallet --num-topics 3 --num-iterations 60 --optimize-interval 20 --optimize-burn-in 20 "
        "--output-state S.gz --random-seed 2")  # fmt: skip
    run(
        "train-topics --input b.mallet --input-state S.gz --num-iterations 20 --output-state T "
        "--output-state-interval 10"
    )
    first = reading.state(here / "S.gz")[0]
    assert len(set(first)) == 3  # α was learnt, and goes on from there
    for name in ("T.10", "T.20", "T"):
        assert reading.state(here / name)[0] == first


def test_detcorpus(here: Path) -> None:
    run("import-file --input a.txt --output a.mallet --keep-sequence")
    _, err = run("train-topics --input a.mallet --num-topics 3 --num-iterations 20 --num-icm-iterations 20 "
                 "--xml-topic-phrase-report p.xml --output-doc-topics d --doc-topics-threshold 0.05 "
                 "--diagnostics-file x --output-model m --random-seed 1")  # fmt: skip
    icm = [line.split("\t") for line in err.splitlines() if "ms\t" in line]
    assert [row[0] for row in icm] == [str(i) for i in range(len(icm))]
    assert icm[-1][2] == "0"
    reading.doc_topics_sparse(here / "d")
    run(
        "train-topics --input-model m --no-inference --output-state S --output-doc-topics d2 "
        "--doc-topics-threshold 0.05"
    )
    assert (here / "d2").read_bytes() == (here / "d").read_bytes()
    assert len(reading.state(here / "S")[2]) == load_instances("a.mallet").corpus.n_tokens


def test_sdg_classifiers(here: Path) -> None:
    run("import-dir --input dir/sky dir/money --output a.mallet --remove-stopwords --extra-stopwords more.txt "
        "--keep-sequence-bigrams --gram-sizes 1,2")  # fmt: skip
    assert "orbit" not in load_instances("a.mallet").corpus.vocabulary
    assert any("_" in word for word in load_instances("a.mallet").corpus.vocabulary)
    run("train-topics --input a.mallet --num-topics 2 --num-iterations 20 --inferencer-filename i")
    run("import-dir --input dir/kitchen --output n.mallet --use-pipe-from a.mallet")
    run("infer-topics --input n.mallet --inferencer i --output-doc-topics d")
    assert len(reading.doc_topics(here / "d", inferred=True)) == 8


# -- seeds, threads, resumption ------------------------------------------------------------------------------------

OUTPUTS = (
    "--output-state {0}s --output-topic-keys {0}k --output-doc-topics {0}d --output-model {0}m "
    "--inferencer-filename {0}i"
)


def test_a_seed_gives_the_same_files_with_any_number_of_threads(here: Path) -> None:
    run("import-file --input a.txt --output a.mallet --keep-sequence")
    train = (
        "train-topics --input a.mallet --num-topics 3 --num-iterations 30 --optimize-interval 10 --optimize-burn-in 9"
    )
    for name, more in (("1", "--random-seed 9"), ("2", "--random-seed 9 --num-threads 3"), ("3", "--random-seed 10")):
        run(f"{train} {more} {OUTPUTS.format(name)}")
    for end in "skdmi":
        assert (here / f"1{end}").read_bytes() == (here / f"2{end}").read_bytes()
    assert (here / "1d").read_bytes() != (here / "3d").read_bytes()
    _, err = run(train)
    seed = err.split("random seed: ")[1].split()[0]
    run(f"{train} --random-seed {seed} --output-state again")


def test_a_run_goes_on_from_a_model(here: Path) -> None:
    run("import-dir --input dir/sky dir/money --output a.mallet --keep-sequence-bigrams")
    run("train-topics --input a.mallet --num-topics 2 --num-iterations 40 --random-seed 3 --output-model m "
        "--output-model-interval 20 --output-state s --output-state-interval 20")  # fmt: skip
    assert sorted(path.name for path in here.glob("[ms]*") if path.name[0:2] in ("m.", "s.")) == [
        "m.20", "m.40", "s.20", "s.40"
    ]  # fmt: skip
    run("train-topics --input-model m.20 --num-iterations 0 --output-state t --xml-topic-phrase-report p1")
    assert (here / "t").read_bytes() == (here / "s.20").read_bytes()  # as it was before sweep 20
    run("train-topics --input a.mallet --input-state s.20 --num-iterations 0 --xml-topic-phrase-report p2")
    assert (here / "p1").read_bytes() == (here / "p2").read_bytes()
    run("train-topics --input-model m.20 --num-iterations 21 --output-state t --random-seed 1")
    assert (here / "t").read_bytes() != (here / "s.20").read_bytes()


def test_an_interrupted_run_says_how_to_go_on(tmp_path: Path) -> None:
    write_texts(tmp_path)
    command = [sys.executable, "-m", "topicx", "mallet"]
    imported = [*command, "import-file", "--input", "a.txt", "--output", "a.mallet", "--keep-sequence"]
    subprocess.run(imported, cwd=tmp_path, check=True, timeout=60, capture_output=True)
    train = (
        "train-topics --input a.mallet --num-topics 3 --num-iterations 1000000 --output-model m --output-topic-keys k"
    )
    running = subprocess.Popen([*command, *train.split()], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert running.stderr is not None
    for line in running.stderr:
        if line.startswith("<50>"):
            running.send_signal(signal.SIGINT)
            break
    rest = running.stderr.read()
    assert running.wait(timeout=60) == 130
    running.stderr.close()
    again = rest.split("to go on: ")[1].split()
    assert not (tmp_path / "k").exists()
    done = subprocess.run([*command, "train-topics", *again[:2], "--num-iterations", "5", "--output-topic-keys", "k"],
                          cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(reading.keys(tmp_path / "k")) == 3


# -- priors --------------------------------------------------------------------------------------------------------


def test_one_round_of_alpha_is_mallets() -> None:
    """By loops over histograms, as the rule is written down."""
    rng = np.random.default_rng(2)
    state = small_state()
    state.z = rng.integers(0, 3, 8).astype(np.uint16)
    alpha, times = np.array([0.4, 0.7, 0.2]), 5
    n = np.zeros((3, 3), int)
    np.add.at(n, (np.repeat([0, 1, 2], state.lengths), state.z), 1)
    cost = sum(times * sum(1 / (alpha.sum() + i) for i in range(length)) for length in state.lengths) - 1
    gain = [sum(times * sum(1 / (alpha[k] + i) for i in range(n[d, k])) for d in range(3)) for k in range(3)]
    want = alpha * (np.array(gain) + 1.001) / cost
    assert np.allclose(gamma_prior_alpha(state.document_topics(), alpha, times), want)


def test_concentration_climbs_to_the_maximum() -> None:
    """The symmetric fixed point ends where no other value gives the counts a higher probability."""
    from scipy.special import gammaln

    counts = np.array([[3, 0, 1], [0, 5, 2], [7, 1, 0], [2, 2, 2]])

    def likelihood(total: float) -> float:
        one = total / 3
        n = counts.sum(axis=1)
        return float(np.sum(gammaln(total) - gammaln(total + n)) + np.sum(gammaln(one + counts) - gammaln(one)))

    found = symmetric_concentration(counts.ravel(), counts.sum(axis=1), 3, 1.0)
    assert likelihood(found) >= max(likelihood(found * factor) for factor in (0.98, 0.99, 1.01, 1.02))


def test_learnt_priors_show_in_the_keys(here: Path) -> None:
    run("import-file --input a.txt --output a.mallet --keep-sequence")
    train = (
        "train-topics --input a.mallet --num-topics 3 --num-iterations 40 --optimize-interval 10 --optimize-burn-in 10"
    )
    _, err = run(f"{train} --output-topic-keys k --random-seed 1")
    assert err.count("[beta: 0.") == 3
    assert len({alpha for alpha, _ in reading.keys(here / "k")}) == 3
    run(f"{train} --use-symmetric-alpha --output-topic-keys k --random-seed 1")
    assert len({alpha for alpha, _ in reading.keys(here / "k")}) == 1


# -- inference and evaluation --------------------------------------------------------------------------------------


@pytest.fixture
def trained(here: Path) -> Path:
    run("import-file --input a.txt --output a.mallet --keep-sequence")
    (here / "n.txt").write_text(
        "x y star moon planet unheard\nempty z\nnew z nothing-known\nw k " + "oven salt " * 30 + "\n"
    )
    run("import-file --input n.txt --output n.mallet --use-pipe-from-without-rewrite a.mallet")
    run("train-topics --input a.mallet --num-topics 3 --num-iterations 200 --random-seed 5 --inferencer-filename i "
        "--evaluator-filename e --output-model m --output-topic-keys k")  # fmt: skip
    return here


def test_inferred_shares_are_mallets(trained: Path) -> None:
    run("infer-topics --input n.mallet --inferencer i --output-doc-topics d --random-seed 1")
    rows = reading.doc_topics(trained / "d", inferred=True)
    assert [name for name, _ in rows] == ["x", "empty", "new", "w"]
    assert rows[1][1] == rows[2][1] == [1 / 3] * 3  # no known word: the prior
    sky = next(k for k, (_, words) in enumerate(reading.keys(trained / "k")) if "planet" in words[:10])
    assert max(range(3), key=rows[0][1].__getitem__) == sky
    # Whole counts over nine samples (sweeps 20, 30, … 100): shares are multiples of 1/9 over N + Σα.
    for (_, shares), length in zip(rows, (3, 0, 0, 60)):
        counts = np.array(shares) * (length + 5) * 9 - 9 * 5 / 3
        assert np.allclose(counts, np.rint(counts), atol=1e-9)
    for name, more in (("a", ""), ("b", ""), ("c", "--num-iterations 0"), ("t", "--doc-topics-threshold 0.2")):
        run(f"infer-topics --input n.mallet --inferencer i --output-doc-topics {name} {more}")
    assert (trained / "a").read_bytes() == (trained / "b").read_bytes()  # seed 0: that of the inferencer
    reading.doc_topics_sparse(trained / "t", inferred=True)
    exact = np.array(reading.doc_topics(trained / "c", inferred=True)[0][1]) * 8 - 5 / 3
    assert np.allclose(exact, np.eye(3)[sky] * 3)
    run("infer-topics --input n.mallet --inferencer i --output-doc-topics d --output-state s --random-seed 1")
    _, _, tokens = reading.state(trained / "s")
    assert [token[0] for token in tokens] == [0] * 3 + [3] * 60
    run("infer-topics --input n.mallet --inferencer m --output-doc-topics d2 --random-seed 1")  # a model will do
    assert (trained / "d2").read_bytes() == (trained / "d").read_bytes()


def test_probabilities_from_left_to_right(trained: Path) -> None:
    out, _ = run(
        "evaluate-topics --evaluator e --input n.mallet --output-doc-probs p --random-seed 1 --num-particles 200"
    )
    values = [float(line) for line in (trained / "p").read_text().splitlines()]
    assert values[1] == values[2] == 0.0
    assert float(out) == pytest.approx(sum(values))
    shown, _ = run("evaluate-topics --evaluator e --input n.mallet --show-words --random-seed 2 --num-particles 200")
    *words, total = shown.splitlines()
    assert [line.split("\t")[0] for line in words[:3]] == ["star", "moon", "planet"]
    assert sum(float(line.split("\t")[1]) for line in words) == pytest.approx(float(total), abs=1e-3)
    assert float(total) == pytest.approx(float(out), rel=0.01)  # the same estimator, other random numbers
    lengths, _ = run("run cc.mallet.util.DocumentLengths --input n.mallet")
    assert lengths.split() == ["4", "0", "1", "60"]


def test_left_to_right_is_right() -> None:
    """Against the sum over all assignments."""
    phi = np.array([[0.3, 0.1], [0.05, 0.4], [0.2, 0.2], [0.15, 0.05]])  # four tokens, two topics
    alpha = np.array([0.3, 0.8])
    exact = 0.0
    for code in range(16):
        z = [code >> i & 1 for i in range(4)]
        p, counts = 1.0, alpha.copy()
        for i, k in enumerate(z):
            p *= counts[k] / counts.sum() * phi[i, k]
            counts[k] += 1
        exact += p
    assert word_logs(phi, alpha, 20000, True, np.random.default_rng(1)).sum() == pytest.approx(np.log(exact), abs=0.02)
    # Without resampling it is another number: the kernel's.
    full = np.vstack([phi, 1 - phi.sum(axis=0)]).T
    corpus = Corpus(np.arange(4, dtype=np.uint32), np.array([0, 4]), Strings.of("abcde"))
    kernel = left_to_right(full, alpha, corpus, particles=20000, form="wallach", resample=False).log_likelihood
    plain = word_logs(phi, alpha, 20000, False, np.random.default_rng(1)).sum()
    assert plain == pytest.approx(kernel, abs=0.02)
