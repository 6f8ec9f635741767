"""How many topics? Models with several numbers of topics, from several chains each, and what can be said for each.

    perplexity   of documents kept out of training, by document completion (`topicx.evaluate.completion`)
    coherence    NPMI of the top words in the training corpus (`topicx.evaluate.coherence`), mean over topics
    exclusivity  φ_kw / Σ_k' φ_k'w of the top words, mean over words and topics: 1: no other topic has them
    stability    1 - Hellinger's distance of two chains' topics, matched (`topicx.estimate.topic_alignment`), mean
    umass        Mimno et al. 2011, Σ log (D(v_m, v_l) + 1) / D(v_l) over the top words, mean over topics
    cao_juan     Cao & Juan 2009: mean cosine of φ over all pairs of topics; the paper takes the K where it is least
    arun         Arun et al. 2010: symmetric Kullback-Leibler divergence of the singular values of φ (topics × words)
                 from the topics' shares L·θ of the tokens, both sorted and made to sum to 1; the paper takes the least

None of them says which number is right; the page docs/reference/commands/search.md tells what each is blind to.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from topicx import model_registry as models
from topicx.chain_series import ChainListener, ChainSeries
from topicx.corpus.any_documents import as_corpus
from topicx.corpus.corpus import Corpus
from topicx.corpus.corpus_split import random_parts
from topicx.corpus.shared_corpora import shared_corpora
from topicx.declare import check_whole
from topicx.engines.threads import Engine, Threads, engine_of
from topicx.errors import InputError
from topicx.estimate.topic_alignment import align_topics
from topicx.evaluate.coherence import coherence
from topicx.evaluate.completion import completion
from topicx.files.schema import is_finite_number as is_number
from topicx.files.schema import is_whole_number as is_whole
from topicx.model import Model
from topicx.run import Result, Run
from topicx.sampling.run_options import Options
from topicx.sampling.sweep_loop import Interrupted, Stop, never_stop

if TYPE_CHECKING:
    import pandas

__all__ = ["Search", "arun", "cao_juan", "exclusivity", "search", "stability"]

MEASURES = ("perplexity", "coherence", "exclusivity", "stability", "umass", "cao_juan", "arun", "seconds")
Row = dict[str, Any]
CLOSING = (
    "No number is best by itself: more topics mostly predict better and come again less often from other chains. Take "
    "the fewest after which perplexity gains little, that are coherent and stable enough; then read them."
)


@dataclass(repr=False)
class Search:
    """What a search found: a row a number of topics, in which every measure has a value a chain."""

    rows: list[Row] = field(default_factory=list)
    """A row for each number of topics: the measures of its chains."""
    stopped: bool = False
    """Whether it was ended before its plan: the rows are those that were finished."""

    def __repr__(self) -> str:
        numbers = ", ".join(str(row["topics"]) for row in self.rows)
        ended = "; stopped before its end" if self.stopped else ""
        return f"Search(topics {numbers or 'none'}{ended}: to_dataframe() has the measures, plot() draws them)"

    def table(self) -> list[Row]:
        """A row a number of topics: mean and spread (standard deviation) over chains of each measure."""
        found: list[Row] = []
        for row in self.rows:
            told: Row = {"topics": row["topics"], "chains": len(row["seconds"])}
            for name in MEASURES:
                values = row[name]
                told[name] = float(np.mean(values)) if values else None
                told[f"{name}_spread"] = float(np.std(values, ddof=1)) if len(values) > 1 else None
            found.append(told)
        return found

    def to_dataframe(self) -> pandas.DataFrame:
        """The table as a pandas frame."""
        import pandas

        return pandas.DataFrame(self.table())

    def plot(self, figure: Any = None) -> Any:
        """Perplexity, coherence, exclusivity and stability by the number of topics; returns the four axes."""
        from topicx.views.topic_pictures import new_figure, search_panels

        return search_panels(new_figure((10, 6)) if figure is None else figure, self.rows)


def search(
    documents: Any,
    topics: Iterable[int] = (10, 20, 40, 80),
    *,
    chains: int = 3,
    held_out: float = 0.1,
    words: int = 10,
    seed: int = 1,
    threads: int | Engine = 0,
    known: Iterable[Row] = (),
    each: Callable[[Row], object] = lambda row: None,
    stop: Stop = never_stop,
    **options: Any,
) -> Search:
    """Train models with several numbers of topics and measure them.

    Parameters
    ----------
    documents : Corpus, sequence, data frame or matrix
        Documents in any form that `LDA.fit` takes.
    topics : iterable of int, default (10, 20, 40, 80)
        Numbers of topics.
    chains : int, default 3
        Models of each number.
    held_out : float, default 0.1
        Share of the documents that is kept out of training.
    words : int, default 10
        Top words of each topic that are judged.
    seed : int, default 1
        Seed of all random numbers.
    threads : int or Engine, default 0
        Threads; 0: all cores. No result depends on it.
    known : iterable of dict, optional
        Rows that were found before: their numbers of topics are not trained again.
    each : callable, optional
        Called with every new row.
    stop : callable, optional
        Asked between iterations; Ctrl-C and it end the search with the rows that are finished.
    **options
        Options of training: iterations, alpha, optimize_interval …; also `model="compound"`, and `own`, that model's.

    Returns
    -------
    Search
        A row of measures for each number of topics.
    """
    check_model(str(options.get("model", "lda")))
    numbers = check_numbers(topics)
    check_whole("chains", chains, 1, 1000)
    check_whole("words", words, 2, 1000)
    if not 0 < held_out < 1:
        raise InputError(f"held_out: {held_out} must be between 0 and 1")
    corpus = as_corpus(documents)
    train, test = (corpus.select(part) for part in random_parts(corpus, (1 - held_out, held_out), seed=seed))
    if not train.n_tokens or not test.n_tokens:
        raise InputError("there are too few documents to keep some out of training")
    base, engine = Options(topics=numbers[0], seed=seed, **options), engine_of(threads)
    done, found = {row["topics"]: row for row in known}, Search()
    left = [replace(base, topics=number) for number in numbers if number not in done]
    try:
        new = _measured(train, test, left, chains, words, engine, stop)
        for number in numbers:
            row = done.get(number)
            if row is None:
                row = next(new)
                each(row)
            found.rows.append(row)
    except (Interrupted, KeyboardInterrupt):
        found.stopped = True
    return found


def check_model(name: str) -> None:
    """InputError if the number of this model's topics is not to be searched for."""
    why = models.find_definition(name).elsewhere
    if why:
        raise InputError(f"search: is not for the model {name}: {why}")


