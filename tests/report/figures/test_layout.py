"""Figures stay readable with long names and extreme numbers: no text is cut off or overlaps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from support.layout import layout_problems, small_texts
from support.quick import slow_except
from support.runs import make_points, make_search, make_splits
from support.synthetic_data import calibrated, curve

from bnnbench.report.figures.plotting import new_figure
from bnnbench.report.figures.points import MAX_LINES, Panel, Point, points_figure
from bnnbench.report.figures.split_run import (
    MAX_DOTS,
    predictions_figure,
    reliability_figure,
    search_figure,
    splits_figure,
)
from bnnbench.report.sections.curves import curves_figure
from bnnbench.report.sections.divergence_orders import divergence_orders_figure
from bnnbench.report.sections.interval_coverage import interval_coverage_figure
from bnnbench.report.sections.objective import objective_figure, objectives_figure
from bnnbench.report.sections.ranking import ranks_figure
from bnnbench.report.sections.spread import spread_figure
from bnnbench.report.sections.time_against_score import time_figure
from bnnbench.results.compare.ranking import RANKED_METRICS, rank_scores
from bnnbench.results.metric_table import BY_KEY, printed_in

RUN = (
    "mc_dropout_gal2016_with_more on a_table_of_my_own_measurements, tv_lower_weight_2, "
    "heteroscedastic, beta_nll, depth 10, seed 2026, experiment the_comparison_of_last_november"
)
LABEL = (
    "mc_dropout_gal2016, tv_lower_weight_2, heteroscedastic, beta_nll, depth 10, final epochs 40000"
)
DATASET = "a_table_of_my_own_measurements_of_last_november"
TARGET = (
    "compressive strength of the concrete after 28 days under water, the mean of three cylinders "
    "of one batch [N/mm² at 20 degrees Celsius, $ and _ included]"
)
SCORE, LIKELIHOOD = BY_KEY["rmse"], BY_KEY["log_likelihood"]
HUGE = 123456789.0


def labels(count: int) -> list[str]:
    return [f"{LABEL}, variant {k}" for k in range(count)]


def scored(count: int, names: list[str], datasets: list[str], size: float) -> pd.DataFrame:
    """Rows as `with_published` has them, scores as large as `size` and as small as 1."""
    rows = [
        {"dataset": dataset, "method": name, "experiment": f"{DATASET}_{k % 5}", "seed": k,
         "divergence": "kl", "likelihood": "gaussian", "loss": "nll", "depth": 1, "settings": {},
         "divergence_family": f"alpha_{LABEL[:30]}", "order": 0.5 * k, "label": name}
        for dataset in datasets
        for k, name in enumerate(names[:count])
    ]  # fmt: skip
    table = pd.DataFrame(rows)
    for metric in printed_in("figures"):
        mean = -metric.sign * np.geomspace(1, size, len(table)) * -1
        mean[len(mean) // 2] = np.nan
        spreads = {f"{metric.key}_{kind}": 0.2 * np.abs(mean) for kind in ("std", "stderr")}
        theirs = {f"{metric.key}_published": mean, f"{metric.key}_source": "Somebody 1990"}
        theirs |= {
            f"{metric.key}_published_{kind}": 0.1 * np.abs(mean) for kind in ("std", "stderr")
        }
        table = table.assign(**{f"{metric.key}_mean": mean, **spreads, **theirs})
    return table


def points(count: int, size: float) -> pd.DataFrame:
    few = pd.DataFrame(make_points())
    return pd.concat([few] * (count // len(few) + 1)).assign(target=lambda p: size * p["target"])


def traces(names: list[str], datasets: list[str]) -> pd.DataFrame:
    return pd.DataFrame([
        {"run": f"{name}{dataset}{depth}", "dataset": dataset, "depth": depth, "label": name,
         "epoch": epoch, "objective": HUGE / epoch, "split": 0, "loss": HUGE, "complexity": -HUGE}
        for name in names for dataset in datasets for depth in (1, 10) for epoch in (1, 1000)
    ])  # fmt: skip


def losses(names: list[str], datasets: list[str]) -> pd.DataFrame:
    places = [
        (n, d, depth, k) for n in names for d in datasets for depth in (1, 10) for k in range(4)
    ]
    table = pd.DataFrame(places, columns=["label", "dataset", "depth", "split"])
    size = np.where(table["split"] == 3, HUGE, 1.0) * (1 + np.arange(len(table)) % 7)
    return table.assign(rmse=size, log_likelihood=size)


def searched(size: float) -> pd.DataFrame:
    found = make_search()
    dropout = np.linspace(1e-6, 0.5, len(found))
    return found.assign(**{"hp.dropout": dropout, "objective": size * found["objective"]})


def panels(names: list[str], count: int, size: float) -> list[Panel]:
    """Panels with values as large as `size` and as small as 1, and one that diverged."""
    values = np.geomspace(1, size, len(names)) * np.where(np.arange(len(names)) == 2, np.nan, 1)
    points = tuple(
        Point(name, float(value), 0.2 * float(value))
        for name, value in zip(names, values, strict=True)
    )
    return [Panel(f"{DATASET}_{k}", points, 1.0) for k in range(count)]


SETS = [DATASET, f"{DATASET}_2"]
RAW = points(40, 1.0)
CURVES = [curve(name, DATASET, depth=depth) for name in labels(2) for depth in (1, 2)]
SIGMA = [calibrated(1.0, label=name, dataset=DATASET) for name in labels(9)]
SHORT = [f"mc_dropout_gal2016_{k}" for k in range(3)]
PARTS = [f"mc_dropout_gal2016, depth {k}" for k in range(6)]
RANKS = [
    rank_scores(
        pd.DataFrame({name: np.arange(4.0) + k for k, name in enumerate(labels(9))}), metric
    )
    for metric in RANKED_METRICS[:2]
]
TIMED = scored(6, labels(6), [DATASET], HUGE).assign(
    total_seconds_mean=np.geomspace(1e-3, 1e6, 6), total_seconds_std=1e5,
    rmse_front=[True, False] * 3, experiment=[f"{DATASET}_{k}" for k in (0, 1)] * 3,
)  # fmt: skip
NOBODY = scored(1, SHORT, SETS, 2).iloc[:0].assign(splits=20)

FIGURES: dict[str, Callable[[], Figure]] = {
    "splits": lambda: splits_figure(make_splits(rmse=HUGE, log_likelihood=-HUGE), TARGET, RUN),
    "many splits": lambda: splits_figure(make_splits(split=[0, 50, 900, 999]), TARGET, RUN),
    "predictions": lambda: predictions_figure(points(30, 1e6), TARGET, RUN),
    "density": lambda: predictions_figure(points(MAX_DOTS, 1e-6), TARGET, RUN),
    "calibration": lambda: reliability_figure(RAW, RAW, RUN),
    "search": lambda: search_figure(searched(1e7), 3, RUN),
    "objective": lambda: objective_figure(traces([LABEL], ["d"]).query("depth == 1"), RUN),
    "objectives": lambda: objectives_figure(traces(labels(5), [DATASET]), RUN),
    "curves": lambda: curves_figure(CURVES, RUN),
    "sigma": lambda: interval_coverage_figure(SIGMA, RUN),
    "points": lambda: points_figure(panels(PARTS, 9, 1e6), LIKELIHOOD.axis),
    "many points": lambda: points_figure(panels(labels(MAX_LINES), 2, HUGE), TARGET),
    "few points": lambda: points_figure(panels(SHORT[:1], 1, 9), SCORE.axis),
    "orders": lambda: divergence_orders_figure(scored(9, labels(9), SETS, HUGE), NOBODY, RUN),
    "boxes": lambda: spread_figure(losses(labels(5), SETS), SCORE, RUN),
    "ranks": lambda: ranks_figure(RANKS, RUN, labels(1)),
    "times": lambda: time_figure(TIMED, SCORE),
    "highlighted times": lambda: time_figure(TIMED, SCORE, highlighted=TIMED.index[:2]),
}


@pytest.mark.parametrize("name", slow_except(FIGURES, "predictions"))
def test_text_is_neither_cut_off_nor_overlapping(name: str) -> None:
    figure = FIGURES[name]()
    assert layout_problems(figure) == [] and small_texts(figure) == []


def test_small_text_is_found_also_in_exponents_but_not_where_it_is_hidden() -> None:
    figure, (axes, hidden) = new_figure(10, 2, 2)
    axes.set_axis_off()
    hidden.set_visible(False)
    hidden.text(0.5, 0.5, "unseen", fontsize=1)
    axes.text(0.5, 0.5, "unseen", fontsize=1, visible=False)
    axes.text(0.5, 0.2, "$10$ and more", fontsize=9)
    assert small_texts(figure) == []
    axes.text(0.5, 0.5, "small", fontsize=7)
    axes.text(0.5, 0.8, "$10^{3}$", fontsize=10)
    assert small_texts(figure) == ["small", "$10^{3}$"]


def test_the_check_detects_problems() -> None:
    figure, (axes,) = new_figure(3, 2)
    axes.set_axis_off()
    axes.text(0.5, 0.5, "first", rotation=30)
    axes.text(0.5, 0.53, "second")
    figure.text(0.95, 0.1, "beyond the edge")
    problems = ["'beyond the edge' is cut off", "'first' overlaps 'second'"]
    assert layout_problems(figure) == problems
