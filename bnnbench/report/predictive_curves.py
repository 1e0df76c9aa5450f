"""Predictions along one input, where the true function is known: panels and their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.plotting import BLUE, GREY, ORANGE, Style, legend, sketch
from bnnbench.report.section import Section
from bnnbench.results.tables import labels, markdown_table, record, runs_below

MOST_ROWS = 8
"""Rows of panels on one figure; further runs go on further figures."""

CURVES_STATEMENT = (
    "Inside: test inputs within the range of the training inputs; outside: farther from it than a "
    "quarter of its width. RMSE is that of the predictive mean against the function without noise; "
    "epistemic (the model's own uncertainty) and total deviations are averages; the last columns "
    "say how many noisy test targets the central 95 % interval (mean ± 1.96 total deviations) "
    "holds. One data set, one split: no error bars."
)

NUMBERS = {
    "rmse": "RMSE to the truth",
    "epistemic": "epistemic deviation",
    "total": "total deviation",
    "coverage_95": "95 % holds",
}
COLUMNS = (
    "Method",
    "Depth",
    *(f"{name}, {where}" for name in NUMBERS.values() for where in ("in", "out")),
)


@dataclass(frozen=True)
class Curve:
    """One run on made data with one input.

    Attributes:
        run: its row of `tables.gather`, and `label`, its name on figures, which leaves the depth
            to the column of panels.
        grid: by input, the columns `input`, `target`, `truth`, `mean`, `epistemic_variance` and
            `noise_variance` of the test points.
        training: `input` and `target` of the training points; none where the run kept none.
    """

    run: dict[str, object]
    grid: pd.DataFrame
    training: pd.DataFrame


def read_curve(run: RunFolder) -> Curve | None:
    """The first split's curve; None where there is more than one input or no known function."""
    if not run.predictions.is_file():
        return None
    with np.load(run.predictions) as arrays:
        if not {"input", "truth"} <= set(arrays.files):
            return None
        grid = pd.DataFrame({name: arrays[name] for name in arrays.files})
    grid = grid[grid["split"] == grid["split"].min()].sort_values("input", ignore_index=True)
    training = pd.DataFrame({"input": [], "target": []})
    held = next((path for path in (run.training, run.out_of_fold) if path.is_file()), None)
    if held:
        with np.load(held) as arrays:
            training = pd.DataFrame({name: arrays[name] for name in ("split", "input", "target")})
        training = training[training["split"] == grid["split"].iloc[0]]
    named = record(run)
    named["label"] = named["method"]
    return Curve(named, grid, training[["input", "target"]].sort_values("input"))


def curves_below(path: Path) -> list[Curve]:
    """The curves of every finished run at or below `path`, by size of the training set."""
    found = [curve for curve in map(read_curve, runs_below(path)) if curve]
    if not found:
        return []
    names = labels(pd.DataFrame([curve.run for curve in found]), aside=("depth",))
    curves = [
        Curve({**curve.run, "label": name}, curve.grid, curve.training)
        for curve, name in zip(found, names, strict=True)
    ]
    order = ("dataset", "depth", "label")
    return sorted(curves, key=lambda c: (len(c.training), *(str(c.run[name]) for name in order)))


def columns_of(curves: Sequence[Curve]) -> list[str]:
    """The column of panels of each curve: its data set, and its depth where depths differ."""
    deep = len({str(curve.run["depth"]) for curve in curves}) > 1
    form = "{dataset} · depth {depth}" if deep else "{dataset}"
    return [form.format(**curve.run) for curve in curves]


def places(curve: Curve) -> dict[str, pd.Series]:
    """Which grid points lie `in` the range of the training inputs, and which well `out` of it."""
    low, high = curve.training["input"].min(), curve.training["input"].max()
    distance = np.maximum(low - curve.grid["input"], curve.grid["input"] - high)
    return {"in": distance <= 0, "out": distance > (high - low) / 4}


def curve_table(curves: Sequence[Curve]) -> pd.DataFrame:
    """One row per run: the columns that name it and, for each of `NUMBERS`, `_in` and `_out`."""
    rows = []
    for curve in curves:
        names = ("experiment", "dataset", "method", "divergence", "depth", "variant", "label")
        row = {name: curve.run[name] for name in names}
        total = np.sqrt(curve.grid["epistemic_variance"] + curve.grid["noise_variance"])
        values = {
            "rmse": (curve.grid["mean"] - curve.grid["truth"]) ** 2,
            "epistemic": np.sqrt(curve.grid["epistemic_variance"]),
            "total": total,
            "coverage_95": (curve.grid["target"] - curve.grid["mean"]).abs() <= 1.96 * total,
        }
        for where, rows_there in places(curve).items():
            means = {name: value[rows_there].mean() for name, value in values.items()}
            means["rmse"] = np.sqrt(means["rmse"])
            row |= {f"{name}_{where}": mean for name, mean in means.items()}
        rows.append(row)
    return pd.DataFrame(rows)


