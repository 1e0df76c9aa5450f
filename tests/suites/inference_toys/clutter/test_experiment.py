"""A run of the clutter problem, and its claims on original and modified tables."""

from __future__ import annotations

import numpy as np
import pytest
from support.config import compose
from support.tiny_runs import no_page

from bnnbench.config.assemble import build
from bnnbench.experiment.execution import execute
from bnnbench.results.answers import ANSWERS
from bnnbench.results.claims import NotTestable, check_claims
from bnnbench.results.saved_tables import SavedTables
from bnnbench.suites.inference_toys.clutter import claims, tables

QUICK = (
    "experiment=clutter",
    "experiment.sizes=[20]",
    "experiment.draws=[2,50]",
    "experiment.repetitions=3",
    "experiment.orders=10",
    "experiment.powers=[1,0.5,0.01]",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> SavedTables:
    """Return a run on 20 observations."""
    outputs = tmp_path_factory.mktemp("out")
    return tables.read_run(execute(build(compose(*QUICK, f"outputs_dir={outputs}")), no_page))


def test_answers_are_close_to_exact_values(run: SavedTables) -> None:
    row = run.answer(tables.EVIDENCE, tables.EP, "20 observations")
    assert row["exact"] == pytest.approx(-43.3307, abs=5e-5)
    assert abs(row["value"] - row["exact"]) < 0.004
    assert run.value(tables.NEGATIVE_SITES, tables.EP) == 8
    assert run.value(tables.PASSES, tables.EP) == 11
    adf, means = run.answer(tables.MEAN, tables.ADF), run[tables.ORDERS]["adf_mean"]
    assert adf["value"] == pytest.approx(means.mean())
    assert adf["standard_error"] == pytest.approx(means.sem())


def test_work_is_the_number_of_factors_evaluated(run: SavedTables) -> None:
    work = run[tables.PROGRESS].groupby("algorithm")["work"]
    assert work.first().to_dict() == {
        tables.EP: 20, tables.VB: 20, tables.LAPLACE: 20, tables.IMPORTANCE: 40
    }  # fmt: skip
    assert work.get_group(tables.IMPORTANCE).tolist() == [40, 1000]


def test_all_claims_hold_for_twenty_observations(run: SavedTables) -> None:
    for claim in check_claims(claims.claims, run):
        assert claim.verdict == "confirmed", claim


def test_claims_can_fail(run: SavedTables) -> None:
    means = run[tables.ORDERS]["ep_mean"].to_numpy().copy()
    means[3] = -10.0
    holds, evidence = claims.has_one_fixed_point(run.with_columns(tables.ORDERS, ep_mean=means))
    assert holds is False and "9 of 10" in evidence and "-10" in evidence
    assert claims.misestimates_variance(run, approximations=(tables.VB,))[0] is False
    zeros, progress = run.with_columns(ANSWERS, value=0.0), run[tables.PROGRESS]
    is_ep, is_vb = (progress["algorithm"] == name for name in (tables.EP, tables.VB))
    errors = progress["mean_error"].where(~is_ep, 9.0)
    late = progress["work"].where(~is_vb, 10**9)
    for check, modified, expected in (
        (claims.depends_on_order, zeros, False),
        (claims.has_improper_sites, zeros, False),
        (claims.energy_can_increase, run.with_columns(tables.ORDERS, n_decreases=0), False),
        (
            claims.is_most_accurate_per_work,
            run.with_columns(tables.PROGRESS, mean_error=errors),
            False,
        ),
        (claims.is_most_accurate_per_work, run.with_columns(tables.PROGRESS, work=late), None),
        (
            claims.interpolates_between_ep_and_reverse_kl,
            run.with_columns(tables.POWERS, scale=np.full(3, 0.5)),
            False,
        ),
    ):
        assert check(modified)[0] is expected, check.__name__
    with pytest.raises(NotTestable):
        claims.interpolates_between_ep_and_reverse_kl(run.with_columns(tables.POWERS, power=1.0))
