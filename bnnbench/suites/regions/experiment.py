"""One method on splits whose test part is a region of one feature."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

from bnnbench.data.regions import GAP, Region, Regions
from bnnbench.experiment.splits.fitting import saved_prediction
from bnnbench.experiment.splits.split_experiment import SplitExperiment
from bnnbench.experiment.store.split_files import MIXTURE, SPLITS
from bnnbench.experiment.store.unit_store import Arrays, Rows, UnitResults
from bnnbench.identity import no_identity
from bnnbench.suites.regions import KIND, REGIONS
from bnnbench.suites.regions.scores import split_distances, split_scores
from bnnbench.types import Split, Table


@dataclass(frozen=True, kw_only=True)
class RegionExperiment(SplitExperiment):
    """The protocol of `SplitExperiment` with one split for each feature of a data set.

    The two parts of each test set are scored separately: rows of the region, and rows outside
    of it, which are not trained on either. `splits.csv` contains scores of both together.

    Attributes:
        region: see `Regions`; part of the identity of the data set, like `inside`.
        inside: see `Regions`.
    """

    identity_name = "bnnbench.suites.regions.experiment.RegionExperiment"
    region: str = no_identity(GAP)
    inside: float = no_identity(0.1)
    kind: ClassVar[str] = KIND
    scores_mixture: ClassVar[bool] = True

    def resolved(self) -> Self:
        dataset = Regions(self.dataset, self.region, self.inside)
        return super(RegionExperiment, replace(self, dataset=dataset)).resolved()

    def metadata(self) -> dict[str, Any]:
        assert isinstance(self.dataset, Regions)
        source = self.table.name.removesuffix(f"_{self.region}")
        return {**super().metadata(), "source": source, "region": self.region}

    @cached_property
    def _regions(self) -> dict[int, Region]:
        """The regions by feature, which is the index of the split."""
        assert isinstance(self.dataset, Regions)
        return {region.feature: region for region in self.dataset.regions(self.table)}

    def score_unit(
        self, split: Split, tables: Mapping[str, Rows], arrays: Mapping[str, Arrays]
    ) -> UnitResults:
        """Add the scores of the region of a split."""
        (row,) = tables[SPLITS]
        scores = region_row(self.table, split, self._regions[split.index], arrays[MIXTURE])
        if row["diverged"]:
            scores = {k: math.nan if "." in k else value for k, value in scores.items()}
        return {**tables, REGIONS: [{"split": split.index, **scores}]}, arrays


def region_row(table: Table, split: Split, region: Region, mixture: Arrays) -> dict[str, Any]:
    """Return the row of a split in `REGIONS`.

    Args:
        table: the data set.
        split: its test part begins with the rows of the region.
        region: that is tested.
        mixture: from `fitting.mixture_arrays`, in standardised units.
    """
    rows = int(region.tested.sum())
    prediction = saved_prediction(table, split, mixture)
    facts = {
        "feature": table.features[region.feature],
        "distinct": region.distinct,
        "tied_at_edges": region.ties,
        "is_true": int(region.is_true),
        "low": region.low,
        "high": region.high,
        "region_rows": rows,
        "inside_rows": len(split.test) - rows,
    }
    distances = split_distances(table, split)
    return {**facts, **split_scores(prediction, table.targets[split.test], distances, rows)}
