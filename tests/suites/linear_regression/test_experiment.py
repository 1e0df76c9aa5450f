"""Linear regression: the exact posterior and its approximations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from support.command import Command, result_folder
from support.config import compose
from torch.distributions import MultivariateNormal, kl_divergence

from bnnbench.config.assemble import build
from bnnbench.data.synthetic_1d import LinearGaussian
from bnnbench.experiment.run.execution import execute
from bnnbench.experiment.store.record import read_record
from bnnbench.suites.linear_regression import POINTS, POSTERIOR
from bnnbench.suites.linear_regression.experiment import exact_posterior, mean_field, true_weights

EXPERIMENT = "experiment=linear_regression"
QUICK = ("training.epochs=1500", "training.learning_rate=0.006")


def posterior() -> MultivariateNormal:
    table = LinearGaussian(rows=12).load()
    rows = table.splits[0].train
    data = (torch.from_numpy(a[rows]) for a in (table.inputs, table.targets))
    return exact_posterior(*data, noise_precision=4.0, prior_precision=0.5)


def run_posteriors(outputs: Path, *overrides: str) -> pd.DataFrame:
    """Execute a run and return its table, by posterior and weight."""
    run = build(compose(EXPERIMENT, *overrides, f"outputs_dir={outputs}"))
    folder = execute(run)
    assert len(pd.read_csv(folder.table(POINTS))) == 100
    return pd.read_csv(folder.table(POSTERIOR)).set_index(["posterior", "weight"])


def test_the_data_follow_the_settings() -> None:
    line = LinearGaussian(
        rows=4000, test_rows=3, intercept=2.0, slope=-3.0, noise_precision=25.0, low=1.0
    )
    table = line.load()
    (split,) = table.splits
    assert sorted([*split.train, *split.test]) == list(range(4003)) and len(split.test) == 3
    assert table.truth is not None
    np.testing.assert_allclose(table.truth, 2.0 - 3.0 * table.inputs[:, 0])
    assert true_weights(table) == pytest.approx((2.0, -3.0))
    assert 1.0 <= table.inputs.min() < 1.01 and 2.99 < table.inputs.max() <= 3.0
    assert (table.targets - table.truth).std() == pytest.approx(0.2, rel=0.04)  # 3.6 errors
    more = LinearGaussian(
        rows=4000, test_rows=9, intercept=2.0, slope=-3.0, noise_precision=25.0, low=1.0
    )
    assert np.array_equal(more.load().targets[:4000], table.targets[:4000])
    assert not np.array_equal(
        LinearGaussian(data_seed=1).load().targets, LinearGaussian().load().targets
    )


def test_exact_posterior_equals_sequential_updates() -> None:
    """Update the prior with one observation at a time, in covariance form."""
    table = LinearGaussian(rows=12).load()
    mean, covariance = np.zeros(2), np.eye(2) / 0.5
    for row in table.splits[0].train:
        h = np.array([1.0, table.inputs[row, 0]])
        gain = covariance @ h / (h @ covariance @ h + 1 / 4.0)
        mean = mean + gain * (table.targets[row] - h @ mean)
        covariance = covariance - np.outer(gain, h @ covariance)
    exact = posterior()
    np.testing.assert_allclose(exact.mean.numpy(), mean)
    np.testing.assert_allclose(exact.covariance_matrix.numpy(), covariance)


def test_mean_field_optimum_has_the_smallest_divergence() -> None:
    exact = posterior()
    best = mean_field(exact)
    values = torch.cat([best.mean, best.variance.log()]).requires_grad_()

    def divergence(values: torch.Tensor) -> torch.Tensor:
        scale = torch.diag((0.5 * values[2:]).exp())
        return kl_divergence(MultivariateNormal(values[:2], scale_tril=scale), exact)

    (gradient,) = torch.autograd.grad(divergence(values), values)
    torch.testing.assert_close(gradient, torch.zeros(4).double())
    hessian = torch.autograd.functional.hessian(divergence, values.detach())
    assert (torch.linalg.eigvalsh(hessian) > 0).all()


@pytest.mark.slow
def test_a_run_approaches_the_mean_field_optimum(tmp_path: Path) -> None:
    table = run_posteriors(tmp_path, *QUICK, "method=bbb")
    exact, best, learned = (table.loc[name] for name in ("exact", "mean field", "learned"))
    assert ((learned["mean"] - exact["mean"]).abs() < 0.5 * best["std"]).all()
    assert learned["std"].to_numpy() == pytest.approx(best["std"].to_numpy(), rel=0.1)
    assert (best["std"] < 0.6 * exact["std"]).all()  # so the first tolerance is strict
    assert best["kl"].iloc[0] < learned["kl"].iloc[0] < best["kl"].iloc[0] + 0.2
    assert learned["truth"].to_numpy() == pytest.approx([1.0, -0.7])


def test_coordinate_ascent_converges_to_the_mean_field_optimum(tmp_path: Path) -> None:
    table = run_posteriors(tmp_path, "method=cavi", "training.epochs=200")
    best, learned = (table.loc[name] for name in ("mean field", "learned"))
    for column in ("mean", "std", "correlation", "kl"):
        assert learned[column].to_numpy() == pytest.approx(best[column].to_numpy(), abs=1e-12)


@pytest.mark.slow
@pytest.mark.usefixtures("without_figures")
def test_other_data_give_another_run_and_a_repeated_command_only_reprints(command: Command) -> None:
    quick = ["run", EXPERIMENT, "training.epochs=2"]
    first, again, other = (
        command(*quick, *more) for more in ([], [], ["dataset.data_seed=1", "dataset.rows=7"])
    )
    assert first[:2] == again[:2] and first[0] == 0
    folder = result_folder(first[1])
    assert folder.root != result_folder(other[1]).root
    assert len(pd.read_csv(result_folder(other[1]).table(POINTS))) == 7
    assert read_record(folder).kind == "linear_regression"
    for words in ("true weights", "learned", "mean-field optimum", "exact posterior", "KL"):
        assert words in first[1]
    assert "not converged" in first[1]
    folder.table(POSTERIOR).write_text("damaged")
    code, out, errors = command(*quick)
    assert code == 0 and out == first[1]
    assert "damaged files: posterior.csv" in errors


def test_a_table_with_several_splits_is_refused(command: Command) -> None:
    Path("line.csv").write_text("\n".join(["x,y", *(f"{x},{x % 7}" for x in range(30))]))
    words = ("dataset=csv", "dataset.path=line.csv", "dataset.target=y", "method.noise_precision=1")
    command.assert_refused("run", EXPERIMENT, *words, setting="splits")


def test_a_diverged_fit_is_an_error(command: Command) -> None:
    line = ("run", EXPERIMENT, "training.epochs=2", "training.learning_rate=1e300")
    command.assert_refused(*line, setting="training.learning_rate")
    assert not list(Path().rglob("DONE"))
