"""`bnnbench run`: Hydra composes the configuration, launches sweeps, completes words."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from tempfile import TemporaryDirectory
from traceback import walk_tb

from hydra import main as hydra_main
from omegaconf import DictConfig

from bnnbench.cli.compose import CONFIG_NAME, CONFIGURATION, sentence
from bnnbench.cli.configs import config_folder
from bnnbench.cli.jobs import Jobs
from bnnbench.cli.waiting import announced
from bnnbench.cli.words import DRY, config_dir_of, hydra_words
from bnnbench.project import make_importable
from bnnbench.types import UserError


def run_command(overrides: Sequence[str]) -> int:
    """Runs Hydra on the overrides.

    Raises:
        UserError: for everything the configuration can get wrong.
    """
    os.environ["HYDRA_FULL_ERROR"] = "1"  # errors come back here instead of ending the process
    _hide_subcommand()
    words = hydra_words([word for word in overrides if word != DRY])
    own = config_dir_of(words)
    if own is not None:
        make_importable([Path(own).resolve(), Path.cwd()])
    _check_launcher(words)
    completing = {"-sc", "--shell-completion"} & {*words}
    decorate = hydra_main(
        version_base="1.3", config_path=str(config_folder()), config_name=CONFIG_NAME
    )
    with TemporaryDirectory(prefix="bnnbench-") as aside:
        given = [word for word in words if "=" in word and not word.startswith("-")]
        jobs = Jobs(given, Path(aside), dry=DRY in overrides)
        # Hydra's record of a sweep says nothing that the runs do not.
        record = [] if completing else [f"hydra.sweep.dir='{aside}'"]
        sys.argv = ["bnnbench", *words, *record]

        def one_job(config: DictConfig) -> None:
            jobs.run(config)

        try:
            with _seen_from_outside(jobs, own), _one_voice(words), jobs.opened:
                decorate(one_job)()
        except CONFIGURATION as error:
            raise UserError(sentence(error, own)) from None
        except ValueError as error:  # of Hydra, about a defaults list; a job's own is no mistake
            if any(frame.f_code is one_job.__code__ for frame, _ in walk_tb(error.__traceback__)):
                raise
            raise UserError(sentence(error)) from None
    return jobs.conclude()


@contextmanager
def _seen_from_outside(jobs: Jobs, own: str | None) -> Iterator[None]:
    """Shows how far a sweep is whose jobs run side by side, in processes of their own.

    Args:
        jobs: is told in the end which runs there are, which their processes cannot tell it.
        own: the folder of `--config-dir`.
    """
    if not any(word.startswith("hydra/launcher=") for word in jobs.words):
        yield
        return
    with announced("reading the runs of the sweep"):
        from bnnbench.cli.sweep import composed_runs, tell_stacks_apart
        from bnnbench.experiment.progress import watch_sweep
        from bnnbench.experiment.sweep_progress import SweepProgress

        runs = composed_runs(jobs.words, own)
    tell_stacks_apart(runs)
    with watch_sweep(SweepProgress(runs)):
        yield
    jobs.listen([run.folder for run in runs if run.complete()])


@contextmanager
def _one_voice(words: Sequence[str]) -> Iterator[None]:
    """Makes a mistake of what Hydra itself says and ends with, of a part that is not there."""
    if not any(word.startswith(("-p", "--package")) for word in words):
        yield
        return
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            yield
    except SystemExit as stop:
        if stop.code:
            raise UserError(f"{said.getvalue().strip()}.") from None
        raise


def _check_launcher(overrides: Sequence[str]) -> None:
    """Refuses more jobs than cores here, since the launcher starts its processes before any job.

    Raises:
        UserError: naming the key.
    """
    from joblib import cpu_count

    for override in overrides:
        key, _, value = override.partition("=")
        allowed = {"-1", *map(str, range(1, cpu_count() + 1))}
        if key.lstrip("+") != "hydra.launcher.n_jobs":
            continue
        if not any(word.startswith("hydra/launcher=") for word in overrides):
            raise UserError(f"{key} goes with hydra/launcher=joblib, which runs jobs side by side.")
        if value not in allowed:
            raise UserError(f"{key} must be -1 or 1 to {cpu_count()} (cores), not {value!r}.")


def _hide_subcommand() -> None:
    """Shows Hydra's completion `bnnbench method=` where `bnnbench run method=` was typed."""
    line = os.environ.get("COMP_LINE", "")
    hidden = re.sub(r"^(\S+\s+)run\s+", r"\1", line)
    if hidden != line:
        point = int(os.environ.get("COMP_POINT", len(line)))
        os.environ["COMP_POINT"] = str(max(0, point - (len(line) - len(hidden))))
        os.environ["COMP_LINE"] = hidden
