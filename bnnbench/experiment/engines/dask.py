"""Workers of a Dask cluster: other machines, which may come and go."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from bnnbench.checks import check_bool, check_int
from bnnbench.experiment.engines.attempts import Attempts
from bnnbench.experiment.engines.base import Engine, EngineSettings, say
from bnnbench.experiment.engines.parcel import Files, Sender, compute, packed, unpack
from bnnbench.experiment.engines.work import Work
from bnnbench.types import UserError

if TYPE_CHECKING:
    from distributed import Client, Future

POLL = 0.5  # seconds between looks at the cluster while nothing comes back
SEEN_WITHIN = 90.0
"""Seconds after which a common folder shows what another machine wrote there (NFS caches)."""


@dataclass(frozen=True, kw_only=True)
class Dask(EngineSettings):
    """A Dask cluster that is there.

    Attributes:
        address: of its scheduler, `tcp://HOST:8786` or `tls://HOST:8786`.
        shared: whether the workers see the outputs folder under the same name; otherwise they send
            their files back.
        patience: seconds to wait for a scheduler that does not answer.
    """

    address: str | None
    shared: bool = True
    patience: int = 600
    remote: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_bool("engine.shared", self.shared)
        check_int("engine.patience", self.patience)
        if not isinstance(self.address, str) or "://" not in self.address:
            raise UserError(
                "engine.address must be that of a Dask scheduler, such as "
                f"engine.address=tcp://HOST:8786, not {self.address!r}."
            )
        if find_spec("distributed") is None:
            raise UserError("engine=dask needs Dask: install bnnbench[dask].")

    def engine(self, workers: int, outputs: Path) -> Engine:
        """Connected to the cluster.

        Raises:
            UserError: if no scheduler answers.
        """
        return DaskEngine(self)


class DaskEngine(Engine):
    """Hands out parcels; what a cluster loses is handed out again."""

    def __init__(self, settings: Dask) -> None:
        """Connects at once, so that a wrong address is said before anything is written."""
        self._settings = settings
        self._futures: dict[str, Future] = {}
        self._works: dict[str, Work] = {}
        self._errors: dict[str, BaseException] = {}
        self._attempts = Attempts()
        self._sender = Sender()
        self._sent: dict[str, Future] = {}
        self._ended: queue.SimpleQueue[tuple[str, Future]] = queue.SimpleQueue()
        self._client = _client(settings, patience=10)

    def start(self, works: Sequence[Work]) -> None:
        """Hands out what is neither finished nor handed out already."""
        for work in works:
            if work.key not in self._futures and not work.finished():
                self._hand_out(work)

    def finish(self, works: Sequence[Work], meanwhile: Callable[[], object]) -> None:
        """Waits until all of it is on disk."""
        self.start(works)
        meanwhile()
        left = {work.key: work for work in works}
        while left := {key: work for key, work in left.items() if not work.finished()}:
            for key in left:
                if key in self._errors:
                    raise self._errors.pop(key)
                if key not in self._futures:  # lost, or computed before it was discarded
                    self._hand_out(left[key])
            self._wait()

    def stop(self) -> None:
        """Leaves the cluster, which forgets what it has not begun."""
        left = [key for key in self._futures if not self._works[key].finished()]
        if left:
            say(
                f"handed out to {self._settings.address} and not finished: {len(left)} groups of "
                "units; those that are begun end there, the others are taken back"
            )
        self._client.close(timeout=5)

    def _wait(self) -> None:
        """Takes in all that has come back, or looks after the cluster if nothing does."""
        with suppress(queue.Empty):
            key, future = self._ended.get(timeout=POLL)
            while True:
                if self._futures.get(key) is future:
                    del self._futures[key]
                    self._take(self._works[key], future)
                key, future = self._ended.get_nowait()
        if self._client.status not in ("running", "connecting"):
            self._reconnect()

    def _hand_out(self, work: Work) -> None:
        if self._client.status != "running":  # there will be another one
            return
        parcel = packed(work, self._sender, self._settings.shared)
        tables = {name: self._table(name) for name in parcel.tables}
        # Not named by its content: what is handed out again has to be done again.
        future = self._client.submit(compute, parcel, tables, pure=False)
        self._futures[work.key], self._works[work.key] = future, work
        future.add_done_callback(lambda ended, key=work.key: self._ended.put((key, ended)))

    def _table(self, name: str) -> Future:
        """A table, sent once: a worker that needs it gets it from another that has it."""
        if name not in self._sent or self._sent[name].status in ("lost", "cancelled", "error"):
            # By a task and not scattered: that would be lost with the worker that has it.
            pickled = self._sender.pickled(name)
            self._sent[name] = self._client.submit(bytes, pickled, pure=False)
        return self._sent[name]

    def _take(self, work: Work, future: Future) -> None:
        """Takes in what has become of some work."""
        try:
            files = self._result(future)
        except Exception as error:
            try:
                if not _is_lost(error):
                    raise
                self._attempts.check(work, "the workers' logs say why")
                self._hand_out(work)
            except Exception as final:
                self._errors[work.key] = final
        else:
            unpack(work, files) if files else self._check_shared(work)

    def _result(self, future: Future) -> tuple[Files, ...]:
        """What a future that has ended holds, if there can be anything.

        Raises:
            Exception: what it ended with.
        """
        from distributed import CancelledError

        if future.status == "finished":
            return () if self._settings.shared else future.result(timeout=60)
        if future.status == "error":
            raise future.exception(timeout=60)
        raise CancelledError(future.key)

    def _check_shared(self, work: Work) -> None:
        """Keeps a sentence on work that is done and not there."""
        until = time.monotonic() + SEEN_WITHIN
        while not work.finished():
            if time.monotonic() > until:
                self._errors[work.key] = UserError(
                    f"{', '.join(work.group)} is done, and not in {work.row[0].store.folder.root}; "
                    "if the workers do not see this folder, use engine.shared=false."
                )
                return
            time.sleep(POLL)

    def _reconnect(self) -> None:
        """Finds the scheduler again and hands out all that it had."""
        address = self._settings.address
        say(f"the Dask scheduler at {address} is gone; waiting for it to come back")
        self._client.close(timeout=1)
        self._client = _client(self._settings, self._settings.patience)
        open_ = [self._works[key] for key in self._futures]
        self._futures, self._sent = {}, {}
        self.start(open_)


def _check_certificates(address: str | None) -> None:
    """For `tls://`, that Dask's own settings name certificates and that these can be read."""
    from distributed import Security

    if address is None or not address.startswith("tls://"):
        return
    names = "DASK_DISTRIBUTED__COMM__TLS__CA_FILE, ...__CLIENT__CERT and ...__CLIENT__KEY"
    try:
        context = Security().get_connection_args("client").get("ssl_context")
    except OSError as error:  # that of OpenSSL too
        raise UserError(f"the certificates that {names} name cannot be read: {error}.") from None
    if context is None:
        raise UserError(f"engine.address={address} needs certificates: give {names}.")


def _client(settings: Dask, patience: float) -> Client:
    from distributed import Client

    _check_certificates(settings.address)
    until = time.monotonic() + patience
    while True:
        try:
            return Client(settings.address, timeout="5 s", set_as_default=False, name="bnnbench")
        except (OSError, TimeoutError, ValueError) as error:
            if time.monotonic() > until or isinstance(error, ValueError):
                raise UserError(
                    f"no Dask scheduler answers at engine.address={settings.address}."
                ) from None
            time.sleep(1)


def _is_lost(error: Exception) -> bool:
    """Whether the cluster lost the work, which says nothing about the work."""
    from distributed import CancelledError, KilledWorker
    from distributed.comm import CommClosedError

    lost = CancelledError, KilledWorker, CommClosedError, TimeoutError
    unnamed = isinstance(error, OSError) and error.errno is None  # Dask's own
    return isinstance(error, lost) or unnamed
