"""Bandits: known regrets, draws in closed form, pairing, leakage, and the summary."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.linalg import sqrtm
from sklearn.linear_model import BayesianRidge
from support.blocks import blocks, data_files
from support.config import TINY, compose

from bnnbench.config.assemble import build
from bnnbench.experiment.run.execution import execute
from bnnbench.experiment.run.run import Run
from bnnbench.experiment.splits.repetitions import Fits
from bnnbench.random_streams import Streams, derive_seed
from bnnbench.report.run_output import write_page
from bnnbench.results.claims.claims import NOT_JUDGED, check_claims
from bnnbench.suites.exploration import REGRET, STEPS, experiment
from bnnbench.suites.exploration.experiment import (
    Bandit,
    draw_functions,
    play,
    result_tables,
)
from bnnbench.suites.exploration.page import claims, read_regret, run_table, section, summarise_arms
from bnnbench.types import Prediction


def small_run(outputs: Path, *overrides: str) -> Run:
    base = ["experiment=bandit", *TINY[3:], "workers=1", "experiment.steps=18"]
    own = ["experiment.batch=6", "experiment.repetitions=2", f"outputs_dir={outputs}"]
    return build(compose(*base, *own, *overrides))


def small_bandit(outputs: Path, *overrides: str) -> Bandit:
    plan = small_run(outputs, *overrides).experiment
    assert isinstance(plan, Bandit)
    return plan


@pytest.mark.parametrize("delta", [0.5, 0.95])
def test_regret_of_uniform_choices_on_the_wheel(tmp_path: Path, delta: float) -> None:
    """50 - (50 + 1.2 + 3) / 5 = 39.16 outside of delta, and 1.2 - (1.2 + 4) / 5 = 0.16 inside."""
    words = "experiment.steps=20000", f"experiment.delta={delta}"
    table, regret = small_bandit(tmp_path, "method=map", *words).game(0)
    contexts = table.inputs[::5, :2]
    outside = np.linalg.norm(contexts, axis=1) > delta
    area = 1 - delta**2
    assert abs(outside.mean() - area) < 4 * np.sqrt(area * (1 - area) / len(outside))
    expected = outside.mean() * 39.16 + (1 - outside.mean()) * 0.16
    assert regret.mean() == pytest.approx(expected, rel=1e-12)
    best = regret.argmin(1)
    assert (best[~outside] == 0).all()
    quadrants = 2 * (contexts[:, 0] > 0) + (contexts[:, 1] > 0)
    assert {len({*best[outside & (quadrants == k)]}) for k in range(4)} == {1}
    assert {*best[outside]} == {1, 2, 3, 4}


def test_a_linear_bandit_acts_by_draws_in_closed_form(tmp_path: Path) -> None:
    """A second implementation of the whole game, with the same normal numbers."""
    plan = small_bandit(tmp_path, "method=linear")
    table, _ = plan.game(0)
    candidates = np.arange(18 * 5).reshape(18, 5)
    rows = candidates[range(6), [0, 1, 2, 3, 4, 0]].tolist()
    for first in (6, 12):
        x, y = table.inputs[rows], table.targets[rows]
        scale = np.where(x.std(0) > 1e-12, x.std(0), 1)
        features, response = (x - x.mean(0)) / scale, (y - y.mean()) / y.std()
        found = BayesianRidge().fit(features, response)
        identity = np.eye(features.shape[1])
        precision = found.alpha_ * features.T @ features + found.lambda_ * identity
        slopes = found.alpha_ * np.linalg.solve(precision, features.T @ response)
        options = candidates[first : first + 6]
        new = (table.inputs[options.ravel()] - x.mean(0)) / scale
        streams = Streams([derive_seed(plan.seed, "bandit", 0, first, "choice")], (0,))
        streams.uniform(6, 5), streams.uniform(6)
        normals = streams.normal(6, 30)[:, 0].double().numpy()
        root = np.real(sqrtm(new @ np.linalg.solve(precision, new.T)))
        drawn = (new @ slopes + normals @ root).reshape(6, 6, 5)[range(6), range(6)]
        rows += options[range(6), drawn.argmax(1)].tolist()
    assert play(plan, table, 0)["thompson"] == [row % 5 for row in rows]


def test_a_constant_variance_acts_like_the_mean(tmp_path: Path) -> None:
    plan = small_bandit(tmp_path, "method=map")
    table, regret = plan.game(0)
    chosen = play(plan, table, 0)
    assert chosen["thompson"] == chosen["greedy"] != chosen["uniform"]
    tables = result_tables(table, regret, chosen, 0)
    assert len(tables[STEPS]) == 3 * 18
    for row in tables[REGRET]:
        assert row["share"] == pytest.approx(row["regret"] / (18 * regret.mean()))


def test_a_context_has_one_network_for_all_actions(tmp_path: Path) -> None:
    plan = small_bandit(tmp_path, "method=deep_ensemble")
    loc = torch.randn(3, 2, 4, dtype=torch.float64)
    unused: Any = None
    fits = Fits(unused, unused, Prediction(loc, torch.zeros(1), torch.ones(1)), unused)
    drawn = draw_functions(plan.method, fits, np.zeros((6, 4)))
    assert np.array_equal(drawn, loc[[0, 0, 1, 1, 2, 2]].transpose(0, 1))


def test_only_rewards_of_choices_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rewards of other actions change nothing; fits use the rows that were chosen before."""
    plan = small_bandit(tmp_path, "method=bbb", "experiment.arms=[greedy,thompson,epsilon]")
    table, _ = plan.game(0)
    before, refit, sizes = play(plan, table, 0), experiment.refit, []

    def recorded(fitting: Any, table: Any, rows: Any, *rest: Any) -> Fits:
        sizes.append([len(own) for own in rows])
        return refit(fitting, table, rows, *rest)

    monkeypatch.setattr(experiment, "refit", recorded)
    rows = np.arange(18) * 5 + [*before.values()]
    targets = table.targets.copy()
    targets[np.setdiff1d(range(len(targets)), rows)] += 100
    assert play(plan, replace(table, targets=targets), 0) == before
    assert sizes == [[6] * 3, [12] * 3]


def test_summary_and_claims_of_known_regrets() -> None:
    rows = [
        {"repetition": k, "arm": arm, "share": share, "second_half": share, "reward": 1.0,
         "difference": share - 20.0 - k, "method": "laplace", "delta": 0.95}
        for k in range(100)
        for arm, share in (("greedy", 20.0 + k), ("thompson", 19.0 + k - (k % 2)))
    ]  # fmt: skip
    table = pd.DataFrame(rows)
    summary = summarise_arms(table).set_index("arm")
    assert summary.loc["thompson", "difference"] == -1.5
    assert np.isnan(summary.loc["greedy", "difference"])
    assert summary.loc["greedy", ["low", "median", "high"]].tolist() == [44.75, 69.5, 94.25]
    verdicts = [claim.verdict for claim in check_claims(claims, table)]
    assert verdicts == ["confirmed", NOT_JUDGED, NOT_JUDGED]
    fewer = table[table["repetition"] < 99]
    assert check_claims(claims, fewer)[0].verdict == "undecided"


def test_pages_and_reports(tmp_path: Path) -> None:
    folder = execute(small_run(tmp_path, "method=pbp"))
    assert write_page(folder, "png") == []
    assert folder.figure("curves", "png").exists()
    rules = ["uniform", "greedy", "thompson, marginals"]
    assert [row[0] for row in run_table(folder).rows] == rules
    files = data_files(blocks(section, tmp_path))
    assert len(files["regret"]) == len(read_regret(folder)) == 2 * 3
