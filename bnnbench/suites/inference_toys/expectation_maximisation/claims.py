"""Claims about EM, checked on the saved tables of a run."""

from __future__ import annotations

from bnnbench.results.answers import ANSWERS
from bnnbench.results.claims import CheckResult, Claims
from bnnbench.results.saved_tables import SavedTables
from bnnbench.suites.inference_toys.checks import LECTURE
from bnnbench.suites.inference_toys.expectation_maximisation import tables
from bnnbench.suites.inference_toys.expectation_maximisation.tables import EM, SETTINGS

claims = Claims()


@claims(
    "Maximising the simpler objective maximises the likelihood",
    source=f"{LECTURE}, summary of EM",
    rule="BFGS, started near the result of EM, gains at most 1e-6 nats",
)
def reaches_maximum(run: SavedTables) -> CheckResult:
    rows = [run.answer(tables.LOG_LIKELIHOOD, EM, SETTINGS[part]) for part in tables.FITTED]
    gain = max(row["exact"] - row["value"] for row in rows)
    return gain <= 1e-6, f"gains at most {gain:.1e} nats"


@claims(
    "Gradients of the log-likelihood have no closed form",
    source=f"{LECTURE}, problem definition",
    rule="the gradient by Fisher's identity differs from central differences by more than a "
    "relative 1e-5",
)
def has_no_gradient_in_closed_form(run: SavedTables) -> CheckResult:
    difference = run.value(tables.GRADIENT_DIFFERENCE, "Fisher's identity")
    return difference > 1e-5, f"relative difference {difference:.1e}"


@claims(
    "The likelihood has a maximum",
    source=f"{LECTURE}, problem definition",
    rule="a component centred on one point, however narrow, has at most the log-likelihood of "
    "EM's result",
)
def has_maximum(run: SavedTables) -> CheckResult:
    best = run.value(tables.LOG_LIKELIHOOD, EM, SETTINGS["synthetic"])
    spike = run.rows(ANSWERS, quantity=tables.SPIKE_LOG_LIKELIHOOD).iloc[0]
    evidence = f"{spike['value']:.1f} with {spike['approximation']}, EM {best:.1f}"
    return bool(spike["value"] <= best), evidence