def check_numbers(topics: Iterable[int]) -> list[int]:
    numbers = sorted(set(topics))
    if not numbers:
        raise InputError("topics: give the numbers of topics to try, as 10,20,40,80")
    for number in numbers:
        check_whole("topics", number, 1, 65535)
    return numbers


def is_row(row: Any) -> bool:
    """Whether this is a row of a search: every measure of a number of topics."""
    if not isinstance(row, dict) or not is_whole(row.get("topics"), 1, 65535):
        return False
    return all(isinstance(row.get(name), list) and all(map(is_number, row[name])) for name in MEASURES)


class ChainMeasures(ChainListener):
    """Measures every model of a series of chains: a row of a search."""

    def __init__(self, train: Corpus, test: Corpus, options: Options, words: int, engine: Engine, stop: Stop) -> None:
        self.train, self.test, self.options, self.words = train, test, options, words
        self.engine, self.stop = engine, stop
        self.row: Row = {"topics": options.topics, **{name: [] for name in MEASURES}}
        self.begun, self.seconds = time.perf_counter(), 0.0
        self.sizes = np.zeros(0)
        self.models: list[Model] = []

    def train_chain(self, series: ChainSeries) -> bool:
        series.run.train(stop=self.stop)
        self.seconds = time.perf_counter() - self.begun
        return True

    def find_result(self, series: ChainSeries) -> Result:
        lengths = self.train.lengths.astype(np.float64)
        self.sizes = np.zeros(self.options.topics)

        def weigh(begin: int, theta: NDArray[np.float64]) -> None:
            self.sizes += lengths[begin : begin + len(theta)] @ theta

        return series.find_result(weigh)

    def keep_result(self, series: ChainSeries, result: Result) -> None:
        model, train, words = result.model, self.train, self.words
        self.models.append(model)
        measured = {
            "perplexity": completion(model, None, self.test, seed=self.options.seed, threads=self.engine).perplexity,
            "coherence": mean_of(coherence(model, train, "npmi", top=words).topics),
            "exclusivity": exclusivity(model, words),
            "umass": mean_of(coherence(model, train, "umass", top=words).topics, lacking=None),
            "arun": arun(model, self.sizes), "seconds": self.seconds,
        }  # fmt: skip
        if model.n_topics > 1:
            measured["cao_juan"] = cao_juan(model)
        for name, value in measured.items():
            self.row[name].append(value)
        self.begun = time.perf_counter()


