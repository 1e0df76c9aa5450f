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
from support.tiny_runs import no_page

from bnnbench.config.assemble import build
from bnnbench.experiment.execution import execute
from bnnbench.experiment.repetitions import Fits
from bnnbench.experiment.run import Run
from bnnbench.random_streams import Streams, derive_seed
from bnnbench.report.run_output import write_run_output
from bnnbench.results.claims import check_claims
from bnnbench.suites.exploration import experiment
from bnnbench.suites.exploration.claims import claims
from bnnbench.suites.exploration.environments import Game, Games, Wheel
from bnnbench.suites.exploration.experiment import (
    Bandit,
    draw_functions,
    play,
    result_tables,
)
from bnnbench.suites.exploration.page import read_regret, run_table, section, summarise_arms
from bnnbench.suites.exploration.tables import REGRET, STEPS
from bnnbench.types import Prediction


def small_run(outputs: Path, *overrides: str) -> Run:
    base = ["experiment=bandit", *TINY[3:], "workers=1", "search=none", "environment.steps=18"]
    own = ["environment.batch=6", "experiment.repetitions=2", f"outputs_dir={outputs}"]
    return build(compose(*base, *own, *overrides))


def parts(run: Run) -> tuple[Bandit, Game]:
    plan = run.experiment
    assert isinstance(plan, Bandit) and isinstance(plan.dataset, Games)
    return plan, plan.dataset.game(0)


@pytest.mark.parametrize("delta", [0.5, 0.95])
def test_regret_of_uniform_choices_on_the_wheel(delta: float) -> None:
    """50 - (50 + 1.2 + 3) / 5 = 39.16 outside of delta, and 1.2 - (1.2 + 4) / 5 = 0.16 inside."""
    game = Wheel(20_000, 50, delta=delta).game(None, False, np.random.RandomState(0))
    contexts = game.table.inputs[::5, :2]
    outside = np.linalg.norm(contexts, axis=1) > delta
    area = 1 - delta**2
    assert abs(outside.mean() - area) < 4 * np.sqrt(area * (1 - area) / len(outside))
    expected = outside.mean() * 39.16 + (1 - outside.mean()) * 0.16
    assert game.regret.mean() == pytest.approx(expected, rel=1e-12)
    best = game.regret.reshape(-1, 5).argmin(1)
    assert (best[~outside] == 0).all()
    quadrants = 2 * (contexts[:, 0] > 0) + (contexts[:, 1] > 0)
    assert {len({*best[outside & (quadrants == k)]}) for k in range(4)} == {1}
    assert {*best[outside]} == {1, 2, 3, 4}


def test_a_linear_bandit_acts_by_draws_in_closed_form(tmp_path: Path) -> None:
    """A second implementation of the whole game, with the same normal numbers."""
    plan, game = parts(small_run(tmp_path, "method=linear"))
    rows = game.candidates[range(6), [0, 1, 2, 3, 4, 0]].tolist()
    for first in (6, 12):
        x, y = game.table.inputs[rows], game.table.targets[rows]
        scale = np.where(x.std(0) > 1e-12, x.std(0), 1)
        features, response = (x - x.mean(0)) / scale, (y - y.mean()) / y.std()
        found = BayesianRidge().fit(features, response)
        identity = np.eye(features.shape[1])
        precision = found.alpha_ * features.T @ features + found.lambda_ * identity
        slopes = found.alpha_ * np.linalg.solve(precision, features.T @ response)
        options = game.candidates[first : first + 6]
        new = (game.table.inputs[options.ravel()] - x.mean(0)) / scale
        streams = Streams([derive_seed(plan.seed, "bandit", 0, first, "choice")], (0,))
        streams.uniform(6, 5), streams.uniform(6)
        normals = streams.normal(6, 30)[:, 0].double().numpy()
        root = np.real(sqrtm(new @ np.linalg.solve(precision, new.T)))
        drawn = (new @ slopes + normals @ root).reshape(6, 6, 5)[range(6), range(6)]
        rows += options[range(6), drawn.argmax(1)].tolist()
    assert play(plan, game, 0)["thompson"] == rows


