"""Every file that `train-topics` writes of a state, by the name of its option."""

from __future__ import annotations

from topicx.interop import mallet_reports as reports
from topicx.interop import mallet_write as write
from topicx.mallet.instance_lists import Instances
from topicx.mallet.mallet_files import save_model, save_topics
from topicx.mallet.mallet_training import MalletSettings
from topicx.mallet.option_language import Parsed
from topicx.state import State

OUTPUTS = (
    "output-topic-keys", "diagnostics-file", "xml-topic-report", "xml-topic-phrase-report", "output-state",
    "output-topic-docs", "output-doc-topics", "topic-word-weights-file", "word-topic-counts-file", "output-model",
    "inferencer-filename", "evaluator-filename",
)  # fmt: skip
"""Every file, in the order in which they are written."""


def write_output(
    name: str, path: str, state: State, instances: Instances, settings: MalletSettings, parsed: Parsed
) -> None:
    """Write the file of this option of `train-topics`."""
    top = parsed["num-top-words"]
    if name == "output-state":
        write.write_state(state, path, instances.sources)
    elif name == "output-topic-docs":
        write.topic_docs(state, path, parsed["num-top-docs"])
    elif name == "output-doc-topics":
        threshold, most = _threshold_and_topics(parsed)
        write.doc_topics(write.document_shares(state), state.ids, path, threshold=threshold, most=most)
    elif name == "diagnostics-file":
        from topicx.evaluate.diagnostics import topic_diagnostics

        reports.write_diagnostics(topic_diagnostics(None, state, top), path, top)
    elif name == "output-model":
        save_model(path, state, instances, settings)
    elif name in ("inferencer-filename", "evaluator-filename"):
        save_topics(path, state, settings)
    else:
        _write_words(name, path, state, instances, top)


def _write_words(name: str, path: str, state: State, instances: Instances, top: int) -> None:
    """The files that are about words and topics."""
    counts = write.word_counts(state)
    vocabulary = list(state.vocabulary)
    if name == "word-topic-counts-file":
        write.word_topic_counts(counts, vocabulary, path, state)
    elif name == "topic-word-weights-file":
        write.topic_word_weights(write.smoothed_counts(counts, state.beta), vocabulary, path)
    else:
        ranked = write.ranked_words(counts, max(top, reports.TITLE_WORDS))
        if name == "output-topic-keys":
            write.topic_keys(state.alpha[0], ranked, vocabulary, path, top)
        elif name == "xml-topic-report":
            reports.topic_report(state.alpha[0], state.topic_totals(), ranked, vocabulary, path, top)
        else:
            reports.phrase_report(state, ranked, path, top, instances.joined())


def _threshold_and_topics(parsed: Parsed) -> tuple[float, int]:
    """Threshold and number of topics; 2.0.7 and before wrote all of them in falling order where 2.1 writes a table."""
    threshold, most = parsed["doc-topics-threshold"], parsed["doc-topics-max"]
    if threshold == 0.0 and parsed["mallet-version"] == "2.0.7":
        return -1.0, most
    return threshold, most
