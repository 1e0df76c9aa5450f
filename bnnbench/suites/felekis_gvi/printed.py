"""What the GVI thesis prints of its toy (section 5.0.2 and appendix), to stand beside ours.

`toy_calibration.csv` and `toy_criteria.csv` hold its tables as printed. Its column
"log-likelihood" is a negative log-likelihood, and a few entries are typing errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.suites.felekis_gvi.comparison import DIVERGENCES, ThesisRuns

DATASET = "gp"

NAMES = {"tv_lower": "tvl", "tv_upper": "tvu", "js_w2": "js"}
"""Our divergence to the thesis's, where the names differ; formulas of TV are printed swapped there.

What we call by one of these names is another thing: our `js` is half of the thesis's.
"""


@cache
def printed(name: str) -> pd.DataFrame:
    """The table `calibration` or `criteria`, by divergence and hidden layers."""
    path = files(__package__) / f"toy_{name}.csv"
    return pd.read_csv(str(path), index_col=["divergence", "hidden_layers"])


def theirs(name: str, run: Mapping[str, Any]) -> dict[str, float]:
    """The printed row of a run's divergence and depth; empty if the thesis has none.

    The thesis does not say which order alpha it chose: any stands beside it.

    Args:
        name: as for `printed`.
        run: the names of its record.
    """
    family = str(run["divergence_family"])
    key = (NAMES.get(family, family), run["depth"])
    like = run["dataset"] == DATASET and run["family"] == "bbb" and family not in NAMES.values()
    table = printed(name)
    if not like or key not in table.index:
        return {}
    return {str(column): float(value) for column, value in table.loc[key].items()}


@cache
def their_toy() -> ThesisRuns:
    """What the thesis prints of its toy in the shape of our runs, so that rules apply to both.

    It prints no share inside small intervals (`low_excess`), and of its other experiments only
    figures.
    """
    keys = {NAMES.get(name, name): name for name in DIVERGENCES}
    calibration, criteria = (
        printed(name).reset_index().rename(columns={"hidden_layers": "depth"})
        for name in ("calibration", "criteria")
    )
    calibration = calibration.rename(columns={"predicted_probability": "inside_1"})
    sigma, own = (
        table.assign(name=table["divergence"].map(keys)) for table in (calibration, criteria)
    )
    none = pd.DataFrame()
    return ThesisRuns(none, none, none, none, sigma.assign(low_excess=np.nan), own)
