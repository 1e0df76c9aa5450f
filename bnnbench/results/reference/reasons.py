"""Why a run cannot be compared or ranked with reference results, in sentences."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pandas as pd

from bnnbench.experiment.store.split_files import SPLIT_KEY
from bnnbench.near_names import list_names
from bnnbench.notes import quantity
from bnnbench.results.compare.pairing import MIN_COMMON_SPLITS
from bnnbench.results.published.shared_settings import fixed_hyper_parameters
from bnnbench.results.read.data_set_names import FILE
from bnnbench.results.read.labels import full_name
from bnnbench.results.reference.results import ReferenceResults
from bnnbench.results.reference.tracks import TRACKS, changed_settings


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
