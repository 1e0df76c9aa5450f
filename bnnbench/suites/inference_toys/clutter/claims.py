"""Claims about the clutter problem, checked on the saved tables of a run."""

from __future__ import annotations

import numpy as np

from bnnbench.results.claims import CheckResult, Claims, NotTestable
from bnnbench.suites.inference_toys.checks import combine, for_every
from bnnbench.suites.inference_toys.clutter import names
from bnnbench.suites.inference_toys.clutter.saved_run import ClutterRun
from bnnbench.suites.inference_toys.sources import BOOK

MIN_RELATIVE_STD = 0.1
"""Standard deviation over orders, relative to the posterior's, that counts as dependence."""

FIXED_POINT_TOLERANCE = 1e-6
"""Distance in `theta` within which two fixed points are the same."""

BOUND_TOLERANCE = 1e-9
"""Rounding error allowed in a bound, nats."""

claims = Claims()
for_every_size = for_every(lambda run: run.sizes)


@claims(
    "ADF depends on the ordering of the factors",
    source=f"{BOOK}, 3.2.2.3",
    rule="over random orders, the standard deviation of ADF's mean exceeds "
    f"{MIN_RELATIVE_STD} exact posterior standard deviations, for every number of observations",
)
@for_every_size
def depends_on_order(run: ClutterRun, size: int) -> CheckResult:
    std = run.answer(names.MEAN_STD, names.ADF, size)["value"]
    scale = run.answer(names.SCALE, names.ADF, size)["exact"]
    return std > MIN_RELATIVE_STD * scale, f"{std:.2g} vs {scale:.2g} (N = {size})"


@claims(
    "Refining each factor in the context of all others removes the dependence on the order",
    source=f"{BOOK}, 3.2.3",
    rule=f"EP converges to the same mean within {FIXED_POINT_TOLERANCE:g} in every random order",
)
@for_every_size
def has_one_fixed_point(run: ClutterRun, size: int) -> CheckResult:
    orders = run.random_orders(size)
    mean = run.answer(names.MEAN, names.EP, size)["value"]
    others = orders[(orders["ep_mean"] - mean).abs() > FIXED_POINT_TOLERANCE]
    evidence = f"{len(orders) - len(others)} of {len(orders)} orders (N = {size})"
    if len(others):
        means = ", ".join(f"{value:.3g}" for value in sorted(set(others["ep_mean"].round(6))))
        loss = run.answer(names.EVIDENCE, names.EP, size)["value"] - others["ep_log_evidence"].max()
        evidence += f", the others at {means} with {loss:.3g} nats less log evidence"
    return others.empty, evidence


@claims(
    "ADF overestimates the variance",
    source=f"{BOOK}, 3.2.2.3",
    rule="the standard deviation of ADF exceeds the exact one on every data set",
    approximations=(names.ADF,),
)
@claims(
    "EP overestimates the variance",
    source=f"{BOOK}, 3.3",
    rule="the standard deviation of EP exceeds the exact one on every data set",
    approximations=(names.EP,),
)
@claims(
    "Variational inference underestimates the variance",
    source=f"{BOOK}, 3.2.1.6 and 3.3",
    rule=f"the standard deviation of {names.VB} and {names.GAUSSIAN_VI} is below the exact one on "
    "every data set",
    approximations=(names.VB, names.GAUSSIAN_VI),
    overestimates=False,
)
@for_every_size
def misestimates_variance(
    run: ClutterRun, size: int, approximations: tuple[str, ...], overestimates: bool = True
) -> CheckResult:
    rows = {name: run.answer(names.SCALE, name, size) for name in approximations}
    errors = {name: row["value"] / row["exact"] - 1 for name, row in rows.items()}
    return combine(
        ((error > 0) == overestimates, f"{name} {100 * error:+.2g} % (N = {size})")
        for name, error in errors.items()
    )


