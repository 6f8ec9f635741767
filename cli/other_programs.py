"""What other programs call what our commands have: for those who type it by habit."""

from __future__ import annotations

OPTIONS = {
    "train": {
        "--num-topics": "-k", "--num-iterations": "--iterations", "--random-seed": "--seed",
        "--num-threads": "--threads", "--output-state": "--state", "--output-doc-topics": "--doc-topics",
        "--output-model": "-o", "--input-state": "--init-state",
        "--output-topic-keys": "'topicx topics MODEL', afterwards",
        "--num-top-words": "'topicx topics MODEL -n N', afterwards",
        "--diagnostics-file": "'topicx evaluate MODEL STATE -m diagnostics', afterwards",
        "--inferencer-filename": "the model itself, which 'topicx infer' takes",
        "--input": "the corpus, named without an option",
    },
    "import": {
        "--input": "the inputs, named without an option", "--keep-sequence": "how it always is: leave it out",
        "--extra-stopword-file": "--extra-stopwords", "--stop-list": "--stoplist-file",
    },
    "infer": {
        "--inferencer": "the model, named first without an option", "--input": "the documents, named without an option",
        "--output-doc-topics": "-o", "--num-iterations": "--iterations", "--random-seed": "--seed",
    },
}  # fmt: skip
"""By command: MALLET's options, and what does it here."""


def hint_for_option(command: str, option: str) -> str | None:
    """What to give instead of another program's option; None: it is nobody's."""
    found = OPTIONS.get(command, {}).get(option)
    return f"there is no option {option}, which is MALLET's: here it is {found}" if found else None
