"""No search: every value must be set."""

from __future__ import annotations

import pytest
from support.user_errors import assert_user_error

from bnnbench.search.no_search import NoSearch
from bnnbench.settings import Dimension
from bnnbench.types import UserError


def test_no_search_needs_values() -> None:
    space = (Dimension("noise_precision", 1.0, 100.0), Dimension("prior_precision", 0.02, 50.0))
    with pytest.raises(UserError) as error:
        NoSearch(label="none").suggest(space, [], 0)
    assert_user_error(error, "search")
    assert "method.noise_precision=VALUE method.prior_precision=VALUE" in str(error.value)
