"""Runs of mine and reference runs in one table: one configuration once, one protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.reference import reference_run

from bnnbench.results.metric_table import BY_KEY
from bnnbench.results.read.labels import labels
from bnnbench.results.read.run_tables import Runs, read_runs
from bnnbench.results.reference.joined_runs import with_reference_runs
from bnnbench.results.reference.write import add

pytestmark = pytest.mark.ci

FIXED: dict[str, Any] = {
    "settings": {"search": "none", "method__noise_precision": 10, "method__prior_precision": 1}
}
"""Settings of another track."""

DEEP: dict[str, Any] = {"depth": 2, "settings": {"network__depth": 2}}
"""Settings of another protocol in the track `free`."""


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the option for reference results of two methods on two data sets."""
    root = tmp_path_factory.mktemp("reference")
    for dataset in ("boston", "yacht"):
        for method in ("pbp", "vadam"):
            reference_run(root / "theirs", dataset=dataset, method=method)
    add(root / "reference", root / "theirs")
    return f"reference@{root / 'reference'}"


def joined(outputs: Path, reference: str) -> Runs:
    return with_reference_runs(read_runs(outputs), reference, [BY_KEY["rmse"]])


@pytest.mark.parametrize(
    ("mine", "n_left_out"),
    [
        ([{"method": "mine"}], 0),
        # The reference runs of these configurations are compared with the other run of mine.
        ([{"method": "vadam"}, {"method": "mine"}], 0),
        ([{"method": "vadam"}, {"method": "pbp"}], 0),
        ([{"method": "other_name", "settings": {"method__class": "bnnbench.methods.vadam"}},
          {"method": "mine"}], 0),
        ([{"method": "mine"}, {"method": "map", **FIXED}], 1),
        ([{"method": "map", **FIXED}, {"method": "mine"}], 1),
        ([{"method": "mine"}, {"method": "mine", **DEEP}], 1),
    ],
)  # fmt: skip
def test_a_configuration_counts_once_and_has_the_protocol_of_the_others(
    tmp_path: Path, reference: str, mine: list[dict[str, Any]], n_left_out: int
) -> None:
    for place, changes in enumerate(mine):
        reference_run(tmp_path, variant=f"v{place}", **changes)
    found = joined(tmp_path, reference)
    names = [str(one["method"]) for one in mine if one["method"] != "map"]
    replaced = {"other_name": "vadam"}
    own = {replaced.get(name, name) for name in names}
    assert sorted(found.scored["method"]) == sorted({*names, *({"pbp", "vadam"} - own)})
    assert found.scored.index.is_unique and labels(found.scored).is_unique
    assert {*found.splits["run"]} == {*found.scored.index}
    assert len(found.left_out) == n_left_out


def test_a_run_of_another_track_with_reference_runs_is_left_out_by_name(
    tmp_path: Path, reference: str
) -> None:
    folder = reference.partition("@")[2]
    theirs, mine = tmp_path / "theirs", tmp_path / "mine"
    reference_run(theirs, method="swag", **FIXED)
    tuned = {"method": "map", **FIXED}
    reference_run(mine, method="mine")
    reference_run(mine, **tuned)
    copy = tmp_path / "reference"
    add(copy, Path(folder).parent / "theirs", theirs)
    found = joined(mine, f"reference@{copy}")
    assert {*found.scored["method"]} == {"mine", "pbp", "vadam"}
    (message,) = found.left_out
    assert "map on boston" in message and "posterior" in message and "book" in message


def test_data_sets_are_joined_one_by_one(tmp_path: Path, reference: str) -> None:
    """On yacht there is only a run without a comparison, which is shown alone."""
    reference_run(tmp_path, method="mine")
    reference_run(tmp_path, dataset="yacht", method="map", **FIXED)
    found = joined(tmp_path, reference).scored
    assert sorted(found.loc[found["dataset"] == "yacht", "method"]) == ["map"]
    assert sorted(found.loc[found["dataset"] == "boston", "method"]) == ["mine", "pbp", "vadam"]


def test_splits_of_mine_are_counted_against_those_of_reference_runs(
    tmp_path: Path, reference: str
) -> None:
    reference_run(tmp_path, method="mine", n_splits=8)
    found = joined(tmp_path, reference).scored
    assert found.set_index("method")["incomplete"].to_dict() == {
        "mine": "8 of 20 splits", "pbp": "", "vadam": "",
    }  # fmt: skip
