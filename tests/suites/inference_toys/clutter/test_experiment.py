"""Runs of the clutter problem, and its claims on original and modified tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.command import result_folder
from support.config import compose
from support.refusals import assert_refused
from support.tiny_runs import no_page

from bnnbench.config.assemble import build
from bnnbench.experiment.execution import execute
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.answers import CLAIMS, read_answers
from bnnbench.results.claims import NotTestable, check_claims
from bnnbench.suites.inference_toys.clutter import claims, names
from bnnbench.suites.inference_toys.clutter.saved_run import ClutterRun, read_run

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
    """Return a run on 20 observations."""
    return read_run(finished(tmp_path_factory.mktemp("out"), "experiment.sizes=[20]"))


def test_a_run_shows_answers_figures_and_claims(command: Command) -> None:
    code, out, errors = command("run", *QUICK, "experiment.sizes=[8]")
    assert code == 0, errors
    folder = result_folder(out)
    for words in (names.EP, names.EFFECTIVE_SAMPLE_SIZE, "Minka", "confirmed: "):
        assert words in out
    assert len(pd.read_csv(folder.table(CLAIMS))) == 10
    for name in ("error_against_work", "orders", "posterior", "powers"):
        assert folder.figure(name, "png").stat().st_size > 5000


def test_a_unit_does_not_depend_on_the_other_units(tmp_path: Path) -> None:
    few = ("experiment.orders=3", "experiment.draws=[2,5]")
    alone = finished(tmp_path / "a", "experiment.sizes=[6]", *few)
    other = finished(tmp_path / "b", "experiment.sizes=[5,6]", *few)
    both = read_answers(other)
    assert alone.root.name == other.root.name
    same = both[both["setting"] == names.setting(6)].reset_index(drop=True)
    pd.testing.assert_frame_equal(read_answers(alone), same)


def test_answers_are_close_to_exact_values(run: ClutterRun) -> None:
    row = run.answer(names.EVIDENCE, names.EP, 20)
    assert row["exact"] == pytest.approx(-43.3307, abs=5e-5)
    assert abs(row["value"] - row["exact"]) < 0.004
    assert run.answer(names.NEGATIVE_SITES, names.EP, 20)["value"] == 8
    assert run.answer(names.PASSES, names.EP, 20)["value"] == 11
    adf = run.answer(names.MEAN, names.ADF, 20)
    assert adf["value"] == pytest.approx(run.orders["adf_mean"].mean())
    assert adf["standard_error"] == pytest.approx(run.orders["adf_mean"].sem())


def test_all_claims_hold_for_twenty_observations(run: ClutterRun) -> None:
    for claim in check_claims(claims.claims, run):
        assert claim.verdict == "confirmed", claim


def with_column(run: ClutterRun, table: str, column: str, values: object) -> ClutterRun:
    return replace(run, **{table: getattr(run, table).assign(**{column: values})})


def test_claims_can_fail(run: ClutterRun) -> None:
    ep = run.orders["ep_mean"].to_numpy().copy()
    ep[3] = -10.0
    holds, evidence = claims.has_one_fixed_point(with_column(run, "orders", "ep_mean", ep))
    assert holds is False and "9 of 10" in evidence and "-10" in evidence
    answers = run.answers.copy()
    answers.loc[answers["quantity"].isin([names.MEAN_STD, names.NEGATIVE_SITES]), "value"] = 0.0
    zeros = replace(run, answers=answers)
    assert (
        claims.depends_on_order(zeros)[0] is False and claims.has_improper_sites(zeros)[0] is False
    )
    assert claims.misestimates_variance(run, (names.VB,))[0] is False
    assert claims.energy_can_increase(with_column(run, "orders", "n_decreases", 0))[0] is False
    bound = run.progress["log_evidence"].to_numpy().copy()
    bound[np.flatnonzero(run.progress["algorithm"] == names.VB)[-1]] = 0.0
    assert claims.is_lower_bound(with_column(run, "progress", "log_evidence", bound))[0] is False
    worse = run.progress["mean_error"].where(run.progress["algorithm"] != names.EP, 9.0)
    assert (
        claims.is_most_accurate_per_work(with_column(run, "progress", "mean_error", worse))[0]
        is False
    )
    late = run.progress["work"].where(run.progress["algorithm"] != names.VB, 10**9)
    assert claims.is_most_accurate_per_work(with_column(run, "progress", "work", late))[0] is None
    assert (
        claims.interpolates_between_ep_and_reverse_kl(with_column(run, "powers", "scale", 0.5))[0]
        is False
    )
    subset = replace(run, powers=run.powers[run.powers["power"] == 1])
    with pytest.raises(NotTestable):
        claims.interpolates_between_ep_and_reverse_kl(subset)


@pytest.mark.parametrize(
    ("override", "code"),
    [
        ("experiment.orders=1", None),
        ("experiment.clutter_weight=1", None),
        ("experiment.prior_variance=0", None),
        ("experiment.theta=inf", None),
        ("experiment.draws=[100,10]", "not_increasing"),
        ("experiment.sizes=20", "not_a_list"),
        ("experiment.sizes=[]", "not_a_list"),
        ("experiment.sizes=[3000]", "too_large"),
        ("experiment.sizes=[2.5]", None),
        ("experiment.powers=[-1]", None),
        ("experiment.tolerance=0", None),
        ("dataset=boston", "no_effect"),
    ],
)
def test_an_invalid_setting_is_refused(override: str, code: str | None) -> None:
    setting = override.partition("=")[0]
    assert_refused(["experiment=clutter", override], setting=setting, code=code)
