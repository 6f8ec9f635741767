"""`topicx mallet`: the calls of the programs that wrap MALLET, its files byte for byte, and what it does better."""

from __future__ import annotations

import gzip
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests import mallet_reading as reading
from tests.conftest import Run
from tests.mallet_cli import mallet, run, write_texts
from topicx.cli.mallet import training
from topicx.cli.mallet.evaluate_topics import word_logs
from topicx.cli.mallet.instances import SOURCE, Instances, load
from topicx.corpus.corpus import Corpus
from topicx.errors import InputError
from topicx.interop import mallet_reports as reports
from topicx.interop import mallet_write as write
from topicx.interop import read_state
from topicx.state import State
from topicx.strings import Strings

SAMPLES = Path(__file__).parents[2] / "shared" / "samples"
needs_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not here")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    write_texts(tmp_path)
    return tmp_path


# -- the calls of others -------------------------------------------------------------------------------------------


def test_programming_historian(folder: Path) -> None:
    run("import-dir --input dir/sky --output tutorial.mallet --keep-sequence --remove-stopwords")
    _, err = run("train-topics --input tutorial.mallet")
    assert "<1000> LL/token: -" in err
    run("train-topics --input tutorial.mallet --num-topics 4 --optimize-interval 20 --num-iterations 60 "
        "--output-state topic-state.gz --output-topic-keys tutorial_keys.txt "
        "--output-doc-topics tutorial_compostion.txt")  # fmt: skip
    alpha, _, tokens = reading.state(folder / "topic-state.gz")
    assert len(alpha) == len(reading.keys(folder / "tutorial_keys.txt")) == 4
    assert {source for _, source, *_ in tokens} == {f"dir/sky/doc{d}.txt" for d in range(2, 24, 3)}
    rows = reading.doc_topics(folder / "tutorial_compostion.txt")
    assert [name for name, _ in rows] == sorted(f"file:{folder}/dir/sky/doc{d}.txt" for d in range(2, 24, 3))
    assert all(sum(shares) == pytest.approx(1) for _, shares in rows)


def test_little_mallet_wrapper(folder: Path) -> None:
    run("import-file --input a.txt --output t.mallet --keep-sequence --preserve-case")
    run("import-file --input b.txt --output n.mallet --keep-sequence --use-pipe-from t.mallet --preserve-case")
    run("train-topics --input t.mallet --num-topics 3 --inferencer-filename m --output-topic-keys k "
        "--output-doc-topics d --topic-word-weights-file w --diagnostics-file x.xml --optimize-interval 10 "
        "--num-iterations 250 --random-seed 3")  # fmt: skip
    run("infer-topics --input n.mallet --num-iterations 100 --inferencer m --output-doc-topics n")
    keys = reading.keys(folder / "k")
    weights = reading.weights(folder / "w")
    assert len(weights) == 3
    for (_, words), row in zip(keys, weights):
        assert [row[word] for word in words] == sorted((row[word] for word in words), reverse=True)
        assert max(row, key=lambda word: row[word]) in words
    assert len(reading.doc_topics(folder / "d")) == 24
    assert len(reading.doc_topics(folder / "n", inferred=True)) == 7
    rows = reading.diagnostics(folder / "x.xml")
    assert sum(row["tokens"] for row in rows) == load("t.mallet").corpus.n_tokens
    # Three subjects: a topic each, and documents of one subject mostly in one topic.
    best = [int(np.argmax(shares)) for _, shares in reading.doc_topics(folder / "d")]
    assert len({(d % 3, k) for d, k in enumerate(best)}) == 3


def test_gensim(folder: Path) -> None:
    mallet("import-file", "--preserve-case", "--keep-sequence", "--remove-stopwords", "--token-regex", r"\S+", "--input",
           "a.txt", "--output", "c.mallet")  # fmt: skip
    run("train-topics --input c.mallet --num-topics 3 --alpha 50 --optimize-interval 0 --num-threads 4 --output-state "
        "s.mallet.gz --output-doc-topics d.txt --output-topic-keys k.txt --num-iterations 30 --inferencer-filename "
        "i.mallet --doc-topics-threshold 0.0 --random-seed 0")  # fmt: skip
    alpha, beta, tokens = reading.state(folder / "s.mallet.gz")
    assert alpha == [50 / 3] * 3
    assert beta == 0.01
    instances = load("c.mallet").corpus
    assert [index for _, _, _, index, _, _ in tokens] == instances.words.tolist()
    assert [word for *_, word, _ in tokens] == [instances.vocabulary[int(w)] for w in instances.words]
    assert "light" in instances.vocabulary
    assert any(word.endswith(",") for word in instances.vocabulary)  # blanks alone part words
    run("import-file --preserve-case --keep-sequence --input b.txt --output c.infer --use-pipe-from c.mallet")
    run("infer-topics --input c.infer --inferencer i.mallet --output-doc-topics d.infer --num-iterations 100 "
        "--doc-topics-threshold 0.0 --random-seed 0")  # fmt: skip
    assert all(len(shares) == 3 for _, shares in reading.doc_topics(folder / "d.infer", inferred=True))


