"""Runs on KL shapes: answers, claims, invalid settings."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest
from support.command import result_folder
from support.refusals import assert_refused

from bnnbench.results.answers import CLAIMS, read_answers, value_of
from bnnbench.suites.inference_toys.kl_shapes.experiment import KLShapes
from bnnbench.suites.inference_toys.kl_shapes.names import KIND
from bnnbench.suites.inference_toys.kl_shapes.page import EXPERIMENT_PAGE
from bnnbench.suites.inference_toys.kl_shapes.saved_run import read_run

Command = Callable[..., tuple[int, str, str]]
RUN = ("run", "experiment=kl_shapes", "workers=1")
SMALL = (
    "experiment.separations=[0,3]",
    "experiment.weights=[0.5,0.6]",
    "experiment.scales=[1,0.5]",
    "experiment.orders=[-2,2,8]",
)
FEW = ("experiment.weights=[0.5]", "experiment.scales=[2]", "experiment.orders=[1]")

VERDICTS = [
    "confirmed",
    "confirmed",  # the component of more mass is selected
    "not confirmed",  # the higher component is selected
    "confirmed",
    "confirmed",
    "confirmed",
    "confirmed",
    "confirmed",  # the width increases for equal components
    "not confirmed",  # the width increases for all components
    "confirmed",
    "confirmed",
    "not confirmed",  # mean field captures marginals
]


def test_a_run_has_answers_figures_and_verdicts(command: Command) -> None:
    code, out, errors = command(*RUN, *SMALL)
    assert code == 0, errors
    folder = result_folder(out)
    assert pd.read_csv(folder.table(CLAIMS))["verdict"].tolist() == VERDICTS
    for name in EXPERIMENT_PAGE.figures:
        assert folder.figure(name, "png").stat().st_size > 5000
    answers = read_answers(folder)
    mixture = "0.5 N(-3, 1) + 0.5 N(3, 1)"
    known = {"reverse KL": 1.023, "Hellinger": 3.050, "forward KL": 3.162}
    for name, value in known.items():
        measured = value_of(answers, "standard deviation of q", name, mixture)
        assert measured == pytest.approx(value, abs=6e-4)
    assert value_of(answers, "mean of q", "reverse KL", mixture) == pytest.approx(2.984, abs=6e-4)
    exact = answers.dropna(subset="exact")
    assert (exact["value"] - exact["exact"]).abs().max() < 1e-5
    assert "0.5 N(0, 1) + 0.5 N(0, 1)" not in set(answers["setting"])


@pytest.mark.usefixtures("without_figures")
def test_claims_without_evidence_are_not_tested(command: Command) -> None:
    code, out, errors = command(*RUN, *FEW, "experiment.separations=[1]")
    assert code == 0, errors
    claims = EXPERIMENT_PAGE.claims(result_folder(out))
    untested = [n for n, claim in enumerate(claims) if claim.verdict == "not tested"]
    assert untested == [1, 7]  # no component has more mass, and components are not equal


@pytest.mark.usefixtures("without_figures")
def test_a_unit_does_not_depend_on_the_others(command: Command) -> None:
    both, one = (
        result_folder(command(*RUN, f"experiment.separations={values}", *FEW)[1])
        for values in ("[1,2]", "[2]")
    )
    rows, alone = (read_run(folder).fits for folder in (both, one))
    shared = rows[rows["separation"] == 2].reset_index(drop=True)
    pd.testing.assert_frame_equal(shared, alone, check_exact=True)


def test_the_page_belongs_to_the_experiment() -> None:
    assert KLShapes.kind == KIND == EXPERIMENT_PAGE.kind


@pytest.mark.parametrize(
    ("override", "code"),
    [
        ("experiment.separations=[-1]", None),
        ("experiment.separations=[8]", None),
        ("experiment.separations=2", "not_a_list"),
        ("experiment.orders=[]", "not_a_list"),
        ("experiment.weights=[1]", None),
        ("experiment.scales=[0]", None),
        ("experiment.orders=[one]", None),
        ("experiment.correlation=1", None),
        ("experiment.sweeps=1", None),
    ],
)
def test_an_invalid_setting_is_refused(override: str, code: str | None) -> None:
    setting = override.partition("=")[0]
    assert_refused([*RUN[1:], override], setting=setting, code=code)
