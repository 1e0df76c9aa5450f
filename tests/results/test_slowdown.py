"""What is said about methods whose classes end native code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pytest

from bnnbench.cpp.library import library
from bnnbench.likelihoods.gaussian import Gaussian
from bnnbench.methods.bb_alpha_dropout import BBAlphaDropout
from bnnbench.methods.map import MAP
from bnnbench.methods.mc_dropout import MCDropout
from bnnbench.methods.pbp import PBP
from bnnbench.methods.svgd import SVGD
from bnnbench.methods.swag import SWAG
from bnnbench.methods.vadam import Vadam
from bnnbench.results.slowdown import MEASURED, describe_lost_native

pytestmark = pytest.mark.skipif(library().code is None, reason=library().reason)


def own(*bases: Any, name: str = "update", **settings: Any) -> Any:
    """Return an instance of a class from outside the package that replaces one attribute."""
    cls = type("Own", bases, {name: lambda self, *given: None})
    return dataclass(frozen=True, kw_only=True)(cls)(label="own", **settings)


class OwnGaussian(Gaussian):
    def gradient(self, *given: Any) -> Any:
        return 2 * super().gradient(*given)


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
    "a family that was not measured": (own(SWAG), "Own.update replaces SWAG.update", None),
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
        own(MCDropout, noise="gaussian"),
        own(BBAlphaDropout),
        own(SVGD),
        BBAlphaDropout(label="b"),
        own(PBP, name="predict"),
    ],
)
def test_nothing_is_said_if_nothing_is_lost(method: Any) -> None:
    """The parent has no native code with these settings, or it is used."""
    assert describe_lost_native(method) == ""
