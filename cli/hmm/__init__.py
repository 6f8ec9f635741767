"""topicx hmm: hidden Markov models over the tokens of a corpus."""

from __future__ import annotations

import click

from topicx.cli.hmm import decode, evaluate, train


@click.group()
def command() -> None:
    """Hidden Markov models: documents are sequences, words are symbols.

    \b
    Examples:
      topicx hmm train texts.corpus -k 4 --paths 5 -o texts.hmm
      topicx hmm train texts.corpus -k 4 --sampler baum-welch --restarts 4 -o texts.hmm
      topicx hmm decode texts.hmm new.corpus -o states.tsv
      topicx hmm evaluate texts.hmm new.corpus
    """


command.add_command(train.command, "train")
command.add_command(decode.command, "decode")
command.add_command(evaluate.command, "evaluate")
