"""Ship a reference for `bnnbench gold`: `python docs/tools/gold_reference.py RUN DRAWS`.

RUN is a finished run of HMC on a data set, with its predictive mixtures.
"""

from __future__ import annotations

import sys
from pathlib import Path

from bnnbench.config.published_protocol import use_published_protocols
from bnnbench.experiment.run_folder import find_run
from bnnbench.files import sha256, write_text
from bnnbench.results.reader import read_runs
from bnnbench.suites.gold_standard.references import FOLDER, thin, write_reference

if __name__ == "__main__":
    folder, draws = find_run(Path(sys.argv[1])), int(sys.argv[2])
    use_published_protocols()
    runs = read_runs(folder.root)
    row, splits = runs.scored.iloc[0], runs.splits
    precisions = ("prior_precision", "noise_precision")
    about = {name: splits[f"hp.{name}"].iloc[0].item() for name in precisions}
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{row['dataset']}.npz"
    write_reference(path, thin(folder, splits, {"dataset": row["dataset"], **about}, draws))
    lines = [f"{sha256(file)}  {file.name}" for file in sorted(FOLDER.glob("*.npz"))]
    write_text(FOLDER / "checksums.txt", "\n".join(lines) + "\n")
    print(f"{path}: {path.stat().st_size} bytes")
