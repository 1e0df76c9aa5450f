"""No search: every value must be set."""

from __future__ import annotations

from support.user_errors import raises_user_error

from bnnbench.search.base import NoSearch
from bnnbench.settings import Dimension


def test_no_search_needs_values() -> None:
    space = (Dimension("noise_precision", 1.0, 100.0), Dimension("prior_precision", 0.02, 50.0))
    with raises_user_error(
        "search", mentions=["method.noise_precision=VALUE method.prior_precision=VALUE"]
    ):
        NoSearch(label="none").suggest(space, [], 0)