def test_a_constant_variance_acts_like_the_mean(tmp_path: Path) -> None:
    plan, game = parts(small_run(tmp_path, "method=map"))
    chosen = play(plan, game, 0)
    assert chosen["thompson"] == chosen["greedy"] != chosen["uniform"]
    tables, uniform = result_tables(game, chosen, 0), game.regret[game.candidates].mean()
    assert len(tables[STEPS]) == 3 * 18
    for row in tables[REGRET]:
        assert row["share"] == pytest.approx(row["regret"] / (18 * uniform))


def test_a_context_has_one_network_for_all_actions(tmp_path: Path) -> None:
    plan, _ = parts(small_run(tmp_path, "method=deep_ensemble"))
    loc = torch.randn(3, 2, 4, dtype=torch.float64)
    unused: Any = None
    fits = Fits(unused, unused, Prediction(loc, torch.zeros(1), torch.ones(1)), unused)
    drawn = draw_functions(plan.method, fits, np.zeros((6, 4)))
    assert np.array_equal(drawn, loc[[0, 0, 1, 1, 2, 2]].transpose(0, 1))


def test_only_rewards_of_choices_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not chosen changes nothing; with a memory, fits have no more rows than that."""
    settings = ("method=bbb", "environment.memory=8", "experiment.arms=[greedy,thompson,epsilon]")
    plan, game = parts(small_run(tmp_path, *settings))
    before, refit, sizes = play(plan, game, 0), experiment.refit, []

    def recorded(fitting: Any, table: Any, rows: Any, *rest: Any) -> Fits:
        sizes.append([len(own) for own in rows])
        return refit(fitting, table, rows, *rest)

    monkeypatch.setattr(experiment, "refit", recorded)
    targets = game.table.targets.copy()
    targets[np.setdiff1d(range(len(targets)), [*before.values()])] += 100
    assert play(plan, replace(game, table=replace(game.table, targets=targets)), 0) == before
    assert sizes == [[6] * 3, [8] * 3]


@pytest.mark.slow
def test_environments_from_a_data_set(tmp_path: Path) -> None:
    _, table = parts(small_run(tmp_path, "method=linear", "environment=table"))
    rewards = table.reward.reshape(-1, 5)
    assert (rewards.sum(1) == 1).all() and np.ptp(rewards.sum(0)) <= len(rewards) / 20
    _, price = parts(small_run(tmp_path, "method=linear", "environment=price"))
    assert (price.reward <= 0).all() and (price.regret.reshape(-1, 5).min(1) == 0).all()
    plan, pool = parts(small_run(tmp_path, "method=linear", "environment=pool"))
    chosen, targets = play(plan, pool, 0), pool.table.targets
    best = np.flatnonzero(pool.reward)
    assert len(best) == 23 and targets[best].min() >= np.delete(targets, best).max()
    assert not {*pool.start} & {*best} and pool.reward.sum() == pytest.approx(1)
    for row in result_tables(pool, chosen, 0)[REGRET]:
        rows = chosen[row["arm"]]
        assert len({*rows, *pool.start}) == 18 + 20
        assert row["reward"] == pytest.approx(len({*rows} & {*best}) / 23)


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
    assert verdicts == ["confirmed", "not tested", "not tested"]
    fewer = table[table["repetition"] < 99]
    assert check_claims(claims, fewer)[0].verdict == "not tested"


def test_pages_and_reports(tmp_path: Path) -> None:
    folder = execute(small_run(tmp_path, "method=pbp"), no_page)
    write_run_output(folder, figures="png")
    assert folder.figure("curves", "png").exists()
    rules = ["uniform", "greedy", "thompson, marginals"]
    assert [row[0] for row in run_table(folder).rows] == rules
    files = data_files(blocks(section, tmp_path))
    assert len(files["regret"]) == len(read_regret(folder)) == 2 * 3
