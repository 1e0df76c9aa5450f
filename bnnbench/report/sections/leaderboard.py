"""All published values on the data sets of some runs, with our own, on request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.report import blocks
from bnnbench.report.sections.significance import difference_cell, p_value_text
from bnnbench.results.compare.outcomes import SIGNIFICANT, rule
from bnnbench.results.compare.published_scores import pairs_with_published
from bnnbench.results.metric_table import BY_KEY, Metric, printed_in
from bnnbench.results.published.protocol import has_protocol
from bnnbench.results.published.values import PUBLIC, published_means
from bnnbench.results.read.labels import marked_labels
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.read.split_means import tuned_note

COLUMNS = ("dataset", "metric", "method", "mean", "stderr", "splits", "source")

OURS = "ours"
"""Source of our own runs."""

LEADERBOARD_STATEMENT = (
    "Published values on these data sets, best first, together with our runs (source: ours). "
    "Splits: public, the 20 published splits (5 for protein); own, other splits, so differences "
    "to our means include the error of both; unknown, not reported. Protocols differ: each paper "
    "has its own search, number of epochs, network and noise model, and some select "
    "hyper-parameters by test scores. Values without an error were published without one, or with "
    "one of unknown kind. The column seen_in of published/values.csv, in the package, gives the "
    "location of each value."
)

SPLITS_STATEMENT = (
    "Our runs compared with methods whose scores of single splits were published, on splits with "
    "the same test rows: ours minus published, with its interval, and the p-value adjusted over "
    f"all published methods of the data set and metric. {rule()} Where only one of two runs "
    "diverged on a split, this is printed instead, since it is then significantly worse."
)


def outcome_cell(pair: Mapping[Any, Any]) -> str:
    """Return the outcome of a pair, or which run diverged if the interval does not decide."""
    if pair["outcome"] in SIGNIFICANT and pair["diverged_a"] + pair["diverged_b"]:
        return "diverged" if pair["diverged_a"] else "published diverged"
    return str(pair["outcome"])


PAIR_COLUMNS = blocks.columns(
    {"Data set": "{dataset}", "Method": "{a}", "Metric": "{title}"},
    {
        "Splits": "{splits}",
        "Ours - published": difference_cell,
        "Holm p": lambda pair: p_value_text(pair["p_holm"]),
        "Ours": outcome_cell,
    },
    {"Published": "{b}"},
)

USER_STATEMENT = (
    "The values from --published-values, best first, together with our runs on these data sets "
    "(source: ours). Only what the file states is known about their splits and settings."
)


def leaderboard(
    runs: Runs, metrics: Sequence[Metric] = printed_in("published"), all_published: bool = True
) -> pd.DataFrame:
    """Return published values on the data sets of these runs, and the runs' own values.

    All built-in published values are added to the user's only if `all_published`.

    Returns:
        Columns `COLUMNS`, sorted by data set and metric, best first; units of the target or nats.
        Empty if nothing was published on the data sets of these runs.
    """
    scored = runs.scored
    own = np.array([all_published and has_protocol(run) for run in scored.to_dict("records")], bool)
    own |= scored["dataset"].isin(runs.user_published["dataset"]).to_numpy()
    if not own.any():
        return pd.DataFrame(columns=COLUMNS)
    published = [*([published_means()] if all_published else []), runs.user_published]
    tables = [*map(published_rows, published), own_rows(scored[own], metrics)]
    rows = pd.concat([table[list(COLUMNS)] for table in tables if len(table)])
    if not all_published:
        keys = ["dataset", "metric"]
        named = pd.MultiIndex.from_frame(runs.user_published[keys])
        rows = rows[pd.MultiIndex.from_frame(rows[keys]).isin(named)]
    datasets = list(scored.loc[own, "dataset"].unique())
    places = {
        "place": rows["dataset"].map({name: k for k, name in enumerate(datasets)}),
        "order": rows["metric"].map({metric.key: k for k, metric in enumerate(metrics)}),
        "loss": rows["metric"].map({metric.key: metric.sign for metric in metrics}) * rows["mean"],
    }
    ordered = rows.assign(**places).dropna(subset=list(places)).sort_values(list(places))
    return ordered[list(COLUMNS)].reset_index(drop=True)


def published_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Return published values, those of the package or of the user, columns `COLUMNS`."""
    source = (rows["source"] + " " + rows["year"].astype(str)).str.strip()
    known = rows["splits"].where(rows["splits"] != "", "unknown")
    return rows.assign(source=source.where(source != "", "user"), splits=known)


def own_rows(table: pd.DataFrame, metrics: Sequence[Metric]) -> pd.DataFrame:
    """Return the means of runs, columns `COLUMNS`, from rows of `Runs.scored`."""
    seeded = table["settings"].map(lambda settings: settings.get("dataset.seeded_splits"))
    own = {
        "dataset": table["dataset"],
        "method": marked_labels(table),
        "splits": np.where(seeded.isna(), PUBLIC, "own"),
        "source": OURS,
    }
    return pd.concat(
        pd.DataFrame({
            **own, "metric": metric.key,
            "mean": table[f"{metric.key}_mean"], "stderr": table[f"{metric.key}_stderr"],
        })
        for metric in metrics
    )  # fmt: skip


def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """A table for each data set and metric, of all published values or of the user's, if any."""
    everything = style.all_published
    if not (everything or len(runs.user_published)):
        return
    table = leaderboard(runs, style.run_filter.metrics_or(printed_in("published")), everything)
    if table.empty:
        return
    yield blocks.Heading(
        "All published values" if everything else "Comparison with your published values"
    )
    statement = LEADERBOARD_STATEMENT if everything else USER_STATEMENT
    yield blocks.Paragraph(f"{statement} {tuned_note(runs.scored)}".strip())
    for (dataset, key), group in table.groupby(["dataset", "metric"], sort=False):
        metric = BY_KEY[str(key)]
        columns = (
            blocks.Column("Method", "label", "{method}"),
            blocks.Column(metric.heading, "number", blocks.with_stderr("mean", "stderr")),
            blocks.Column("Splits", "label", "{splits}"),
            blocks.Column("Source", "text", "{source}"),
        )
        yield blocks.Heading(f"{dataset}: {metric.inline_title}", 3)
        yield blocks.fill(columns, group)
    yield blocks.DataFile("published", table)
    pairs = pairs_with_published(runs) if everything else pd.DataFrame()
    if pairs.empty:
        return
    yield blocks.Heading("Published scores of single splits", 3)
    yield blocks.Paragraph(SPLITS_STATEMENT)
    titles = pairs["metric"].map(lambda key: BY_KEY[key].heading)
    yield blocks.fill(PAIR_COLUMNS, pairs.assign(title=titles))
    yield blocks.DataFile("published_splits", pairs)
