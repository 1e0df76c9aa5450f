"""A run of the clutter problem from the command line, and its claims on tables made by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.command import folder_of
from support.config import compose
from support.refusals import assert_refused
from support.tiny_runs import no_page

from bnnbench.cli.build import build
from bnnbench.experiment.execution import execute
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.answers import CLAIMS, read_answers
from bnnbench.suites.inference_toys.clutter import names
from bnnbench.suites.inference_toys.clutter.rules import (
    BestForItsWork,
    Bound,
    ClutterRun,
    DependsOnOrder,
    EnergyRises,
    InvalidSites,
    PowerLimits,
    SameFixedPoint,
    Variance,
    read_clutter,
)

Command = Callable[..., tuple[int, str, str]]
QUICK = (
    "experiment=clutter",
    "workers=1",
    "experiment.draws=[2,50]",
    "experiment.repetitions=3",
    "experiment.orders=10",
    "experiment.powers=[1,0.5,0.01]",
)


def finished(outputs: Path, *overrides: str) -> RunFolder:
    return execute(build(compose(*QUICK, *overrides, f"outputs_dir={outputs}")), no_page)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ClutterRun:
    """A run on 20 observations."""
    return read_clutter(finished(tmp_path_factory.mktemp("out"), "experiment.sizes=[20]"))


def test_a_run_shows_answers_figures_and_claims(command: Command) -> None:
    code, out, errors = command("run", *QUICK, "experiment.sizes=[8]")
    assert code == 0, errors
    folder = folder_of(out)
    for words in (names.EP, names.SAMPLE_SIZE, "Minka", "confirmed: "):
        assert words in out
    assert len(pd.read_csv(folder.table(CLAIMS))) == 10
    for name in ("error_against_work", "orders", "posterior", "powers"):
        assert folder.figure(name, "png").stat().st_size > 5000


def test_a_size_does_not_depend_on_which_others_were_asked_for(tmp_path: Path) -> None:
    few = ("experiment.orders=3", "experiment.draws=[2,5]")
    alone = finished(tmp_path / "a", "experiment.sizes=[6]", *few)
    other = finished(tmp_path / "b", "experiment.sizes=[5,6]", *few)
    both = read_answers(other)
    assert alone.root.name == other.root.name
    kept = both[both["setting"] == names.setting(6)].reset_index(drop=True)
    pd.testing.assert_frame_equal(read_answers(alone), kept)


def test_answers_stand_beside_the_exact_ones(run: ClutterRun) -> None:
    row = run.answer(names.EVIDENCE, names.EP, 20)
    assert row["exact"] == pytest.approx(-43.3307, abs=5e-5)
    assert abs(row["value"] - row["exact"]) < 0.004
    assert run.answer(names.NEGATIVE_SITES, names.EP, 20)["value"] == 8
    assert run.answer(names.PASSES, names.EP, 20)["value"] == 11
    adf = run.answer(names.MEAN, names.ADF, 20)
    assert adf["value"] == pytest.approx(run.orders["adf_mean"].mean())
    assert adf["standard_error"] == pytest.approx(run.orders["adf_mean"].sem())


def test_the_rules_hold_on_twenty_observations(run: ClutterRun) -> None:
    for rule in (
        DependsOnOrder(),
        SameFixedPoint(),
        Variance((names.ADF, names.EP), wider=True),
        Variance((names.VB, names.GAUSSIAN_VI), wider=False),
        InvalidSites(),
        Bound(),
        PowerLimits(),
        EnergyRises(),
        BestForItsWork(),
    ):
        holds, evidence = rule.find(run)
        assert holds is True, f"{rule}: {evidence}"


def changed(run: ClutterRun, table: str, column: str, values: object) -> ClutterRun:
    return replace(run, **{table: getattr(run, table).assign(**{column: values})})


def test_the_rules_can_fail(run: ClutterRun) -> None:
    ep = run.orders["ep_mean"].to_numpy().copy()
    ep[3] = -10.0
    moved = changed(run, "orders", "ep_mean", ep)
    holds, evidence = SameFixedPoint().find(moved)
    assert holds is False and "9 of 10 orders at 20" in evidence and "-10" in evidence
    still = run.answers.copy()
    still.loc[still["quantity"].isin([names.MEAN_SPREAD, names.NEGATIVE_SITES]), "value"] = 0.0
    none = replace(run, answers=still)
    assert DependsOnOrder().find(none)[0] is False and InvalidSites().find(none)[0] is False
    assert Variance((names.VB,), wider=True).find(run)[0] is False
    assert EnergyRises().find(changed(run, "orders", "falls", 0))[0] is False
    bound = run.progress["log_evidence"].to_numpy().copy()
    bound[np.flatnonzero(run.progress["algorithm"] == names.VB)[-1]] = 0.0
    assert Bound().find(changed(run, "progress", "log_evidence", bound))[0] is False
    worse = run.progress["mean_error"].where(run.progress["algorithm"] != names.EP, 9.0)
    assert BestForItsWork().find(changed(run, "progress", "mean_error", worse))[0] is False
    late = run.progress["work"].where(run.progress["algorithm"] != names.VB, 10**9)
    assert BestForItsWork().find(changed(run, "progress", "work", late))[0] is None
    assert PowerLimits().find(changed(run, "powers", "scale", 0.5))[0] is False
    only = replace(run, powers=run.powers[run.powers["power"] == 1])
    assert PowerLimits().find(only)[0] is None


MISTAKES = {
    "no orders": ("experiment.orders=1", ["experiment.orders", "at least 2"]),
    "all clutter": ("experiment.clutter_weight=1", ["experiment.clutter_weight", "less than 1"]),
    "no variance": ("experiment.prior_variance=0", ["experiment.prior_variance"]),
    "no mean": ("experiment.theta=inf", ["experiment.theta", "finite"]),
    "falling": ("experiment.draws=[100,10]", ["experiment.draws", "rise"]),
    "no list": ("experiment.sizes=20", ["experiment.sizes", "list"]),
    "empty": ("experiment.sizes=[]", ["experiment.sizes", "list"]),
    "too many": ("experiment.sizes=[3000]", ["experiment.sizes", "2000"]),
    "half": ("experiment.sizes=[2.5]", ["experiment.sizes", "2.5"]),
    "negative power": ("experiment.powers=[-1]", ["experiment.powers", "-1"]),
    "tolerance": ("experiment.tolerance=0", ["experiment.tolerance"]),
    "data": ("dataset=boston", ["no use for dataset"]),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_sentence(name: str) -> None:
    override, words = MISTAKES[name]
    assert_refused(["experiment=clutter", override], *words)
