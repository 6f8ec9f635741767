"""topicx bench: samplers and other libraries side by side on your own corpus."""

from __future__ import annotations

import json
from pathlib import Path

import click

from topicx.cli.common import (
    Number,
    above_zero,
    check_outputs,
    json_output,
    option,
    print_json,
    print_note,
    quiet,
    seed,
)


@click.command()
@click.argument("corpus", metavar="CORPUS")
@option(
    "--samplers",
    default="auto",
    metavar="NAME,…",
    help="Samplers to run, as in 'topicx train --sampler'. Options of train follow after colons: "
    "sparse:start=random:partitions=1.",
)
@option(
    "--peers",
    default="tomotopy,lda,gensim,sklearn",
    metavar="NAME,…",
    help="Other libraries to run, where they are installed (pip install 'topicx[peers]'); none: no other.",
)
@option("--topics", "-k", type=click.IntRange(1, 65535), default=100, help="Number of topics.")
@option("--iterations", type=click.IntRange(1), default=200, help="Sweeps over the corpus.")
@option("--held-out", type=Number(above=0), default=0.1, help="Share of the documents kept for measuring perplexity.")
@option("--alpha", type=above_zero(), default=0.1, help="α of each topic.")
@option("--beta", type=above_zero(), default=0.01, help="β of each word.")
@option("--threads", type=click.IntRange(1), default=1, help="Threads for each program (lda has one only).")
@option("--limit", type=above_zero(), default=300.0, help="Seconds of training after which a program is stopped.")
@option(
    "--clock",
    type=click.Choice(["wall", "cpu"]),
    default="wall",
    help="What seconds are: wall time, or processor time (on a machine with other work; one thread only).",
)
@option(
    "--reference",
    default="",
    metavar="NAME",
    show_default="tomotopy, or else the first program",
    help="The program with whose last perplexity the others are compared.",
)
@seed
@json_output
@option("--plot", "plot_file", default=None, metavar="FILE", help="Draw quality against seconds (png, svg or pdf).")
@option("--output", "-o", default=None, metavar="DIR", help="Folder for bench.txt, bench.json and bench.png.")
@quiet
def command(
    corpus: str, samplers: str, peers: str, topics: int, iterations: int, held_out: float, alpha: float, beta: float,
    threads: int, limit: float, clock: str, reference: str, seed: int, as_json: bool, plot_file: str | None,
    output: str | None, quiet: bool,
) -> None:  # fmt: skip
    """Run samplers and other topic-model libraries one after another on CORPUS and compare them.

    All train on the same documents, with the same α, β, sweeps and threads, each in a process of its own. A part of
    the documents is held out; perplexity is that of the held-out documents, computed by one function from every
    program's topics. Seconds are of training alone. The last columns tell how soon each program has the perplexity
    (and likelihood) that the reference has at its end.

    \b
    Example:
      topicx bench texts.corpus -k 50 --samplers auto,dense,light -o comparison
    """
    from topicx.bench import bench_runs, comparison, comparison_views
    from topicx.bench.peer_programs import PEERS
    from topicx.corpus.corpus import Corpus
    from topicx.errors import InputError, TopicxError
    from topicx.files.container import atomic_output
    from topicx.views import picture_files

    others = [{"scikit-learn": "sklearn"}.get(name, name) for name in split_names(peers) if name != "none"]
    for name in others:
        if name not in PEERS:
            raise InputError(f"--peers: {name!r} is not one of {', '.join(PEERS)}")
    own = split_names(samplers)
    for name in own:
        if bench_runs.parse_program(name)[0] in PEERS:
            raise InputError(f"--samplers: {name!r} is another library: name it in --peers")
    if held_out >= 1:
        raise InputError(f"--held-out {held_out:g}: must be less than 1")
    if plot_file:
        picture_files.check_plot(plot_file)
    if output and Path(output).exists() and not Path(output).is_dir():
        raise InputError(f"--output {output}: is a file, not a folder")
    check_outputs([plot_file], [corpus])
    settings = comparison.Settings(
        topics=topics, iterations=iterations, held_out=held_out, alpha=alpha, beta=beta, threads=threads, seed=seed,
        limit=limit, clock=clock,
    )  # fmt: skip
    loaded = Corpus.load(corpus)
    result = bench_runs.compare_programs(
        loaded, [*own, *others], settings, reference={"scikit-learn": "sklearn"}.get(reference, reference),
        about={"file": Path(corpus).name, "digest": loaded.digest}, say=lambda text: print_note(text, quiet=quiet),
    )  # fmt: skip
    if not any(run.rows for run in result.runs):
        raise TopicxError(f"no program ran: {result.runs[0].problem}")
    text = comparison_views.comparison_table(result)
    if as_json:
        print_json(result.to_json())
    else:
        click.echo(text)
    if plot_file:
        picture_files.write_picture(comparison_views.draw_comparison(result), plot_file, dpi=150)
    if output:
        folder = Path(output)
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in (("bench.txt", text), ("bench.json", json.dumps(result.to_json(), indent=1))):
            with atomic_output(folder / name, binary=False) as out:
                out.write(content + "\n")
        if picture_files.can_plot():
            picture_files.write_picture(comparison_views.draw_comparison(result), folder / "bench.png", dpi=150)
        else:
            print_note("bench.png is not written: plots need matplotlib (pip install 'topicx[plot]')", quiet=quiet)


def split_names(text: str) -> list[str]:
    """A list of names with commas between."""
    return [name.strip() for name in text.split(",") if name.strip()]
