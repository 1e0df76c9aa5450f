"""What is sent to another machine, what comes back, and who may compute it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from support.tiny_runs import finished

from bnnbench.experiment.engines.parcel import Parcel, Sender, compute, packed, unpack
from bnnbench.experiment.engines.work import Work
from bnnbench.experiment.execution import works_of
from bnnbench.experiment.run import Run
from bnnbench.experiment.split_files import CIRCUMSTANCES
from bnnbench.files import write_atomically
from bnnbench.types import UserError

Planner = Callable[..., Run]


def sent(run: Run, shared: bool) -> list[tuple[Work, Parcel, dict[str, bytes]]]:
    run.folder.create()
    sender = Sender()
    made = [(work, packed(work, sender, shared)) for work in works_of(run, run.open_units(), None)]
    return [
        (work, parcel, {name: sender.pickled(name) for name in parcel.tables})
        for work, parcel in made
    ]


def test_the_table_travels_apart_once_for_all(tiny: Planner) -> None:
    run, again = tiny("splits=2"), tiny("splits=2", "seed=1")
    run.experiment.groups(run.experiment.units())
    sender = Sender()
    parcels = [
        packed(work, sender, True)
        for one in (run, again)
        for work in works_of(one, one.experiment.units(), None)
    ]
    (name,) = {name for parcel in parcels for name in parcel.tables}
    assert len(parcels) == 4 and b"splits" in sender.pickled(name)
    inputs = run.experiment.table.inputs.tobytes()  # type: ignore[attr-defined]
    assert inputs in sender.pickled(name)
    assert not any(inputs in parcel.work for parcel in parcels)
    # Neither do the splits, which the experiment has remembered, nor others of its rows.
    assert max(len(pickle.dumps(parcel)) for parcel in parcels) < 10_000


@pytest.mark.parametrize("shared", [True, False])
def test_what_comes_back_is_what_is_computed_here(
    tiny: Planner, tmp_path: Path, shared: bool
) -> None:
    _, expected = finished(tiny("splits=2"))
    run = replace(tiny("splits=2"), outputs=tmp_path / "sent")
    for work, parcel, tables in sent(run, shared):
        files = compute(parcel, tables)
        assert bool(files) != shared and work.finished() == shared
        unpack(work, files) if files else None
        assert work.finished() and all(run.store.intact(unit) for unit in work.group)
    assert {path.suffix for path in run.folder.work.iterdir()} == {".json", ".jsonl", ".npz"} | (
        {".lock"} if shared else set()
    )
    table = finished(run)[1]
    pd.testing.assert_frame_equal(
        table.drop(columns=CIRCUMSTANCES), expected.drop(columns=CIRCUMSTANCES), check_exact=True
    )


def test_a_search_goes_on_elsewhere_from_what_there_is_here(tiny: Planner) -> None:
    run = tiny("splits=1")
    finished(run)
    run.store.file("split-00", "json").unlink()
    log = run.store.file("split-00", "trials.jsonl").read_bytes()
    ((_, parcel, tables),) = sent(run, shared=False)
    (files,) = compute(parcel, tables)
    assert files["split-00.trials.jsonl"] == log, "seconds and all"


def test_a_unit_that_is_there_is_left_as_it_is(tiny: Planner, tmp_path: Path) -> None:
    """A group that is computed twice at once is kept once."""
    run = tiny("splits=1")
    ((work, parcel, tables),) = sent(run, shared=False)
    first, second = compute(parcel, tables), compute(parcel, tables)
    unpack(work, first)
    unpack(work, second)
    assert run.store.file("split-00", "json").read_bytes() == first[0]["split-00.json"]
    arrays = "split-00.predictions.npz"
    assert first[0][arrays] == second[0][arrays] and run.store.intact("split-00")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            {"versions": {"torch": "1.0"}},
            r"has torch .* and not 1\.0; every machine needs the same",
        ),
        ({"code": {"version": "9", "modules": {}}}, "another .*bnnbench 9 to .* the same bnnbench"),
    ],
)
def test_other_versions_compute_nothing(tiny: Planner, wrong: dict[str, object], said: str) -> None:
    ((work, parcel, tables),) = sent(tiny("splits=1"), shared=True)
    with pytest.raises(UserError, match=said):
        compute(replace(parcel, **wrong), tables)  # type: ignore[arg-type]
    assert not work.finished()


FULL = 28, "No space left on device"


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        (OSError(*FULL, "/scratch/x"), "No space left on device: 'node17: /scratch/x'"),
        (OSError(*FULL), "No space left on device: 'node17: .*/vadam/"),
        (UserError("another process is working."), "^node17: another process is working"),
    ],
)
def test_what_another_machine_refuses_is_named_with_it(
    tiny: Planner, monkeypatch: pytest.MonkeyPatch, refused: Exception, said: str
) -> None:
    def refuse(work: Work, cores: int = 1) -> None:
        raise refused

    ((_, parcel, tables),) = sent(tiny("splits=1"), shared=True)
    monkeypatch.setattr(Work, "run", refuse)
    monkeypatch.setattr("platform.node", lambda: "node17")
    with pytest.raises(type(refused), match=said):
        compute(parcel, tables)


def test_a_full_disk_names_the_file(tmp_path: Path) -> None:
    """The system says no name where it refuses to write."""

    def full(file: object) -> None:
        raise OSError(*FULL)

    with pytest.raises(OSError, match=f"No space left on device: '{tmp_path}/a.json'"):
        write_atomically(tmp_path / "a.json", full)
    assert not [*tmp_path.iterdir()]
