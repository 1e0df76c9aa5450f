"""The page of a run on regions, the section of a report over several, and claims.

Claims are about uncertainty in gaps, tested over the features whose gaps are true. Splits are
features, which are different questions, so differences are paired by feature and tested by a plain
t-test.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from bnnbench.data.regions import GAP, TAIL
from bnnbench.experiment.store.record import read_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.report import blocks
from bnnbench.report.claims_table import claims_blocks
from bnnbench.report.figures.plotting import BLUE, GREY, ORANGE, legend, new_figure
from bnnbench.report.figures.points import Panel, Point, points_blocks
from bnnbench.report.run_page import FigureFunctions, RunPage
from bnnbench.results.claims.claims import CheckResult, Claims, NotTestable, all_hold, check_claims
from bnnbench.results.claims.mean_tests import LEVEL, check_positive, independent_values, positive
from bnnbench.results.read.labels import short_name
from bnnbench.results.read.run_tables import Runs
from bnnbench.suites.regions import KIND
from bnnbench.suites.regions.summary import (
    AREAS,
    NOUNS,
    PARTS,
    PBP_SOURCE,
    SCORES,
    all_regions,
    paired_with_pbp,
    published_regions,
    read_regions,
    summarise_regions,
)

EXPERIMENT = "region_posterior"
"""The experiment in which all methods have the same prior and noise."""

UNITS = "features with true gaps"

RULE = f"{{}}, two-sided t-test over {UNITS}, p below {LEVEL}, in runs of {EXPERIMENT}"

FOONG = "Foong et al. 2019"

claims = Claims()


def true_regions(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `all_regions` that the claims are about."""
    return table[(table["is_true"] == 1) & (table["experiment"] == EXPERIMENT)]


@claims(
    "Bayes by Backprop is more certain in a gap than outside of it",
    source=FOONG,
    rule=RULE.format("0.5 - AUROC of the epistemic variance > 0"),
    method="bbb",
)
@claims(
    "Vadam is more certain in a gap than outside of it",
    source=FOONG,
    rule=RULE.format("0.5 - AUROC of the epistemic variance > 0"),
    method="vadam",
)
def is_more_certain(table: pd.DataFrame, method: str) -> CheckResult:
    """Check whether the AUROC of a method is below one half."""
    area = _columns(table, "auroc.epistemic", method)[method]
    return check_positive(0.5 - area, UNITS, f"0.5 - AUROC of {method}")


@claims(
    "The linearised Laplace approximation recognises gaps better than Bayes by Backprop",
    source=FOONG,
    rule=RULE.format("difference of AUROCs > 0"),
    better="laplace",
    worse="bbb",
)
def recognises_better(table: pd.DataFrame, better: str, worse: str) -> CheckResult:
    """Check whether one method has the larger AUROC."""
    areas = _columns(table, "auroc.epistemic", better, worse)
    return check_positive(areas[better] - areas[worse], UNITS, f"AUROC of {better} - {worse}")


@claims(
    "Bayes by Backprop fails in gaps: it loses more log-likelihood there than a deep ensemble",
    source=FOONG,
    rule=RULE.format("difference of losses > 0, loss = log-likelihood outside - in the gap"),
    worse="bbb",
    better="deep_ensemble",
)
def loses_more(table: pd.DataFrame, worse: str, better: str) -> CheckResult:
    """Check whether one method loses more log-likelihood in gaps."""
    both = _columns(_with_losses(table), "loss", worse, better)
    return check_positive(both[worse] - both[better], UNITS, f"loss of {worse} - {better}")


@claims(
    "Every method loses more log-likelihood in tails than in gaps",
    source="nnuncert 2023",
    rule=f"for each method: {RULE.format('difference of losses > 0')} after Holm's correction; "
    "tails are true ones too",
)
def every_method_loses_more_in_tails(table: pd.DataFrame) -> CheckResult:
    """Check whether all methods lose more log-likelihood in tails, feature by feature."""
    losses = _with_losses(table)
    tails, gaps = (_columns(losses, "loss", kind=kind) for kind in (TAIL, GAP))
    differences = (tails - gaps).dropna(how="all").dropna(axis=1, how="all")
    if differences.empty:
        raise NotTestable("no features with a true gap and a true tail")
    tests, texts = zip(
        *(
            independent_values(differences[name], UNITS, f"loss of {name} in tails - gaps")
            for name in differences
        ),
        strict=True,
    )
    decided = positive(tests)
    failed = [text for text, one in zip(texts, decided, strict=True) if not one]
    evidence = f"{len(tests) - len(failed)} of {len(tests)} methods"
    return all_hold(decided), "; ".join([evidence, *failed])


