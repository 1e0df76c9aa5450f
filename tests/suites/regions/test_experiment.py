"""Runs on regions: their table agrees with the scores of whole test parts, and reports read it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.blocks import blocks, data_files
from support.config import TINY, compose

from bnnbench.config.assemble import build
from bnnbench.experiment.run.execution import execute
from bnnbench.experiment.run.run import Run
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.report.renderers import markdown
from bnnbench.report.run_output import write_page
from bnnbench.suites.regions.experiment import RegionExperiment, region_row
from bnnbench.suites.regions.page import run_notes, run_table, section
from bnnbench.suites.regions.summary import paired_with_pbp, published_regions, read_regions

FIXED = ("method.noise_precision=5", "method.prior_precision=1")


def region_run(outputs: Path, *overrides: str) -> Run:
    base = ("experiment=region_uci", "dataset=diabetes", *TINY, "splits=3", "workers=1")
    return build(compose(*base, "search=none", f"outputs_dir={outputs}", *overrides))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, RunFolder, Path]:
    outputs = tmp_path_factory.mktemp("regions")
    run = region_run(outputs, "method=bbb", *FIXED)
    return run, execute(run), outputs


def test_regions_and_other_rows_add_up_to_the_test_part(
    finished: tuple[Run, RunFolder, Path],
) -> None:
    _, folder, _ = finished
    regions, splits = read_regions(folder), pd.read_csv(folder.table("splits"))
    assert len(regions) == 3 and not folder.arrays("mixture").exists()
    weight = regions["region_rows"] / splits["test_rows"]
    for metric in ("log_likelihood", "crps", "log_likelihood_gaussian"):
        both = weight * regions[f"region.{metric}"] + (1 - weight) * regions[f"inside.{metric}"]
        assert both.to_numpy() == pytest.approx(splits[metric].to_numpy(), rel=1e-5)
    squares = weight * regions["region.rmse"] ** 2 + (1 - weight) * regions["inside.rmse"] ** 2
    assert np.sqrt(squares).to_numpy() == pytest.approx(splits["rmse"].to_numpy(), rel=1e-5)


def test_a_constant_variance_recognises_nothing(tmp_path: Path) -> None:
    folder = execute(region_run(tmp_path, "method=map", *FIXED))
    areas = read_regions(folder)[["auroc.epistemic", "auroc.total"]]
    assert (areas == 0.5).all(axis=None)


def test_shuffled_test_targets_change_no_area(finished: tuple[Run, RunFolder, Path]) -> None:
    run, _, _ = finished
    experiment = run.experiment
    assert isinstance(experiment, RegionExperiment)
    table, split = experiment.table, experiment.table.splits[2]
    region = list(experiment.dataset.regions(table))[2]  # type: ignore[attr-defined]
    random = np.random.default_rng(0)
    loc = random.normal(size=(len(split.test), 7)).astype("float32")
    constant = np.full((len(split.test), 1), 0.1, "float32")
    mixture = {"loc": loc, "epistemic": 0 * constant, "noise": constant}
    targets = table.targets.copy()
    targets[split.test] = random.permutation(targets[split.test])
    row = region_row(table, split, region, mixture)
    shuffled = region_row(replace(table, targets=targets), split, region, mixture)
    areas = [name for name in row if name.startswith("auroc")]
    assert len(areas) == 3 and all(row[name] == shuffled[name] for name in areas)
    assert row["region.rmse"] != shuffled["region.rmse"]


def test_pages_and_reports(finished: tuple[Run, RunFolder, Path]) -> None:
    _, folder, outputs = finished
    assert write_page(folder, "png") == []
    assert folder.figure("features", "png").exists()
    rows = {row[0] for row in run_table(folder).rows}
    assert {"RMSE, in the gap", "Log-likelihood, outside", "AUROC, epistemic variance"} <= rows
    assert any("SEX" in note.upper() for note in run_notes(folder))  # a binary feature
    tail = region_run(outputs, "method=linear", "experiment.region=tail", "experiment.inside=0")
    assert "No AUROC" in " ".join(run_notes(execute(tail)))
    found = blocks(section, outputs)
    (table,) = data_files(found).values()
    assert set(table["kind"]) == {"gap", "tail"} and len(table) == 6
    text = markdown.page(found)
    assert "### diabetes, gap" in text and "distance to training rows" in text


def test_published_values() -> None:
    table = published_regions().set_index(["region", "dataset", "method"])
    mean_field = table.loc["gap", "boston", "MFVI"]
    assert mean_field["family"] == "bbb" and mean_field["rmse_stderr"] > 0
    smi = table.loc["gap10", "boston", "SMI"]
    assert (smi["log_likelihood"], smi["log_likelihood_std"]) == (-5.6, 4.9)
    assert np.isnan(smi["log_likelihood_stderr"])
    sets = table.reset_index().groupby(["region", "source"])["dataset"].nunique()
    assert sets.to_dict() == {
        ("gap", "Antorán et al. 2020"): 9,
        ("gap", "nnuncert 2023"): 7,
        ("gap10", "Rønning et al. 2025"): 9,
        ("tail", "nnuncert 2023"): 7,
    }


def test_single_splits_are_paired_by_feature() -> None:
    ours = pd.DataFrame({
        "label": "pbp", "family": "pbp", "source": "power", "kind": "gap", "split": [3, 2, 1, 0],
        "region.rmse": [4.0, 4.4, 4.1, 4.5], "region.log_likelihood": -2.9,
    })  # fmt: skip
    row = paired_with_pbp(ours).set_index("metric").loc["RMSE"]
    assert row["splits"] == 4 and row["correlation"] > 0.99
    assert row["difference"] == pytest.approx(4.25 - 4.2894615, abs=1e-5)
    assert paired_with_pbp(ours.assign(source="boston")).empty


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind"), [("kin8nm", "gap"), ("kin8nm", "tail"), ("power", "gap")]
)
def test_pbp_agrees_with_published_splits(name: str, kind: str, tmp_path: Path) -> None:
    words = ("experiment=region_uci", f"dataset={name}", f"experiment.region={kind}", "method=pbp")
    rest = ("search=none", "experiment.inside=0", "evaluation.out_of_fold=false", "workers=1")
    run = build(compose(*words, *rest, f"outputs_dir={tmp_path}"))
    table = read_regions(execute(run)).assign(label="pbp", family="pbp", source=name, kind=kind)
    for row in paired_with_pbp(table).to_dict("records"):
        assert row["correlation"] > 0.95
        limit = 0.02 * row["theirs"] if row["metric"] == "RMSE" else 0.03
        assert abs(row["difference"]) < limit
