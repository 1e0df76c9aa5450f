"""What a job says first."""

from __future__ import annotations

import pytest

from bnnbench.cli.jobs import _first_word

CONFIG = {"dataset": {"name": "diabetes"}, "experiment": {"label": "sprinkler"}}


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (["method=vadam"], "reading diabetes"),
        (["experiment=sprinkler", "seed=1"], "preparing sprinkler"),
    ],
)
def test_the_first_word_names_what_is_really_read(task: list[str], said: str) -> None:
    assert _first_word(CONFIG, task) == said


def test_a_group_that_is_no_mapping_is_left_to_the_checks() -> None:
    assert _first_word({**CONFIG, "dataset": None}, []) == "reading the configuration"
