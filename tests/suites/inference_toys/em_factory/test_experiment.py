"""Runs of the factory, and their claims."""

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
from bnnbench.suites.inference_toys.em_factory import claims, names
from bnnbench.suites.inference_toys.em_factory.saved_run import EMFactoryRun, read_run

Command = Callable[..., tuple[int, str, str]]


def finished(outputs: Path, *overrides: str) -> RunFolder:
    config = compose("experiment=em_factory", *overrides, f"outputs_dir={outputs}")
    return execute(build(config), no_page)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> EMFactoryRun:
    return read_run(finished(tmp_path_factory.mktemp("out"), "experiment.starts=2"))


def test_a_run_shows_answers_the_figure_and_claims(command: Command) -> None:
    code, out, errors = command("run", "experiment=em_factory", "experiment.starts=1")
    assert code == 0, errors
    folder = result_folder(out)
    assert "rate of convergence" in out and "reading=printed" in out
    verdicts = pd.read_csv(folder.table(CLAIMS))["verdict"]
    assert verdicts.tolist() == ["confirmed"] * len(claims.claims)
    assert folder.figure("em", "png").stat().st_size > 5000


def test_the_printed_equations_do_not_give_a_maximum(tmp_path: Path) -> None:
    printed = read_run(finished(tmp_path, "reading=printed", "experiment.starts=1"))
    assert claims.likelihood_never_decreases(printed)[0] is True
    for algorithm, tolerance in ((names.EM, 1e-8), (names.LBFGS, 1e-4)):
        holds, evidence = claims.reaches_closed_form(printed, algorithm, tolerance)
        assert holds is False and "1.768116" in evidence and "1.793103" in evidence
    row = printed.select(names.EM, (names.LOG_LIKELIHOOD,)).iloc[0]
    assert row["value"] > row["exact"]


def test_a_unit_does_not_depend_on_the_other_units(run: EMFactoryRun, tmp_path: Path) -> None:
    alone = read_answers(finished(tmp_path, "experiment.starts=1"))
    same = run.answers[run.answers["setting"] == names.setting(0)].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, same)


def test_claims_hold_and_can_fail(run: EMFactoryRun) -> None:
    assert {claim.verdict for claim in check_claims(claims.claims, run)} == {"confirmed"}
    values = run.iterates["log_likelihood"].to_numpy().copy()
    values[5] = values[4] - 1e-3
    decreased = replace(run, iterates=run.iterates.assign(log_likelihood=values))
    holds, evidence = claims.likelihood_never_decreases(decreased)
    assert holds is False and evidence.startswith("1 ") and str(len(values) - 2) in evidence
    is_rate = run.answers["quantity"] == names.RATE
    slower = run.answers.assign(value=run.answers["value"].where(~is_rate, 0.9))
    assert claims.converges_geometrically(replace(run, answers=slower))[0] is False
    unknown = run.answers.assign(value=run.answers["value"].where(~is_rate, np.nan))
    with pytest.raises(NotTestable):
        claims.converges_geometrically(replace(run, answers=unknown))


@pytest.mark.parametrize(
    ("override", "setting", "code"),
    [
        ("experiment.products=2", "experiment.products", None),
        ("experiment.products=5000", "experiment.products", "too_large"),
        ("experiment.beta=0", "experiment.beta", None),
        ("reading=wrong", "reading", None),
        ("experiment.starts=0", "experiment.starts", None),
        ("experiment.rate_scale=0.01", "experiment.data_seed", None),
        ("method=bbb", "method", "no_effect"),
    ],
)
def test_an_invalid_setting_is_refused(override: str, setting: str, code: str | None) -> None:
    assert_refused(["experiment=em_factory", override], setting=setting, code=code)
