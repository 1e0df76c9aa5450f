"""Stored tables are reproducible: a split of each, computed again, has the same digits."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from bnnbench.config.assemble import build_run
from bnnbench.config.compose import single_job
from bnnbench.cpp.library import library
from bnnbench.experiment.run.execution import execute
from bnnbench.results.read.run_files import read_splits

RESULTS = Path(__file__).parents[1] / "docs" / "results"
SCORES = ["rmse", "log_likelihood", "log_likelihood_joint", "log_likelihood_gaussian", "crps"]
DIGITS = "{:.7g}"  # of a stored score


def fastest_splits() -> list[tuple[str, str, int]]:
    """Return the folder, the run and the number of the fastest split of each stored configuration.

    A configuration is a method with its settings, on any data set and with any seed. Only those
    count whose bits depend on the program only.
    """
    found = []
    for path in sorted(RESULTS.rglob("commands.csv")):
        rows = pd.concat(map(pd.read_csv, path.parent.glob("splits_*.csv")))
        rows = rows.merge(pd.read_csv(path), on="run").query("bits == 'program' and diverged == 0")
        words = rows["command"].str.split()
        rows["settings"] = words.map(
            lambda own: " ".join(w for w in own if not w.startswith(("seed=", "dataset=")))
        )
        chosen = rows.sort_values("total_seconds").drop_duplicates("settings")
        folder = str(path.parent.relative_to(RESULTS))
        found += [(folder, run, split) for run, split in chosen[["run", "split"]].to_numpy()]
    return found


def test_stored_tables_have_commands() -> None:
    folders = {folder for folder, _, _ in fastest_splits()}
    assert {"gal_uci", "tagi", "vr_uci"} <= folders


@pytest.mark.slow
@pytest.mark.skipif(library().code is None, reason=library().reason)
@pytest.mark.parametrize(("folder", "run", "split"), fastest_splits())
def test_a_stored_split_computed_again_has_the_same_digits(
    tmp_path: Path, folder: str, run: str, split: int
) -> None:
    commands = pd.read_csv(RESULTS / folder / "commands.csv").set_index("run")["command"]
    words = [*commands[run].split(), f"splits=[{split}]", f"outputs_dir={tmp_path}"]
    again = build_run(single_job(words))
    now = read_splits(execute(again)).set_index("split").loc[split]
    tables = (RESULTS / folder).glob("splits_*.csv")
    rows = pd.concat(map(pd.read_csv, tables)).set_index(["run", "split"])
    stored = rows.loc[(run, split)]
    for score in SCORES:
        assert DIGITS.format(now[score]) == DIGITS.format(stored[score]), score
