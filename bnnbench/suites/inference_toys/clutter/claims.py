"""Claims about the clutter problem, checked on the saved tables of a run."""

from __future__ import annotations

import numpy as np
from scipy.stats import binomtest

from bnnbench.results.claims import CheckResult, Claims, NotTestable
from bnnbench.results.saved_tables import SavedTables
from bnnbench.suites.inference_toys.checks import BOOK, combine, for_every
from bnnbench.suites.inference_toys.clutter import tables
from bnnbench.suites.inference_toys.clutter.tables import FIXED_POINT_TOLERANCE

MIN_RELATIVE_STD = 0.1
"""Standard deviation over orders, relative to the posterior's, that counts as dependence."""

SIGNIFICANCE = 0.01
"""Largest p-value of a sign test that counts as significant."""

EXCEEDS = (
    "its standard deviation exceeds the exact one in significantly more than half of the simulated "
    f"data sets of each size (one-sided sign test, p < {SIGNIFICANCE:g})"
)

claims = Claims()

on_every_data_set = for_every(lambda run: zip(tables.data_sets(run), strict=True))


def size_of(run: SavedTables) -> str:
    """Return the number of observations of a data set, as evidence states it."""
    return f"(N = {len(run[tables.POINTS])})"


@claims(
    "ADF depends on the ordering of the factors",
    source=f"{BOOK}, 3.2.2.3",
    rule="over random orders, the standard deviation of ADF's mean exceeds "
    f"{MIN_RELATIVE_STD} exact posterior standard deviations, for every number of observations",
)
@on_every_data_set
def depends_on_order(run: SavedTables) -> CheckResult:
    std = run.value(tables.MEAN_STD, tables.ADF)
    scale = run.answer(tables.SCALE, tables.ADF)["exact"]
    return std > MIN_RELATIVE_STD * scale, f"{std:.2g} vs {scale:.2g} {size_of(run)}"


@claims(
    "Refining each factor in the context of all others removes the dependence on the order",
    source=f"{BOOK}, 3.2.3",
    rule=f"EP converges to the same mean within {FIXED_POINT_TOLERANCE:g} in every random order, "
    "for the data set of the figures and all others",
)
@on_every_data_set
def has_one_fixed_point(run: SavedTables) -> CheckResult:
    orders = run[tables.ORDERS]
    distances = (orders["ep_mean"] - run.value(tables.MEAN, tables.EP)).abs()
    others = orders[distances > FIXED_POINT_TOLERANCE]
    evidence = f"{len(orders) - len(others)} of {len(orders)} orders {size_of(run)}"
    if len(others):
        means = ", ".join(f"{value:.3g}" for value in sorted(set(others["ep_mean"].round(6))))
        loss = run.value(tables.EVIDENCE, tables.EP) - others["ep_log_evidence"].max()
        evidence += f", the others at {means} with {loss:.3g} nats less log evidence"
    exceptions = run[tables.DATA_SETS]["deviating_orders"] > 0
    evidence += f"; not in all orders of {exceptions.sum()} of {len(exceptions)} data sets"
    return others.empty and not exceptions.any(), evidence


@claims("ADF overestimates the variance", source=f"{BOOK}, 3.2.2.3", rule=EXCEEDS, column="adf")
@claims("EP overestimates the variance", source=f"{BOOK}, 3.3", rule=EXCEEDS, column="ep")
@on_every_data_set
def overestimates_variance(run: SavedTables, column: str) -> CheckResult:
    rows = run[tables.DATA_SETS].dropna(subset=column)
    count = int((rows[column] > rows["exact"]).sum())
    p = binomtest(count, len(rows), alternative="greater").pvalue
    evidence = f"in {count} of {len(rows)} data sets, p {p:.2g} {size_of(run)}"
    return bool(p < SIGNIFICANCE), evidence


