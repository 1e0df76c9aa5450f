"""The page of a run with pruned weights, and the section of a report over several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bnnbench.experiment.run_folder import RunFolder, read_record
from bnnbench.report import blocks
from bnnbench.report.claims_table import claims_blocks
from bnnbench.report.figures.bands import bands_figure, mean_curves
from bnnbench.report.run_page import FigureFunctions, RunPage
from bnnbench.results.claims import MAJORITY, CheckResult, Claims, NotTestable, check_claims
from bnnbench.results.labels import short_name
from bnnbench.results.reader import Runs
from bnnbench.results.run_files import read_table
from bnnbench.results.run_tables import read_tables
from bnnbench.suites.pruning.tables import KIND, MAGNITUDE, PRUNED, RANDOM, SCORES, SNR

TOLERANCES = (0.01, 0.05)
"""Relative increases of the RMSE for which the removable share is printed."""

SHOWN_SHARES = (0.0, 0.5, 0.9)
"""Shares whose RMSE is printed."""

STATEMENT = (
    "Weights are removed without training again: their mean and deviation become zero. snr: those "
    "with the smallest |mean| / deviation of the posterior first; magnitude: with the smallest "
    "|mean|; random: in random order. Biases are kept. Removable: the share at which the mean RMSE "
    "first exceeds that of the whole network by 1 % or 5 %, by linear interpolation; 1 if it never "
    "does. Mean ± standard error over splits."
)

SHARE_AXIS = "share removed"

CAPTION = "Test RMSE by share of removed weights: mean over splits, band: ± standard error"

BLUNDELL = "Blundell et al. 2015"

claims = Claims()


def read_pruned(folder: RunFolder) -> pd.DataFrame:
    """Read `pruned.csv`.

    Raises:
        UserError: if the file is missing or damaged.
    """
    return read_table(folder.table(PRUNED), ("split", "share", "removed", *SCORES), ("arm",))


def removable(curve: pd.Series, tolerance: float) -> float:
    """Return the share that can be removed before the RMSE exceeds that at the first share.

    Args:
        curve: RMSE by share, increasing shares.
        tolerance: accepted relative increase.
    """
    limit, values, shares = curve.iloc[0] * (1 + tolerance), curve.to_numpy(), curve.index
    above = np.flatnonzero(values > limit)
    if not len(above):
        return 1.0
    end = above[0]
    return float(np.interp(limit, values[end - 1 : end + 1], shares[end - 1 : end + 1]))


def summarise_arms(table: pd.DataFrame) -> pd.DataFrame:
    """Return a row per rule: `rmse_<share>` with standard errors, and `removable_<percent>`."""
    groups = table.groupby(["arm", "share"], sort=False)["rmse"]
    means, errors = groups.mean().unstack(), groups.sem().unstack()
    wide = means.add_prefix("rmse_").join(errors.add_prefix("stderr_"))
    shares = {
        f"removable_{100 * t:g}": means.apply(removable, axis=1, tolerance=t) for t in TOLERANCES
    }
    return wide.assign(**shares).reset_index()


COLUMNS = blocks.columns(
    {"Rule": "{arm}"},
    {
        **{
            f"RMSE, {share:.0%} removed": blocks.with_stderr(f"rmse_{share}", f"stderr_{share}")
            for share in SHOWN_SHARES
        },
        **{f"removable at {t:.0%}": f"{{removable_{100 * t:g}:.2f}}" for t in TOLERANCES},
    },
)


def run_table(folder: RunFolder) -> blocks.Table:
    """The results of each rule."""
    names = read_record(folder).metadata
    title = short_name(names)
    caption = "mean ± standard error over splits; original units"
    return blocks.fill(COLUMNS, summarise_arms(read_pruned(folder)), title=title, caption=caption)


def curves_figure(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Draw the RMSE of each rule by share, a panel per run."""
    panels = {
        name: mean_curves(table.rename(columns={"share": SHARE_AXIS}), SHARE_AXIS)
        for name, table in tables.items()
    }
    return bands_figure(panels, SHARE_AXIS, "RMSE", RANDOM, logarithmic=True)


def run_figures(folder: RunFolder) -> FigureFunctions:
    """The figure of the run's curves."""
    names = read_record(folder).metadata
    name = short_name(names)
    return {"pruned": partial(curves_figure, {name: read_pruned(folder)})}


PAGES = (
    RunPage(
        KIND,
        lambda folder: None,
        run_table,
        lambda folder: [],
        figures=run_figures,
        captions={"pruned": CAPTION},
    ),
)


@claims(
    "The signal-to-noise ratio is no worse a rule than the magnitude",
    source=BLUNDELL,
    rule=f"RMSE of snr - magnitude at most 2 standard errors above 0 at every share, in "
    f"{MAJORITY:.0%} of the runs",
)
def snr_is_no_worse(table: pd.DataFrame) -> CheckResult:
    """Check every run with both rules, paired by split."""
    holds = []
    for _, own in table.groupby("run"):
        wide = own.pivot(index=["share", "split"], columns="arm", values="rmse")
        if SNR in wide and MAGNITUDE in wide:
            groups = (wide[SNR] - wide[MAGNITUDE]).groupby("share")
            holds.append(bool((groups.mean() <= 2 * groups.sem().fillna(0)).all()))
    return _majority(holds)


@claims(
    "Half of the weights can be removed by their signal-to-noise ratio",
    source=BLUNDELL,
    rule=f"mean RMSE less than 1 % above that of the whole network, in {MAJORITY:.0%} of the runs",
)
def half_is_removable(table: pd.DataFrame) -> CheckResult:
    """Check every run with the rule."""
    arms = [summarise_arms(own).set_index("arm") for _, own in table.groupby("run")]
    return _majority([own.loc[SNR, "removable_1"] >= 0.5 for own in arms if SNR in own.index])


def _majority(holds: list[bool]) -> CheckResult:
    if not holds:
        raise NotTestable("no run of a method with a Gaussian posterior")
    return sum(holds) >= MAJORITY * len(holds), f"{sum(holds)} of {len(holds)} runs"


def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """Yield the section on pruning, if there are runs of it."""
    table = read_tables(runs, KIND, read_pruned).dropna()
    if table.empty:
        return
    yield blocks.Heading("Pruning")
    yield blocks.Paragraph(STATEMENT)
    for dataset, own in table.groupby("dataset", sort=False):
        panels = {str(name): rows for name, rows in own.groupby("label", sort=False)}
        rows = [summarise_arms(part).assign(label=name) for name, part in panels.items()]
        yield blocks.Heading(str(dataset), 3)
        columns = (*blocks.columns({"Method": "{label}"}, {}), *COLUMNS)
        yield blocks.fill(columns, pd.concat(rows))
        yield blocks.FigureBlock(f"pruned_{dataset}", CAPTION, partial(curves_figure, panels))
    yield blocks.Heading("Claims", 3)
    yield from claims_blocks(check_claims(claims, table), "pruning_claims")
    yield blocks.DataFile(PRUNED, table, "Scores of every split:")


SECTIONS = (section,)
