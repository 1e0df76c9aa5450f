"""The Python interface: `from bnnbench import fit, load_run, load_table, predict, reference`.

The functions do what the commands do, with pandas frames as input and output. Mistakes raise
`UserError` with the message that the command line prints.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from bnnbench.constraints import check_between, check_choice, check_folder, check_int
from bnnbench.experiment.store.provenance import distinct_versions, mixed_code_note
from bnnbench.experiment.store.record import read_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.files import read_bytes, user_path
from bnnbench.near_names import with_known
from bnnbench.notes import note
from bnnbench.process_state import unchanged_process
from bnnbench.results.read.run_files import (
    read_predictions,
    read_search,
    read_splits,
    read_verified,
)
from bnnbench.results.read.split_means import summarise
from bnnbench.types import Table, UserError

if TYPE_CHECKING:
    from bnnbench.config.compose import Job

PACKAGE = __name__.partition(".")[0]


@dataclass(frozen=True)
class Picture:
    """A figure that a notebook displays.

    Attributes:
        path: of the PNG file.
    """

    path: Path

    def _repr_png_(self) -> bytes:
        return read_bytes(self.path)


@dataclass(frozen=True)
class FinishedRun:
    """A finished run on splits. Tables are read on first access.

    Attributes:
        folder: of the run.
    """

    folder: RunFolder

    @cached_property
    def splits(self) -> pd.DataFrame:
        """A row per split: scores, seconds, chosen hyper-parameters (`hp.*`)."""
        return read_splits(self.folder)

    @cached_property
    def summary(self) -> pd.DataFrame:
        """A row per metric: mean, standard deviation, standard error and number of splits.

        Warns if several versions of the code computed the splits.
        """
        codes = distinct_versions(read_record(self.folder).code_versions)
        if mixed := mixed_code_note(len(codes)):
            warnings.warn(f"{self.folder.root}: {mixed}", stacklevel=3)
        return summarise(self.splits)

    @cached_property
    def search(self) -> pd.DataFrame:
        """A row per evaluation of the search; empty without a search."""
        return read_search(self.folder)

    @cached_property
    def predictions(self) -> pd.DataFrame | None:
        """A row per test point, in original units."""
        return read_predictions(self.folder)

    def figure(self, name: str) -> Picture:
        """Return a figure of the run: `predictions`, `search`, `splits`, `calibration`, ...

        Raises:
            UserError: if there is no such figure.
        """
        from bnnbench.report.run_output import write_page

        path = self.folder.figure(name, "png")
        if not path.is_file():
            for error in write_page(self.folder, "png"):
                note(error)
        if not path.is_file():
            names = sorted(other.stem for other in path.parent.glob("*.png"))
            raise UserError(f"unknown figure of type PNG {with_known(name, names)}.", "name")
        return Picture(path)

    @unchanged_process()
    def predict(self, rows: Any, interval: float = 0.9, calibrate: str = "none") -> pd.DataFrame:
        """Predict new rows. The first call fits the method to all data of the run.

        Warns about what `bnnbench predict` notes, such as rows outside the training region.

        Args:
            rows: a frame with the input columns of the run's table, in any order.
            interval: probability of the interval.
            calibrate: `none`, `isotonic` or `conformal` (see `bnnbench predict --help`).

        Returns:
            `row` (from 1), `mean`, `lower`, `upper`, `standard_deviation`, `epistemic` and `noise`
            (standard deviations), in units of the target, and `outside_training_region`, with the
            index of `rows`.

        Raises:
            UserError: if it is not a frame, a column is missing, or an option is wrong.
        """
        from bnnbench.data.own_table.frames import named_frame
        from bnnbench.prediction.conformal import CALIBRATIONS
        from bnnbench.prediction.final_model import load_or_fit
        from bnnbench.prediction.prediction_table import predict_frame

        check_between("interval", interval, 0, 1)
        check_choice("calibrate", calibrate, CALIBRATIONS)
        frame, _ = named_frame(rows, "rows")
        model = load_or_fit(self.folder, conformal=calibrate == "conformal")
        predicted, notes = predict_frame(model, self.folder, frame, "rows", interval, calibrate)
        warn_caller(notes)
        return predicted.set_axis(frame.index)

    @unchanged_process()
    def next_rows(self, pool: Any, count: int) -> pd.DataFrame:
        """Choose the rows of a pool to label next; see `prediction.next_rows.next_rows`.

        Warns about missing values and unknown categories, and says what the score is.

        Args:
            pool: a frame with the input columns of the run's table, in any order.
            count: number of rows to choose.

        Returns:
            `row` (from 1) and `score`, in the order of choice, with the index of `pool`.

        Raises:
            UserError: if it is not a frame, a column is missing, or the pool has too few rows.
        """
        from bnnbench.data.own_table.frames import named_frame
        from bnnbench.prediction.final_model import load_or_fit
        from bnnbench.prediction.next_rows import next_rows

        check_int("count", count)
        frame, _ = named_frame(pool, "pool")
        chosen, notes = next_rows(load_or_fit(self.folder), frame, "pool", count)
        warn_caller(notes)
        return chosen.set_axis(frame.index[chosen["row"] - 1])


def load_run(path: str | Path) -> FinishedRun:
    """Load the only finished run at or below a folder.

    Raises:
        UserError: if there is none, or more than one, or it is damaged.
    """
    from bnnbench.experiment.store.run_folder import find_run

    folder = find_run(user_path("path", path))
    read_verified(folder)
    return FinishedRun(folder)


@unchanged_process()
def fit(data: Any = None, *settings: str, target: Any = None, **choices: Any) -> FinishedRun:
    """Run an experiment as `bnnbench run SETTINGS` does, or load it if it is finished.

    A frame is used like a file (`dataset=csv`), without its index. It is saved in the folder
    `tables` of the outputs, so that the run can be repeated and can predict in another session.

    Warns about what looks wrong in the table, as `bnnbench run` does, about durations, which become
    numbers of seconds, and about an index that describes the rows.

    Args:
        data: a frame of pandas, polars, pyarrow or another library, or the first of the settings.
        settings: as on the command line: `"method=vadam"`, `"dataset=boston"`,
            `"dataset.categorical=onehot"`.
        target: the name of the column of the frame to predict.
        choices: settings without a dot as keywords: `method="vadam"`, `splits=1`.

    Raises:
        UserError: if a setting or the frame is wrong, or the settings are those of several runs.
    """
    from bnnbench.config.compose import single_job
    from bnnbench.config.overrides import as_override
    from bnnbench.data.own_table.frames import is_exchangeable, named_frame

    named = target is not None and not isinstance(data, str | None)
    with_frame = named or is_exchangeable(data)
    texts = settings if data is None or with_frame else (data, *settings)
    for text in texts:
        if not isinstance(text, str):
            raise UserError(
                f"settings must be strings such as method=vadam, not {type(text).__name__}; to fit "
                "one model to inputs and targets, use BNNRegressor().fit(X, y).",
                "settings",
                "wrong_type",
            )
    words = [*texts, *(as_override(key, value) for key, value in choices.items())]
    words += [] if target is None else [as_override("dataset.target", target)]
    if not with_frame:
        return _run(single_job(words))
    if target is None:
        raise UserError("target must name the column of the frame to predict.", "target", "missing")
    for word in words:
        if word.startswith(("dataset=", "dataset.path=")):
            raise UserError(f"the frame is the data set; remove {word}.", "dataset", "two_sources")
    return _fit_frame(*named_frame(data, "frame"), words)


def _fit_frame(frame: pd.DataFrame, notes: Sequence[str], words: Sequence[str]) -> FinishedRun:
    from bnnbench.config.compose import single_job
    from bnnbench.data.own_table.frames import naming_the_frame
    from bnnbench.data.own_table.read.frame_file import write_frame

    job = single_job(["dataset=csv", *words])
    path = write_frame(frame, check_folder("outputs_dir", job.config.outputs_dir) / "tables")
    job.config.dataset.path = str(path)
    with naming_the_frame(path):
        return _run(job, path, notes)


def _run(job: Job, path: Path = Path(), notes: Sequence[str] = ()) -> FinishedRun:
    """Run a job; warn with these notes, and about the table in the file."""
    from bnnbench.config.assemble import build_run
    from bnnbench.data.own_table.frames import about_frame
    from bnnbench.run_all import run_all

    run = build_run(job)
    warn_caller([*notes, *(about_frame(text, path) for text in run.warnings())])
    (folder,) = run_all([run], say=note)
    return FinishedRun(folder)


def warn_caller(sentences: Iterable[str]) -> None:
    """Warn with each sentence, at the line that called this package."""
    level, caller = 2, sys._getframe(1)
    inside = (PACKAGE, "contextlib")  # `unchanged_process` is a decorator of contextlib
    while caller.f_back and caller.f_globals.get("__name__", "").partition(".")[0] in inside:
        level, caller = level + 1, caller.f_back
    for sentence in sentences:
        warnings.warn(f"{sentence}.", stacklevel=level)


def load_table(name: str, *settings: str) -> Table:
    """Load a data set of `bnnbench list dataset` with its train/test splits.

    Args:
        name: of the data set.
        settings: as on the command line: `"dataset.seeded_splits=5"`.

    Raises:
        UserError: if there is no such data set, or it cannot be loaded.
    """
    from bnnbench.config.assemble import assemble_experiment
    from bnnbench.config.compose import single_job

    job = single_job([f"dataset={name}", *settings])
    table: Table = assemble_experiment(job.resolved()).dataset.load()  # type: ignore[attr-defined]
    return table


def predict(
    run: FinishedRun | str | Path,
    rows: Any,
    interval: float = 0.9,
    calibrate: str = "none",
) -> pd.DataFrame:
    """Predict new rows with a run or with the run in a folder; see `FinishedRun.predict`."""
    finished = run if isinstance(run, FinishedRun) else load_run(run)
    return finished.predict(rows, interval, calibrate)


def reference(folder: Path | str | None = None, track: str | None = "book") -> pd.DataFrame:
    """Return the scores of all splits of the reference results.

    Args:
        folder: of reference results, by default those of bnnbench.
        track: of the runs; None for all.

    Returns:
        A row per run and split: `method`, `family`, `track`, `tuning`, `fits`, `unranked`
        (why ranks leave the run out), then the columns of `splits.csv`.

    Raises:
        UserError: if the folder has none, or there is no such track.
    """
    from bnnbench.results.reference.results import check_track, read_reference_results

    found = read_reference_results(folder)
    columns = ["method", "family", "track", "tuning", "fits", "unranked"]
    runs = found.runs if track is None else found.runs[found.runs["track"] == check_track(track)]
    return runs[columns].merge(found.splits, left_index=True, right_on="run").reset_index(drop=True)
