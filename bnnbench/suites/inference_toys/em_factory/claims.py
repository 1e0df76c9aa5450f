"""Claims about EM in the factory, checked on the saved tables of a run."""

from __future__ import annotations

import numpy as np

from bnnbench.results.claims import CheckResult, Claims, NotTestable
from bnnbench.suites.inference_toys.em_factory import names
from bnnbench.suites.inference_toys.em_factory.saved_run import EMFactoryRun
from bnnbench.suites.inference_toys.sources import BOOK

ROUNDING_TOLERANCE = 1e-10
"""Rounding error allowed in a log-likelihood, relative."""

CONVERGES = "converges to beta, tau_1 and tau_n of (2.63)-(2.65) within a relative"

claims = Claims()


@claims(
    "Every iteration of EM improves its estimate",
    source=f"{BOOK}, 2.6.5, (2.50)",
    rule="no iteration from any start decreases the log-likelihood (2.54)",
)
def likelihood_never_decreases(run: EMFactoryRun) -> CheckResult:
    iterations, decreases = 0, 0
    for _, trajectory in run.trajectories:
        values = trajectory["log_likelihood"].to_numpy()
        iterations += len(values) - 1
        decreases += int((np.diff(values) < -ROUNDING_TOLERANCE * np.abs(values[1:])).sum())
    return decreases == 0, f"{decreases} decreases in {iterations} iterations"


@claims(
    "Iterating (2.57)-(2.60) converges to (2.63)-(2.66)",
    source=f"{BOOK}, 2.6.5.1",
    rule=f"{names.EM} {CONVERGES} 1e-08 from every start",
    approximation=names.EM,
    tolerance=1e-8,
)
@claims(
    "Maximising the incomplete-data likelihood gives the same estimate",
    source=f"{BOOK}, 2.6.5.1",
    rule=f"{names.LBFGS} {CONVERGES} 0.0001 from every start",
    approximation=names.LBFGS,
    tolerance=1e-4,
)
def reaches_closed_form(run: EMFactoryRun, approximation: str, tolerance: float) -> CheckResult:
    rows = run.select(approximation, (names.BETA, names.TAU_1, names.TAU_N))
    errors = (rows["value"] / rows["exact"] - 1).abs()
    beta = rows[rows["quantity"] == names.BETA].iloc[0]
    evidence = f"beta {beta['value']:.6f} vs {beta['exact']:.6f}; "
    evidence += f"largest relative error {errors.max():.1g}"
    return bool((errors <= tolerance).all()), evidence


@claims(
    "EM converges geometrically, at a rate equal to the fraction of missing information",
    source="Dempster, Laird and Rubin 1977",
    rule="from every start, the error decreases per iteration by a factor within 1 % of the "
    "largest eigenvalue of I - complete^-1 observed information",
)
def converges_geometrically(run: EMFactoryRun) -> CheckResult:
    rows = run.select(names.EM, (names.RATE,)).dropna(subset="value")
    if rows.empty:
        raise NotTestable("too few iterations to measure a rate")
    errors = (rows["value"] / rows["exact"] - 1).abs()
    rates = ", ".join(f"{value:.4f}" for value in rows["value"])
    return bool((errors <= 0.01).all()), f"{rates} vs {rows['exact'].iloc[0]:.4f}"
