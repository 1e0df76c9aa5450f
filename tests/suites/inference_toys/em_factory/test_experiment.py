"""A run of the factory from the command line, and its claims."""

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
from bnnbench.suites.inference_toys.em_factory import names
from bnnbench.suites.inference_toys.em_factory.page import STATEMENTS
from bnnbench.suites.inference_toys.em_factory.rules import (
    FactoryRun,
    Geometric,
    NeverFalls,
    Reaches,
    read_factory,
)

Command = Callable[..., tuple[int, str, str]]


def finished(outputs: Path, *overrides: str) -> RunFolder:
    given = ("experiment=em_factory", *overrides, f"outputs_dir={outputs}")
    return execute(build(compose(*given)), no_page)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> FactoryRun:
    return read_factory(finished(tmp_path_factory.mktemp("out"), "experiment.starts=2"))


def test_a_run_shows_answers_the_figure_and_claims(command: Command) -> None:
    code, out, errors = command("run", "experiment=em_factory", "experiment.starts=1")
    assert code == 0, errors
    folder = folder_of(out)
    assert "rate of convergence" in out and "reading=printed" in out
    verdicts = pd.read_csv(folder.table(CLAIMS))["verdict"]
    assert verdicts.tolist() == ["confirmed"] * len(STATEMENTS)
    assert folder.figure("em", "png").stat().st_size > 5000


def test_the_printed_reading_is_no_maximum(tmp_path: Path) -> None:
    printed = read_factory(finished(tmp_path, "reading=printed", "experiment.starts=1"))
    assert NeverFalls().find(printed)[0] is True
    for rule in (Reaches(names.EM, 1e-8), Reaches(names.SEARCH, 1e-4)):
        holds, evidence = rule.find(printed)
        assert holds is False and "1.768116 against 1.793103" in evidence
    own = printed.of(names.EM, (names.LOG_LIKELIHOOD,)).iloc[0]
    assert own["value"] > own["exact"]


def test_a_start_does_not_depend_on_which_others_were_asked_for(
    run: FactoryRun, tmp_path: Path
) -> None:
    alone = read_answers(finished(tmp_path, "experiment.starts=1"))
    kept = run.answers[run.answers["setting"] == names.setting(0)].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, kept)


def test_the_rules_hold_and_can_fail(run: FactoryRun) -> None:
    for rule in (NeverFalls(), Reaches(names.EM, 1e-8), Geometric()):
        assert rule.find(run)[0] is True
    heights = run.iterates["log_likelihood"].to_numpy().copy()
    heights[5] = heights[4] - 1e-3
    fallen = replace(run, iterates=run.iterates.assign(log_likelihood=heights))
    assert NeverFalls().find(fallen) == (False, f"1 falls in {len(heights) - 2} iterations")
    is_rate = run.answers["quantity"] == names.RATE
    slower = run.answers.assign(value=run.answers["value"].where(~is_rate, 0.9))
    assert Geometric().find(replace(run, answers=slower))[0] is False
    unknown = run.answers.assign(value=run.answers["value"].where(~is_rate, np.nan))
    assert Geometric().find(replace(run, answers=unknown))[0] is None


MISTAKES = {
    "two products": ("experiment.products=2", ["experiment.products", "at least 3"]),
    "too many": ("experiment.products=5000", ["experiment.products", "1000"]),
    "no failures": ("experiment.beta=0", ["experiment.beta", "0"]),
    "reading": ("reading=wrong", ["reading", "corrected, printed"]),
    "no start": ("experiment.starts=0", ["experiment.starts"]),
    "no counts": ("experiment.rate_scale=0.01", ["experiment.rate_scale", "experiment.data_seed"]),
    "method": ("method=bbb", ["no use for method"]),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_sentence(name: str) -> None:
    override, words = MISTAKES[name]
    assert_refused(["experiment=em_factory", override], *words)
