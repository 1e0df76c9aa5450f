"""The choice of a method for a table: comparable runs, and the recommendation of one of them.

There is one run per method, under the same short protocol.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bnnbench.constraints import check_between, check_folder
from bnnbench.notes import note, status_message
from bnnbench.process_state import unchanged_process
from bnnbench.types import UserError

if TYPE_CHECKING:
    import pandas as pd

    from bnnbench.api import FinishedRun
    from bnnbench.experiment.run.run import Run
    from bnnbench.experiment.store.run_folder import RunFolder
    from bnnbench.results.read.run_tables import Runs

METHODS = (
    *("linear", "gp", "boosting", "pbp", "vadam", "mc_dropout", "deep_ensemble"),
    "deep_ensemble/heteroscedastic",
)
"""Compared by default, `METHOD` or `METHOD/LIKELIHOOD`: simple baselines and networks."""

OUTPUTS = "outputs/recommend"

DEFAULT_OVERRIDES = (
    "protocol=auto",
    "splits=10",
    "search.iterations=10",
    "search.initial_points=5",
    # Saves another fit of every fold, 5/6 of the time of methods without a search.
    "evaluation.out_of_fold=false",
)
"""A shorter protocol, the same for all methods."""

SPLIT_SETTINGS = ("dataset.time", "dataset.test", "dataset.n_splits")
"""Settings that determine the number of splits; all of them are then run."""

OWN_OPTIONS = {
    "method": "--methods",
    "dataset": "FILE",
    "dataset.path": "FILE",
    "dataset.target": "--target",
}
"""Settings that arguments of this command replace."""

MIN_SPLITS = 3
"""Fewest splits that `--minutes` chooses, as required by the t-test."""


def comparable_runs(
    file: str, target: str, methods: Sequence[str], overrides: Sequence[str]
) -> list[Run]:
    """Build the runs of the methods that work on this table, and print a note for the others.

    Args:
        file: the table.
        target: column to predict.
        methods: to compare, each `METHOD` or `METHOD/LIKELIHOOD`.
        overrides: for every run.

    Raises:
        UserError: if a setting is wrong, or fewer than two methods can be compared.
    """
    from bnnbench.config.assemble import build_run
    from bnnbench.config.compose import single_job
    from bnnbench.config.overrides import as_override

    _check(methods, overrides)
    given = {word.partition("=")[0] for word in overrides}
    if methods == METHODS and "likelihood" in given:
        methods = [method for method in METHODS if "/" not in method]
    defaults = [*DEFAULT_OVERRIDES, f"outputs_dir={OUTPUTS}"]
    if any(key in given for key in SPLIT_SETTINGS):
        defaults[defaults.index("splits=10")] = "splits=all"
    shared = [
        *("dataset=csv", f"dataset.path={file}", as_override("dataset.target", target)),
        *(word for word in defaults if word.partition("=")[0] not in given),
        *overrides,
    ]
    runs: list[Run] = []
    errors: list[UserError] = []
    with status_message(f"reading {Path(file).name}"):
        for name in methods:
            method, _, likelihood = name.partition("/")
            chosen = [f"method={method}", *([f"likelihood={likelihood}"] if likelihood else [])]
            try:
                runs.append(build_run(single_job([*shared, *chosen])))
            except UserError as error:
                if (error.setting or "").startswith("dataset") or error.code == "several_jobs":
                    raise  # an error about the table or the command line concerns all methods
                errors.append(error)
    if errors and not runs:
        raise errors[0]
    if len(runs) < 2:
        raise UserError(
            " ".join(["fewer than two methods work on this table.", *map(str, errors)]),
            "--methods",
            "too_few",
        )
    for left_out in errors:
        note(f"left out: {left_out}")
    return runs


def _check(methods: Sequence[str], overrides: Sequence[str]) -> None:
    from bnnbench.config.configs import options, unknown_option

    for name in methods:
        for group, option in zip(("method", "likelihood"), name.split("/", 1), strict=False):
            if option not in (known := list(options(group))):
                unknown = unknown_option(group, option, known)
                raise UserError(f"--methods: {unknown}", "--methods", unknown.code)
    for word in overrides:
        if "=" not in word:
            raise UserError(f"{word} is not a setting: write KEY=VALUE.", "KEY=VALUE", "syntax")
        if instead := OWN_OPTIONS.get(key := word.partition("=")[0]):
            raise UserError(f"{word} does not work here; use {instead}.", key)


def within_budget(runs: Sequence[Run], minutes: float | None) -> Sequence[Run]:
    """Return the same runs with fewer splits, or only the fastest ones, and print a note.

    Args:
        runs: of experiments on splits.
        minutes: for all of them together, by their estimates; None for any time.

    Raises:
        UserError: if even two methods take longer on `MIN_SPLITS` splits.
    """
    from bnnbench.experiment.run.progress import seconds_left, time_left

    if minutes is None:
        return runs
    seconds = 60 * minutes

    def total(chosen: Sequence[Run]) -> float:
        return sum(map(seconds_left, chosen))

    most = len(runs[0].experiment.units())
    least = min(MIN_SPLITS, most)
    for count in range(most, least - 1, -1):
        chosen = [_with_splits(run, count) for run in runs]
        if total(chosen) <= seconds:
            break
    if count < most:
        note(f"--minutes: running {count} of {most} splits")
    chosen.sort(key=seconds_left)
    while total(chosen) > seconds and len(chosen) > 2:
        slowest = chosen.pop()
        note(f"--minutes: left out {method_name(slowest)} ({time_left(seconds_left(slowest))})")
    if total(chosen) > seconds:
        raise UserError(
            f"--minutes: even {method_name(chosen[0])} and {method_name(chosen[1])} take about "
            f"{time_left(total(chosen))} on {least} splits; allow more minutes or choose faster "
            "--methods.",
            "--minutes",
            "too_short",
        )
    return chosen


def _with_splits(run: Run, count: int) -> Run:
    """Return a run of only the first of its splits."""
    from bnnbench.experiment.splits.split_plan import SplitPlan

    experiment = run.experiment
    assert isinstance(experiment, SplitPlan)
    splits = [split.index for split in experiment.requested.values()][:count]
    return replace(
        run,
        experiment=replace(experiment, splits=splits),
        config={**run.config, "splits": splits},
    )


def method_name(run: Run) -> str:
    """Return the method of a run, as `--methods` names it."""
    from bnnbench.config.group_checks import DEFAULTS

    metadata = run.experiment.metadata()
    method, likelihood = str(metadata["method"]), metadata["likelihood"]
    return method if likelihood == DEFAULTS["likelihood"] else f"{method}/{likelihood}"


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
    outputs_dir: str | Path = OUTPUTS,
    **choices: Any,
) -> Recommendation:
    """Compare methods on a table and recommend one, as `bnnbench recommend` does.

    Args:
        data: a frame of pandas, polars, pyarrow or another library, or the path of a file.
        settings: of every run, as on the command line: `"dataset.group=patient"`.
        target: the column to predict.
        methods: to compare, each `METHOD` or `METHOD/LIKELIHOOD`.
        minutes: time budget.
        outputs_dir: where the runs and the table of a frame are saved.
        choices: settings without a dot as keywords: `splits=20`.

    Raises:
        UserError: if a setting or the table is wrong, or no method can be recommended.
    """
    from bnnbench.api import warn_caller
    from bnnbench.config.overrides import as_override
    from bnnbench.data.own_table.frames import about_frame, named_frame, naming_the_frame
    from bnnbench.data.own_table.read.frame_file import write_frame

    if minutes is not None:
        check_between("minutes", minutes, 0)
    if any(word.startswith("outputs_dir=") for word in settings):
        text = "outputs_dir is an argument of recommend: write outputs_dir=FOLDER without quotes."
        raise UserError(text, "outputs_dir", "argument")
    choices |= {"outputs_dir": outputs_dir}
    words = [*settings, *(as_override(key, value) for key, value in choices.items())]
    path, notes = data, list[str]()
    if not isinstance(data, str | Path):
        frame, notes = named_frame(data, "frame")
        path = write_frame(frame, check_folder("outputs_dir", str(outputs_dir)) / "tables")
    with naming_the_frame(path := Path(path)):
        runs = comparable_runs(str(path), target, tuple(methods), words)
        warn_caller([*notes, *(about_frame(text, path) for text in runs[0].warnings())])
        return recommendation_of(run_in_time(within_budget(runs, minutes), minutes))


def recommendation_of(folders: Sequence[RunFolder]) -> Recommendation:
    """Recommend one of the finished runs in these folders, ignoring all others.

    Raises:
        UserError: if no run can be ranked.
    """
    from bnnbench.api import FinishedRun
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
    from bnnbench.results.score.run_notes import impossible_intervals

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
