"""Runs that were tuned with test rows are shown, but never ranked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.reference import reference_run
from support.runs import make_run
from support.user_errors import raises_user_error

from bnnbench.experiment.store.record import read_record, write_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.results.compare.outcomes import all_pairs, find_verdicts
from bnnbench.results.compare.ranking import rankings
from bnnbench.results.compare.recommendation import recommendation
from bnnbench.results.metric_table import BY_KEY
from bnnbench.results.read.run_tables import Runs, read_runs
from bnnbench.results.read.split_means import TUNED, comparable_losses, tuned_note
from bnnbench.results.reference.comparison import compare_with_reference
from bnnbench.results.reference.write import add

RMSE = BY_KEY["rmse"]

SEARCHED = {"search__label": "bayesian_optimisation"}
"""Settings with which presets that fix their hyper-parameters follow the protocol."""


def state(folder: RunFolder, tuned: bool = True) -> None:
    """Let a record say whether its preset was tuned with test rows."""
    record = read_record(folder)
    write_record(folder, replace(record, metadata={**record.metadata, "tuned_on_test": tuned}))


@pytest.fixture(params=["a preset of ours, by its name", "a preset of the user, by its record"])
def runs(request: pytest.FixtureRequest, tmp_path: Path) -> Runs:
    """Runs of four methods on two data sets; the tuned one has by far the best scores."""
    ours = request.param.startswith("a preset of ours")
    for dataset in ("boston", "yacht"):
        for number, method in enumerate(("vadam", "pbp", "ivon")):
            make_run(tmp_path, method=method, dataset=dataset, rmse=2.0 + number)
        name = "tagi_2024" if ours else "peek"
        best: dict[str, Any] = {"rmse": 0.1, "log_likelihood": 5.0, "family": "tagi"}
        folder = make_run(tmp_path, method=name, dataset=dataset, **best)
        if not ours:
            state(folder)
    return read_runs(tmp_path)


def test_it_is_neither_best_nor_ranked(runs: Runs) -> None:
    tuned = runs.scored["family"] == "tagi"
    assert (runs.scored.loc[tuned, "incomplete"] == TUNED).all()
    assert comparable_losses(runs.scored, RMSE)[tuned].isna().all()
    for verdict in find_verdicts(runs.scored, all_pairs(runs), RMSE):
        assert runs.scored.loc[verdict.best, "method"] == "vadam"
        assert [*verdict.incomplete.values()] == [TUNED]
    (ranked,) = rankings(runs)
    assert not {*ranked.runs} & {*runs.scored.index[tuned]}
    (name,) = runs.scored.loc[tuned, "method"].unique()
    assert name in tuned_note(runs.scored) and not tuned_note(runs.scored[~tuned])


def test_nothing_is_recommended_if_nothing_is_ranked(tmp_path: Path) -> None:
    for method in ("tagi_2024", "tagi_v_2024"):
        make_run(tmp_path, method=method, family="tagi")
    with raises_user_error("--methods", "none_ranked"):
        recommendation(read_runs(tmp_path))


def test_reference_runs(tmp_path: Path) -> None:
    """A tuned run is neither tested nor ranked, whether it is mine or a reference run."""
    families = {"mc_dropout_gal2016": "mc_dropout", "vadam": "vadam"}
    for method, family in families.items():
        reference_run(tmp_path / "theirs", method=method, family=family, settings=SEARCHED)
    for method, family in (("mine", "mine"), ("tagi_2024", "tagi")):
        reference_run(tmp_path / "mine", method=method, family=family, settings=SEARCHED)
    assert len(add(tmp_path / "reference", tmp_path / "theirs").added) == len(families)
    runs = read_runs(tmp_path / "mine")
    for track, other in (("book", "vadam"), ("fixed", "mc_dropout_gal2016")):
        text = f"reference:{track}@{tmp_path / 'reference'}"
        (found,) = compare_with_reference(runs, text, (RMSE,), 0.01).tracks
        pairs = found.pairs.set_index("a")
        assert set(pairs["b"]) == {other} and pairs["difference"].notna().all()
        assert pairs["counted"].to_dict() == {"mine": track == "book", "tagi_2024": False}
        unranked = pd.concat([found.mine.scored, found.reference.scored]).set_index("method")
        assert unranked["unranked"].to_dict() == {
            "mine": "", "tagi_2024": TUNED, other: "" if track == "book" else TUNED,
        }  # fmt: skip
