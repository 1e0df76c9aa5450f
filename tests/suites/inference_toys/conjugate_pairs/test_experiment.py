"""Runs of the conjugate pairs, and their claims."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

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
from bnnbench.suites.inference_toys.conjugate_pairs import claims, names
from bnnbench.suites.inference_toys.conjugate_pairs.saved_run import ConjugatePairsRun, read_run

Command = Callable[..., tuple[int, str, str]]


def finished(outputs: Path, *overrides: str) -> RunFolder:
    config = compose("experiment=conjugate_pairs", *overrides, f"outputs_dir={outputs}")
    return execute(build(config), no_page)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ConjugatePairsRun:
    """Return a run with two sample sizes."""
    return read_run(finished(tmp_path_factory.mktemp("out"), "experiment.sizes=[1,10]"))


def test_a_run_shows_answers_figures_and_claims(command: Command) -> None:
    words = ("experiment=conjugate_pairs", "experiment.sizes=[1,3]", "workers=1")
    code, out, errors = command("run", *words)
    assert code == 0, errors
    folder = result_folder(out)
    assert "pseudo-observations" in out and "reading=printed" in out
    verdicts = pd.read_csv(folder.table(CLAIMS))["verdict"]
    assert verdicts.tolist() == ["confirmed"] * len(claims.claims)
    for name in ("posteriors", "risks"):
        assert folder.figure(name, "png").stat().st_size > 5000


def test_the_printed_equations_do_not_give_the_posterior(tmp_path: Path) -> None:
    run = read_run(finished(tmp_path, "reading=printed", "experiment.sizes=[10]"))
    for name in (names.MEAN, names.SCALE):
        assert claims.matches_quadrature(run, names.MEAN_PAIR, (name,))[0] is False
    assert claims.matches_quadrature(run, names.PRECISION_PAIR, (names.MEAN,))[0] is True


def test_a_unit_does_not_depend_on_the_other_units(run: ConjugatePairsRun, tmp_path: Path) -> None:
    alone = read_answers(finished(tmp_path, "experiment.sizes=[10]"))
    same = run.answers[run.answers["setting"] == names.setting(10)].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, same)


def test_claims_can_fail(run: ConjugatePairsRun) -> None:
    is_map = run.answers["quantity"].str.endswith(names.MAP)
    last = is_map & (run.answers["setting"] == names.setting(10))
    distant = run.answers.assign(value=run.answers["value"].where(~last, 50.0))
    assert claims.mle_and_map_converge(run)[0] is True
    assert claims.mle_and_map_converge(replace(run, answers=distant))[0] is False
    assert claims.is_invariant_or_not(run, names.MLE, False)[0] is False
    assert claims.is_invariant_or_not(run, names.MAP, True)[0] is False
    shifted = run.decisions.assign(minimiser=run.decisions["minimiser"] + 0.5)
    for loss in names.LOSSES:
        assert claims.estimate_minimises(run, loss)[0] is True
        assert claims.estimate_minimises(replace(run, decisions=shifted), loss)[0] is False


@pytest.mark.parametrize(
    ("override", "code"),
    [
        ("experiment.scale=0", None),
        ("experiment.prior_shape=-1", None),
        ("experiment.mean=nan", None),
        ("reading=wrong", None),
        ("experiment.mean_range=[3]", "not_a_list"),
        ("experiment.precision_range=[4,1]", None),
        ("experiment.precision_range=[0,1]", None),
        ("experiment.sizes=3", "not_a_list"),
        ("experiment.sizes=[0]", None),
        ("experiment.sizes=[3,3]", "repeated_or_too_large"),
        ("seed=1", "no_effect"),
    ],
)
def test_an_invalid_setting_is_refused(override: str, code: str | None) -> None:
    setting = override.partition("=")[0]
    assert_refused(["experiment=conjugate_pairs", override], setting=setting, code=code)
