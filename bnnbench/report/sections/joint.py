"""Joint predictions of several points, for runs that saved their predictive mixtures."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from bnnbench.report import blocks
from bnnbench.report.claims_table import claims_blocks
from bnnbench.report.figures.points import points_blocks
from bnnbench.report.points import Panel, Point
from bnnbench.results.claims import CheckResult, Claims, NotTestable, check_claims
from bnnbench.results.joint_predictions import DYADIC, MIN_DRAWS, RANDOM, SETS, TAU
from bnnbench.results.reader import Runs, unconverged_splits
from bnnbench.results.run_files import read_splits
from bnnbench.results.split_scores import split_scores

REFERENCE = "hmc"
"""The family of methods that the claim is about."""

STATEMENT = (
    f"{TAU} test points are predicted at once, {SETS} sets per split: random ones, or dyadic ones, "
    "the nearest points of two random anchors. Log-likelihoods in nats per point. Marginal: the "
    "sum over the points. Joint: components of the predictive mixture are functions, each with its "
    "own density of all points; sampled: log of the mean over components (from "
    f"{MIN_DRAWS} components on, or one; it is biased downwards where the posterior is wide); "
    "Gaussian: with the mean and covariance of the components. Gain: sampled - marginal. "
    "The joint log-likelihood is the score; the gain only says how much of it is due to dependence "
    "between points. Methods with one Gaussian per point are left out. Mean ± standard error over "
    "splits."
)

CAPTION = (
    f"Gain of joint over marginal log-likelihood, {TAU} points at once: mean ± standard error over "
    "splits"
)

ESTIMATES = ("marginal", "sampled", "gaussian", "gain")

claims = Claims()


@claims(
    "HMC predicts several near points best",
    source="Osband et al. 2022",
    rule="converged chains have the largest mean joint log-likelihood (sampled, dyadic) of all "
    "runs on each data set",
)
def chains_lead(table: pd.DataFrame) -> CheckResult:
    """Check whether the reference leads on every data set, within each experiment.

    Args:
        table: rows of `split_scores` of dyadic sets.
    """
    keys = ["experiment", "dataset", "family", "label"]
    means = table.groupby(keys, sort=False)["sampled"].mean().dropna().reset_index()
    leaders = []
    for (_, dataset), own in means.groupby(["experiment", "dataset"], sort=False):
        if REFERENCE in own["family"].to_numpy() and own["family"].nunique() > 1:
            best = own.loc[own["sampled"].idxmax()]
            leaders.append((best["family"] == REFERENCE, f"{dataset}: {best['label']}"))
    if not leaders:
        raise NotTestable("no data set with converged chains and another method")
    return all(holds for holds, _ in leaders), "best on " + ", ".join(text for _, text in leaders)


def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """Joint log-likelihoods, if runs saved mixtures of functions."""
    table = runs.cached(split_scores)["joint"]
    if table.empty or (table["draws"] == 1).all():
        return
    table = table.assign(gain=table["sampled"] - table["marginal"])
    groups = table.groupby(["dataset", "inputs", "label", "draws"], sort=False)[list(ESTIMATES)]
    rows = blocks.mean_and_stderr(groups).reset_index()
    yield blocks.Heading("Joint predictions")
    yield blocks.Paragraph(STATEMENT)
    numbers = {"draws": "{draws}"} | {name: blocks.with_stderr(name) for name in ESTIMATES}
    columns = blocks.columns({"Method": "{label}", "Sets": "{inputs}"}, numbers)
    yield from blocks.fill_by("dataset", columns, rows)
    shown = DYADIC if (rows["inputs"] == DYADIC).any() else RANDOM
    panels = [
        Panel(
            f"{name}, {shown} sets",
            tuple(
                Point(str(row["label"]), row["gain"], row["gain_stderr"])
                for _, row in own.dropna(subset="gain").sort_values("gain").iloc[::-1].iterrows()
            ),
            centre=0,
        )
        for name, own in rows[rows["inputs"] == shown].groupby("dataset", sort=False)
    ]
    yield from points_blocks("joint_gain", CAPTION, panels, "gain [nats per point]", falling=False)
    dyadic = table[table["inputs"] == DYADIC]
    if (dyadic["family"] == REFERENCE).any():
        chains = dyadic["run"][dyadic["family"] == REFERENCE].unique()
        excluded = [r for r in chains if unconverged_splits(read_splits(runs.folders[r]))]
        tested = dyadic[~dyadic["run"].isin(excluded)]
        yield from claims_blocks(check_claims(claims, tested), "joint_claims")
    yield blocks.DataFile("joint", table, "Log-likelihoods of every split:")
