"""topicx mallet import-dir, import-file, import-svmlight and bulk-load: texts and vectors become instance lists."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from topicx.cli.common import check_outputs, print_note
from topicx.corpus.formats.input_bytes import codec_of
from topicx.errors import InputError
from topicx.mallet.instance_lists import InstanceBuilder, RawTexts, load_instances
from topicx.mallet.instance_views import printed_instances
from topicx.mallet.option_language import Parsed
from topicx.mallet.text_import import (
    bulk_pipe,
    checked_folder,
    common_length,
    extend_pipe,
    files_in,
    pipe_of,
    previous_of,
    texts_of_files,
    texts_of_lines,
)
from topicx.mallet.text_pipe import Pipe
from topicx.mallet.vector_import import vectors_of_files
from topicx.mallet.word_selection import without_rare_and_common
from topicx.progress import for_terminal


def import_dir(parsed: Parsed) -> None:
    folders = [checked_folder(name) for name in parsed.need("input", "the directories to read")]
    pipe = pipe_of(parsed, print_note, directory=True)
    prefix = common_length(folders)
    labels = [folder[prefix:] for folder in folders]
    print_note("Labels = ")
    for folder, label in zip(folders, labels):
        print_note(f"   {label or folder}")
    found = [(path, label) for folder, label in zip(folders, labels) for path in files_in(folder)]
    codec = codec_of(parsed["encoding"])
    # MALLET asks only whether the option was given: --save-text-in-source FALSE saves as well, there.
    save = parsed["save-text-in-source"]
    _build_and_save(parsed, pipe, texts_of_files(found, codec, save), len(found))


def import_file(parsed: Parsed) -> None:
    path = parsed.need("input", "the file to read")
    pipe = pipe_of(parsed, print_note)
    _build_and_save(parsed, pipe, texts_of_lines(parsed, path, parsed["encoding"]))


def _build_and_save(parsed: Parsed, pipe: Pipe, batches: Iterable[RawTexts], size: int | None = None) -> None:
    """Read all documents, and write what they become: what every import ends with."""
    output = parsed["output"]
    previous, rewrite = previous_of(parsed, print_note)
    named = parsed["input"]
    check_outputs([output, rewrite if rewrite != output else None], [named] if isinstance(named, str) else named)
    if output == "-" and parsed["print-output"]:
        raise InputError("--print-output: standard output is taken by --output -")
    chosen = previous.pipe if previous and previous.pipe else pipe
    with InstanceBuilder(chosen, previous) as builder, for_terminal("import", size, "documents") as progress:
        for batch in batches:
            builder.add(batch)
            progress.advance(len(batch.names))
        instances = builder.finish()
    instances.save(output)
    if parsed["print-output"]:
        for text in printed_instances(instances):
            sys.stdout.write(text)
    if previous is not None and rewrite and rewrite != output:
        extend_pipe(previous, instances)
        previous.save(rewrite)
        out = sys.stderr if output == "-" else sys.stdout
        print(f" Rewriting extended pipe from {rewrite}", file=out)
        print(f"  Instance ID = {previous.corpus.digest}", file=out)


def import_svmlight(parsed: Parsed) -> None:
    inputs = parsed.need("input", "the files to read")
    outputs = parsed.need("output", "as many files to write")
    if len(inputs) != len(outputs):
        raise InputError(f"--output: {len(outputs)} files for {len(inputs)} of --input; there must be as many")
    path = parsed["use-pipe-from"] or parsed["use-pipe-from-without-rewrite"]
    previous = load_instances(path, "--use-pipe-from") if path else None
    rewrite = parsed["use-pipe-from"] if parsed["use-pipe-from"] not in outputs else None
    check_outputs([*outputs, rewrite], inputs)
    made = vectors_of_files(inputs, parsed["encoding"], previous)
    for instances, output in zip(made, outputs):
        instances.save(output)
        if parsed["print-output"]:
            for text in printed_instances(instances):
                sys.stdout.write(text)
    if previous and rewrite:
        extend_pipe(previous, made[-1])
        previous.save(rewrite)


def bulk_load(parsed: Parsed) -> None:
    path = parsed.need("input", "the file to read")
    check_outputs([parsed["output"]], [path])
    pipe = bulk_pipe(parsed)
    pruning = parsed["prune-count"] > 0 or parsed["prune-doc-frequency"] < 1
    out = sys.stderr if parsed["output"] == "-" else sys.stdout
    done = 0
    with InstanceBuilder(pipe) as builder:
        for batch in texts_of_lines(parsed, path):
            builder.add(batch)
            before, done = done, done + len(batch.names)
            if pruning:
                for count in range(before // 100_000 + 1, done // 100_000 + 1):
                    print(count * 100_000, file=out, flush=True)
        instances = builder.finish()
    if pruning:
        instances = without_rare_and_common(instances, parsed["prune-count"], parsed["prune-doc-frequency"])
    instances.save(parsed["output"])
