"""Network outputs by native code against torch."""

from __future__ import annotations

import math

import pytest
import torch

from bnnbench.cpp.library import library
from bnnbench.native.networks import predict_outputs
from bnnbench.nn import MLP, forward

pytestmark = pytest.mark.skipif(library().code is None, reason=library().reason)


@pytest.mark.parametrize("rows", [1, 77, 900])
@pytest.mark.parametrize("sizes", [(3, 1), (5, 50, 1), (13, 100, 100, 2), (2, 7, 3)])
def test_outputs_equal_those_of_torch(sizes: tuple[int, ...], rows: int) -> None:
    """For several samples and sets, in one or more blocks of rows; NaN does not spread."""
    streams = torch.Generator().manual_seed(rows)
    mlp = MLP(sizes)
    networks = torch.randn(4, 3, mlp.n_weights, generator=streams)
    inputs = torch.randn(3, rows, sizes[0], generator=streams)
    networks[1, 2, 0] = math.nan
    found = torch.full((4, 3, rows, sizes[-1]), 7.0)
    predict_outputs(mlp, networks, inputs, found)
    right, _ = forward(mlp, networks.double(), inputs.double())
    assert found[1, 2].isnan().all()
    size = right.nan_to_num().abs().max().item()
    torch.testing.assert_close(found, right.float(), rtol=1e-5, atol=1e-6 * size, equal_nan=True)
