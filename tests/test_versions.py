"""The lowest versions: each bound of `pyproject.toml` is one that `make lowest` installs."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
OWN = re.compile(r"bnnbench\[(.*)\]")

NOT_LOWEST = {"torch"}
"""Its older builds are several gigabytes large."""


def requirements(extra: str) -> list[str]:
    """Return the requirements of an extra, with those of the extras that it names."""
    found = []
    for one in EXTRAS[extra]:
        named = OWN.fullmatch(one)
        found += [r for name in named[1].split(",") for r in requirements(name)] if named else [one]
    return found


def pins(name: str) -> dict[str, str]:
    """Return the versions in a file of constraints by package."""
    lines = (ROOT / name).read_text().splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


REQUIREMENTS = PROJECT["dependencies"] + requirements("dev")


@pytest.mark.parametrize("requirement", REQUIREMENTS)
def test_the_lowest_version_of_each_requirement_is_pinned(requirement: str) -> None:
    package, bound = requirement.split(">=")
    version = pins("constraints.txt" if package in NOT_LOWEST else "constraints-lowest.txt")
    assert pins("constraints-lowest.txt")[package] == version[package]
    assert package in NOT_LOWEST or version[package] == bound


def test_nothing_else_is_pinned() -> None:
    packages = {requirement.split(">=")[0] for requirement in REQUIREMENTS}
    assert pins("constraints-lowest.txt").keys() == packages
