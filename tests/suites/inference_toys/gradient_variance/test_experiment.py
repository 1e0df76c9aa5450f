"""The gradient variances as a run: what it saves, what its page says, what it refuses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from support.command import folder_of
from support.refusals import assert_refused

from bnnbench.results.answers import CLAIMS, read_answers
from bnnbench.suites.inference_toys.gradient_variance.experiment import GradientVariance
from bnnbench.suites.inference_toys.gradient_variance.findings import read_findings
from bnnbench.suites.inference_toys.gradient_variance.page import EXHIBIT
from bnnbench.suites.inference_toys.gradient_variance.rules import BiasedByTheLog, Unbiased
from bnnbench.suites.inference_toys.gradient_variance.tables import KIND

Command = Callable[..., tuple[int, str, str]]
RUN = ("run", "experiment=gradient_variance", "workers=1")
SMALL = ("experiment.draws=5000", "experiment.samples=[1,10]", "experiment.rows=12")

VERDICTS = [
    "confirmed",
    "not confirmed",  # the bias that the book speaks of
    "confirmed",
    "confirmed",
    "confirmed",
    "confirmed",
    "not confirmed",  # a control variate overtakes
    "confirmed",
]


def test_a_run_has_answers_figures_and_verdicts(command: Command) -> None:
    code, out, errors = command(*RUN, *SMALL)
    assert code == 0, errors
    folder = folder_of(out)
    assert pd.read_csv(folder.table(CLAIMS))["verdict"].tolist() == VERDICTS
    for name in EXHIBIT.figures:
        assert folder.figure(name, "png").stat().st_size > 5000
    rows = read_answers(folder)
    rows = rows[rows["quantity"].str.startswith("variance") & (rows["exact"] > 0)]
    away = (rows["value"] - rows["exact"]).abs() / rows["standard_error"]
    assert len(rows) == 18 + 6 + 4 + 4 + 2 and away.max() < 5


@pytest.mark.usefixtures("undrawn")
def test_bias_is_found_where_there_is_some(command: Command) -> None:
    """So that the verdict above says something."""
    found = read_findings(folder_of(command(*RUN, *SMALL, "experiment.ascent_steps=2")[1]))
    assert BiasedByTheLog().find(found)[0] is False
    found.bias["mean"] += np.where(found.bias["error"].isna(), 0.01, 0.0)
    assert BiasedByTheLog().find(found)[0] is True
    assert Unbiased().find(found)[0] is True
    found.variances["mean"] += 6 * found.variances["mean_error"]
    assert Unbiased().find(found)[0] is False


@pytest.mark.usefixtures("undrawn")
def test_another_seed_draws_others(command: Command) -> None:
    quick = (*SMALL, "experiment.ascent_steps=2", "experiment.draws=200")
    first, other = (folder_of(command(*RUN, *quick, f"seed={s}")[1]) for s in (0, 1))
    assert first.root != other.root
    measured = [read_findings(folder).variances for folder in (first, other)]
    assert (measured[0]["exact"] == measured[1]["exact"]).all()
    noisy = measured[0]["exact"] > 0
    assert (measured[0]["variance"] != measured[1]["variance"])[noisy].all()


def test_the_page_is_that_of_the_experiments_kind() -> None:
    assert GradientVariance.kind == KIND == EXHIBIT.kind


MISTAKES = {
    "draws": (["experiment.draws=10"], ["experiment.draws", "100"]),
    "no list": (["experiment.scales=1"], ["experiment.scales", "list"]),
    "scale": (["experiment.scales=[0]"], ["experiment.scales", "0"]),
    "samples": (["experiment.samples=[0]"], ["experiment.samples", "1"]),
    "latents": (["experiment.latents=[1.5]"], ["experiment.latents", "1.5"]),
    "frequency": (["experiment.frequency=60"], ["experiment.frequency", "50"]),
    "target": (["experiment.target=inf"], ["experiment.target", "finite"]),
    "minibatch": (["experiment.minibatch=21"], ["experiment.minibatch", "experiment.rows=20"]),
    "many": (["experiment.minibatch=10"], ["experiment.minibatch=10", "20000"]),
    "memory": (["experiment.draws=1000000"], ["experiment.draws=1000000", "1e+07"]),
    "one sample": (["experiment.samples_per_step=1"], ["experiment.samples_per_step", "2"]),
    "repetitions": (["experiment.repetitions=0"], ["experiment.repetitions", "0"]),
    "rate": (["experiment.learning_rate=-1"], ["experiment.learning_rate", "-1"]),
    "precision": (["experiment.noise_precision=0"], ["experiment.noise_precision", "0"]),
    "seed": (["experiment.data_seed=-1"], ["experiment.data_seed", "-1"]),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_sentence(name: str) -> None:
    overrides, words = MISTAKES[name]
    assert_refused([*RUN[1:], *overrides], *words)
