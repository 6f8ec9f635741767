"""How many topics? Models with several numbers of topics, from several chains each, and what can be said for each.

    perplexity   of documents kept out of training, by document completion (`topicx.evaluate.completion`)
    coherence    NPMI of the top words in the training corpus (`topicx.evaluate.coherence`), mean over topics
    exclusivity  φ_kw / Σ_k' φ_k'w of the top words, mean over words and topics: 1: no other topic has them
    stability    1 - Hellinger's distance of two chains' topics, matched (`topicx.estimate.topic_alignment`), mean
    umass        Mimno et al. 2011, Σ log (D(v_m, v_l) + 1) / D(v_l) over the top words, mean over topics
    cao_juan     Cao & Juan 2009: mean cosine of φ over all pairs of topics; the paper takes the K where it is least
    arun         Arun et al. 2010: symmetric Kullback-Leibler divergence of the singular values of φ (topics × words)
                 from the topics' shares L·θ of the tokens, both sorted and made to sum to 1; the paper takes the least

None of them says which number is right; the page docs/search.md tells what each is blind to.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from topicx import model_registry as models
from topicx.corpus.any_documents import as_corpus
from topicx.corpus.corpus import Corpus
from topicx.corpus.corpus_split import random_parts
from topicx.declare import check_whole
from topicx.engines.threads import Engine, engine_of
from topicx.errors import InputError
from topicx.estimate.topic_alignment import align_topics
from topicx.evaluate.coherence import coherence
from topicx.evaluate.completion import completion
from topicx.files.schema import is_finite_number as is_number
from topicx.files.schema import is_whole_number as is_whole
from topicx.model import Model
from topicx.run import Run
from topicx.sampling.run_options import Options
from topicx.sampling.sweep_loop import Interrupted, Stop, never_stop

if TYPE_CHECKING:
    import pandas

MEASURES = ("perplexity", "coherence", "exclusivity", "stability", "umass", "cao_juan", "arun", "seconds")
Row = dict[str, Any]
CLOSING = (
    "No number is best by itself: more topics mostly predict better and come again less often from other chains. Take "
    "the fewest after which perplexity gains little, that are coherent and stable enough; then read them."
)


@dataclass
class Search:
    """What a search found: a row a number of topics, in which every measure has a value a chain."""

    rows: list[Row] = field(default_factory=list)
    stopped: bool = False
    """Whether it was ended before its plan: the rows are those that were finished."""

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
    """Train `chains` models of each number of topics and measure them.

    `documents` are in any form that `LDA.fit` takes; the share `held_out` of them is kept out of training. `words`: top
    words a topic that are judged. `options` are those of training (iterations, alpha, optimize_interval …; also
    model="compound", and `own`, that model's). Rows of `known` numbers of topics are taken as they are; `each` is told
    every new row. Ctrl-C (or `stop`) ends the search with the rows that are finished.
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
    try:
        for number in numbers:
            row = done.get(number)
            if row is None:
                row = _row(train, test, replace(base, topics=number), chains, words, engine, stop)
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


def _row(train: Corpus, test: Corpus, options: Options, chains: int, words: int, engine: Engine, stop: Stop) -> Row:
    row: Row = {"topics": options.topics, **{name: [] for name in MEASURES}}
    found: list[Model] = []
    for chain in range(chains):
        begun = time.perf_counter()
        run = Run.start(train, replace(options, chain=chain), engine).train(stop=stop)
        seconds = time.perf_counter() - begun
        sizes = np.zeros(options.topics)
        lengths = train.lengths.astype(np.float64)

        def weigh(begin: int, theta: NDArray[np.float64], sizes: Any = sizes, lengths: Any = lengths) -> None:
            sizes += lengths[begin : begin + len(theta)] @ theta

        model = run.result(examples=0, documents=weigh).model
        measured = {
            "perplexity": completion(model, None, test, seed=options.seed, threads=engine).perplexity,
            "coherence": mean_of(coherence(model, train, "npmi", top=words).topics),
            "exclusivity": exclusivity(model, words),
            "umass": mean_of(coherence(model, train, "umass", top=words).topics, lacking=None),
            "arun": arun(model, sizes), "seconds": seconds,
        }  # fmt: skip
        if model.n_topics > 1:
            measured["cao_juan"] = cao_juan(model)
        for name, value in measured.items():
            row[name].append(value)
        found.append(model)
    row["stability"] = [stability(a, b) for a, b in itertools.combinations(found, 2)]
    return row


def mean_of(values: Sequence[float], lacking: float | None = 0.0) -> float:
    """The mean over the topics; one without two words of its own is not coherent at all (0), or (None) left out."""
    known = np.asarray(values, np.float64)
    known = known[np.isfinite(known)] if lacking is None else np.nan_to_num(known, nan=lacking)
    return float(known.mean()) if len(known) else 0.0


def exclusivity(model: Model, words: int = 10) -> float:
    """The mean over the topics' top words of the word's share that the topic has: φ_kw / Σ_k' φ_k'w."""
    index = {word: number for number, word in enumerate(model.vocabulary)}
    tops = [[index[word] for word, _ in top] for top in model.top_words(words)]
    needed = sorted({word for top in tops for word in top})
    place = {word: row for row, word in enumerate(needed)}
    phi = model.phi_of(needed)
    shares = phi / phi.sum(axis=1, keepdims=True)
    values = [float(np.mean([shares[place[word], k] for word in top])) for k, top in enumerate(tops) if top]
    return float(np.mean(values)) if values else 0.0


def stability(a: Model, b: Model) -> float:
    """1 less the mean distance of the topics of two models, matched pair by pair."""
    return 1 - float(np.mean([pair.distance for pair in align_topics(a, b) if pair.distance is not None]))


def cao_juan(model: Model) -> float:
    """The mean cosine of φ over all pairs of topics (Cao, Xia, Li, Zhang & Tang 2009, 'ave_dis')."""
    products = _products(model)
    norms = np.sqrt(np.diag(products))
    cosines = products / np.outer(norms, norms)
    upper = np.triu_indices(len(norms), 1)
    return float(cosines[upper].mean())


def arun(model: Model, sizes: NDArray[np.float64]) -> float:
    """The symmetric divergence of Arun, Suresh, Veni Madhavan & Narasimha Murthy 2010; `sizes` are L·θ, the tokens of
    each topic."""
    values = np.sqrt(np.maximum(np.linalg.eigvalsh(_products(model)), 0))
    one, two = (np.sort(np.maximum(part, 1e-300))[::-1] / part.sum() for part in (values, np.asarray(sizes, float)))
    return float(np.sum((one - two) * (np.log(one) - np.log(two))))


def _products(model: Model, step: int = 1 << 15) -> NDArray[np.float64]:
    """φ φᵀ, some words at a time."""
    total = np.zeros((model.n_topics, model.n_topics))
    for begin in range(0, model.n_words, step):
        rows = model.phi_of(np.arange(begin, min(begin + step, model.n_words)))
        total += rows.T @ rows
    return total
