"""The experiment on the six loss functionals, from the command to its claims and figure."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest
from support.command import result_folder
from support.refusals import assert_refused

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.figures.plotting import Figure
from bnnbench.results.answers import CLAIMS, read_answers, value_of
from bnnbench.results.claims import VERDICTS
from bnnbench.suites.lam_density_ratio.theory.names import (
    FUNCTIONALS_TABLE,
    IN_PRE_ACTIVATION,
    MIN_CURVATURE,
    OPTIMUM,
)
from bnnbench.suites.lam_density_ratio.theory.parametrisations_page import (
    STATEMENTS,
    functionals_figure,
)
from bnnbench.suites.lam_density_ratio.theory.rules import Within

Command = Callable[..., tuple[int, str, str]]
EXPERIMENT = "experiment=estimator_parametrisations"


def finished(command: Command, *overrides: str) -> RunFolder:
    code, out, errors = command("run", EXPERIMENT, "experiment.points=2000", *overrides)
    assert code == 0, errors
    return result_folder(out)


def test_the_verdicts_on_section_9_1(command: Command) -> None:
    claims = pd.read_csv(finished(command).table(CLAIMS))
    assert list(claims["verdict"]) == ["confirmed"] * 6 + ["not confirmed"]
    assert [text for text in claims["text"] if text.startswith("C15")]
    assert sum(text.startswith("C16") for text in claims["text"]) == 2


@pytest.mark.usefixtures("without_figures")
def test_other_densities_have_another_optimum_and_the_same_verdicts(command: Command) -> None:
    folder = finished(command, "experiment.q=0.9", "experiment.p=0.3", "seed=3")
    answers = read_answers(folder)
    assert value_of(answers, OPTIMUM, "GAN, D") == pytest.approx(0.75, abs=1e-12)
    assert value_of(answers, OPTIMUM, "reverse KL, r") == pytest.approx(3, abs=1e-12)
    shift = answers["value"] - answers["exact"]
    assert shift.abs().max() < 1e-10
    assert pd.read_csv(folder.table(CLAIMS))["verdict"].tolist().count("confirmed") == 6
    figure = functionals_figure(folder)
    assert isinstance(figure, Figure) and len(figure.axes) == 6
    assert {axes.get_ylim() for axes in figure.axes} == {figure.axes[0].get_ylim()}
    assert len(pd.read_csv(folder.table(FUNCTIONALS_TABLE))) == 6 * 400


@pytest.mark.usefixtures("without_figures")
def test_two_losses_are_concave_in_their_outputs_and_none_in_the_pre_activation(
    command: Command,
) -> None:
    answers = read_answers(finished(command))
    least = answers[answers["quantity"] == MIN_CURVATURE].set_index("approximation")["value"]
    assert set(least.index[least < 0]) == {"GAN, r", "reverse KL, D"}
    second = IN_PRE_ACTIVATION.format("second")
    assert (answers.loc[answers["quantity"] == second, "value"] < 1e-10).all()


def test_a_rule_that_holds_one_that_does_not_and_one_without_data() -> None:
    answers = pd.DataFrame({
        "quantity": ["x", "x"], "approximation": ["a", "b"], "setting": "", "value": [0.5, 1.5],
    })  # fmt: skip
    inside, outside = Within("x", ("a",), "", high=1.0), Within("x", ("a", "b"), "", high=1.0)
    assert VERDICTS[inside.check(answers)[0]] == "confirmed"
    assert outside.check(answers) == (False, "x: 0.5 (a), 1.5 (b)")
    assert Within("x", ("c",), "").check(answers)[0] is None
    assert all(isinstance(check, Within) for _, _, check in STATEMENTS)


@pytest.mark.parametrize(
    "override", ["experiment.q=0", "experiment.p=-1", "experiment.points=0", "seed=-1"]
)
def test_a_mistake_names_its_setting(override: str) -> None:
    assert_refused([EXPERIMENT, override], setting=override.partition("=")[0])
