"""What the cases of a campaign begin with: small files of every kind and of other programs, and the commands that open
each. A command may go on to others (`&&`) that use what it has written, as long as it is accepted."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np

GIBBS = ("sparse", "dense", "light", "alias", "tree", "partial", "warp")
SAMPLERS = (*GIBBS, "cvb0", "cvb", "vb", "scvb0")
QUICK = "-q --threads 1"
FEW = "--burn-in 1 --samples 1"
USED = f"topics o --json && infer o good.corpus -o o2 {FEW} {QUICK} && evaluate o good.corpus {QUICK} {FEW}"
"""What is done with a model that was made of something accepted."""
TEXTS = ("lines", "jsonl", "uci", "ldac", "svmlight")

MODELS: dict[str, dict[str, Any]] = {
    "labeled": {"model": "labeled", "sampler": "labeled", "own": {"background": 1}},
    "labeled-cvb0": {"model": "labeled", "sampler": "labeled-cvb0", "own": {"topics_per_label": 2}},
    "prior": {"model": "prior", "sampler": "labeled"},
    "dependency": {"model": "dependency", "sampler": "labeled", "own": {"label_topics": 2, "label_sweeps": 5}},
    "medlda": {"model": "medlda", "sampler": "light", "topics": 3},
    "medlda-dense": {"model": "medlda", "sampler": "dense", "topics": 3, "own": {"family": "slda"}},
    "regression": {"model": "medlda", "sampler": "light", "topics": 3, "own": {"target": "score"}},
    "compound": {"model": "compound", "sampler": "sparse", "topics": 3, "own": {"pi_burn_in": 2}},
    "langevin": {"model": "compound", "sampler": "dense", "topics": 3, "own": {"pi": "mgs", "pi_burn_in": 2}},
    "vem": {"model": "compound", "sampler": "vem", "topics": 3, "own": {"pi": "vem"}},
    "hdp": {"model": "hdp", "sampler": "sparse", "topics": 3},
    "paths": {"sampler": "sparse", "topics": 3, "paths": 2},
    "soft": {"sampler": "sparse", "topics": 3, "start": "soft"},
    "growing": {"sampler": "alias", "topics": 3, "start": "growing"},
}
"""Runs that leave a model, a state and a checkpoint each, beside those of the plain samplers."""

CORPUS = [
    *(f"train {{f}} -k 3 --iterations 2 --sampler {sampler} -o o {QUICK} && {USED}" for sampler in SAMPLERS),
    *(f"train {{f}} --model {more} --iterations 2 -o o {QUICK} && {USED}"
      for more in ("labeled", "dependency --label-topics 2 --label-sweeps 3", "medlda -k 3", "compound -k 3",
                   "medlda --target score -k 3", "hdp -k 3", "compound -k 3 --spans 2", "lda -k 3 --paths 2")),
    f"train {{f}} -k 3 --iterations 2 --sampler scvb0 --stream -o o {QUICK} && {USED}",
    f"infer good.model {{f}} -o o {FEW} {QUICK}",
    f"infer labeled.model {{f}} -o o {FEW} {QUICK}", f"infer compound.model {{f}} -o o {FEW} {QUICK}",
    *(f"export {{f}} --format {format} -o o -q && import o --format {format} -o o2 -q" for format in TEXTS),
    *(f"evaluate good.model {{f}} -m {method} {QUICK} --samples 2 --burn-in 1"
      for method in ("completion", "chib", "likelihood")),
    f"evaluate good.model {{f}} -m left-to-right --particles 2 {QUICK}",
    f"evaluate good.model {{f}} -m coherence {QUICK}", f"evaluate labeled.model {{f}} -m labels {QUICK} {FEW}",
    f"evaluate medlda.model {{f}} -m prediction {QUICK} {FEW}",
    f"evaluate good.model {{f}} -m diagnostics --samples 2 --burn-in 1 {QUICK}",
    f"prune {{f}} --min-count 2 --drop-empty -o o -q && train o -k 2 --iterations 2 -o o2 {QUICK}",
    f"split {{f}} -o o -q && train o.train.corpus -k 2 --iterations 2 -o o2 {QUICK}",
    "info {f}", "info {f} --json --arrays", "import text.txt --format lines --like {f} -o o -q",
    f"hmm train {{f}} -k 2 --iterations 2 -o o {QUICK} && hmm decode o good.corpus -o o2 {QUICK}",
    f"hmm evaluate some.hmm {{f}} {QUICK}", f"hmm decode some.hmm {{f}} -m posterior --tokens -o o {QUICK}",
    f"train {{f}} -k 3 --iterations 2 --start soft -o o {QUICK} && {USED}",
    f"train {{f}} -k 3 --iterations 2 --start growing -o o {QUICK} && {USED}",
    f"train {{f}} --model medlda --target place -k 2 --strategy one-vs-all --iterations 2 -o o {QUICK} && {USED}",
    f"search {{f}} -k 2,3 --chains 2 --iterations 1 {QUICK}",
    "topics good.model --by label --corpus {f} --threads 1", "evaluate good.model good.state -m time --times {f}",
    "topics good.model --by time --corpus {f} --table o --threads 1", f"evaluate good.model {{f}} -m time {QUICK}",
    f"infer medlda.model {{f}} -o o {FEW} {QUICK}", f"estimate plain.state --corpus {{f}} -o o {QUICK} && {USED}",
    f"split {{f}} --halves 0.5 -o o -q && train o.first.corpus -k 2 --iterations 2 -o o2 {QUICK}",
    "mallet info --input {f} --print-feature-counts TRUE --print-infogain 2",
    "mallet split --input {f} --training-file o --testing-file o2 --training-portion 0.5 --random-seed 1",
    "mallet prune --input {f} --output o --prune-count 2",
    "mallet train-topics --input {f} --num-topics 2 --num-iterations 2 --random-seed 1 --output-doc-topics o",
    "mallet import-file --input text.txt --use-pipe-from {f} --output o",
]  # fmt: skip
MODEL = [
    "topics {f} -d 3 -p", "topics {f} --json", "topics {f} --compare good.model", "info {f}",
    "topics {f} --weights", "topics {f} --by collection", "topics {f} --label-topics",
    "topics {f} --by label --corpus good.corpus --json", "topics {f} --by time --corpus good.corpus --table o",
    f"topics {{f}} --merge 0,1 --name 0=a --hide 2 -o o && {USED}", f"topics {{f}} --name 1= -o o && {USED}",
    f"evaluate {{f}} good.corpus -m time {QUICK} --samples 2 --burn-in 1",
    f"infer {{f}} good.corpus -o o {FEW} {QUICK}", f"infer {{f}} good.corpus -o o.npz --theta cvb0 {QUICK}",
    f"infer {{f}} text.txt --input-format lines -o o --state o2 {FEW} {QUICK} && estimate o2 -o o.model {QUICK}",
    *(f"export {{f}} --format {format} -o o -q" for format in
      ("mallet-topic-keys", "mallet-topic-word-weights", "mallet-word-topic-counts", "mallet-topic-report")),
    "export {f} --state good.state --format mallet-diagnostics -o o -q",
    "export {f} --state good.state --format pyldavis -o o -q",
    *(f"evaluate {{f}} good.corpus -m {method} {QUICK} --samples 2 --burn-in 1"
      for method in ("completion", "chib", "labels", "prediction", "clusters --clusters 2")),
    f"evaluate {{f}} good.corpus -m left-to-right --particles 2 {QUICK}",
    f"evaluate {{f}} good.corpus -m coherence {QUICK}",
    "import text.txt --format lines --like {f} -o o -q",
    "mallet infer-topics --inferencer {f} --input some.mallet --output-doc-topics o --num-iterations 3",
    "mallet evaluate-topics --evaluator {f} --input some.mallet --output-prob o",
]  # fmt: skip
STATE = [
    f"estimate {{f}} -o o --doc-topics o2 {QUICK} && {USED}", f"estimate {{f}} -o o --estimator cgs {QUICK} && {USED}",
    f"estimate {{f}} good.state --align -o o {QUICK}", "info {f}",
    *(f"export {{f}} --format {format} -o o {QUICK}"
      for format in ("mallet-state", "mallet-doc-topics", "warplda", "pyldavis", "mallet-topic-keys",
                     "mallet-topic-docs", "mallet-topic-phrase-report", "mallet-state --path 1")),
    *(f"train --init-state {{f}} --iterations 2 --sampler {sampler} -o o {QUICK} && {USED}" for sampler in SAMPLERS),
    f"evaluate good.model {{f}} -m likelihood {QUICK}", f"evaluate good.model {{f}} -m diagnostics {QUICK}",
    f"evaluate good.model {{f}} -m predictive --rest good.corpus {QUICK}", "evaluate good.model {f} -m agreement",
    "topics compound.model --by collection --contrast {f}", "topics good.model --by label --state {f}",
    f"topics {{f}} --merge 0,2 -o o && estimate o -o o2 {QUICK}", "evaluate good.model {f} -m time",
    f"prune {{f}} --min-count 2 -o o -q && estimate o -o o2 {QUICK}",
    f"evaluate good.model {{f}} -m clusters --clusters 2 {QUICK}",
    "mallet train-topics --input-model {f} --num-iterations 2 --random-seed 1 --output-state o",
]  # fmt: skip
CHECKPOINT = [
    *[f"train --resume {{f}} -o o --state o3 {QUICK} && {USED} && estimate o3 -o o.model {QUICK}"] * 4,
    f"train --resume {{f}} --iterations 9 -o o {QUICK} && topics o",
    "info {f}",
]
HMM = [
    f"hmm decode {{f}} good.corpus -o o {QUICK}", f"hmm decode {{f}} good.corpus -m posterior --tokens -o o {QUICK}",
    f"hmm evaluate {{f}} good.corpus {QUICK} --json", "info {f} --arrays",
]  # fmt: skip
HMM_CHECKPOINT = [
    f"hmm train --resume {{f}} -o o {QUICK} && hmm decode o good.corpus -o o2 {QUICK}",
    f"hmm train --resume {{f}} --iterations 6 -o o --trace o2 {QUICK} && hmm evaluate o good.corpus {QUICK}",
    "info {f}",
]
COMMANDS = {
    "corpus": CORPUS, "model": MODEL, "state": STATE, "checkpoint": CHECKPOINT, "hmm": HMM,
    "hmm-checkpoint": HMM_CHECKPOINT,
}  # fmt: skip

_ESTIMATE = f"estimate {{f}} -o o {QUICK} && {USED}"
FOREIGN: dict[str, list[str]] = {
    "mallet.txt": [_ESTIMATE, f"train --init-state {{f}} --iterations 2 -o o {QUICK}",
                   "mallet train-topics --input some.mallet --input-state {f} --num-topics 2 --num-iterations 2"],
    "mallet.gz": [_ESTIMATE],
    "warp.z.estimate": [f"estimate {{f}} --input-format warplda -o o {QUICK} && {USED}"],
    "warp.model": [f"estimate warp.z.estimate -o o {QUICK} && {USED}"],
    "warp.vocab": [f"estimate warp.z.estimate -o o {QUICK}"],
    "gibbs.tassign": [_ESTIMATE], "gibbs.others": [f"estimate gibbs.tassign -o o {QUICK} && {USED}"],
    "wordmap.txt": [f"estimate gibbs.tassign -o o {QUICK}"],
    "light/block.0": [f"estimate light/block.0 -o o {QUICK} && {USED}", f"estimate light -o o {QUICK}"],
    "light/dict.txt": [f"estimate light/block.0 -o o {QUICK}"],
    "light/server_0_table_0.model": [f"estimate light -o o {QUICK}",
                                     f"estimate light/server_0_table_0.model -o o {QUICK}"],
    "light/server_0_table_1.model": [f"estimate light -o o {QUICK}",
                                     f"estimate light/server_0_table_0.model -o o {QUICK}"],
    "light/doc_topic.0": [f"estimate light/doc_topic.0 -o o {QUICK}"],
    **{f"docs.{format}": [f"import {{f}} --format {format} -o o -q && train o -k 2 --iterations 2 -o o2 {QUICK}",
                          f"infer good.model {{f}} --input-format {format} -o o {FEW} {QUICK}",
                          f"import {{f}} --format {format} --bad-documents repair -o o -q"] for format in TEXTS},
    "docs.json": ["import {f} --format jsonl --label-field topic --collection-field place --time-field year "
                  "--column score --column note -o o -q && export o --format jsonl -o o2 -q",
                  "import {f} -o o -q --bad-documents skip"],
    "docs.arff": ["import {f} -o o -q && export o --format lines -o o2 -q",
                  f"infer good.model {{f}} -o o {FEW} {QUICK}"],
    "docs.parquet": ["import {f} -o o -q"],
    "docs.text.gz": ["import {f} --format text -o o -q"],
    "text.csv": ["import {f} --format csv -o o -q", "import {f} -o o -q --chunk 2 --bad-documents skip"],
    "text.txt": ["import {f} --format lines -o o -q", f"infer good.model {{f}} --input-format text -o o {FEW} {QUICK}",
                 "mallet import-file --input {f} --output o --keep-sequence TRUE && mallet info --input o"],
    "seeds.txt": [f"train good.corpus -k 3 --iterations 2 --seed-words {{f}} -o o {QUICK} && topics o"],
    "prior.txt": [f"train good.corpus -k 3 --iterations 2 --word-prior {{f}} -o o {QUICK} && topics o"],
    "alpha.txt": [f"train good.corpus -k 3 --iterations 2 --alpha {{f}} -o o {QUICK} && topics o"],
    "docs.svmlight.labels": ["import docs.svmlight -o o -q"],
    "docs.uci.vocab": ["import docs.uci --format uci -o o -q"],
    "stop.txt": ["import docs.json --format jsonl --stoplist-file {f} -o o -q",
                 "prune good.corpus --stoplist-file {f} -o o -q",
                 "mallet import-file --input text.txt --stoplist-file {f} --remove-stopwords TRUE --output o"],
    "words.txt": [f"prune good.corpus --words {{f}} -o o -q && train o -k 2 --iterations 2 -o o2 {QUICK}",
                  "prune good.corpus --extra-stopwords {f} -o o -q"],
    "ids.txt": ["split good.corpus --ids {f} -o o -q"],
    "names.txt": ["import docs.svmlight --format svmlight --label-names {f} -o o -q"],
    "cells.jsonl": [f"search good.corpus -k 2,3 --chains 2 --iterations 1 --cells {{f}} {QUICK}"] * 2,
    "pipe.txt": ["mallet import-file --input text.txt --replacement-files {f} --output o",
                 "mallet import-file --input text.txt --deletion-files {f} --output o"],
    "patterns.txt": ["mallet import-file --input text.txt --stop-pattern-file {f} --output o"],
    "bulk.txt": ["mallet bulk-load --input {f} --output o --keep-sequence TRUE && mallet info --input o"],
    "vectors.txt": ["mallet import-svmlight --input {f} --output o && mallet info --input o"],
    "options.txt": ["mallet train-topics --config {f} --input some.mallet --num-iterations 2"],
}  # fmt: skip
PLACED = {"warp.model", "warp.vocab", "gibbs.others", "wordmap.txt", "docs.svmlight.labels", "docs.uci.vocab"}
"""What is read under its own name, beside other files; as all of LightLDA's folder is."""
OPTIONAL = {"docs.parquet"}


