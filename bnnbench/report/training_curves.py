"""What training minimised, epoch by epoch (GVI thesis, Fig. 5.3)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.plotting import BLUE, GREY, ORANGE, PALETTE, Style, legend, sketch
from bnnbench.report.section import Section
from bnnbench.results.tables import labels, record, runs_below

OBJECTIVE_STATEMENT = (
    "The objective of the final fit after every epoch: the loss of the training part, averaged "
    "over weight samples, plus the method's complexity cost, both per data point in nats of the "
    "standardised target; the median over splits. Different divergences measure in units of their "
    "own, so heights do not compare; whether a curve settles does."
)


def read_objective(run: RunFolder) -> pd.DataFrame | None:
    """Rows of `split`, `epoch`, `loss`, `complexity` and their sum; None where none was kept."""
    if not run.objective.is_file():
        return None
    with np.load(run.objective) as arrays:
        table = pd.DataFrame({name: arrays[name] for name in arrays.files})
    return table.assign(objective=table["loss"] + table["complexity"])


def middle(table: pd.DataFrame, column: str) -> pd.Series:
    """The median over splits, by epoch."""
    return table.groupby("epoch")[column].median()


def settle(axes: Axes, curves: list[pd.Series]) -> None:
    """Sets the y axis by what lies after the first tenth of the epochs, where starts are gone."""
    late = [curve[curve.index > 0.1 * curve.index.max()] for curve in curves]
    values = np.concatenate([c[np.isfinite(c)].to_numpy() for c in late])
    if len(values):
        low, high = values.min(), np.quantile(values, 0.99)
        margin = 0.08 * (high - low) or 0.1
        axes.set_ylim(low - margin, high + 2 * margin)


def objective_figure(table: pd.DataFrame) -> Figure:
    """One run: every split's objective, and the medians of its two parts.

    Args:
        table: of `read_objective`.
    """
    figure, (axes,) = sketch(6.4, 4.6)
    wide = table.pivot(index="epoch", columns="split", values="objective")
    for number, split in enumerate(wide):
        name = "" if number else "objective, one split"
        axes.plot(wide.index, wide[split], color=GREY, linewidth=0.5, alpha=0.6, label=name)
    styles: dict[str, Style] = {
        "objective": {"color": BLUE, "linewidth": 2},
        "loss": {"color": ORANGE, "linewidth": 1.2},
        "complexity": {"color": PALETTE[2], "linewidth": 1.2},
    }
    medians = {name: middle(table, name) for name in styles}
    for name, style in styles.items():
        axes.plot(medians[name], label=f"{name}, median", **style)
    settle(axes, [*medians.values(), *(wide[split] for split in wide)])
    axes.set(xlabel="epoch", ylabel="nats per data point, standardised target")
    legend(figure, axes, columns=2)
    return figure


def objectives_figure(rows: list[tuple[str, str, int, pd.Series]]) -> Figure:
    """Panels by depth and data set, a line per label.

    Args:
        rows: label, data set, depth and median objective of each run.
    """
    datasets = list(dict.fromkeys(dataset for _, dataset, _, _ in rows))
    depths = sorted({depth for _, _, depth, _ in rows})
    names = list(dict.fromkeys(label for label, *_ in rows))
    figure, panels = sketch(
        max(5.5, 3.0 * len(datasets) + 0.4), 2.3 * len(depths) + 1, len(datasets), len(depths)
    )
    for axes, (depth, dataset) in zip(
        panels, [(depth, dataset) for depth in depths for dataset in datasets], strict=True
    ):
        own = [(label, curve) for label, d, n, curve in rows if (d, n) == (dataset, depth)]
        axes.set_visible(bool(own))
        for label, curve in own:
            k = names.index(label)
            style: Style = {"color": PALETTE[k % 8], "linestyle": ("-", "--", ":")[k // 8 % 3]}
            axes.plot(curve, linewidth=1.1, label=label, **style)
        # Objectives differ by orders of magnitude, and may be negative.
        axes.set_yscale("symlog", linthresh=1, subs=range(2, 10))
        axes.set_title(f"{dataset} · depth {depth}", fontsize="small")
        axes.tick_params(labelsize=7)
    figure.supxlabel("epoch", fontsize="medium")
    # On two lines, which a single row of panels is high enough for.
    figure.supylabel("objective [nats per data point;\nlogarithmic beyond 1]", fontsize="medium")
    most = max(panels, key=lambda axes: len(axes.lines))
    legend(figure, most, columns=int(figure.get_figwidth() // 2.2))
    return figure


def objective_section(path: Path) -> Section | None:
    """The traces of the runs at or below `path`; None where no run kept one."""
    found = [(run, table) for run in runs_below(path) if (table := read_objective(run)) is not None]
    if not found:
        return None
    named = pd.DataFrame([record(run) for run, _ in found])
    names = labels(named, aside=("depth",))
    rows = [
        (label, str(row["dataset"]), int(row["depth"]), middle(table, "objective"))
        for label, row, (_, table) in zip(names, named.to_dict("records"), found, strict=True)
    ]
    parts = ["## Objective", OBJECTIVE_STATEMENT]
    parts.append("![Objective by epoch, a line per run](objectives.png)")
    return Section(parts, {}, {"objectives": objectives_figure(rows)})