def test_pycistopic(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLET_MEMORY", "200G")
    rng = np.random.default_rng(1)
    lines = [f"{d}\t0\t{' '.join(map(str, rng.zipf(1.4, 40) % 300))}\n" for d in range(30)]
    (folder / "m.txt").write_text("".join(lines))
    mallet("import-file", "--preserve-case", "--keep-sequence", "--token-regex", r"\S+", "--input", "m.txt", "--output",
           "m.mallet")  # fmt: skip
    run("train-topics --input m.mallet --num-topics 5 --alpha 50 --beta 0.1 --optimize-interval 0 --num-threads 2 "
        "--num-iterations 20 --word-topic-counts-file w --output-doc-topics d --doc-topics-threshold 0.0 "
        "--random-seed 555")  # fmt: skip
    counts = reading.counts(folder / "w")
    assert sum(sum(entries.values()) for entries in counts.values()) == 30 * 40
    assert all(word.isdigit() for word in counts)
    assert [name for name, _ in reading.doc_topics(folder / "d")] == [str(d) for d in range(30)]


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


def test_mimnos_recipe(folder: Path) -> None:
    run("import-file --input a.txt --output a.mallet --keep-sequence")
    out, _ = run("info --print-feature-counts --input a.mallet")
    rows = [line.split("\t") for line in out.splitlines()]
    assert all(len(row) == 3 and row[1].isdigit() and row[2].isdigit() for row in rows)
    common = sorted(rows, key=lambda row: -int(row[1]))[:5]
    (folder / "own.txt").write_text("\n".join(row[0] for row in common))
    run("import-file --input a.txt --output b.mallet --keep-sequence --stoplist-file own.txt")
    assert not {row[0] for row in common} & set(load("b.mallet").corpus.vocabulary)
    run("train-topics --input b.mallet --num-topics 3 --num-iterations 60 --optimize-interval 20 --optimize-burn-in 20 "
        "--output-state S.gz --random-seed 2")  # fmt: skip
    run("train-topics --input b.mallet --input-state S.gz --num-iterations 20 --output-state T --output-state-interval 10")
    first = reading.state(folder / "S.gz")[0]
    assert len(set(first)) == 3  # α was learnt, and goes on from there
    for name in ("T.10", "T.20", "T"):
        assert reading.state(folder / name)[0] == first


def test_detcorpus(folder: Path) -> None:
    run("import-file --input a.txt --output a.mallet --keep-sequence")
    _, err = run("train-topics --input a.mallet --num-topics 3 --num-iterations 20 --num-icm-iterations 20 "
                 "--xml-topic-phrase-report p.xml --output-doc-topics d --doc-topics-threshold 0.05 "
                 "--diagnostics-file x --output-model m --random-seed 1")  # fmt: skip
    icm = [line.split("\t") for line in err.splitlines() if "ms\t" in line]
    assert [row[0] for row in icm] == [str(i) for i in range(len(icm))]
    assert icm[-1][2] == "0"
    reading.doc_topics_sparse(folder / "d")
    run("train-topics --input-model m --no-inference --output-state S --output-doc-topics d2 --doc-topics-threshold 0.05")
    assert (folder / "d2").read_bytes() == (folder / "d").read_bytes()
    assert len(reading.state(folder / "S")[2]) == load("a.mallet").corpus.n_tokens


def test_sdg_classifiers(folder: Path) -> None:
    run("import-dir --input dir/sky dir/money --output a.mallet --remove-stopwords --extra-stopwords more.txt "
        "--keep-sequence-bigrams --gram-sizes 1,2")  # fmt: skip
    assert "orbit" not in load("a.mallet").corpus.vocabulary
    assert any("_" in word for word in load("a.mallet").corpus.vocabulary)
    run("train-topics --input a.mallet --num-topics 2 --num-iterations 20 --inferencer-filename i")
    run("import-dir --input dir/kitchen --output n.mallet --use-pipe-from a.mallet")
    run("infer-topics --input n.mallet --inferencer i --output-doc-topics d")
    assert len(reading.doc_topics(folder / "d", inferred=True)) == 8


# -- the files ------------------------------------------------------------------------------------------------------

FILES = {
    "--output-topic-keys": "topic-keys.txt", "--output-doc-topics": "doc-topics.txt",
    "--topic-word-weights-file": "topic-word-weights.txt", "--word-topic-counts-file": "word-topic-counts.txt",
    "--diagnostics-file": "diagnostics.xml", "--xml-topic-report": "report.xml", "--output-topic-docs": "topic-docs.txt",
}  # fmt: skip


def sample(name: str, file: str) -> bytes:
    path = SAMPLES / name / file
    path = path if path.exists() else path.with_name(file + ".gz")
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def sample_instances(name: str) -> Instances:
    """The instances that a sample was made of: words from the counts, tokens from the state, names from doc-topics."""
    found = read_state(SAMPLES / name / "state.gz")
    words = [line.split(" ")[1] for line in sample(name, "word-topic-counts.txt").decode().splitlines()]
    names = [line.split("\t")[1] for line in sample(name, "doc-topics.txt").decode().splitlines()]
    number = {word: at for at, word in enumerate(words)}
    ids = np.array([number[word] for word in found.vocabulary], np.uint32)[found.words]
    offsets = np.concatenate([found.offsets, np.full(len(names) - found.n_documents, found.n_tokens)])
    sources = {SOURCE: found.ids} if "/" in found.ids[0] else {}
    return Instances(Corpus(ids, offsets, Strings.of(words), ids=Strings.of(names), columns=dict(sources)))


@needs_samples
@pytest.mark.parametrize("name", ["mallet-web", "mallet-kos"])
def test_mallets_own_files_come_out_of_its_state(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sample_instances(name).save("a.mallet")
    wanted = {option: file for option, file in FILES.items() if any((SAMPLES / name).glob(f"{file}*"))}
    outputs = " ".join(f"{option} {file}" for option, file in wanted.items())
    state = SAMPLES / name / "state.gz"
    run(f"train-topics --input a.mallet --input-state {state} --num-iterations 0 --output-state state.gz {outputs}")
    assert gzip.decompress((tmp_path / "state.gz").read_bytes()) == sample(name, "state.gz")
    for file in wanted.values():
        if (name, file) == ("mallet-kos", "word-topic-counts.txt"):
            continue  # counts of one stand as MALLET's sampler left them: chance
        assert (tmp_path / file).read_bytes() == sample(name, file), file
    if name == "mallet-kos":
        ours, theirs = ((place / "word-topic-counts.txt").read_text().splitlines() for place in (tmp_path, SAMPLES / name))
        assert [sorted(line.split()) for line in ours] == [sorted(line.split()) for line in theirs]
        assert sum(a != b for a, b in zip(ours, theirs)) < 150
    else:
        run(f"train-topics --input a.mallet --input-state {state} --no-inference --output-doc-topics sparse "
            "--doc-topics-threshold 0.1 --doc-topics-max 3")  # fmt: skip
        assert (tmp_path / "sparse").read_bytes() == sample(name, "doc-topics-threshold.txt")


def small_state() -> State:
    """Three topics, one of them empty; a word and a document without tokens; ties."""
    words = np.array([0, 1, 1, 2, 0, 3, 3, 1], np.uint32)
    z = np.array([0, 2, 2, 2, 2, 0, 0, 2], np.uint16)
    return State(
        words=words, offsets=np.array([0, 5, 5, 8]), z=z, alpha=np.array([[0.1, 0.029954, 1e-5]]), beta=np.full(5, 1e-4),
        vocabulary=Strings.of(["a<b", "new", "york", "x&y", "none"]), ids=Strings.of(["d\t0", "", "d 2"]),
    )  # fmt: skip


def test_small_files_to_the_letter(tmp_path: Path) -> None:
    state, out = small_state(), tmp_path / "out"
    counts = write.word_counts(state)
    ranked = write.ranked_words(counts)
    write.topic_keys(state.alpha[0], ranked, state.vocabulary, str(out))
    assert out.read_text() == "0\t0.1\tx&y a<b \n1\t0.02995\t\n2\t0.00001\tnew york a<b \n"
    write.word_topic_counts(counts, state.vocabulary, str(out), state)
    assert out.read_text() == "0 a<b 0:1 2:1\n1 new 2:3\n2 york 2:1\n3 x&y 0:2\n4 none\n"
    write.topic_word_weights(write.smoothed(counts, state.beta), state.vocabulary, str(out))
    assert out.read_text().splitlines()[:4] == ["0\ta<b\t1.0001", "0\tnew\t1.0E-4", "0\tyork\t1.0E-4", "0\tx&y\t2.0001"]
    write.doc_topics(write.shares(state), state.ids, str(out), threshold=1e-5, most=2)
    lines = out.read_text().split("\n")
    assert lines[0] == "#doc name topic proportion ..."
    assert lines[1].startswith("0\td 0\t2\t0.7797")
    assert lines[1].endswith("\t")
    assert lines[2].startswith("1\t\t0\t0.769")
    write.doc_topics(write.shares(state), state.ids, str(out), threshold=0.9999)
    assert out.read_text().split("\n")[1:] == ["0\td 0\t", "1\t\t", "2\td 2\t", ""]
    write.state(state, str(out), ["a file.txt", "", "s"])
    assert gzip.decompress(out.read_bytes()).decode().split("\n")[:5] == [
        "#doc source pos typeindex type topic", "#alpha : 0.1 0.029954 1.0E-5 ", "#beta : 1.0E-4",
        "0 a file.txt 0 0 a<b 0", "0 a file.txt 1 1 new 2",
    ]  # fmt: skip
    write.topic_docs(state, str(out), 2)
    assert out.read_text().splitlines()[:3] == [
        "#topic doc name proportion ...", "0 2 d 2 0.363636", "0 1  0.333333"
    ]  # fmt: skip


def test_small_reports_to_the_letter(tmp_path: Path) -> None:
    state, out = small_state(), tmp_path / "out"
    ranked = write.ranked_words(write.word_counts(state))
    reports.topic_report(state.alpha[0], state.topic_totals(), ranked, state.vocabulary, str(out), 1)
    assert out.read_text() == (
        "<?xml version='1.0' ?>\n<topicModel>\n"
        "  <topic id='0' alpha='0.1' totalTokens='3'>\n    <word rank='1' count='2.0'>x&amp;y</word>\n  </topic>\n"
        "  <topic id='1' alpha='0.029954' totalTokens='0'>\n  </topic>\n"
        "  <topic id='2' alpha='1.0E-5' totalTokens='5'>\n    <word rank='1' count='3.0'>new</word>\n  </topic>\n"
        "</topicModel>\n"
    )
    reports.phrase_report(state, ranked, str(out), 20)
    text = out.read_text()
    # Tokens of document 0: a<b/0 new/2 new/2 york/2 a<b/2 end there, and a phrase at a document's end is lost.
    assert "<phrase" not in text
    assert '<topic id="2" alpha="1.0E-5" totalTokens="5" titles="new, york, a&lt;b, ">' in text
    assert '    <word weight="0.6" count="3">new</word>\n' in text
    state.z = np.array([2, 2, 2, 0, 2, 0, 0, 2], np.uint16)
    assert [dict(phrases) for phrases in reports.count_phrases(state)] == [{"x&y x&y": 1}, {}, {"a<b new new": 1}]
    joined = np.array([False, False, True, True, True, False, False, True])
    assert [dict(phrases) for phrases in reports.count_phrases(state, joined)] == [{}, {}, {"new new": 1}]


def test_titles_prefer_frequent_phrases() -> None:
    words = [(f"w{i:02}", 50 - i) for i in range(25)]
    titles = reports.titles(words, [("new york", 30), ("rare pair", 20)])
    assert titles.startswith("new york, w00, w01, ")
    assert titles.endswith("w08")
    assert "rare" not in titles
    assert reports.titles([("york", 9), ("new", 5)], [("new york", 21)]) == "new york, "


# -- seeds, threads, resumption ------------------------------------------------------------------------------------

OUTPUTS = "--output-state {0}s --output-topic-keys {0}k --output-doc-topics {0}d --output-model {0}m --inferencer-filename {0}i"


def test_a_seed_gives_the_same_files_with_any_number_of_threads(folder: Path) -> None:
    run("import-file --input a.txt --output a.mallet --keep-sequence")
    train = "train-topics --input a.mallet --num-topics 3 --num-iterations 30 --optimize-interval 10 --optimize-burn-in 9"
    for name, more in (("1", "--random-seed 9"), ("2", "--random-seed 9 --num-threads 3"), ("3", "--random-seed 10")):
        run(f"{train} {more} {OUTPUTS.format(name)}")
    for end in "skdmi":
        assert (folder / f"1{end}").read_bytes() == (folder / f"2{end}").read_bytes()
    assert (folder / "1d").read_bytes() != (folder / "3d").read_bytes()
    _, err = run(train)
    seed = err.split("random seed: ")[1].split()[0]
    run(f"{train} --random-seed {seed} --output-state again")


def test_a_run_goes_on_from_a_model(folder: Path) -> None:
    run("import-dir --input dir/sky dir/money --output a.mallet --keep-sequence-bigrams")
    run("train-topics --input a.mallet --num-topics 2 --num-iterations 40 --random-seed 3 --output-model m "
        "--output-model-interval 20 --output-state s --output-state-interval 20")  # fmt: skip
    assert sorted(path.name for path in folder.glob("[ms]*") if path.name[0:2] in ("m.", "s.")) == [
        "m.20", "m.40", "s.20", "s.40"
    ]  # fmt: skip
    run("train-topics --input-model m.20 --num-iterations 0 --output-state t --xml-topic-phrase-report p1")
    assert (folder / "t").read_bytes() == (folder / "s.20").read_bytes()  # as it was before sweep 20
    run("train-topics --input a.mallet --input-state s.20 --num-iterations 0 --xml-topic-phrase-report p2")
    assert (folder / "p1").read_bytes() == (folder / "p2").read_bytes()
    run("train-topics --input-model m.20 --num-iterations 21 --output-state t --random-seed 1")
    assert (folder / "t").read_bytes() != (folder / "s.20").read_bytes()


def test_an_interrupted_run_says_how_to_go_on(tmp_path: Path) -> None:
    write_texts(tmp_path)
    command = [sys.executable, "-m", "topicx", "mallet"]
    subprocess.run([*command, *"import-file --input a.txt --output a.mallet --keep-sequence".split()], cwd=tmp_path,
                   check=True, timeout=60, capture_output=True)  # fmt: skip
    train = "train-topics --input a.mallet --num-topics 3 --num-iterations 1000000 --output-model m --output-topic-keys k"
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
    assert np.allclose(training.one_round(state.document_topics(), alpha, times), want)


def test_concentration_climbs_to_the_maximum() -> None:
    """The symmetric fixed point ends where no other value gives the counts a higher probability."""
    from scipy.special import gammaln

    counts = np.array([[3, 0, 1], [0, 5, 2], [7, 1, 0], [2, 2, 2]])

    def likelihood(total: float) -> float:
        one = total / 3
        n = counts.sum(axis=1)
        return float(np.sum(gammaln(total) - gammaln(total + n)) + np.sum(gammaln(one + counts) - gammaln(one)))

    found = training.concentration(counts.ravel(), counts.sum(axis=1), 3, 1.0)
    assert likelihood(found) >= max(likelihood(found * factor) for factor in (0.98, 0.99, 1.01, 1.02))


def test_learnt_priors_show_in_the_keys(folder: Path) -> None:
    run("import-file --input a.txt --output a.mallet --keep-sequence")
    train = "train-topics --input a.mallet --num-topics 3 --num-iterations 40 --optimize-interval 10 --optimize-burn-in 10"
    _, err = run(f"{train} --output-topic-keys k --random-seed 1")
    assert err.count("[beta: 0.") == 3
    assert len({alpha for alpha, _ in reading.keys(folder / "k")}) == 3
    run(f"{train} --use-symmetric-alpha --output-topic-keys k --random-seed 1")
    assert len({alpha for alpha, _ in reading.keys(folder / "k")}) == 1


# -- inference and evaluation --------------------------------------------------------------------------------------


@pytest.fixture
def trained(folder: Path) -> Path:
    run("import-file --input a.txt --output a.mallet --keep-sequence")
    (folder / "n.txt").write_text("x y star moon planet unheard\nempty z\nnew z nothing-known\nw k " + "oven salt " * 30 + "\n")
    run("import-file --input n.txt --output n.mallet --use-pipe-from-without-rewrite a.mallet")
    run("train-topics --input a.mallet --num-topics 3 --num-iterations 200 --random-seed 5 --inferencer-filename i "
        "--evaluator-filename e --output-model m --output-topic-keys k")  # fmt: skip
    return folder


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
    out, _ = run("evaluate-topics --evaluator e --input n.mallet --output-doc-probs p --random-seed 1 --num-particles 200")
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
    rng = np.random.default_rng(7)
    phi = rng.dirichlet(np.ones(3), 4)[:, :2]  # four tokens, two topics
    alpha = np.array([0.3, 0.8])
    exact = 0.0
    for code in range(16):
        z = [code >> i & 1 for i in range(4)]
        p, counts = 1.0, alpha.copy()
        for i, k in enumerate(z):
            p *= counts[k] / counts.sum() * phi[i, k]
            counts[k] += 1
        exact += p
    for resample in (False, True):
        got = word_logs(phi, alpha, 20000, resample, np.random.default_rng(1)).sum()
        assert got == pytest.approx(np.log(exact), abs=0.02)


# -- what is refused -----------------------------------------------------------------------------------------------


def test_mallets_own_files_are_refused_in_a_line(folder: Path) -> None:
    run("import-file --input a.txt --output a.mallet --keep-sequence")
    (folder / "java").write_bytes(b"\xac\xed\x00\x05sr\x00\x1ecc.mallet.types.InstanceList")
    for call in ("train-topics --input java", "train-topics --input-model java", "info --input java --print-labels",
                 "infer-topics --inferencer java --input a.mallet --output-doc-topics d",
                 "evaluate-topics --evaluator java --input a.mallet", "prune --input java --output o --prune-count 2",
                 "import-file --input a.txt --output b --use-pipe-from java"):  # fmt: skip
        with pytest.raises(InputError, match=r"^java: was written by MALLET itself.*again with 'topicx mallet "):
            run(call)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("train-topics --input v.mallet", "v.mallet: holds vectors.*use --keep-sequence"),
        ("train-topics --input a.mallet --output-state nowhere/s", "nowhere/s: the folder .* does not exist"),
        ("train-topics --input a.mallet --num-topics 0", "--num-topics: 0 must be at least 1"),
        ("train-topics --input a.mallet --num-topics x", "--num-topics: 'x' is not a whole number"),
        ("train-topics --input a.mallet --alpha nan", "--alpha: 'nan' is not a number"),
        ("train-topics --input a.mallet --alpha", "--alpha: its value is missing"),
        ("train-topics --input a.mallet --use-symmetric-alpha maybe", "'maybe' is not true or false"),
        ("train-topics --input a.mallet --num-topcs 3", "no option --num-topcs; did you mean --num-topics"),
        ("train-topics --input a.mallet --output-state-interval 5", "--output-state-interval: give --output-state"),
        ("train-topics --input a.mallet --output-model x --output-state x", "x: two outputs"),
        ("train-topics --input db:mysql", "databases are not read"),
        ("train-topics --output-state s", "give --input FILE"),
        ("train-topics --input a.mallet --input-state other.gz --no-inference", "do not match"),
        ("train-topics --input missing.mallet", "missing.mallet: cannot be read"),
        ("train-topics --input a.txt", "a.txt: not a topicx file"),
        ("infer-topics --inferencer i --input a.mallet", "give --output-doc-topics"),
        ("import-file --input a.txt --line-regex ^(zz)(.*)(x)", "a.txt:1: Line #1 does not match regex: doc0"),
        ("import-file --input a.txt --data 4", "--data 4: --line-regex has only 3 groups"),
        ("import-file --input a.txt --token-regex [a", "--token-regex"),
        ("import-file --input a.txt --stop-pattern-file bad.txt", "--stop-pattern-file"),
        ("import-file --input a.txt --encoding nonsense", "encoding"),
        ("import-dir --input a.txt", "a.txt: is not a directory"),
        ("import-dir --input dir --string-pipe x", "--string-pipe: is Java code"),
        ("import-svmlight --input bad.svm --output o", "bad.svm:1: 'nocolon' is not feature:value"),
        ("import-svmlight --input v.svm w.svm --output o", "1 files for 2"),
        ("prune --input a.mallet --prune-count 2 --training-portion 0.5", "words are dropped before"),
        ("prune --input a.mallet --prune-count 2", "You must specify a file to write to"),
        ("split --input a.mallet --training-portion 0.7 --validation-portion 0.7", "more than 1"),
        ("info --input a.mallet", "say what to print"),
        ("info --input a.mallet --print-matrix xyz", "--print-matrix: 'xyz'"),
        ("train-classifier --input x", "train-classifier: is about classifiers"),
        ("frain-topics", "Unrecognized command: frain-topics; did you mean train-topics"),
        ("run cc.mallet.topics.LabeledLDA --input x", "LabeledLDA is a Java class"),
        ("run", "give the name of a class"),
    ],
)
def test_wrong_calls_are_one_line(call: str, message: str, folder: Path) -> None:
    run("import-file --input a.txt --output a.mallet --keep-sequence")
    run("import-file --input a.txt --output v.mallet")
    run("import-file --input b.txt --output b.mallet --keep-sequence")
    run("train-topics --input b.mallet --num-iterations 1 --output-state other.gz --inferencer-filename i")
    (folder / "bad.txt").write_text("[a\n")
    (folder / "bad.svm").write_text("1 nocolon\n")
    before = {path.name for path in folder.iterdir()}
    with pytest.raises(InputError, match=message) as refused:
        run(call)
    assert "\n" not in str(refused.value)
    assert {path.name for path in folder.iterdir()} == before


