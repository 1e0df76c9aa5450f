"""What a run of EM shows: its figures, and what the lecture says."""

from __future__ import annotations

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.exhibit import Exhibit
from bnnbench.suites.inference_toys.expectation_maximisation import rules, tables
from bnnbench.suites.inference_toys.expectation_maximisation.figures import (
    bound_figure,
    densities_figure,
    likelihood_figure,
)
from bnnbench.suites.inference_toys.reading import read_table
from bnnbench.suites.inference_toys.sources import BOOK, LECTURE

STATEMENTS = (
    (
        "An iteration never lowers the log-likelihood",
        f"{LECTURE}, parameter estimation; {BOOK}, (2.49)-(2.50)",
        rules.AtMostRounding(tables.FALL),
    ),
    (
        "The bound by Jensen's inequality lies below the log-likelihood",
        f"{LECTURE}, Jensen's inequality",
        rules.AtMostRounding(tables.ABOVE, (tables.SETTINGS[tables.MADE],)),
    ),
    (
        "With q the posterior of z given theta the bound touches it",
        f"{LECTURE}, Jensen's inequality",
        rules.AtMostRounding(tables.TOUCHING),
    ),
    (
        "The pseudo-code's steps are EM as other programs have it",
        f"{LECTURE}, pseudo-code",
        rules.AsElsewhere(),
    ),
    (
        "Maximising the easier objective maximises the likelihood",
        f"{LECTURE}, summary of EM",
        rules.ReachesMaximum(),
    ),
    (
        "Gradients of the log-likelihood have no closed form",
        f"{LECTURE}, problem definition",
        rules.NoClosedForm(),
    ),
    (
        "There is a theta with the highest likelihood",
        f"{LECTURE}, problem definition",
        rules.MaximumExists(),
    ),
)


def unsound_endings(folder: RunFolder) -> list[str]:
    """A sentence on each start that did not converge."""
    starts = read_table(folder, tables.STARTS, ("start", "log_likelihood"))
    return [
        f"{tables.SETTINGS[row['part']]}, start {row['start']}: {row['said']}."
        for row in starts.to_dict("records")
        if row["status"] != "converged"
    ]


EXHIBIT = Exhibit(
    kind=tables.KIND,
    title="Expectation maximisation",
    caption=(
        "EM: the best of the random starts on each set of data; exact: the maximum beside it, by a "
        "general optimiser; lower and upper component: by their means; petal lengths in cm"
    ),
    figures={
        "bound": bound_figure,
        "densities": densities_figure,
        "log_likelihood": likelihood_figure,
    },
    statements=STATEMENTS,
    notes=unsound_endings,
)
