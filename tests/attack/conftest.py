"""Fixtures of the attack tests, and a table of verdicts by family at the end."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from attack.attempt import ACCEPTABLE, Outcome, OutcomeCheck, Verdict
from attack.command_lines import write_table
from attack.sampling import MODE
from hypothesis.configuration import set_hypothesis_home_dir

from bnnbench.cpp.library import library

COUNTS: dict[str, Counter[str]] = defaultdict(Counter)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("attack")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Count the verdicts of a test, which may have run in another process."""
    if report.when == "call":
        for name, value in report.user_properties:
            if name == "attack":
                COUNTS[value[0]][value[1]] += 1


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the table of verdicts, and store it in the file that `BNNBENCH_ATTACK_TABLE` names.

    Families of that file that were not attacked keep their rows.
    """
    if not COUNTS:
        return
    counts = [
        {"family": name, "sample": MODE, "attempts": n.total()} | {str(v): n[v] for v in Verdict}
        for name, n in COUNTS.items()
    ]
    table = pd.DataFrame(counts)
    file = os.environ.get("BNNBENCH_ATTACK_TABLE")
    if file and Path(file).exists():
        stored = pd.read_csv(file, dtype={"sample": str})
        table = pd.concat([stored[~stored["family"].isin([*COUNTS, "total"])], table])
    total = {"family": "total", "sample": ""} | dict(table.sum(numeric_only=True))
    table = pd.concat([table.sort_values("family"), pd.DataFrame([total])])
    terminalreporter.section("attacks")
    terminalreporter.write_line(table.to_markdown(index=False))
    if file:
        table.to_csv(file, index=False)


@pytest.fixture
def record_outcome(record_property: Callable[[str, object], None]) -> Callable[..., str]:
    """`record_outcome(family, outcome)`: count an outcome; return why it is not acceptable, or "".

    `refuse=True`: only a refusal is acceptable. `wrong="..."`: why the outcome is wrong although
    the command ran or refused.
    """

    def record(family: str, outcome: Outcome, refuse: bool = False, wrong: str = "") -> str:
        verdict = outcome.verdict
        if (refuse and verdict == Verdict.RAN) or (wrong and verdict in ACCEPTABLE):
            verdict = Verdict.WRONG
        record_property("attack", [family, verdict.value])
        return "" if verdict in ACCEPTABLE else f"{wrong or verdict}\n{outcome}"

    return record


@pytest.fixture
def check_outcome(record_outcome: Callable[..., str]) -> OutcomeCheck:
    """As `record_outcome`, and fail if the outcome is not acceptable."""

    def check(family: str, outcome: Outcome, refuse: bool = False, wrong: str = "") -> None:
        failure = record_outcome(family, outcome, refuse, wrong)
        assert not failure, failure

    return check


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small table with the target column `y`."""
    return write_table(tmp_path_factory.mktemp("data") / "t.csv")


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """An empty working directory."""
    folder = tmp_path / "cwd"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session", autouse=True)
def _session(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep Hypothesis' cache out of the repository, and compile before programs are watched."""
    set_hypothesis_home_dir(tmp_path_factory.mktemp("hypothesis"))
    library()
