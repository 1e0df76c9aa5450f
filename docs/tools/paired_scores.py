"""Stored runs paired with published scores of the same splits."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pandas as pd
from stored_results import RESULTS, folders, reference_results, splits, table

from bnnbench.report.blocks import MISSING, plus_minus
from bnnbench.results.compare.published_scores import paired_row, with_published
from bnnbench.results.metric_table import METRICS, Metric
from bnnbench.results.published.values import published_splits, published_values
from bnnbench.results.reference.results import reference_runs

UNKNOWN = "unknown"
"""What a comparison says of settings that were not published."""


def paired_scores() -> str:
    """Return ours - published on the same splits, of every stored run with such a counterpart.

    A counterpart has the settings of the run, or unknown ones. Of several runs of a method, the one
    in `docs/results` is shown, then the one in the reference results.
    """
    rows = _pairs()
    metrics = [metric for metric in METRICS if f"{metric.key}_difference" in rows]
    rows = rows.sort_values(["source", "method", "dataset"])
    cells = [
        {
            "published": pair["source"].split(" (")[0],
            "settings": pair["settings"],
            "ours": pair["method"],
            "data set": pair["dataset"],
            "splits": f"{pair['splits']:.0f}",
            **{metric.title: _cell(pair, metric) for metric in metrics},
        }
        for pair in rows.to_dict("records")
    ]
    return pd.DataFrame(cells).to_markdown(index=False, disable_numparse=True)


def pairs_within(errors: float, source: str) -> str:
    """Return `8 of 10`: differences with equal settings within so many standard errors of zero.

    Args:
        errors: standard errors of the paired difference.
        source: the first words of the published name, such as `Gal 2018`.
    """
    rows = _pairs().query("settings == 'same'")
    rows = rows[rows["source"].str.startswith(source)]
    names = [m.key for m in METRICS if f"{m.key}_difference" in rows]
    z = pd.concat([rows[f"{n}_difference"] / rows[f"{n}_stderr"] for n in names]).dropna()
    return f"{(z.abs() <= errors).sum()} of {len(z)}"


@cache
def _pairs() -> pd.DataFrame:
    """Return the first pair of every data set, method and source."""
    return pd.DataFrame(_stored_pairs()).drop_duplicates(["dataset", "method", "source"])


def _cell(pair: dict[Any, Any], metric: Metric) -> str:
    """Return `+0.033 ± 0.030 (0.99)`: difference, standard error and correlation; or a dash."""
    difference = pair[f"{metric.key}_difference"]
    if pd.isna(difference):
        return MISSING
    sign = "+" if difference > 0 else ""
    text = plus_minus(difference, pair[f"{metric.key}_stderr"])
    return f"{sign}{text} ({pair[f'{metric.key}_correlation']:.2f})"


def _stored_pairs() -> Iterator[dict[str, Any]]:
    """Yield the rows of `paired_row` of all stored runs, with `settings`: same, or unknown."""
    for folder in folders():
        if any((RESULTS / folder).glob("splits_*.csv")):
            yield from pairs_of(table(folder).set_index("run"), splits(folder))
    reference = reference_results()
    for track in reference.runs["track"].unique():
        runs = reference_runs(reference, track)
        yield from pairs_of(with_published(runs, METRICS), runs.splits)


def pairs_of(runs: pd.DataFrame, rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the pairs of some runs, a table of `with_published`, and their splits."""
    values = {value.source: value for value in published_values().values()}
    known = {*published_splits()["method"]}
    metrics = [m.key for m in METRICS if f"{m.key}_source" in runs]
    for name, run in runs.to_dict("index").items():
        by_source: dict[tuple[str, str], list[str]] = {}
        for metric in metrics:
            source, differs = run[f"{metric}_source"], run[f"{metric}_differs"]
            if source in values and values[source].method in known:
                unknown = differs == UNKNOWN
                if unknown or pd.notna(run[f"{metric}_z"]):
                    settings = UNKNOWN if unknown else "same"
                    by_source.setdefault((source, settings), []).append(metric)
        own = rows[rows["run"] == name]
        for (source, settings), keys in by_source.items():
            pair = paired_row(run, own, dict.fromkeys(keys, values[source]))
            if pair:
                yield pair | {"settings": settings}
