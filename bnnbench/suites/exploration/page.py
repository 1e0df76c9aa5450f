"""The page of a run of a bandit, and the section of a report over several, with claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from bnnbench.experiment.store.record import read_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.stored_files import read_table
from bnnbench.notes import quantity
from bnnbench.report import blocks
from bnnbench.report.claims_table import claims_blocks
from bnnbench.report.figures.bands import bands_figure
from bnnbench.report.run_page import FigureFunctions, RunPage
from bnnbench.results.claims.claims import CheckResult, Claims, NotTestable, TooFew, check_claims
from bnnbench.results.claims.mean_tests import LEVEL, check_positive
from bnnbench.results.claims.saved_run import read_tables
from bnnbench.results.compare.undecided import Undecided
from bnnbench.results.read.labels import short_name
from bnnbench.results.read.run_tables import Runs
from bnnbench.suites.exploration import GREEDY, KIND, REGRET, STEPS, THOMPSON, UNIFORM

STATEMENT = (
    "A method predicts the reward of every action and is fitted again after each batch of choices. "
    "greedy: the action with the largest mean; thompson: the largest value of a function drawn "
    "from the posterior, or with 'marginals' of each action drawn alone; uniform: chance; epsilon: "
    "greedy, but sometimes chance. All rules have the same contexts, rewards and first choices in "
    "a repetition, so they are compared with greedy in pairs. Regret is the expected reward that a "
    "choice misses, in % of that of uniform choices. ± standard error over repetitions."
)

CAPTION = "Regret of all choices so far, against their number: median and quartiles of repetitions"

MIN_DELTA, MIN_REPETITIONS = 0.95, 100
"""Wheels that the claims are about, and the number of repetitions that a test needs."""

TEXT = "Thompson sampling with {} has less regret than greedy choices where good actions are rare"

RULE = (
    f"regret of greedy - of Thompson > 0, two-sided t-test, p below {LEVEL}, over at least "
    f"{MIN_REPETITIONS} repetitions of wheels with delta >= {MIN_DELTA}"
)

claims = Claims()

COLUMNS = blocks.columns(
    {"Method": "{label}", "Rule": "{arm}"},
    {
        "Regret, % of uniform": blocks.with_stderr("share"),
        "median": "{median:.1f}",
        "quartiles": "{low:.1f} to {high:.1f}",
        "second half, median": "{late:.1f}",
        "difference to greedy": blocks.with_stderr("difference"),
        "reward": blocks.with_stderr("reward"),
    },
)
"""The columns of the table of rules; the table of one run has no first column."""


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
    rows = blocks.mean_and_stderr(groups[["share", "difference", "reward"]])
    rows[["low", "median", "high"]] = groups["share"].quantile([0.25, 0.5, 0.75]).unstack()
    rows["late"] = groups["second_half"].median()
    rows.loc[GREEDY, ["difference", "difference_stderr"]] = None
    return rows.reset_index()


def run_table(folder: RunFolder) -> blocks.TableBlock:
    """The results of each rule."""
    title, table = short_name(read_record(folder).metadata), read_regret(folder)
    caption = f"mean ± standard error over {table['repetition'].nunique()} repetitions"
    return blocks.fill(COLUMNS[1:], summarise_arms(table), title=title, caption=caption)


def curves(folder: RunFolder) -> pd.DataFrame:
    """Return the quartiles of the cumulative regret of each rule after each step."""
    sums = ["regret", "uniform_regret"]
    table = read_table(folder.table(STEPS), ("repetition", "step", *sums), ("arm",))
    total = table.groupby(["arm", "repetition"])[sums].cumsum()
    share = 100 * total["regret"] / total["uniform_regret"]
    groups = share.groupby([table["arm"], table["step"]], sort=False)
    names = {0.25: "low", 0.5: "centre", 0.75: "high", "step": "choices"}
    return groups.quantile([0.25, 0.5, 0.75]).unstack().reset_index().rename(columns=names)


def curves_figure(folders: Mapping[str, RunFolder]) -> Figure:
    """Draw the cumulative regret, a panel per run."""
    panels = {name: curves(folder) for name, folder in folders.items()}
    return bands_figure(panels, "choices", "regret, % of uniform", UNIFORM)


def run_figures(folder: RunFolder) -> FigureFunctions:
    """The figure of the run's curves."""
    name = short_name(read_record(folder).metadata)
    return {"curves": partial(curves_figure, {name: folder})}


PAGES = (RunPage(KIND, run_table, figures=run_figures, captions={"curves": CAPTION}),)


@claims(TEXT.format("Laplace"), source="bnnbench", rule=RULE, method="laplace")
@claims(TEXT.format("a deep ensemble"), source="bnnbench", rule=RULE, method="deep_ensemble")
@claims(TEXT.format("Bayes by Backprop"), source="bnnbench", rule=RULE, method="bbb")
def has_less_regret(table: pd.DataFrame, method: str) -> CheckResult:
    """Check whether the draws of a method explore better than its mean.

    Args:
        table: `regret.csv` of several runs, with their metadata; wheels share the contexts of a
            repetition, so they are averaged.
        method: label of the method.
    """
    wanted = (table["method"] == method) & (table["delta"] >= MIN_DELTA)
    own = table[wanted & table["arm"].str.startswith(THOMPSON)]
    gains = -own.groupby("repetition")["difference"].mean()
    if gains.empty:
        raise NotTestable(f"no runs of {method} on such wheels")
    if len(gains) < MIN_REPETITIONS:
        text = f"{quantity(len(gains), 'repetition')} of such wheels"
        raise TooFew(text, Undecided(MIN_REPETITIONS, has_spread=False))
    return check_positive(gains, "repetitions", "regret of greedy choices - draws")


def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """Yield the section on bandits, if there are runs of them."""
    table = read_tables(runs, KIND, read_regret, ("dataset", "delta", "method"))
    if table.empty:
        return
    yield blocks.Heading("Bandits")
    yield blocks.Paragraph(STATEMENT)
    for dataset, own in table.groupby("dataset", sort=False):
        groups = own.groupby("label", sort=False)
        rows = pd.concat([summarise_arms(part).assign(label=name) for name, part in groups])
        yield blocks.Heading(str(dataset), 3)
        yield blocks.fill(COLUMNS, rows)
        folders = {str(name): runs.folders[part["run"].iloc[0]] for name, part in groups}
        yield blocks.FigureBlock(f"curves_{dataset}", CAPTION, partial(curves_figure, folders))
    yield blocks.Heading("Claims", 3)
    yield from claims_blocks(check_claims(claims, table), "bandit_claims")
    yield blocks.DataFile("regret", table, "Regret of every repetition at full precision:")


SECTIONS = (section,)
