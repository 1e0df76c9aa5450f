"""Versions of the package agree; `make lowest` installs each bound of `pyproject.toml`."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import pytest
import yaml

import bnnbench

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


def test_the_version_of_the_package_is_the_same_in_every_file() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {bnnbench.__version__, citation["version"]} == {PROJECT["version"]}
    assert re.search(rf"\b{re.escape(PROJECT['version'])}\b", (ROOT / "CHANGELOG.md").read_text())


@pytest.mark.skipif("RELEASE_TAG" not in os.environ, reason="RELEASE_TAG is set in a release only")
def test_a_release_has_the_tag_of_its_version_and_an_entry_in_the_changelog() -> None:
    assert os.environ["RELEASE_TAG"] == f"v{PROJECT['version']}"
    entry = rf"^## \[{re.escape(PROJECT['version'])}\] - \d{{4}}-\d\d-\d\d$"
    assert re.search(entry, (ROOT / "CHANGELOG.md").read_text(), re.M)