@claims(
    "Variational inference underestimates the variance",
    source=f"{BOOK}, 3.2.1.6 and 3.3",
    rule=f"the standard deviation of {tables.VB} and {tables.GAUSSIAN_VI} is below the exact one "
    "on every data set",
)
@on_every_data_set
def underestimates_variance(run: SavedTables) -> CheckResult:
    rows = {name: run.answer(tables.SCALE, name) for name in (tables.VB, tables.GAUSSIAN_VI)}
    errors = {name: row["value"] / row["exact"] - 1 for name, row in rows.items()}
    return combine(
        (error < 0, f"{name} {100 * error:+.2g} % {size_of(run)}") for name, error in errors.items()
    )


@claims(
    "A single site need not be a distribution, although the product of all sites is",
    source=f"{BOOK}, 3.2.3.1",
    rule="some sites of EP have negative precision, and its posterior standard deviation is finite",
)
@on_every_data_set
def has_improper_sites(run: SavedTables) -> CheckResult:
    count, scale = (run.value(name, tables.EP) for name in (tables.NEGATIVE_SITES, tables.SCALE))
    return bool(count > 0 and np.isfinite(scale)), f"{count:.0f} of {len(run[tables.POINTS])} sites"


@claims(
    "Power EP is EP at power 1 (alpha = 1) and minimises reverse KL in the limit alpha = -1",
    source=f"{BOOK}, 3.2.3.3",
    rule="for powers from 1 downwards, the standard deviation of power EP approaches that of the "
    "Gaussian of minimum reverse KL, to within 5 % of EP's distance at the lowest power",
)
@on_every_data_set
def interpolates_between_ep_and_reverse_kl(run: SavedTables) -> CheckResult:
    rows = run[tables.POWERS].query("power <= 1").sort_values("power", ascending=False)
    if not {1.0} < set(rows["power"]):
        raise NotTestable("needs power 1 and a lower power")
    distance = (rows["scale"] - run.value(tables.SCALE, tables.GAUSSIAN_VI)).abs().to_numpy()
    holds = bool((np.diff(distance) < 0).all() and distance[-1] <= 0.05 * distance[0])
    lowest = rows["power"].iloc[-1]
    evidence = f"{distance[0]:.2g} at power 1, {distance[-1]:.2g} at {lowest:g} {size_of(run)}"
    return holds, evidence


@claims(
    "An iteration of EP may increase its energy",
    source=f"{BOOK}, 3.2.3.4",
    rule="in some random order, a pass of EP decreases its log evidence",
)
def energy_can_increase(run: SavedTables) -> CheckResult:
    decreases = {
        size_of(one): one[tables.ORDERS]["n_decreases"] > 0 for one in tables.data_sets(run)
    }
    evidence = (f"{n.sum()} of {len(n)} orders {size}" for size, n in decreases.items())
    return any(n.any() for n in decreases.values()), "; ".join(evidence)


@claims(
    "On Gaussian mixtures, EP is more accurate than Monte Carlo, Laplace's method and variational "
    "Bayes for the same amount of computation",
    source="Minka, thesis, MIT 2001, abstract",
    rule="after every pass of EP except the first (ADF), its median errors in mean and log "
    "evidence are below those of each competitor at the same or lower cost",
)
@on_every_data_set
def is_most_accurate_per_work(run: SavedTables) -> CheckResult:
    columns, results = ["mean_error", "evidence_error"], []
    for competitor in (tables.VB, tables.LAPLACE, tables.IMPORTANCE):
        steps = run.rows(tables.PROGRESS, algorithm=competitor)
        wins = [
            bool((ep_pass[columns] < affordable[columns].iloc[-1]).all())
            for _, ep_pass in run.rows(tables.PROGRESS, algorithm=tables.EP).iloc[1:].iterrows()
            if len(affordable := steps[steps["work"] <= ep_pass["work"]])
        ]
        evidence = f"{sum(wins)} of {len(wins)} vs {competitor} {size_of(run)}"
        results.append((all(wins) if wins else None, evidence))
    return combine(results)
