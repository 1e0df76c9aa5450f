"""Which kept runs may be ranked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

UNRANKED_TUNING = ("test", "unknown")
"""Kinds of tuning that may have seen the test parts."""


def with_ranked(
    runs: pd.DataFrame, meta: Mapping[str, Any], fingerprints: pd.DataFrame
) -> pd.DataFrame:
    """Add the column `unranked`: why ranks leave a run out, or empty.

    Ranks contain unmarked scores of level A and B on all splits of a data set, none of which
    diverged, that were not tuned on test parts. Of each family they contain one preset: the one
    that `edition.toml` names, else the one on most data sets (of several, the one with the name of
    the family, or the first in alphabetical order); of each preset the run with the lowest seed.
    """
    named = meta.get("representatives", {})
    published = fingerprints.groupby("dataset").size()

    def representative(group: pd.DataFrame) -> str:
        family, datasets = group["family"].iloc[0], group.groupby("method")["dataset"].nunique()
        first = min(
            datasets.index, key=lambda method: (-datasets[method], method != family, method)
        )
        return str(named.get(family, first))

    groups = runs.groupby(["track", "family"])
    chosen = {key: representative(group) for key, group in groups}

    def reason(run: Mapping[str, Any]) -> str:
        first = chosen[run["track"], run["family"]]
        if run["level"] not in "AB":
            return "scores without predictions"
        if run["tuning"] in UNRANKED_TUNING:
            return f"tuning {run['tuning']}"
        if run["splits"] < published[run["dataset"]]:
            return f"{run['splits']} of {published[run['dataset']]} splits"
        if run["diverged"]:
            return f"{run['diverged']} diverged splits"
        if run["marks"]:
            return str(run["marks"][0])
        return f"preset of {run['family']}, represented by {first}" * (run["method"] != first)

    table = runs.assign(unranked=[reason(run) for run in runs.to_dict("records")])
    ranked = table[table["unranked"] == ""].sort_values(["seed", "experiment"], kind="stable")
    repeated = ranked.index[ranked.duplicated(["track", "dataset", "family"])]
    table.loc[repeated, "unranked"] = "another run of this method is ranked"
    return table
