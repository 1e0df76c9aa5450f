"""Compiled training steps, one for each class of method.

Compiling takes seconds. tests/methods/test_contract.py traces all other variants and likelihoods
without compiling them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from support.divergences import divergence, monte_carlo
from support.methods import Case, compiled_cases

from bnnbench.checking.small_fits import small_task, training_set
from bnnbench.divergences.base import Divergence
from bnnbench.methods.bbb import BBB
from bnnbench.methods.deep_ensemble import DeepEnsemble
from bnnbench.methods.map import MAP
from bnnbench.methods.mc_dropout import MCDropout
from bnnbench.methods.practical_vi import PracticalVI
from bnnbench.methods.shared import compilation
from bnnbench.methods.shared.contract import FitTask, Method, State
from bnnbench.methods.shared.trainer import StochasticMethod
from bnnbench.methods.vadam import Vadam
from bnnbench.settings import Network

pytestmark = pytest.mark.skipif(not compilation.available(), reason="no compiler")

OWNERS = tuple(compiled_cases())


def compiled_method(owner: type[Method]) -> Method:
    """Return the method to compile for a class."""
    # The code of a likelihood is the same for all methods, and is compiled with these.
    likelihoods = {
        MAP: Case("map", likelihood="heteroscedastic"),
        Vadam: Case("vadam", likelihood="heteroscedastic", loss="gamma"),
    }
    return (compiled_cases() | likelihoods)[owner].method


# These have their own forward or backward passes.
WITH_HIDDEN_LAYER = (DeepEnsemble, MCDropout, PracticalVI)


def assert_compiled_fit_is_the_same(method: Method, depth: int) -> None:
    """Fit two epochs; the last minibatch is smaller and is not compiled."""
    states = []
    for compile_ in (False, True):
        task = small_task(method, training_set(), epochs=2, compile=compile_)
        states.append(method.fit(replace(task, network=Network(5, depth))).state)
    for key, value in states[0].items():
        torch.testing.assert_close(states[1][key], value, rtol=1e-7, atol=1e-9)


@pytest.fixture
def separate_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every entry of the initial state its own tensor.

    Shared tensors would need another compilation for the first step, which
    `test_update_is_a_single_graph` covers.
    """
    for owner in (BBB, DeepEnsemble, PracticalVI):

        def init(
            self: StochasticMethod, task: FitTask, start: Callable[..., State] = owner.init
        ) -> State:
            return {name: value.clone() for name, value in start(self, task).items()}

        monkeypatch.setattr(owner, "init", init)


@pytest.mark.slow
@pytest.mark.usefixtures("separate_tensors")
@pytest.mark.parametrize("owner", OWNERS, ids=lambda owner: owner.__name__)
def test_compiled_step_computes_the_same(owner: type[Method]) -> None:
    assert_compiled_fit_is_the_same(compiled_method(owner), depth=int(owner in WITH_HIDDEN_LAYER))


@pytest.mark.slow
@pytest.mark.usefixtures("separate_tensors")
@pytest.mark.parametrize(
    "chosen",
    [divergence("js"), divergence("fisher"), monte_carlo(divergence("renyi"), "laplace")],
    ids=lambda chosen: chosen.name,
)
def test_compiled_divergence_computes_the_same(chosen: Divergence) -> None:
    assert_compiled_fit_is_the_same(BBB(label="bbb", divergence=chosen), depth=0)