def _with_losses(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(loss=table["inside.log_likelihood"] - table["region.log_likelihood"])


def _columns(table: pd.DataFrame, column: str, *methods: str, kind: str = GAP) -> pd.DataFrame:
    """Return a score by data set and feature (rows) and method (columns).

    Args:
        table: from `true_regions`; several runs of a method are averaged.
        column: of the table.
        methods: that are needed.
        kind: of the regions.

    Raises:
        NotTestable: if a method is missing.
    """
    own = table[table["kind"] == kind]
    wide = own.pivot_table(index=["source", "split"], columns="method", values=column)
    if missing := [method for method in methods if method not in wide]:
        raise NotTestable(f"no runs of {' and '.join(missing)} with true gaps")
    return wide


STATEMENT = (
    "Each split tests a region of one feature: its middle third (gap), its middle tenth (gap10), "
    "or its lowest and highest sixth (tail). A fraction of the other rows (experiment.inside) is "
    "tested too, without training on them. AUROC is the probability that a row of the region has a "
    "larger variance than such a row; 0.5 means that the variance does not recognise the region, "
    "and the distance to the nearest training row (standardised inputs) is a baseline without a "
    "model. In a true gap or tail, less than 10 % of all rows have the value of an edge; "
    "otherwise training rows may have values that are tested. Splits are features, not draws "
    "from a population: standard errors describe how features differ."
)

PUBLISHED_STATEMENT = (
    "Published values are means over the same kind of splits, for orientation only: networks, "
    "priors and searches differ, and all rows outside the region are trained on, as with "
    "experiment.inside=0. The log-likelihoods of Antorán et al. are of one Gaussian with the "
    "moments of the mixture. ± standard error over splits; where the number of splits is unknown, "
    "the standard deviation follows in parentheses."
)

PAIRED_STATEMENT = (
    f"PBP has no settings to tune, and its scores of single splits were published ({PBP_SOURCE}). "
    "Difference: ours - published, paired by feature, ± standard error, which omits the luck of "
    "the one seed that all splits share."
)

AUROC_CAPTION = (
    "AUROC of the epistemic variance for rows of the region, best first: mean ± standard error "
    "over features. Open circle: baseline without a model"
)

DISTANCE = "distance to training rows"


def run_table(folder: RunFolder) -> blocks.TableBlock:
    """Scores in the region and inside the training range, and areas under ROC curves."""
    names, table = read_record(folder).metadata, read_regions(folder)
    noun = NOUNS[str(names["region"])]
    parts = dict(zip(PARTS, (f"in the {noun}", "outside"), strict=True))
    titles = {f"{p}.{key}": f"{t}, {parts[p]}" for key, t in SCORES.items() for p in PARTS} | AREAS
    rows = summarise_regions(table).assign(title=titles).dropna(subset="mean")
    heads = blocks.columns(
        {"score": "{title}"},
        {
            f"features: {len(table)}": blocks.with_stderr("mean", "stderr"),
            "median": "{median:.4g}",
            f"true {noun.removesuffix('s')}s: {table['is_true'].sum()}": blocks.with_stderr(
                "true_mean", "true_stderr"
            ),
        },
    )
    caption = "mean ± standard error over features, a split each; original units"
    return blocks.fill(heads, rows, title=short_name(names), caption=caption)


def run_notes(folder: RunFolder) -> list[str]:
    """Notes on features without a true gap, missing areas, and splits that diverged."""
    table, noun = read_regions(folder), NOUNS[str(read_record(folder).metadata["region"])]
    notes = []
    if tied := list(table.loc[table["is_true"] == 0, "feature"]):
        notes.append(
            f"{len(tied)} of {len(table)} features have no true {noun.removesuffix('s')}: at least "
            f"10 % of the rows have the value of an edge ({', '.join(map(str, tied))})."
        )
    if not table["inside_rows"].any():
        notes.append("No AUROC: no rows outside the region are tested (experiment.inside).")
    if lost := int(table["region.rmse"].isna().sum()):
        notes.append(f"{lost} of {len(table)} splits diverged and are left out.")
    return notes


def run_figures(folder: RunFolder) -> FigureFunctions:
    """The figure of all features."""
    noun = NOUNS[str(read_record(folder).metadata["region"])]
    return {"features": partial(features_figure, read_regions(folder), noun)}


def features_figure(table: pd.DataFrame, noun: str) -> Figure:
    """Draw log-likelihoods and areas under ROC curves of each feature."""
    names = [str(row.feature) + ("" if row.is_true else " (ties)") for row in table.itertuples()]
    figure, (left, right) = new_figure(9.5, 1.3 + 0.25 * len(names), columns=2)
    lines = list(range(len(names)))
    points = (
        (left, "region.log_likelihood", f"in the {noun}", ORANGE, "o"),
        (left, "inside.log_likelihood", "outside", BLUE, "s"),
        (right, "auroc.epistemic", "epistemic variance", ORANGE, "D"),
        (right, "auroc.distance", DISTANCE, GREY, "x"),
    )
    for axes, column, label, colour, marker in points:
        axes.plot(table[column], lines, marker, color=colour, label=label)
    for axes, title in ((left, "log-likelihood [nats]"), (right, "AUROC")):
        axes.set(xlabel=title, ylim=(len(names) - 0.5, -0.5))
    left.set_yticks(lines, names)
    right.set_yticks(lines, [""] * len(names))
    right.axvline(0.5, color=GREY, linestyle=":", zorder=0)
    legend(figure, [left, right])
    return figure


PAGES = (
    RunPage(
        KIND,
        run_table,
        run_notes,
        figures=run_figures,
        captions={
            "features": "Log-likelihood and area under the ROC curve of each feature. Dotted line: "
            "the variance does not recognise the region; ties: no true gap or tail"
        },
    ),
)


def _published(metric: str, row: blocks.Row) -> str:
    """A published mean with its standard error or, where that is unknown, standard deviation."""
    text = blocks.plus_minus(row[metric], row[f"{metric}_stderr"])
    known = math.isfinite(row[f"{metric}_stderr"]) or not math.isfinite(row[f"{metric}_std"])
    return text if known else f"{text} ({row[f'{metric}_std']:.4g})"


RESULTS = blocks.columns(
    {"Method": "{label}"},
    {
        "Log-likelihood outside": blocks.score("inside.log_likelihood"),
        "in the region": blocks.score("region.log_likelihood"),
        "median": blocks.with_stderr("region.log_likelihood_median"),
        "RMSE in the region": blocks.score("region.rmse"),
        "coverage of 90 %": blocks.score("region.coverage"),
        "AUROC, epistemic": blocks.score("auroc.epistemic"),
        "AUROC, total": blocks.score("auroc.total"),
    },
)


PUBLISHED = blocks.columns(
    {"Method": "{method}", "Source": "{source}"},
    {
        f"{SCORES[metric]}{suffix}": cell
        for metric in ("log_likelihood", "rmse")
        for suffix, cell in (
            (", published", partial(_published, metric)),
            (", ours", blocks.with_stderr(f"{metric}_ours")),
        )
    },
    {"Our run": "{label}"},
)

PAIRED = blocks.columns(
    {"Run": "{label}", "Data set": "{source}", "Region": "{kind}", "Metric": "{metric}"},
    {
        "Features": "{splits}",
        "ours": "{ours:.4g}",
        "published": "{theirs:.4g}",
        "difference": blocks.with_stderr("difference"),
        "correlation": "{correlation:.3f}",
    },
)


def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """Yield the section on gaps and tails, if there are runs on them."""
    table = runs.cached(all_regions)
    if table.empty:
        return
    yield blocks.Heading("Gaps and tails of the training data")
    yield blocks.Paragraph(STATEMENT)
    published = published_rows(table, style.all_published)
    if not published.empty:
        yield blocks.Paragraph(PUBLISHED_STATEMENT)
    if panels := auroc_panels(table):
        yield from points_blocks("region_auroc", AUROC_CAPTION, panels, "AUROC", falling=False)
    for (source, kind), own in table.groupby(["source", "kind"], sort=False):
        yield blocks.Heading(f"{source}, {kind}", 3)
        yield from group_tables(own)
        theirs = published[(published["dataset"] == source) & (published["region"] == kind)]
        if not theirs.empty:
            yield blocks.Paragraph("Published values:")
            yield blocks.fill(PUBLISHED, theirs)
    paired = paired_with_pbp(table)
    if not paired.empty:
        yield blocks.Heading("PBP, split by split", 3)
        yield blocks.Paragraph(PAIRED_STATEMENT)
        yield blocks.fill(PAIRED, paired)
    tested = true_regions(table)
    if not tested.empty:
        yield blocks.Heading("Claims", 3)
        yield from claims_blocks(check_claims(claims, tested), "region_claims")
    yield blocks.DataFile("regions", table, "Scores of every split at full precision:")


def auroc_panels(table: pd.DataFrame) -> list[Panel]:
    """Return mean areas of the epistemic variance, a panel per data set and region."""
    panels = []
    for (source, kind), own in table.dropna(subset=["auroc.epistemic"]).groupby(
        ["source", "kind"], sort=False
    ):
        areas = own.groupby("label")["auroc.epistemic"].agg(["mean", "sem"])
        points = [Point(str(name), row["mean"], row["sem"]) for name, row in areas.iterrows()]
        distance = _baseline(own)["auroc.distance"]
        points.append(Point(DISTANCE, distance.mean(), distance.sem(), filled=False))
        ranked = tuple(sorted(points, key=lambda point: -point.value))
        panels.append(Panel(f"{source}, {kind}", ranked, centre=0.5))
    return panels


def _baseline(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the first run with areas; those of the distance are equal in all runs."""
    return table[table["run"] == table.loc[table["inside_rows"] > 0, "run"].iloc[0]]


def group_tables(table: pd.DataFrame) -> Iterator[blocks.Block]:
    """The results of a data set and a region: over all features, and over those without ties."""
    summaries = {str(name): summarise_regions(own) for name, own in table.groupby("label")}
    if table["inside_rows"].any():
        summary = summarise_regions(_baseline(table)).loc[["auroc.distance"]]
        summaries[DISTANCE] = summary.rename({"auroc.distance": "auroc.epistemic"})
    features = table.drop_duplicates("split")
    for prefix, count in (("", len(features)), ("true_", int(features["is_true"].sum()))):
        if prefix and not count:
            yield blocks.Paragraph("No feature has a true gap or tail.")
            return
        rows = [
            {"label": name}
            | {
                f"{score}_{statistic}": row[f"{prefix}{statistic}"]
                for score, row in own.iterrows()
                for statistic in ("mean", "stderr", "median")
            }
            for name, own in summaries.items()
        ]
        which = "features with true gaps or tails" if prefix else "features"
        yield blocks.Paragraph(f"All {count} {which}:")
        yield blocks.fill(RESULTS, rows)


def published_rows(table: pd.DataFrame, show_all: bool) -> pd.DataFrame:
    """Published values on the data sets and regions of our runs, next to the same methods' scores.

    Args:
        table: from `all_regions`.
        show_all: whether to include methods that did not run.
    """
    metrics = {f"region.{metric}": f"{metric}_ours" for metric in ("log_likelihood", "rmse")}
    keys = ["dataset", "region", "family", "label"]
    scores = table.rename(columns={"source": "dataset", "kind": "region", **metrics})
    groups = scores.groupby(keys)[list(metrics.values())]
    ours = blocks.mean_and_stderr(groups).reset_index()
    theirs = published_regions().merge(ours[keys[:2]].drop_duplicates())
    rows = theirs.merge(ours, how="left" if show_all else "inner", on=keys[:3])
    return rows.fillna({"label": blocks.MISSING})


SECTIONS = (section,)
