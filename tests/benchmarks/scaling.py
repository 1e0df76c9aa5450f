"""How seconds grow with rows, width, depth and workers: `scaling.csv` and `scaling.png`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pandas as pd
from benchmarks.commands import bnnbench, fresh
from benchmarks.training import Row, Work, core_seconds, data_like, stacked, stacked_fit

from bnnbench.report.figures.canvas import BLUE, GREY, save, sketch
from bnnbench.settings import Network

NETWORKS = {
    "rows": [250, 500, 1000, 2000, 4000, 8000],
    "width": [25, 50, 100, 200, 400],
    "depth": [1, 2, 3, 4, 5],
}
"""What grows while the rest stays: 364 rows, one layer of 50 units."""

WORKERS = [1, 2]
FEW_EPOCHS = 8


def scaling(repeats: int, outputs: Path) -> pd.DataFrame:
    """Core seconds of a fit of five folds, and seconds of a run by its workers."""
    rows = []
    for name, sizes in NETWORKS.items():
        works = {str(size): _fit(name, size) for size in sizes}
        for size, seconds in core_seconds(works, repeats).items():
            rows.append({"what": name, "size": int(size), "seconds": seconds})
    for workers in WORKERS:
        words = ("dataset=diabetes", "splits=8", "search.iterations=10", f"workers={workers}")
        wall = bnnbench(*words, fresh(outputs / "scaling")).wall
        rows.append({"what": "workers", "size": workers, "seconds": wall})
    return pd.DataFrame(rows)


def _fit(name: str, size: int) -> Work:
    data = stacked(data_like(size if name == "rows" else 364))
    network = Network(width=size if name == "width" else 50, depth=size if name == "depth" else 1)
    return stacked_fit(data, network, FEW_EPOCHS)


def scaling_rows(repeats: int, outputs: Path) -> Iterator[Row]:
    """Growth from the first to the last size, by how much the size grew."""
    table = scaling(repeats, outputs)
    outputs.mkdir(parents=True, exist_ok=True)
    table.to_csv(outputs / "scaling.csv", index=False)
    draw(table, outputs)
    for name, own in table.groupby("what", sort=False):
        first, last = own.iloc[0], own.iloc[-1]
        what = f"{name} x {last['size'] / first['size']:.3g}: seconds x"
        yield {"what": what, "value": last["seconds"] / first["seconds"], "unit": ""}


def draw(table: pd.DataFrame, outputs: Path) -> None:
    """A panel for each thing that grows; dotted, a straight line from the first to the last."""
    kinds = list(table.groupby("what", sort=False))
    figure, panels = sketch(3.1 * len(kinds), 3.0, len(kinds))
    for axes, (name, own) in zip(panels, kinds, strict=True):
        axes.plot(own["size"], own["seconds"], "o-", color=BLUE)
        ends = own.iloc[[0, -1]]
        axes.plot(ends["size"], ends["seconds"], color=GREY, ls=":", lw=1, label="a straight line")
        axes.set_xticks([size for size in own["size"] if 4 * size >= own["size"].max()])
        axes.set(xlabel=name, ylim=(0, 1.08 * own["seconds"].max()))
    panels[0].legend(frameon=False, loc="upper left", fontsize="small")
    panels[0].set_ylabel(f"core seconds of {FEW_EPOCHS} epochs, five folds")
    panels[-1].set_ylabel("seconds of a run of 8 splits")
    save(figure, partial(_place, outputs), ("png",))


def _place(outputs: Path, suffix: str) -> Path:
    return outputs / f"scaling.{suffix}"
