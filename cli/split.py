"""topicx split"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicx.cli.common import Number, check_outputs, option, print_note, quiet, seed
from topicx.cli.declared import Grouped
from topicx.cli.reading import NAMES, is_corpus, read_corpus, reading_options

if TYPE_CHECKING:
    from topicx.corpus.corpus import Corpus


HEADINGS = {
    "Options": ("prefix", "fractions", "names", "stratify", "ids", "halves", "seed", "quiet"),
    "How texts are read (as in import)": NAMES,
}


@click.command("split", cls=Grouped, headings=HEADINGS)
@click.argument("inputs", nargs=-1, required=True, metavar="CORPUS...")
@option("--output", "-o", "prefix", required=True, metavar="PREFIX",
        help="Beginning of the files' names: part NAME is written to PREFIX.NAME.corpus.")  # fmt: skip
@option("--fractions", metavar="SHARES", show_default="0.9,0.1",
        help="The parts' shares of the documents, parted by commas; if they sum to less than 1, the rest is left "
             "out.")  # fmt: skip
@option("--names", metavar="NAMES", help="The parts' names, parted by commas.",
        show_default="train,test for two parts, train,valid,test for three, else part1,part2 …")  # fmt: skip
@option("--stratify", is_flag=True, show_default=False,
        help="Give each part the same share of every label (of every combination of labels).")  # fmt: skip
@option("--ids", multiple=True, metavar="FILE",
        help="Instead of shares: a file with the ids of a part's documents, one a line (the part has the file's "
             "name), or with lines 'id TAB part'. May be repeated.")  # fmt: skip
@option("--halves", type=Number(0, 1, above=0), default=None, metavar="SHARE",
         help="Instead of shares: the second halves of this share of the documents, drawn at random, are the part "
              "'rest', everything else is the part 'first' (for evaluate --method predictive).")  # fmt: skip
@reading_options("--input-format", "corpus")
@seed
@quiet
def command(
    inputs: tuple[str, ...], prefix: str, fractions: str | None, names: str | None, stratify: bool,
    ids: tuple[str, ...], halves: float | None, seed: int, quiet: bool, **reading_options: Any,
) -> None:  # fmt: skip
    """Split a corpus into parts (training and test, say).

    CORPUS is a corpus file, or text in any format that 'topicx import' reads, with its words as by default. The chunks
    of a text (import --chunk) stay together.

    The parts keep the vocabulary and the order of the documents. The same seed gives the same parts.

    \b
    Examples:
      topicx split texts.corpus -o texts                      texts.train.corpus, texts.test.corpus
      topicx split texts.corpus -o texts --fractions 0.8,0.1,0.1 --stratify
      topicx split texts.corpus -o texts --ids train.txt --ids test.txt
      topicx split texts.jsonl.gz -o texts --text-field body
    """
    from topicx.corpus.build.python_forms import recount_metadata
    from topicx.corpus.corpus import Corpus
    from topicx.corpus.corpus_split import check_fractions, parts_by_ids, random_parts
    from topicx.errors import InputError

    if ids and (fractions is not None or stratify or names is not None):
        raise click.UsageError("--ids cannot go with --fractions, --names or --stratify", click.get_current_context())
    if halves is not None and (ids or fractions is not None or stratify or names is not None):
        raise click.UsageError("--halves goes with no other way to split", click.get_current_context())
    shares = _parse_shares(fractions or "0.9,0.1")
    check_fractions(shares)
    titles = _parse_titles(names, len(shares))
    if reading_options["input_format"] == "corpus" or is_corpus(inputs):
        if len(inputs) > 1:
            raise InputError(f"{inputs[1]}: one corpus file can be split at a time")
        whole = Corpus.load(inputs[0])
    else:
        whole = read_corpus(inputs, reading_options, quiet)
    if halves is not None:
        _write_halves(whole, inputs, prefix, halves, seed, quiet)
        return
    missing: list[str] = []
    if ids:
        parts, missing = parts_by_ids(whole, ids)
        if not parts:
            raise InputError(f"--ids {ids[0]}: has no ids in it")
    else:
        parts = dict(zip(titles, random_parts(whole, shares, seed=seed, stratify=stratify)))
    if missing:
        print_note(f"{len(missing):,} ids are not in the corpus, the first is {missing[0]!r}", quiet=quiet)
    for title, documents in parts.items():
        if not len(documents):
            raise InputError(f"the part {title!r} would have no document of {whole.n_documents:,}")
    if prefix == "-":
        raise InputError("--output -: several files cannot go to standard output")
    check_outputs([f"{prefix}.{title}.corpus" for title in parts], [*inputs, *ids])
    how = {"ids": list(ids)} if ids else {"fractions": shares, "stratify": stratify, "seed": seed}
    for title, documents in parts.items():
        part = whole.select(documents)
        part.meta["split"] = how | {"part": title, "of_documents": whole.n_documents}
        part.meta["counts"] = dict(part.meta.get("counts", {})) | recount_metadata(part)
        target = f"{prefix}.{title}.corpus"
        part.save(target, {"corpus": whole.digest} if whole.digest else None)
        print_note(f"{target}: {part.n_documents:,} documents, {part.n_tokens:,} tokens", quiet=quiet)
    left = whole.n_documents - sum(map(len, parts.values()))
    if left:
        print_note(f"{left:,} documents are in no part", quiet=quiet)


def _write_halves(whole: Corpus, inputs: tuple[str, ...], prefix: str, share: float, seed: int, quiet: bool) -> None:
    """Two corpora of the same documents: what is trained on, and the held-out words."""
    import numpy as np

    from topicx.corpus.build.python_forms import recount_metadata
    from topicx.corpus.corpus_split import halve_documents, random_parts
    from topicx.errors import InputError

    if prefix == "-":
        raise InputError("--output -: several files cannot go to standard output")
    targets = [f"{prefix}.{title}.corpus" for title in ("first", "rest")]
    check_outputs(targets, inputs)
    chosen = np.zeros(whole.n_documents, bool)
    chosen[random_parts(whole, [share], seed=seed)[0]] = True
    for target, part in zip(targets, halve_documents(whole, chosen)):
        if not part.n_tokens:
            raise InputError(f"--halves {share:g}: no document has a second half")
        part.meta["split"] = {"halves": share, "seed": seed, "part": target.split(".")[-2]}
        part.meta["counts"] = dict(part.meta.get("counts", {})) | recount_metadata(part)
        part.save(target, {"corpus": whole.digest} if whole.digest else None)
        print_note(f"{target}: {part.n_documents:,} documents, {part.n_tokens:,} tokens", quiet=quiet)


def _parse_shares(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is not a list of numbers parted by commas", param_hint="--fractions"
        ) from None


def _parse_titles(text: str | None, n: int) -> list[str]:
    usual = {2: ["train", "test"], 3: ["train", "valid", "test"]}
    if text is None:
        return usual.get(n, [f"part{i}" for i in range(1, n + 1)])
    titles = [part.strip() for part in text.split(",")]
    if len(titles) != n:
        raise click.BadParameter(f"{len(titles)} names for {n} parts", param_hint="--names")
    if len(set(titles)) != n or not all(titles) or any(Path(title).name != title for title in titles):
        raise click.BadParameter(f"{text!r}: names must differ and fit in a file's name", param_hint="--names")
    return titles
