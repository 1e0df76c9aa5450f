"""Runs on gradient variances: answers, claims, invalid settings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from support.command import result_folder
from support.refusals import assert_refused

from bnnbench.results.answers import CLAIMS, read_answers
from bnnbench.suites.inference_toys.gradient_variance import claims
from bnnbench.suites.inference_toys.gradient_variance.experiment import GradientVariance
from bnnbench.suites.inference_toys.gradient_variance.names import KIND
from bnnbench.suites.inference_toys.gradient_variance.page import EXPERIMENT_PAGE
from bnnbench.suites.inference_toys.gradient_variance.saved_run import read_run

Command = Callable[..., tuple[int, str, str]]
RUN = ("run", "experiment=gradient_variance", "workers=1")
SMALL = ("experiment.draws=5000", "experiment.samples=[1,10]", "experiment.rows=12")

VERDICTS = [
    "confirmed",
    "not confirmed",  # the bias claimed by the book
    "confirmed",
    "confirmed",
    "confirmed",
    "confirmed",
    "not confirmed",  # the control variate converges closer
    "confirmed",
]


def test_a_run_has_answers_figures_and_verdicts(command: Command) -> None:
    code, out, errors = command(*RUN, *SMALL)
    assert code == 0, errors
    folder = result_folder(out)
    assert pd.read_csv(folder.table(CLAIMS))["verdict"].tolist() == VERDICTS
    for name in EXPERIMENT_PAGE.figures:
        assert folder.figure(name, "png").stat().st_size > 5000
    rows = read_answers(folder)
    rows = rows[rows["quantity"].str.startswith("variance") & (rows["exact"] > 0)]
    distance = (rows["value"] - rows["exact"]).abs() / rows["standard_error"]
    assert len(rows) == 18 + 6 + 4 + 4 + 2 and distance.max() < 5


@pytest.mark.usefixtures("without_figures")
def test_bias_is_detected(command: Command) -> None:
    """Shows that the verdict above can be positive."""
    run = read_run(result_folder(command(*RUN, *SMALL, "experiment.ascent_steps=2")[1]))
    assert claims.is_biased_by_logarithm(run)[0] is False
    run.bias["mean"] += np.where(run.bias["error"].isna(), 0.01, 0.0)
    assert claims.is_biased_by_logarithm(run)[0] is True
    assert claims.is_unbiased(run)[0] is True
    run.variances["mean"] += 6 * run.variances["mean_error"]
    assert claims.is_unbiased(run)[0] is False


@pytest.mark.usefixtures("without_figures")
def test_the_seed_changes_the_samples(command: Command) -> None:
    quick = (*SMALL, "experiment.ascent_steps=2", "experiment.draws=200")
    first, other = (result_folder(command(*RUN, *quick, f"seed={s}")[1]) for s in (0, 1))
    assert first.root != other.root
    measured = [read_run(folder).variances for folder in (first, other)]
    assert (measured[0]["exact"] == measured[1]["exact"]).all()
    noisy = measured[0]["exact"] > 0
    assert (measured[0]["variance"] != measured[1]["variance"])[noisy].all()


def test_the_page_belongs_to_the_experiment() -> None:
    assert GradientVariance.kind == KIND == EXPERIMENT_PAGE.kind


@pytest.mark.parametrize(
    ("override", "code"),
    [
        ("experiment.draws=10", None),
        ("experiment.scales=1", "not_a_list"),
        ("experiment.scales=[0]", None),
        ("experiment.samples=[0]", None),
        ("experiment.latents=[1.5]", None),
        ("experiment.frequency=60", None),
        ("experiment.target=inf", None),
        ("experiment.minibatch=21", "too_large"),
        ("experiment.minibatch=10", "too_many"),
        ("experiment.draws=1000000", "too_many"),
        ("experiment.samples_per_step=1", None),
        ("experiment.repetitions=0", None),
        ("experiment.learning_rate=-1", None),
        ("experiment.noise_precision=0", None),
        ("experiment.data_seed=-1", None),
    ],
)
def test_an_invalid_setting_is_refused(override: str, code: str | None) -> None:
    setting = override.partition("=")[0]
    assert_refused([*RUN[1:], override], setting=setting, code=code)
