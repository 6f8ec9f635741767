"""The places of a Dask cluster (extra `cluster`: distributed), by `topicx.engines.places`. Nothing else imports Dask.

Tasks are pure functions of values: no actors, no scatter, keys of one's own. A worker that dies loses results, which
the scheduler has made again elsewhere; a scheduler that goes away ends the run with a message.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import tempfile
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from topicx.engines.places import Spread
from topicx.engines.threads import available_cores
from topicx.errors import InputError, TopicxError

MISSING = "cluster: needs the package 'distributed': pip install 'topicx[cluster]'"
RETRIES = 10
"""Workers that may be lost under one task before it is given up."""
CONNECT = 10.0
"""Seconds until a scheduler must have answered."""
POLL = 5
"""Seconds after which a wait looks whether anybody is there."""
AHEAD = 2
"""Pieces of work for each worker that are submitted before the first result is taken."""
SENT = 1 << 23
"""Bytes that are sent to see how fast they go."""
SETTINGS = {
    # Results that stand on a worker are what the run needs next: to write them to disk or to move them is a loss.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": 0.95,
    "distributed.worker.memory.terminate": False,
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.allowed-failures": RETRIES,
    "distributed.comm.timeouts.connect": "60s",
    "distributed.worker.preload": ["topicx.engines.worker_start"],
    # A cell frees as many bytes as the next one asks for: pages given back to the system and had again cost more than
    # what is written into them.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 1 << 40,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_MAX_": 0,
    "distributed.nanny.pre-spawn-environ.MALLOC_ARENA_MAX": 1,
    "distributed.worker.profile.enabled": False,
    "distributed.logging.distributed": "critical",
}
"""What we set on every process that we start."""
WATCH = "distributed.scheduler.worker-ttl"
SILENT = "30s"
"""After so long without a sign a worker is taken for dead; if Dask watches over its process, that is begun again."""


class DaskPlaces:
    """The workers of a cluster.

    Parameters
    ----------
    client
        A client of the cluster, or of our own choice of it (`connect`).
    folder
        A folder that this process and all workers see; scratch files of the run go there.
    wait
        Seconds to wait for a worker where there is none.
    direct
        Whether this process reaches the workers: then results come from them, not by way of the scheduler.
    """

    def __init__(
        self, client: Any, folder: str | os.PathLike[str], wait: float = 60.0, direct: bool = False
    ) -> None:  # fmt: skip
        self.client, self.wait, self.direct = client, wait, direct
        self.run = secrets.token_hex(6)
        Path(folder).mkdir(parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix="run.", dir=folder)).resolve()
        self._ends: list[Callable[[], object]] = [lambda: shutil.rmtree(self.folder, ignore_errors=True)]
        self._addresses: list[str] = []
        try:
            self._look()
            self._check_folder()
        except BaseException:
            self.close()
            raise

    @property
    def number(self) -> int:
        return len(self._addresses)

    @property
    def threads(self) -> int:
        """Threads of the smallest worker."""
        return self._threads

    def at_end(self, end: Callable[[], object]) -> DaskPlaces:
        """Have something closed with the places: what was started for them."""
        self._ends.append(end)
        return self

    def _look(self) -> None:
        """Wait for workers, and see which there are."""
        with _told_plainly(self):
            until = time.monotonic() + self.wait
            while not self._workers() and time.monotonic() < until:
                time.sleep(0.1)
        self._refresh()
        if not self._addresses:
            raise TopicxError(f"cluster: no worker came within {self.wait:.0f} s: start some ('dask worker ADDRESS')")

    def _check_folder(self) -> None:
        """TopicxError unless every worker reads what is written here, and writes beside it."""
        word = secrets.token_hex(8)
        (self.folder / "probe").write_text(word)
        asked = [self._submit_to(n, _probe, str(self.folder), n) for n in range(self.number)]
        for address, answer in zip(self._addresses, self.take(asked), strict=True):
            if answer != word:
                raise InputError(
                    f"cluster: the worker {address} does not share the folder {self.folder} ({answer}): give a folder "
                    "that all machines see (--shared)"
                )

    def submit(
        self, function: Callable[..., Any], *arguments: Any, name: tuple[Any, ...], at: int | None = None
    ) -> Any:
        place = {} if at is None else {"workers": [self._addresses[at % self.number]], "allow_other_workers": True}
        # Tasks of one kind have one first word: the scheduler learns how long each kind takes.
        key = (f"{name[0]}-{self.run}", *map(str, name[1:]))
        with _told_plainly(self):
            return self.client.submit(function, *arguments, key=key, retries=0, pure=False, **place)

    def _submit_to(self, number: int, function: Callable[..., Any], *arguments: Any) -> Any:
        """A task for one of the workers."""
        key = (self.run, function.__name__, secrets.token_hex(6))
        return self.client.submit(function, *arguments, key=key, workers=[self._addresses[number]], pure=False)

    def take(self, results: Sequence[Any]) -> list[Any]:
        found = self._gather(results)
        self._refresh()
        return found

    def _gather(self, results: Sequence[Any]) -> list[Any]:
        with _told_plainly(self):
            self._wait_for(list(results))
            found: list[Any] = self.client.gather(list(results), direct=self.direct)
        return found

    def _wait_for(self, results: list[Any]) -> None:
        """Until the tasks are done. TopicxError, if there is nobody any more who could do them."""
        for result in results:
            gone: float | None = None
            while True:
                try:
                    result.exception(timeout=POLL)
                    break
                except TimeoutError:
                    gone = self._check_alive(gone)

    def _check_alive(self, gone: float | None) -> float | None:
        """Since when there is no worker; TopicxError, if none comes any more or the scheduler is gone."""
        if self.client.status in ("closed", "closing"):
            raise ConnectionError("it is gone")
        now, found = time.monotonic(), self._workers()
        if found:
            if not set(found) & set(self._addresses):
                self.client.run_on_scheduler(_let_others_do_it)
            return None
        if gone is not None and now - gone > self.wait:
            raise TopicxError(f"cluster: all workers are gone, and none came within {self.wait:.0f} s")
        return gone or now

    def _workers(self) -> dict[str, Any]:
        """The workers of which the scheduler told last."""
        asked = {"n_workers": -1} if _takes_number(self.client) else {}
        found: dict[str, Any] = self.client.scheduler_info(**asked)["workers"]
        return found

    def _refresh(self) -> None:
        """Who is there now: those who stay keep their numbers."""
        found = self._workers()
        if found:
            new = sorted(set(found) - set(self._addresses))
            kept = [one if one in found else new.pop(0) if new else "" for one in self._addresses]
            self._addresses = [one for one in kept if one] + new
            self._threads = min(worker["nthreads"] for worker in found.values())

    def stream(self, function: Callable[..., Any], items: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        waiting: deque[Any] = deque()
        name = secrets.token_hex(4)
        most = AHEAD * self.number * self.threads
        try:
            with _told_plainly(self):
                for number, item in enumerate(items):
                    waiting.append(
                        self.client.submit(function, *item, key=(self.run, name, str(number)), retries=0, pure=False)
                    )
                    if len(waiting) > most:
                        yield self._gather([waiting.popleft()])[0]
                while waiting:
                    yield self._gather([waiting.popleft()])[0]
        finally:
            for future in waiting:
                with contextlib.suppress(Exception):
                    future.cancel()

    def measured(self) -> dict[str, float]:
        """A chain of short tasks, and some bytes from one worker to another."""
        began = time.monotonic()
        one: Any = 0
        for _ in range(8):
            one = self.submit(_next, one, name=("step", secrets.token_hex(6)))
        self.take([one])
        step = (time.monotonic() - began) / 8
        began = time.monotonic()
        self.take([self.submit(_next, n, name=("task", secrets.token_hex(6))) for n in range(100)])
        found = {"step": step, "task": (time.monotonic() - began) / 100}
        if self.number > 1:
            data = self._submit_to(0, bytes, SENT)
            self.take([self._submit_to(0, len, data)])
            began = time.monotonic()
            self.take([self._submit_to(1, len, data)])
            found["rate"] = SENT / max(time.monotonic() - began, 1e-6)
        return found

    def close(self) -> None:
        while self._ends:
            end = self._ends.pop()
            with contextlib.suppress(Exception):
                end()


class Dask(Spread):
    """An engine whose training runs on a Dask cluster.

    `topicx.LDA(..., engine=topicx.engines.Dask(client))` trains there. Close the engine at the end, or use `with`.

    Parameters
    ----------
    client : distributed.Client or str
        A client, or what `--cluster` takes: local:4, tcp://host:8786, the file that a scheduler wrote, slurm.
    shared : path, optional
        A folder that all machines see: scratch files of the runs go there. The working folder, if none is given.
    threads : int, default 0
        Threads of this process, for what is not training; 0: all cores.
    """

    def __init__(self, client: Any, *, shared: str | os.PathLike[str] | None = None, threads: int = 0) -> None:
        folder = Path(shared) if shared is not None else Path.cwd()
        places = connect(client, folder) if isinstance(client, str) else DaskPlaces(client, folder)
        super().__init__(places, threads)


# -- which cluster ---------------------------------------------------------------------------------------------------


def connect(
    spec: str, folder: str | os.PathLike[str], *, log: Callable[[str], object] = lambda text: None
) -> DaskPlaces:
    """The places that `--cluster` names. InputError, if it names none."""
    try:
        import dask
        import distributed
    except ImportError:
        raise InputError(MISSING) from None
    dask.config.set(SETTINGS)
    if dask.config.get(WATCH) == "5 minutes":  # Dask's own; what somebody has chosen stays
        dask.config.set({WATCH: SILENT})
    kind, _, rest = spec.partition(":")
    if kind == "local":
        return _local(distributed, rest, folder)
    if kind in ("tcp", "tls", "ws", "wss", "ucx"):
        if kind == "tcp":
            log("note: who reaches this scheduler can run programs on its workers: keep it in a network of your own")
        return DaskPlaces(_client(distributed, spec, address=spec), folder).at_end(lambda: None)
    if kind == "slurm":
        return _slurm(distributed, folder)
    if Path(spec).is_file():
        _check_scheduler_file(spec)
        return DaskPlaces(_client(distributed, spec, scheduler_file=spec), folder)
    raise InputError(
        f"cluster: {spec!r} is not local:N, a scheduler's address (tcp://host:8786), the file that one wrote, or slurm"
    )


def _check_scheduler_file(path: str) -> None:
    """InputError where no scheduler wrote this file."""
    try:
        with Path(path).open(encoding="utf-8") as file:
            found = json.loads(file.read(1 << 20))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"cluster: {path}: is no file that a scheduler wrote: {error}") from None
    address = found.get("address") if isinstance(found, dict) else None
    if not isinstance(address, str) or "://" not in address:
        raise InputError(f"cluster: {path}: is no file that a scheduler wrote: it names no address")


def _client(distributed: Any, spec: str, **how: Any) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of versions that differ a little
            return distributed.Client(timeout=CONNECT, set_as_default=False, **how)
    except (OSError, ValueError, TypeError, AssertionError, TimeoutError) as error:  # dask asserts what files say
        told = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TopicxError(f"cluster: no scheduler answers at {spec}: {told}") from None


def _local(distributed: Any, number: str, folder: str | os.PathLike[str]) -> DaskPlaces:
    """Worker processes on this machine."""
    if not number.isdecimal() or not 1 <= int(number) <= 1024:
        raise InputError(f"cluster: local:{number}: give the number of workers, such as local:4")
    threads = max(1, available_cores() // int(number))
    security = None
    with contextlib.suppress(ImportError):  # without 'cryptography' there is no TLS; all of it is on this machine
        security = distributed.Security.temporary()
    try:
        cluster = distributed.LocalCluster(
            n_workers=int(number), threads_per_worker=threads, processes=True, host="127.0.0.1", dashboard_address=None,
            memory_limit=0, security=security, silence_logs=50, local_directory=tempfile.gettempdir(),
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # its health page; a fixed port may be taken
        )  # fmt: skip
    except (RuntimeError, OSError, TimeoutError) as error:
        raise TopicxError(f"cluster: {number} workers did not start here: {_first_line(error)}") from None
    try:
        client = distributed.Client(cluster, set_as_default=False)
        places = DaskPlaces(client, folder, direct=True)
    except BaseException:
        cluster.close()
        raise
    return places.at_end(cluster.close).at_end(client.close)


def _slurm(distributed: Any, folder: str | os.PathLike[str]) -> DaskPlaces:
    """The tasks of one `srun`: the first is the scheduler, the second this run, all others are workers."""
    try:
        from dask_jobqueue.slurm import SLURMRunner
    except ImportError:
        raise InputError("cluster: slurm needs the package 'dask-jobqueue': pip install dask-jobqueue") from None
    if "SLURM_PROCID" not in os.environ:
        raise InputError("cluster: slurm: start it with srun, with two tasks more than workers ('srun -n 6 topicx …')")
    runner = SLURMRunner(scheduler_file=str(Path(folder) / f"scheduler.{os.environ.get('SLURM_JOB_ID', '0')}.json"))
    client = distributed.Client(runner, set_as_default=False)
    return DaskPlaces(client, folder).at_end(runner.close).at_end(client.close)


def cluster_named(spec: str | None) -> str | None:
    """What `--cluster` or, where it is empty, DASK_SCHEDULER_ADDRESS says."""
    return os.environ.get("DASK_SCHEDULER_ADDRESS") or None if spec == "" else spec


# -- messages --------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _told_plainly(places: DaskPlaces) -> Iterator[None]:
    """What goes wrong with a cluster, in one line each."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker
    from distributed.client import ClosedClientError
    from distributed.comm.core import CommClosedError

    try:
        yield
    except TopicxError:
        raise
    except KilledWorker as error:
        raise TopicxError(
            f"cluster: {RETRIES} workers were lost one after another under the same task ({_first_line(error)}): is "
            "there enough memory on each?"
        ) from None
    except (CommClosedError, ClosedClientError, CancelledError, TimeoutError, ConnectionError) as error:
        raise TopicxError(f"cluster: the scheduler does not answer any more ({_first_line(error)})") from None
    except MemoryError:
        raise TopicxError("cluster: a worker is out of memory: more of them, or larger ones, have less each") from None
    except OSError as error:
        raise TopicxError(f"cluster: on a worker: {_first_line(error)}") from None


def _first_line(error: BaseException) -> str:
    lines = str(error).splitlines()
    return lines[0][:200] if lines else type(error).__name__


def _takes_number(client: Any) -> bool:
    """Whether this version tells some workers only, unless it is asked for all."""
    import inspect

    return "n_workers" in inspect.signature(client.scheduler_info).parameters


def _let_others_do_it(dask_scheduler: Any) -> None:
    """On the scheduler, after all workers were lost: tasks wait for those that they named, although they allow others
    (which counts only while there is one)."""
    waiting = list(dask_scheduler.unrunnable)
    for task in waiting:
        task.worker_restrictions = None
    dask_scheduler.transitions({task.key: "waiting" for task in waiting}, "topicx-workers-lost")


def _next(number: int) -> int:
    return number + 1


def _probe(folder: str, number: int) -> str:
    """What a worker finds in the shared folder; it leaves a file there, too."""
    try:
        word = (Path(folder) / "probe").read_text()
        (Path(folder) / f"probe.{number}").write_text(socket.gethostname())
    except OSError as error:
        return str(error.strerror or error)
    return word
