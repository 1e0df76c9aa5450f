"""What stands in a paper's table, and which of it is bold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.runs import RMSE, make_run

from bnnbench.report.paper.contents import paper_table, published_key, spoken, usual_name
from bnnbench.results.choice import Choice, chosen
from bnnbench.results.metrics import BY_KEY
from bnnbench.results.reader import BESIDE, Runs, read_runs

ERROR, LIKELIHOOD = BY_KEY["rmse"], BY_KEY["log_likelihood"]
METRICS = (ERROR, LIKELIHOOD)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """On boston pbp is best, vadam as good within 1 %, bbb_x1 worse on every split."""
    folder = tmp_path_factory.mktemp("outputs")
    make_run(folder, method="pbp", times=5)
    make_run(folder, method="vadam", times=5, rmse=np.array(RMSE) * 1.001)
    make_run(folder, method="bbb_x1", times=5, rmse=np.array(RMSE) + 3, diverged=[0, 0, 0, 1])
    make_run(folder, method="pbp", dataset="yacht", times=5)
    value = dict.fromkeys(BESIDE, "") | {
        "method": "vadam", "dataset": "wine", "metric": "rmse", "mean": 0.63, "stderr": 0.01,
        "n_splits": 4.0, "decimals": 2.0, "source": "Smith", "year": "2024",
    }  # fmt: skip
    return replace(read_runs(folder), beside=pd.DataFrame([value]))


def test_the_best_and_what_is_as_good_are_bold(runs: Runs) -> None:
    table = paper_table(runs, METRICS)
    bold = {place for place, cell in table.cells.items() if cell.best}
    assert ("boston", "pbp", "rmse") in bold and ("boston", "vadam", "rmse") in bold
    assert not any("bbb" in method for _, method, metric in bold if metric == "rmse")
    assert not any(dataset == "yacht" for dataset, _, _ in bold), "alone, nothing is best"
    assert table.rivals


def test_its_numbers_are_those_of_the_runs(runs: Runs) -> None:
    cell = paper_table(runs, METRICS).cells["boston", "pbp", "rmse"]
    row = runs.scored[runs.scored["method"] == "pbp"].iloc[0]
    assert (cell.mean, cell.stderr, cell.std) == (
        row["rmse_mean"], row["rmse_stderr"], row["rmse_std"],
    )  # fmt: skip


def test_published_values_stand_behind_and_are_never_best(runs: Runs) -> None:
    table = paper_table(runs, METRICS, Choice(datasets=("wine", "boston")))
    assert list(table.datasets) == ["wine", "boston"]
    assert [one.published for one in table.contenders] == [False, False, False, True]
    cell = table.cells["wine", published_key("vadam"), "rmse"]
    assert not cell.best and cell.decimals == 2 and cell.std == pytest.approx(0.02)
    assert table.sources == ("Smith 2024",)
    assert list(paper_table(runs, METRICS).datasets) == ["boston", "yacht"], "wine did not run"


def test_order_and_names_are_as_asked_for(runs: Runs) -> None:
    choice = Choice(("vadam", "pbp"), ("yacht", "boston"))
    names = {"vadam": "Vadam (ours)", "boston": "Boston", "rmse": "Error", "pbp": "PBP"}
    table = paper_table(chosen(runs, choice), METRICS, choice, names)
    assert [one.name for one in table.contenders] == ["Vadam (ours)", "PBP"]
    assert list(table.datasets.values()) == ["yacht", "Boston"]
    assert table.metrics == {ERROR: "Error", LIKELIHOOD: "Log-likelihood"}
    asked = Choice(datasets=("boston", "wine"))
    theirs = paper_table(runs, METRICS, asked, names).contenders[-1]
    assert theirs.name == "vadam", "the name was given to ours"


def test_runs_of_one_method_keep_what_tells_them_apart(tmp_path: Path) -> None:
    make_run(tmp_path, "v1", method="vadam")
    make_run(tmp_path, "v2", method="vadam", settings={"training__epochs": 5})
    table = paper_table(read_runs(tmp_path), METRICS, names={"vadam": "Ours"})
    assert [one.name for one in table.contenders] == ["Ours", "Ours, epochs 5"]
    assert any("settings differ: epochs 5" in line for line in table.runs)


def test_a_metric_is_named_as_in_a_column_and_as_in_a_sentence() -> None:
    seconds = BY_KEY["total_seconds"]
    assert (usual_name(seconds), spoken(seconds, "Total time")) == ("Total time", "total time")
    assert (usual_name(ERROR), spoken(ERROR, "RMSE")) == ("RMSE", "RMSE")
    assert spoken(LIKELIHOOD, "LL") == "LL"


def test_what_diverged_is_counted(runs: Runs) -> None:
    assert paper_table(runs, METRICS).lost == ("5 of 20 of bbb_x1 on boston",)
