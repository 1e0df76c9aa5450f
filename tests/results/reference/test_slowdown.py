"""Messages about methods whose classes prevent native code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import pandas as pd
import pytest
from support.methods import METHODS, class_of

from bnnbench.cpp.library import library
from bnnbench.divergences.kl import KL
from bnnbench.likelihoods import Gaussian
from bnnbench.losses import NLL, Beta
from bnnbench.methods.bb_alpha_dropout import BBAlphaDropout
from bnnbench.methods.bbb import BBB
from bnnbench.methods.hmc import HMC
from bnnbench.methods.map import MAP
from bnnbench.methods.mc_dropout import MCDropout
from bnnbench.methods.pbp import PBP
from bnnbench.methods.svgd import SVGD
from bnnbench.methods.swag import SWAG
from bnnbench.methods.tagi import TAGI
from bnnbench.methods.vadam import Vadam
from bnnbench.results.reference.slowdown import MEASURED, describe_lost_native

pytestmark = pytest.mark.skipif(library().code is None, reason=library().reason)


def own(*bases: Any, name: str = "update", **settings: Any) -> Any:
    """Return an instance of a class from outside the package that replaces one attribute."""
    cls = type("Own", bases, {name: lambda self, *given: None})
    return dataclass(frozen=True, kw_only=True)(cls)(**{"label": "own", **settings})


class OwnGaussian(Gaussian):
    def gradient(self, *given: Any) -> Any:
        return 2 * super().gradient(*given)


class OwnKL(KL):
    def gradient(self, *given: Any) -> Any:
        return super().gradient(*given)


CASES: Mapping[str, tuple[Any, str, str | None]] = {
    "an update": (own(MCDropout), "Own.update replaces MCDropout.update", "mc_dropout_x1"),
    "a family with its own row": (own(MAP, name="gradient"), "Own.gradient", "map"),
    "inherited noise": (
        own(Vadam, name="sample_noise"), "Own.sample_noise replaces VariationalMethod", "vadam"
    ),
    "passes": (own(PBP, name="_torch_passes"), "Own._torch_passes", "pbp"),
    "a likelihood": (
        Vadam(label="v", likelihood=OwnGaussian()), "OwnGaussian.gradient replaces", "vadam"
    ),
    "a likelihood of HMC": (
        HMC(label="h", likelihood=OwnGaussian(), noise_precision=5.0),
        "OwnGaussian.gradient replaces", None,
    ),
    "a divergence": (
        BBB(label="b", divergence=OwnKL(label="kl")), "OwnKL.gradient replaces", "bbb_x1"
    ),
    "an update of its parent": (
        own(BBAlphaDropout), "Own.update replaces MCDropout.update", "bb_alpha_dropout"
    ),
    "a family that was not measured": (own(SWAG), "Own.update replaces SWAG.update", None),
    "joint steps": (own(SVGD), "Own.update replaces SVGD.update", "svgd"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_lost_native_code_is_described(name: str) -> None:
    method, override, measured = CASES[name]
    sentence = describe_lost_native(method)
    factors = pd.read_csv(MEASURED, index_col="method")["factor"]
    assert sentence.startswith(override)
    assert [row for row in factors.index if f"method={row} " in sentence] == (
        [measured] if measured else []
    )
    if measured:
        assert f"{factors[measured]:.2g} times" in sentence


@pytest.mark.parametrize(
    "method",
    [
        MCDropout(label="m"),
        own(MCDropout, name="sample_weights"),
        own(MCDropout, noise="dropconnect"),
        BBAlphaDropout(label="b"),
        own(PBP, name="predict"),
        HMC(label="h"),
        BBB(label="b", divergence=OwnKL(label="kl", estimator="monte_carlo")),
        Vadam(label="v", likelihood=OwnGaussian(loss=Beta(label="beta", beta=1.5))),
    ],
)
def test_nothing_is_said_if_nothing_is_lost(method: Any) -> None:
    """The parent has no native code with these settings, or it is used."""
    assert describe_lost_native(method) == ""


class OwnNLL(NLL):
    def mean_slope(self, *given: Any) -> Any:
        return 2 * super().mean_slope(*given)


def test_every_native_method_reports_what_ends_native_code() -> None:
    """For each component in whose place native code is used."""
    given = {"label": "m", "divergence": KL(label="kl")}
    kinds = {*map(class_of, METHODS)}
    methods: list[Any] = [
        kind(**{field.name: given[field.name] for field in fields(kind) if field.name in given})
        for kind in kinds
        if kind.trains_network
    ]
    native = [method for method in methods if method.native]
    assert {BBB, HMC, MAP, MCDropout, PBP, SWAG, TAGI, Vadam} <= {*map(type, native)}
    for method in native:
        assert method.lost_native is None
        has_likelihood = any(field.name == "likelihood" for field in fields(method))
        for part in method.native_parts if has_likelihood else [method]:
            changed = with_own(method, part)
            assert not changed.native and " replaces " in describe_lost_native(changed)


def with_own(method: Any, part: Any) -> Any:
    """Return a method with a class of one's own in place of that of a component."""
    if part is method:
        return own(type(method), name=method.native_code[1][0], **shallow(method))
    if part is getattr(method, "divergence", None):
        return replace(method, divergence=OwnKL(**shallow(part)))
    settings = {"noise_precision": 5.0} if method.noise_precision == "sampled" else {}
    if part is not method.likelihood:
        likelihood = replace(method.likelihood, loss=OwnNLL(**shallow(part)))
    else:
        attributes = {"gradient": OwnGaussian.gradient}
        likelihood = type("OwnLikelihood", (type(part),), attributes)(**shallow(part))
    return replace(method, likelihood=likelihood, **settings)


def shallow(component: Any) -> dict[str, Any]:
    return {field.name: getattr(component, field.name) for field in fields(component)}
