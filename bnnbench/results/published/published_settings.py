"""The settings of the published protocol by method and data set, from `protocol.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from bnnbench.results.settings import SEARCHED_BY_DEFAULT

NOISE_SETTINGS = ("likelihood", "likelihood.loss")
"""Settings of the noise model."""

UNSET_SETTINGS: Mapping[str, Any] = dict.fromkeys((*SEARCHED_BY_DEFAULT, "dataset.seeded_splits"))
"""Settings that are null in the protocol: searched hyper-parameters, and published splits."""

COMPONENT_CLASSES: Mapping[str, str] = {
    "gaussian": "bnnbench.likelihoods.gaussian.Gaussian",
    "heteroscedastic": "bnnbench.likelihoods.heteroscedastic.Heteroscedastic",
    "heteroscedastic_softplus": (
        "bnnbench.likelihoods.heteroscedastic_softplus.HeteroscedasticSoftplus"
    ),
    "nll": "bnnbench.losses.nll.NLL",
    "bayesian_optimisation": "bnnbench.search.bayesian_optimisation.BayesianOptimisation",
    "grid": "bnnbench.search.grid.Grid",
    "none": "bnnbench.search.no_search.NoSearch",
}
"""Classes of the likelihoods, losses and searches of published results, by label."""

ANY = "*"
"""Key of `protocol.json` for most methods or data sets."""


@cache
def published_settings(method: str, family: str, dataset: str) -> Mapping[str, Any]:
    """Return the settings of a method on a data set under the published protocol.

    `docs/tools/published_protocol.py` writes them, from the YAML files, to `protocol.json`.

    Args:
        method: an option of `method`.
        family: used if there is no such option; without it, the settings of most methods.
        dataset: an option of `dataset`; any other name has the settings of most data sets.

    Returns:
        Values by dotted name, such as `training.epochs`, and search bounds such as
        `bounds.dropout`; `search` is the option, or `none` if all hyper-parameters are fixed;
        `tuned_on_test` says whether the authors chose settings with the help of test rows.
    """
    table = _protocol_table()
    settings: dict[str, Any] = {}
    for rows in (table[ANY], table.get(method, table.get(family, {}))):
        settings |= {**rows.get(ANY, {}), **rows.get(dataset, {})}
    return {n: tuple(v) if isinstance(v, list) else v for n, v in settings.items()}


@cache
def _protocol_table() -> Any:
    """Return the settings by method and data set; only those that differ from `ANY`."""
    return json.loads(files(__package__).joinpath("protocol.json").read_text("utf-8"))


def is_bounds(name: str) -> bool:
    """Return whether a setting has the search bounds of a hyper-parameter, or its values."""
    groups = ("bounds", "bounds_original_units", "search.values", "search.values_original_units")
    return name.rpartition(".")[0] in groups


def with_components(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return settings with unambiguous names of the noise model and the search.

    A component whose class is not that of its label is named by its class. `search` is none for
    runs that only fitted folds because nothing was searched. The held-out fraction is None if it
    is not recorded.
    """
    found: dict[str, Any] = {"search.held_out_fraction": settings.get("search.held_out_fraction")}
    if "search" not in settings and "search.folds" in settings:
        found["search"] = "none"
    for name in (*NOISE_SETTINGS, "search"):
        known = COMPONENT_CLASSES.get(str(settings.get(name)))
        own = settings.get(f"{name}.class", known)
        if known and own != known:
            found[name] = own
    return {**settings, **found}
