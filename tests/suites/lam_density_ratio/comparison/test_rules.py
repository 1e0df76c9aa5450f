"""Every rule on data that satisfy it, on data that do not, and without data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.suites.lam_density_ratio.comparison.claims import STATEMENTS, claims
from bnnbench.suites.lam_density_ratio.comparison.deviations import THESIS_SETTINGS
from bnnbench.suites.lam_density_ratio.comparison.estimator_rules import (
    Distinguishable,
    HalfDeviationSignificant,
    MeansInOrder,
)
from bnnbench.suites.lam_density_ratio.comparison.evidence import (
    Evidence,
    SprinklerRun,
    evidence_of,
    thesis_evidence,
)
from bnnbench.suites.lam_density_ratio.comparison.failure_rules import FailsOften, NeverFails
from bnnbench.suites.lam_density_ratio.comparison.learning_curve_rules import (
    ConvergesFaster,
    FallsFasterEarly,
    LossSettles,
    NelboFallsWithModelObservations,
    NelboRises,
    NoGainFromLongerTraining,
)
from bnnbench.suites.lam_density_ratio.comparison.published import Cell, published_values
from bnnbench.suites.lam_density_ratio.comparison.rules import (
    AtFloor,
    Better,
    CloseMeans,
    NoDifference,
)
from bnnbench.suites.lam_density_ratio.comparison.statistics import Sample
from bnnbench.suites.lam_density_ratio.names import ESTIMATORS
from bnnbench.suites.lam_density_ratio.tables import OK, STUCK

ITERATIONS = np.array([0, 100, 200, 300, 400, 500, 600, 1000, 1500, 2000])


def cell(
    divergence: str, estimator: str, contrast: str = "prior", setting: str = "undertrained"
) -> Cell:
    return Cell(setting, contrast, divergence, estimator)


D, R, T = (cell("gan", name) for name in ESTIMATORS)


def spread(mean: float, std: float, size: int = 30) -> list[float]:
    """Return numbers with this mean and standard deviation."""
    values = np.linspace(-1, 1, size)
    return (mean + std * (values - values.mean()) / values.std()).tolist()


def run_of(
    own: Cell,
    ends: list[float],
    stuck: int = 0,
    curves: Mapping[str, np.ndarray] | None = None,
    **names: Any,
) -> SprinklerRun:
    """Return a run without files, in which all repetitions have the same curves."""
    thesis_settings = THESIS_SETTINGS[own.setting, own.contrast]
    settings = {name: values[0] for name, values in thesis_settings.items()}
    schedule = {"optimal": "published"}.get(own.setting, own.setting)
    of_cell = {"contrast": own.contrast, "divergence": own.divergence, "estimator": own.estimator}
    common = {"numerics": "published", "observations": "data", "data": [0.0, 5.0, 8.0, 12.0, 50.0]}
    all_names = {"schedule": schedule, **of_cell, **common, **settings, **names}
    count = len(ends) + stuck
    repetitions = pd.DataFrame({
        "repetition": range(count),
        "average_kl": [*ends, *([np.nan] * stuck)],
        "status": [OK] * len(ends) + [STUCK] * stuck,
    })  # fmt: skip
    shapes = {"average_kl": 2 - ITERATIONS / 4000, "estimator_loss": 0 * ITERATIONS, "nelbo": 4.0}
    rows = pd.concat(
        pd.DataFrame({"repetition": k, "iteration": ITERATIONS, **shapes, **(curves or {})})
        for k in range(len(ends))
    )
    digest = f"{own.name}{sorted(all_names.items(), key=str)}"
    return SprinklerRun(digest, all_names, RunFolder(Path("nowhere")), repetitions, rows)


def of_tables(number: str, samples: Mapping[Cell, Sample]) -> Evidence:
    return Evidence({number: samples})


@pytest.mark.parametrize(
    ("better", "other", "holds"),
    [
        (Sample(1.30, 0.01, 30), Sample(1.40, 0.02, 30), True),
        (Sample(1.30, 0.03, 30), Sample(1.40, 0.02, 30), False),  # spreads more
        (Sample(1.40, 0.01, 30), Sample(1.30, 0.02, 30), False),  # worse
        (Sample(1.30, 0.10, 30), Sample(1.31, 0.20, 30), False),  # by chance
        (Sample(1.30, 0.01, 9), Sample(1.40, 0.02, 30), None),  # too few
    ],
)
def test_better(better: Sample, other: Sample, holds: bool | None) -> None:
    check = Better("9.1", ((D, T),), spread=True)
    assert check.check(of_tables("9.1", {D: better, T: other}))[0] is holds
    assert check.check(Evidence({}))[0] is None


def test_better_with_a_minimum_number_of_pairs() -> None:
    low, high = Sample(1.3, 0.01, 30), Sample(1.4, 0.01, 30)
    pairs = ((D, T), (R, T))
    one = of_tables("9.1", {D: low, T: high})
    assert Better("9.1", pairs).check(one)[0] is True
    assert Better("9.1", pairs, min_pairs=2).check(one)[0] is None


def test_no_difference_and_close_means() -> None:
    same = {D: Sample(1.3, 0.01, 30), R: Sample(1.301, 0.01, 30), T: Sample(1.299, 0.01, 30)}
    apart = {**same, T: Sample(1.32, 0.01, 30)}
    check = NoDifference("9.1", ((D, R, T),))
    assert check.check(of_tables("9.1", same))[0] is True
    assert check.check(of_tables("9.1", apart))[0] is False
    assert check.check(of_tables("9.1", {D: same[D]}))[0] is None
    near = CloseMeans("9.1", D, "9.1", T, 0.002)
    assert near.check(of_tables("9.1", same))[0] is True
    assert near.check(of_tables("9.1", apart))[0] is False
    assert near.check(Evidence({}))[0] is None


def test_at_the_floor() -> None:
    check = AtFloor("9.1", (D, T), 0.005)
    assert check.check(of_tables("9.1", {D: Sample(1.326, 0.01, 30)}))[0] is True
    far = {D: Sample(1.326, 0.01, 30), T: Sample(1.34, 0.01, 30)}
    assert check.check(of_tables("9.1", far))[0] is False
    assert check.check(of_tables("9.1", {}))[0] is None


def test_order_and_differences_of_estimators() -> None:
    groups = (("9.1", (D, R, T)),)
    rising = {D: Sample(1.30, 0.01, 30), R: Sample(1.31, 0.01, 30), T: Sample(1.32, 0.01, 30)}
    chance = {D: Sample(1.30, 0.10, 30), R: Sample(1.35, 0.10, 30), T: Sample(1.32, 0.10, 30)}
    assert MeansInOrder(groups).check(of_tables("9.1", rising))[0] is True
    assert MeansInOrder(groups).check(of_tables("9.1", chance))[0] is False
    assert Distinguishable(groups).check(of_tables("9.1", rising))[0] is True
    assert Distinguishable(groups).check(of_tables("9.1", chance))[0] is False
    assert HalfDeviationSignificant(groups).check(of_tables("9.1", chance))[0] is False
    many = {own: Sample(s.mean, s.std, 100) for own, s in rising.items()}
    assert HalfDeviationSignificant(groups).check(of_tables("9.1", many))[0] is True
    for check in (MeansInOrder(groups), Distinguishable(groups), HalfDeviationSignificant(groups)):
        assert check.check(of_tables("9.1", {D: rising[D]}))[0] is None


def test_convergence_of_the_prior_contrast() -> None:
    joint = cell("gan", "log_ratio", "joint")
    check = ConvergesFaster(((("9.1", T), ("9.2", joint)),))
    slow = run_of(joint, spread(1.8, 0.01), iterations=4000)
    # The prior contrast falls from 2 to 1.5; it is at 1.8 after 1000 iterations.
    quick = run_of(T, spread(1.5, 0.01))
    assert check.check(evidence_of([slow, quick]))[0] is True
    low = run_of(joint, spread(1.2, 0.01), iterations=4000)
    assert check.check(evidence_of([low, quick]))[0] is False
    assert check.check(evidence_of([quick]))[0] is None


def test_failures() -> None:
    relu, other = cell("kl_posterior_prior", "relu_ratio"), cell("kl_posterior_prior", "ratio")
    half, none = run_of(relu, spread(1.4, 0.1, 6), stuck=6), run_of(relu, spread(1.4, 0.1, 12))
    assert FailsOften((relu,)).check(evidence_of([half]))[0] is True
    assert FailsOften((relu,)).check(evidence_of([none]))[0] is False
    assert FailsOften((relu,)).check(evidence_of([run_of(relu, [1.4])]))[0] is None
    assert NeverFails((other,)).check(evidence_of([run_of(other, spread(1.4, 0.1))]))[0] is True
    lost = run_of(other, spread(1.4, 0.1), stuck=1)
    assert NeverFails((other,)).check(evidence_of([lost]))[0] is False
    assert half.sample().size == 6 and half.stuck == 6


def test_a_longer_run() -> None:
    own = cell("gan", "log_ratio", setting="optimal")
    short = run_of(own, spread(1.326, 0.004))
    same, lower = (run_of(own, spread(m, 0.004), iterations=20_000) for m in (1.326, 1.32))
    check = NoGainFromLongerTraining((own,))
    assert check.check(evidence_of([short, same]))[0] is True
    assert check.check(evidence_of([short, lower]))[0] is False
    other = run_of(own, spread(1.32, 0.004), iterations=20_000, estimator_steps=7)
    assert check.check(evidence_of([short, other]))[0] is None


def test_early_fall_and_fluctuations() -> None:
    gan, other = cell("gan", "log_ratio"), cell("kl_posterior_prior", "log_ratio")
    wild = {"estimator_loss": np.where(ITERATIONS <= 500, (-1.0) ** np.arange(10), 0)}
    low = {"average_kl": np.full(10, 1.4), **wild}
    falls, steadies = FallsFasterEarly(((gan, other),)), LossSettles(((gan, other),))
    calm_first = evidence_of([run_of(gan, [1.4] * 10), run_of(other, [1.4] * 10, curves=wild)])
    wild_first = evidence_of([run_of(gan, [1.4] * 10, curves=low), run_of(other, [1.4] * 10)])
    assert falls.check(calm_first)[0] is False and falls.check(wild_first)[0] is True
    assert steadies.check(calm_first)[0] is True and steadies.check(wild_first)[0] is False
    assert falls.check(Evidence({}))[0] is None and steadies.check(Evidence({}))[0] is None


def test_the_nelbo_of_the_joint_contrast() -> None:
    joint = cell("gan", "log_ratio", "joint")
    rising, falling = ({"nelbo": 4 + s * ITERATIONS / 2000} for s in (1, -3.9))
    atoms = run_of(joint, [1.4] * 3, curves=rising)
    model = run_of(joint, [1.4] * 3, curves=falling, observations="model")
    both = evidence_of([atoms, model])
    rises, falls = NelboRises((joint,)), NelboFallsWithModelObservations((joint,))
    assert rises.check(both)[0] is True and falls.check(both)[0] is True
    only_data = evidence_of([run_of(joint, [1.4] * 3, curves=falling)])
    assert rises.check(only_data)[0] is False and falls.check(only_data)[0] is None
    assert rises.check(Evidence({}))[0] is None
    no_remedy = evidence_of([atoms, run_of(joint, [1.4], curves=rising, observations="model")])
    assert falls.check(no_remedy)[0] is False


def test_the_run_closest_to_the_thesis_is_used() -> None:
    few, other = run_of(T, spread(1.4, 0.1, 12)), run_of(T, spread(1.2, 0.1), iterations=7)
    evidence = evidence_of([other, few])
    assert evidence.runs[T] is few and evidence.others == (other,)
    assert evidence.tables["9.1"][T].mean == pytest.approx(1.4)
    assert few.deviations == ("12 of 30 repetitions",) and not few.deviating_settings
    assert other.deviating_settings == ("iterations 7",)
    assert evidence.deviation_note([T]) and not evidence.deviation_note([D])


VERDICTS_ON_THE_THESIS = {
    "C1": ["confirmed"], "C2": ["confirmed"], "C3": [""], "C4": ["", "confirmed"],
    "C5": ["confirmed"], "C6": ["confirmed", ""], "C7": ["confirmed"], "C8": ["confirmed"],
    "C9": ["confirmed"], "C10": ["confirmed", "not confirmed"],
    "C11": ["confirmed", "not confirmed"], "C12": ["not confirmed"], "C13": ["", ""],
    "C14": ["", ""],
}  # fmt: skip


def test_the_same_rules_on_the_thesis_s_own_numbers() -> None:
    found: dict[str, list[str]] = {}
    for claim in claims(Evidence({})):
        assert claim.verdict == "not tested" and claim.rule
        number = claim.text.split(":")[0].split(",")[0]
        found.setdefault(number, []).append(claim.theirs.split(":")[0])
    assert found == VERDICTS_ON_THE_THESIS


def test_runs_with_the_thesis_s_numbers_get_the_same_verdicts() -> None:
    runs = [run_of(own, spread(s.mean, s.std)) for own, s in published_values().items()]
    for claim, (_, _, check) in zip(claims(evidence_of(runs)), STATEMENTS, strict=True):
        # Tables 5.1 and 8.2 print different values of one configuration.
        if claim.theirs and not isinstance(check, ConvergesFaster):
            assert claim.theirs.startswith(claim.verdict), claim.text
    assert thesis_evidence().tables.keys() == evidence_of(runs).tables.keys()
