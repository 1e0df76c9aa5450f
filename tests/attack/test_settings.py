"""Invalid values for every key of every configuration."""

from __future__ import annotations

from pathlib import Path

import pytest
from attack.attempt import OutcomeCheck, attempt
from attack.command_lines import command
from attack.sampling import sample
from attack.settings import VALUES, Setting, cases, settings
from support.config import compose

CASES = {f"{setting.name} {value}": (setting, value) for setting, value in cases()}


@pytest.mark.parametrize("name", sample(list(CASES), 4))
def test_a_setting(check_outcome: OutcomeCheck, table: Path, empty: Path, name: str) -> None:
    setting, value = CASES[name]
    words = command(table, setting.choices, f"{setting.key}={VALUES[value]}")
    outputs = VALUES[value].strip("'") if setting.key == "outputs_dir" else "outputs"
    check_outcome("settings", attempt(words, empty, outputs))


def test_all_keys_of_the_composed_configuration_are_tried() -> None:

    def keys(node: object, prefix: str = "") -> list[str]:
        if not isinstance(node, dict) or not node:
            return [prefix]
        return [key for k, v in node.items() for key in keys(v, f"{prefix}.{k}".lstrip("."))]

    known = {setting.key for setting in settings()}
    copied = ("method.likelihood.", "divergence.prior.", "likelihood.loss.", "prior")
    copied += ("method.divergence.",)
    left_out = {key for key in keys(compose()) if not key.startswith(copied)} - known
    assert not left_out


def test_settings_are_unique() -> None:
    assert len(set(settings())) == len(settings())
    assert Setting("seed").name == "seed"
