"""What a run of the unknown noise precision shows."""

from __future__ import annotations

from typing import Any

import numpy as np

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.exhibit import Exhibit
from bnnbench.results.answers import value_of
from bnnbench.results.claims import Check
from bnnbench.suites.inference_toys.noise_precision import tables as words
from bnnbench.suites.inference_toys.noise_precision.figures import (
    densities_figure,
    objectives_figure,
    orders_figure,
    repeated_figure,
)
from bnnbench.suites.inference_toys.noise_precision.rules import (
    QUADRATURE,
    ROUNDING,
    SETTINGS,
    SIMILAR,
    BoundHolds,
    Collapses,
    Decomposes,
    DependsOnOrder,
    EnergyRises,
    Interpolates,
    Variances,
)
from bnnbench.suites.inference_toys.noise_precision.run_tables import NoiseRun, read_run
from bnnbench.suites.inference_toys.sources import BOOK

STATEMENTS: tuple[tuple[str, str, Check[Any]], ...] = (
    (
        "Coordinate ascent never lowers the evidence lower bound, which stays below log p(y)",
        f"{BOOK}, 3.2.1.4, (3.6), (3.7)",
        BoundHolds(),
    ),
    (
        "log p(y) is the sum of the lower bound and KL(q || posterior)",
        f"{BOOK}, (3.6)",
        Decomposes(),
    ),
    (
        "Mean-field VI underestimates the marginal variances",
        f"{BOOK}, 3.2.1.6, 3.3",
        Variances(words.CAVI, "", wider=False),
    ),
    (
        "ADF depends on the ordering of the factors, which cycling through them mends",
        f"{BOOK}, 3.2.2.3, 3.2.3",
        DependsOnOrder(),
    ),
    *(
        (
            f"{name} overestimates the marginal variances ({setting})",
            source,
            Variances(name, setting, wider=True),
        )
        for name, source in ((words.ADF, f"{BOOK}, 3.2.2.3"), (words.EP, f"{BOOK}, 3.3"))
        for setting in SETTINGS
    ),
    (
        "Including the same factor again and again collapses the posterior into a point",
        f"{BOOK}, 3.2.3, Fig. 3.10",
        Collapses(),
    ),
    ("Iterations of EP may increase its energy", f"{BOOK}, 3.2.3.4", EnergyRises()),
    (
        "Power EP goes from reverse KL at alpha = -1 to EP at 1",
        f"{BOOK}, 3.2.3.3",
        Interpolates(words.POWER_EP, QUADRATURE),
    ),
    (
        "Black-box alpha interpolates between VI and an algorithm similar to EP",
        f"{BOOK}, 3.2.4.2",
        Interpolates(words.BLACK_BOX_ALPHA, SIMILAR),
    ),
)
"""What chapter 3 says that its running example can show."""

CAPTION = (
    "Noise precision and weight of a line through the origin, in the units of the data; log "
    "evidence and KL in nats. The log evidence of VI is its lower bound, that of ADF and EP their "
    "estimate. Exact: by quadrature, of the target. Gaussian K: normalisers by (3.52); exact K: by "
    "quadrature. ADF and EP in the order of the data, or mean ± standard error over random ones. "
    "alpha is that of (3.68), -1 is VI and 1 is EP."
)


def notes(folder: RunFolder) -> list[str]:
    """What a reader of the table must know: what was refused, and what misprints do."""
    run = read_run(folder)
    said = [*_refusals(run), *_falls(run)]
    if not run.joint:
        off = value_of(run.answers, words.MEAN, words.EXACT)
        true = run.answers.loc[run.answers["approximation"] == words.EXACT, "exact"].iloc[0]
        said.append(
            "The target is that of (3.48), which integrates the weight out of every factor by "
            f"itself: its exact mean is {off:.4g}, the posterior's {true:.4g}."
        )
    return said


def _refusals(run: NoiseRun) -> list[str]:
    """A sentence on updates that came to no distribution, if there were any."""
    rows = run.answers[(run.answers["quantity"] == words.REFUSED) & (run.answers["value"] > 0)]
    told = [
        f"{row['approximation']}, {row['setting']}: {row['value']:.0f}"
        for row in rows.to_dict("records")
    ]
    if not told:
        return []
    return [
        f"Updates refused, since they start from or come to no distribution: {', '.join(told)}."
    ]


def _falls(run: NoiseRun) -> list[str]:
    """A sentence on a lower bound that fell, which no coordinate ascent should do."""
    falls = np.diff(run.way(words.CAVI)["objective"]) < -ROUNDING if run.joint else np.array([])
    if not falls.any():
        return []
    return [
        f"The bound of CAVI fell in {falls.sum()} of {len(falls)} updates: they are not those of "
        "this model."
    ]


EXHIBIT = Exhibit(
    kind=words.KIND,
    title="A line's unknown noise precision",
    caption=CAPTION,
    figures={
        "densities": densities_figure,
        "objectives": objectives_figure,
        "orders": orders_figure,
        "repeated": repeated_figure,
    },
    statements=STATEMENTS,
    given=read_run,
    notes=notes,
)
