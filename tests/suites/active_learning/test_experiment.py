"""Active learning: rules that choose rows, pairing, leakage, and the summary of repetitions."""

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
from bnnbench.report.run_output import write_page
from bnnbench.suites.active_learning.experiment import ARMS, ActiveLearning, Choice, label_rows
from bnnbench.suites.active_learning.page import read_labels, run_table, section, summarise_arms
from bnnbench.types import Table

SMALL = ("repetitions=2", "start=8", "additions=3", "test=10", "pool=12")


def small_run(outputs: Path, *overrides: str) -> Run:
    base = ["experiment=active_learning", "dataset=diabetes", *TINY[3:], "workers=1"]
    own = [f"experiment.{setting}" for setting in SMALL]
    return build(compose(*base, *own, "search=none", f"outputs_dir={outputs}", *overrides))


def labels_of(run: Run, table: Table | None = None) -> pd.DataFrame:
    """Return the rows of the first repetition, perhaps on another table."""
    plan = run.experiment
    assert isinstance(plan, ActiveLearning)
    rows = label_rows(plan, table or plan.table, plan.table.splits[0])
    return pd.DataFrame(rows)


def test_rules() -> None:
    epistemic = np.array([1.0, 3.0, 3.0, 2.0])
    pool = np.array([[0.0], [1.0], [5.0], [-4.0]])
    choice = Choice(epistemic, pool, np.array([[0.5], [4.0]]))
    assert {arm: rule(choice) for arm, rule in ARMS.items()} == {
        "random": 0, "variance": 1, "distance": 3,
    }  # fmt: skip
    assert ARMS["variance"](choice._replace(epistemic=np.ones(4))) == 0


def test_a_constant_variance_chooses_like_chance(tmp_path: Path) -> None:
    table = labels_of(small_run(tmp_path, "method=map"))
    random, variance = (
        table[table["arm"] == arm].reset_index(drop=True) for arm in ("random", "variance")
    )
    assert variance["row"].equals(random["row"])
    assert variance["rmse"].to_numpy() == pytest.approx(random["rmse"].to_numpy(), rel=1e-6)
    difference = summarise_arms(table.assign(repetition=0)).set_index("arm")["difference"]
    assert difference["variance"] == pytest.approx(0, abs=1e-4)


def test_only_targets_of_labelled_rows_are_used(tmp_path: Path) -> None:
    """Targets of test rows change scores, and those of rows that are never labelled nothing."""
    run = small_run(tmp_path, "method=bbb")
    plan = run.experiment
    assert isinstance(plan, ActiveLearning)
    before = labels_of(run)
    split, targets = plan.table.splits[0], plan.table.targets.copy()
    used = {*split.train[: plan.start], *before["row"].dropna().astype(int)}
    unused = [row for row in range(len(targets)) if row not in used]
    targets[unused] = np.random.default_rng(0).permutation(targets[unused])
    after = labels_of(run, replace(plan.table, targets=targets))
    assert after["row"].equals(before["row"])
    assert after["epistemic_deviation"].equals(before["epistemic_deviation"])
    assert (after["rmse"] != before["rmse"]).all()


def test_rows_are_labelled_once_and_rules_share_the_start(tmp_path: Path) -> None:
    run = small_run(tmp_path, "method=linear")
    plan = run.experiment
    assert isinstance(plan, ActiveLearning)
    table, split = labels_of(run), plan.table.splits[0]
    assert not {*split.train} & {*split.test} and (len(split.train), len(split.test)) == (20, 10)
    assert table[table["labels"] == 8]["rmse"].nunique() == 1
    for _, own in table.groupby("arm"):
        assert own["labels"].tolist() == [8, 9, 10, 11] and np.isnan(own["row"].iloc[-1])
        chosen = own["row"].dropna().astype(int)
        assert chosen.is_unique and {*chosen} <= {*split.train[8:]}
    random = table[table["arm"] == "random"]["row"].dropna().astype(int)
    assert random.tolist() == split.train[8:11].tolist()


def test_summary_of_known_curves() -> None:
    curves = {"random": [[4.0, 3.0, 2.0], [6.0, 5.0, 4.0]], "variance": [[4.0, 2.0, 1.0]] * 2}
    table = pd.DataFrame(
        [
            {"repetition": k, "arm": arm, "labels": 5 + n, "rmse": rmse}
            for arm, repetitions in curves.items()
            for k, own in enumerate(repetitions)
            for n, rmse in enumerate(own)
        ]
    )
    rows = summarise_arms(table).set_index("arm")
    assert rows.loc["random", ["start", "end", "needed"]].tolist() == [5.0, 3.0, 7.0]
    # Differences of the repetitions: -1 and -3; `variance` reaches the last 3 of `random` at 6.
    assert rows.loc["variance", ["difference", "needed"]].tolist() == [-2.0, 6.0]
    assert rows.loc["variance", "difference_stderr"] == pytest.approx(1.0)


def test_pages_and_reports(tmp_path: Path) -> None:
    folder = execute(small_run(tmp_path, "method=linear"))
    assert write_page(folder, "png") == []
    assert folder.figure("curves", "png").exists()
    assert [row[0] for row in run_table(folder).rows] == ["random", "variance", "distance"]
    table = data_files(blocks(section, tmp_path))["labels"]
    assert len(table) == len(read_labels(folder)) == 2 * 3 * 4
