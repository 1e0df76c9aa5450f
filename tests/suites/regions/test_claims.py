"""The claim that compares tails with gaps, on made-up scores."""

from __future__ import annotations

import pandas as pd
import pytest

from bnnbench.results.claims.claims import NotTestable
from bnnbench.suites.regions.page import every_method_loses_more_in_tails


def scores(kind: str, method: str, losses: list[float]) -> pd.DataFrame:
    return pd.DataFrame({
        "kind": kind, "method": method, "source": "made", "split": range(len(losses)),
        "inside.log_likelihood": 0.0, "region.log_likelihood": [-loss for loss in losses],
    })  # fmt: skip


def test_every_method_must_lose_more_in_tails() -> None:
    gaps = [scores("gap", name, [0.0, 5, 10, 20]) for name in ("bbb", "map")]
    tails = [scores("tail", "bbb", [1.1, 6, 11, 21.2]), scores("tail", "map", [0.0, 5, 10, 30])]
    holds, evidence = every_method_loses_more_in_tails(pd.concat([*gaps, *tails]))
    assert not holds and evidence.startswith("1 of 2 methods; loss of map ")
    assert every_method_loses_more_in_tails(pd.concat([*gaps, tails[0]]))[0]
    with pytest.raises(NotTestable):
        every_method_loses_more_in_tails(pd.concat(gaps))
