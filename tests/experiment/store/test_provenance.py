"""The provenance that is written for a run."""

from __future__ import annotations

import pytest
import yaml

from bnnbench.experiment.store.provenance import as_yaml


@pytest.mark.parametrize("text", ["${", "${depth}", "a${b", "???", "null", "007", "1e3", "~", "é"])
def test_a_text_of_the_settings_stays_the_same(text: str) -> None:
    config = {"target": text, "drop": [text, 1e-5]}
    assert yaml.safe_load(as_yaml(config)) == config
