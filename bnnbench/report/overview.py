"""The report over many runs: tables and figures in `PATH/report`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from bnnbench.files import write_text
from bnnbench.report.bar_charts import bars_figure
from bnnbench.report.calibration_section import calibration_section
from bnnbench.report.divergence_order import orders_section
from bnnbench.report.folder import ReportFolder
from bnnbench.report.information_criteria import criteria_section, criteria_table
from bnnbench.report.interval_coverage import sigma_section
from bnnbench.report.plotting import save
from bnnbench.report.predictive_curves import curves_below, curves_section
from bnnbench.report.score_distributions import scores_by_split, spread_section
from bnnbench.report.section import Section
from bnnbench.report.split_page import write_run_report
from bnnbench.report.training_curves import objective_section
from bnnbench.results.published import with_published
from bnnbench.results.significance import all_pairs, heat_map, tally
from bnnbench.results.tables import (
    COMPARISON,
    COMPARISON_STATEMENT,
    METRICS,
    RESULTS,
    comparison_rows,
    gather,
    latex_table,
    markdown_table,
    result_rows,
    runs_below,
    statement,
)
from bnnbench.suites.cinelli_book.page import book_section
from bnnbench.suites.felekis_gvi.claims import gvi_section
from bnnbench.suites.felekis_gvi.comparison import rivals_section, suite_of

FIGURES = {"rmse": "Test RMSE", "log_likelihood": "Test log-likelihood"}

MOST_COMPARED = 20
"""Runs on a heat map of pairs; of more, nothing could be read."""

PAIRS_STATEMENT = (
    "Bayesian correlated t-test of every pair of runs on their common splits, with a region of "
    "practical equivalence of 1 % (RMSE, CRPS) or 0.01 nats. A win or a loss is a difference "
    "beyond it with probability over 0.95; all else is a tie. Every comparison: "
    "[comparisons.csv](comparisons.csv)."
)


def grouped(results: pd.DataFrame, rows: list[list[tuple[str, ...]]]) -> dict[str, list[tuple]]:
    """The rows of each run, gathered by its data set."""
    groups: dict[str, list[tuple]] = {}
    for dataset, more in zip(results["dataset"], rows, strict=True):
        groups.setdefault(str(dataset), []).extend(more)
    return {dataset: more for dataset, more in groups.items() if more}


def results_section(results: pd.DataFrame, error: str) -> Section:
    """Every run's results by data set, beside the published ones.

    Args:
        results: what `with_published` returns.
        error: see `bars_figure`.
    """
    ours = grouped(results, [[row] for row in result_rows(results)])
    theirs = grouped(results, comparison_rows(results))
    parts = ["# Results", sentence(results)]
    for name, title in FIGURES.items():
        parts += [f"## {title}", f"![{title} of every run, by data set]({name}.png)"]
    for dataset, rows in ours.items():
        parts += [f"## {dataset}", markdown_table(RESULTS, rows)]
        if dataset in theirs:
            parts += ["Beside published results:", markdown_table(COMPARISON, theirs[dataset])]
    if theirs:
        parts += ["## How to read the comparison", COMPARISON_STATEMENT]
    parts.append("Every metric of every run, at full precision: [results.csv](results.csv).")
    figures = {name: bars_figure(results, name, error) for name in FIGURES}
    return Section(parts, {"results": results}, figures)


def pairs_section(pairs: pd.DataFrame) -> Section | None:
    """Which method is better, and how surely; None without two runs on one data set.

    Args:
        pairs: what `all_pairs` returns.
    """
    if pairs.empty:
        return None
    counts = tally(pairs).astype(str)
    parts = ["## Which method is better", PAIRS_STATEMENT]
    rows = list(counts.itertuples(index=False))
    parts.append(markdown_table([c.capitalize() for c in counts], rows))
    if len({*pairs["a"], *pairs["b"]}) > MOST_COMPARED:
        return Section(parts, {"comparisons": pairs})
    for name, title in FIGURES.items():
        caption = f"{title}: probability that the row's method beats the column's"
        parts.append(f"![{caption}](comparison_{name}.png)")
    figures = {f"comparison_{name}": heat_map(pairs, name) for name in FIGURES}
    return Section(parts, {"comparisons": pairs}, figures)


def latex(results: pd.DataFrame) -> str:
    """The same tables for a paper, the data sets as row groups."""
    ours = grouped(results, [[row] for row in result_rows(results)])
    theirs = grouped(results, comparison_rows(results))
    text = "% Needs \\usepackage{booktabs} and \\usepackage{longtable}.\n"
    text += latex_table("results", sentence(results), RESULTS, ours)
    if theirs:
        text += "\n" + latex_table("published", COMPARISON_STATEMENT, COMPARISON, theirs)
    return text


def sentence(results: pd.DataFrame) -> str:
    """What the numbers are, and how many splits they leave out."""
    text = f"Every entry is the {statement(results['splits'])}."
    lost = int(results["diverged"].sum())
    return f"{text} Diverged splits ({lost} in all) are left out." if lost else text


def results_table(results: pd.DataFrame) -> Table:
    """The main results for a terminal of 80 columns, the data sets as row groups."""
    metrics = ("rmse", "log_likelihood", "total_seconds")
    table = Table(caption=sentence(results), box=SIMPLE_HEAD, collapse_padding=True)
    table.add_column("Method", min_width=16, overflow="fold")
    for metric in metrics:
        # Text, not markup: rich would read "[s]" as a style.
        table.add_column(Text(METRICS[metric]), justify="right", no_wrap=True)
    table.add_column("Splits", justify="right")
    rows = [[row] for row in result_rows(results, metrics)]
    for dataset, group in grouped(results, rows).items():
        table.add_row(Text(dataset, style="bold"))
        for row in group:
            table.add_row(*map(Text, row))
        table.add_section()
    return table


def write_report(
    path: Path, error: str = "std", to: Path | None = None, refresh: bool = False
) -> ReportFolder:
    """Writes tables (CSV, Markdown, LaTeX) and figures (PNG, PDF) of all runs below `path`.

    Args:
        path: an outputs folder, or any folder inside one.
        error: what the figures' error bars show, `std` or `stderr`.
        to: where to write; `path/report` if not given.
        refresh: first rewrite the summary, the calibration and the figures of every run.

    Raises:
        UserError: if there is no finished run, or no such kind of error.
    """
    results, pairs = with_published(gather(path)), all_pairs(path)
    scores, criteria, curves = scores_by_split(path), criteria_table(path), curves_below(path)
    found = (
        results_section(results, error),
        pairs_section(pairs),
        orders_section(results),
        spread_section(scores),
        calibration_section(path),
        objective_section(path),
        curves_section(curves),
        sigma_section(curves),
        criteria_section(criteria),
        book_section(results, pairs),
        rivals_section(scores),
        gvi_section(suite_of(results, pairs, scores, criteria, curves)),
    )
    sections = [section for section in found if section]
    report = ReportFolder(to) if to else ReportFolder.below(path)
    for run in runs_below(path) if refresh else []:
        write_run_report(run)
    write_text(report.page, "\n\n".join(p for s in sections for p in s.parts) + "\n")
    write_text(report.latex, latex(results))
    for section in sections:
        for name, table in section.tables.items():
            write_text(report.table(name), table.to_csv(index=False))
        for name, figure in section.figures.items():
            for suffix in ("png", "pdf"):
                save(figure, report.figure(name, suffix))
    return report
