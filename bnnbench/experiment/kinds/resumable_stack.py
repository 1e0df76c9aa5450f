"""Base class of experiments that train replicas in stacks, and resume from saved states.

A unit is trained as one or more replicas. On a GPU all units that can be stacked form one stack; on
a CPU each unit is a separate stack. States are saved for each unit during training.
"""

from __future__ import annotations

import io
import json
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import torch

from bnnbench.constraints import Whole
from bnnbench.experiment.kinds.base import HasGroups, HasSteps
from bnnbench.experiment.store.unit_store import UnitResults, UnitStore
from bnnbench.files import (
    READ_ERRORS,
    checksum,
    is_out_of_memory,
    open_file,
    read_bytes,
    write_bytes,
)
from bnnbench.notes import note
from bnnbench.random_streams import derive_seed

SAVE_SECONDS = 5.0
"""Seconds between saved states."""

State = Mapping[str, Any]


@dataclass(frozen=True)
class Repetition:
    """The random streams of a replica.

    Attributes:
        seed: of the run.
        repetition: number of the replica. Equal numbers see the same random numbers.
    """

    seed: int
    repetition: int

    def seed_for(self, *purpose: str | int) -> int:
        """Return the seed of a random stream."""
        return derive_seed(self.seed, self.repetition, *purpose)


@dataclass
class Log:
    """Training history of a replica.

    Attributes:
        curve: a row of scores per evaluation.
        seconds: its part of the processor time.
    """

    curve: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0


LogT = TypeVar("LogT", bound=Log)


class ResumableStack(ABC, Generic[LogT]):
    """Replicas that train together, resumable after any step.

    Args:
        logs: new logs of the replicas.

    Attributes:
        logs: history of each replica.
        steps: number of finished steps.
    """

    def __init__(self, logs: list[LogT]) -> None:
        self.logs, self.steps = logs, 0

    @abstractmethod
    def take_step(self) -> None:
        """Train for one step, and record scores if they are due."""

    @abstractmethod
    def replica_state(self, k: int) -> dict[str, Any]:
        """Return everything needed to resume replica `k`, except its log."""

    @abstractmethod
    def restore_replica(self, k: int, state: State) -> None:
        """Set replica `k`, whose log is already restored, to a saved state."""

    def start(self) -> None:
        """Prepare the first step."""
        return

    def is_over(self) -> bool:
        """Whether further steps would change nothing."""
        return False

    @torch.inference_mode()
    def run(self, steps: int, save: Callable[[], None]) -> None:
        """Train.

        Args:
            steps: number of steps after which training ends.
            save: called every `SAVE_SECONDS` and at the end.
        """
        saved, started = time.monotonic(), time.process_time()
        if not self.steps:
            self.start()
        while True:
            over = self.steps >= steps or self.is_over()
            if over or time.monotonic() - saved > SAVE_SECONDS:
                for log in self.logs:
                    log.seconds += (time.process_time() - started) / len(self.logs)
                saved, started = time.monotonic(), time.process_time()
                save()
            if over:
                return
            self.take_step()
            self.steps += 1

    def state(self, k: int) -> State:
        """Return everything needed to resume replica `k`."""
        log = {name: copy(value) for name, value in vars(self.logs[k]).items()}
        return {"log": log, **self.replica_state(k)}

    @torch.inference_mode()
    def restore(self, steps: int, states: Sequence[State]) -> None:
        """Resume all replicas from their states after this number of steps."""
        self.steps = steps
        for k, state in enumerate(states):
            self.logs[k] = type(self.logs[k])(**state["log"])
            self.restore_replica(k, state)


StackT = TypeVar("StackT", bound=ResumableStack[Any])


