"""Every sampler × every declared option: another value changes the plan or the result, or is refused."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

from tests.conftest import lda_corpus, run_topicx
from tests.places import ROOT
from topicx import model_registry as models
from topicx.cli import COMMANDS, spell_options
from topicx.declare import declared_options
from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.run import Run
from topicx.sampling import sampler_registry
from topicx.sampling.run_options import Options

BASE: dict[str, Any] = {"topics": 5, "iterations": 24, "seed": 4}
# For each option: another value, and what must be set beside it for it to mean anything.
OTHERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "topics": (6, {}),
    "iterations": (25, {}),
    "start": ("progressive", {}),
    "alpha": (0.3, {}),
    "alpha_sum": (2.0, {}),
    "beta": (0.2, {}),
    "optimize_interval": (2, {"optimize_burn_in": 1}),
    "optimize_burn_in": (3, {"optimize_interval": 2}),
    "optimize": ("beta", {"optimize_interval": 2, "optimize_burn_in": 1}),
    "mh_steps": (3, {}),
    "sparse_phi": (True, {}),
    "batch_documents": (32, {}),
    "document_passes": (3, {}),
    "rate_scale": (0.5, {"batch_documents": 32}),
    "rate_delay": (8.0, {"batch_documents": 32}),
    "rate_power": (0.9, {"batch_documents": 32}),
    "icm": (3, {}),
    "partitions": (3, {}),
    "paths": (2, {}),
    "samples": (3, {}),
    "lag": (3, {"samples": 2}),
    "trace_interval": (2, {}),
    "seed": (5, {}),
    "chain": (1, {}),
}


@cache
def outcome(sampler: str, settings: tuple[tuple[str, Any], ...]) -> str:
    """A digest of the state, the model and the trace that these options lead to; or the refusal."""
    try:
        options = Options(**BASE | {"sampler": sampler} | dict(settings))
        result = (
            Run.start(lda_corpus(60, 20, 40), options, Threads(1))
            .train()
            .result(phi="cgs" if takes_phi(sampler) else "auto")
        )
    except InputError as error:
        return f"refused: {error}"
    told = hashlib.sha256()
    model, state = result.model, result.state
    for array in (state.z, state.alpha, state.beta, model.values, model.indptr, model.alpha, *model.trace.values()):
        told.update(np.ascontiguousarray(array).tobytes())
    return told.hexdigest()


def takes_phi(sampler: str) -> bool:
    return sampler_registry.SAMPLES in sampler_registry.find_sampler(sampler).capabilities


def test_every_declared_option_is_here() -> None:
    assert set(OTHERS) == set(declared_options(Options)) - {"sampler"}


@pytest.mark.parametrize("option", OTHERS)
@pytest.mark.parametrize("sampler", sampler_registry.ENTRIES)
def test_no_option_is_ignored(sampler: str, option: str) -> None:
    value, beside = OTHERS[option]
    if outcome(sampler, tuple(beside.items())).startswith("refused"):
        beside = {}  # what it goes with is for other samplers, too
    plain = outcome(sampler, tuple(beside.items()))
    other = outcome(sampler, tuple((beside | {option: value}).items()))
    assert not plain.startswith("refused")
    if not other.startswith("refused"):
        assert other != plain, f"{sampler} does not know {option}"
        return
    declared = declared_options(Options)[option][0]
    able = (
        sampler in declared.samplers
        if declared.samplers
        else declared.capability in sampler_registry.find_sampler(sampler).capabilities
    )
    assert not able, other
    assert spell_options(other.removeprefix("refused: ")).startswith("--" + option.replace("_", "-"))


@pytest.mark.parametrize("option", ["phi"])
def test_estimators_that_a_method_lacks_are_refused(option: str) -> None:
    for sampler in sampler_registry.ENTRIES:
        run = Run.start(lda_corpus(20, 10, 20), Options(**BASE | {"sampler": sampler}), Threads(1))
        if takes_phi(sampler):
            run.check_phi("cgsp")
        else:
            with pytest.raises(InputError, match=f"{option} cgsp"):
                run.check_phi("cgsp")


def test_options_of_models_are_declared_with_help() -> None:
    for name in models.model_names():
        definition = models.find_definition(name)
        assert definition.summary
        for option, (declared, _) in declared_options(definition.Own).items():
            assert declared.help, f"{name}: {option} has no help"
            assert option not in declared_options(Options), f"{name}: {option} stands for something else"


# -- the command line ------------------------------------------------------------------------------------------------

EVALUATE = "evaluate news.model texts.test.corpus --json"
CALLS = {
    "train --model": ("train texts.corpus -k 4 --iterations 2 -o out -q", "--model lda --seed 3"),
    "hmm train --start-prior": ("hmm train texts.corpus -k 2 --iterations 5 -o out -q", "--start-prior 50"),
    "train --rate-delay": ("train texts.corpus -k 4 --sampler scvb0 --iterations 2 -o out -q", "--rate-delay 50"),
    "train --rate-scale": ("train texts.corpus -k 4 --sampler scvb0 --iterations 2 -o out -q", "--rate-scale 0.3"),
    "import --bigram-npmi": ("import texts.tsv --bigrams --bigram-min-count 3 -o out -q", "--bigram-npmi 0.9"),
    "import --min-doc-freq": ("import texts.tsv -o out -q", "--min-doc-freq 3"),
    "prune --min-doc-freq": ("prune texts.corpus -o out -q", "--min-doc-freq 3"),
    "infer --burn-in": ("infer news.model texts.test.corpus -o out -q", "--burn-in 3"),
    "evaluate --burn-in": (EVALUATE, "--burn-in 3"),
    "evaluate --form": (f"{EVALUATE} -m left-to-right", "--form wallach"),
    "evaluate --measure": (f"{EVALUATE} -m coherence", "--measure npmi"),
    "evaluate --window": (f"{EVALUATE} -m coherence", "--window 5"),
    "evaluate --convention": (f"{EVALUATE} -m coherence", "--convention gensim"),
    "estimate --doc-topics-threshold": ("estimate news.state -o m --doc-topics out -q", "--doc-topics-threshold 0.3"),
    "export --doc-topics-threshold": (
        "export news.state --format mallet-doc-topics -o out -q", "--doc-topics-threshold 0.3"
    ),
    "export --doc-topics-max": (
        "export news.state --format mallet-doc-topics --doc-topics-threshold 0.001 -o out -q", "--doc-topics-max 1"
    ),
    "export --documents": ("export news.state --format mallet-topic-docs -o out -q", "--documents 2"),
    "topics --probabilities": ("topics news.model", "--probabilities"),
    "datasets --collections": ("datasets make compound-drawn --documents 9 -o out -q", "--collections 3"),
    "datasets --exponent": ("datasets make zipf --documents 9 -o out -q", "--exponent 1.5"),
    "datasets --transition": ("datasets make hmm --tokens 500 -o out -q", "--transition 0.1"),
}  # fmt: skip
"""A call, and an option that must change what it writes."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    for line in (
        "datasets texts -o texts.tsv -q",
        "import texts.tsv -o texts.corpus --remove-stopwords -q",
        "split texts.corpus -o texts --fractions 0.9,0.1 --names train,test -q",
        "train texts.train.corpus -k 4 --iterations 5 -o news.model --state news.state -q",
    ):
        assert run_topicx(*line.split(), cwd=folder).returncode == 0
    return folder


