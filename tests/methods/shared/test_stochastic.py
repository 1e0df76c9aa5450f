"""What every stochastic method has unless it says otherwise."""

from __future__ import annotations

import pytest
import torch
from support.methods import METHODS, Case, class_of

from bnnbench.checking.trial import small_task, training_set
from bnnbench.likelihoods.heteroscedastic import Heteroscedastic
from bnnbench.methods.map import MAP
from bnnbench.methods.shared.stochastic import StochasticMethod
from bnnbench.random_streams import Streams
from bnnbench.types import UserError


@pytest.mark.parametrize(
    "option", [o for o in METHODS if issubclass(class_of(o), StochasticMethod)]
)
def test_a_noise_precision_does_not_go_with_a_learnt_noise(option: str) -> None:
    config = Case(option).method
    with pytest.raises(UserError, match=r"method\.noise_precision=3.*likelihood=het"):
        type(config)(**{**vars(config), "likelihood": Heteroscedastic(), "noise_precision": 3})


def test_an_objective_is_the_loss_alone_unless_a_method_adds_to_it() -> None:
    method, data = MAP(label="map"), training_set()
    posterior = method.fit(small_task(method, data))
    streams = Streams([1, 2], data.groups)
    assert (method.complexity(posterior, streams) > 0).all()
    added = StochasticMethod.complexity(method, posterior, streams)
    assert torch.equal(added, torch.zeros(data.replicas).double())
