"""`topicx mallet`: MALLET's files to the byte, what imports hold, and what is refused in a line."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import Run
from tests.mallet import mallet_reading as reading
from tests.mallet.mallet_cli import mallet, run, small_state, write_texts
from topicx.corpus.corpus import Corpus
from topicx.errors import InputError
from topicx.interop import mallet_reports as reports
from topicx.interop import mallet_write as write
from topicx.interop import read_state
from topicx.mallet.instance_lists import SOURCE, Instances, load_instances
from topicx.mallet.mallet_files import load_model
from topicx.state import State
from topicx.strings import Strings

SAMPLE = Path(__file__).with_name("sample")


# -- the files ------------------------------------------------------------------------------------------------------

FILES = {
    "--output-topic-keys": "topic-keys.txt", "--output-doc-topics": "doc-topics.txt",
    "--topic-word-weights-file": "topic-word-weights.txt", "--word-topic-counts-file": "word-topic-counts.txt",
    "--diagnostics-file": "diagnostics.xml", "--xml-topic-report": "report.xml",
    "--output-topic-docs": "topic-docs.txt",
}  # fmt: skip


def sample(file: str) -> bytes:
    data = (SAMPLE / file).read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def sample_instances() -> Instances:
    """The instances of the sample: words from the counts, tokens from the state, names from doc-topics."""
    found = read_state(SAMPLE / "state.gz")
    words = [line.split(" ")[1] for line in sample("word-topic-counts.txt").decode().splitlines()]
    names = [line.split("\t")[1] for line in sample("doc-topics.txt").decode().splitlines()]
    sources = dict(zip(found.ids, found.ids))
    number = {word: at for at, word in enumerate(words)}
    ids = np.array([number[word] for word in found.vocabulary], np.uint32)[found.words]
    lengths = dict(zip(found.ids, np.diff(found.offsets).tolist()))
    own = [name.removeprefix("file:/") for name in names]
    offsets = np.cumsum([0, *(lengths.get(name, 0) for name in own)])
    columns = {SOURCE: Strings.of([sources.get(name, name) for name in own])}
    return Instances(Corpus(ids, offsets, Strings.of(words), ids=Strings.of(names), columns=columns))


def test_files_come_out_of_a_state_to_the_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sample_instances().save("a.mallet")
    outputs = " ".join(f"{option} {file}" for option, file in FILES.items())
    state = SAMPLE / "state.gz"
    run(f"train-topics --input a.mallet --input-state {state} --num-iterations 0 --output-state state.gz {outputs}")
    assert gzip.decompress((tmp_path / "state.gz").read_bytes()) == sample("state.gz")
    for file in FILES.values():
        assert (tmp_path / file).read_bytes() == sample(file), file
    run(f"train-topics --input a.mallet --input-state {state} --no-inference --output-doc-topics sparse "
        "--doc-topics-threshold 0.1 --doc-topics-max 3")  # fmt: skip
    assert (tmp_path / "sparse").read_bytes() == sample("doc-topics-threshold.txt")


def test_small_files_to_the_letter(tmp_path: Path) -> None:
    state, out = small_state(), tmp_path / "out"
    counts = write.word_counts(state)
    ranked = write.ranked_words(counts)
    write.topic_keys(state.alpha[0], ranked, state.vocabulary, str(out))
    assert out.read_text() == "0\t0.1\tx&y a<b \n1\t0.02995\t\n2\t0.00001\tnew york a<b \n"
    write.word_topic_counts(counts, state.vocabulary, str(out), state)
    assert out.read_text() == "0 a<b 0:1 2:1\n1 new 2:3\n2 york 2:1\n3 x&y 0:2\n4 none\n"
    write.topic_word_weights(write.smoothed_counts(counts, state.beta), state.vocabulary, str(out))
    assert out.read_text().splitlines()[:4] == ["0\ta<b\t1.0001", "0\tnew\t1.0E-4", "0\tyork\t1.0E-4", "0\tx&y\t2.0001"]
    write.doc_topics(write.document_shares(state), state.ids, str(out), threshold=1e-5, most=2)
    lines = out.read_text().split("\n")
    assert lines[0] == "#doc name topic proportion ..."
    assert lines[1].startswith("0\td 0\t2\t0.7797")
    assert lines[1].endswith("\t")
    assert lines[2].startswith("1\t\t0\t0.769")
    write.doc_topics(write.document_shares(state), state.ids, str(out), threshold=0.9999)
    assert out.read_text().split("\n")[1:] == ["0\td 0\t", "1\t\t", "2\td 2\t", ""]
    write.write_state(state, str(out), ["a file.txt", "", "s"])
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
    # Document 0 is a<b/0 new/2 new/2 york/2 a<b/2: a phrase at a document's end is lost. Document 2: x&y/0 x&y/0 new/2.
    assert text.count("<phrase") == 1
    assert '    <phrase weight="1.0" count="1">x&amp;y x&amp;y</phrase>\n' in text
    assert '<topic id="2" alpha="1.0E-5" totalTokens="5" titles="new, york, a&lt;b, ">' in text
    assert '    <word weight="0.6" count="3">new</word>\n' in text
    state.z = np.array([2, 2, 2, 0, 2, 0, 0, 2], np.uint16)
    assert [dict(phrases) for phrases in reports.count_phrases(state)] == [{"x&y x&y": 1}, {}, {"a<b new new": 1}]
    joined = np.array([False, False, True, True, True, False, False, True])
    assert [dict(phrases) for phrases in reports.count_phrases(state, joined)] == [{}, {}, {"new new": 1}]


def test_titles_prefer_frequent_phrases() -> None:
    words = [(f"w{i:02}", 50 - i) for i in range(25)]
    titles = reports.topic_titles(words, [("new york", 30), ("rare pair", 20)])
    assert titles.startswith("new york, w00, w01, ")
    assert titles.endswith("w08")
    assert "rare" not in titles
    assert reports.topic_titles([("york", 9), ("new", 5)], [("new york", 21)]) == "new york, "


# -- what is refused -----------------------------------------------------------------------------------------------


def test_mallets_own_files_are_refused_in_a_line(here: Path) -> None:
    run("import-file --input a.txt --output a.mallet --keep-sequence")
    (here / "java").write_bytes(b"\xac\xed\x00\x05sr\x00\x1ecc.mallet.types.InstanceList")
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
def test_wrong_calls_are_one_line(call: str, message: str, here: Path) -> None:
    run("import-file --input a.txt --output a.mallet --keep-sequence")
    run("import-file --input a.txt --output v.mallet")
    run("import-file --input b.txt --output b.mallet --keep-sequence")
    run("train-topics --input b.mallet --num-iterations 1 --output-state other.gz --inferencer-filename i")
    (here / "bad.txt").write_text("[a\n")
    (here / "bad.svm").write_text("1 nocolon\n")
    before = {path.name for path in here.iterdir()}
    with pytest.raises(InputError, match=message) as refused:
        run(call)
    assert "\n" not in str(refused.value)
    assert {path.name for path in here.iterdir()} == before


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
    pipe = ("import-file --input - --output - --keep-sequence < a.txt",
            "train-topics --input - --num-iterations 10 --output-topic-keys k")  # fmt: skip
    script = " | ".join(f"'{sys.executable}' -m topicx mallet {part}" for part in pipe)
    done_too = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done_too.returncode == 0, done_too.stderr
    assert len(reading.keys(tmp_path / "k")) == 10


# -- imports -------------------------------------------------------------------------------------------------------


def test_documents_words_and_labels_have_mallets_order(here: Path) -> None:
    (here / "x.txt").write_bytes(
        "b2 zoo beta alpha beta\n\nb1 ape alpha gamma\r\nb3 zoo\n\ufffd\xff tail words here".encode(
            "latin-1", "replace"
        )
    )
    run("import-file --input x.txt --output x.mallet --keep-sequence")
    instances = load_instances("x.mallet")
    assert list(instances.corpus.ids)[:4] == ["b2", "", "b1", "b3"]
    assert instances.labels[:4] == ["zoo", "", "ape", "tail"]
    assert list(instances.corpus.vocabulary)[:3] == ["beta", "alpha", "gamma"]
    assert instances.corpus.lengths.tolist()[:4] == [3, 0, 2, 0]
    out, _ = run("info --input x.mallet --print-labels")
    assert out == "zoo\n\nape\ntail\n\n"


def test_a_pipe_is_taken_over_and_its_file_extended(here: Path) -> None:
    (here / "x.txt").write_text("x new words Words star\n")
    run("import-file --input a.txt --output a.mallet --keep-sequence --preserve-case")
    before = list(load_instances("a.mallet").corpus.vocabulary)
    out, err = run("import-file --input x.txt --output x.mallet --use-pipe-from a.mallet --remove-stopwords")
    assert "Rewriting extended pipe from a.mallet" in out
    assert "--remove-stopwords of this call has no effect" in err
    after = list(load_instances("a.mallet").corpus.vocabulary)
    assert after[: len(before)] == before
    assert after[len(before) :] == ["words", "Words"]
    assert list(load_instances("x.mallet").corpus.vocabulary) == after
    run("prune --input a.mallet --output p.mallet --prune-count 20")
    run("import-file --input x.txt --output y.mallet --use-pipe-from p.mallet")  # which MALLET cannot
    assert load_instances("y.mallet").corpus.document(0) == ["words", "Words", "star"]


def test_sources_and_gaps_have_a_place_in_the_state(here: Path) -> None:
    (here / "x.txt").write_text("a x the cat, sat\nb x on the mat by the door\nc x cats\n")
    run("import-file --input x.txt --output x.mallet --keep-sequence-bigrams --remove-stopwords")
    run("import-dir --input dir/sky --output o.mallet --keep-sequence")
    for name in ("x", "o"):
        run(f"train-topics --input {name}.mallet --num-topics 2 --num-iterations 2 --output-model {name}")
        state, given = State.load(name), load_instances(f"{name}.mallet")
        assert state.extra == {}
        assert list(state.sources) == (given.sources or [])
        _, again = load_model(name)
        joined = given.joined()
        assert (again.joined() is None) == (joined is None)
        assert joined is None or np.array_equal(again.joined(), joined)
    assert list(State.load("x").gaps) == ["1", "1", ""]
    assert len(State.load("o").sources) > 1


def test_names_of_files(here: Path) -> None:
    place = here / "odd" / "sub dir"
    place.mkdir(parents=True)
    (place / "ä%[1].txt").write_text("some words here")
    (here / "odd" / ".hidden").write_text("hidden words")
    run("import-dir --input odd --output o.mallet --keep-sequence")
    instances = load_instances("o.mallet")
    assert list(instances.corpus.ids) == [f"file:{here}/odd/.hidden", f"file:{here}/odd/sub%20dir/ä%25%5B1%5D.txt"]
    assert instances.sources == ["odd/.hidden", "odd/sub%20dir/ä%[1].txt"]
    assert [instances.target(d) for d in range(2)] == ["", ""]
    run("import-dir --input dir/sky/ dir//money --output o.mallet --keep-sequence")
    assert load_instances("o.mallet").labels == ["sky", "money"]
    (here / "pos").mkdir()
    (here / "part").mkdir()
    for name in ("pos", "part"):
        (here / name / "f").write_text("words and words")
    run("import-dir --input pos part --output o.mallet")
    assert load_instances("o.mallet").labels == ["os", "art"]


def test_config_files(here: Path) -> None:
    run("import-file --input a.txt --output a.mallet --keep-sequence")
    (here / "c.properties").write_bytes(
        b"# a comment\nnum-topics = 4\nnum-iterations: 5 ignored\nunknown = 7\nuse-symmetric-alpha true\n"
        b"output-topic-keys = ke\\\n  ys\n! another\nno-inference=\\u0066alse"
    )
    run("train-topics --input a.mallet --num-topics 2 --config c.properties")
    assert len(reading.keys(here / "keys")) == 4
    run("train-topics --input a.mallet --config c.properties --num-topics 2")
    assert len(reading.keys(here / "keys")) == 2
    (here / "c.xml").write_text(
        '<?xml version="1.0"?><properties><entry key="num-topics">3</entry></properties>', encoding="utf-8"
    )
    run("train-topics --input a.mallet --config c.xml --num-iterations 1 --output-topic-keys keys")
    assert len(reading.keys(here / "keys")) == 3
    (here / "bad.properties").write_text("num-topics = many")
    with pytest.raises(InputError, match=r"bad\.properties: --num-topics"):
        run("train-topics --input a.mallet --config bad.properties")
    run(
        "train-topics --cc.mallet.topics.tui.input a.mallet --tui.num-topics 2 --num-iterations 1 "
        "--output-topic-keys keys"
    )
    assert len(reading.keys(here / "keys")) == 2


def test_stop_lists_of_mallets_folder(here: Path) -> None:
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
    done = topicx("infer", "m.model", "b.txt", "-o", "-")
    assert done.returncode == 0, done.stderr
    done = topicx("info", "m.mallet")
    assert done.returncode == 0, done.stderr


def test_a_state_becomes_instances(here: Path) -> None:
    run("import-dir --input dir/sky --output a.mallet --keep-sequence")
    run("train-topics --input a.mallet --num-topics 2 --num-iterations 5 --output-state s --output-doc-topics d")
    run("run cc.mallet.util.StateToInstances --input s --output b.mallet")
    run("train-topics --input b.mallet --input-state s --num-iterations 0 --output-state t")
    assert (here / "t").read_bytes() == (here / "s").read_bytes()
    out, _ = run("run cc.mallet.util.FeatureCountTool --input b.mallet")
    assert out == run("info --print-feature-counts --input a.mallet")[0]
    shutil.copy("a.mallet", "c.mallet")
    out, _ = mallet("run", "cc.mallet.util.InstanceListPrinter", "c.mallet")
    assert out.startswith(f"Name: file:{here}/dir/sky/doc11.txt\nTarget: \nData: 0: subject (0)\n")


def test_gaps_move_with_pruned_words(here: Path) -> None:
    (here / "x.txt").write_text("x l one two, three four five\n")
    run("import-file --input x.txt --output x.mallet --keep-sequence-bigrams")
    joined = load_instances("x.mallet").joined()
    assert joined is not None
    assert joined.tolist() == [False, True, False, True, True]
    from topicx.mallet.word_selection import keep_words

    fewer = keep_words(load_instances("x.mallet"), np.array([True, True, True, False, True])).joined()
    assert fewer is not None
    assert fewer.tolist() == [False, True, False, False]
