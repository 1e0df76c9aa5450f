"""Contents of a paper's table, and which scores are bold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.runs import LOST, RMSE, lose_splits, make_run
from support.user_errors import raises_user_error

from bnnbench.experiment.store.record import read_record, write_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.split_files import SPLITS
from bnnbench.report.paper.latex_table import best_layout, latex_document
from bnnbench.report.paper.paper_table import (
    check_distinct_names,
    default_name,
    name_in_sentence,
    paper_table,
    published_key,
)
from bnnbench.results.metric_table import BY_KEY
from bnnbench.results.read.run_filter import RunFilter, filter_runs
from bnnbench.results.read.run_tables import USER_PUBLISHED_COLUMNS, Runs, read_runs

ERROR, LIKELIHOOD = BY_KEY["rmse"], BY_KEY["log_likelihood"]
METRICS = (ERROR, LIKELIHOOD)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """On boston pbp is best, vadam is sometimes better, bbb_x1 is worse on every split."""
    folder = tmp_path_factory.mktemp("outputs")
    make_run(folder, method="pbp", times=5)
    make_run(folder, method="vadam", times=5, rmse=np.add(RMSE, [-0.1, 0.2, -0.1, 0.2]))
    make_run(folder, method="bbb_x1", times=5, rmse=np.array(RMSE) + 3, diverged=[0, 0, 0, 1])
    make_run(folder, method="pbp", dataset="yacht", times=5)
    value = dict.fromkeys(USER_PUBLISHED_COLUMNS, "") | {
        "method": "vadam", "dataset": "wine", "metric": "rmse", "mean": 0.63, "stderr": 0.01,
        "n_splits": 4.0, "decimals": 2.0, "source": "Smith", "year": "2024",
    }  # fmt: skip
    return replace(read_runs(folder), user_published=pd.DataFrame([value]))


def test_scores_not_significantly_worse_than_the_best_are_bold(runs: Runs) -> None:
    table = paper_table(runs, METRICS)
    bold = {place for place, cell in table.cells.items() if cell.best}
    assert ("boston", "pbp", "rmse") in bold and ("boston", "vadam", "rmse") in bold
    assert not any("bbb" in method for _, method, metric in bold if metric == "rmse")
    assert not any(dataset == "yacht" for dataset, _, _ in bold), "a single run is never the best"
    assert table.has_comparison


@pytest.mark.parametrize(
    ("mine", "outcomes"),
    [
        ("vadam", {"pbp": "undecided", "bbb_x1": "worse"}),
        ("bbb_x1", {"pbp": "better", "vadam": "better"}),
        ("", {}),
    ],
)
def test_all_are_compared_with_one_method(runs: Runs, mine: str, outcomes: dict[str, str]) -> None:
    table = paper_table(runs, [ERROR], names={"vadam": "Ours"}, mine=mine)
    found = {key[1]: cell.against_mine["outcome"] for key, cell in table.cells.items()
             if cell.against_mine}  # fmt: skip
    assert found == outcomes
    assert table.without_mine == (("yacht",) if mine else ()), "it has one run"
    assert table.mine == {"vadam": "Ours"}.get(mine, mine)


def test_its_numbers_are_those_of_the_runs(runs: Runs) -> None:
    cell = paper_table(runs, METRICS).cells["boston", "pbp", "rmse"]
    row = runs.scored[runs.scored["method"] == "pbp"].iloc[0]
    assert (cell.mean, cell.stderr, cell.std) == (
        row["rmse_mean"], row["rmse_stderr"], row["rmse_std"],
    )  # fmt: skip


def test_published_values_come_last_and_are_never_best(runs: Runs) -> None:
    table = paper_table(runs, METRICS, RunFilter(datasets=("wine", "boston")))
    assert list(table.datasets) == ["wine", "boston"]
    assert [one.published for one in table.entries] == [False, False, False, True]
    cell = table.cells["wine", published_key("vadam"), "rmse"]
    assert not cell.best and cell.decimals == 2 and cell.std == pytest.approx(0.02)
    assert table.sources == ("Smith 2024",)
    assert list(paper_table(runs, METRICS).datasets) == ["boston", "yacht"], "wine did not run"


def test_order_and_names_can_be_chosen(runs: Runs) -> None:
    choice = RunFilter(("vadam", "pbp"), ("yacht", "boston"))
    names = {"vadam": "Vadam (ours)", "boston": "Boston", "rmse": "Error", "pbp": "PBP"}
    table = paper_table(filter_runs(runs, choice), METRICS, choice, names)
    assert [one.name for one in table.entries] == ["Vadam (ours)", "PBP"]
    assert list(table.datasets.values()) == ["yacht", "Boston"]
    assert table.metrics == {ERROR: "Error", LIKELIHOOD: "Log-likelihood"}
    asked = RunFilter(datasets=("boston", "wine"))
    theirs = paper_table(runs, METRICS, asked, names).entries[-1]
    assert theirs.name == "vadam", "the name applies to our run"


def test_renamed_runs_keep_their_differing_settings(tmp_path: Path) -> None:
    make_run(tmp_path, "v1", method="vadam")
    make_run(tmp_path, "v2", method="vadam", settings={"training__epochs": 5})
    table = paper_table(read_runs(tmp_path), METRICS, names={"vadam": "Ours"})
    assert [one.name for one in table.entries] == ["Ours", "Ours, epochs 5"]
    assert any("settings differ: epochs 5" in line for line in table.runs)
    names = {"vadam": "Ours", "vadam, epochs 5": "Ours"}
    with raises_user_error("--rename", "same_name"):
        check_distinct_names(paper_table(read_runs(tmp_path), METRICS, names=names))


def test_names_of_metrics_in_columns_and_sentences() -> None:
    seconds = BY_KEY["total_seconds"]
    assert (default_name(seconds), name_in_sentence(seconds, "Total time")) == (
        "Total time",
        "total time",
    )
    assert (default_name(ERROR), name_in_sentence(ERROR, "RMSE")) == ("RMSE", "RMSE")
    assert name_in_sentence(LIKELIHOOD, "LL") == "LL"


def test_diverged_splits_are_counted(runs: Runs) -> None:
    assert paper_table(runs, METRICS).diverged_runs == ("5 of 20 of bbb_x1 on boston",)


@pytest.mark.parametrize("name", LOST)
def test_a_run_that_lacks_splits_is_never_bold(tmp_path: Path, name: str) -> None:
    for method, lead in (("second", 0), ("third", 2)):
        make_run(tmp_path, times=5, method=method, rmse=np.array(RMSE) + lead)
    lose_splits(make_run(tmp_path, times=5, method="best", rmse=np.array(RMSE) - 1), **LOST[name])
    table = paper_table(read_runs(tmp_path), (ERROR,))
    assert [key[1] for key, cell in table.cells.items() if cell.best] == ["second"]
    assert [key[1] for key, cell in table.cells.items() if cell.untested] == (
        ["best"] if "kept" in LOST[name] else []
    )


def two_versions(folder: RunFolder) -> None:
    codes = [{"version": "1", "commit": None, "digest": digest, "own": None} for digest in "ab"]
    write_record(folder, replace(read_record(folder), code_versions=codes))


def other_splits(folder: RunFolder) -> None:
    table = pd.read_csv(folder.table(SPLITS))
    names = "other " + table["fingerprint"]
    table.assign(fingerprint=names).to_csv(folder.table(SPLITS), index=False)


UNTESTED: dict[str, tuple[str, Callable[[RunFolder], object], str]] = {
    "tuned with test rows": ("mc_dropout_gal2016", lambda _: None, "tuned"),
    "too few splits": ("best", partial(lose_splits, kept=8), "8 of 20"),
    "other splits": ("best", other_splits, "20 other"),
    "other training rows": ("best", lambda folder: pd.read_csv(folder.table(SPLITS)).assign(
        training_fingerprint=range(20)).to_csv(folder.table(SPLITS), index=False), "20 other"),
    "two versions of the code": ("best", two_versions, "2 versions"),
}  # fmt: skip
"""Name of a method, a change of its run, and a part of the reason why it is not tested."""


@pytest.mark.ci
@pytest.mark.parametrize("name", UNTESTED)
@pytest.mark.parametrize("lead", [-1.0, 10.0])
def test_a_mean_without_a_mark_is_tested(tmp_path: Path, name: str, lead: float) -> None:
    """Whether it is the best or the worst, an untested mean has a mark, and the caption says why.

    It is no method to compare with.
    """
    method, change, reason = UNTESTED[name]
    for other, more in (("second", [0.0] * 4), ("third", [-0.1, 0.2, -0.1, 0.2])):
        make_run(tmp_path, times=5, method=other, rmse=np.add(RMSE, more))
    change(make_run(tmp_path, times=5, method=method, rmse=np.array(RMSE) + lead))
    runs = read_runs(tmp_path)
    table = paper_table(runs, (ERROR,), mine="second")
    cells = {key[1]: cell for key, cell in table.cells.items()}
    assert {one for one, cell in cells.items() if cell.untested} == {method}
    assert {one for one, cell in cells.items() if cell.best} == {"second", "third"}
    assert {one for one, cell in cells.items() if cell.against_mine} == {"third"}
    (text,) = table.untested
    assert text.startswith(f"{method} on boston (") and reason in text
    written = latex_document(table, best_layout(table))
    assert written.count(r"\sig{\ddagger}") == 1 and reason in written.replace("\n", " ")
    with raises_user_error("--mine", "not_tested"):
        paper_table(runs, (ERROR,), mine=method)


def test_nothing_is_tested_on_two_splits(tmp_path: Path) -> None:
    for method in ("second", "third"):
        lose_splits(make_run(tmp_path, method=method), kept=2)
    table = paper_table(read_runs(tmp_path), (ERROR,))
    assert all(cell.untested and not cell.best for cell in table.cells.values())
    assert not table.has_comparison
    with raises_user_error("--mine", "not_tested"):
        paper_table(read_runs(tmp_path), (ERROR,), mine="second")


@pytest.mark.parametrize(
    ("others", "marks", "missing"),
    [((), False, ()), (("mc_dropout_gal2016",), False, ()), (("pbp",), True, ("yacht",))],
)
def test_a_caption_explains_marks_only_if_they_can_occur(
    tmp_path: Path, others: tuple[str, ...], marks: bool, missing: tuple[str, ...]
) -> None:
    for method in ("mine", *others):
        make_run(tmp_path, method=method)
    if missing:
        make_run(tmp_path, method="pbp", dataset="yacht")
    table = paper_table(read_runs(tmp_path), (ERROR,), mine="mine")
    assert (table.has_marks, table.without_mine) == (marks, missing)
    text = latex_document(table, best_layout(table))
    assert ("$^+$" in text, "no comparison" in text) == (marks, bool(missing))


def test_a_metric_that_mine_lacks_is_named(tmp_path: Path) -> None:
    make_run(tmp_path, method="mine", log_likelihood=float("nan"))
    make_run(tmp_path, method="pbp")
    make_run(tmp_path, method="vadam")
    table = paper_table(read_runs(tmp_path), METRICS, mine="mine")
    assert table.without_mine == ("boston (log-likelihood)",)
