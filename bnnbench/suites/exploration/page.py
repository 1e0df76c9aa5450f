"""The page of a run of a bandit, and the section of a report over several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from bnnbench.experiment.run_folder import RunFolder, read_record
from bnnbench.report import blocks
from bnnbench.report.claims_table import claims_blocks
from bnnbench.report.figures.bands import bands_figure
from bnnbench.report.figures.points import points_blocks
from bnnbench.report.points import Panel, Point
from bnnbench.report.run_page import FigureFunctions, RunPage
from bnnbench.results.claims import check_claims
from bnnbench.results.labels import short_name
from bnnbench.results.reader import Runs
from bnnbench.results.run_files import read_table
from bnnbench.results.run_tables import read_tables
from bnnbench.suites.exploration.claims import claims
from bnnbench.suites.exploration.tables import GREEDY, KIND, POOL, REGRET, STEPS, UNIFORM

STATEMENT = (
    "A method predicts the reward of every action and is fitted again after each batch of choices. "
    "greedy: the action with the largest mean; thompson: the largest value of a function drawn "
    "from the posterior, or with 'marginals' of each action drawn alone; uniform: chance; epsilon: "
    "greedy, but sometimes chance. All rules have the same contexts, rewards and first choices in "
    "a repetition, so they are compared with greedy in pairs. Regret is the expected reward that a "
    "choice misses, in % of the exact expectation of uniform choices. In a pool, the reward is the "
    "fraction of the highest rows that were found (recall). ± standard error over repetitions."
)

DESCRIPTION = ("dataset", "environment", "delta", "method")
"""Metadata of a run that the section uses."""

REGRET_AXIS, RECALL_AXIS = "regret, % of uniform", "recall"

CAPTION = (
    "Cumulative regret, or the recall of a pool, against the number of choices: median and "
    "quartiles over repetitions"
)

DIFFERENCES = "Regret of each rule less that of greedy, paired by repetition: mean ± standard error"


def read_regret(folder: RunFolder) -> pd.DataFrame:
    """Read `regret.csv`, with shares in percent, and add the `difference` to greedy.

    Raises:
        UserError: if the file is missing or damaged.
    """
    columns = ("repetition", "reward", "regret", "share", "second_half")
    table = read_table(folder.table(REGRET), columns, ("arm",))
    table[["share", "second_half"]] *= 100
    greedy = table[table["arm"] == GREEDY].set_index("repetition")["share"]
    return table.assign(difference=table["share"] - table["repetition"].map(greedy))


def summarise_arms(table: pd.DataFrame) -> pd.DataFrame:
    """Summarise `read_regret` over repetitions.

    Returns:
        A row per `arm`: mean and standard error (`<name>_stderr`) of `share`, `difference` (missing
        for greedy) and `reward`, quartiles `low`, `median` and `high` of the share, and `late`, the
        median of the second half.
    """
    groups = table.groupby("arm", sort=False)
    means = groups[["share", "difference", "reward"]]
    rows = blocks.mean_and_stderr(means)
    rows[["low", "median", "high"]] = groups["share"].quantile([0.25, 0.5, 0.75]).unstack()
    rows["late"] = groups["second_half"].median()
    rows.loc[GREEDY, ["difference", "difference_stderr"]] = None
    return rows.reset_index()


def arm_columns(**names: str) -> tuple[blocks.Column, ...]:
    """The columns of the table of rules."""
    return blocks.columns(
        {**names, "Rule": "{arm}"},
        {
            "Regret, % of uniform": blocks.with_stderr("share"),
            "median": "{median:.1f}",
            "quartiles": "{low:.1f} to {high:.1f}",
            "second half, median": "{late:.1f}",
            "difference to greedy": blocks.with_stderr("difference"),
            "reward": blocks.with_stderr("reward"),
        },
    )


def run_table(folder: RunFolder) -> blocks.Table:
    """The results of each rule."""
    names, table = read_record(folder).metadata, read_regret(folder)
    caption = f"mean ± standard error over {table['repetition'].nunique()} repetitions"
    title = short_name(names)
    return blocks.fill(arm_columns(), summarise_arms(table), title=title, caption=caption)


def curves(folder: RunFolder, recall: bool) -> pd.DataFrame:
    """Return the quartiles of the cumulative regret, or recall, of each rule after each step."""
    sums = ["reward", "regret", "uniform_regret"]
    table = read_table(folder.table(STEPS), ("repetition", "step", *sums), ("arm",))
    total = table.groupby(["arm", "repetition"])[sums].cumsum()
    score = total["reward"] if recall else 100 * total["regret"] / total["uniform_regret"]
    groups = score.groupby([table["arm"], table["step"]], sort=False)
    names = {0.25: "low", 0.5: "centre", 0.75: "high", "step": "choices"}
    return groups.quantile([0.25, 0.5, 0.75]).unstack().reset_index().rename(columns=names)


def curves_figure(folders: Mapping[str, RunFolder], environment: str) -> Figure:
    """Draw the cumulative regret, or the recall of a pool, a panel per run."""
    recall = environment == POOL
    panels = {name: curves(folder, recall) for name, folder in folders.items()}
    return bands_figure(panels, "choices", RECALL_AXIS if recall else REGRET_AXIS, UNIFORM)


def run_figures(folder: RunFolder) -> FigureFunctions:
    """The figure of the run's curves."""
    names = read_record(folder).metadata
    folders = {short_name(names): folder}
    return {"curves": partial(curves_figure, folders, names["environment"])}


PAGES = (
    RunPage(
        KIND,
        lambda folder: None,
        run_table,
        lambda folder: [],
        figures=run_figures,
        captions={"curves": CAPTION},
    ),
)


def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """Yield the section on bandits, if there are runs of them."""
    table = read_tables(runs, KIND, read_regret, DESCRIPTION)
    if table.empty:
        return
    yield blocks.Heading("Bandits")
    yield blocks.Paragraph(STATEMENT)
    panels = []
    for (dataset, environment), own in table.groupby(["dataset", "environment"], sort=False):
        groups = own.groupby("label", sort=False)
        rows = pd.concat([summarise_arms(part).assign(label=name) for name, part in groups])
        yield blocks.Heading(str(dataset), 3)
        yield blocks.fill(arm_columns(Method="{label}"), rows)
        folders = {str(name): runs.folders[part["run"].iloc[0]] for name, part in groups}
        draw = partial(curves_figure, folders, str(environment))
        yield blocks.FigureBlock(f"curves_{dataset}", CAPTION, draw)
        compared = rows[~rows["arm"].isin([GREEDY, UNIFORM])]
        points = [
            Point(f"{row.label}: {row.arm}", row.difference, row.difference_stderr)
            for row in compared.itertuples()
        ]
        panels.append(Panel(str(dataset), tuple(points), centre=0))
    axis = f"{REGRET_AXIS}: difference to greedy"
    yield from points_blocks("regret_differences", DIFFERENCES, panels, axis, falling=True)
    yield blocks.Heading("Claims", 3)
    yield from claims_blocks(check_claims(claims, table), "bandit_claims")
    yield blocks.DataFile("regret", table, "Regret of every repetition at full precision:")


SECTIONS = (section,)