def run(line: str) -> None:
    """A line of the command line, in this process."""
    from topicx.cli import cli

    for part in line.split(" && "):
        cli.main(shlex.split(part), prog_name="topicx", standalone_mode=False)


def prepare() -> None:
    """Small files of every kind, in the present folder."""
    _texts()
    fields = "--label-field topic --collection-field place --time-field year --column score --column note"
    run(f"import docs.json --format jsonl {fields} -o good.corpus -q")
    run("datasets make bars --documents 8 --tokens 6 --seed 2 -o truth.corpus -q")
    train = f"train good.corpus -k 3 --iterations 6 --seed 3 {QUICK}"
    run(f"{train} -o good.model --state good.state --seed-words seeds.txt --seed-weight 2")
    run(f"{train} -o cgs.model --state plain.state --estimator cgs --sampler light")
    run(f"estimate good.state -o kept.model --phi-entries 20 {QUICK}")
    _rich_state()
    _runs()
    for sampler in ("collapsed", "partial", "baum-welch"):
        paths = "" if sampler == "baum-welch" else "--paths 2"
        train = f"hmm train good.corpus -k 2 --restarts 2 --sampler {sampler} {paths} --iterations 4 {QUICK}"
        run(f"{train} -o {sampler}.hmm --checkpoint-interval 3 --checkpoint {sampler}.hmm-checkpoint")
    shutil.copy("collapsed.hmm", "some.hmm")
    run("mallet import-file --input text.txt --output some.mallet --keep-sequence TRUE")
    fields = "--column place --column note --chunk 4 --bigrams --bigram-min-count 2 --stem en"
    run(f"import docs.json --format jsonl {fields} -o rich.corpus -q")
    run("topics good.model --merge 0,1 --name 2=x --hide 2 -o merged.model")
    run("topics good.state --merge 0,1 -o merged.state")
    train = f"train rich.corpus --model medlda --target place -k 2 --iterations 4 {QUICK}"
    run(f"{train} --strategy one-vs-all -o one.model")
    run(f"{train} --chains 2 --keep average -o average.model")
    run(f"search good.corpus -k 2,3 --chains 2 --iterations 1 --cells cells.jsonl {QUICK}")
    outputs = "--output-model mallet.state --inferencer-filename mallet.model"
    run(f"mallet train-topics --input some.mallet --num-topics 2 --num-iterations 3 --random-seed 1 {outputs}")
    _foreign()


