"""Tables and figures of the page on downstream tasks, from the stored tables of its experiments."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator
from stored_results import RESULTS, table

from bnnbench.report.blocks import MISSING, plus_minus
from bnnbench.report.figures.bands import bands_figure
from bnnbench.report.figures.plotting import BLUE, ORANGE, legend, small_multiples
from bnnbench.report.figures.points import points_figure
from bnnbench.suites.active_learning.claims import gains
from bnnbench.suites.regions.page import DISTANCE, auroc_panels

METHODS = (
    *("bbb", "vadam", "mc_dropout", "deep_ensemble", "laplace", "pbp", "map"),
    *("hmc", "gp", "linear", DISTANCE),
)
"""The rows of the overview."""

DATASET = "boston"
"""The set with true gaps and tails in the overview."""

SHIFT = "permuted"
"""The shift in the overview."""


def rows_of(name: str, *experiments: str) -> pd.DataFrame:
    """Return a table of several experiments, as far as they ran."""
    folders = [f"downstream/{experiment}" for experiment in experiments]
    stored = [folder for folder in folders if (RESULTS / folder / f"{name}.csv").exists()]
    return pd.concat([table(folder, name) for folder in stored], ignore_index=True)


def regions() -> pd.DataFrame:
    """Return every tested region; of sets with true gaps or tails, only these.

    Runs that lack some of the features, such as unfinished chains, are left out.
    """
    rows = rows_of("regions", "region_posterior", "region_uci")
    sizes = rows.groupby(["source", "kind", "run"])["split"].transform("count")
    rows = rows[sizes == sizes.groupby([rows["source"], rows["kind"]]).transform("max")]
    any_true = rows.groupby(["source", "kind"])["is_true"].transform("max")
    return rows[rows["is_true"] == any_true]


def overview() -> str:
    """Return one number for each task and method."""
    columns = {
        **region_columns(),
        f"AUROC of {SHIFT} inputs, {DATASET}": shift_areas(),
        "gain over random labels [%], yacht": label_gains("random"),
        "gain over labels by distance [%], yacht": label_gains("distance"),
        "regret of Thompson sampling [% of uniform], wheel": bandit_regrets(),
    }
    rows = [
        {"method": f"`{method}`" if method != DISTANCE else method}
        | {title: cells.get(method, MISSING) for title, cells in columns.items()}
        for method in METHODS
    ]
    return pd.DataFrame(rows).to_markdown(index=False, disable_numparse=True)


def region_columns() -> dict[str, dict[str, str]]:
    """Return the columns on gaps."""
    rows = regions()
    gaps = rows[(rows["kind"] == "gap") & (rows["source"] == DATASET)]
    first = gaps[gaps["method"] == "bbb"].assign(method=DISTANCE)
    areas = pd.concat([gaps, first.assign(**{"auroc.epistemic": first["auroc.distance"]})])
    median = gaps.groupby("method")["region.log_likelihood"].median()
    return {
        f"AUROC of gaps, {DATASET}": with_errors(areas.groupby("method")["auroc.epistemic"]),
        f"log-likelihood in gaps, median, {DATASET}": median.map("{:.2f}".format).to_dict(),
    }


def with_errors(groups: pd.api.typing.SeriesGroupBy, factor: float = 1) -> dict[str, str]:
    """Return means with standard errors by the name of the group."""
    return {
        str(name): plus_minus(factor * own.mean(), abs(factor) * own.sem()) for name, own in groups
    }


def shift_areas() -> dict[str, str]:
    """Return AUROCs of shifted inputs on the splits that all methods ran."""
    rows = rows_of("outliers", "shifted_posterior", "shifted_uci")
    rows = rows[(rows["dataset"] == DATASET) & (rows["variant"] == SHIFT)]
    rows = rows[rows.groupby("split")["label"].transform("nunique") == rows["label"].nunique()]
    own = rows[rows["score"] == "epistemic"]
    distance = rows[(rows["score"] == "distance") & (rows["label"] == "map")]
    named = pd.concat([own, distance.assign(label=DISTANCE)])
    return with_errors(named.groupby("label")["auroc"])


def label_gains(other: str) -> dict[str, str]:
    """Return how much lower the RMSE is than with another rule, in percent of it."""
    found = gains(rows_of("labels", "active_learning"), other)
    return with_errors(found.groupby("method"), 100)


def bandit_regrets() -> dict[str, str]:
    """Return the regret of Thompson sampling as a percentage of that of uniform choices."""
    rows = rows_of("regret", "bandit")
    return with_errors(rows[rows["arm"].str.startswith("thompson")].groupby("method")["share"])


def chains() -> str:
    """Return the R-hat of the chains in gaps, and AUROCs on the features that they finished."""
    rows = rows_of("regions", "region_posterior")
    gaps = rows[rows["kind"] == "gap"]
    sentences = []
    for name, own in gaps[gaps["method"] == "hmc"].groupby("source"):
        same = gaps[(gaps["source"] == name) & gaps["split"].isin(own["split"])]
        areas = same.groupby("method")["auroc.epistemic"].mean()
        sentences.append(
            f"{name}: R-hat at most {own['diag.r_hat'].max():.2f} on {len(own)} of "
            f"{gaps[gaps['source'] == name]['split'].nunique()} features, mean AUROC "
            f"{areas['hmc']:.2f} (bbb {areas['bbb']:.2f}, deep_ensemble "
            f"{areas['deep_ensemble']:.2f}, distance {own['auroc.distance'].mean():.2f})"
        )
    return "; ".join(sentences) or "no chains have finished"


def repetitions(experiment: str, name: str) -> int:
    """Return the number of repetitions of an experiment."""
    return rows_of(name, experiment)["repetition"].nunique()


def areas_figure() -> Figure:
    """Mean areas under ROC curves with the baseline."""
    return points_figure(auroc_panels(regions()), "AUROC")


def losses_figure() -> Figure:
    """Log-likelihoods of every feature, in the region and outside of it, by method."""
    parts = dict(iter(regions().groupby(["source", "kind"], sort=False)))
    figure, panels = small_multiples(len(parts), 3, (3.4, 3.0), (0.6, 0.6), 6.5)
    for axes, ((source, kind), own) in zip(panels, parts.items(), strict=True):
        medians = own.groupby("label")["region.log_likelihood"].median().sort_values()
        places = {name: place for place, name in enumerate(medians.index)}
        lines = own["label"].map(places)
        for part, colour, shift in (("inside", BLUE, 0.15), ("region", ORANGE, -0.15)):
            values = own[f"{part}.log_likelihood"]
            label = "in the region" if part == "region" else "outside"
            axes.plot(values, lines + shift, "o", color=colour, alpha=0.6, ms=3, label=label)
            middle = own.groupby("label")[f"{part}.log_likelihood"].median()
            axes.plot(middle, middle.index.map(places) + shift, "|", color=colour, ms=9, mew=2)
        axes.set_xscale("symlog", linthresh=5)
        axes.xaxis.set_major_locator(FixedLocator([-300, -100, -30, -10, -5, -4, -3, -2, -1, 0, 1]))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_yticks(list(places.values()), list(places), fontsize="x-small")
        axes.set_title(f"{source}, {kind}", fontsize="small")
        axes.set_xlabel("log-likelihood [nats]")
    legend(figure, panels)
    return figure


def labels_figure() -> Figure:
    """RMSE against the number of labels by rule, a panel per method."""
    rows = rows_of("label_curves", "active_learning")
    panels = {str(name): own for name, own in rows.groupby("label")}
    return bands_figure(panels, "labels", "RMSE", "random")


FIGURES = {
    "downstream_areas": areas_figure,
    "downstream_losses": losses_figure,
    "downstream_labels": labels_figure,
}
"""Figures of the page by name."""
