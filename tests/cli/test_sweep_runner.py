"""The status message of a command, and joined errors of jobs."""

from __future__ import annotations

import pytest
from omegaconf import OmegaConf

from bnnbench.cli.sweep_runner import _status_text, join_errors
from bnnbench.config.sweep import Job, JobList
from bnnbench.types import UserError

CONFIG = {"dataset": {"name": "diabetes"}, "experiment": {"label": "sprinkler"}}


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (["method=vadam"], "reading diabetes"),
        (["experiment=sprinkler", "seed=1"], "preparing sprinkler"),
    ],
)
def test_the_status_names_what_is_read(task: list[str], said: str) -> None:
    job = Job(task, OmegaConf.create(CONFIG))
    assert _status_text(JobList(False, [job])) == said
    assert _status_text(JobList(True, [job, job])) == "checking 2 runs"


def test_the_status_of_an_invalid_configuration() -> None:
    job = Job([], OmegaConf.create({**CONFIG, "dataset": None}))
    assert _status_text(JobList(False, [job])) == "reading the configuration"


def test_joined_errors_keep_the_setting_and_code_that_they_share() -> None:
    joined = join_errors([UserError("a.", "seed", "x"), UserError("b.", "seed", "y")])
    assert (str(joined), joined.setting, joined.code) == ("a. b.", "seed", None)
    same = join_errors([UserError(f"{i}.", "seed", "x") for i in (1, 2, 3, 4, 5, 5)])
    assert str(same).startswith("1. 2. 3. 2 ") and same.code == "x"
