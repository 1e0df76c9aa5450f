"""Which published values runs are compared with, and how their settings differ."""

from __future__ import annotations

import math
from typing import Any

import pytest
from support.config import compose
from support.published_methods import (
    BBVI,
    DEEP_ENSEMBLE,
    DEEP_ENSEMBLE_2024,
    DROPOUT,
    DROPOUT_2018,
    PBP,
    SLANG,
    VADAM,
    VPROP,
)
from support.runs import divergence_metadata, identity_for, metadata_of

from bnnbench.config.assemble import build
from bnnbench.config.configs import options
from bnnbench.report.split_run_page import published_notes
from bnnbench.results.compare.published_scores import run_z_score
from bnnbench.results.metric_table import printed_in
from bnnbench.results.published.protocol import protocol_differences, published_settings
from bnnbench.results.published.values import (
    METHODS,
    UNPUBLISHED_METHODS,
    counterpart,
    difference,
    published_means,
    published_splits,
)
from bnnbench.results.settings import flatten


def row(**changes: Any) -> dict[str, Any]:
    """Return metadata and settings of a run that follows the protocol except for the changes."""
    names = metadata_of(**changes)
    return {**names, "settings": flatten(identity_for(names)), "splits": 20}


def test_published_values_and_their_standard_errors() -> None:
    vadam = counterpart(row(method="vadam"), "rmse")
    assert vadam is not None
    assert (vadam.mean, vadam.stderr) == (3.85754, 0.26262)
    assert vadam.source == "Khan et al. 2018: Vadam"
    dropout = counterpart(row(method="mc_dropout_x1"), "log_likelihood")
    assert dropout is not None and dropout.mean == -2.460037
    ensembles = published_means().query("metric == 'rmse' and error_kind == 'std'").iloc[0]
    assert ensembles["stderr"] == pytest.approx(ensembles["error"] / math.sqrt(20))
    rounded = counterpart(row(method="pbp", dataset="kin8nm"), "rmse")
    assert rounded is not None and math.isnan(rounded.stderr)


@pytest.mark.parametrize("family", sorted({one.compared_with for one in METHODS.values()} - {""}))
def test_every_family_has_a_published_value(family: str) -> None:
    assert any(counterpart(row(method=family), metric.key) for metric in printed_in("published"))


@pytest.mark.parametrize(
    "other",
    [
        {"depth": 2},
        divergence_metadata("renyi", 0.5),
        {"dataset": "protein"},
        {"likelihood": "heteroscedastic"},
        {"loss": "beta"},
        {"method": "svgd"},
        *({"method": name} for name in UNPUBLISHED_METHODS),
    ],
)
def test_other_models_and_data_have_no_published_value(other: dict[str, Any]) -> None:
    assert counterpart(row(method="vadam"), "rmse") is not None
    assert counterpart(row(**{"method": "vadam", **other}), "rmse") is None


@pytest.mark.parametrize(
    ("method", "family", "metric", "mean"),
    [
        ("bbb_slang", "bbb", "log_likelihood_joint", -2.66),
        ("mc_dropout_gal2016", "mc_dropout", "log_likelihood", -2.460037),
        ("deep_ensemble_2017", "deep_ensemble", "log_likelihood_gaussian", -2.41),
    ],
)
def test_a_run_is_compared_by_the_log_likelihood_that_the_source_computed(
    method: str, family: str, metric: str, mean: float
) -> None:
    kinds = ("log_likelihood", "log_likelihood_joint", "log_likelihood_gaussian")
    likelihood = published_settings(method, "", "boston")["likelihood"]
    run = row(method=method, family=family, likelihood=likelihood)
    found = {kind: value.mean for kind in kinds if (value := counterpart(run, kind))}
    assert found == {metric: mean}


def test_a_users_data_set_of_the_same_name_has_no_published_value() -> None:
    run = row(method="vadam")
    own_table = "bnnbench.data.own_table.source.OwnTable"
    run["settings"] = {**run["settings"], "dataset.class": own_table}
    assert counterpart(run, "rmse") is None


def test_the_value_with_the_most_similar_settings_is_used() -> None:
    """BBB is compared with the SLANG paper if it has its settings, otherwise with Khan et al."""
    run = row()
    default = counterpart(run, "rmse")
    assert default is not None and "BBVI" in default.source
    slang = {"training.epochs": 120, "training.final_epochs": 120, "training.batch_size": 10,
             "method.weight_init": "zero", "method.bias_prior": False}  # fmt: skip
    other = {**run, "settings": {**run["settings"], **slang}, "splits": 5}
    closest = counterpart(other, "rmse")
    assert closest is not None and "SLANG" in closest.source
    other["settings"] = {**other["settings"], "bounds.noise_precision": (46, 126)}
    assert counterpart(other, "rmse") == closest, "one setting differs instead of four"


def test_every_published_method_says_which_runs_are_compared_with_it() -> None:
    published = {*published_means()["method"], *published_splits()["method"]}
    assert not published - {*METHODS}, "add them to methods.toml"
    assert not {*METHODS} - published, "no value has these names of methods.toml"
    presets = {method.preset for method in METHODS.values()} - {""}
    assert presets <= {*options("method")}


