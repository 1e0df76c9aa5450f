"""Runs together with the reference runs that they are compared with: tables, ranks, figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas as pd

from bnnbench.experiment.store.provenance import read_environment
from bnnbench.experiment.store.split_files import KIND
from bnnbench.results.compare.ranking import Rankings, rank_experiment
from bnnbench.results.compare.significance import ROPE
from bnnbench.results.metric_table import Metric
from bnnbench.results.read.configurations import configuration
from bnnbench.results.read.labels import full_name
from bnnbench.results.read.run_filter import with_tables
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.read.split_means import STATISTICS
from bnnbench.results.reference.comparison import (
    Comparisons,
    ReferenceComparison,
    compare_with_reference,
    with_track,
)
from bnnbench.results.reference.results import with_cpu_ratio
from bnnbench.results.reference.tracks import TRACKS

MINE = " (mine)"
"""Follows the names of the runs that are compared with reference runs, in ranks and figures."""

RATIO = "cpu_ratio"
"""CPU seconds of a split in multiples of a fixed fit on the same machine."""


def with_reference_runs(runs: Runs, with_reference: str, metrics: Sequence[Metric]) -> Runs:
    """Return runs and the reference runs with which they are tested.

    On each data set they have one track and one protocol: those of the first run of mine in the
    first track with a comparison, or in the first of all if there is none. My other runs on the
    data set are left out with a message. A run of mine replaces the reference run of the same
    configuration.

    Args:
        runs: runs with scores on splits.
        with_reference: as for `parse_reference`.
        metrics: the metrics.

    Raises:
        UserError: as `compare_with_reference`.
    """
    comparisons = compare_with_reference(runs, with_reference, metrics, ROPE)
    table = with_track(runs.scored)
    groups = chosen_groups(table, comparisons)
    pairs = zip(table["track"], table["protocol"], strict=True)
    kept = pd.Series([*pairs], table.index) == table["dataset"].map(groups)
    mine = runs.scored[kept]
    tables, splits = [mine], [runs.splits[runs.splits["run"].isin(mine.index)]]
    own = configurations(mine)
    for one in comparisons.tracks:
        counted = one.pairs["counted"] & one.pairs["run_a"].isin(mine.index)
        tested = one.reference.scored.loc[one.pairs.loc[counted, "run_b"].unique()]
        tested = tested[~configurations(tested).isin(own)]
        tables.append(tested)
        splits.append(one.reference.splits[one.reference.splits["run"].isin(tested.index)])
    messages = *comparisons.left_out, *left_out_of_table(table[~kept], groups, comparisons)
    both = replace(
        runs,
        splits=pd.concat(splits, ignore_index=True),
        left_out=(*runs.left_out, *messages),
    )
    return with_tables(both, {**runs.tables, KIND: pd.concat(tables)})


def chosen_groups(table: pd.DataFrame, comparisons: Comparisons) -> dict[str, tuple[str, str]]:
    """Return the track and the protocol of the runs that are shown, by data set.

    Args:
        table: my runs, with the columns of `with_track`.
        comparisons: of these runs.
    """
    compared = [
        one.mine.scored[one.mine.scored["track"] == one.track] for one in comparisons.tracks
    ]
    rest = table.sort_values("track", key=lambda names: names.map([*TRACKS].index), kind="stable")
    first = pd.concat([*compared, rest]).drop_duplicates("dataset")
    groups = zip(first["track"], first["protocol"], strict=True)
    return dict(zip(first["dataset"].astype(str), groups, strict=True))


def configurations(table: pd.DataFrame) -> pd.Series:
    """Return the data set and the configuration of each run."""
    pairs = zip(table["dataset"], table["settings"].map(configuration), strict=True)
    return pd.Series([*pairs], table.index, dtype=object)


def left_out_of_table(
    table: pd.DataFrame, groups: dict[str, tuple[str, str]], comparisons: Comparisons
) -> Iterator[str]:
    """Yield why each run of another track or protocol is left out.

    Runs that are not compared, on data sets with comparisons, have messages already.
    """
    compared = {str(run) for one in comparisons.tracks for run in one.pairs["run_a"]}
    datasets = {str(name) for one in comparisons.tracks for name in one.mine.scored["dataset"]}
    for run, row in table.to_dict("index").items():
        if str(run) in compared or row["dataset"] not in datasets:
            track = groups[str(row["dataset"])][0]
            what = "protocol" if row["track"] == track else f"track ({row['track']})"
            yield (
                f"{full_name(row)}: left out of the table, since its {what} is not that of the "
                f"other runs on the data set (track {track})"
            )


def reference_rankings(
    comparison: ReferenceComparison, metrics: Sequence[Metric]
) -> Rankings | None:
    """Rank mine and the reference methods, one of each family; None with too few of them.

    My method represents its family in place of the reference one; its name ends in `MINE`. Of my
    runs on a data set, those with the protocol of the first are ranked.
    """
    mine, reference = comparison.mine.scored, comparison.reference.scored
    mine = mine[(mine["unranked"] == "") & (mine["track"] == comparison.track)]
    mine = mine[mine["protocol"] == mine.groupby("dataset")["protocol"].transform("first")]
    if mine.empty:
        return None
    reference = reference[reference["protocol"].isin(mine["protocol"])]
    reference = reference[(reference["unranked"] == "") & ~reference["family"].isin(mine["family"])]
    return rank_experiment(comparison.track, joined(mine, reference), metrics)


def times_and_scores(comparison: ReferenceComparison) -> pd.DataFrame:
    """Return mine and the tested reference runs on CPUs, with mean, std and stderr of `cpu_ratio`.

    The names of my methods end in `MINE`; `experiment` is the track.
    """
    mine, reference = comparison.mine.scored, comparison.reference.scored
    tested = comparison.pairs.loc[comparison.pairs["counted"], "run_b"]
    table = joined(mine[mine["track"] == comparison.track], reference[reference.index.isin(tested)])
    table = table[~table.index.isin(gpu_runs(comparison))]
    own, theirs = with_cpu_ratio(comparison.mine.splits), comparison.reference.splits
    splits = pd.concat([own, theirs[~theirs["run"].isin(own["run"])]])
    ratios = splits[splits["diverged"] == 0].groupby("run")["cpu_ratio"]
    statistics = ratios.agg(["mean", "std", "sem"]).reindex(table.index)
    names = [f"{RATIO}_{name}" for name in STATISTICS]
    return table.join(statistics.set_axis(names, axis=1)).assign(experiment=comparison.track)


def gpu_runs(comparison: ReferenceComparison) -> set[str]:
    """Return the digests of the runs on a GPU, whose work CPU seconds do not measure."""
    own = {
        str(run): {**read_environment(comparison.mine.folders[str(run)]), "device": device}
        for run, device in comparison.mine.splits.groupby("run")["device"].first().items()
    }
    environments = {**comparison.reference.scored["environment"], **own}
    return {
        run
        for run, found in environments.items()
        if found.get("cuda") and found.get("device") == found["cuda"]
    }


def joined(mine: pd.DataFrame, reference: pd.DataFrame) -> pd.DataFrame:
    """Return rows of `Runs.scored`, without copies of my runs; my names end in `MINE`."""
    named = mine.assign(method=mine["method"].astype(str) + MINE)
    return pd.concat([named, reference[~reference.index.isin(named.index)]])
