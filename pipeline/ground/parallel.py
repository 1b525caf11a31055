"""Map over documents with all cores where there is enough to do, in order, by plain processes."""

from __future__ import annotations

import gc
import importlib
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

Progress = Callable[[int, int], None]
"""Told what is done, and of how much."""

Item = TypeVar("Item")
Result = TypeVar("Result")

MIN_CHARS = 3_000_000
"""Below this much text the start of processes costs more than they save (measured: 0.4 s)."""

_BATCH_CHARS = 2_000_000


def map_batches(
    work: Callable[[list[Item]], Result],
    items: Iterable[Item],
    size_of: Callable[[Item], int],
    *,
    total: int,
    progress: Progress | None = None,
) -> Iterator[Result]:
    """`work` applied to batches of about two megabytes of text, results in the order of `items`.

    `work` must be importable (a module's function or a partial of one) and without side effects. Items
    are taken one batch at a time and results wait for nobody, so memory does not grow with their
    number. `total` is the size of all of them; `progress` is told how much of it is done.
    """
    workers = worker_count()
    batches = _batches(items, size_of)
    done = 0

    def result(found: Result) -> Result:
        nonlocal done
        done = min(done + _BATCH_CHARS, total)
        if progress:
            progress(done, total)
        return found

    if total < MIN_CHARS or workers < 2 or _alone.get():
        for batch in batches:
            yield result(work(batch))
        return
    pending: deque[tuple[list[Item], Future[Result]]] = deque()

    def first() -> Result:
        batch, future = pending.popleft()
        try:
            return result(future.result())
        except BrokenProcessPool:  # a process died: what it was at is done here, the rest by new ones
            shutdown()
            return result(work(batch))

    for batch in batches:
        pending.append((batch, submit(work, batch)))
        if len(pending) > workers * 2:
            yield first()
    while pending:
        yield first()


def _batches(items: Iterable[Item], size_of: Callable[[Item], int]) -> Iterator[list[Item]]:
    batch: list[Item] = []
    size = 0
    for item in items:
        batch.append(item)
        size += size_of(item)
        if size >= _BATCH_CHARS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def warm_up(total: int) -> None:
    """Start the processes before there is work for them, if `total` characters are worth it."""
    if total >= MIN_CHARS and worker_count() > 1:
        for _ in range(worker_count()):
            _pool().submit(_started)


def submit(work: Callable[[Item], Result], item: Item) -> Future[Result]:
    """Work for one of the processes; for new ones where one has died."""
    try:
        return _pool().submit(work, item)
    except BrokenProcessPool:
        shutdown()
        return _pool().submit(work, item)


def limit_workers(workers: int) -> None:
    """So many processes from now on; 0: by the machine. Those of another number end."""
    global _wanted
    if workers != _wanted:
        shutdown()
        _wanted = workers


@contextmanager
def alone() -> Iterator[None]:
    """Whatever is mapped in the body stays in this process: it is one of many already."""
    token = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(token)


_alone: ContextVar[bool] = ContextVar("alone", default=False)

_wanted = 0
"""Processes of the pool; 0: by the machine."""


def worker_count(wanted: int = 0) -> int:
    """Processes that work side by side: as many as wanted, else as cores this process may use.

    Those are the ones it is bound to, and no more than its control group has time for; half a gigabyte of memory is
    needed for each.
    """
    if wanted or _wanted:
        return wanted or _wanted
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, _granted(Path("/sys/fs/cgroup/cpu.max"))))


def _granted(limit: Path) -> int:
    """Cores that a control group has time for (cgroup v2: quota and period in microseconds)."""
    try:
        quota, period = limit.read_text(encoding="ascii").split()
        return max(1, int(quota) // int(period))
    except (OSError, ValueError):
        return 1_000_000  # no group, or `max`


def shutdown() -> None:
    """End the worker processes, if any were started."""
    if _pool.cache_info().currsize:
        pool = _pool()
        workers = list((pool._processes or {}).values())  # the pool itself would wait for what they are at
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.terminate()
        _pool.cache_clear()


@lru_cache(maxsize=1)
def _pool() -> ProcessPoolExecutor:
    """One pool for all stages of a build: its processes import what they need once."""
    # Not fork: Polars and DuckDB keep threads that a forked child would wait for.
    context = multiprocessing.get_context("forkserver" if os.name == "posix" else "spawn")
    if os.name == "posix":
        # What these modules import has no threads; Polars does, so each process imports it for itself.
        context.set_forkserver_preload(["pipeline.extract.document", "pipeline.chunk.cutting"])
    return ProcessPoolExecutor(
        worker_count(), mp_context=context, initializer=_single_threaded, initargs=(os.getpid(),)
    )


def _single_threaded(driver: int) -> None:
    if os.name == "posix":
        threading.Thread(target=_end_with, args=(driver,), daemon=True).start()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.environ["POLARS_MAX_THREADS"] = "1"
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that can say what was interrupted
    gc.disable()  # parsing makes many objects and few cycles, and these processes are short-lived
    importlib.import_module("pipeline.extract.extraction")
    importlib.import_module("pipeline.chunk.chunking")


def _end_with(driver: int) -> None:
    """End when the process that gives the work has ended: nobody waits for what is done."""
    while True:
        time.sleep(2)
        try:
            os.kill(driver, 0)
        except ProcessLookupError:
            os._exit(1)
        except OSError:
            return  # there, and somebody else's


def _started() -> None:
    """A task that is done when its process has started."""