@pytest.mark.parametrize("name", CALLS)
def test_an_option_of_the_command_line_changes_what_is_written(name: str, made: Path) -> None:
    call, option = CALLS[name]
    found = []
    for line in (call, f"{call} {option}"):
        (made / "out").unlink(missing_ok=True)
        done = run_topicx(*line.split(), cwd=made)
        assert done.returncode == 0, done.stderr
        written = (made / "out").read_bytes() if (made / "out").exists() else b""
        found.append((done.stdout, written.partition(b"}}")[2] or written))
    assert found[0] != found[1]


def test_a_benchmark_ends_at_its_limit(made: Path) -> None:
    call = "bench texts.corpus -k 4 --iterations 1000000 --peers none --limit 0.2 -q"
    assert run_topicx(*call.split(), cwd=made).returncode == 0


def test_every_option_isspelt_by_a_test() -> None:
    """Here or in another file: what no test has typed has never run."""
    here = ROOT / "tests"
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(here.rglob("test_*.py")))
    missing = []
    for name, (module, _) in COMMANDS.items():
        command = import_module(f"topicx.cli.{module}").command
        for each in [command, *getattr(command, "commands", {}).values()]:
            for option in each.params:
                spelt = any(re.search(re.escape(one) + r"(?![\w-])", text) for one in option.opts)
                if isinstance(option, click.Option) and not spelt:
                    missing.append(f"{name} {option.opts[0]}")
    assert not missing, ", ".join(missing)
