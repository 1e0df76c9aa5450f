"""Active learning's claims, the page of a run, and the section of a report over several."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from bnnbench.experiment.store.record import read_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.stored_files import read_table
from bnnbench.report import blocks
from bnnbench.report.claims_table import claims_blocks
from bnnbench.report.figures.bands import bands_figure
from bnnbench.report.run_page import FigureFunctions, RunPage
from bnnbench.results.claims.claims import CheckResult, Claims, NotTestable, check_claims
from bnnbench.results.claims.mean_tests import (
    LEVEL,
    are_within,
    check_positive,
    independent_values,
    positive,
)
from bnnbench.results.claims.saved_run import read_tables
from bnnbench.results.compare.significance import ROPE
from bnnbench.results.metric_table import BY_KEY
from bnnbench.results.read.labels import short_name
from bnnbench.results.read.run_tables import Runs
from bnnbench.suites.active_learning import DISTANCE, KIND, LABELS, RANDOM, VARIANCE

WITHOUT_NETWORKS = ("boosting", "gp", "linear")
"""Methods that are not networks."""

POINT_ESTIMATES = ("map",)
"""Networks without epistemic variance."""

UNITS = "repetitions"

RULE = (
    f"gain > 0, two-sided t-test over repetitions, p below {LEVEL}; gain = how much lower the mean "
    "RMSE after the start is than with {}, as a fraction of it"
)

claims = Claims()


def gains(table: pd.DataFrame, other: str) -> pd.Series:
    """Return how much lower the RMSE is with rows chosen by the variance than by another rule.

    Args:
        table: `labels.csv` of several runs, with columns `run`, `dataset` and `method`.
        other: the rule.

    Returns:
        Index `method`, `dataset`, `run` and `repetition`; a fraction of the mean RMSE of the other
        rule in the run. Repetitions in which a fit diverged are left out.
    """
    later = table[table["labels"] > table.groupby("run")["labels"].transform("min")]
    keys = ["method", "dataset", "run", "repetition"]
    means = later.groupby([*keys, "arm"])["rmse"].agg(lambda values: values.mean(skipna=False))
    pairs = means.unstack("arm").reindex(columns=[VARIANCE, other]).dropna()
    return (pairs[other] - pairs[VARIANCE]) / pairs.groupby("run")[other].transform("mean")


@claims(
    "PBP learns more from the rows that it is least certain about than from random rows",
    source="Hernández-Lobato & Adams 2015, section 5.2",
    rule=RULE.format("random rows"),
    method="pbp",
)
def beats_random(table: pd.DataFrame, method: str) -> CheckResult:
    """Check whether the variance chooses better rows than chance."""
    found = gains(table[table["method"] == method], RANDOM)
    if found.empty:
        raise NotTestable(f"no runs of {method}")
    return check_positive(found, UNITS, f"gain of {method}")


@claims(
    "Distance to the labelled rows chooses rows at least as well as the variance of any network",
    source="bnnbench",
    rule=f"for every network the whole 95 % interval of the gain is below {ROPE}; contradicted if "
    f"for a network: {RULE.format('rows chosen by distance')}, after Holm's correction",
)
def none_beats_distance(table: pd.DataFrame) -> CheckResult:
    """Check that no network's variance chooses better rows than the distance."""
    networks = table[~table["method"].isin([*WITHOUT_NETWORKS, *POINT_ESTIMATES])]
    found = gains(networks, DISTANCE)
    if found.empty:
        raise NotTestable("no runs of networks with epistemic variance")
    tests, texts = zip(
        *(
            independent_values(own, UNITS, f"gain of {name}")
            for name, own in found.groupby("method")
        ),
        strict=True,
    )
    better = [text for text, one in zip(texts, positive(tests), strict=True) if one]
    evidence = f"{len(better)} of {len(tests)} networks choose better rows than distance"
    # A gain may be significant and yet too small to count.
    within = are_within(tests, ROPE, below=False)
    return within or (False if better else within), "; ".join([evidence, *(better or texts)])


COLUMNS = ("repetition", "labels", "rmse", "log_likelihood", "crps")

STATEMENT = (
    "Rows are labelled one at a time and the method is fitted again after each. variance: the row "
    "with the largest epistemic variance; distance: the row farthest from all labelled rows, a "
    "baseline without a model; random: the next of a permutation. All rules have the same first "
    "rows, pool and test rows in a repetition, so they are compared in pairs. Difference: RMSE "
    "less that of random rows, averaged over all numbers of labels after the start; labels needed: "
    "the fewest with a mean RMSE of at most the last one of random rows. ± standard error over "
    "repetitions, which draw rows of one table."
)

RULES = blocks.columns(
    {"Method": "{label}", "Rule": "{arm}"},
    {
        "RMSE at first": blocks.with_stderr("start"),
        "at last": blocks.with_stderr("end"),
        "median": "{median:.4g}",
        "difference to random": blocks.with_stderr("difference"),
        "labels needed": "{needed:g}",
    },
)
"""The columns of the table of rules; the table of one run has no first column."""