def test_the_process_exits_as_it_should(topicx: Run, tmp_path: Path) -> None:
    write_texts(tmp_path)
    assert topicx("mallet").returncode == 2
    done = topicx("mallet", "--help")
    assert done.returncode == 0
    assert "train-topics" in done.stdout
    done = topicx("mallet", "train-topics", "--help")
    assert done.returncode == 0
    assert "--optimize-interval N" in done.stdout
    done = topicx("mallet", "train-topics", "--input", "nothing", "--bogus", "1")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    done = topicx("mallet", "--install", "a.txt/x")
    assert done.returncode == 2
    pipe = "import-file --input - --output - --keep-sequence < a.txt | train-topics --input - --num-iterations 10 --output-topic-keys k"
    script = " | ".join(f"'{sys.executable}' -m topicx mallet {part}" for part in pipe.split(" | "))
    done_too = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done_too.returncode == 0, done_too.stderr
    assert len(reading.keys(tmp_path / "k")) == 10


# -- imports -------------------------------------------------------------------------------------------------------


def test_documents_words_and_labels_have_mallets_order(folder: Path) -> None:
    (folder / "x.txt").write_bytes("b2 zoo beta alpha beta\n\nb1 ape alpha gamma\r\nb3 zoo\n\ufffd\xff tail words here".encode("latin-1", "replace"))
    run("import-file --input x.txt --output x.mallet --keep-sequence")
    instances = load("x.mallet")
    assert list(instances.corpus.ids)[:4] == ["b2", "", "b1", "b3"]
    assert instances.labels[:4] == ["zoo", "", "ape", "tail"]
    assert list(instances.corpus.vocabulary)[:3] == ["beta", "alpha", "gamma"]
    assert instances.corpus.lengths.tolist()[:4] == [3, 0, 2, 0]
    out, _ = run("info --input x.mallet --print-labels")
    assert out == "zoo\n\nape\ntail\n\n"


