"""The page of a run of EM."""

from __future__ import annotations

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.experiment_page import ExperimentPage
from bnnbench.suites.inference_toys.expectation_maximisation import names
from bnnbench.suites.inference_toys.expectation_maximisation.claims import claims
from bnnbench.suites.inference_toys.expectation_maximisation.figures import (
    bound_figure,
    densities_figure,
    likelihood_figure,
)
from bnnbench.suites.inference_toys.saved_tables import read_table


def convergence_notes(folder: RunFolder) -> list[str]:
    """Return a note on each start that did not converge."""
    starts = read_table(folder, names.STARTS, ("start", "log_likelihood"))
    return [
        f"{names.SETTINGS[row['part']]}, start {row['start']}: {row['message']}."
        for row in starts.to_dict("records")
        if row["status"] != "converged"
    ]


EXPERIMENT_PAGE = ExperimentPage(
    kind=names.KIND,
    title="Expectation maximisation",
    caption=(
        "EM: the best random start on each data set. Exact: the nearby maximum found by BFGS. The "
        "lower and upper components are ordered by mean. Petal lengths in cm."
    ),
    figures={
        "bound": bound_figure,
        "densities": densities_figure,
        "log_likelihood": likelihood_figure,
    },
    captions={
        "bound": "Log-likelihood against the mean of one component (black) and its lower bounds "
        "after the first E-steps (dashed). Circles: the current estimate, where the bound touches "
        "the log-likelihood; triangles: the maximum of the bound, which is the next estimate",
        "densities": "Mixture (thick line) and its components (thin lines) at selected iterations "
        "of EM, over a histogram of the data (grey). Of all random starts, the one with the "
        "median number of iterations is shown",
        "log_likelihood": "First two panels: log-likelihood by iteration of EM, one line per "
        "random start; dots: last iteration. Last panel: log-likelihood with a component centred "
        "on one data point as its variance shrinks; dashed line: the best result of EM",
    },
    statements=claims,
    notes=convergence_notes,
)
