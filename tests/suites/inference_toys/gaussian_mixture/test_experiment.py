"""The mixture as a run: its answers, its units, what it refuses."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from support.config import compose
from support.tiny_runs import no_page

from bnnbench.cli.build import build
from bnnbench.experiment.execution import execute
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.unit_store import UnitStore
from bnnbench.results.answers import read_answers, value_of
from bnnbench.suites.inference_toys.gaussian_mixture import tables
from bnnbench.suites.inference_toys.gaussian_mixture.page import EXHIBIT
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
    """The run as its file has it."""
    outputs = tmp_path_factory.mktemp("outputs")
    return execute(build(compose(EXPERIMENT, f"outputs_dir={outputs}", "workers=1")), no_page)


def test_few_points_have_the_known_answers(folder: RunFolder) -> None:
    answers = read_answers(folder)
    few = answers[answers["setting"] == tables.FEW_POINTS].set_index(["quantity", "approximation"])
    evidence = few.loc[(tables.EVIDENCE, tables.ASCENT)]
    assert evidence["exact"] == pytest.approx(-21.4499, abs=5e-5)
    assert evidence["value"] == pytest.approx(-22.1696, abs=5e-5)
    assert few.loc[(tables.GAP, tables.ASCENT), "value"] == pytest.approx(0.7198, abs=5e-5)
    assert few.loc[(tables.BEST_SHARE, tables.ASCENT), "value"] == 1
    assert few.loc[(tables.FALL, tables.ASCENT), "value"] < 1e-12


def test_many_points_end_in_more_than_one_optimum(folder: RunFolder) -> None:
    answers = read_answers(folder)
    share = value_of(answers, tables.BEST_SHARE, tables.ASCENT, tables.MANY_POINTS)
    starts = pd.read_csv(folder.table(tables.STARTS))
    ends = starts.loc[starts["part"] == tables.MANY, "elbo"]
    assert share == ((ends > ends.max() - 1e-6).mean()) and 0 < share < 1
    true = value_of(answers, tables.HELD_OUT, "the means that made the data")
    many = value_of(answers, tables.HELD_OUT, tables.ASCENT, tables.MANY_POINTS)
    assert many == pytest.approx(true, abs=0.01)


def test_every_claim_is_judged(folder: RunFolder) -> None:
    verdicts = [claim.verdict for claim in EXHIBIT.claims(folder)]
    assert verdicts == ["confirmed"] * len(EXHIBIT.statements)


def test_a_part_is_the_same_alone_and_the_seed_changes_it(tmp_path: Path) -> None:
    first, other = (
        execute(build(compose(EXPERIMENT, *SHORT, f"outputs_dir={tmp_path}", *more)), no_page)
        for more in (["workers=1"], ["seed=1", "workers=1"])
    )
    experiment = build(compose(EXPERIMENT, *SHORT, f"outputs_dir={tmp_path}")).experiment
    alone = UnitStore(RunFolder(tmp_path / "alone"))
    for unit in reversed(experiment.units()):
        experiment.run(unit, alone)
    kept = UnitStore(first)
    for unit in experiment.units():
        assert alone.file(unit, "json").read_bytes() == kept.file(unit, "json").read_bytes()
    assert not read_answers(first).equals(read_answers(other))


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["experiment.few_points=17"], ["experiment.few_points", "at most 15", "17"]),
        (["experiment.few_loc=[1.0,2.0,3.0]", "experiment.few_points=11"], ["at most 10"]),
        (["experiment.few_loc=[1.0]"], ["experiment.few_loc", "two means"]),
        (["experiment.many_loc=[1.0,x]"], ["experiment.many_loc", "number"]),
        (["experiment.many_points=40"], ["experiment.batch", "at most", "40"]),
        (["experiment.starts=0"], ["experiment.starts"]),
        (["experiment.repetitions=1"], ["experiment.repetitions", "at least 2"]),
        (["experiment.decreasing=0.5"], ["experiment.decreasing", "greater than 0.5"]),
        (["experiment.too_fast=1"], ["experiment.too_fast"]),
        (["experiment.constant=0"], ["experiment.constant"]),
        (["experiment.prior_variance=-1"], ["experiment.prior_variance"]),
        (["experiment.tolerance=0"], ["experiment.tolerance"]),
        (["seed=-1"], ["seed"]),
    ],
)
def test_what_is_refused(overrides: list[str], words: list[str], tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        build(compose(EXPERIMENT, *overrides, f"outputs_dir={tmp_path}"))
    assert all(word in str(error.value) for word in words)
    assert not list(tmp_path.iterdir())


def test_steps_of_one_over_t_meet_the_conditions(tmp_path: Path) -> None:
    assert build(compose(EXPERIMENT, "experiment.decreasing=1", f"outputs_dir={tmp_path}"))
