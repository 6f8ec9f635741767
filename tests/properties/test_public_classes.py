"""The front door: every form of documents, arguments with names that are met, stopping, progress, equality."""

from __future__ import annotations

import importlib.util
import inspect
import io
import os
import re
import signal
import subprocess
import sys
import textwrap
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import topicx
from tests.conftest import lda_corpus
from tests.places import ROOT
from topicx import progress
from topicx.classes.lda_class import FURTHER
from topicx.classes.medlda_class import MedLDA
from topicx.datasets import embedded, embedded_texts
from topicx.declare import ALIASES, declared_options
from topicx.sampling.run_options import Options

TEXTS = [
    "The cat sat on the mat with a cat",
    "Stocks fell as rates rose",
    "A cat and a dog sat",
    "Rates and stocks rose",
]
WORDS = [["cat", "sat", "the"], ["stocks", "rates"], ["cat", "dog"], ["rates", "rose", "rose"]]


def small(**more: Any) -> topicx.LDA:
    return topicx.LDA(**{"topics": 2, "iterations": 5, "threads": 1} | more)


# -- arguments -------------------------------------------------------------------------------------------------------


def test_the_arguments_are_the_declared_options() -> None:
    parameters = inspect.signature(topicx.LDA.__init__).parameters
    declared = declared_options(Options)
    assert set(parameters) - {"self", "unknown"} == set(declared) | set(FURTHER) | {"model", "own"}
    assert {name: parameters[name].default for name in declared} == {
        name: value for name, (_, value) in declared.items()
    }
    missing = [name for name in declared if name not in (topicx.LDA.__doc__ or "")]
    assert not missing


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("num_topics", "topics"), ("k", "topics"), ("n_topics", "topics"), ("n_iter", "iterations"), ("eta", "beta"),
     ("random_state", "seed"), ("n_jobs", "threads"), ("iteratons", "iterations"), ("wrod_prior", "word_prior")],
)  # fmt: skip
def test_a_wrong_name_is_met_with_the_right_one(wrong: str, right: str) -> None:
    for made in (topicx.LDA, MedLDA):
        with pytest.raises(topicx.InputError, match=f"{made.__name__} has no option '{wrong}'; did you mean '{right}'"):
            made(**{wrong: 3})
    with pytest.raises(topicx.InputError, match=r"no option 'zzz'$"):
        topicx.LDA(**{"zzz": 1})


def test_what_other_libraries_call_it_is_met_with_ours() -> None:
    with pytest.raises(AttributeError, match=r"has no attribute 'components_'; topic_word is it here"):
        small().components_  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'nonsense'$"):
        small().nonsense  # noqa: B018
    with pytest.raises(AttributeError, match=r"'topicx' has no attribute 'load'; Model\.load\(path\), .* is it here"):
        _ = topicx.load
    with pytest.raises(topicx.InputError, match="no option 'callback' of reading; did you mean 'callbacks'"):
        topicx.LDA(2).fit(["a text"], callback=print)
    with pytest.raises(topicx.InputError, match=r"documents\[1\] is None, which is not a list of words"):
        topicx.LDA(2).fit([["a", "text"], None])
    with pytest.raises(topicx.InputError, match="no option 'stop_words' of reading; did you mean 'stopwords'"):
        small().fit(TEXTS, stop_words="en")
    from topicx.classes.lda_class import ELSEWHERE

    assert all(getattr(topicx.LDA, theirs, None) is None for theirs in ELSEWHERE)  # none hides what is there


def test_aliases_are_of_options_and_hide_none() -> None:
    known = {*declared_options(Options), *FURTHER}
    assert set(ALIASES) <= known
    assert not known & {name for names in ALIASES.values() for name in names.split()}


def test_alpha_auto_says_what_to_do() -> None:
    with pytest.raises(topicx.InputError, match=r"alpha must be a number.*'auto': optimize_interval=10 learns it"):
        topicx.LDA(alpha="auto")  # type: ignore[arg-type]


