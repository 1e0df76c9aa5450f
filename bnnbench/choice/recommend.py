"""Compare methods on a table and recommend one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from bnnbench.api import FinishedRun, warn_caller
from bnnbench.choice.comparable_runs import (
    METHODS,
    OUTPUTS,
    comparable_runs,
    method_name,
    within_budget,
)
from bnnbench.constraints import check_between, check_folder
from bnnbench.experiment.run.run import Run
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.notes import note
from bnnbench.process_state import unchanged_process
from bnnbench.results.read.run_tables import Runs


@dataclass(frozen=True)
class Recommendation:
    """The fastest method that is not significantly worse than the best.

    Attributes:
        method: its name, with what distinguishes it from others.
        run: its run.
        table: a row per method, the best first: `log_likelihood` and `rmse` (means over splits),
            `coverage_90` (fraction of test targets in the 90 % intervals), `seconds` (per split)
            and `outcome` (against the best).
        sentences: the recommendation in words.
        runs: all runs that were compared.
    """

    method: str
    run: FinishedRun
    table: pd.DataFrame
    sentences: tuple[str, ...]
    runs: Runs

    def __str__(self) -> str:
        return "\n".join(self.sentences)


@unchanged_process()
def recommend(
    data: Any,
    *settings: str,
    target: str,
    methods: Sequence[str] = METHODS,
    minutes: float | None = None,
    **choices: Any,
) -> Recommendation:
    """Compare methods on a table and recommend one, as `bnnbench recommend` does.

    Args:
        data: a frame of pandas, polars, pyarrow or another library, or the path of a file.
        settings: of every run, as on the command line: `"dataset.group=patient"`.
        target: the column to predict.
        methods: to compare, each `METHOD` or `METHOD/LIKELIHOOD`.
        minutes: time budget.
        choices: settings without a dot as keywords: `splits=20`.

    Raises:
        UserError: if a setting or the table is wrong, or no method can be recommended.
    """
    from bnnbench.config.overrides import as_override
    from bnnbench.data.own_table.frames import about_frame, named_frame, naming_the_frame
    from bnnbench.data.own_table.read.frame_file import write_frame

    if minutes is not None:
        check_between("minutes", minutes, 0)
    words = [*settings, *(as_override(key, value) for key, value in choices.items())]
    path, notes = data, list[str]()
    if not isinstance(data, str | Path):
        given = dict(word.split("=", 1) for word in words if "=" in word)
        folder = check_folder("outputs_dir", given.get("outputs_dir", OUTPUTS))
        frame, notes = named_frame(data, "frame")
        path = write_frame(frame, folder / "tables")
    with naming_the_frame(path := Path(path)):
        runs = comparable_runs(str(path), target, tuple(methods), words)
        warn_caller([*notes, *(about_frame(text, path) for text in runs[0].warnings())])
        return recommendation_of(run_in_time(within_budget(runs, minutes), minutes))


def recommendation_of(folders: Sequence[RunFolder]) -> Recommendation:
    """Recommend one of the finished runs in these folders, ignoring all others.

    Raises:
        UserError: if no run can be ranked.
    """
    from bnnbench.results.compare.recommendation import (
        coverage_by_deviation,
        methods_table,
        recommendation,
        recommended,
        sentences,
    )
    from bnnbench.results.read.configurations import without_duplicates
    from bnnbench.results.read.labels import labels
    from bnnbench.results.read.run_tables import read_runs
    from bnnbench.results.score.impossible_intervals import impossible_intervals

    first, *others = (folder.root for folder in folders)
    finished = without_duplicates(read_runs(first, others=others))
    finished = replace(finished, path=first.parents[1])
    verdict, names = recommendation(finished), labels(finished.scored)
    coverages = {run: coverage_by_deviation(finished, run) for run in verdict.scores.index}
    chosen = recommended(verdict)
    row, folder = finished.scored.loc[chosen], finished.folders[chosen]
    splits = finished.splits[finished.splits["run"] == chosen]
    impossible = (f"Warning: {text}" for text in impossible_intervals(row, splits, folder))
    return Recommendation(
        names[chosen],
        FinishedRun(folder),
        methods_table(verdict, names, coverages),
        (*sentences(verdict, names, coverages[chosen], row["settings"]), *impossible),
        finished,
    )


def run_in_time(runs: Sequence[Run], minutes: float | None) -> list[RunFolder]:
    """Execute runs.

    Args:
        runs: to execute, in this order.
        minutes: time budget. Once two runs are finished, a run is started only if its estimate, at
            the pace so far, fits.
    """
    from bnnbench.experiment.run.progress import SweepProgress, seconds_left
    from bnnbench.run_all import run_all

    if minutes is None:
        return run_all(runs, say=note)
    sweep = SweepProgress(runs, time.monotonic())
    folders: list[RunFolder] = []
    for run in runs:
        ends = time.monotonic() - sweep.started + seconds_left(run) / sweep.pace
        fits = ends <= 60 * minutes
        if len(folders) < 2 or fits or run.complete():
            folders += run_all([run], say=note)
        else:
            note(f"--minutes: too little time is left; left out {method_name(run)}")
    return folders
