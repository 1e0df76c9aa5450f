"""Training steps as `torch.compile` builds them: one program for each class of method.

A build takes some seconds. That the step of every other variant and likelihood is one graph which
computes the same is for tests/methods/test_contract.py to say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from support.divergences import divergence, sampled
from support.methods import Case, programs

from bnnbench.checking.trial import small_task, training_set
from bnnbench.divergences.stacked import StackedDivergences
from bnnbench.methods.bbb import BBB
from bnnbench.methods.deep_ensemble import DeepEnsemble
from bnnbench.methods.map import MAP
from bnnbench.methods.mc_dropout import MCDropout
from bnnbench.methods.practical_vi import PracticalVI
from bnnbench.methods.shared import compilation
from bnnbench.methods.shared.contract import FitTask, Method
from bnnbench.methods.shared.stochastic import StochasticMethod
from bnnbench.methods.shared.trainer import State
from bnnbench.methods.vadam import Vadam
from bnnbench.settings import Network

pytestmark = pytest.mark.skipif(not compilation.available(), reason="no compiler")

OWNERS = tuple(programs())


def program(owner: type[Method]) -> Method:
    """What is built of a class."""
    if owner is BBB:  # three divergences in one program, a replica each
        three = (divergence("js"), divergence("fisher"), divergence("kl"))
        return BBB(label="bbb", divergence=StackedDivergences(three, 1))
    # A likelihood's part is the same in all of them, and is built with these.
    some = {
        MAP: Case("map", likelihood="heteroscedastic"),
        Vadam: Case("vadam", likelihood="heteroscedastic", loss="gamma"),
    }
    return (programs() | some)[owner].method


# These go through the layers in a way of their own; the others say something of weights alone.
OF_A_NETWORK = (DeepEnsemble, MCDropout, PracticalVI)


def assert_fused_fit_is_the_same(method: Method, depth: int) -> None:
    """Two epochs, the last minibatch of each smaller than the others and not compiled."""
    states = []
    for fuse in (False, True):
        task = small_task(method, training_set(), epochs=2, compile=fuse)
        states.append(method.fit(replace(task, network=Network(5, depth))).state)
    for key, value in states[0].items():
        torch.testing.assert_close(states[1][key], value, rtol=1e-7, atol=1e-9)


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every method starts with a tensor for each entry of its state.

    Where two entries start as one, the first step is a program of its own, which
    `test_one_graph_holds_the_whole_step` has.
    """
    for owner in (BBB, DeepEnsemble, PracticalVI):

        def init(
            self: StochasticMethod, task: FitTask, start: Callable[..., State] = owner.init
        ) -> State:
            return {name: value.clone() for name, value in start(self, task).items()}

        monkeypatch.setattr(owner, "init", init)


@pytest.mark.slow
@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize("owner", OWNERS, ids=lambda owner: owner.__name__)
def test_compiled_step_computes_the_same(owner: type[Method]) -> None:
    assert_fused_fit_is_the_same(program(owner), depth=int(owner in OF_A_NETWORK))


@pytest.mark.slow
@pytest.mark.usefixtures("apart")
def test_compiled_estimate_of_a_divergence_computes_the_same() -> None:
    estimated = sampled(divergence("renyi"), "laplace")
    assert_fused_fit_is_the_same(BBB(label="bbb", divergence=estimated), depth=0)
