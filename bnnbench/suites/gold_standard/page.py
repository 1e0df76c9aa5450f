"""The part of a report on distances to the posterior."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from bnnbench.report.numbers import MISSING, number, plus_minus
from bnnbench.report.section import (
    Block,
    Data,
    Drawing,
    Heading,
    Items,
    Paragraph,
    Section,
    Style,
    Table,
    numbers,
    words,
)
from bnnbench.results.mixtures import keeps_mixtures
from bnnbench.results.reader import Runs
from bnnbench.suites.gold_standard.comparison import (
    DISTANCES,
    LOG_LIKELIHOOD,
    PRECISIONS,
    REFERENCE,
    Comparison,
    comparisons,
)
from bnnbench.suites.gold_standard.figures import nearest_figure, scores_figure
from bnnbench.suites.gold_standard.toys import toy_blocks
from bnnbench.suites.gold_standard.verdicts import (
    agreement,
    convergence,
    length,
    nearest,
    order,
    ranks,
)

STATEMENT = (
    "One model for all: each method is given the same network, prior and noise, and its "
    "predictions are held against those of long HMC chains on the same splits. What is left is "
    "inference, which test scores mix with the model. Of each test point two predictive "
    "distributions are compared, each a mixture of Gaussians: W1 and W2 are Wasserstein "
    "distances, from quantile functions (to 1e-4 of a distribution's width), in standard "
    "deviations of the training part's target; W1 of 1,000 draws of each is the score of the "
    "NeurIPS 2021 competition, which called it W2, and is never 0. Epistemic ratio: a method's "
    "epistemic deviation over the chains', geometric mean over points; correlation: Spearman's, "
    "of the two over points. Mass in 90 %: the probability that a method gives to the chains' "
    "central 90 % interval; more is too narrow, less too wide or elsewhere. Means over test "
    "points, then over splits, ± standard error. No Kullback-Leibler divergence between samples: "
    "without smoothing there is none."
)

COLUMNS = (
    *words("Method"),
    *numbers(
        "W1", "W1, 1,000 draws", "W2", "Epistemic ratio", "Correlation", "Mass in 90 %",
        "Log-likelihood",
    ),
)  # fmt: skip

SHOWN = (
    "w1", "w1_drawn", "w2", "epistemic_ratio", "epistemic_correlation", "mass_inside",
    "log_likelihood",
)  # fmt: skip
"""Columns of `Comparison.table` behind those of `COLUMNS`."""

RANKED = (*DISTANCES, LOG_LIKELIHOOD)

NO_REFERENCE = (
    f"These runs kept their predictive distributions, and none is by method={REFERENCE}: there is "
    "nothing to measure them by. Run experiment=gold_standard with it, once per data set."
)


def section(runs: Runs, style: Style) -> Section | None:
    """Distances to the posterior; None without runs that kept their predictive distributions."""
    if not any(keeps_mixtures(folder) for folder in runs.folders.values()):
        return None
    every = runs.once(comparisons)
    heading = Heading("Distance to the posterior")
    if not every:
        return Section((heading, Paragraph(NO_REFERENCE)))
    blocks: list[Block] = [heading, Paragraph(STATEMENT)]
    beside = [found for found in every if len(found.methods)]
    for found in every:
        blocks += _of_one(runs, found)
    if beside:
        blocks += _rankings(beside)
    full = pd.concat([found.table.assign(dataset=found.dataset) for found in every])
    full.insert(1, "method", [_name(every, run) for run in full["run"]])
    return Section((*blocks, *toy_blocks(runs, every), Data("distances", full, "Split by split:")))


def _name(every: Sequence[Comparison], run: str) -> str:
    return next(found.names[run] for found in every if run in found.names)


def _of_one(runs: Runs, found: Comparison) -> list[Block]:
    """A heading, what the reference is worth, the distances and what they say."""
    own = runs.splits[runs.splits["run"] == found.reference]
    converged, chains = convergence(own)
    long_enough, halves = length(found)
    standing = "gold standard" if converged and long_enough else "reference, no gold standard"
    said = [model_in_words(own), chains, halves]
    if len(found.methods):
        said += [nearest(found), agreement(found)[1], beside_the_model(runs, found)]
    if found.left_out:
        said.append(f"Left out, being of another model: {'; '.join(found.left_out)}.")
    return [
        Heading(f"{found.dataset}: {found.names[found.reference]} ({standing})", 3),
        Items(tuple(filter(None, said))),
        distances_table(found),
    ]


def model_in_words(splits: pd.DataFrame) -> str:
    """The precisions of the model, standardised units."""
    parts = []
    for name in PRECISIONS:
        values = splits[f"hp.{name}"].dropna() if f"hp.{name}" in splits else pd.Series(dtype=float)
        if len(values):
            low, high = values.min(), values.max()
            given = f"{low:.4g}" if np.isclose(low, high, rtol=1e-4) else f"{low:.4g} to {high:.4g}"
            parts.append(f"{name.replace('_', ' ')} {given}")
    return f"The model: {', '.join(parts) or 'precisions that the chains draw'}."


def beside_the_model(runs: Runs, found: Comparison) -> str:
    """What the compared runs were given that is no part of the model: epochs, dropout."""
    table = runs.scored.loc[[found.reference, *found.methods["run"].unique()]]
    counts = {
        f"{epochs} ({', '.join(found.names[str(run)] for run in own.index)})"
        for epochs, own in table.groupby("final_epochs")
    }
    model = [f"hp.{name}" for name in PRECISIONS]
    others = [str(name) for name in runs.splits if str(name).startswith("hp.")]
    said = [
        f"{name.removeprefix('hp.').replace('_', ' ')} {value:.4g} ({found.names[str(run)]})"
        for name in others
        if name not in model
        for run, value in runs.splits.groupby("run")[name].median().reindex(table.index).items()
        if np.isfinite(value)
    ]
    return f"Beside the model: epochs {', '.join([*sorted(counts), *said])}."


def distances_table(found: Comparison) -> Table:
    """The reference's halves, then the runs, the nearest first."""
    groups = found.table.groupby("run", sort=False)
    means, errors = groups[list(SHOWN)].mean(), groups[list(SHOWN)].sem()
    first = f"halves of {found.names[found.reference]}"
    names = {
        found.reference: first,
        **{run: found.names[run] for run in order(found, RANKED[0]).index},
    }
    rows = tuple(
        (name, *(plus_minus(means.loc[run, key], errors.loc[run, key]) for key in SHOWN))
        for run, name in names.items()
    )
    return Table(COLUMNS, rows)


