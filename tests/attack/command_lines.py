"""Command lines around an attacked argument. Valid ones run within a second."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bnnbench.config.configs import read_option

SMALL_SETTINGS = (
    *("workers=1", "splits=1", "training.epochs=1", "training.final_epochs=1"),
    *("training.samples=1", "training.batch_size=16", "evaluation.samples=2", "network.width=3"),
)

SMALL_SEARCH = ("search.iterations=2", "search.initial_points=2", "search.folds=2")

FIXED_PRECISIONS = ("search=none", "method.noise_precision=1", "method.prior_precision=1")

REQUIRED_CHOICES = {"divergence": ["method=bbb"], "prior": ["method=bbb"]}
"""Choices that other choices require."""

SINGLE = {
    "dataset": "diabetes",
    "method": "bbb",
    "method.alpha": "0.5",
    "divergence": "alpha",
    "divergence.alpha": "2",
    "depth": "1",
    "training.epochs": "2",
}
"""One value of each setting that an experiment sweeps over."""

LINEAR_SETTINGS = ("workers=1", "training.epochs=2", "training.samples=1")


def write_table(path: Path, rows: int = 20) -> Path:
    """A noisy straight line in two columns, as CSV."""
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(rows, 2))
    table = np.column_stack([inputs, inputs[:, 0] + 0.1 * rng.normal(size=rows)])
    np.savetxt(path, table, delimiter=",", header="a,b,y", comments="", fmt="%.6g")
    return path


def command(table: Path, choices: Sequence[str], *words: str) -> list[str]:
    """Build `run` with these choices and small settings, followed by the attacked arguments.

    Args:
        table: a CSV file, used unless the choices name a data set.
        choices: options of groups, such as `method=bbb`.
        words: the attacked arguments.
    """
    choices = [*REQUIRED_CHOICES.get(choices[0].partition("=")[0], ()), *choices] if choices else []
    groups = {choice.partition("=")[0]: choice.partition("=")[2] for choice in choices}
    if groups.get("prior") == "scale_mixture":
        choices.append("divergence.estimator=monte_carlo")
    if groups.get("experiment") == "linear_regression":
        return ["run", *choices, *LINEAR_SETTINGS, *words]
    if groups.get("dataset", "csv") == "csv":
        data = ["dataset=csv", f"dataset.path={table}", "dataset.target=y", "dataset.n_splits=2"]
    else:
        data = []
    if groups.get("experiment", "uci") != "uci":
        swept = read_option("experiment", groups["experiment"]).get("sweep", {})
        data, search = [], [f"{key}={SINGLE[key]}" for key in swept]
    elif groups.get("search") == "none":
        search = list(FIXED_PRECISIONS[1:])
    else:
        search = list(SMALL_SEARCH)
    return ["run", *data, *choices, *SMALL_SETTINGS, *search, *words]
