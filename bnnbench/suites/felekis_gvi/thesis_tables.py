"""The GVI thesis's tables of its toy (section 5.0.2 and appendix).

`toy_calibration.csv` and `toy_criteria.csv` contain its tables as printed. Its column
"log-likelihood" is a negative log-likelihood, and a few entries are misprints.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.suites.felekis_gvi.comparison import DIVERGENCES, ThesisRuns

DATASET = "gp_sample"

NAMES = {"tv_lower": "tvl", "tv_upper": "tvu", "js_weight_2": "js", "kl_prior_posterior": "rkl"}
"""The thesis's names of divergences by ours, where they differ (it swaps the TV formulas).

Our own divergences with these names are different: our `js` is half of the thesis's.
"""


@cache
def thesis_table(name: str) -> pd.DataFrame:
    """Return the table `calibration` or `criteria`, by divergence and hidden layers."""
    path = files(__package__) / f"toy_{name}.csv"
    return pd.read_csv(str(path), index_col=["divergence", "hidden_layers"])


def thesis_row(name: str, run: Mapping[str, Any]) -> dict[str, float]:
    """Return the printed row for a run's divergence and depth; empty if the thesis has none.

    The thesis does not say which order alpha it used, so any order matches.
    """
    family = str(run["divergence_family"])
    key = (NAMES.get(family, family), run["depth"])
    is_in_thesis = (
        run["dataset"] == DATASET and run["family"] == "bbb" and family not in NAMES.values()
    )
    table = thesis_table(name)
    if not is_in_thesis or key not in table.index:
        return {}
    return {str(column): float(value) for column, value in table.loc[key].items()}


@cache
def thesis_toy() -> ThesisRuns:
    """Return the thesis's tables of its toy as `ThesisRuns`, so that rules apply to both.

    The thesis has no numbers for small intervals (`small_interval_excess`), and only figures of its
    other experiments.
    """
    keys = {NAMES.get(name, name): name for name in DIVERGENCES}
    calibration, criteria = (
        thesis_table(name).reset_index().rename(columns={"hidden_layers": "depth"})
        for name in ("calibration", "criteria")
    )
    calibration = calibration.rename(columns={"predicted_probability": "inside_1"})
    sigma, named_criteria = (
        table.assign(name=table["divergence"].map(keys)) for table in (calibration, criteria)
    )
    none = pd.DataFrame()
    return ThesisRuns(
        none, none, none, none, sigma.assign(small_interval_excess=np.nan), named_criteria
    )
