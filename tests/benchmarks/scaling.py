"""Growth of time with rows, width, depth and workers: `scaling.csv` and `scaling.png`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from benchmarks.commands import bnnbench, empty_outputs
from benchmarks.training import Row, Workload, core_seconds, replicate, stacked_fit, synthetic_data

from bnnbench.report.figures.plotting import BLUE, GREY, new_figure, save_figure
from bnnbench.settings import Network

NETWORKS = {
    "rows": [250, 500, 1000, 2000, 4000, 8000],
    "width": [25, 50, 100, 200, 400],
    "depth": [1, 2, 3, 4, 5],
}
"""Values of one setting; the others stay at 364 rows and one layer of 50 units."""

WORKERS = [1, 2]
FEW_EPOCHS = 8


def measure_scaling(repeats: int, outputs: Path) -> pd.DataFrame:
    """Measure core seconds of a fit of five folds, and wall-clock seconds of a run by workers."""
    rows = []
    for name, sizes in NETWORKS.items():
        workloads = {str(size): _fit(name, size) for size in sizes}
        for size, seconds in core_seconds(workloads, repeats).items():
            rows.append({"measurement": name, "size": int(size), "seconds": seconds})
    for workers in WORKERS:
        overrides = ("dataset=diabetes", "splits=8", "search.iterations=10", f"workers={workers}")
        seconds = bnnbench(*overrides, empty_outputs(outputs / "scaling")).wall_seconds
        rows.append({"measurement": "workers", "size": workers, "seconds": seconds})
    return pd.DataFrame(rows)


def _fit(name: str, size: int) -> Workload:
    data = replicate(synthetic_data(size if name == "rows" else 364))
    network = Network(width=size if name == "width" else 50, depth=size if name == "depth" else 1)
    return stacked_fit(data, network, FEW_EPOCHS)


def scaling_rows(repeats: int, outputs: Path) -> Iterator[Row]:
    """Yield the growth in time from the first to the last size."""
    table = measure_scaling(repeats, outputs)
    outputs.mkdir(parents=True, exist_ok=True)
    table.to_csv(outputs / "scaling.csv", index=False)
    draw(table, outputs)
    for name, own in table.groupby("measurement", sort=False):
        first, last = own.iloc[0], own.iloc[-1]
        label = f"{name} x {last['size'] / first['size']:.3g}: time x"
        yield {"measurement": label, "value": last["seconds"] / first["seconds"], "unit": ""}


def draw(table: pd.DataFrame, outputs: Path) -> None:
    """Draw a panel per setting, with a dotted straight line from the first to the last size."""
    kinds = list(table.groupby("measurement", sort=False))
    figure, panels = new_figure(3.1 * len(kinds), 3.0, len(kinds))
    for axes, (name, own) in zip(panels, kinds, strict=True):
        axes.plot(own["size"], own["seconds"], "o-", color=BLUE)
        ends = own.iloc[[0, -1]]
        axes.plot(ends["size"], ends["seconds"], color=GREY, ls=":", lw=1, label="straight line")
        axes.set_xticks([size for size in own["size"] if 4 * size >= own["size"].max()])
        axes.set(xlabel=name, ylim=(0, 1.08 * own["seconds"].max()))
    panels[0].legend(frameon=False, loc="upper left", fontsize="small")
    panels[0].set_ylabel(f"core seconds of {FEW_EPOCHS} epochs, five folds")
    panels[-1].set_ylabel("seconds of a run of 8 splits")
    save_figure(figure, lambda suffix: outputs / f"scaling.{suffix}", ("png",))