def _rankings(every: Sequence[Comparison]) -> list[Block]:
    """The rankings by each distance beside that by log-likelihood, and the figures."""
    blocks: list[Block] = [Heading("Rankings", 3), Paragraph(rankings_statement(every))]
    for found in every:
        table = pd.DataFrame({metric.key: ranks(found, metric) for metric in RANKED})
        rows = tuple(
            (found.names[str(run)], *(number(float(rank), "g") for rank in row))
            for run, row in zip(table.index, table.to_numpy(), strict=True)
        )
        heads = ("W1", "W1, draws", "W2", "Ratio", "Correlation", "Mass", "Log-likelihood")
        ordered = tuple(sorted(rows, key=lambda row: (row[1] == MISSING, _rank(row[1]))))
        blocks.append(Table((*words("Method"), *numbers(*heads)), ordered, title=found.dataset))
    return [
        *blocks,
        Drawing("gold_nearest", "W1 to the posterior", partial(nearest_figure, every)),
        Drawing("gold_scores", "W1 and log-likelihood", partial(scores_figure, every)),
    ]


def _rank(cell: str) -> float:
    return float(cell) if cell != MISSING else np.inf


def rankings_statement(every: Sequence[Comparison]) -> str:
    """What the ranks are, and on how many data sets they tell the same."""
    against = [found.dataset for found in every if not agreement(found)[0]]
    said = (
        "Ranks by the mean over splits, 1 is the nearest or the best: of the ratio by the size of "
        "its logarithm, of the mass by its distance to 0.9 point by point."
    )
    if against:
        return (
            f"{said} Log-likelihood ranks otherwise than W1 on {len(against)} of {len(every)} data "
            f"sets ({', '.join(against)}): a better score is not a better approximation there."
        )
    return f"{said} Log-likelihood nowhere contradicts W1 here."


SECTIONS = (section,)
