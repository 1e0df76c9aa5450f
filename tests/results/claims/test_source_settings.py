"""Settings of runs compared with the defaults in the file of their experiment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.config import compose

from bnnbench.config.assemble import build
from bnnbench.discovery import plugins
from bnnbench.experiment.run.run import Run
from bnnbench.experiment.store.record import Record, write_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.report.experiment_page import ExperimentPage
from bnnbench.results.claims.saved_run import SourceSettings, default_settings

PAGES: dict[str, ExperimentPage] = {
    page.kind: page
    for module in plugins("page")
    for page in (
        *getattr(module, "EXPERIMENT_PAGES", ()),
        *filter(None, [getattr(module, "FUNCTIONALS_PAGE", None)]),
    )
    if page.statements
}
"""The pages that judge claims."""


def folder_of(path: Path, kind: str, identity: dict[str, Any]) -> RunFolder:
    """Return a folder that has a record only."""
    folder = RunFolder(path)
    folder.root.mkdir(exist_ok=True)
    write_record(folder, Record(kind, "abc", {"experiment": kind}, identity))
    return folder


@pytest.mark.parametrize(
    ("changed", "differences"),
    [
        ({}, ""),
        ({"theta": 2, "data_seed": 9, "repetitions": 1, "label": "mine"}, ""),
        ({"theta": 1.5}, "experiment.theta 1.5 instead of 2"),
        ({"draws": [2, 5, 10, 100, 1000, 10000, 50000]}, ""),  # a larger grid
        ({"draws": [2, 5]}, "experiment.draws [2,5] instead of [2,5,10,100,1000,10000]"),
        ({"orders": 3}, ""),  # free
        ({"data_sets": 90}, ""),  # more draws
        ({"data_sets": 2}, "experiment.data_sets 2 instead of 50"),
        ({"tolerance": 1e-6}, "experiment.tolerance 1e-06 instead of 1e-12"),
        ({"sizes": [20]}, "experiment.sizes [20] instead of [20,200]"),
        ({"passes": 7, "theta": 3.0},
         "experiment.theta 3 instead of 2, experiment.passes 7 instead of 100"),
    ],
)  # fmt: skip
def test_settings_that_differ_are_named(
    changed: dict[str, Any], differences: str, tmp_path: Path
) -> None:
    _, defaults = default_settings("clutter")
    found = {**defaults, **changed}
    sizes = found.pop("sizes")  # not in the identity
    settings = SourceSettings(
        ("orders",), ("draws",), ("data_sets",), own=lambda folder: {"sizes": sizes}
    )
    assert settings.differences(folder_of(tmp_path / "run", "clutter", found)) == differences


def test_settings_outside_the_experiment_have_their_own_names(tmp_path: Path) -> None:
    top, own = default_settings("noise_precision")
    assert top == {"rows": 20} and "rows" not in own
    folder = folder_of(tmp_path / "run", "noise_precision", {**own, "rows": 30})
    assert SourceSettings().differences(folder) == "rows 30 instead of 20"


def test_settings_that_the_file_leaves_open_are_the_suite_s(tmp_path: Path) -> None:
    settings = SourceSettings(chosen=lambda record: {"latents": 32, "hidden": (200,)})
    assert "latents" not in default_settings("planar_flows")[1]
    folder = folder_of(tmp_path / "run", "planar_flows", {"latents": 8, "hidden": [200]})
    assert settings.differences(folder) == "experiment.latents 8 instead of 32"


def test_an_experiment_without_a_file_has_no_source_settings(tmp_path: Path) -> None:
    assert default_settings("unknown") == ({}, {})
    assert SourceSettings().differences(folder_of(tmp_path / "a", "unknown", {"x": 1})) == ""


@pytest.mark.parametrize("kind", PAGES)
def test_a_run_with_the_defaults_has_the_settings_of_the_source(kind: str, tmp_path: Path) -> None:
    """Only `own` reads other files than the record."""
    page = PAGES[kind]
    experiment = build(compose(f"experiment={kind}", "workers=1", f"outputs_dir={tmp_path}"))
    record = Run(experiment.experiment, tmp_path, {}).record
    settings = replace(page.settings, own=lambda folder: {})
    folder = folder_of(tmp_path / "run", kind, dict(record.identity))
    named = {*settings.free, *settings.grids, *settings.counts}
    unknown = named - {*default_settings(kind)[1]}
    assert not unknown - {"labels", "enumerated", "latents"}, "null by default"
    if "images" not in record.identity:  # claims are about other images than the digits
        assert settings.differences(folder) == ""