@pytest.mark.ci
@pytest.mark.parametrize(
    ("words", "method", "expected", "comparable"),
    [
        ("dataset=yacht method=vadam", VADAM, "search objective per_point", True),
        ("dataset=yacht method=vadam search.objective=joint", VADAM, "", True),
        ("dataset=yacht method=vprop_khan2018", VPROP, "", True),
        ("dataset=yacht method=vprop_khan2018 search.objective=per_point", VPROP,
         "search objective per_point", True),
        ("dataset=yacht method=vprop search.objective=joint", VPROP, "method.search_with vprop",
         False),
        ("dataset=yacht method=vprop search.objective=joint method.search_with=vadam", VPROP, "",
         True),
        ("dataset=yacht method=bbb_x1 search.objective=joint", BBVI, "samples 10", True),
        ("dataset=wine method=bbb_x2 search.objective=joint", BBVI, "", True),
        ("dataset=wine method=bbb_x1 search.objective=joint", BBVI, "samples 5", True),
        ("dataset=yacht method=pbp", PBP, "", True),
        ("dataset=yacht method=bbb_slang", SLANG, "", True),
        ("dataset=wine method=bbb_slang", SLANG, "", True),
        ("dataset=yacht method=bbb", SLANG, "epochs 40, batch size 32, learning rate 0.01, "
         "test samples 100, search objective per_point, samples 10, method.weight_init fan_in, "
         "method.bias_prior true", False),
        ("dataset=yacht method=mc_dropout_gal2016", DROPOUT, "", True),
        ("dataset=protein method=mc_dropout_gal2016", DROPOUT, "", True),
        ("dataset=yacht method=mc_dropout_gal2016 training.final_epochs=40", DROPOUT,
         "final epochs 40", False),
        ("dataset=yacht method=vadam network.width=20", VADAM,
         "width 20, search objective per_point", False),
        ("dataset=yacht method=vadam search=none method.noise_precision=3 method.prior_precision=1",
         VADAM, "search none, noise precision 3, prior precision 1", False),
        ("dataset=yacht method=deep_ensemble_2017", DEEP_ENSEMBLE, "", True),
        ("dataset=protein method=deep_ensemble_2017", DEEP_ENSEMBLE, "", True),
        ("dataset=yacht method=mc_dropout_2018", DROPOUT_2018, "", True),
        ("dataset=protein method=mc_dropout_2018", DROPOUT_2018, "", True),
        ("dataset=yacht method=mc_dropout_2018 search=bayesian_optimisation", DROPOUT_2018,
         "search bayesian_optimisation, bounds of dropout 0.005/0.5", False),
        ("dataset=yacht method=deep_ensemble_easyuq", DEEP_ENSEMBLE_2024, "", True),
        ("dataset=protein method=deep_ensemble_easyuq", DEEP_ENSEMBLE_2024, "", True),
        ("dataset=yacht method=deep_ensemble_easyuq method.searched_members=null",
         DEEP_ENSEMBLE_2024, "method.searched_members null", False),
        ("dataset=yacht method=deep_ensemble_easyuq method.weight_init=fan_in", DEEP_ENSEMBLE_2024,
         "method.weight_init fan_in", False),
        ("dataset=yacht method=mc_dropout_2018 method.bias_prior=true", DROPOUT_2018,
         "method.bias_prior true", False),
        ("dataset=yacht method=deep_ensemble_2017 method.adversarial=false", DEEP_ENSEMBLE,
         "method.adversarial false", False),
        ("dataset=yacht method=deep_ensemble_2017 likelihood=heteroscedastic_softplus",
         DEEP_ENSEMBLE, "", True),
        ("dataset=yacht method=deep_ensemble_2017_softplus", DEEP_ENSEMBLE,
         "learning rate 0.01, method.adversarial false", False),
    ],
)  # fmt: skip
def test_presets_have_the_settings_of_the_published_value(
    words: str, method: str, expected: str, comparable: bool
) -> None:
    made = build(compose(*words.split()))
    run = {**made.record.metadata, "settings": flatten(made.record.identity)}
    found = difference({**run, "splits": 5 if run["dataset"] == "protein" else 20}, method)
    assert (found.description, found.comparable) == (expected, comparable)


@pytest.mark.slow
def test_presets_of_published_settings_follow_the_protocol() -> None:
    cases = (("yacht", 20, "experiment=gal_uci"), ("protein", 5, "experiment=gal_uci"),
             ("yacht", 20, "method=hmc"), ("yacht", 20, "method=deep_ensemble_2017"),
             ("yacht", 20, "method=bbb_slang"), ("protein", 5, "method=bbb_slang"),
             ("yacht", 20, "method=mc_dropout_2018"),
             ("protein", 5, "method=deep_ensemble_easyuq"))  # fmt: skip
    for dataset, splits, words in cases:
        made = build(compose(words, f"dataset={dataset}"))
        run = {**made.record.metadata, "settings": flatten(made.record.identity), "splits": splits}
        assert protocol_differences(run) == ()
        assert protocol_differences({**run, "splits": splits - 1}) == (
            f"{splits - 1} of {splits} splits",
        )


def test_values_with_unknown_settings_have_no_z() -> None:
    """They are listed next to a run, without z."""
    made = build(compose("method=hmc", "dataset=yacht"))
    run = {**made.record.metadata, "settings": flatten(made.record.identity), "splits": 20}
    theirs = counterpart(run, "rmse")
    assert theirs is not None and (theirs.mean, theirs.stderr) == (0.56, 0.05)
    assert math.isnan(run_z_score({**run, "rmse_mean": 0.4, "rmse_stderr": 0.05}, "rmse", theirs))
    assert not difference(run, theirs.method).known
    (note,) = published_notes(run)
    assert "Bui et al. 2016: HMC" in note


def test_fewer_splits_and_other_divergences_differ() -> None:
    made = build(compose("dataset=yacht", "method=bbb", "divergence=js"))
    run = {**made.record.metadata, "settings": flatten(made.record.identity), "splits": 3}
    found = difference(run, SLANG)
    assert found.description.endswith("divergence js, 3 of 20 splits") and not found.comparable