def test_a_pipe_is_taken_over_and_its_file_extended(folder: Path) -> None:
    (folder / "x.txt").write_text("x new words Words star\n")
    run("import-file --input a.txt --output a.mallet --keep-sequence --preserve-case")
    before = list(load("a.mallet").corpus.vocabulary)
    out, err = run("import-file --input x.txt --output x.mallet --use-pipe-from a.mallet --remove-stopwords")
    assert "Rewriting extended pipe from a.mallet" in out
    assert "--remove-stopwords of this call has no effect" in err
    after = list(load("a.mallet").corpus.vocabulary)
    assert after[: len(before)] == before
    assert after[len(before) :] == ["words", "Words"]
    assert list(load("x.mallet").corpus.vocabulary) == after
    run("prune --input a.mallet --output p.mallet --prune-count 20")
    run("import-file --input x.txt --output y.mallet --use-pipe-from p.mallet")  # which MALLET cannot
    assert load("y.mallet").corpus.document(0) == ["words", "Words", "star"]


def test_names_of_files(folder: Path) -> None:
    place = folder / "odd" / "sub dir"
    place.mkdir(parents=True)
    (place / "ä%[1].txt").write_text("some words here")
    (folder / "odd" / ".hidden").write_text("hidden words")
    run("import-dir --input odd --output o.mallet --keep-sequence")
    instances = load("o.mallet")
    assert list(instances.corpus.ids) == [f"file:{folder}/odd/.hidden", f"file:{folder}/odd/sub%20dir/ä%25%5B1%5D.txt"]
    assert instances.sources == ["odd/.hidden", "odd/sub dir/ä%[1].txt"]
    assert [instances.target(d) for d in range(2)] == ["", ""]
    run("import-dir --input dir/sky/ dir//money --output o.mallet --keep-sequence")
    assert load("o.mallet").labels == ["sky", "money"]
    (folder / "pos").mkdir()
    (folder / "part").mkdir()
    for name in ("pos", "part"):
        (folder / name / "f").write_text("words and words")
    run("import-dir --input pos part --output o.mallet")
    assert load("o.mallet").labels == ["os", "art"]


