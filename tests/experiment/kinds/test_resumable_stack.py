"""Stacks of replicas: states are saved by unit, and resumed in as few stacks as possible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bnnbench.experiment.kinds import resumable_stack
from bnnbench.experiment.kinds.resumable_stack import (
    STATE,
    Log,
    Repetition,
    ResumableStack,
    StackExperiment,
    write_state,
)
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.unit_store import UnitResults, UnitStore

UNITS, REPETITIONS, STEPS = ("a", "b", "c"), 2, 5


class Sums(ResumableStack[Log]):
    """Replicas that add up random numbers."""

    def __init__(self, replicas: Sequence[Repetition]) -> None:
        super().__init__([Log() for _ in replicas])
        self.replicas, self.values = replicas, [0] * len(replicas)

    def take_step(self) -> None:
        for k, replica in enumerate(self.replicas):
            self.values[k] += replica.seed_for(self.steps)
            self.logs[k].curve.append({"step": self.steps, "value": self.values[k]})

    def replica_state(self, k: int) -> dict[str, Any]:
        return {"value": self.values[k]}

    def restore_replica(self, k: int, state: Mapping[str, Any]) -> None:
        self.values[k] = state["value"]


@dataclass(frozen=True, kw_only=True)
class SumExperiment(StackExperiment[Sums]):
    """Three units of two replicas each."""

    kind = "sums"
    title = "sums"

    def units(self) -> tuple[str, ...]:
        return UNITS

    def path_parts(self) -> tuple[str, ...]:
        return ("sums",)

    def metadata(self) -> dict[str, Any]:
        return {}

    def stack_key(self, unit: str) -> bool:
        return unit == "c"

    def make_stack(self, units: Sequence[str]) -> Sums:
        numbers = [UNITS.index(unit) * REPETITIONS + k for unit in units for k in range(2)]
        return Sums([Repetition(self.seed, number) for number in numbers])

    def results(self, stack: Sums, members: Mapping[str, range]) -> Iterator[UnitResults]:
        for own in members.values():
            yield {"curves": [row for k in own for row in stack.logs[k].curve]}, {}

    def total_steps(self, unit: str) -> int:
        return STEPS

    def unit_seconds(self, unit: str) -> float:
        return 2.0


@pytest.fixture
def store(tmp_path: Path) -> UnitStore:
    folder = RunFolder(tmp_path / "resumed")
    folder.create()
    return UnitStore(folder)


def experiment(device: str = "cuda") -> SumExperiment:
    return SumExperiment(label="sums", seed=0, device=device)


def test_units_of_different_states_are_resumed_in_as_few_stacks_as_possible(
    store: UnitStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    folder = RunFolder(tmp_path / "whole")
    folder.create()
    whole = UnitStore(folder)
    experiment().run_group(UNITS, whole)

    for unit, steps in (("a", 2), ("b", 3), ("c", 3)):
        stack = experiment().make_stack([unit])
        stack.run(steps, lambda: None)
        path = store.file(unit, STATE)
        write_state(path, steps, [stack.state(k) for k in range(REPETITIONS)])
    assert [experiment().count_steps(unit, store)[0] for unit in UNITS] == [2, 3, 3]
    damaged = store.file("a", STATE)
    damaged.write_bytes(damaged.read_bytes()[:-1])

    stacks: list[tuple[int, int]] = []
    run = Sums.run
    monkeypatch.setattr(
        Sums, "run", lambda s, *rest: (stacks.append((s.steps, len(s.logs))), run(s, *rest))[1]
    )
    experiment().run_group(UNITS, store)
    assert stacks == [(0, 2), (3, 4)]
    assert "damaged" in capsys.readouterr().err
    assert all(store.rows(unit, "curves") == whole.rows(unit, "curves") for unit in UNITS)
    assert not list(store.folder.work.glob(f"*.{STATE}"))
    assert experiment().count_steps("a", store) == (STEPS, STEPS)


def test_states_are_saved_at_intervals_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    stack, saved = Sums([Repetition(0, 0)]), []
    stack.run(2, lambda: saved.append(stack.steps))
    monkeypatch.setattr(resumable_stack, "SAVE_SECONDS", -1.0)
    stack.run(4, lambda: saved.append(stack.steps))
    assert saved == [2, 2, 3, 4]


def test_units_with_equal_keys_are_stacked_on_a_gpu_only() -> None:
    assert experiment().groups(UNITS) == (("a", "b"), ("c",))
    assert experiment("cpu").groups(UNITS) == (("a",), ("b",), ("c",))


def test_the_cost_counts_rounds_of_units() -> None:
    assert [experiment().cost(workers) for workers in (1, 2, 3, 8)] == [6, 4, 2, 2]
