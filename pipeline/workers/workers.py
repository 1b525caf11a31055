"""Workers by name: `map` gives each task to one of them and yields what came of it, as it is done.

A task is done again where its worker was lost; what is done is never done twice (`engine.tasks`). All workers see the
project, its cache and its output under the same paths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from pipeline.ground import parallel
from syntropy.contract.config import BuildConfig
from syntropy.contract.distribution import install_command
from syntropy.contract.errors import BuildError, MissingDependencyError

Task = TypeVar("Task")
Result = TypeVar("Result")

ATTEMPTS = 3
"""How often a task is begun before the build gives up: one lost worker is bad luck, three are the task's fault."""


class Workers(Protocol):
    """Workers of one build."""

    name: str

    def map(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """`work(task)` of each, as they are done. `work` must be importable.

        Raises what a task raises, and BuildError where its worker was lost time and again.
        """

    def close(self) -> None:
        """Let go of the workers."""


def make_workers(config: BuildConfig) -> Workers:
    """The configured ones. Raises MissingDependencyError, BuildError where a cluster does not answer."""
    if config.engine == "dask":
        return DaskWorkers(config.address, config.workers)
    if config.engine == "ray":
        return RayWorkers(config.address, config.workers)
    if config.engine == "processes" and parallel.worker_count(config.workers) > 1:
        return ProcessWorkers()
    return SerialWorkers()


class SerialWorkers:
    """This process, one task after the other. Methods: see `Workers`."""

    name = "serial"

    def map(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """See `Workers`."""
        return map(work, tasks)

    def close(self) -> None:
        """There is nothing to let go."""


class ProcessWorkers:
    """Processes of this machine, those that read and chunk texts, too. Methods: see `Workers`."""

    name = "processes"

    def map(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """See `Workers`. A process that dies takes the pool with it: what was not done is begun again."""
        from concurrent.futures import as_completed
        from concurrent.futures.process import BrokenProcessPool

        if len(tasks) < 2:
            yield from map(work, tasks)
            return
        waiting = dict(enumerate(tasks))
        for attempt in range(1, ATTEMPTS + 1):
            try:
                futures = {parallel.submit(work, task): number for number, task in waiting.items()}
                for future in as_completed(futures):
                    result = future.result()
                    del waiting[futures[future]]
                    yield result
            except BrokenProcessPool as error:
                parallel.shutdown()
                if attempt == ATTEMPTS:
                    raise _given_up(waiting.values()) from error
            else:
                return

    def close(self) -> None:
        """The pool belongs to the process (`ground.parallel.shutdown`)."""


class DaskWorkers:
    """A dask cluster: the one at `address`, or processes of this machine. Methods: see `Workers`."""

    name = "dask"

    def __init__(self, address: str = "", workers: int = 0) -> None:
        """Raises MissingDependencyError, BuildError."""
        try:
            import distributed
        except ImportError as error:
            raise MissingDependencyError(
                "engine = dask needs dask's scheduler", hint=install_command("dask")
            ) from error
        self._dask: Any = distributed
        self._cluster: Any = None
        try:
            if not address:
                self._cluster = self._dask.LocalCluster(
                    n_workers=parallel.worker_count(workers),
                    threads_per_worker=1,
                    dashboard_address=":0",  # whatever port is free
                    protocol="tcp",
                )
            self._client = self._dask.Client(address or self._cluster, timeout="10s", set_as_default=False)
        except (OSError, ValueError) as error:
            raise BuildError(
                f"no dask scheduler answers at {address}: {error}", hint="start one, or correct build.address"
            ) from error

    def map(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """See `Workers`. Dask itself begins tasks of a lost worker again."""
        if not tasks:
            return
        futures = self._client.map(work, tasks, pure=False)
        try:
            for future in self._dask.as_completed(futures, loop=self._client.loop):
                try:
                    yield future.result()
                except self._dask.KilledWorker as error:
                    raise _given_up(tasks) from error
        finally:
            self._client.cancel(futures, force=True)

    def close(self) -> None:
        """The client goes, and the cluster if it is ours."""
        with suppress(Exception):  # what is left of it ends with this process
            self._client.close(timeout=5)
            if self._cluster is not None:
                self._cluster.close(timeout=5)


class RayWorkers:
    """A ray cluster: the one at `address`, or one of this machine. Methods: see `Workers`."""

    name = "ray"

    def __init__(self, address: str = "", workers: int = 0) -> None:
        """Raises MissingDependencyError, BuildError."""
        try:
            import ray
        except ImportError as error:
            raise MissingDependencyError("engine = ray needs ray", hint=install_command("ray")) from error
        self._ray: Any = ray
        where = {"address": address} if address else {"num_cpus": parallel.worker_count(workers)}
        try:
            ray.init(**where, include_dashboard=False, log_to_driver=False, configure_logging=False)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise BuildError(
                f"no ray cluster answers at {address}: {error}", hint="start one, or correct build.address"
            ) from error

    def map(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """See `Workers`. Ray itself begins tasks of a lost worker again."""
        if not tasks:
            return
        ray = self._ray
        remote = ray.remote(max_retries=ATTEMPTS - 1)(work)
        waiting = [remote.remote(task) for task in tasks]
        while waiting:
            done, waiting = ray.wait(waiting)
            try:
                yield from ray.get(done)
            except ray.exceptions.WorkerCrashedError as error:
                raise _given_up(tasks) from error
            except ray.exceptions.RayTaskError as error:
                raise error.cause from error

    def close(self) -> None:
        """Leave the cluster, or end it if it is ours."""
        self._ray.shutdown()


def _given_up(tasks: Any) -> BuildError:
    named = ", ".join(str(task) for task in list(tasks)[:3])
    return BuildError(
        f"a worker was lost {ATTEMPTS} times at the same work ({named})",
        hint="look for what ends it (memory?): fewer build.workers, or more build.shards; what is done is kept",
    )