def test_config_files(folder: Path) -> None:
    run("import-file --input a.txt --output a.mallet --keep-sequence")
    (folder / "c.properties").write_bytes(
        b"# a comment\nnum-topics = 4\nnum-iterations: 5 ignored\nunknown = 7\nuse-symmetric-alpha true\n"
        b"output-topic-keys = ke\\\n  ys\n! another\nno-inference=\\u0066alse"
    )
    run("train-topics --input a.mallet --num-topics 2 --config c.properties")
    assert len(reading.keys(folder / "keys")) == 4
    run("train-topics --input a.mallet --config c.properties --num-topics 2")
    assert len(reading.keys(folder / "keys")) == 2
    (folder / "c.xml").write_text(
        '<?xml version="1.0"?><properties><entry key="num-topics">3</entry></properties>', encoding="utf-8"
    )
    run("train-topics --input a.mallet --config c.xml --num-iterations 1 --output-topic-keys keys")
    assert len(reading.keys(folder / "keys")) == 3
    (folder / "bad.properties").write_text("num-topics = many")
    with pytest.raises(InputError, match="bad.properties: --num-topics"):
        run("train-topics --input a.mallet --config bad.properties")
    run("train-topics --cc.mallet.topics.tui.input a.mallet --tui.num-topics 2 --num-iterations 1 --output-topic-keys keys")
    assert len(reading.keys(folder / "keys")) == 2