def test_parameters_are_got_set_and_cloned() -> None:
    lda = small(alpha=[0.1, 0.2], seed_words={0: ["cat"]})
    assert lda.get_params()["topics"] == 2 and lda.get_params()["beta"] is None and lda.options.beta == 0.01
    assert type(lda)(**lda.get_params()).options == lda.options
    lda.fit(WORDS)
    assert lda.set_params(topics=3, alpha=0.5) is lda
    assert lda.options.topics == 3 and lda.topic_word.shape[0] == 2  # what was learnt stays until the next fit
    assert lda.fit(WORDS).topic_word.shape[0] == 3
    with pytest.raises(topicx.InputError, match="did you mean 'topics'"):
        lda.set_params(k=4)
    assert lda.options.topics == 3
    med = MedLDA(topics=3, lambda_=5.0, iterations=7)
    assert type(med)(**med.set_params(nu=2.0).get_params()).options == med.options
    labelled = topicx.LabeledLDA("labeled", iterations=9, background=1)
    assert type(labelled)(**labelled.set_params(chains=2).get_params()).options == labelled.options
    assert labelled.chains == 2


def test_representations_say_something() -> None:
    lda = small(beta=0.1)
    assert repr(lda) == "LDA(topics=2, iterations=5, beta=0.1, threads=1), not trained"
    lda.fit(WORDS)
    assert repr(lda).endswith("trained on 4 documents, 10 tokens")
    assert repr(lda.model) == "Model(lda: 2 topics, 7 words, 4 documents, sampler sparse)"
    assert repr(lda.model.infer(WORDS)) == "DocumentTopics(4 documents, 2 topics)"
    assert repr(topicx.LDA(alpha=np.full(100, 0.2))).startswith("LDA(topics=100, alpha=array(")
    assert repr(MedLDA(3)).startswith("MedLDA(topics=3)") and repr(topicx.LabeledLDA()).startswith("LabeledLDA()")


# -- documents -------------------------------------------------------------------------------------------------------


def test_every_form_of_documents() -> None:
    pandas = pytest.importorskip("pandas")
    texts = small().fit(TEXTS, stopwords="en")
    assert set(texts.model.vocabulary) == {"cat", "sat", "mat", "stocks", "fell", "rates", "rose", "dog"}
    frame = pandas.DataFrame({"text": TEXTS, "n": 1})
    same = [
        small().fit(iter(TEXTS), stopwords="en"), small().fit(tuple(TEXTS), stopwords="en"),
        small().fit(np.array(TEXTS), stopwords="en"), small().fit(frame["text"], stopwords="en"),
        small().fit(frame, stopwords="en"),
        small().fit(frame.rename(columns={"text": "body"}), text="body", stopwords="en"),
        small().fit(topicx.Corpus.from_texts(TEXTS, stopwords="en")),
    ]  # fmt: skip
    assert all(np.array_equal(other.topic_word, texts.topic_word) for other in same)
    words = small().fit(WORDS)
    assert words.model.vocabulary[0] in ("cat", "rates", "rose")
    assert np.array_equal(small().fit(pandas.DataFrame({"text": WORDS})).topic_word, words.topic_word)
    assert "the" not in list(small().fit(WORDS, stopwords="en").model.vocabulary)
    assert "the" not in list(small().fit(topicx.Corpus.from_documents(WORDS), stopwords=["the"]).model.vocabulary)
    assert small().fit(WORDS, min_count=2).model.n_words == 3
    counts = topicx.Corpus.from_documents(WORDS)
    matrix, names = counts.to_matrix(), list(counts.vocabulary)
    same = [
        small().fit(matrix, vocabulary=names), small().fit(scipy.sparse.coo_matrix(matrix), vocabulary=names),
        small().fit(matrix.toarray(), vocabulary=names), small().fit(pandas.DataFrame(matrix.toarray(), columns=names)),
    ]  # fmt: skip
    assert all(list(lda.model.vocabulary) == names for lda in same)
    assert all(np.array_equal(lda.topic_word, same[0].topic_word) for lda in same)
    assert np.array_equal(same[0].transform(matrix), same[0].transform(counts.select([0, 1, 2, 3])))


def test_strings_of_numpy_are_strings() -> None:
    words = [np.array(document) for document in WORDS]
    plain = topicx.Corpus.from_documents(WORDS)
    assert topicx.Corpus.from_documents(words, ids=np.array(["p", "q", "r", "s"])).vocabulary == plain.vocabulary
    assert np.array_equal(
        small().fit([[np.str_(w) for w in d] for d in WORDS]).topic_word, small().fit(words).topic_word
    )
    names = np.array(list(plain.vocabulary))
    assert topicx.Corpus.from_documents(words, vocabulary=names).vocabulary == plain.vocabulary
    assert topicx.Corpus.from_matrix(plain.to_matrix(), names).vocabulary == plain.vocabulary
    with pytest.raises(topicx.InputError, match="vocabulary is not a list of words"):
        topicx.Corpus.from_documents(WORDS, vocabulary=[1, 2])  # type: ignore[list-item]


