"""The runs that `bnnbench recommend` compares: one per method, under the same short protocol."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bnnbench.notes import note, status_message
from bnnbench.types import UserError

if TYPE_CHECKING:
    from bnnbench.experiment.run.run import Run

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
    shared = [
        *("dataset=csv", f"dataset.path={file}", as_override("dataset.target", target)),
        *(word for word in _defaults(given) if word.partition("=")[0] not in given),
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


def _defaults(given: Collection[str]) -> list[str]:
    """Return the default settings, given the keys of those that the user chose."""
    own_count = any(key in given for key in SPLIT_SETTINGS)
    defaults = ["splits=all" if own_count and w == "splits=10" else w for w in DEFAULT_OVERRIDES]
    return [*defaults, f"outputs_dir={OUTPUTS}"]


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