def test_stop_lists_of_mallets_folder(folder: Path) -> None:
    _, err = run("import-file --input a.txt --output a.mallet --stoplist-file stoplists/en.txt")
    assert err == ""
    _, err = run("import-file --input a.txt --output a.mallet --stoplist-file stoplists/de.txt")
    assert "topicx's own list for de" in err
    with pytest.raises(InputError, match="no list of its own for 'jp'"):
        run("import-file --input a.txt --output a.mallet --stoplist-file stoplists/jp.txt")
    _, err = run("import-file --input a.txt --output a.mallet --extra-stopwords more.txt")
    assert "alone it does nothing" in err


def test_a_corpus_of_topicx_and_an_import_of_mallets_go_both_ways(topicx: Run, tmp_path: Path) -> None:
    write_texts(tmp_path)
    assert topicx("import", "a.txt", "--format", "lines", "-o", "a.corpus").returncode == 0
    done = topicx("mallet", "train-topics", "--input", "a.corpus", "--num-iterations", "10", "--output-topic-keys", "k")
    assert done.returncode == 0, done.stderr
    topicx("mallet", "import-file", "--input", "a.txt", "--output", "m.mallet", "--keep-sequence", "--remove-stopwords")
    done = topicx("train", "m.mallet", "-k", "3", "--iterations", "10", "-o", "m.model")
    assert done.returncode == 0, done.stderr
    done = topicx("infer", "m.model", "b.txt", "--format", "lines", "-o", "-")
    assert done.returncode == 0, done.stderr
    done = topicx("info", "m.mallet")
    assert done.returncode == 0, done.stderr


