"""Why a run is not compared or not ranked with reference results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.reference import reference_run
from support.user_errors import raises_user_error

from bnnbench.results.metric_table import BY_KEY
from bnnbench.results.read.run_tables import read_runs
from bnnbench.results.reference.comparison import Comparisons, compare_with_reference
from bnnbench.results.reference.write import add

SHORT = {"search__iterations": 5}
OWN = {"training__epochs": 5, "training__final_epochs": 400, "training__learning_rate": 0.1}
FIXED = {"method__noise_precision": 10.0, "method__prior_precision": 1.0}

REASONS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "a shorter search": (
        {"settings": {"search__iterations": 10, "search__folds": 3}},
        ("search.iterations=10 (reference: 30), search.folds=3 (reference: 5)", ":book"),
    ),
    "no search": (
        {"settings": {"search": {"label": "none"}, **FIXED}},
        (
            "search=none (reference: bayesian_optimisation)",
            "method.noise_precision=10 (reference: searched)",
        ),
    ),
    "another network": (
        {"settings": {"network__width": 20}},
        ("network.width=20 (reference: 50)",),
    ),
    "other bounds": (
        {"settings": {"bounds__prior_precision": [1, 2]}},
        ("bounds.prior_precision=[1,2] (reference: [0.0183156,54.5982])",),
    ),
    "another noise model": (
        {"likelihood": "heteroscedastic"},
        ("likelihood=heteroscedastic (reference: gaussian)",),
    ),
    "a fixed hyper-parameter": (
        {"settings": {"method__dropout": 0.01}},
        ("track fixed (not searched: dropout)",),
    ),
    "another data set": ({"dataset": "wine"}, ("on it (available: boston)",)),
    "too few splits": ({"n_splits": 2}, ("shares 2 splits", "needs 3")),
    "one split": ({"n_splits": 1}, ("shares 1 split ",)),
}
"""Runs of `mine`, and what is said of them."""


def compared(root: Path, track: str = "", methods: tuple[str, ...] = ()) -> Comparisons:
    reference, metrics = f"reference{track}@{root / 'reference'}", (BY_KEY["rmse"],)
    return compare_with_reference(read_runs(root / "mine"), reference, metrics, 0.01, methods)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Reference runs of three methods on boston, of which `free` has other settings."""
    for method in ("vadam", "pbp"):
        reference_run(tmp_path / "theirs", method=method)
    reference_run(tmp_path / "theirs", method="free", settings=SHORT)
    assert len(add(tmp_path / "reference", tmp_path / "theirs").added) == 3
    return tmp_path


@pytest.mark.parametrize("name", REASONS)
def test_the_reason_names_the_settings(root: Path, name: str) -> None:
    changes, expected = REASONS[name]
    reference_run(root / "mine", method="mine", **changes)
    with raises_user_error("--with", "nothing_comparable") as error:
        compared(root)
    assert all(text in str(error.value) for text in expected), str(error.value)
    reference_run(root / "mine", method="other")
    comparisons = compared(root)
    (message,) = comparisons.left_out
    assert message.startswith("mine on ") and all(text in message for text in expected)
    (comparison,) = comparisons.tracks
    assert set(comparison.pairs["a"]) == {"other"}


def test_settings_of_the_method_itself_do_not_matter(root: Path) -> None:
    """Neither do those of rivals: `other` was trained differently, too."""
    reference_run(root / "more", method="other", settings={"training__batch_size": 7})
    assert len(add(root / "reference", root / "more").added) == 1
    reference_run(root / "mine", method="mine", settings={**OWN, "method__step": 3})
    found = compared(root)
    (comparison,) = found.tracks
    assert comparison.track == "book" and not found.left_out
    assert set(comparison.pairs["b"]) == {"vadam", "pbp", "other"}
    assert comparison.pairs["counted"].all() and (comparison.mine.scored["unranked"] == "").all()


def test_a_run_without_ranks_is_compared_with_a_named_track(root: Path) -> None:
    reference_run(root / "mine", method="mine", settings={"search__folds": 3})
    (comparison,) = compared(root, ":book").tracks
    assert len(comparison.pairs) == 2 and not comparison.pairs["counted"].any()


def test_runs_in_the_free_track_need_the_same_protocol(root: Path) -> None:
    reference_run(root / "mine", method="mine", settings={**SHORT, "network__width": 20})
    with raises_user_error("--with", "nothing_comparable"):
        compared(root)
    reference_run(root / "mine", "same", method="mine", settings=SHORT)
    (comparison,) = compared(root).tracks
    assert comparison.track == "free" and comparison.pairs["counted"].tolist() == [True]


def test_methods_may_be_missing_in_some_tracks(root: Path) -> None:
    reference_run(root / "mine", method="mine", settings=SHORT)
    reference_run(root / "mine", method="other")
    both = compared(root)
    assert [one.track for one in both.tracks] == ["book", "free"] and not both.left_out
    for method, track in (("vadam", "book"), ("free", "free")):
        found = compared(root, methods=(method,))
        assert [one.track for one in found.tracks] == [track]
        assert set(found.tracks[0].pairs["b"]) == {method}
        (message,) = found.left_out
        assert f"{method} ran with other settings" in message
    assert len(compared(root, methods=("free", "vadam")).tracks) == 2
    with raises_user_error("--methods", "unknown_name"):
        compared(root, methods=("vadam", "vadm"))
