"""Speed and memory, as ratios within one run: `make bench`.

Compares the stacked program with the straightforward loop (one network, one weight sample at a
time, `torch.nn`, autograd and a DataLoader) and HMC's leapfrogs with numpyro's, times the whole
main job, every method with native code and without, a start without any cache, composing a
sweep, memory by data set, and growth with rows, width, depth and workers. Writes `speed.md`,
`speed.csv`, `scaling.csv` and `scaling.png` to `outputs/bench`.

One piece alone, which leaves the others' numbers as they were:
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
from benchmarks.commands import job_rows, memory_rows, method_rows, start_rows, sweep_rows
from benchmarks.leapfrogs import leapfrog_rows
from benchmarks.scaling import scaling_rows
from benchmarks.training import Row, pbp_rows, training_rows

PIECES = ("steps", "pbp", "leapfrogs", "job", "start", "sweep", "methods", "memory", "scaling")


def piece(name: str, repeats: int, outputs: Path) -> Iterator[Row]:
    """The rows of a piece of the benchmark."""
    pieces: dict[str, Callable[[], Iterator[Row]]] = {
        "steps": partial(training_rows, repeats),
        "pbp": partial(pbp_rows, repeats),
        "leapfrogs": partial(leapfrog_rows, repeats, outputs),
        "job": partial(job_rows, outputs),
        "start": partial(start_rows, outputs),
        "sweep": sweep_rows,
        "methods": partial(method_rows, outputs),
        "memory": partial(memory_rows, outputs),
        "scaling": partial(scaling_rows, repeats, outputs),
    }
    return pieces[name]()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--outputs", type=Path, default=Path("outputs/bench"))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=PIECES, default=PIECES, metavar="PIECE",
                        help=", ".join(PIECES))  # fmt: skip
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    given.outputs.mkdir(parents=True, exist_ok=True)
    for name in given.only:
        rows = []
        for row in piece(name, given.repeats, given.outputs):
            print(*row.values(), sep="  ", file=sys.stderr, flush=True)
            rows.append(row)
        pd.DataFrame(rows).to_csv(given.outputs / f"{name}.rows.csv", index=False)
    write(given.outputs)


def write(outputs: Path) -> None:
    """`speed.csv` and `speed.md`, of the pieces that were measured."""
    files = [outputs / f"{name}.rows.csv" for name in PIECES]
    table = pd.concat([pd.read_csv(file) for file in files if file.exists()], ignore_index=True)
    table = table.reindex(columns=["what", "value", "unit", "ratio"])
    table.to_csv(outputs / "speed.csv", index=False)
    shown = table.astype(object).where(table.notna(), None)
    text = shown.to_markdown(index=False, floatfmt=".3g", missingval="")
    cores, load = os.cpu_count(), os.getloadavg()[0]
    note = f"{cores} cores, load {load:.1f}, torch {torch.__version__}; ratio: the slow way / ours."
    (outputs / "speed.md").write_text(f"{text}\n\n{note}\n")
    print(text, note, sep="\n\n")


if __name__ == "__main__":
    main()
