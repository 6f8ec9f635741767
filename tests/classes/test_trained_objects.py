"""What a trained object of the Python classes holds: no threads, nothing of the sampler, what can be pickled."""

from __future__ import annotations

import gc
import pickle
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import topicx
from tests.conftest import lda_corpus
from topicx.classes.lda_class import LDA
from topicx.sampling.method import Method

SMALL: dict[str, Any] = {"topics": 4, "iterations": 12, "seed": 1, "threads": 2, "verbose": False}
KINDS: list[dict[str, Any]] = [
    {}, {"samples": 3, "lag": 2}, {"sampler": "cvb0"}, {"theta": "cgs"}, {"model": "hdp"}, {"paths": 2},
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_theta_is_found_without_the_chain(kind: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    methods: list[weakref.ref[Method]] = []
    made = Method.__init__

    def remember(self: Method, *arguments: Any, **more: Any) -> None:
        methods.append(weakref.ref(self))
        made(self, *arguments, **more)

    monkeypatch.setattr(Method, "__init__", remember)
    before = {thread.name for thread in threading.enumerate()}
    lda = topicx.LDA(**SMALL | kind).fit(lda_corpus(80, 20, 30))
    gc.collect()
    assert methods and not [one for one in methods if one() is not None]
    shares = lda.document_topic
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-6)
    assert {thread.name for thread in threading.enumerate()} <= before
    assert lda.document_topic is shares


def test_a_trained_object_is_pickled_also_after_its_theta_was_read() -> None:
    lda = topicx.LDA(**SMALL).fit(lda_corpus(80, 20, 30))
    for _ in range(2):
        again: LDA = pickle.loads(pickle.dumps(lda))
        assert again.model == lda.model and np.array_equal(again.document_topic, lda.document_topic)
        assert repr(again) == repr(lda)
