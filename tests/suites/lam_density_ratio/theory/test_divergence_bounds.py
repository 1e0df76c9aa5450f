"""The experiment on the lower bounds: exact and trained, its claims, figures and mistakes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import torch
from support.command import result_folder
from support.refusals import assert_refused

from bnnbench.results.answers import CLAIMS, read_answers
from bnnbench.suites.lam_density_ratio.theory.bounds_page import (
    STATEMENTS,
    estimates_figure,
    families_figure,
    notes,
)
from bnnbench.suites.lam_density_ratio.theory.divergence_bounds import exact_answers, family_rows
from bnnbench.suites.lam_density_ratio.theory.names import (
    AT_EXACT,
    ESTIMATES_TABLE,
    RATIO_MEAN_STD,
)
from bnnbench.suites.lam_density_ratio.theory.trained_ratio import (
    EXACT,
    TRAINED,
    TrainingSettings,
    draw_samples,
    estimates,
    sample_bounds,
)

Command = Callable[..., tuple[int, str, str]]
EXPERIMENT = "experiment=divergence_bounds"
QUICK = (
    "experiment.training_steps=20",
    "experiment.repetitions=2",
    "experiment.kl_values=[0.5,8]",
    "experiment.sample_sets=3",
    "workers=1",
)


def test_the_whole_experiment(command: Command) -> None:
    code, out, errors = command("run", EXPERIMENT, *QUICK)
    assert code == 0, errors
    folder = result_folder(out)
    assert pd.read_csv(folder.table(CLAIMS))["verdict"].tolist() == ["confirmed"] * 4
    answers = read_answers(folder)
    touching = answers[answers["approximation"] == AT_EXACT]
    np.testing.assert_allclose(touching["value"], touching["exact"], atol=1e-12)
    assert "KL(q || p)" in out and "0.5" in out
    (note,) = notes(folder)
    assert "8 nats" in note and "%" in note
    assert len(families_figure(folder).axes) == 4 and len(estimates_figure(folder).axes) == 3
    assert all(folder.figure(name, "png").exists() for name in ("families", "estimates"))


def test_a_bound_that_is_broken_is_not_confirmed() -> None:
    curves = pd.DataFrame(family_rows())
    answers = pd.DataFrame([answer.row() for answer in exact_answers(curves)])
    broken = answers.assign(value=answers["value"] * 1.01)
    crossing = answers.assign(value=np.where(answers["exact"].isna(), -1e-3, answers["value"]))
    for _, _, check in STATEMENTS[:2]:
        assert [check.check(table)[0] for table in (answers, broken, crossing)] == [
            True, False, False,
        ]  # fmt: skip
        assert check.check(answers.iloc[:0])[0] is None


def test_the_exact_ratio_over_many_samples_gives_both_divergences() -> None:
    """The true log ratio of two unit Gaussians, and the spread of its mean."""
    separation, number = math.sqrt(2 * 0.5), 400_000
    generator = torch.Generator().manual_seed(0)
    q, p = draw_samples(torch.tensor([separation]), number, generator)
    found = sample_bounds(separation * (q - separation / 2), separation * (p - separation / 2))
    spread = math.sqrt(math.expm1(1.0) / number)
    assert found["kl_posterior_prior"].item() == pytest.approx(0.5, abs=5 * spread)
    assert found["gan"].item() == pytest.approx(-1.16345, abs=0.005)


def test_training_finds_a_small_divergence_and_the_bound_fails_for_a_large_one() -> None:
    settings = TrainingSettings(width=12, steps=150, samples=800, sample_sets=10)
    rows = pd.DataFrame(estimates([0.5, 10.0], settings, 3, 1))
    assert len(rows) == 2 * 3 * 10 * 2 * 2
    own = rows[rows["divergence"] == "kl_posterior_prior"].groupby(["ratio", "kl"])
    bound, over_q = own["bound"].median(), own["log_ratio"].median()
    assert bound[TRAINED, 0.5] == pytest.approx(0.5, abs=0.1)
    assert bound[EXACT, 0.5] == pytest.approx(0.5, abs=0.1)
    # The bound minus the mean log ratio is 1 - E_p[r*], which is zero in expectation.
    assert bound[EXACT, 10.0] - over_q[EXACT, 10.0] > 0.8


@pytest.mark.usefixtures("without_figures")
def test_the_spread_of_the_mean_is_the_closed_form(command: Command) -> None:
    code, out, errors = command("run", EXPERIMENT, *QUICK, "experiment.samples=50")
    assert code == 0, errors
    answers = read_answers(result_folder(out))
    spread = answers[answers["quantity"] == RATIO_MEAN_STD].set_index("setting")["value"]
    random = np.random.default_rng(0).standard_normal((20_000, 50))
    means = np.exp(random - 0.5).mean(1)
    assert spread["KL = 0.5"] == pytest.approx(means.std(), rel=0.05)
    assert len(pd.read_csv(result_folder(out).table(ESTIMATES_TABLE))) == 2 * 2 * 3 * 2 * 2


@pytest.mark.parametrize(
    ("override", "code"),
    [
        ("experiment.kl_values=[]", "not_a_list"),
        ("experiment.kl_values=2", "not_a_list"),
        ("experiment.kl_values=[0]", None),
        ("experiment.repetitions=0", None),
        ("experiment.training_steps=many", None),
    ],
)
def test_a_mistake_names_its_setting(override: str, code: str | None) -> None:
    assert_refused([EXPERIMENT, override], setting=override.partition("=")[0], code=code)