def test_tables_of_other_programs_come_by_arrow() -> None:
    pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    lda = small().fit(pyarrow.table({"text": TEXTS}), stopwords="en")
    assert np.array_equal(lda.topic_word, small().fit(TEXTS, stopwords="en").topic_word)


@pytest.mark.parametrize(
    ("documents", "reading", "message"),
    [
        ("one text", {}, "one string was given"),
        (3, {}, "a Corpus, texts, lists of words.* not a int"),
        ([["a"], None], {}, r"documents\[1\] is None, which is not a list of words"),
        (["a text", None], {}, r"texts\[1\] is not a string but a NoneType"),
        ([], {}, "no documents"),
        (TEXTS, {"stopped": "en"}, "no option 'stopped' of reading; there are text, stopwords"),
        (TEXTS, {"stopwords": "xx"}, "no stop words for the language 'xx'"),
        (np.ones((2, 2)), {"stopwords": "en"}, "the columns of a matrix are its words"),
        (np.full((2, 2), 0.5), {}, r"matrix\[0, 0\] is 0.5, not a count"),
    ],
)
def test_what_is_no_collection_of_documents_is_named(documents: Any, reading: Any, message: str) -> None:
    with pytest.raises(topicx.InputError, match=message):
        small().fit(documents, **reading)


def test_a_frame_without_the_column_names_those_it_has() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(topicx.InputError, match=r"no column 'text' \(text=NAME names another\); there are: body"):
        small().fit(pandas.DataFrame({"body": TEXTS}))


def test_new_documents() -> None:
    lda = small().fit(TEXTS, stopwords="en")
    theta = lda.transform(TEXTS[:2])
    assert theta.shape == (2, 2) and np.allclose(theta.sum(axis=1), 1)
    assert np.array_equal(theta, lda.model.transform(TEXTS)[:2])  # a row depends on no other
    assert np.array_equal(small().fit_transform(TEXTS, stopwords="en"), lda.transform(TEXTS))
    found = lda.model.infer([["cat", "unheard"], ["stocks"]])
    assert found.unknown.tolist() == [1, 0] and len(found) == 2
    assert [best[0][0] for best in found.top(1)] == found.main_topic.tolist()
    assert np.allclose(lda.transform(["nothing known"]), lda.alpha / lda.alpha.sum())
    with pytest.raises(topicx.InputError, match="the matrix has 3 columns, but the model has 8 words"):
        lda.transform(np.ones((2, 3)))


def test_predictions_go_into_the_table() -> None:
    pandas = pytest.importorskip("pandas")
    corpus = embedded()
    names = [corpus.labels(d) for d in range(len(corpus))]
    model = MedLDA(topics=4, iterations=5, threads=1).fit(corpus.with_labels(names)).model
    frame = model.infer([text.text for text in embedded_texts()][:5]).to_dataframe()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == 5
    assert {"id", "main_topic", "share", "topic_0", "topic_3"} | set(frame.columns) == set(frame.columns)
    assert {"class", "score"} <= set(frame.columns)


# -- corpora ---------------------------------------------------------------------------------------------------------


def test_a_corpus_is_a_sequence_of_documents(tmp_path: Path) -> None:
    corpus = topicx.Corpus.from_documents(WORDS)
    assert corpus[0] == WORDS[0] and corpus[-1] == WORDS[-1] and list(corpus) == WORDS
    assert corpus[np.int64(1)] == WORDS[1]
    assert list(corpus[1:3]) == WORDS[1:3] and list(corpus[[2, 0]]) == [WORDS[2], WORDS[0]]
    assert list(corpus[corpus.lengths > 2]) == [WORDS[0], WORDS[3]]
    for beyond in (4, -5):
        with pytest.raises(IndexError, match=f"document {beyond} of 4"):
            corpus[beyond]


