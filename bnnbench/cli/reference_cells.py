"""Which methods have reference results on which data sets, and commands for missing ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from bnnbench.config.configs import find_options, read_option
from bnnbench.config.instantiate import target_class
from bnnbench.results.published.protocol import OTHER_PRESETS
from bnnbench.results.reference.results import ReferenceResults
from bnnbench.results.reference.tracks import PROTOCOL_TRACKS

if TYPE_CHECKING:
    from bnnbench.methods.shared.contract import Method

MISSING, NOT_APPLICABLE = "-", "n/a"


@dataclass(frozen=True)
class Cells:
    """Results by method and data set, under the published protocol.

    Attributes:
        table: rows are methods, columns data sets: the number of splits (`18 of 20` if some are
            missing), `MISSING` or `NOT_APPLICABLE`.
        reasons: why a method does not apply to some data sets.
        missing: methods without a complete run, by data set.
    """

    table: pd.DataFrame
    reasons: Mapping[str, str]
    missing: Mapping[str, tuple[str, ...]]

    @property
    def commands(self) -> list[str]:
        """Commands that fill the missing cells; data sets with the same methods share one."""
        datasets: dict[tuple[str, ...], list[str]] = {}
        for dataset, methods in self.missing.items():
            datasets.setdefault(methods, []).append(dataset)
        return [
            f"bnnbench run -m method={','.join(methods)} dataset={','.join(names)}"
            for methods, names in datasets.items()
        ]


def cells_of(results: ReferenceResults) -> Cells:
    """Return the cells of reference results under the published protocol."""
    groups = results.fingerprints.groupby("dataset")
    published, rows = groups.size(), groups["training_rows"].max()
    runs = results.runs[results.runs["track"].isin(PROTOCOL_TRACKS)]
    present = runs.groupby(["method", "dataset"])["splits"].max().to_dict()
    methods = find_options("method").items()
    own = [name for name, option in methods if not option.owner and name not in OTHER_PRESETS]
    ours = [name for name in own if "estimator" not in read_option("method", name)]
    classes = {name: target_class("method", read_option("method", name)) for name in ours}

    def cell(method: str, dataset: str) -> str:
        splits, of, found = present.get((method, dataset), 0), published[dataset], classes[method]
        if splits:
            return str(of) if splits == of else f"{splits} of {of}"
        too_many = found.max_rows is not None and rows[dataset] > found.max_rows
        return NOT_APPLICABLE if too_many or found.linear_only else MISSING

    cells = {dataset: [cell(name, dataset) for name in ours] for dataset in published.index}
    table = pd.DataFrame(cells, index=ours)
    refused = table == NOT_APPLICABLE
    finished = pd.DataFrame({name: table[name] == str(published[name]) for name in table})
    missing = {name: tuple(table.index[~(refused | finished)[name]]) for name in table}
    return Cells(
        table[~refused.all(axis=1)],
        {name: reason(classes[name]) for name in ours if refused.loc[name].any()},
        {dataset: names for dataset, names in missing.items() if names},
    )


def reason(method: type[Method]) -> str:
    """Return the limits of a method in words."""
    if method.linear_only:
        return "accepts no hidden layers"
    return f"accepts at most {method.max_rows:,} training rows"
