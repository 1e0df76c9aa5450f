"""Gathers what experiments left into `docs/results`: `python docs/update_results.py OUTPUTS`.

Each experiment's report goes to a folder of its name; PDF twins of the figures stay behind. Then
`docs/update_readme.py` carries the headline numbers into the README.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from bnnbench.experiment.run_folder import RunFolder, finished_runs
from bnnbench.report.overview import write_report

RESULTS = Path(__file__).parent / "results"


def gather(experiment: Path) -> None:
    """The report over one experiment's runs, or each run's own table and figure."""
    target = RESULTS / experiment.name
    shutil.rmtree(target, ignore_errors=True)
    runs = list(finished_runs(experiment))
    if all(run.posterior.is_file() for run in runs):
        for run in runs:
            show(run, target / run.root.parent.name)
    else:
        write_report(experiment, to=target)
        for twin in target.glob("*.pdf"):
            twin.unlink()
    shutil.copy(runs[0].environment, target / "machine.json")


def show(run: RunFolder, target: Path) -> None:
    """What one run shows by itself."""
    target.mkdir(parents=True)
    shutil.copy(run.posterior, target)
    shutil.copy(run.figure("posterior", "png"), target)


if __name__ == "__main__":
    for folder in sorted(Path(sys.argv[1]).iterdir()):
        if folder.is_dir() and any(finished_runs(folder)):
            gather(folder)
            print(f"{folder.name}: {RESULTS / folder.name}")