def test_equality(tmp_path: Path) -> None:
    corpus, other = topicx.Corpus.from_documents(WORDS), topicx.Corpus.from_documents(WORDS[::-1])
    corpus.save(tmp_path / "c")
    assert corpus == topicx.Corpus.load(tmp_path / "c") and corpus != other and corpus != 3
    assert corpus.with_labels(["a", "b", "a", None]) != corpus
    first, again, third = small().fit(corpus), small().fit(corpus), small(seed=2, iterations=1).fit(other)
    assert first.model == again.model and first.state == again.state
    assert first.model != third.model and first.state != third.state and first.model != first.state
    first.save(str(tmp_path / "m"))
    assert topicx.Model.load(tmp_path / "m") == first.model


def test_packages_are_reachable_after_import() -> None:
    code = (
        "import topicx, sys; assert 'numpy' not in sys.modules; topicx.datasets.embedded; topicx.interop.read_state; "
    )
    code += "topicx.evaluate.completion.completion; assert 'evaluate' in dir(topicx)"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = topicx.evaluate.nothing  # type: ignore[attr-defined]


def test_the_help_imports_nothing_of_what_commands_do() -> None:
    code = (
        "import sys; from topicx.cli import cli; cli.main(['--help'], standalone_mode=False); "
        "assert not {'numpy', 'topicx.mallet', 'topicx.run', 'topicx.model'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_training_needs_no_scipy() -> None:
    """Which takes longer to import than all of topicx: what needs it imports it then."""
    code = (
        "import sys, topicx; from topicx.cli import train; "
        "topicx.LDA(2, iterations=2, verbose=False).fit([['a', 'b'], ['a', 'c']]); assert 'scipy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# -- stopping --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", ["soft", "growing", "random"])
def test_a_callback_sees_the_model_so_far(start: str) -> None:
    corpus, seen = lda_corpus(), []
    lda = small(iterations=5, start=start).fit(corpus, callbacks=[lambda event: seen.append((event, event.model()))])
    event, last = seen[-1]
    counts = lda.topic_word_counts.toarray() + lda.beta
    assert event.step.sweep == 5 and np.allclose(last.topic_word, counts / counts.sum(axis=1, keepdims=True))
    assert all(np.allclose(model.topic_word.sum(axis=1), 1) for _, model in seen)
    assert "look" not in repr(event)
    with pytest.raises(topicx.InputError, match="no model to look at"):
        type(event)(event.step, 1, 1, None, {}).model()


def test_a_callback_that_returns_true_stops() -> None:
    seen = []

    def three(event: Any) -> bool:
        seen.append(event.step.sweep)
        return len(seen) == 3

    lda = small(iterations=50).fit(lda_corpus(), callbacks=[three])
    assert seen == [1, 2, 3] and lda.iterations_done == 3
    assert np.array_equal(lda.topic_word, small(iterations=3).fit(lda_corpus()).topic_word)
    assert small(iterations=4).fit(lda_corpus(), callbacks=[lambda event: 1]).iterations_done == 4  # True alone stops
    with pytest.raises(topicx.InputError, match="callbacks must be functions"):
        small().fit(lda_corpus(), callbacks=["x"])  # type: ignore[list-item]


@pytest.mark.parametrize("start", ["random", "growing"])
def test_ctrl_c_keeps_the_model_so_far(start: str) -> None:
    def press(event: Any) -> None:
        if event.position == 2:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.warns(RuntimeWarning, match="interrupted after .* of 50 iterations; the model is of what was done"):
        lda = small(iterations=50, start=start).fit(lda_corpus(), callbacks=[press])
    assert signal.getsignal(signal.SIGINT) is before
    assert 0 < lda.iterations_done < 50
    assert np.allclose(lda.topic_word.sum(axis=1), 1) and lda.state.n_tokens == lda_corpus().n_tokens
    assert lda.topic_word_counts.sum() == lda_corpus().n_tokens


def test_ctrl_c_twice_is_a_keyboard_interrupt() -> None:
    def press(event: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        small(iterations=50).fit(lda_corpus(), callbacks=[press])
    assert signal.getsignal(signal.SIGINT) is before


# -- progress --------------------------------------------------------------------------------------------------------


def test_progress_where_somebody_looks_on(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    small().fit(WORDS)
    assert capsys.readouterr().err == ""  # no terminal
    assert isinstance(progress.for_terminal("a"), progress.LineProgress)
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", terminal)
    small().fit(WORDS)
    assert "training" in terminal.getvalue()
    shown = len(terminal.getvalue())
    small(verbose=False).fit(WORDS)
    small().fit(WORDS, verbose=False)
    assert len(terminal.getvalue()) == shown
    small(verbose=False).fit(WORDS, verbose=True)
    assert len(terminal.getvalue()) > shown


def test_progress_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    handle = types.SimpleNamespace(update=shown.append)
    ipython, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=1)  # type: ignore[attr-defined]
    display.display = lambda bar, display_id: shown.append(bar) or handle  # type: ignore[attr-defined,func-returns-value]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    small().fit(WORDS)
    assert "training: 5 of 5 sweeps" in repr(shown[-1])
    assert shown[-1]._repr_html_().startswith('<progress value="5" max="5"></progress> training')


# -- pages ----------------------------------------------------------------------------------------------------------


def blocks(page: str, kind: str = "python") -> list[str]:
    """The blocks of code of a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"(?sm)^```{kind}\n(.*?)^```$", text)


def test_the_page_runs_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    found = blocks("docs/how-to/python.md")
    assert len(found) >= 5
    names: dict[str, Any] = {}
    exec("\n".join(found), names)
    assert (tmp_path / "texts.model").exists() and names["theta"].shape == (2, 8)
    pytest.importorskip("sklearn")
    for block in blocks("docs/how-to/python.md", "python sklearn"):
        exec(block, names)
    if importlib.util.find_spec("matplotlib"):
        matplotlib = pytest.importorskip("matplotlib")
        matplotlib.use("Agg")
        for block in blocks("docs/how-to/python.md", "python plot"):
            exec(block, dict(names))
        assert (tmp_path / "over-time.png").stat().st_size > 1000
    assert names["search"].best_params_ == {"topics__n_components": 8} and names["theta"].shape == (3, 8)


def test_the_session_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    texts = [text.text for text in embedded_texts()]
    (block,) = blocks("README.md")
    names: dict[str, Any] = {"texts": texts, "new_texts": texts[:3]}
    exec(block, names)
    assert names["lda"].model.n_topics == 10 and names["lda"].document_topic.shape == (len(texts), 10)


# -- types -----------------------------------------------------------------------------------------------------------

PROGRAM = """
import topicx
from topicx import LDA, Corpus

corpus: Corpus = topicx.Corpus.from_texts(["a cat", "a dog"])
first: list[str] = corpus[0]
part: Corpus = corpus[0:1]
lda: LDA = LDA(topics=2, alpha=0.5, seed_words={0: ["cat"]}).fit(corpus, stopwords="en")
reveal_type(lda.topic_word)
reveal_type(lda.fit_transform(["a cat", "a dog"]))
reveal_type(lda.model.infer(["a cat"]).main_topic)
reveal_type(lda.top_words(3))
reveal_type(topicx.datasets.embedded())
reveal_type(topicx.evaluate.completion.completion(lda.model, None, corpus).perplexity)
topicx.MedLDA(topics=3).fit(corpus).predict(corpus)
LDA(topics="two")  # wrong
LDA(num_topics=2)  # wrong
lda.fit(corpus, stopword="en")  # wrong
lda.topic_words  # wrong
"""


def test_a_program_of_a_user_has_types(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM), encoding="utf-8")
    # The packages where they are installed: cli/ and datasets/ inside topicx/.
    root, there = ROOT, tmp_path / "types" / "topicx"
    there.mkdir(parents=True)
    for part in [*(root / "topicx").iterdir(), root / "cli", root / "datasets"]:
        (there / part.name).symlink_to(part)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "program.py"], text=True,
        cwd=tmp_path, env=os.environ | {"MYPYPATH": str(there.parent)}, capture_output=True, check=False,
    )  # fmt: skip
    revealed = re.findall(r'Revealed type is "(.*)"', done.stdout)
    assert len(revealed) == 6 and not any(kind == "Any" for kind in revealed), done.stdout
    wrong = [number for number, line in enumerate(PROGRAM.splitlines(), 1) if "# wrong" in line]
    errors = {int(number) for number in re.findall(r"^program.py:(\d+): error", done.stdout, re.M)}
    assert errors == set(wrong), done.stdout


def test_labels_of_texts_are_predicted() -> None:
    corpus = embedded()
    texts = [text.text for text in embedded_texts()][:4]
    tags = topicx.LabeledLDA("labeled", iterations=10, threads=1).fit(corpus)
    assert len(tags.predict(texts, top=1)) == 4 and tags.scores(texts).shape[0] == 4
    assert tags.predict(texts, top=1) == tags.predict(corpus[:4], top=1)