def curve_rows(table: pd.DataFrame) -> dict[str, list[tuple[str, ...]]]:
    """By data set, the printed cells of `curve_table` under `COLUMNS`."""
    groups: dict[str, list[tuple[str, ...]]] = {}
    for row in table.to_dict("records"):
        cells = tuple(
            f"{row[f'{name}_{where}']:.3g}" for name in NUMBERS for where in ("in", "out")
        )
        names = (str(row["label"]), str(row["depth"]))
        groups.setdefault(str(row["dataset"]), []).append((*names, *cells))
    return groups


def draw_curve(axes: Axes, curve: Curve) -> None:
    """Data, truth, predictive mean, and bands of two deviations, epistemic inside total."""
    grid = curve.grid
    x, mean = grid["input"], grid["mean"]
    epistemic = 2 * np.sqrt(grid["epistemic_variance"])
    total = 2 * np.sqrt(grid["epistemic_variance"] + grid["noise_variance"])
    band: Style = {"linewidth": 0}
    axes.fill_between(x, mean - total, mean + total, color="#D5E7F4", label="± 2 total", **band)
    axes.fill_between(
        x, mean - epistemic, mean + epistemic, color="#8FC1E3", label="± 2 epistemic", **band
    )
    axes.plot(x, grid["truth"], color=GREY, linewidth=1, linestyle="--", label="true function")
    axes.plot(x, mean, color=BLUE, linewidth=1.5, label="predictive mean")
    axes.plot(
        curve.training["input"],
        curve.training["target"],
        ".",
        color=ORANGE,
        markersize=3,
        label="training data",
    )
    # Outside the data a band may explode; what is true and what was seen set the scale.
    seen = pd.concat([curve.training["target"], grid["truth"]])
    margin = 0.35 * np.ptp(seen)
    axes.set(xlim=(x.min(), x.max()), ylim=(seen.min() - margin, seen.max() + margin))


def curves_figure(curves: Sequence[Curve]) -> Figure:
    """A panel per run: a row per label, a column per data set and depth.

    Book, Figs. 4.12 and 4.13; GVI thesis, Figs. 5.8, 5.9 and 7.2.
    """
    rows = list(dict.fromkeys(str(curve.run["label"]) for curve in curves))
    standing = columns_of(curves)
    columns = list(dict.fromkeys(standing))
    figure, panels = sketch(
        3.6 * len(columns) + 0.4, 2.1 * len(rows) + 0.6, len(columns), len(rows)
    )
    for axes in panels:
        axes.set_visible(False)
    for curve, place in zip(curves, standing, strict=True):
        row, column = rows.index(str(curve.run["label"])), columns.index(place)
        axes = panels[row * len(columns) + column]
        axes.set_visible(True)
        draw_curve(axes, curve)
        axes.set_title(f"{rows[row]} · {columns[column]}", fontsize="small")
    figure.supxlabel("x", fontsize="small")
    figure.supylabel("y", fontsize="small")
    shown = next(axes for axes in panels if axes.get_visible())
    legend(figure, shown, columns=min(5, int(figure.get_figwidth() // 2)))
    return figure


def curves_section(curves: Sequence[Curve]) -> Section | None:
    """Predictions along one input, on made data.

    Args:
        curves: of `curves_below`.
    """
    curves = [curve for curve in curves if len(curve.training)]
    if not curves:
        return None
    table = curve_table(curves)
    parts = ["## Along the input", CURVES_STATEMENT]
    for dataset, rows in curve_rows(table).items():
        parts += [f"### {dataset}", markdown_table(COLUMNS, rows)]
    names = list(dict.fromkeys(str(curve.run["label"]) for curve in curves))
    figures = {}
    for number, start in enumerate(range(0, len(names), MOST_ROWS), 1):
        own = [c for c in curves if c.run["label"] in names[start : start + MOST_ROWS]]
        title = "curves" if number == 1 else f"curves_{number}"
        figures[title] = curves_figure(own)
        parts.append(f"![Data, true function, predictive mean and bands]({title}.png)")
    return Section(parts, {"curves": table}, figures)
