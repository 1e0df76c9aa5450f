"""Claims about EM in the factory, checked on the saved tables of a run."""

from __future__ import annotations

from bnnbench.results.answers import ANSWERS
from bnnbench.results.claims import CheckResult, Claims, NotTestable
from bnnbench.results.saved_tables import SavedTables
from bnnbench.suites.inference_toys.checks import BOOK
from bnnbench.suites.inference_toys.em_factory.tables import EM, LBFGS, PARAMETERS, PRINTED, RATE

CONVERGES = "converges to beta, tau_1 and tau_n of (2.63)-(2.65) within a relative"

claims = Claims()


@claims(
    "Iterating (2.57)-(2.60) converges to (2.63)-(2.66)",
    source=f"{BOOK}, 2.6.5.1",
    rule=f"{EM} {CONVERGES} 1e-08 from every start",
    approximation=EM,
    tolerance=1e-8,
)
@claims(
    "Maximising the incomplete-data likelihood gives the same estimate",
    source=f"{BOOK}, 2.6.5.1",
    rule=f"{LBFGS} {CONVERGES} 0.0001 from every start",
    approximation=LBFGS,
    tolerance=1e-4,
)
@claims(
    "(2.63)-(2.66) give the maximum as printed, with sums from product 1",
    source=f"{BOOK}, 2.6.5.1",
    rule="beta, tau_1 and tau_n equal those of sums from product 2 within a relative 1e-08",
    approximation=PRINTED,
    tolerance=1e-8,
)
def reaches_maximum(run: SavedTables, approximation: str, tolerance: float) -> CheckResult:
    rows = run.rows(ANSWERS, approximation=approximation)
    errors = (rows["value"] / rows["exact"] - 1).abs()[rows["quantity"].isin(PARAMETERS)]
    beta = run.answer("beta", approximation)
    evidence = f"beta {beta['value']:.6f} vs {beta['exact']:.6f}; "
    evidence += f"largest relative error {errors.max():.1g}"
    return bool((errors <= tolerance).all()), evidence


@claims(
    "EM converges geometrically, at a rate equal to the fraction of missing information",
    source="Dempster, Laird and Rubin 1977",
    rule="from every start, the error decreases per iteration by a factor within 1 % of the "
    "largest eigenvalue of I - complete^-1 observed information",
)
def converges_geometrically(run: SavedTables) -> CheckResult:
    rows = run.rows(ANSWERS, quantity=RATE).dropna(subset="value")
    if rows.empty:
        raise NotTestable("too few iterations to measure a rate")
    errors = (rows["value"] / rows["exact"] - 1).abs()
    rates = ", ".join(f"{value:.4f}" for value in rows["value"])
    return bool((errors <= 0.01).all()), f"{rates} vs {rows['exact'].iloc[0]:.4f}"
