"""What a model says of new documents, whatever form they come in: the values behind `Model.infer`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.table import SNIPPET
from topicx.errors import InputError
from topicx.model import Model
from topicx.predict.documents import source_of
from topicx.predict.inference import Inference
from topicx.predict.predictor import shown_shares

if TYPE_CHECKING:
    import pandas


@dataclass(eq=False)
class DocumentTopics:
    """Documents with their topics."""

    ids: list[str]
    theta: NDArray[np.float32]
    """Documents × topics; each row sums to 1, but for what topics have that are hidden: theirs is 0."""
    unknown: NDArray[np.int64]
    """Tokens of each document whose word the model does not have (but for words that are left out of every text)."""
    predicted: dict[str, list[Any]] = field(default_factory=dict)
    """What the model predicts beside topics (class, score, value …), a value a document."""
    metadata: dict[str, list[Any]] = field(default_factory=dict)
    """What the documents carry (label, collection, time, further columns), a value a document."""

    topic_names: list[str] = field(default_factory=list)
    """What the topics are called (`Model.called`); empty: by their numbers."""
    index: Any = field(default=None, repr=False)
    """The index of the data frame that the documents came from; None: they came from none."""

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        more = f", with {', '.join(self.predicted)}" if self.predicted else ""
        return f"DocumentTopics({len(self):,} documents, {self.theta.shape[1]} topics{more})"

    @property
    def main_topic(self) -> NDArray[np.int64]:
        """The topic with the largest share in each document."""
        return self.theta.argmax(axis=1)

    def top(self, number: int = 3) -> list[list[tuple[int, float]]]:
        """Each document's largest topics with their shares."""
        order = np.argsort(-self.theta, axis=1, kind="stable")[:, :number]
        return [[(int(k), float(row[k])) for k in best] for row, best in zip(self.theta, order)]

    def to_dataframe(self) -> pandas.DataFrame:
        """A pandas frame with a row a document: id, what it carries (but for names that are taken), main topic, its
        share, what is predicted, and all of θ. A frame's documents keep its index."""
        try:
            import pandas
        except ImportError:
            raise InputError("data frames need pandas: pip install 'topicx[dataframe]'") from None

        columns: dict[str, Any] = {"id": self.ids, "main_topic": self.main_topic, "share": self.theta.max(axis=1)}
        columns |= self.predicted
        called = self.topic_names or [f"topic_{k}" for k in range(self.theta.shape[1])]
        columns |= {name: self.theta[:, k] for k, name in enumerate(called)}
        carried = {name: values for name, values in self.metadata.items() if name not in columns}
        return pandas.DataFrame({"id": columns.pop("id"), **carried, **columns}, index=self.index)


def theta_of(model: Model, documents: Any, *, text: str = "text", **sampling: Any) -> DocumentTopics:
    """Infer the topics of documents in any of the forms that `topicx.corpus.any_documents.as_corpus` takes."""
    source = source_of(documents, model.vocabulary, text)
    inference = Inference(model, **sampling)
    names, carried = list(inference.reader.predicted_columns()), [name for name in source.kinds() if name != SNIPPET]
    number = source.n_documents or 0
    found = DocumentTopics(
        [], np.zeros((number, model.n_topics), np.float32), np.zeros(number, np.int64),
        {name: [] for name in names}, {name: [] for name in carried}, model.called,
    )  # fmt: skip
    reads = inference.stream(inference.documents(source, carried)) if names else inference.shares(source, carried)
    for read in reads:
        part, begin = read.documents, len(found.ids)
        end = begin + len(part)
        found.theta[begin:end], found.unknown[begin:end] = shown_shares(model, read.theta), part.unknown
        for name, column in zip(names, inference.reader.predict(read), strict=True):
            found.predicted[name] += list(column)
        for name in carried:
            found.metadata[name] += part.told(name)
        found.ids += list(part.ids)
    if hasattr(documents, "iloc") and len(documents) == len(found):  # of pandas
        found.index = documents.index
    return found
