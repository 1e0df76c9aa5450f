"""No search: every value must be given."""

from __future__ import annotations

import pytest

from bnnbench.search.no_search import NoSearch
from bnnbench.settings import Dimension
from bnnbench.types import UserError


def test_no_search_needs_values() -> None:
    space = (Dimension("noise_precision", 1.0, 100.0), Dimension("prior_precision", 0.02, 50.0))
    with pytest.raises(UserError, match=r"method\.noise_precision=VALUE"):
        NoSearch(label="none").suggest(space, [], 0)
