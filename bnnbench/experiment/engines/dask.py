"""The Dask engine: workers on other machines, which may join and leave."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from bnnbench.constraints import Count
from bnnbench.experiment.engines.base import (
    Engine,
    EngineSettings,
    LostTaskCounter,
    appears_on_disk,
)
from bnnbench.experiment.engines.payload import Files, PayloadCache, compute, pack, unpack
from bnnbench.experiment.kinds.base import Task
from bnnbench.notes import note
from bnnbench.types import UserError

if TYPE_CHECKING:
    from distributed import Client, Future

POLL_INTERVAL = 0.5  # seconds


@dataclass(frozen=True, kw_only=True)
class Dask(EngineSettings):
    """A running Dask cluster.

    Attributes:
        address: of its scheduler, `tcp://HOST:8786` or `tls://HOST:8786`.
        shared: whether the workers see the outputs folder under the same path; otherwise they send
            their files back.
        connect_timeout: seconds to wait for a scheduler that no longer answers.
    """

    address: str | None
    shared: bool = True
    connect_timeout: Count = 600
    remote: ClassVar[bool] = True

    def check(self) -> None:
        if not isinstance(self.address, str) or "://" not in self.address:
            raise UserError(
                "engine.address must be the address of a Dask scheduler, such as "
                f"engine.address=tcp://HOST:8786, not {self.address!r}.",
                "engine.address",
            )
        if find_spec("distributed") is None:
            raise UserError("engine=dask needs Dask: `pip install distributed`.", "engine")

    def create_engine(self, workers: int, outputs: Path) -> Engine:
        """Connect to the cluster.

        Raises:
            UserError: if no scheduler answers.
        """
        return DaskEngine(self)


class DaskEngine(Engine):
    """Submits tasks as payloads, and resubmits those that the cluster loses."""

    def __init__(self, settings: Dask) -> None:
        """Connect at once, so that a wrong address fails before anything is written."""
        self._settings = settings
        self._futures: dict[str, Future[Any]] = {}
        self._tasks: dict[str, Task] = {}
        self._errors: dict[str, BaseException] = {}
        self._lost_tasks = LostTaskCounter()
        self._cache = PayloadCache()
        self._sent: dict[str, Future[Any]] = {}
        self._ended: queue.SimpleQueue[tuple[str, Future[Any]]] = queue.SimpleQueue()
        self._client = _client(settings, connect_timeout=10)

    def start(self, tasks: Sequence[Task]) -> None:
        """Submit the tasks that are neither finished nor submitted."""
        for task in tasks:
            if task.key not in self._futures and not task.finished():
                self._hand_out(task)

    def finish(self, tasks: Sequence[Task], while_waiting: Callable[[], object]) -> None:
        """Wait until all tasks are on disk."""
        self.start(tasks)
        while_waiting()
        left = {task.key: task for task in tasks}
        while left := {key: task for key, task in left.items() if not task.finished()}:
            for key in left:
                if key in self._errors:
                    raise self._errors.pop(key)
                if key not in self._futures:  # lost, or discarded after it was computed
                    self._hand_out(left[key])
            self._wait()

    def close(self) -> None:
        """Disconnect from the cluster, which then drops the tasks that it has not started."""
        left = [key for key in self._futures if not self._tasks[key].finished()]
        if left:
            note(
                f"{len(left)} unfinished groups of units on {self._settings.address}: those that "
                "have started will finish there, the others are cancelled"
            )
        self._client.close(timeout=5)

    def _wait(self) -> None:
        """Process all futures that have ended; reconnect if the scheduler is gone."""
        with suppress(queue.Empty):
            key, future = self._ended.get(timeout=POLL_INTERVAL)
            while True:
                if self._futures.get(key) is future:
                    del self._futures[key]
                    self._process(self._tasks[key], future)
                key, future = self._ended.get_nowait()
        if self._client.status not in ("running", "connecting"):
            self._reconnect()

    def _hand_out(self, task: Task) -> None:
        if self._client.status != "running":  # `_reconnect` submits it
            return
        payload = pack(task, self._cache, self._settings.shared)
        tables = {name: self._table(name) for name in payload.tables}
        # Impure, so that a task submitted again is computed again.
        future = self._client.submit(compute, payload, tables, pure=False)
        self._futures[task.key], self._tasks[task.key] = future, task
        future.add_done_callback(lambda ended, key=task.key: self._ended.put((key, ended)))

    def _table(self, name: str) -> Future[Any]:
        """Send a table once; workers then fetch it from each other."""
        if name not in self._sent or self._sent[name].status in ("lost", "cancelled", "error"):
            # Submitted, not scattered: scattered data would be lost with the worker that holds it.
            pickled = self._cache.pickled(name)
            self._sent[name] = self._client.submit(bytes, pickled, pure=False)
        return self._sent[name]

    def _process(self, task: Task, future: Future[Any]) -> None:
        """Store the files of a task, resubmit it if it was lost, or keep its error."""
        try:
            files = self._result(future)
        except Exception as error:
            try:
                if not _is_lost(error):
                    raise
                self._lost_tasks.add(task, "see the logs of the workers")
                self._hand_out(task)
            except Exception as final:
                self._errors[task.key] = final
        else:
            unpack(task, files) if files else self._check_shared(task)

    def _result(self, future: Future[Any]) -> Files:
        """Return the files in a future that has ended; none if the folder is shared.

        Raises:
            Exception: the error it ended with.
        """
        from distributed import CancelledError

        if future.status == "finished":
            return {} if self._settings.shared else future.result(timeout=60)
        if future.status == "error":
            raise future.exception(timeout=60)
        raise CancelledError(future.key)

    def _check_shared(self, task: Task) -> None:
        """Wait for the files of a finished task, and keep an error if they do not appear."""
        if not appears_on_disk(task):
            self._errors[task.key] = UserError(
                f"a worker finished {', '.join(task.units)}, but its files are not in "
                f"{task.store.folder.root}; if the workers do not see this folder, use "
                "engine.shared=false.",
                "engine.shared",
            )

    def _reconnect(self) -> None:
        """Wait for the scheduler to return and resubmit all unfinished tasks."""
        address = self._settings.address
        note(f"the Dask scheduler at {address} does not answer; waiting for it")
        self._client.close(timeout=1)
        self._client = _client(self._settings, self._settings.connect_timeout)
        open_ = [self._tasks[key] for key in self._futures]
        self._futures, self._sent = {}, {}
        self.start(open_)


def _check_certificates(address: str | None) -> None:
    """Check that Dask's settings name readable certificates if the address is `tls://`."""
    from distributed import Security

    if address is None or not address.startswith("tls://"):
        return
    names = "DASK_DISTRIBUTED__COMM__TLS__CA_FILE, ...__CLIENT__CERT and ...__CLIENT__KEY"
    key = "engine.address"
    try:
        context = Security().get_connection_args("client").get("ssl_context")
    except OSError as error:  # that of OpenSSL too
        raise UserError(
            f"the certificates in {names} cannot be read: {error}.", key, "certificates"
        ) from None
    if context is None:
        raise UserError(f"{key}={address} needs certificates; set {names}.", key, "certificates")


def _client(settings: Dask, connect_timeout: float) -> Client:
    from distributed import Client

    _check_certificates(settings.address)
    until = time.monotonic() + connect_timeout
    while True:
        try:
            return Client(settings.address, timeout="5 s", set_as_default=False, name="bnnbench")
        except (OSError, TimeoutError, ValueError) as error:
            if time.monotonic() > until or isinstance(error, ValueError):
                raise UserError(
                    f"no Dask scheduler answers at engine.address={settings.address}; start one or "
                    "correct the address.",
                    "engine.address",
                    "no_answer",
                ) from None
            time.sleep(1)


def _is_lost(error: Exception) -> bool:
    """Whether the cluster lost the task, as opposed to an error of the task itself."""
    from distributed import CancelledError, KilledWorker
    from distributed.comm.core import CommClosedError

    lost_errors = CancelledError, KilledWorker, CommClosedError, TimeoutError
    raised_by_dask = isinstance(error, OSError) and error.errno is None  # raised by Dask
    return isinstance(error, lost_errors) or raised_by_dask
