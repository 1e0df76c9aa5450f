"""The KL shapes as a run: what it saves, what its page says, what it refuses."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest
from support.command import folder_of
from support.refusals import assert_refused

from bnnbench.results.answers import CLAIMS, read_answers, value_of
from bnnbench.suites.inference_toys.kl_shapes.experiment import KLShapes
from bnnbench.suites.inference_toys.kl_shapes.findings import read_findings
from bnnbench.suites.inference_toys.kl_shapes.page import EXHIBIT
from bnnbench.suites.inference_toys.kl_shapes.tables import KIND

Command = Callable[..., tuple[int, str, str]]
RUN = ("run", "experiment=kl_shapes", "workers=1")
SMALL = (
    "experiment.separations=[0,3]",
    "experiment.shares=[0.5,0.6]",
    "experiment.scales=[1,0.5]",
    "experiment.orders=[-2,2,8]",
)
FEW = ("experiment.shares=[0.5]", "experiment.scales=[2]", "experiment.orders=[1]")

VERDICTS = {
    "Forward KL": "confirmed",
    "As the modes": "confirmed",
    "The same": "not confirmed",
    "Reverse KL": "confirmed",
    "alpha <= -1": "confirmed",
    "alpha >= 1": "confirmed",
    "The family": "confirmed",
    "Of two equal": "confirmed",
    "Of any two": "not confirmed",
    "alpha = 0": "confirmed",
    "Mean field under": "confirmed",
    "Mean field captures": "not confirmed",
}
"""By how a statement begins."""


def test_a_run_has_answers_figures_and_verdicts(command: Command) -> None:
    code, out, errors = command(*RUN, *SMALL)
    assert code == 0, errors
    folder = folder_of(out)
    claims = pd.read_csv(folder.table(CLAIMS))
    found = {
        begins: claims.loc[claims["text"].str.startswith(begins), "verdict"].tolist()
        for begins in VERDICTS
    }
    assert found == {begins: [verdict] for begins, verdict in VERDICTS.items()}
    for name in EXHIBIT.figures:
        assert folder.figure(name, "png").stat().st_size > 5000
    answers = read_answers(folder)
    apart = "0.5 N(-3, 1) + 0.5 N(3, 1)"
    known = {"reverse KL": 1.023, "Hellinger": 3.050, "forward KL": 3.162}
    for name, value in known.items():
        measured = value_of(answers, "standard deviation of q", name, apart)
        assert measured == pytest.approx(value, abs=6e-4)
    assert value_of(answers, "mean of q", "reverse KL", apart) == pytest.approx(2.984, abs=6e-4)
    exact = answers.dropna(subset="exact")
    assert (exact["value"] - exact["exact"]).abs().max() < 1e-5
    assert "0.5 N(0, 1) + 0.5 N(0, 1)" not in set(answers["setting"])


@pytest.mark.usefixtures("undrawn")
def test_claims_that_a_run_cannot_judge_are_not_tested(command: Command) -> None:
    code, out, errors = command(*RUN, *FEW, "experiment.separations=[1]")
    assert code == 0, errors
    claims = EXHIBIT.claims(folder_of(out))
    assert {c.text[:12] for c in claims if c.verdict == "not tested"} == {
        "As the modes",
        "Of two equal",
    }


@pytest.mark.usefixtures("undrawn")
def test_a_unit_does_not_depend_on_the_others(command: Command) -> None:
    both, one = (
        folder_of(command(*RUN, f"experiment.separations={values}", *FEW)[1])
        for values in ("[1,2]", "[2]")
    )
    rows, alone = (read_findings(folder).fits for folder in (both, one))
    shared = rows[rows["separation"] == 2].reset_index(drop=True)
    pd.testing.assert_frame_equal(shared, alone, check_exact=True)


def test_the_page_is_that_of_the_experiments_kind() -> None:
    assert KLShapes.kind == KIND == EXHIBIT.kind


MISTAKES = {
    "separations": (["experiment.separations=[-1]"], ["experiment.separations", "-1"]),
    "far": (["experiment.separations=[8]"], ["experiment.separations", "less than 8"]),
    "no list": (["experiment.separations=2"], ["experiment.separations", "list"]),
    "empty": (["experiment.orders=[]"], ["experiment.orders", "list"]),
    "share": (["experiment.shares=[1]"], ["experiment.shares", "1"]),
    "scale": (["experiment.scales=[0]"], ["experiment.scales", "0.25"]),
    "order": (["experiment.orders=[one]"], ["experiment.orders", "one"]),
    "correlation": (["experiment.correlation=1"], ["experiment.correlation", "less than 1"]),
    "sweeps": (["experiment.sweeps=1"], ["experiment.sweeps", "2"]),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_sentence(name: str) -> None:
    overrides, words = MISTAKES[name]
    assert_refused([*RUN[1:], *overrides], *words)
