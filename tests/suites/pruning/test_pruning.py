"""Pruning: closed forms of a linear network, the unpruned run, and the summary of a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from support.blocks import blocks, data_files
from support.config import TINY, compose
from support.tiny_runs import no_page

from bnnbench.config.assemble import build
from bnnbench.experiment.execution import execute
from bnnbench.experiment.fitting import FitSettings
from bnnbench.methods.map import MAP
from bnnbench.methods.shared.contract import Posterior
from bnnbench.nn import MLP
from bnnbench.preprocessing import Scaler
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.suites.pruning.experiment import Fitted, importances, predict_pruned
from bnnbench.suites.pruning.page import read_pruned, removable, section
from bnnbench.types import Split

CPU = torch.device("cpu")


def test_a_linear_network_of_orthonormal_inputs() -> None:
    """The mean squared error grows by the squares of the removed weights."""
    random = np.random.default_rng(0)
    x = random.normal(size=(40, 4))
    x = np.linalg.qr(x - x.mean(0))[0] * np.sqrt(40)  # centred columns of unit deviation
    y = random.normal(size=40)
    weights = np.append(x.T @ y / 40, y.mean())
    scaler = Scaler.of([x], [np.array([-1.0, 1.0])], CPU, torch.float64)
    state = {"loc": torch.from_numpy(weights)[None]}
    one = torch.ones(1, 1).double()
    posterior = Posterior(state, {"noise_precision": one}, MLP((4, 1)), one, torch.tensor([False]))
    fitting = FitSettings(MAP(label="map"), Network(depth=0), Training(), 1, "cpu", 0)
    fitted = Fitted(posterior, scaler, Streams([0], (0,), "cpu", torch.float64))
    split = Split(0, np.arange(1), np.arange(1))
    importance = importances(fitting.method, posterior, [split])["magnitude"][0].numpy()
    assert importance == pytest.approx([*np.abs(weights[:4]), np.inf])
    errors = []
    for removed in range(5):
        keep = torch.from_numpy(importance.argsort().argsort() >= removed)[None]
        loc = predict_pruned(fitting, fitted, torch.from_numpy(x)[None], keep).loc
        errors.append(((loc.numpy() - y) ** 2).mean())
        assert removed < 4 or loc.numpy() == pytest.approx(y.mean())  # the bias alone
    grown = np.cumsum(np.sort(weights[:4] ** 2))
    assert errors[1:] == pytest.approx(errors[0] + grown)


def test_share_removable() -> None:
    curve = pd.Series([2.0, 2.01, 2.05, 3.0], index=[0.0, 0.5, 0.75, 1.0])
    assert removable(curve, 0.01) == pytest.approx(0.5 + 0.25 * 0.01 / 0.04)
    assert removable(curve, 1.0) == 1.0 and removable(curve - 1, 0.0) == 0.0


@pytest.mark.slow
def test_run_and_pages(tmp_path: Path) -> None:
    words = ["dataset=diabetes", "method=bbb", "method.prior_precision=1", "search=none", *TINY]
    words += ["method.noise_precision=5", "workers=1", f"outputs_dir={tmp_path}"]
    words += ["evaluation.out_of_fold=false"]
    folder = execute(build(compose("experiment=pruning", *words)), no_page)
    plain = execute(build(compose(*words)), no_page)
    table, expected = read_pruned(folder), pd.read_csv(plain.table("splits"))
    for arm, own in table[table["share"] == 0].groupby("arm"):
        for name in ("rmse", "log_likelihood", "crps"):
            assert own[name].tolist() == expected[name].tolist(), arm  # bit for bit
    assert (table.groupby("arm")["removed"].max() == round(0.98 * 11 * 4)).all()
    files = data_files(blocks(section, tmp_path))
    assert len(files["pruned"]) == 3 * 7 * 2 and len(files["pruning_claims"]) == 2
