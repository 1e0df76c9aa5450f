"""The configuration of one fit to rows in memory."""

from __future__ import annotations

import pytest
from support.user_errors import raises_user_error

from bnnbench.config.assemble import compose_fit
from bnnbench.config.auto_protocol import auto_setting


@pytest.mark.parametrize("rows", [300, 60_000])
def test_the_automatic_protocol_depends_on_the_rows(rows: int) -> None:
    config = compose_fit(["method=map", "protocol=auto"], rows)
    found = {**config["training"], **config["search"]}
    for name in ("batch_size", "epochs", "folds", "iterations"):
        assert found[name] == auto_setting(name, rows)


def test_settings_without_effect_are_refused() -> None:
    for word in ("dataset=yacht", "workers=2", "evaluation.out_of_fold=true", "experiment=toy_1d"):
        with raises_user_error(word.partition("=")[0], "no_effect"):
            compose_fit([word], 100)
    config = compose_fit(["evaluation.samples=7", "method.prior_precision=2"], 100)
    assert config["evaluation"]["samples"] == 7 and config["method"]["prior_precision"] == 2