def test_a_state_becomes_instances(folder: Path) -> None:
    run("import-dir --input dir/sky --output a.mallet --keep-sequence")
    run("train-topics --input a.mallet --num-topics 2 --num-iterations 5 --output-state s --output-doc-topics d")
    run("run cc.mallet.util.StateToInstances --input s --output b.mallet")
    run("train-topics --input b.mallet --input-state s --num-iterations 0 --output-state t")
    assert (folder / "t").read_bytes() == (folder / "s").read_bytes()
    out, _ = run("run cc.mallet.util.FeatureCountTool --input b.mallet")
    assert out == run("info --print-feature-counts --input a.mallet")[0]
    shutil.copy("a.mallet", "c.mallet")
    out, _ = mallet("run", "cc.mallet.util.InstanceListPrinter", "c.mallet")
    assert out.startswith(f"Name: file:{folder}/dir/sky/doc11.txt\nTarget: \nData: 0: subject (0)\n")


def test_gaps_move_with_pruned_words(folder: Path) -> None:
    (folder / "x.txt").write_text("x l one two, three four five\n")
    run("import-file --input x.txt --output x.mallet --keep-sequence-bigrams")
    joined = load("x.mallet").joined()
    assert joined is not None
    assert joined.tolist() == [False, True, False, True, True]
    from topicx.cli.mallet.words import keep_words

    fewer = keep_words(load("x.mallet"), np.array([True, True, True, False, True])).joined()
    assert fewer is not None
    assert fewer.tolist() == [False, True, False, False]


def test_it_is_quick_about_many_words(folder: Path) -> None:
    """Twenty times slower than it is would be a defect; machines that test are busy."""
    rng = np.random.default_rng(0)
    lines = [f"{d}\t0\t{' '.join(map(str, row))}\n" for d, row in enumerate(rng.zipf(1.3, (400, 500)) % 20000)]
    (folder / "m.txt").write_text("".join(lines))
    begin = time.monotonic()
    mallet("import-file", "--keep-sequence", "--token-regex", r"\S+", "--input", "m.txt", "--output", "m.mallet")
    assert load("m.mallet").corpus.n_tokens == 200_000
    assert time.monotonic() - begin < 20
