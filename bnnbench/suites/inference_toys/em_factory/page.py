"""What a run of the factory shows."""

from __future__ import annotations

from bnnbench.experiment.record import read_record
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.exhibit import Exhibit
from bnnbench.suites.inference_toys.em_factory import names
from bnnbench.suites.inference_toys.em_factory.figures import em_figure
from bnnbench.suites.inference_toys.em_factory.rules import (
    Geometric,
    NeverFalls,
    Reaches,
    read_factory,
)
from bnnbench.suites.inference_toys.sources import BOOK

STATEMENTS = (
    (
        "EM is guaranteed to improve its estimate at every iteration",
        f"{BOOK}, 2.6.5, (2.50)",
        NeverFalls(),
    ),
    (
        "Iterating (2.57)-(2.60) leads to the point that (2.63)-(2.66) say",
        f"{BOOK}, 2.6.5.1",
        Reaches(names.EM, 1e-8),
    ),
    (
        "Maximising the incomplete-data likelihood leads to the same point",
        f"{BOOK}, 2.6.5.1",
        Reaches(names.SEARCH, 1e-4),
    ),
    (
        "EM converges geometrically, by the share of information that is missing",
        "Dempster, Laird and Rubin 1977",
        Geometric(),
    ),
)
"""What the sources say that this problem can show."""

CAPTION = (
    "beta: malfunctioning items per impure material; tau: rates of impure materials, of the first "
    "product, where these were not counted, and of the last, where the malfunctioning items were "
    "not. exact: the closed form (2.63)-(2.66), and the log-likelihood there in nats; for the "
    "rate, the largest share of missing information."
)

NOTES = {
    "corrected": "The sums of (2.63) go from product 2 to n - 1; in print they start at 1, with a "
    "count that was not made (reading=printed).",
    "printed": "The sums of (2.63) are those in print, which start at product 1 with a count that "
    "was not made; where EM and the direct search differ from it, the print is wrong.",
}


def notes(folder: RunFolder) -> list[str]:
    """Which reading of (2.63) stands in the column of exact values."""
    return [NOTES[str(read_record(folder).names["reading"])]]


EXHIBIT = Exhibit(
    kind=names.KIND,
    title="A factory with missing counts",
    caption=CAPTION,
    figures={"em": em_figure},
    statements=STATEMENTS,
    given=read_factory,
    notes=notes,
)