@dataclass(frozen=True, kw_only=True)
class StackExperiment(HasGroups, HasSteps, Generic[StackT]):
    """An experiment whose units train in stacks, and resume with the same bits after a stop.

    Attributes:
        seed: seed of all random numbers.
        device: `cpu` or `cuda`.
    """

    seed: Annotated[int, Whole(0)]
    device: str

    @abstractmethod
    def make_stack(self, units: Sequence[str]) -> StackT:
        """Return new replicas of units, equally many for each, in the order of the units."""

    @abstractmethod
    def results(self, stack: StackT, members: Mapping[str, range]) -> Iterator[UnitResults]:
        """Measure the trained replicas; yield the tables and the arrays of each unit.

        Args:
            stack: the replicas.
            members: positions of the replicas of each unit.
        """

    @abstractmethod
    def total_steps(self, unit: str) -> int:
        """Return the number of steps of a unit, equal for units of one stack."""

    @abstractmethod
    def unit_seconds(self, unit: str) -> float:
        """Estimate the seconds that a unit takes on a CPU core."""

    def stack_key(self, unit: str) -> Hashable:
        """Return a key that is equal for units that can form one stack."""
        return None

    @property
    def lockstep(self) -> bool:
        """Whether units form stacks, as they do on a GPU."""
        return self.device == "cuda"

    def groups(self, units: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """Group all units that form a stack on a GPU, none on a CPU, where one fills the cache."""
        if not self.lockstep:
            return tuple((unit,) for unit in units)
        groups: dict[Hashable, list[str]] = {}
        for unit in units:
            groups.setdefault(self.stack_key(unit), []).append(unit)
        return tuple(map(tuple, groups.values()))

    def run_group(self, units: Sequence[str], store: UnitStore, workers: int = 1) -> None:
        """Train the units in as few stacks as their saved states allow."""
        pending = [unit for unit in units if not store.finished(unit)]
        saved = {unit: read_state(_state_path(store, unit)) for unit in pending}
        # A run that is killed between two writes leaves states of different steps.
        for steps in sorted({done for done, _ in saved.values()}):
            members = [unit for unit in pending if saved[unit][0] == steps]
            stack = self.make_stack(members)
            if steps:
                stack.restore(steps, [state for unit in members for state in saved[unit][1]])
            self._run_stack(stack, members, store)

    def _run_stack(self, stack: StackT, units: Sequence[str], store: UnitStore) -> None:
        """Train units to their end in one stack, and save their results."""
        count = len(stack.logs) // len(units)
        members = {unit: range(k * count, (k + 1) * count) for k, unit in enumerate(units)}

        def save() -> None:
            for unit, own in members.items():
                path = _state_path(store, unit)
                write_state(path, stack.steps, [stack.state(k) for k in own])

        stack.run(self.total_steps(units[0]), save)
        for unit, (tables, arrays) in zip(units, self.results(stack, members), strict=True):
            store.save(unit, tables, arrays)
            _state_path(store, unit).unlink(missing_ok=True)

    def count_steps(self, unit: str, store: UnitStore) -> tuple[int, int]:
        """Return the numbers of steps saved on disk and in total."""
        total = self.total_steps(unit)
        done = total if store.finished(unit) else saved_steps(_state_path(store, unit))
        return done, total

    def cost(self, workers: int) -> float:
        """Return the seconds of a unit, on average, for each round of units on all workers."""
        units = self.units()
        mean = sum(map(self.unit_seconds, units)) / len(units)
        return mean * math.ceil(len(units) / workers)


def _state_path(store: UnitStore, unit: str) -> Path:
    return store.file(unit, STATE)


STATE = "state"
"""File suffix of a unit's state."""


def write_state(path: Path, steps: int, replicas: Sequence[Mapping[str, Any]]) -> None:
    """Write the states of all replicas of a unit after a number of steps, atomically.

    The first line has the number of steps, so that it is read without the states.
    """
    buffer = io.BytesIO()
    torch.save({"steps": steps, "replicas": list(replicas)}, buffer)
    content = buffer.getvalue()
    line = json.dumps({"steps": steps, "checksum": checksum(content)})
    write_bytes(path, line.encode() + b"\n" + content)


def saved_steps(path: Path) -> int:
    """Return the number of finished steps, 0 if there is no readable state."""
    try:
        with open_file(path) as file:
            return int(json.loads(file.readline())["steps"])
    except READ_ERRORS:
        return 0


def read_state(path: Path) -> tuple[int, list[Any]]:
    """Return the number of finished steps and the states of all replicas; 0 and none if missing.

    A damaged state is reported on standard error and ignored, so that the unit starts again.
    """
    if not path.exists():
        return 0, []
    line, _, content = read_bytes(path).partition(b"\n")
    try:
        if json.loads(line)["checksum"] == checksum(content):
            state = torch.load(io.BytesIO(content), weights_only=True)
            return state["steps"], state["replicas"]
    except READ_ERRORS as error:
        if is_out_of_memory(error):
            raise
    note(f"{path} is damaged; its unit starts again.")
    return 0, []