@claims(
    "A single site need not be a distribution, although the product of all sites is",
    source=f"{BOOK}, 3.2.3.1",
    rule="some sites of EP have negative precision, and its posterior standard deviation is finite",
)
@for_every_size
def has_improper_sites(run: ClutterRun, size: int) -> CheckResult:
    count = run.answer(names.NEGATIVE_SITES, names.EP, size)["value"]
    scale = run.answer(names.SCALE, names.EP, size)["value"]
    return bool(count > 0 and np.isfinite(scale)), f"{count:.0f} of {size} sites"


@claims(
    "Variational inference maximises a lower bound of the log evidence",
    source=f"{BOOK}, 3.2.1, (3.6) and (3.7)",
    rule="the bound never decreases in a step and never exceeds the exact log evidence",
)
@for_every_size
def is_lower_bound(run: ClutterRun, size: int) -> CheckResult:
    bound = run.steps(names.VB, size)["log_evidence"].to_numpy()
    exact = run.answer(names.EVIDENCE, names.VB, size)["exact"]
    increases = (np.diff(bound) > -BOUND_TOLERANCE).all()
    evidence = f"{bound[0]:.2f} to {bound[-1]:.2f}, exact {exact:.2f} (N = {size})"
    return bool(increases and (bound < exact + BOUND_TOLERANCE).all()), evidence


@claims(
    "Power EP is EP at power 1 (alpha = 1) and minimises reverse KL in the limit alpha = -1",
    source=f"{BOOK}, 3.2.3.3",
    rule="for powers from 1 downwards, the standard deviation of power EP approaches that of the "
    "Gaussian of minimum reverse KL, to within 5 % of EP's distance at the lowest power",
)
@for_every_size
def interpolates_between_ep_and_reverse_kl(run: ClutterRun, size: int) -> CheckResult:
    rows = run.powers[(run.powers["observations"] == size) & (run.powers["power"] <= 1)]
    if not {1.0} < set(rows["power"]):
        raise NotTestable("needs power 1 and a lower power")
    rows = rows.sort_values("power", ascending=False)
    limit = run.answer(names.SCALE, names.GAUSSIAN_VI, size)["value"]
    distance = (rows["scale"] - limit).abs().to_numpy()
    holds = bool((np.diff(distance) < 0).all() and distance[-1] <= 0.05 * distance[0])
    last = rows["power"].iloc[-1]
    return holds, f"{distance[0]:.2g} at power 1, {distance[-1]:.2g} at {last:g} (N = {size})"


@claims(
    "An iteration of EP may increase its energy",
    source=f"{BOOK}, 3.2.3.4",
    rule="in some random order, a pass of EP decreases its log evidence",
)
def energy_can_increase(run: ClutterRun) -> CheckResult:
    decreases = {size: run.random_orders(size)["n_decreases"] > 0 for size in run.sizes}
    evidence = (f"{n.sum()} of {len(n)} orders (N = {size})" for size, n in decreases.items())
    return any(n.any() for n in decreases.values()), "; ".join(evidence)


@claims(
    "On Gaussian mixtures, EP is more accurate than Monte Carlo, Laplace's method and variational "
    "Bayes for the same amount of computation",
    source="Minka, thesis, MIT 2001, abstract",
    rule="after every pass of EP except the first (ADF), its median errors in mean and log "
    "evidence are below those of each competitor at the same or lower cost",
)
@for_every(
    lambda run: [
        (size, name) for size in run.sizes for name in (names.VB, names.LAPLACE, names.IMPORTANCE)
    ]
)
def is_most_accurate_per_work(run: ClutterRun, case: tuple[int, str]) -> CheckResult:
    size, competitor = case
    steps = run.steps(competitor, size)
    columns = ["mean_error", "evidence_error"]
    wins = [
        bool((ep_pass[columns] < affordable[columns].iloc[-1]).all())
        for _, ep_pass in run.steps(names.EP, size).iloc[1:].iterrows()
        if len(affordable := steps[steps["work"] <= ep_pass["work"]])
    ]
    return (all(wins) if wins else None), f"{sum(wins)} of {len(wins)} vs {competitor} (N = {size})"
