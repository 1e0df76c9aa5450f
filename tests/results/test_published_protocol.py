"""The protocol behind published values, and in what runs depart from it."""

from __future__ import annotations

from typing import Any

import pytest
from support.config import compose
from support.runs import identity_by, names_of

from bnnbench.results.published_protocol import departures, protocol_of
from bnnbench.results.settings import flatten


def run(splits: int = 20, settings: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    names = names_of(**changes)
    flat = flatten(identity_by(names, **(settings or {})))
    return {**names, "settings": flat, "splits": splits}


@pytest.mark.parametrize("method", ["vadam", "vprop", "bbb_x2", "pbp", "mc_dropout_x10", "sgld"])
def test_a_run_by_the_protocol_departs_in_nothing(method: str) -> None:
    assert departures(run(method=method)) == ()
    assert departures(run(5, method=method, dataset="protein")) == ()


@pytest.mark.parametrize("dataset", ["boston", "wine", "protein"])
@pytest.mark.parametrize(
    ("method", "family"),
    [
        ("vadam", "vadam"),
        ("ivon", "ivon"),
        ("dvi", "dvi"),
        ("svgd", "svgd"),
        ("renyi_vi", "renyi_vi"),
        ("mc_dropout", "mc_dropout"),
        ("mc_dropout_x10", "mc_dropout"),
        ("bb_alpha_dropout", "bb_alpha_dropout"),
        ("pbp", "pbp"),
        ("sgld", "sgld"),
        ("psgld", "sgld"),
        ("sghmc", "sghmc"),
        ("swag", "swag"),
        ("multi_swag", "swag"),
    ],
)
def test_the_default_configuration_follows_it(dataset: str, method: str, family: str) -> None:
    flat = flatten(compose(f"dataset={dataset}", f"method={method}"))
    stated = protocol_of({"dataset": dataset, "method": method, "family": family})
    assert {name: flat[name] for name in stated} == stated


@pytest.mark.parametrize(
    ("settings", "said"),
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
        ({"method__minibatch_weights": "exponential"}, "method.minibatch_weights exponential"),
        ({"method__noise": "gaussian"}, "method.noise gaussian"),
        ({"method__noise_precision": 2.5}, "noise precision 2.5"),
        ({"dataset__seeded_splits": 30}, "seeded splits 30"),
        ({"likelihood.loss": "beta", "training__epochs": 5}, "loss beta"),
    ],
)
def test_what_differs_is_said(settings: dict[str, Any], said: str) -> None:
    assert ", ".join(departures(run(settings=settings))) == said


def test_bounds_are_each_data_sets_own() -> None:
    wide = {"bounds.prior_precision": [0.01831563888873418, 54.598150033144236]}
    assert departures(run(settings=wide)) == ()
    (said,) = departures(run(settings=wide, dataset="power"))
    assert said == "bounds of prior precision 0.0183156/54.5982"


def test_fewer_splits_and_another_model_differ() -> None:
    assert departures(run(2)) == ("2 of 20 splits",)
    assert departures(run(4, dataset="protein")) == ("4 of 5 splits",)
    assert departures(run(depth=2, divergence="renyi_2")) == ("divergence renyi_2", "depth 2")
    assert departures(run(likelihood="heteroscedastic")) == ("likelihood heteroscedastic",)


def test_passes_of_pbp_count_and_no_search() -> None:
    off = {"training__final_epochs": 200, "training__batch_size": 1, "search": {"label": "none"}}
    assert departures(run(method="pbp", settings=off)) == ("final epochs 200",)


def test_a_setting_that_is_not_on_record_differs() -> None:
    lost = run()
    del lost["settings"]["training.epochs"]
    assert departures(lost) == ("epochs not on record",)


def test_other_data_have_no_protocol() -> None:
    assert departures(run(2, settings={"dataset__class": "module.Own"})) == ()
