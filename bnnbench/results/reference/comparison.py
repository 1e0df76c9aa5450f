"""Compare runs with the reference runs of a track, split by split.

Only methods under the same protocol are ranked and tested, with a joint correction.
Across protocols, only paired differences are computed.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.experiment.store.split_files import KIND, SPLIT_KEY
from bnnbench.near_names import check_known_names, list_names
from bnnbench.notes import quantity
from bnnbench.results.compare.outcomes import OUTCOMES, with_outcomes
from bnnbench.results.compare.pairing import MIN_COMMON_SPLITS, dataset_pairs
from bnnbench.results.compare.power import with_power
from bnnbench.results.compare.ranking import MIN_SIGNED_RANK_DATASETS, signed_rank_test
from bnnbench.results.compare.significance import compare_pairs, rope_width
from bnnbench.results.metric_table import COMPUTED, Metric
from bnnbench.results.published.protocol import fixed_hyper_parameters, tuned_on_test
from bnnbench.results.read.configurations import configuration, without_duplicates
from bnnbench.results.read.labels import FILE, full_name, labels
from bnnbench.results.read.run_filter import RunFilter, filter_runs
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.read.split_means import TUNED, with_incomplete
from bnnbench.results.reference.results import (
    ReferenceResults,
    read_reference_results,
    reference_runs,
    with_ranked,
)
from bnnbench.results.reference.tracks import (
    PROTOCOL_TRACKS,
    TRACKS,
    changed_settings,
    protocol_of,
    track_of,
    tuning_of,
)
from bnnbench.types import UserError

REFERENCE = "reference"

MIN_DATASETS = 2
"""Data sets over which outcomes are counted."""


@dataclass(frozen=True)
class Comparisons:
    """The outcome of comparing runs with reference results.

    Attributes:
        tracks: a comparison for each track.
        left_out: why a run is in none of them, a sentence for each.
    """

    tracks: tuple[ReferenceComparison, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class ReferenceComparison:
    """Runs and the reference runs of one track.

    Attributes:
        track: of the reference runs; empty if others of the user's runs take their place.
        mine: the compared runs on data sets of the track; their table has the columns of
            `ReferenceResults.runs` that `with_track` and `with_ranked` add.
        reference: the runs of the track on these data sets.
        rope: as in `significance.rope_width`.
        pairs: a row for each run of mine, reference run and metric, with `significance.COLUMNS`,
            the labels `a` (mine) and `b`, `counted` (whether the pair is tested, not only
            subtracted), `complete` (whether both runs have all splits), `remark` (why the reference
            run is not tested or not ranked, or empty), `detectable` and `needed` (see `power`), and
            `p_holm` and `outcome`, adjusted over the reference configurations on the data set;
            missing if not counted.
    """

    track: str
    mine: Runs
    reference: Runs
    rope: float
    pairs: pd.DataFrame


def parse_reference(text: str) -> tuple[str | None, str | None]:
    """Return the track and the folder in `reference[:TRACK][@FOLDER]`; None where missing.

    Raises:
        UserError: if it is anything else.
    """
    name, at, folder = text.partition("@")
    word, colon, track = name.partition(":")
    if word != REFERENCE or (colon and not track) or (at and not folder):
        raise UserError(
            f"--with: write reference, reference:TRACK or reference:TRACK@FOLDER, not {text!r}.",
            "--with",
            "syntax",
        )
    return track or None, folder or None


def compare_with_reference(
    runs: Runs,
    with_reference: str,
    metrics: Sequence[Metric],
    rope: float,
    methods: tuple[str, ...] = (),
    others: Runs | None = None,
) -> Comparisons:
    """Compare runs with reference runs, by track.

    Args:
        runs: runs with scores on splits.
        with_reference: as for `parse_reference`; without a track, every run is compared within its
            own if a reference run there has the same protocol.
        metrics: the metrics.
        rope: as for `rope_width`.
        methods: labels of the reference methods to compare with, all by default; those of `runs`
            and `others` are allowed too.
        others: further runs, with which those on data sets without reference results are compared.

    Raises:
        UserError: if the folder, the track or a method is unknown, reference results lack a metric,
            or no run can be compared.
    """
    check_stored(metrics)
    track, folder = parse_reference(with_reference)
    results = read_reference_results(folder)
    tables = [results.runs, *(one.scored for one in (runs, others) if one)]
    known = sorted({str(name) for table in tables for name in table["method"]})
    check_known_names("--methods", methods, dict.fromkeys(known))
    table, found = with_track(runs.scored), list[ReferenceComparison]()
    both = {*table["track"]} & {*results.runs["track"]}
    for one in [track] if track else [name for name in TRACKS if name in both]:
        own = table if track else table[table["track"] == one]
        reference = select(results, one, own["dataset"], methods)
        if reference is None:
            continue
        if not track:
            own = own[same_protocol(own, reference.scored)]
        own = own[own["dataset"].isin(reference.scored["dataset"])]
        mine = with_table(runs, as_ranked(own, results.fingerprints, one)) if len(own) else None
        if mine and (comparison := compare_in_track(one, mine, reference, metrics, rope)):
            found.append(comparison)
    own = table[~table["dataset"].isin(results.runs["dataset"])]
    rivals = select_methods(others, methods) if others else None
    if rivals and (local := compare_with_others(with_table(runs, own), rivals, metrics, rope)):
        found.append(local)
    compared = {run for one in found for run in one.pairs["run_a"]}
    rest = with_table(runs, table[~table.index.isin(compared)])
    left_out = tuple(left_out_messages(rest.scored, rest.splits, results, methods))
    if not found:
        raise UserError(
            f"no run below {runs.path} can be compared with the reference results. "
            f"{'. '.join(left_out)}.",
            "--with",
            "nothing_comparable",
        )
    return Comparisons(tuple(found), left_out)


def check_stored(metrics: Sequence[Metric]) -> None:
    """Raise a `UserError` for a metric that reference results do not contain."""
    if missing := [metric.key for metric in metrics if metric in COMPUTED]:
        raise UserError(
            f"reference results do not contain {missing[0]}; use another --metric, or no "
            "--with reference.",
            "--metric",
            "not_in_reference",
        )


def select_methods(runs: Runs, methods: tuple[str, ...]) -> Runs | None:
    """Return the runs of some methods, all of them if none are given; None if there are none."""
    table = runs.scored
    rows = table[table["method"].isin(methods)] if methods else table
    return with_table(runs, rows) if len(rows) else None


def compare_with_others(
    runs: Runs, others: Runs, metrics: Sequence[Metric], rope: float
) -> ReferenceComparison | None:
    """Compare runs with others on the same splits; None if there are none.

    The user chose them, so no protocol is required. The comparison has an empty track.
    """
    if runs.scored.empty:
        return None
    both = pd.concat([runs.scored, others.scored])
    both = with_incomplete(both, pd.concat([runs.splits, others.splits]))
    both = both.assign(track="", protocol="", unranked=both["incomplete"])
    mine, rivals = (with_table(one, both.loc[one.scored.index]) for one in (runs, others))
    return compare_in_track("", mine, rivals, metrics, rope)


def compare_in_track(
    track: str, mine: Runs, reference: Runs, metrics: Sequence[Metric], rope: float
) -> ReferenceComparison | None:
    """Compare runs with the reference runs of a track; None if no pair shares enough splits."""
    pairs = compare_pairs(dataset_pairs(mine, reference, metrics=metrics), rope, metrics)
    if pairs.empty:
        return None
    described = describe_pairs(pairs, mine.scored, reference.scored)
    return ReferenceComparison(track, mine, reference, rope, described)


def as_ranked(table: pd.DataFrame, fingerprints: pd.DataFrame, track: str) -> pd.DataFrame:
    """Add the columns of `with_ranked`, and mark my runs as reference runs of the track are.

    In a track of the protocol, settings of the method itself do not count as deviations.
    """
    table = with_ranked(table, fingerprints)
    few = table["incomplete"]
    return table.assign(mark=few, settings_differ=few) if track in PROTOCOL_TRACKS else table


def with_track(table: pd.DataFrame) -> pd.DataFrame:
    """Add the `track` and the `protocol` of each run to the rows of `Runs.scored`."""
    rows = table.to_dict("records")
    tracks = [track_of(run, tuning_of(run)) for run in rows]
    return table.assign(track=tracks, protocol=[protocol_of(run) for run in rows])


def select(
    results: ReferenceResults, track: str, datasets: pd.Series, methods: tuple[str, ...]
) -> Runs | None:
    """Return the reference runs of a track on some data sets; None if there are none.

    Of several runs of one configuration, one is returned.

    Args:
        results: the reference results.
        track: the track.
        datasets: names of the data sets.
        methods: labels of methods, in order; empty for all.

    Raises:
        UserError: if the track is unknown or has no runs.
    """
    reference = reference_runs(results, track)
    rows = reference.scored[reference.scored["dataset"].isin(datasets)]
    names = tuple(name for name in methods if name in {*rows["method"]})
    if rows.empty or (methods and not names):
        return None
    return without_duplicates(filter_runs(with_table(reference, rows), RunFilter(names)))


def same_protocol(mine: pd.DataFrame, reference: pd.DataFrame) -> pd.Series:
    """Return which of my runs have the protocol of a reference run on the same data set."""
    keys = ["dataset", "protocol"]
    return pd.Series(
        pd.MultiIndex.from_frame(mine[keys]).isin(pd.MultiIndex.from_frame(reference[keys])),
        mine.index,
    )


def with_table(runs: Runs, table: pd.DataFrame) -> Runs:
    """Return the runs of a table of scores, with their splits."""
    splits = runs.splits[runs.splits["run"].isin(table.index)]
    return replace(runs, tables={KIND: table}, splits=splits, _cache={})


def describe_pairs(
    pairs: pd.DataFrame, mine: pd.DataFrame, reference: pd.DataFrame
) -> pd.DataFrame:
    """Add the columns of `ReferenceComparison.pairs` that `compare_pairs` does not compute."""
    a, b = mine.loc[pairs["run_a"]], reference.loc[pairs["run_b"]]
    other_track = a["track"].to_numpy() != b["track"].to_numpy()
    other_protocol = a["protocol"].to_numpy() != b["protocol"].to_numpy()
    own, theirs = (side["settings"].map(configuration).to_numpy() for side in (a, b))
    tuned_a, tuned_b = (
        np.array([tuned_on_test(run) for run in side.to_dict("records")], bool) for side in (a, b)
    )
    remark = np.where(own == theirs, "the same configuration as mine", b["unranked"])
    remark = np.where(tuned_a & ~tuned_b, f"mine was {TUNED}", remark)
    table = with_power(pairs).assign(
        a=labels(mine).loc[pairs["run_a"]].to_numpy(),
        b=labels(reference).loc[pairs["run_b"]].to_numpy(),
        counted=~other_track & ~other_protocol & (own != theirs) & ~tuned_a & ~tuned_b,
        complete=(a["incomplete"].to_numpy() == "") & (b["incomplete"].to_numpy() == ""),
        remark=np.select(
            [other_track, other_protocol], ["track " + b["track"], "another protocol"], remark
        ),
    )
    tested = with_outcomes(table[table["counted"]], ("run_a", "metric"))
    return table.join(tested[["p_holm", "outcome"]])


def over_datasets(pairs: pd.DataFrame, metric: Metric, rope: float) -> pd.DataFrame:
    """Summarise the counted and complete pairs of one method of mine, by reference method.

    A data set on which one of the two diverged is lost by the widest margin in the signed-rank
    test. Its differences are in nats for a log-likelihood, otherwise fractions of the mean score.

    Args:
        pairs: of one method and metric; methods with fewer than `MIN_DATASETS` data sets are
            left out.
        metric: the metric.
        rope: as in `significance.rope_width`.

    Returns:
        Columns `b`, `datasets`, the numbers of `OUTCOMES` and `p_better`, `p_equivalent`,
        `p_worse`; probabilities are missing for fewer than `MIN_SIGNED_RANK_DATASETS` data sets.
    """
    unit = rope_width(metric, (pairs["mean_a"] + pairs["mean_b"]) / 2, 1.0)
    gains = -metric.sign * pairs["difference"] / unit
    widest = 2 * (gains.abs().max() + rope) + 1
    lost = (pairs["diverged_b"] > 0).astype(int) - (pairs["diverged_a"] > 0).astype(int)
    gains = gains.where(lost == 0, lost * widest)
    rows = []
    for name, group in pairs[pairs["counted"] & pairs["complete"]].groupby("b", sort=False):
        if len(group) >= MIN_DATASETS:
            enough = len(group) >= MIN_SIGNED_RANK_DATASETS
            own = gains[group.index].to_numpy(float)
            chances = signed_rank_test(own, rope) if enough else (math.nan,) * 3
            counts = [(group["outcome"] == outcome).sum() for outcome in OUTCOMES]
            rows.append((name, len(group), *counts, *chances))
    columns = ["b", "datasets", *OUTCOMES, "p_better", "p_equivalent", "p_worse"]
    return pd.DataFrame(rows, columns=columns)


def left_out_messages(
    table: pd.DataFrame, splits: pd.DataFrame, results: ReferenceResults, methods: Collection[str]
) -> Iterator[str]:
    """Yield why each run is not compared with the reference runs of its track.

    Args:
        table: the runs, rows of `Runs.scored` with their `track`.
        splits: their rows of `splits.csv`.
        results: the reference results.
        methods: the selected reference methods; empty for all.
    """
    known = results.fingerprints.set_index(SPLIT_KEY).index
    shared = splits.set_index(SPLIT_KEY).index.isin(known)
    counts = splits[shared].groupby("run").size()
    for digest, run in table.to_dict("index").items():
        reason = _reason(run, int(counts.get(digest, 0)), results.runs, methods)
        yield f"{full_name(run)}: {reason}"


def _reason(
    run: Mapping[Any, Any], shared: int, reference: pd.DataFrame, methods: Collection[str]
) -> str:
    there = reference[reference["dataset"] == run["dataset"]]
    own_table = shared == 0 and run.get(FILE)  # with the name of another data set
    if there.empty or own_table:
        available = list_names(reference["dataset"].unique(), str(run["dataset"]))
        return f"not compared, since there are no reference results on it (available: {available})"
    if shared < MIN_COMMON_SPLITS:
        return (
            f"not compared, since it shares {quantity(shared, 'split')} with the reference results "
            f"and needs {MIN_COMMON_SPLITS}; run more of the published splits"
        )
    selected = there[there["method"].isin(methods)] if methods else there
    if selected.empty:
        return f"not compared, since there is no reference run of {', '.join(methods)} on it"
    alike = there[(there["track"] == run["track"]) & (there["protocol"] == run["protocol"])]
    if alike.empty:
        fixed = fixed_hyper_parameters(run)
        values = f" (not searched: {', '.join(fixed)})" if fixed else ""
        changes = ", ".join(changed_settings(run)) or f"track {run['track']}{values}"
        reason = f"not ranked, since no reference run on it has its settings: {changes}"
    else:
        reason = f"not ranked, since {', '.join(methods)} ran with other settings"
    tracks = [track for track in TRACKS if track in {*selected["track"]}]
    return f"{reason}; --with reference:{tracks[0]} prints the differences without ranks"
