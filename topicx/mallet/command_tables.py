"""MALLET's commands, and the options of each with kinds, defaults and help. What a command does stands elsewhere."""

from __future__ import annotations

import math

from topicx.mallet.option_language import Command, Option, file_option, flag_option, inert_options, java_options

DEFAULT_TOKENS = r"\p{L}[\p{L}\p{P}]+\p{L}"

PIPE_OPTIONS = (
    file_option("use-pipe-from",
           "Take the text options and the words' numbers of this file; it is rewritten with the words that are new."),
    file_option("use-pipe-from-without-rewrite", "The same, and that file stays as it is."),
)  # fmt: skip

TEXT_OPTIONS = (
    flag_option("preserve-case", "Keep the case of letters."),
    Option("replacement-files", "strings", None,
           "Files of replacements, a line each: 'A B<tab>C' replaces A B by C, 'A B' by A_B."),
    Option("deletion-files", "strings", None, "Files of words to take out before tokenising, a line each."),
    flag_option("remove-stopwords", "Take out MALLET's 523 English stop words."),
    file_option("stoplist-file", "Take out the words of this file instead."),
    file_option("extra-stopwords", "Words to add to either of the two lists."),
    file_option("stop-pattern-file", "Java patterns, one a line: words that match one wholly go."),
    flag_option("keep-sequence", "Keep the order of words: what train-topics needs."),
    flag_option("keep-sequence-bigrams",
           "The same for runs of ASCII letters alone, with a memory of where something was left out."),
    Option("encoding", "string", "UTF-8", "The encoding of the texts and of --stoplist-file."),
    Option("token-regex", "string", DEFAULT_TOKENS, "A Java pattern whose matches are the words."),
    flag_option("print-output", "Print each document's words on standard output."),
)  # fmt: skip
LINE = r"^(\S*)[\s,]*(\S*)[\s,]*(.*)$"
"""Pattern of a line for import-file: name, label and text."""
BULK_LINE = r"^([^\t]*)\t([^\t]*)\t(.*)"
"""That of bulk-load, whose fields are parted by tabs."""
LINE_OPTIONS = (
    Option("line-regex", "string", LINE, "A Java pattern of a line; its groups are name, label and text."),
    Option("name", "integer", 1, "The group of the name; 0: there is none.", low=0),
    Option("label", "integer", 2, "The group of the label; 0: there is none.", low=0),
    Option("data", "integer", 3, "The group of the text.", low=1),
)
IMPORT_DIR = Command(
    "import-dir", "cc.mallet.classify.tui.Text2Vectors", "read the files of directories, a document each", (
        Option("input", "strings", None, "The directories; each is a label. Files are read in the order of names."),
        file_option("output", "The instances to write; - is standard output.", "text.vectors"),
        *PIPE_OPTIONS, *TEXT_OPTIONS,
        flag_option("skip-header", "Leave out all text before the first blank line."),
        flag_option("skip-html", "Leave out tags."),
        flag_option("binary-features", "Vectors say only whether a word is there."),
        Option("gram-sizes", "integers", [1], "Lengths of the n-grams to make of neighbouring words.", low=1),
        flag_option("save-text-in-source", "The text itself is the document's source."),
        *java_options("string-pipe", "token-pipe", "fv-pipe"),
    ),
)  # fmt: skip
IMPORT_FILE = Command(
    "import-file", "cc.mallet.classify.tui.Csv2Vectors", "read a file of documents, one a line", (
        file_option("input", "The file to read; - is standard input."),
        file_option("output", "The instances to write; - is standard output.", "text.vectors"),
        *LINE_OPTIONS, *PIPE_OPTIONS, *TEXT_OPTIONS,
        flag_option("label-as-features", "The label is a list of features, each perhaps with =number."),
    ),
)  # fmt: skip
IMPORT_SVMLIGHT = Command(
    "import-svmlight", "cc.mallet.classify.tui.SvmLight2Vectors", "read vectors in SVMlight's format", (
        Option("input", "strings", None, "The files to read; - is standard input."),
        Option("output", "strings", None, "As many files to write."),
        *PIPE_OPTIONS,
        flag_option("print-output", "Print each vector on standard output."),
        Option("encoding", "string", "UTF-8", "The encoding of the files."),
    ),
)  # fmt: skip
BULK_LOAD = Command(
    "bulk-load", "cc.mallet.util.BulkLoader", "read a large file of documents, one a line, as sequences", (
        file_option("input", "The file to read."),
        file_option("output", "The instances to write.", "mallet.data"),
        flag_option("preserve-case", "Keep the case of letters."),
        flag_option("remove-stopwords", "Take out a list of 33 English stop words."),
        file_option("stoplist", "Take out the words of this file instead, one a line."),
        *inert_options("boolean", "bulk-load always keeps the sequence", keep_sequence=False),
        Option("line-regex", "string", BULK_LINE, "A Java pattern of a line; its groups are name, label and text."),
        Option("name", "integer", 1, "The group of the name; 0: there is none.", low=0),
        Option("label", "integer", 2, "The group of the label; 0: there is none.", low=0),
        Option("data", "integer", 3, "The group of the text.", low=1),
        Option("prune-count", "integer", 0, "Leave out words with fewer tokens."),
        Option("prune-doc-frequency", "decimal", 1.0, "Leave out words in more than this share of the documents."),
    ),
)  # fmt: skip
INFO = Command(
    "info", "cc.mallet.classify.tui.Vectors2Info", "print what an instance list holds", (
        file_option("input", "The instances; - is standard input.", "-"),
        flag_option("print-labels", "The labels, one a line."),
        flag_option("print-features", "The words, one a line, in the order of their numbers."),
        flag_option("print-feature-counts", "Lines word<tab>tokens<tab>documents."),
        flag_option("print-instances", "Every document: name, label and words."),
        Option("print-infogain", "integer", 0, "The N words that say most of the labels.", low=0),
        Option("print-matrix", "string", "sic",
               "Documents and words, as (a|s)(b|i)(n|w|c|e): all or sparse, 0/1 or counts, words by number, word, "
               "both or neither.", fallback="sic"),
    ),
)  # fmt: skip
TRAIN_TOPICS = Command(
    "train-topics", "cc.mallet.topics.tui.TopicTrainer", "find topics in an instance list, and write what is asked", (
        file_option("input", "The instances, made with --keep-sequence; - is standard input."),
        file_option("input-model", "Go on from what --output-model wrote; its documents, topics and priors stand."),
        file_option("input-state", "Begin with the topics of a state file; --input is needed as well."),
        file_option("output-model", "The model: topics and documents, to go on from."),
        file_option("output-state", "The topic of every token, as gzipped text."),
        Option("output-model-interval", "integer", 0, "Write the model before every N-th sweep, as MODEL.N.", low=0),
        Option("output-state-interval", "integer", 0, "Write the state before every N-th sweep, as STATE.N.", low=0),
        file_option("inferencer-filename", "The topics, for infer-topics."),
        file_option("evaluator-filename", "The topics, for evaluate-topics."),
        file_option("output-topic-keys", "The foremost words of each topic, and its α."),
        Option("num-top-words", "integer", 20, "How many words the keys, reports and diagnostics show.", low=1),
        Option("show-topics-interval", "integer", 50, "Show the topics every N sweeps; 0: never.", low=0),
        file_option("topic-word-weights-file", "The weight of every word in every topic."),
        file_option("word-topic-counts-file", "The topics of each word, and how often."),
        file_option("diagnostics-file", "Measures of the topics' quality, as XML."),
        file_option("xml-topic-report", "The foremost words of each topic, as XML."),
        file_option("xml-topic-phrase-report", "The foremost words and phrases of each topic, as XML."),
        file_option("output-topic-docs", "The foremost documents of each topic."),
        Option("num-top-docs", "integer", 100, "How many documents --output-topic-docs shows.", low=0),
        file_option("output-doc-topics", "The shares of the topics in each document."),
        Option("doc-topics-threshold", "decimal", 0.0, "Show shares from this one on, falling; 0: all, as a table."),
        Option("doc-topics-max", "integer", -1, "With a threshold: show at most N topics a document."),
        Option("num-topics", "integer", 10, "The number of topics.", low=1, high=65535),
        Option("num-threads", "integer", 1, "Threads; the result does not depend on them.", low=1),
        Option("num-iterations", "integer", 1000, "Sweeps; 0: only write files.", low=0, high=1_000_000),
        Option("num-icm-iterations", "integer", 0, "Then sweeps in which tokens take their best topic.", low=0),
        flag_option("no-inference", "No sweeps: as --num-iterations 0."),
        Option("random-seed", "integer", 0, "The seed; 0: one is drawn, and said."),
        Option("optimize-interval", "integer", 0, "New priors every N sweeps; 0: never.", low=0),
        Option("optimize-burn-in", "integer", 200, "Sweeps before the first new priors.", low=0),
        flag_option("use-symmetric-alpha", "Learn the sum of α alone."),
        Option("alpha", "decimal", 5.0, "The sum of α over all topics.", low=1e-6),
        Option("beta", "decimal", 0.01, "β of each word.", low=1e-6),
        Option("mallet-version", "string", "2.1", "2.0.7: doc-topics in the form that this version wrote."),
    ),
)  # fmt: skip
INFER_TOPICS = Command(
    "infer-topics", "cc.mallet.topics.tui.InferTopics", "find the topics of new documents", (
        file_option("inferencer", "What train-topics --inferencer-filename wrote."),
        file_option("input", "The instances, made with --use-pipe-from; - is standard input."),
        file_option("output-doc-topics", "The shares of the topics in each document."),
        file_option("output-state", "The topic of every token at the end, as gzipped text."),
        Option("doc-topics-threshold", "decimal", 0.0, "Show shares from this one on, falling; 0: all, as a table."),
        Option("doc-topics-max", "integer", -1, "With a threshold: show at most N topics a document."),
        Option("num-iterations", "integer", 100, "Sweeps over each document.", low=0, high=1_000_000),
        Option("sample-interval", "integer", 10, "Sweeps from one sample to the next.", low=1),
        Option("burn-in", "integer", 10, "Sweeps before samples.", low=0),
        Option("random-seed", "integer", 0, "The seed; 0: that of the inferencer."),
        Option("mallet-version", "string", "2.1", "2.0.7: doc-topics in the form that this version wrote."),
    ),
)  # fmt: skip
EVALUATE_TOPICS = Command(
    "evaluate-topics", "cc.mallet.topics.tui.EvaluateTopics", "estimate the probability of new documents", (
        file_option("evaluator", "What train-topics --evaluator-filename wrote."),
        file_option("input", "The instances, made with --use-pipe-from; - is standard input."),
        file_option("output-doc-probs", "The logarithm of each document's probability, one a line."),
        file_option("output-prob", "Their sum; - is standard output.", "-"),
        Option("num-particles", "integer", 10, "Particles of the left-to-right estimator.", low=1),
        flag_option("show-words", "Print the logarithm of each word's probability."),
        flag_option("use-resampling", "Draw earlier topics anew at every word: better, and slower."),
        *inert_options("integer", num_iterations=100, sample_interval=10, burn_in=10),
        Option("random-seed", "integer", -1, "The seed; -1: one is drawn, and said."),
    ),
)  # fmt: skip


