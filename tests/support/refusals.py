"""Check that invalid settings are refused while a run is built.

tests/cli/test_mistakes.py checks that the command line prints such errors as one line.
"""

from __future__ import annotations

import pytest

from bnnbench.config.assemble import build, build_run, reject_unused_overrides
from bnnbench.config.compose import Job, compose_jobs, initialise_hydra
from bnnbench.config.overrides import prepare_overrides
from bnnbench.types import UserError
from support.config import unresolved
from support.user_errors import assert_user_error


def assert_refused(
    overrides: list[str], *, setting: str | None = None, code: str | None = None
) -> UserError:
    """Assert that `bnnbench run OVERRIDES` ends, before anything runs, with a `UserError`.

    Args:
        overrides: as on the command line.
        setting: the setting that the error is about.
        code: code of the error.
    """
    config = unresolved(*overrides)
    with pytest.raises(UserError) as refused:
        run = build(Job([], config).resolved())
        keys = [word.partition("=")[0] for word in overrides]
        reject_unused_overrides(type(run.experiment), run.config["experiment"], keys)
    assert_user_error(refused, setting, code)
    return refused.value


def assert_line_refused(
    line: str, *, setting: str | None = None, code: str | None = None, config_dir: str | None = None
) -> UserError:
    """Assert that a line ends in a `UserError` while it is parsed, composed or built.

    Args:
        line: overrides separated by spaces, after `-m` for a sweep.
        setting: the setting that the error is about.
        code: code of the error.
        config_dir: the folder of `--config-dir`.
    """
    words = line.split(" ")
    multirun = words[0] == "-m"
    with pytest.raises(UserError) as refused:
        prepared = prepare_overrides(words[multirun:], multirun)
        with initialise_hydra(config_dir):
            jobs = compose_jobs(prepared, multirun)
        for job in jobs.jobs:
            build_run(job)
    assert_user_error(refused, setting, code)
    return refused.value
