"""The objective by epoch, scores of the training part, and stacks of splits without a search."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from test_methods import HYPER, SEEDS, fit, method, training_set

from bnnbench.divergences.kl import kl
from bnnbench.experiment.plan import STACK, Plan
from bnnbench.experiment.split_experiment import SplitsExperiment, run_open
from bnnbench.methods.map import MAP
from bnnbench.methods.shared.contract import FitTask
from bnnbench.nn import forward
from bnnbench.random_streams import Streams
from bnnbench.report.split_page import write_run_report
from bnnbench.report.training_curves import objective_section, read_objective
from bnnbench.settings import Network, Training

Planner = Callable[..., Plan]
NAMES = [
    "bbb",
    "map",
    "deep_ensemble",
    "mc_dropout",
    "vadam",
    "bbb likelihood=heteroscedastic",
    "sgld",
    "laplace",
]
FIXED = ("method=bbb", "method.noise_precision=10", "method.prior_precision=1")


def traced(name: str, **settings: object) -> Any:
    fitted, data = method(name), training_set()
    hyper = {n: data.inputs.new_full((data.replicas, 1), HYPER[n]) for n in fitted.hyper_names}
    training = Training(**{"batch_size": 8, "samples": 3, "dtype": "float64", **settings})
    streams, own = (Streams(seeds, data.groups, dtype=torch.float64) for seeds in (SEEDS, [5, 6]))
    task = FitTask(data, hyper, Network(width=5), training, 4, streams, trace=own)
    return fitted, data, fitted.fit(task)


@pytest.mark.parametrize("name", NAMES)
def test_recording_the_objective_changes_nothing(name: str) -> None:
    _, data, posterior = traced(name)
    alone = fit(name, data, SEEDS)
    assert alone.trace == {}
    for key, value in alone.state.items():
        assert torch.equal(posterior.state[key], value)
    assert {key: tuple(curve.shape) for key, curve in posterior.trace.items()} == {
        "loss": (4, data.replicas),
        "complexity": (4, data.replicas),
    }
    assert all(curve.isfinite().all() for curve in posterior.trace.values())


def test_the_objective_of_a_point_estimate_by_hand() -> None:
    fitted, data, posterior = traced("map")
    assert isinstance(fitted, MAP)
    weights = posterior.state["loc"]
    outputs, _ = forward(posterior.mlp, weights[None], data.inputs)
    for r, count in enumerate(data.counts):
        error = (outputs[0, r, :count, 0] - data.targets[r, :count]).square()
        precision = torch.tensor(HYPER["noise_precision"], dtype=torch.float64)
        loss = 0.5 * (precision * error - (precision / (2 * torch.pi)).log()).mean()
        decay = 0.5 * HYPER["prior_precision"] * weights[r].square().sum() / count
        torch.testing.assert_close(posterior.trace["loss"][-1, r], loss)
        torch.testing.assert_close(posterior.trace["complexity"][-1, r], decay)


def test_the_complexity_of_a_posterior_is_its_divergence() -> None:
    fitted, data, posterior = traced("bbb")
    loc, scale = fitted.moments(posterior)
    prior = torch.tensor(HYPER["prior_precision"], dtype=torch.float64).rsqrt()
    want = kl(loc, scale, torch.zeros_like(prior), prior).sum(1) / torch.tensor(data.counts)
    torch.testing.assert_close(posterior.trace["complexity"][-1], want)


def run(plan: Plan) -> Any:
    return SplitsExperiment(label="uci").run(plan, write_run_report)


def test_a_run_keeps_its_objective_and_scores_its_training_part(tiny_plan: Planner) -> None:
    plain = tiny_plan(*FIXED)
    plan = tiny_plan(*FIXED, "evaluation.trace=true", "evaluation.training_part=true")
    assert plan.folder.root != plain.folder.root
    folder, before = run(plan), run(plain)
    splits, without = pd.read_csv(folder.splits), pd.read_csv(before.splits)
    assert splits["rmse"].tolist() == without["rmse"].tolist()
    assert not before.objective.exists() and not before.training.exists()
    table = read_objective(folder)
    assert table is not None
    assert table[["split", "epoch"]].to_numpy().tolist() == [[0, 1], [0, 2], [1, 1], [1, 2]]
    assert (folder.root / "figures" / "objective.png").exists()
    with np.load(folder.training) as arrays:
        error = (arrays["target"] - arrays["mean"])[arrays["split"] == 1]
        assert sorted(arrays["row"][arrays["split"] == 1]) == sorted(plan.table.splits[1].train)
    assert np.sqrt(np.mean(error**2)) == pytest.approx(splits["train_rmse"][1])
    hidden_and_output = (3 + 1) * 4 + (4 + 1)
    assert set(splits["parameters"]) == {2 * hidden_and_output}
    assert set(splits["training_rows"]) == {54}
    section = objective_section(plan.outputs)
    assert section is not None and len(section.figures["objectives"].axes[0].lines) == 1


def test_a_method_without_minibatches_keeps_no_objective(tiny_plan: Planner) -> None:
    plan = tiny_plan("method=pbp", "method.compile=never", "evaluation.trace=true", "splits=1")
    assert not run(plan).objective.exists() and objective_section(plan.outputs) is None


def test_splits_stack_only_where_nothing_is_searched(tiny_plan: Planner) -> None:
    given = ("splits=7", "evaluation.out_of_fold=false")
    stacked = tiny_plan(*FIXED, *given)
    assert stacked.groups == (tuple(range(STACK)), (5, 6))
    assert replace(stacked, device="cuda").groups == (tuple(range(7)),)
    assert tiny_plan("method=bbb", *given).groups == tuple((k,) for k in range(7))
    assert tiny_plan(*FIXED, "splits=2").groups == ((0,), (1,))


def test_a_stack_of_splits_gives_what_each_gives_alone(tiny_plan: Planner) -> None:
    given = (*FIXED, "evaluation.out_of_fold=false", "training.dtype=float64")
    together, second = tiny_plan(*given, "splits=3"), tiny_plan(*given, "splits=[1]")
    for plan in (together, second):
        plan.folder.create()
        run_open([plan], [1])
    # The stack runs whole, so that resuming it meets the same stack.
    assert all(together.folder.scores(k).exists() for k in range(3))
    rows = [json.loads(plan.folder.scores(1).read_text()) for plan in (together, second)]
    for name in ("rmse", "log_likelihood", "crps"):
        assert rows[0][name] == pytest.approx(rows[1][name], rel=1e-9)


def test_a_stack_ends_where_its_activations_fill_it(tiny_plan: Planner) -> None:
    given = (*FIXED, "splits=7", "evaluation.out_of_fold=false", "training.batch_size=all")
    whole = tiny_plan(*given, "network.width=100", "training.samples=10")
    assert whole.training.batch_size == len(whole.table.splits[0].train) == 54
    assert whole.stack == 2 and whole.groups == ((0, 1), (2, 3), (4, 5), (6,))
    assert tiny_plan(*given, "network.width=100", "training.samples=100").stack == 1
    assert tiny_plan(*given).stack == STACK
