"""Vprop: a step by hand, and the search of its preset."""

from __future__ import annotations

import pandas as pd
import pytest
import torch
from support.linear_model import make_hyper, one_batch
from support.tiny_runs import Planner, finished

from bnnbench.cpp.library import Library
from bnnbench.experiment.store.split_files import SEARCH
from bnnbench.methods.vprop import Vprop
from bnnbench.nn import MLP
from bnnbench.settings import Training


@pytest.mark.parametrize("square_root", [True, False])
def test_vprop_step_is_rmsprop_with_the_prior_in_place_of_epsilon(square_root: bool) -> None:
    method, batch = Vprop(label="v", square_root=square_root), one_batch()
    loc, s = torch.tensor([[0.2, -0.1]]).double(), torch.full((1, 2), 0.3).double()
    training = Training(learning_rate=0.01, betas=(0.9, 0.8))
    still = (torch.zeros(1, 1, 2).double(),)  # no perturbation: the gradient at loc
    new = method.update(MLP((1, 1)), training, {"loc": loc, "s": s}, make_hyper(), batch, still)
    error = [0.2 * x - 0.1 - y for x, y in ((1.0, 2.0), (3.0, -1.0))]
    gradient = torch.tensor([[2 * (error[0] + 3 * error[1]), 2 * sum(error)]]).double()
    expected = 0.8 * s + 0.2 * gradient**2
    scale = (expected.sqrt() if square_root else expected) + 0.2
    torch.testing.assert_close(new["s"], expected)
    torch.testing.assert_close(new["loc"], loc - 0.01 * (gradient + 0.2 * loc) / scale)


@pytest.mark.parametrize("native", [True, False])
def test_the_search_of_the_preset_is_that_of_vadam(
    tiny: Planner, monkeypatch: pytest.MonkeyPatch, native: bool
) -> None:
    if not native:
        monkeypatch.setattr("bnnbench.methods.shared.contract.library", Library)
    short = ("search.iterations=2", "splits=1", "search.objective=joint",
             "evaluation.out_of_fold=false", "training.compile=never")  # fmt: skip
    folders, scores = zip(
        *(
            finished(tiny(f"method={name}", *short))
            for name in ("vadam", "vprop_khan2018", "vprop")
        ),
        strict=True,
    )
    searches = [pd.read_csv(folder.table(SEARCH)) for folder in folders]
    vadam, preset, plain = (
        table.drop(columns=["seconds", "suggest_seconds"]) for table in searches
    )
    pd.testing.assert_frame_equal(preset, vadam, check_exact=True)
    assert (plain["objective"] != vadam["objective"]).all()
    rmse = [float(table["rmse"].iloc[0]) for table in scores]
    assert rmse[0] != rmse[1]


def test_the_final_fit_of_the_preset_is_that_of_vprop(tiny: Planner) -> None:
    fixed = ("method.noise_precision=3", "method.prior_precision=1", "splits=1")
    found = [finished(tiny(f"method={n}", *fixed))[1]["rmse"] for n in ("vprop_khan2018", "vprop")]
    pd.testing.assert_series_equal(*found, check_exact=True)
