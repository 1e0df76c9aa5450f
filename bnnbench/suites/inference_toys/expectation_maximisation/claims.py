"""Claims about EM, checked on the saved tables of a run."""

from __future__ import annotations

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