def _pruning_command(name: str, summary: str) -> Command:
    return Command(
        name, "cc.mallet.classify.tui.Vectors2Vectors", summary, (
            file_option("input", "The instances; - is standard input.", "-"),
            file_option("output", "The pruned instances; - is standard output.", "-"),
            file_option("training-file", "The training part.", "training.vectors"),
            file_option("testing-file", "The test part.", "test.vectors"),
            file_option("validation-file", "The validation part.", "validation.vectors"),
            Option("training-portion", "decimal", 1.0, "The share of documents to train on.", low=0, high=1),
            Option("validation-portion", "decimal", 0.0, "The share of documents to validate on.", low=0, high=1),
            Option("random-seed", "integer", 0, "The seed of the shuffling; by the clock, if it is not given."),
            Option("prune-infogain", "integer", 0, "Keep the N words that say most of the labels.", low=0),
            Option("prune-count", "integer", 0, "Keep words with at least N tokens."),
            Option("prune-document-freq", "integer", 0, "Keep words in at least N documents."),
            Option("min-idf", "decimal", 0.0, "Drop words whose inverse document frequency is lower."),
            Option("max-idf", "decimal", math.inf, "Drop words whose inverse document frequency is higher."),
            flag_option("vector-to-sequence", "Make sequences of vectors."),
            flag_option("hide-targets", "Hide the labels."),
            flag_option("reveal-targets", "Show hidden labels again."),
        ),
    )  # fmt: skip


