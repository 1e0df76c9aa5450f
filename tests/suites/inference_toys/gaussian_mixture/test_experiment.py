"""Runs of the mixture: answers, units, invalid settings."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from support.config import compose
from support.tiny_runs import no_page
from support.user_errors import assert_user_error

from bnnbench.config.assemble import build
from bnnbench.experiment.execution import execute
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.unit_store import UnitStore
from bnnbench.results.answers import read_answers, value_of
from bnnbench.suites.inference_toys.gaussian_mixture import names
from bnnbench.suites.inference_toys.gaussian_mixture.page import EXPERIMENT_PAGE
from bnnbench.types import UserError

EXPERIMENT = "experiment=gaussian_mixture"
SHORT = (
    "experiment.many_points=60",
    "experiment.starts=3",
    "experiment.held_out=20",
    "experiment.batch=20",
    "experiment.passes=4",
    "experiment.repetitions=2",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run with default settings."""
    outputs = tmp_path_factory.mktemp("outputs")
    return execute(build(compose(EXPERIMENT, f"outputs_dir={outputs}", "workers=1")), no_page)


def test_few_points_have_the_known_answers(folder: RunFolder) -> None:
    answers = read_answers(folder)
    few = answers[answers["setting"] == names.FEW_POINTS].set_index(["quantity", "approximation"])
    evidence = few.loc[(names.EVIDENCE, names.CAVI)]
    assert evidence["exact"] == pytest.approx(-21.4499, abs=5e-5)
    assert evidence["value"] == pytest.approx(-22.1696, abs=5e-5)
    assert few.loc[(names.GAP, names.CAVI), "value"] == pytest.approx(0.7198, abs=5e-5)
    assert few.loc[(names.BEST_FRACTION, names.CAVI), "value"] == 1
    assert few.loc[(names.LARGEST_DECREASE, names.CAVI), "value"] < 1e-12


def test_many_points_have_more_than_one_optimum(folder: RunFolder) -> None:
    answers = read_answers(folder)
    fraction = value_of(answers, names.BEST_FRACTION, names.CAVI, names.MANY_POINTS)
    starts = pd.read_csv(folder.table(names.STARTS))
    elbo = starts.loc[starts["part"] == names.MANY, "elbo"]
    assert fraction == ((elbo > elbo.max() - 1e-6).mean()) and 0 < fraction < 1
    true = value_of(answers, names.HELD_OUT, names.TRUE_MEANS)
    many = value_of(answers, names.HELD_OUT, names.CAVI, names.MANY_POINTS)
    assert many == pytest.approx(true, abs=0.01)


def test_every_claim_is_confirmed(folder: RunFolder) -> None:
    verdicts = [claim.verdict for claim in EXPERIMENT_PAGE.claims(folder)]
    assert verdicts == ["confirmed"] * len(EXPERIMENT_PAGE.statements)


def test_a_part_does_not_depend_on_other_parts_but_on_the_seed(tmp_path: Path) -> None:
    first, other = (
        execute(build(compose(EXPERIMENT, *SHORT, f"outputs_dir={tmp_path}", *more)), no_page)
        for more in (["workers=1"], ["seed=1", "workers=1"])
    )
    experiment = build(compose(EXPERIMENT, *SHORT, f"outputs_dir={tmp_path}")).experiment
    alone = UnitStore(RunFolder(tmp_path / "alone"))
    for unit in reversed(experiment.units()):
        experiment.run(unit, alone)
    saved = UnitStore(first)
    for unit in experiment.units():
        assert alone.file(unit, "json").read_bytes() == saved.file(unit, "json").read_bytes()
    assert not read_answers(first).equals(read_answers(other))


@pytest.mark.parametrize(
    ("overrides", "setting", "code"),
    [
        (["experiment.few_points=16"], "experiment.few_points", "too_large"),
        (
            ["experiment.few_means=[1.0,2.0,3.0]", "experiment.few_points=11"],
            "experiment.few_points",
            "too_large",
        ),
        (["experiment.few_means=[1.0]"], "experiment.few_means", "too_few"),
        (["experiment.many_means=[1.0,x]"], "experiment.many_means", None),
        (["experiment.many_points=40"], "experiment.batch", "too_large"),
        (["experiment.starts=0"], "experiment.starts", None),
        (["experiment.repetitions=1"], "experiment.repetitions", None),
        (["experiment.decreasing_power=0.5"], "experiment.decreasing_power", None),
        (["experiment.too_fast_power=1"], "experiment.too_fast_power", None),
        (["experiment.constant_step=0"], "experiment.constant_step", None),
        (["experiment.prior_variance=-1"], "experiment.prior_variance", None),
        (["experiment.tolerance=0"], "experiment.tolerance", None),
        (["seed=-1"], "seed", None),
    ],
)
def test_an_invalid_setting_is_refused(
    overrides: list[str], setting: str, code: str | None, tmp_path: Path
) -> None:
    with pytest.raises(UserError) as error:
        build(compose(EXPERIMENT, *overrides, f"outputs_dir={tmp_path}"))
    assert_user_error(error, setting, code)
    assert not list(tmp_path.iterdir())


def test_decreasing_power_of_one_is_valid(tmp_path: Path) -> None:
    assert build(compose(EXPERIMENT, "experiment.decreasing_power=1", f"outputs_dir={tmp_path}"))
