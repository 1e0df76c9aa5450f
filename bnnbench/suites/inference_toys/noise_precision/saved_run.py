"""Reader of a finished run, for its page and claims."""

from __future__ import annotations

from bnnbench.experiment.store.answer_tables import ANSWERS
from bnnbench.results.claims.saved_run import SavedRun, run_reader
from bnnbench.suites.inference_toys.noise_precision.tables import (
    DENSITIES,
    ORDERS,
    POINTS,
    POWERS,
    REPEATED,
    SIZES,
    STEPS,
)

read_run = run_reader(
    {
        # The data.
        POINTS: ("input", "target"),
        # Densities of the noise precision.
        DENSITIES: ("noise_precision", "density"),
        # Steps of every algorithm; the objective is a bound or an estimate of the log evidence.
        STEPS: ("step", "mean", "objective"),
        # Results for every order of the data; order 0 is that of the data.
        ORDERS: ("order", "mean", "std"),
        # Repeated inclusion of the same factors: moments of the noise precision, or of the weight.
        REPEATED: ("inclusions", "mean", "std"),
        # Power EP and black-box alpha.
        POWERS: ("power", "alpha", "mean", "std", "weight_std", "log_evidence"),
        # Standard deviation of the weight by black-box alpha, with known noise precision.
        SIZES: ("observations", "power", "weight_std", "exact"),
    }
)


def exact_value(run: SavedRun, quantity: str) -> float:
    """Return the exact value of a quantity for the posterior."""
    return float(run.rows(ANSWERS, quantity=quantity)["exact"].dropna().iloc[0])
