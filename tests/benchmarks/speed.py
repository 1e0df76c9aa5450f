"""Speed and memory, as ratios within one run: `make bench`.

Compares stacked training with a straightforward loop (one network, one weight sample at a time,
`torch.nn`, autograd and a DataLoader), its native steps with numpy's product of matrices, HMC's
leapfrog steps with numpyro's, and hand-derived gradients of autoencoders with autograd. Times the
main job, also by a reference commit, every method with and without native code, a start without
caches, a sweep of short runs, composing a sweep, and growth with rows, width, depth and workers.
Measures memory by data set. Writes `speed.csv`, `scaling.csv` and `scaling.png` to `outputs/bench`.
Each row names processor, clock and load; a part is refused while other programs use the machine.

To repeat one part and leave the other numbers unchanged:
`python tests/benchmarks/speed.py --only scaling`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import pandas as pd
import torch
from benchmarks.autoencoders import autoencoder_rows
from benchmarks.commands import (
    job_rows,
    memory_rows,
    method_rows,
    reference_rows,
    start_rows,
    sweep_rows,
)
from benchmarks.leapfrogs import leapfrog_rows
from benchmarks.machine import measure_idle
from benchmarks.scaling import scaling_rows
from benchmarks.training import Row, kernel_rows, pbp_rows, tagi_rows, training_rows

from bnnbench.experiment.store.provenance import processor
from bnnbench.notes import note
from bnnbench.types import UserError


def parts_of(repeats: int, outputs: Path) -> dict[str, Callable[[], Iterator[Row]]]:
    """Return the parts of the benchmark, each of which yields rows."""
    return {
        "steps": partial(training_rows, repeats),
        "kernel": partial(kernel_rows, repeats),
        "pbp": partial(pbp_rows, repeats),
        "tagi": partial(tagi_rows, repeats),
        "leapfrogs": partial(leapfrog_rows, repeats, outputs),
        "autoencoders": partial(autoencoder_rows, repeats),
        "job": partial(job_rows, outputs),
        "reference": partial(reference_rows, outputs),
        "start": partial(start_rows, outputs),
        "sweep": partial(sweep_rows, outputs),
        "methods": partial(method_rows, outputs),
        "memory": partial(memory_rows, outputs),
        "scaling": partial(scaling_rows, repeats, outputs),
    }


PARTS = tuple(parts_of(0, Path()))

COLUMNS = ("measurement", "value", "unit", "ratio")
"""Columns of `speed.csv` that are printed; those of `measure_idle` follow."""


def main() -> int:
    """Measure the parts, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--outputs", type=Path, default=Path("outputs/bench"))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART",
                        help=", ".join(PARTS))  # fmt: skip
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    options.outputs.mkdir(parents=True, exist_ok=True)
    parts = parts_of(options.repeats, options.outputs)
    for name in options.only:
        try:
            rows = measure_idle(name, parts[name])
        except UserError as error:
            note(str(error))
            return 2
        pd.DataFrame(rows).to_csv(options.outputs / f"{name}.rows.csv", index=False)
    write_table(options.outputs)
    return 0


def write_table(outputs: Path) -> None:
    """Write `speed.csv` from the saved rows of all parts, and print it."""
    files = [outputs / f"{name}.rows.csv" for name in PARTS]
    table = pd.concat([pd.read_csv(file) for file in files if file.exists()], ignore_index=True)
    table = table.reindex(columns=[*COLUMNS, "processor", "clock", "load"])
    table.to_csv(outputs / "speed.csv", index=False)
    shown = table[[*COLUMNS]].astype(object).where(table.notna(), None)
    text = shown.to_markdown(index=False, floatfmt=".3g", missingval="")
    machine = f"{processor()}, {os.cpu_count()} cores, torch {torch.__version__}"
    print(text, machine, sep="\n\n")


if __name__ == "__main__":
    sys.exit(main())
