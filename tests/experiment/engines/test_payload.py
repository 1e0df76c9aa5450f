"""Payloads for other machines, the files they return, and the checks of versions."""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from support.tiny_runs import Planner, finished
from support.user_errors import raises_user_error

from bnnbench.experiment.engines.payload import Payload, PayloadCache, compute, pack, unpack
from bnnbench.experiment.kinds.base import Task
from bnnbench.experiment.run.run import Run
from bnnbench.experiment.store.split_files import MACHINE_COLUMNS
from bnnbench.types import UserError


def sent(run: Run, shared: bool) -> list[tuple[Task, Payload, dict[str, bytes]]]:
    run.folder.create()
    cache = PayloadCache()
    made = [(task, pack(task, cache, shared)) for task in run.tasks(run.unfinished_units())]
    return [
        (task, payload, {name: cache.pickled(name) for name in payload.tables})
        for task, payload in made
    ]


def test_payloads_do_not_contain_the_table(tiny: Planner) -> None:
    run, again = tiny("splits=2"), tiny("splits=2", "seed=1")
    run.experiment.groups(run.experiment.units())
    cache = PayloadCache()
    payloads = [
        pack(task, cache, True)
        for one in (run, again)
        for task in one.tasks(one.experiment.units())
    ]
    (name,) = {name for payload in payloads for name in payload.tables}
    assert len(payloads) == 4 and b"splits" in cache.pickled(name)
    inputs = run.experiment.table.inputs.tobytes()  # type: ignore[attr-defined]
    assert inputs in cache.pickled(name)
    assert not any(inputs in payload.task for payload in payloads)
    # Cached splits and rows of the experiment are not included either.
    assert max(len(pickle.dumps(payload)) for payload in payloads) < 10_000


@pytest.mark.parametrize("shared", [True, False])
def test_returned_results_equal_local_ones(tiny: Planner, tmp_path: Path, shared: bool) -> None:
    _, expected = finished(tiny("splits=2"))
    run = replace(tiny("splits=2"), outputs=tmp_path / "sent")
    for task, payload, tables in sent(run, shared):
        files = compute(payload, tables)
        assert bool(files) != shared and task.finished() == shared
        unpack(task, files) if files else None
        assert task.finished() and all(run.store.intact(unit) for unit in task.units)
    assert {path.suffix for path in run.folder.work.iterdir()} == {".json", ".jsonl", ".npz"} | (
        {".lock"} if shared else set()
    )
    table = finished(run)[1]
    pd.testing.assert_frame_equal(
        table.drop(columns=MACHINE_COLUMNS),
        expected.drop(columns=MACHINE_COLUMNS),
        check_exact=True,
    )


def test_a_search_resumes_on_another_machine(tiny: Planner) -> None:
    run = tiny("splits=1")
    finished(run)
    run.store.file("split-00", "json").unlink()
    log = run.store.file("split-00", "trials.jsonl").read_bytes()
    ((_, payload, tables),) = sent(run, shared=False)
    files = compute(payload, tables)
    assert files["split-00.trials.jsonl"] == log, "including times"


def test_a_finished_unit_is_not_overwritten(tiny: Planner) -> None:
    """A group may be computed twice at the same time."""
    run = tiny("splits=1")
    ((task, payload, tables),) = sent(run, shared=False)
    first, second = compute(payload, tables), compute(payload, tables)
    unpack(task, first)
    unpack(task, second)
    assert run.store.file("split-00", "json").read_bytes() == first["split-00.json"]
    arrays = "split-00.predictions.npz"
    assert first[arrays] == second[arrays] and run.store.intact("split-00")


@pytest.mark.parametrize(
    ("wrong", "code", "difference"),
    [
        ({"versions": {"torch": "1.0"}}, "versions_differ", " 1.0"),
        (
            {"code": {"version": "9"}},
            "code_differs",
            " has another version of the code (bnnbench 0",
        ),
    ],
)
def test_other_versions_compute_nothing(
    tiny: Planner, wrong: dict[str, object], code: str, difference: str
) -> None:
    ((task, payload, tables),) = sent(tiny("splits=1"), shared=True)
    with raises_user_error(code=code) as error:
        compute(replace(payload, **wrong), tables)  # type: ignore[arg-type]
    assert difference in str(error.value) and not task.finished()


@pytest.mark.parametrize("change", [b"", b"x"])
def test_a_table_that_was_changed_is_not_loaded(tiny: Planner, change: bytes) -> None:
    ((task, payload, tables),) = sent(tiny("splits=1", "seed=3"), shared=True)
    (name,) = tables
    assert hashlib.sha256(tables[name]).hexdigest() == name
    with raises_user_error(code="table_changed"):
        compute(payload, {name: tables[name][:-1] + change})
    assert not task.finished()


FULL = 28, "No space left on device"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(*FULL, "/scratch/x"), "No space left on device: 'node17: /scratch/x'"),
        (OSError(*FULL), "No space left on device: 'node17: .*/vadam/"),
        (UserError("another process is working."), "^node17: another process is working"),
    ],
)
def test_errors_name_the_machine(
    tiny: Planner, monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    def fail(task: Task, cores: int = 1) -> None:
        raise error

    ((_, payload, tables),) = sent(tiny("splits=1"), shared=True)
    monkeypatch.setattr(Task, "run", fail)
    monkeypatch.setattr("platform.node", lambda: "node17")
    with pytest.raises(type(error), match=message):
        compute(payload, tables)