def _measured(
    train: Corpus, test: Corpus, options: Sequence[Options], chains: int, words: int, engine: Engine, stop: Stop
) -> Iterator[Row]:  # fmt: skip
    """A row for each of these options: one after another here, or several at once on the workers of a cluster."""
    if engine.places is None:
        yield from (measure_chains(train, test, each, chains, words, engine, stop) for each in options)
        return
    with shared_corpora(engine.places, train, test) as files:
        for row in engine.places.stream(measure_piece, ((*files, each, chains, words) for each in options)):
            yield row
            if stop():
                raise Interrupted


def measure_piece(train: str, test: str, options: Options, chains: int, words: int) -> Row:
    """A row of a search, on a worker."""
    with Threads(1) as engine:  # a worker does as many pieces at a time as it has threads
        return measure_chains(Corpus.load(train), Corpus.load(test), options, chains, words, engine, never_stop)


def measure_chains(
    train: Corpus, test: Corpus, options: Options, chains: int, words: int, engine: Engine, stop: Stop
) -> Row:  # fmt: skip
    """A row: several models of one number of topics, measured each and, for stability, in pairs."""
    measures = ChainMeasures(train, test, options, words, engine, stop)
    ChainSeries(Run.start(train, options, engine), chains, "all", examples=0).train(measures)
    measures.row["stability"] = [stability(a, b) for a, b in itertools.combinations(measures.models, 2)]
    return measures.row


def mean_of(values: Sequence[float], lacking: float | None = 0.0) -> float:
    """The mean over the topics; one without two words of its own is not coherent at all (0), or (None) left out."""
    known = np.asarray(values, np.float64)
    known = known[np.isfinite(known)] if lacking is None else np.nan_to_num(known, nan=lacking)
    return float(known.mean()) if len(known) else 0.0


def exclusivity(model: Model, words: int = 10) -> float:
    """How much top words belong to one topic alone: the mean of φ_kw / Σ_k' φ_k'w over the topics' top words.

    Parameters
    ----------
    model : Model
        The model.
    words : int, default 10
        Top words of each topic.

    Returns
    -------
    float
        A number between 0 and 1.
    """
    index = {word: number for number, word in enumerate(model.vocabulary)}
    tops = [[index[word] for word, _ in top] for top in model.top_words(words)]
    needed = sorted({word for top in tops for word in top})
    place = {word: row for row, word in enumerate(needed)}
    phi = model.phi_of(needed)
    shares = phi / phi.sum(axis=1, keepdims=True)
    values = [float(np.mean([shares[place[word], k] for word in top])) for k, top in enumerate(tops) if top]
    return float(np.mean(values)) if values else 0.0


def stability(a: Model, b: Model) -> float:
    """How alike the topics of two models are: 1 less the mean distance of topics that are matched pair by pair.

    Parameters
    ----------
    a, b : Model
        Models of one corpus.

    Returns
    -------
    float
        A number between 0 and 1.
    """
    return 1 - float(np.mean([pair.distance for pair in align_topics(a, b) if pair.distance is not None]))


def cao_juan(model: Model) -> float:
    """Mean cosine of the topics' word distributions (Cao, Xia, Li, Zhang & Tang 2009).

    Parameters
    ----------
    model : Model
        The model.

    Returns
    -------
    float
        Lower is better.
    """
    products = _topic_products(model)
    norms = np.sqrt(np.diag(products))
    cosines = products / np.outer(norms, norms)
    upper = np.triu_indices(len(norms), 1)
    return float(cosines[upper].mean())


def arun(model: Model, sizes: NDArray[np.float64]) -> float:
    """Symmetric divergence of Arun, Suresh, Veni Madhavan & Narasimha Murthy (2010).

    Parameters
    ----------
    model : Model
        The model.
    sizes : ndarray of shape (topics,)
        Tokens of each topic, L·θ.

    Returns
    -------
    float
        Lower is better.
    """
    values = np.sqrt(np.maximum(np.linalg.eigvalsh(_topic_products(model)), 0))
    one, two = (np.sort(np.maximum(part, 1e-300))[::-1] / part.sum() for part in (values, np.asarray(sizes, float)))
    return float(np.sum((one - two) * (np.log(one) - np.log(two))))


def _topic_products(model: Model, step: int = 1 << 15) -> NDArray[np.float64]:
    """φ φᵀ, some words at a time."""
    total = np.zeros((model.n_topics, model.n_topics))
    for begin in range(0, model.n_words, step):
        rows = model.phi_of(np.arange(begin, min(begin + step, model.n_words)))
        total += rows.T @ rows
    return total
