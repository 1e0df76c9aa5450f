"""MC dropout's scores compared with its authors' on the same splits."""

from __future__ import annotations

from collections.abc import Iterator

from bnnbench.report import blocks
from bnnbench.results.compare.published_scores import paired_with_published
from bnnbench.results.read.run_tables import Runs

EXPERIMENT = "gal_uci"

DROPOUT = "MC-Dropout original (1x50, 400 epochs, BO tau shared across splits)"
"""Name of the method in `published/splits.csv`."""

STATEMENT = (
    "The repository of Gal & Ghahramani (2016) contains the scores of single splits behind their "
    "Table 1. Paired differences on the same splits are much more precise than differences of two "
    "means, because a hard split is hard for both. The table shows ours - published, ± standard "
    "error over splits, and the correlation of the two. mc_dropout_gal2016 uses their optimiser "
    "(minibatches of 32, Adam with learning rate 0.001, Glorot initialisation) and their dropout "
    "rate, noise precision and length-scale of each data set, without a search."
)

DEPARTURE = (
    "One difference remains: Keras divides the units that dropout keeps by the keep probability "
    "(0.95 to 0.995), whereas our masks are 0 or 1."
)

METRICS = {"rmse": "RMSE", "log_likelihood": "Log-likelihood"}


def metric_columns(metric: str) -> tuple[blocks.Column, ...]:
    """The columns of the table of one metric."""
    return blocks.columns(
        {"Data set": "{dataset}", "Method": "{method}"},
        {
            "Splits": "{splits}",
            "published": f"{{{metric}_theirs:.4g}}",
            "ours": f"{{{metric}_ours:.4g}}",
            "ours - published": blocks.with_stderr(f"{metric}_difference", f"{metric}_stderr"),
            "correlation": f"{{{metric}_correlation:.2f}}",
        },
    )


def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """Yield the section on the original table, if there are runs of this suite."""
    if runs.scored.empty or EXPERIMENT not in set(runs.scored["experiment"]):
        return
    found = runs.cached(paired_with_published)
    if found.empty:
        return
    paired = found[found["source"].str.endswith(DROPOUT)].dropna(axis=1, how="all")
    if paired.empty:
        return
    yield blocks.Heading("MC dropout, split by split (Gal & Ghahramani 2016)")
    yield blocks.Paragraph(STATEMENT)
    for metric, name in METRICS.items():
        yield blocks.Heading(name, 3)
        yield blocks.fill(metric_columns(metric), paired)
    yield blocks.Paragraph(DEPARTURE)
    yield blocks.DataFile("paired_with_published", paired)


SECTIONS = (section,)
