"""The published protocol, read from the YAML files.

tests/results/published/test_protocol.py compares it with composed configurations.
"""

from __future__ import annotations

import pytest

from bnnbench.config.published_protocol import published_protocol


def test_other_names_have_the_settings_of_their_family_and_of_most_data_sets() -> None:
    preset = published_protocol("mine", "ivon", "yacht")
    assert preset == published_protocol("ivon", "ivon", "boston")
    own, ours = published_protocol("mine", "mine", "mine"), published_protocol("map", "", "yacht")
    assert {**own, "training.samples": 1} == ours


@pytest.mark.parametrize(
    ("method", "dataset", "search"),
    [("vadam", "yacht", "bayesian_optimisation"), ("hmc", "yacht", "none"),
     ("mc_dropout_gal2016", "yacht", "none"), ("svgd_liu2016", "wine", "none"),
     ("deep_ensemble_2017", "yacht", "none"), ("deep_ensemble", "yacht", "bayesian_optimisation"),
     ("mc_dropout_gal2016", "diabetes", "bayesian_optimisation")],
)  # fmt: skip
def test_nothing_is_searched_if_all_hyper_parameters_are_fixed(
    method: str, dataset: str, search: str
) -> None:
    assert published_protocol(method, "", dataset)["search"] == search


def test_a_preset_may_choose_the_noise_model() -> None:
    assert published_protocol("deep_ensemble_2017", "", "yacht")["likelihood"] == "heteroscedastic"
    assert published_protocol("deep_ensemble", "", "yacht")["likelihood"] == "gaussian"
