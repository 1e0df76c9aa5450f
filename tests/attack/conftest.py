"""Verdicts are counted by family and printed as a table at the end."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attack.attempts import RIGHT, Judge, Outcome, Verdict
from attack.known import KNOWN
from attack.typed import write_table
from hypothesis.configuration import set_hypothesis_home_dir

COUNTS: dict[str, Counter[str]] = defaultdict(Counter)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks every attack, and those that are known to succeed."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("attack")
            reason = KNOWN.get(item.name)
            if reason:
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Counts what a test has tried, also where it ran in another process."""
    if report.when == "call":
        for name, value in report.user_properties:
            if name == "attack":
                COUNTS[value[0]][value[1]] += 1


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Prints the table of verdicts."""
    if not COUNTS:
        return
    heads = ["family", "tried", *Verdict]
    rows = [[family, sum(n.values()), *(n[v] for v in Verdict)] for family, n in COUNTS.items()]
    rows.append(["all", *(sum(column) for column in zip(*(r[1:] for r in rows), strict=True))])
    terminalreporter.section("attacks")
    for row in (heads, ["---", *("--:" for _ in heads[1:])], *rows):
        terminalreporter.write_line("| " + " | ".join(map(str, row)) + " |")


@pytest.fixture
def judge(record_property: Callable[[str, object], None]) -> Judge:
    """`judge(family, outcome)`: counts an outcome, and fails unless it ran or was told off.

    `refuse=True`: only a sentence is right. `wrong="..."`: why it is wrong although it ran.
    """

    def judged(family: str, outcome: Outcome, refuse: bool = False, wrong: str = "") -> None:
        verdict = outcome.verdict
        if verdict == Verdict.RAN and (refuse or wrong):
            verdict = Verdict.WRONG
        record_property("attack", [family, verdict.value])
        assert verdict in RIGHT, f"{wrong or verdict}\n{outcome}"

    return judged


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small table, column `y` to predict."""
    return write_table(tmp_path_factory.mktemp("data") / "t.csv")


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """An empty working directory."""
    folder = tmp_path / "cwd"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session", autouse=True)
def _hypothesis_elsewhere(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Its caches do not go into the repository."""
    set_hypothesis_home_dir(tmp_path_factory.mktemp("hypothesis"))