PRUNE = _pruning_command("prune", "drop words by their frequency or by what they say of labels")
SPLIT = _pruning_command("split", "part documents into training, test and validation lists")
_INPUT = file_option("input", "The instances; - is standard input.")
PROGRAMS = (
    Command("run DocumentLengths", "cc.mallet.util.DocumentLengths", "print the documents' lengths", (_INPUT,)),
    Command("run FeatureCountTool", "cc.mallet.util.FeatureCountTool", "print words and their frequencies", (_INPUT,)),
    Command("run StateToInstances", "cc.mallet.util.StateToInstances", "make instances of a state file", (
        file_option("input", "The state file."),
        file_option("output", "The instances to write.", "mallet.data"),
    )),
    Command("run Replacer", "cc.mallet.util.Replacer", "replace and delete words in files of lines", (
        Option("input", "strings", None, "The files to read."),
        file_option("output", "The file to write.", "mallet.data"),
        Option("replacement-files", "strings", None, "Files of replacements."),
        Option("deletion-files", "strings", None, "Files of deletions."),
        Option("line-regex", "string", BULK_LINE, "A Java pattern of a line."),
        Option("name", "integer", 1, "The group of the name; 0: there is none.", low=0),
        Option("label", "integer", 2, "The group of the label; 0: there is none.", low=0),
        Option("data", "integer", 3, "The group of the text.", low=1),
    )),
    Command("run DMRTopicModel", "cc.mallet.topics.DMRTopicModel", "find topics whose priors depend on features", (
        file_option("input", "The instances, made by cc.mallet.topics.tui.DMRLoader."),
        file_option("output-params", "The coefficients: the default and all features of each topic.", "parameters.tsv"),
        file_option("output-topic-keys", "The top words of each topic."),
        file_option("output-state", "Every token's topic."),
        file_option("output-doc-topics", "The topics of each document."),
        file_option("output-model", "The model, a file for topicx infer."),
        Option("doc-topics-threshold", "decimal", 0.0, "Shares below it are left out of --output-doc-topics."),
        Option("doc-topics-max", "integer", -1, "Topics a document in --output-doc-topics (-1: all)."),
        Option("num-topics", "integer", 10, "The number of topics.", low=1),
        Option("num-threads", "integer", 1, "Threads; the result is the same with any.", low=1),
        Option("num-iterations", "integer", 1000, "Sweeps.", low=0),
        Option("random-seed", "integer", 0, "The seed; 0: one is drawn, and said."),
        Option("num-top-words", "integer", 20, "Words a topic in --output-topic-keys.", low=0),
        Option("show-topics-interval", "integer", 50, "Sweeps between looks at the topics (0: none).", low=0),
        Option("optimize-interval", "integer", 20, "Sweeps between fits of the coefficients (0: none).", low=0),
        Option("optimize-burn-in", "integer", 20, "Sweeps before the first fit.", low=0),
        *inert_options("decimal", "MALLET begins with 0.1 a topic whatever is said", alpha=50.0),
        *inert_options("decimal", "MALLET has 0.01 whatever is said", beta=0.01),
    )),
)  # fmt: skip
PRINTER = "cc.mallet.util.InstanceListPrinter"

COMMANDS = {
    one.name: one for one in (
        IMPORT_DIR, IMPORT_FILE, IMPORT_SVMLIGHT, INFO, TRAIN_TOPICS, INFER_TOPICS, EVALUATE_TOPICS, PRUNE, SPLIT,
        BULK_LOAD,
    )
}  # fmt: skip
"""By name, in MALLET's order."""