def _texts() -> None:
    rng = random.Random(3)
    pools = ["moon", "star", "orbit", "comet", "planet"], ["bread", "flour", "oven", "yeast", "dough"]
    rows = []
    for i in range(24):
        text = " ".join(rng.choice([*pools[i % 2], "day"]) for _ in range(8)) if i != 5 else ""
        more = {"topic": "sky" if i % 2 else "oven", "place": f"p{i % 3}", "year": 1990 + i}
        rows.append({"id": f"d{i}", "text": text} | more | {"score": i / 2, "note": f"né {i}"})
    Path("docs.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("text.txt").write_text("one\t-\tmoon bread day\ntwo\tsky\tstar star comet\n")
    Path("text.csv").write_text('id,text,label\na,moon bread,x\nb,"star, day",y\n')
    Path("docs.text.gz").write_bytes(gzip.compress(b"moon star\nbread oven\n", mtime=0))
    Path("seeds.txt").write_text("0 moon\n1 bread\n")
    Path("prior.txt").write_text("moon 0.5\nbread 0.001\n")
    Path("alpha.txt").write_text("0.1\n0.5\n0.2\n")
    Path("options.txt").write_text("num-topics = 2\nnum-iterations = 3\noutput-doc-topics = o\n")
    Path("stop.txt").write_text("moon\n# note\nbread day\n\n")
    Path("words.txt").write_text("moon\nstar\nbread\nday\n")
    Path("ids.txt").write_text("d1\tone\nd2\ttwo\nd3\tone\n")
    Path("names.txt").write_text("sky\noven\nother\n")
    Path("pipe.txt").write_text("moon bread = loaf\nday\n")
    Path("patterns.txt").write_text("mo+n\n[a-c].*\n")
    Path("bulk.txt").write_text("one\t-\tmoon bread day\ntwo\tsky\tstar star comet\n")
    Path("vectors.txt").write_text("sky moon:1 star:2\noven bread:1.5\n")
    Path("docs.arff").write_text(
        "@relation 'r: -C 1'\n@attribute l {0,1}\n@attribute moon numeric\n@attribute bread {0,1}\n@data\n"
        "1,2,0\n{1 3}\n"
    )


def _rich_state() -> None:
    """A state with all that a state may have."""
    from topicx.state import State
    from topicx.strings import Strings

    state = State.load("good.state")
    n = state.n_documents
    state.alpha, state.groups = np.vstack([state.alpha] * 2), (np.arange(n) % 2).astype(np.uint32)
    state.group_names, state.side = Strings.of(["a", "b"]), {"eta": np.ones(3)}
    state.allowed = np.arange(n + 1, dtype=np.int64) * 3, np.tile(np.arange(3, dtype=np.uint16), n)
    state.save("rich.state")


def _runs() -> None:
    """A checkpoint of every sampler and every model, interrupted; model and state of every model."""
    from topicx.corpus.corpus import Corpus
    from topicx.engines.threads import Threads
    from topicx.run import Run
    from topicx.sampling.run_options import Options
    from topicx.sampling.sweep_loop import Checkpoints, Interrupted

    corpus = Corpus.load("good.corpus")
    runs: dict[str, dict[str, Any]] = {name: {"sampler": name, "topics": 3} for name in SAMPLERS} | MODELS
    for name, given in runs.items():
        more: dict[str, Any] = {"samples": 2, "lag": 2} if name in GIBBS else {}
        usual: dict[str, Any] = {"iterations": 8, "seed": 3, "optimize_interval": 2, "optimize_burn_in": 1}
        options = Options(**usual | more | given)
        with Threads(1) as engine:
            if name in MODELS:
                result = Run.start(corpus, options, engine).train().result(examples=2)
                result.model.save(f"{name}.model")
                result.state.save(f"{name}.state")
            asked = iter(range(100))
            one = Run.start(corpus, options, engine)
            one.chain.notes = {"theta": "cgsp", "phi": "auto", "series": {"chains": 1, "keep": "best", "scores": []}}
            with contextlib.suppress(Interrupted):
                one.train((), Checkpoints(f"{name}.checkpoint"), lambda asked=asked: next(asked) == 6)


def _foreign() -> None:
    """The same state and corpus as other programs write them."""
    from topicx.state import State

    run("export plain.state --format mallet-state -o mallet.txt -q")
    Path("mallet.gz").write_bytes(gzip.compress(Path("mallet.txt").read_bytes(), mtime=0))
    run("export plain.state --format warplda -o warp -q")
    for format in TEXTS:
        run(f"export good.corpus --format {format} -o docs.{format} -q")
    with contextlib.suppress(Exception):
        run("export good.corpus --format parquet -o docs.parquet -q")
    state = State.load("plain.state")
    words, k = list(state.vocabulary), state.n_topics
    rows = [list(zip(state.words[a:b].tolist(), state.z[a:b].tolist(), strict=True))
            for a, b in zip(state.offsets[:-1].tolist(), state.offsets[1:].tolist(), strict=True)]  # fmt: skip
    Path("gibbs.tassign").write_text("".join(" ".join(f"{w}:{t}" for w, t in row) + "\n" for row in rows))
    Path("gibbs.others").write_text(
        f"alpha=0.1\nbeta=0.01\nntopics={k}\nndocs={len(rows)}\nnwords={len(words)}\nliter=9\n"
    )
    Path("wordmap.txt").write_text(f"{len(words)}\n" + "".join(f"{w} {i}\n" for i, w in enumerate(words)))
    light = Path("light")
    light.mkdir()
    values, offsets = [], [0]
    for row in rows:
        values += [0, *(n for pair in row for n in pair)]
        offsets.append(len(values))
    head, body = np.array([len(rows), *offsets], "<i8"), np.array(values, "<i4")
    (light / "block.0").write_bytes(head.tobytes() + body.tobytes())
    counts = np.zeros((len(words), k), int)
    np.add.at(counts, (state.words, state.z), 1)
    (light / "dict.txt").write_text("".join(f"{i}\t{w}\t{counts[i].sum()}\n" for i, w in enumerate(words)))
    pairs = [" ".join(f"{t}:{n}" for t, n in enumerate(row) if n) for row in counts]
    (light / "server_0_table_0.model").write_text("".join(f"{w} {row}\n" for w, row in enumerate(pairs) if row))
    total = " ".join(f"{t}:{n}" for t, n in enumerate(counts.sum(axis=0)))
    (light / "server_0_table_1.model").write_text(f"0 {total}\n")
    found = [np.bincount([t for _, t in row], minlength=k) for row in rows]
    lines = (f"{d}  " + " ".join(f"{t}:{c}" for t, c in enumerate(n) if c) + "\n" for d, n in enumerate(found))
    (light / "doc_topic.0").write_text("".join(lines))
