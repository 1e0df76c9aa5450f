"""Every loss, at several orders."""

from __future__ import annotations

import pytest

from bnnbench.losses import NLL, Beta, Gamma, Loss

LOSSES: list[Loss] = [NLL(), Beta(beta=1.5), Beta(beta=3.0), Gamma(gamma=1.5), Gamma(gamma=3.0)]


def loss_id(loss: Loss) -> str:
    """Return the label and the order of a loss."""
    return loss.label + "".join(str(getattr(loss, n, "")) for n in ("beta", "gamma"))


every_loss = pytest.mark.parametrize("loss", LOSSES, ids=loss_id)
