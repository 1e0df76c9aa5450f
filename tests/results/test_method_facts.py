"""Properties of the method in a record; older records have those of the family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from support.config import compose

from bnnbench.config.assemble import build
from bnnbench.identity import digest
from bnnbench.methods.gp import GP
from bnnbench.methods.hmc import HMC
from bnnbench.methods.linear import Linear
from bnnbench.methods.mc_dropout import MCDropout
from bnnbench.methods.pbp import PBP
from bnnbench.methods.shared.contract import Method
from bnnbench.methods.shared.trainer import StochasticMethod
from bnnbench.methods.sklearn import Sklearn
from bnnbench.methods.tagi import TAGI
from bnnbench.results.method_facts import (
    FAMILY_SETTINGS,
    compared_settings,
    trains_network,
    uses_evidence,
)
from bnnbench.results.published.protocol import published_settings, tuned_on_test
from bnnbench.results.published.values import counterpart
from bnnbench.results.settings import flatten

PARENTS = (GP, HMC, Linear, MCDropout, PBP, Sklearn, TAGI)


@pytest.mark.parametrize("parent", PARENTS)
def test_a_subclass_inherits_all_but_the_identity(parent: type[Method]) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Mine(parent):  # type: ignore[misc, valid-type]
        pass

    arguments = {"estimator": "sklearn.linear_model.Ridge"} if parent is Sklearn else {}
    mine, other = Mine(label="mine", **arguments), parent(label="other", **arguments)
    assert mine.metadata() == other.metadata()
    assert mine.family not in (other.family, *FAMILY_SETTINGS)
    recorded, older = {"family": mine.family, **mine.metadata()}, {"family": other.family}
    for fact in (compared_settings, trains_network, uses_evidence):
        assert fact(recorded) == fact(older) == fact({**older, "compared_settings": float("nan")})


@pytest.mark.parametrize(
    ("parent", "attributes", "expected"),
    [
        (MCDropout, {}, True),
        (MCDropout, {"compared_settings": ("training.final_epochs",)}, True),
        (MCDropout, {"compared_settings": ()}, True),
        (MCDropout, {"trains_network": False}, True),
        (StochasticMethod, {"trains_network": False}, True),
        (Linear, {}, False),
        (Linear, {"trains_network": True}, True),
        (Method, {}, True),
        (Method, {"trains_network": False}, False),
    ],
)
def test_what_is_compared_does_not_decide_whether_a_network_is_trained(
    parent: type[Method], attributes: dict[str, Any], expected: bool
) -> None:
    cls = dataclass(frozen=True, kw_only=True)(type("Mine", (parent,), attributes))
    cls.__abstractmethods__ = frozenset()
    metadata = cls(label="mine").metadata()
    assert metadata["trains_network"] == expected
    assert trains_network({"family": cls.family, **metadata}) == expected


def test_a_subclass_is_not_compared_with_the_published_values_of_its_parent() -> None:
    record = build(compose("dataset=boston", "method=pbp")).record
    run = {**record.metadata, "settings": flatten(record.identity), "splits": 20}
    assert counterpart(run, "rmse") is not None
    assert counterpart({**run, "family": "mine.MyPBP", "method": "mine"}, "rmse") is None
    claimed = {**run["settings"], "method.class": "mine.MyPBP"}  # with our family
    assert counterpart({**run, "settings": claimed}, "rmse") is None


TUNED = {"tagi_2024": True, "tagi_v_2024": True, "tagi_v_gains_2024": True,
         "mc_dropout_gal2016": True, "deep_ensemble_2017_softplus": True,
         "tagi": False, "bbb_slang": False, "mine": False}  # fmt: skip


@pytest.mark.parametrize("method", TUNED)
def test_presets_that_were_tuned_with_test_rows(method: str) -> None:
    run = {"method": method, "family": "tagi", "dataset": "boston"}
    assert tuned_on_test(run) == TUNED[method]
    assert published_settings(method, "tagi", "boston")["tuned_on_test"] == TUNED[method]
    for recorded in (True, False):
        assert tuned_on_test({**run, "tuned_on_test": recorded}) == recorded
    assert tuned_on_test({**run, "tuned_on_test": float("nan")}) == TUNED[method]


def test_the_yaml_decides_and_the_digest_does_not_change() -> None:
    plain, tuned = (
        build(compose("dataset=diabetes", "method=linear", *words)).record
        for words in ((), ("+method.tuned_on_test=true",))
    )
    assert not plain.metadata["tuned_on_test"] and tuned.metadata["tuned_on_test"]
    assert plain.digest == tuned.digest == digest(tuned.identity)
