"""A run of the conjugate pairs from the command line, and its claims."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

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
from bnnbench.suites.inference_toys.conjugate_pairs import names
from bnnbench.suites.inference_toys.conjugate_pairs.page import STATEMENTS
from bnnbench.suites.inference_toys.conjugate_pairs.rules import (
    Differ,
    Invariant,
    IsPosterior,
    LeadsTo,
    PairsRun,
    read_pairs,
)

Command = Callable[..., tuple[int, str, str]]


def finished(outputs: Path, *overrides: str) -> RunFolder:
    given = ("experiment=conjugate_pairs", *overrides, f"outputs_dir={outputs}")
    return execute(build(compose(*given)), no_page)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> PairsRun:
    """Two sizes."""
    return read_pairs(finished(tmp_path_factory.mktemp("out"), "experiment.sizes=[1,10]"))


def test_a_run_shows_answers_figures_and_claims(command: Command) -> None:
    words = ("experiment=conjugate_pairs", "experiment.sizes=[1,3]", "workers=1")
    code, out, errors = command("run", *words)
    assert code == 0, errors
    folder = folder_of(out)
    assert "pseudo-observations" in out and "reading=printed" in out
    verdicts = pd.read_csv(folder.table(CLAIMS))["verdict"]
    assert verdicts.tolist() == ["confirmed"] * len(STATEMENTS)
    for name in ("posteriors", "risks"):
        assert folder.figure(name, "png").stat().st_size > 5000


def test_the_print_is_not_the_posterior(tmp_path: Path) -> None:
    run = read_pairs(finished(tmp_path, "reading=printed", "experiment.sizes=[10]"))
    normal = IsPosterior(names.MEAN_PAIR, (names.MEAN,))
    assert normal.find(run)[0] is False
    assert replace(normal, estimates=(names.SCALE,)).find(run)[0] is False
    assert IsPosterior(names.PRECISION_PAIR, (names.MEAN,)).find(run)[0] is True


def test_a_size_does_not_depend_on_which_others_were_asked_for(
    run: PairsRun, tmp_path: Path
) -> None:
    alone = read_answers(finished(tmp_path, "experiment.sizes=[10]"))
    kept = run.answers[run.answers["setting"] == names.setting(10)].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, kept)


def test_the_rules_can_fail(run: PairsRun) -> None:
    is_map = run.answers["quantity"].str.endswith(names.MAP)
    last = is_map & (run.answers["setting"] == names.setting(10))
    apart = run.answers.assign(value=run.answers["value"].where(~last, 50.0))
    assert Differ().find(run)[0] is True
    assert Differ().find(replace(run, answers=apart))[0] is False
    assert Invariant(names.MLE, expected=False).find(run)[0] is False
    assert Invariant(names.MAP, expected=True).find(run)[0] is False
    off = run.decisions.assign(minimiser=run.decisions["minimiser"] + 0.5)
    for loss in names.LOSSES:
        assert LeadsTo(loss).find(run)[0] is True
        assert LeadsTo(loss).find(replace(run, decisions=off))[0] is False


MISTAKES = {
    "scale": ("experiment.scale=0", ["experiment.scale", "0"]),
    "prior": ("experiment.prior_shape=-1", ["experiment.prior_shape", "-1"]),
    "mean": ("experiment.mean=nan", ["experiment.mean", "finite"]),
    "reading": ("reading=wrong", ["reading", "corrected, printed"]),
    "range": ("experiment.mean_range=[3]", ["experiment.mean_range", "two"]),
    "turned range": ("experiment.precision_range=[4,1]", ["experiment.precision_range"]),
    "zero": ("experiment.precision_range=[0,1]", ["experiment.precision_range", "0"]),
    "no list": ("experiment.sizes=3", ["experiment.sizes", "list"]),
    "none": ("experiment.sizes=[0]", ["experiment.sizes", "0"]),
    "twice": ("experiment.sizes=[3,3]", ["experiment.sizes", "different"]),
    "seed": ("seed=1", ["no use for seed"]),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_sentence(name: str) -> None:
    override, words = MISTAKES[name]
    assert_refused(["experiment=conjugate_pairs", override], *words)
