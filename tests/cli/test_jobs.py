"""What a job says first."""

from __future__ import annotations

from pathlib import Path

import pytest
from omegaconf import OmegaConf

from bnnbench.cli.jobs import Jobs, _first_word
from bnnbench.cli.line import Job, Line
from bnnbench.types import UserError

CONFIG = {"dataset": {"name": "diabetes"}, "experiment": {"label": "sprinkler"}}


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (["method=vadam"], "reading diabetes"),
        (["experiment=sprinkler", "seed=1"], "preparing sprinkler"),
    ],
)
def test_the_first_word_names_what_is_really_read(task: list[str], said: str) -> None:
    job = Job(task, OmegaConf.create(CONFIG))
    assert _first_word(Line(False, [job])) == said
    assert _first_word(Line(True, [job, job])) == "checking 2 runs"


def test_a_group_that_is_no_mapping_is_left_to_the_checks() -> None:
    job = Job([], OmegaConf.create({**CONFIG, "dataset": None}))
    assert _first_word(Line(False, [job])) == "reading the configuration"


@pytest.mark.parametrize("reachable", [True, False])
def test_what_is_wrong_in_a_job_of_another_process_comes_home(
    tmp_path: Path, reachable: bool
) -> None:
    """By a file; by the launcher, which carries errors, where the job is on another machine."""
    jobs = Jobs(tmp_path)
    away = Jobs(tmp_path if reachable else tmp_path / "elsewhere", home=("node17", 1))
    if reachable:
        away._keep("splits must be fewer.")
        jobs.listen([])
    else:
        away._keep("passed over", passed=True)
        with pytest.raises(UserError, match=r"splits must be fewer\."):
            away._keep("splits must be fewer.")
    assert jobs.refused == ["splits must be fewer."] * reachable and not away.refused
