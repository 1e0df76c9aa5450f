"""The protocol of published values, and how runs deviate from it."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from support.config import compose
from support.runs import identity_for, metadata_of

import bnnbench
from bnnbench.results.published.protocol import (
    protocol_differences,
    protocol_settings,
    published_settings,
)
from bnnbench.results.settings import flatten

TOOLS = Path(bnnbench.__file__).parents[1] / "docs" / "tools"


def run(splits: int = 20, settings: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    names = metadata_of(**changes)
    flat = flatten(identity_for(names, **(settings or {})))
    return {**names, "settings": flat, "splits": splits}


@pytest.mark.ci
def test_the_stored_settings_are_those_of_the_yaml_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))
    from published_protocol import FILE, as_text, composed_settings, option_names, protocol_table

    assert FILE.read_text() == as_text(protocol_table()), "run docs/tools/published_protocol.py"
    for method, dataset in product(option_names("method"), list(option_names("dataset"))):
        composed = composed_settings(method, dataset)
        lists = {n: tuple(values) for n, values in composed.items() if isinstance(values, list)}
        assert published_settings(method, "", dataset) == {**composed, **lists}


def test_other_names_have_the_settings_of_their_family_and_of_most_data_sets() -> None:
    preset = published_settings("mine", "ivon", "yacht")
    assert preset == published_settings("ivon", "ivon", "boston")
    own, ours = published_settings("mine", "mine", "mine"), published_settings("map", "", "yacht")
    assert {**own, "training.samples": 1} == ours


@pytest.mark.parametrize(
    ("method", "dataset", "search"),
    [("vadam", "yacht", "bayesian_optimisation"), ("hmc", "yacht", "none"),
     ("mc_dropout_gal2016", "yacht", "none"), ("svgd_liu2016", "wine", "none"),
     ("deep_ensemble_2017", "yacht", "none"), ("deep_ensemble", "yacht", "bayesian_optimisation"),
     ("mc_dropout_gal2016", "diabetes", "bayesian_optimisation"),
     ("mc_dropout_2018", "yacht", "grid")],
)  # fmt: skip
def test_nothing_is_searched_if_all_hyper_parameters_are_fixed(
    method: str, dataset: str, search: str
) -> None:
    assert published_settings(method, "", dataset)["search"] == search


def test_a_preset_may_choose_the_noise_model() -> None:
    assert published_settings("deep_ensemble_2017", "", "yacht")["likelihood"] == "heteroscedastic"
    assert published_settings("deep_ensemble", "", "yacht")["likelihood"] == "gaussian"


@pytest.mark.parametrize("method", ["vadam", "vprop", "bbb_x2", "pbp", "mc_dropout_x10", "sgld"])
def test_a_run_that_follows_the_protocol_has_no_differences(method: str) -> None:
    assert protocol_differences(run(method=method)) == ()
    assert protocol_differences(run(5, method=method, dataset="protein")) == ()


@pytest.mark.ci
@pytest.mark.parametrize(
    ("dataset", "method", "family"),
    [
        *(("boston", name, name) for name in ("ivon", "dvi", "svgd", "renyi_vi", "mc_dropout")),
        *(("wine", name, name) for name in ("vadam", "bb_alpha_dropout", "pbp", "sghmc", "swag")),
        ("protein", "mc_dropout_x10", "mc_dropout"),
        ("protein", "psgld", "sgld"),
        ("boston", "multi_swag", "swag"),
    ],
)
def test_the_default_configuration_follows_the_protocol(
    dataset: str, method: str, family: str
) -> None:
    flat = flatten(compose(f"dataset={dataset}", f"method={method}"))
    expected = protocol_settings({"dataset": dataset, "method": method, "family": family})
    assert {name: flat[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"training__epochs": 5}, "epochs 5"),
        ({"training__epochs": 5, "training__final_epochs": 5}, "epochs 5"),
        ({"training__final_epochs": 400}, "final epochs 400"),
        ({"training__batch_size": 128}, "batch size 128"),
        ({"network__width": 20}, "width 20"),
        ({"network__width": [50]}, ""),
        ({"search__iterations": 3}, "search iterations 3"),
        ({"search": {"label": "none"}}, "search none"),
        ({"search__initial_points": 10}, "random search points 10"),
        ({"search__objective": "joint"}, "search objective joint"),
        ({"bounds.noise_precision": [1, 1000]}, "bounds of noise precision 1/1000"),
        ({"bounds.noise_precision": [1, 148.4131591025766]}, ""),
        (
            {"bounds_original_units.noise_precision": [1, 2]},
            "bounds of noise precision in original units 1/2",
        ),
        ({"method__minibatch_weights": "exponential"}, "method.minibatch_weights exponential"),
        ({"method__noise": "gaussian"}, "method.noise gaussian"),
        ({"method__noise_precision": 2.5}, "noise precision 2.5"),
        ({"dataset__seeded_splits": 30}, "seeded splits 30"),
        ({"likelihood.loss": "beta", "training__epochs": 5}, "loss beta"),
    ],
)
def test_differences_are_described(settings: dict[str, Any], expected: str) -> None:
    assert ", ".join(protocol_differences(run(settings=settings))) == expected


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"search.values.batch_size": [16]}, "tried batch sizes 16"),
        ({"search.values.noise_precision": [3]}, "tried noise precisions 3"),
        ({"search.values.dropout": [0.005, 0.01]}, "tried dropout 0.005/0.01"),
        ({"search.values.dropout": [0.005, 0.01, 0.05, 0.1]}, ""),
    ],
)
def test_the_values_of_a_grid_are_compared(settings: dict[str, Any], expected: str) -> None:
    own = run(method="mc_dropout_2018", settings=settings)
    assert ", ".join(protocol_differences(own)) == expected


def test_search_bounds_depend_on_the_data_set() -> None:
    wide = {"bounds.prior_precision": [0.01831563888873418, 54.598150033144236]}
    assert protocol_differences(run(settings=wide)) == ()
    (expected,) = protocol_differences(run(settings=wide, dataset="power"))
    assert expected == "bounds of prior precision 0.0183156/54.5982"


def test_fewer_splits_and_another_model_differ() -> None:
    assert protocol_differences(run(2)) == ("2 of 20 splits",)
    assert protocol_differences(run(4, dataset="protein")) == ("4 of 5 splits",)
    assert protocol_differences(run(depth=2, divergence="renyi_2")) == (
        "divergence renyi_2",
        "depth 2",
    )
    assert protocol_differences(run(likelihood="heteroscedastic")) == (
        "likelihood heteroscedastic",
    )


def test_pbp_differs_by_its_passes_but_not_by_a_missing_search() -> None:
    changed = {
        "training__final_epochs": 200,
        "training__batch_size": 1,
        "search": {"label": "none"},
    }
    assert protocol_differences(run(method="pbp", settings=changed)) == ("final epochs 200",)


def test_a_setting_that_was_not_recorded_differs() -> None:
    incomplete = run()
    del incomplete["settings"]["training.epochs"]
    assert protocol_differences(incomplete) == ("epochs unknown",)


def test_other_data_have_no_protocol() -> None:
    assert protocol_differences(run(2, settings={"dataset__class": "module.Own"})) == ()
