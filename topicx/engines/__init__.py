"""Who runs a schedule's cells: this process's threads, or the workers of a Dask cluster (`Dask`, `topicx[cluster]`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from topicx.engines.dask_cluster import Dask as Dask
    from topicx.engines.threads import Threads as Threads

__all__ = ["Dask", "Threads"]


def __getattr__(name: str) -> Any:
    if name == "Dask":
        from topicx.engines.dask_cluster import Dask

        return Dask
    if name == "Threads":
        from topicx.engines.threads import Threads

        return Threads
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
