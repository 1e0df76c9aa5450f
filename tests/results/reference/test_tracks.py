"""The track of a run, and how it was tuned, follow from its settings."""

from __future__ import annotations

from typing import Any

import pytest
from support.config import compose

from bnnbench.config.assemble import build
from bnnbench.identity import identity_name
from bnnbench.likelihoods import Gaussian, Heteroscedastic, HeteroscedasticSoftplus
from bnnbench.losses import NLL
from bnnbench.results.published.protocol import COMPONENT_CLASSES, setting_differences
from bnnbench.results.reference.results import read_reference_results
from bnnbench.results.reference.tracks import (
    changed_settings,
    fits_of,
    protocol_of,
    track_of,
    tuning_of,
)
from bnnbench.results.settings import flatten
from bnnbench.search.base import NoSearch
from bnnbench.search.bayesian_optimisation import BayesianOptimisation
from bnnbench.search.grid import Grid

PRECISIONS = ("method.prior_precision=2", "method.noise_precision=5")

CASES = {
    ("method=vadam",): ("folds", "book", 151),
    ("method=hmc",): ("evidence", "book", 1),
    ("method=laplace_evidence",): ("evidence", "book", 1),
    ("method=last_layer",): ("folds", "book", 151),
    ("method=laplace_evidence", "network.width=7"): ("evidence", "free", 1),
    ("method=pbp_200",): ("evidence", "book", 1),
    ("method=mc_dropout", "training.final_epochs=7", "method.noise=gaussian"): (
        "folds",
        "book",
        151,
    ),
    ("method=vadam", "method.noise_precision=5"): ("folds", "fixed", 151),
    ("method=vadam", "method.prior_precision=5"): ("folds", "fixed", 151),
    ("method=mc_dropout", "method.dropout=0.01"): ("folds", "fixed", 151),
    ("method=mc_dropout", "method.dropout=0.01", "search.iterations=40"): ("folds", "free", 201),
    ("method=hmc", "method.noise_precision=5"): ("authors", "fixed", 1),
    ("method=linear", "network.width=7"): ("evidence", "book", 1),
    ("method=tagi_v_2024",): ("authors", "fixed", 1),
    ("method=tagi_2024",): ("folds", "fixed", 151),
    ("method=deep_ensemble_2017",): ("authors", "free", 1),
    ("method=deep_ensemble_2017_softplus",): ("authors", "free", 1),
    ("method=renyi_vi_2016",): ("authors", "fixed", 1),
    ("method=renyi_vi_vrbound",): ("authors", "free", 1),
    ("method=vprop_khan2018",): ("folds", "free", 151),
    ("method=vprop_khan2018", "search.objective=per_point"): ("folds", "book", 151),
    ("method=bbb_slang",): ("folds", "free", 151),
    ("method=vadam", "network.width=7"): ("folds", "free", 151),
    ("method=mc_dropout_2018",): ("held_out", "free", 13),
    ("method=deep_ensemble_easyuq",): ("held_out", "free", 4),
    ("method=vadam", "search=grid"): ("folds", "free", 46),
    ("method=vadam", "search.held_out_fraction=0.2"): ("held_out", "free", 31),
    ("method=hmc", *PRECISIONS): ("none", "posterior", 1),
    ("method=map", "search=none", "training.epochs=7", *PRECISIONS): ("none", "posterior", 1),
}


def test_tracks_tunings_and_fits() -> None:
    protocols: dict[str, set[str]] = {}
    for words, expected in CASES.items():
        record = build(compose("dataset=diabetes", *words)).record
        run = {**record.metadata, "settings": flatten(record.identity)}
        tuning = tuning_of(run)
        track = track_of(run, tuning)
        assert (tuning, track, fits_of(run["settings"])) == expected, words
        protocols.setdefault(track, set()).add(protocol_of(run))
    assert protocols["book"] == protocols["fixed"] and len(protocols["posterior"]) == 1
    assert len(protocols["free"]) == 10
    assert len(protocols["book"] | protocols["posterior"] | protocols["free"]) == 12


OUR_HETEROSCEDASTIC = "bnnbench.likelihoods.heteroscedastic.Heteroscedastic"

DISGUISES: dict[str, tuple[dict[str, Any], str, list[str]]] = {
    "nothing": ({}, "book", []),
    "a likelihood": ({"likelihood.class": "own.Gaussian"}, "free", ["likelihood"]),
    "our likelihood": ({"likelihood.class": OUR_HETEROSCEDASTIC}, "free", ["likelihood"]),
    "a loss": ({"likelihood.loss.class": "own.NLL"}, "free", ["likelihood.loss"]),
    "a search": ({"search.class": "own.Best", "search.folds": 2}, "free", ["search"]),
    "an experiment": ({"class": "own.Experiment"}, "free", ["class"]),
    "a network": ({"compared_settings": [], "network.width": 500}, "free", ["network.width"]),
    "no network": ({"trains_network": False, "network.width": 500}, "book", []),
    "a fixed value": ({"hyper_names": [], "method.dropout": 0.01}, "fixed", []),
    "another fixed value": ({"hyper_names": ["scale"], "method.scale": 3}, "fixed", []),
    "a value in units": ({"fixed_original_units.prior_precision": 2.0}, "fixed", []),
    "bounds in units": (
        {"bounds_original_units.noise_precision": (1.0, 2.0)},
        "free",
        ["bounds_original_units.noise_precision"],
    ),
    "a constant": ({"hyper_names": [], "method.scale": 3}, "book", []),
    "settings of its own": ({"training.epochs": 7, "bounds.dropout": (0.1, 0.2)}, "book", []),
}
"""Settings and metadata of a run of a user's class that keep the labels of the protocol."""


@pytest.mark.parametrize("name", DISGUISES)
def test_the_protocol_compares_what_a_run_is(plain: dict[str, Any], name: str) -> None:
    changes, track, differing = DISGUISES[name]
    metadata = {n: value for n, value in changes.items() if n in plain}
    settings = {n: value for n, value in changes.items() if n not in plain}
    run = {**plain, **metadata, "settings": {**plain["settings"], **settings}}
    assert track_of(run, tuning_of(run)) == track
    assert [text.partition("=")[0] for text in changed_settings(run)] == differing
    assert (protocol_of(run) == protocol_of(plain)) == (not differing)
    assert len(setting_differences(run)) == len(differing)  # the marks in tables agree


@pytest.fixture(scope="module")
def plain() -> dict[str, Any]:
    """Return a run of a user's class under the published protocol."""
    record = build(compose("dataset=boston", "method=mc_dropout")).record
    own = {"family": "own.Plain", "method": "plain"}
    return {**record.metadata, **own, "settings": flatten(record.identity)}


def test_components_of_published_results_have_their_classes() -> None:
    classes = {
        "gaussian": Gaussian,
        "heteroscedastic": Heteroscedastic,
        "heteroscedastic_softplus": HeteroscedasticSoftplus,
        "nll": NLL,
        "bayesian_optimisation": BayesianOptimisation,
        "grid": Grid,
        "none": NoSearch,
    }
    assert {name: identity_name(cls) for name, cls in classes.items()} == COMPONENT_CLASSES
    assert all(getattr(cls, "label", name) == name for name, cls in classes.items())


def test_the_reference_results_have_the_tracks_of_their_records() -> None:
    for run in read_reference_results().runs.to_dict("records"):
        found = {"tuning": tuning_of(run), "protocol": protocol_of(run)}
        found["track"] = track_of(run, found["tuning"])
        assert found == {name: run[name] for name in found}, (run["method"], run["dataset"])