CAPTION = "Test RMSE against the number of labels: mean over repetitions, band: ± standard error"


def read_labels(folder: RunFolder) -> pd.DataFrame:
    """Read `labels.csv`.

    Raises:
        UserError: if the file is missing or damaged.
    """
    return read_table(folder.table(LABELS), COLUMNS, ("arm",))


def summarise_arms(table: pd.DataFrame) -> pd.DataFrame:
    """Summarise each rule of a run over its repetitions.

    Args:
        table: `labels.csv` of a run; repetitions in which a fit diverged are left out.

    Returns:
        A row per `arm`: the first and last RMSE (`start`, `end`), its median (`median`), the
        mean `difference` to random rows, each with `<name>_stderr`, and `needed`, the labels that
        reach the last RMSE of random rows (missing if it is not reached).
    """
    curves = table.pivot(index="repetition", columns=["arm", "labels"], values="rmse").dropna()
    first, last = table["labels"].min(), table["labels"].max()
    rows = []
    for arm in table["arm"].unique():
        own, mean = curves[arm], curves[arm].mean()
        later = (own - curves[RANDOM]).drop(columns=first).mean(axis=1)
        reached = mean.index[mean <= curves[RANDOM, last].mean()]
        rows.append({
            "arm": arm, "repetitions": len(curves), "median": own[last].median(),
            "start": own[first].mean(), "start_stderr": own[first].sem(),
            "end": own[last].mean(), "end_stderr": own[last].sem(),
            "difference": math.nan if arm == RANDOM else later.mean(),
            "difference_stderr": later.sem(),
            "needed": float(min(reached, default=math.nan)),
        })  # fmt: skip
    return pd.DataFrame(rows)


def run_table(folder: RunFolder) -> blocks.TableBlock:
    """The results of each rule."""
    table = read_labels(folder)
    first, last = table["labels"].min(), table["labels"].max()
    rows = summarise_arms(table)
    caption = (
        f"{first} to {last} labels; mean ± standard error over {rows['repetitions'].iloc[0]} "
        "repetitions; original units"
    )
    title = short_name(read_record(folder).metadata)
    return blocks.fill(RULES[1:], rows, title=title, caption=caption)


def run_notes(folder: RunFolder) -> list[str]:
    """A note on repetitions that diverged."""
    table = read_labels(folder)
    lost = table.loc[table["rmse"].isna(), "repetition"].nunique()
    return [f"{lost} repetitions diverged and are left out."] if lost else []


def mean_curves(table: pd.DataFrame) -> pd.DataFrame:
    """Return the mean RMSE of each arm by its labels, and a band of its standard error."""
    groups = table.groupby(["arm", "labels"], sort=False)["rmse"]
    mean, stderr = groups.mean(), groups.sem()
    bands = {"centre": mean, "low": mean - stderr, "high": mean + stderr}
    return pd.DataFrame(bands).reset_index()


def draw_curves(panels: Mapping[str, pd.DataFrame]) -> Callable[[], Figure]:
    """Return a function that draws `mean_curves`, a panel per run."""
    return partial(bands_figure, panels, "labels", BY_KEY["rmse"].axis, RANDOM)


def run_figures(folder: RunFolder) -> FigureFunctions:
    """The figure of the run's curves."""
    name = short_name(read_record(folder).metadata)
    return {"curves": draw_curves({name: mean_curves(read_labels(folder))})}


PAGES = (RunPage(KIND, run_table, run_notes, figures=run_figures, captions={"curves": CAPTION}),)


def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """Yield the section on active learning, if there are runs of it."""
    table, summary, curves = (
        read_tables(runs, KIND, read, ("dataset", "method"))
        for read in (
            read_labels,
            lambda folder: summarise_arms(read_labels(folder)),
            lambda folder: mean_curves(read_labels(folder)),
        )
    )
    if table.empty:
        return
    yield blocks.Heading("Active learning")
    yield blocks.Paragraph(STATEMENT)
    for dataset, own in summary.groupby("dataset", sort=False):
        yield blocks.Heading(str(dataset), 3)
        yield blocks.fill(RULES, own)
        panels = dict(iter(curves[curves["dataset"] == dataset].groupby("label", sort=False)))
        yield blocks.FigureBlock(f"labels_{dataset}", CAPTION, draw_curves(panels))
    yield blocks.Heading("Claims", 3)
    yield from claims_blocks(check_claims(claims, table), "active_learning_claims")
    yield blocks.DataFile("active_learning", summary, "Summaries of all rules at full precision:")
    yield blocks.DataFile("label_curves", curves, "Curves of the figures:")
    yield blocks.DataFile("labels", table, "Scores after every label at full precision:")


SECTIONS = (section,)
