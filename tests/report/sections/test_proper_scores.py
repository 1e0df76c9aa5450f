"""Conformal intervals and proper scores of a run, where the exact answers are known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.blocks import blocks, data_files
from support.config import TINY, compose
from support.user_errors import raises_user_error

from bnnbench.config.assemble import build
from bnnbench.experiment.run.execution import execute
from bnnbench.experiment.store.split_files import OUT_OF_FOLD
from bnnbench.report.sections import proper_scores
from bnnbench.results.metric_table import COMPUTED
from bnnbench.results.read.run_filter import RunFilter
from bnnbench.results.read.run_tables import read_runs
from bnnbench.results.reference.comparison import compare_with_reference
from bnnbench.results.score.conformal import split_intervals
from bnnbench.results.score.later_scores import select_runs_with_scores
from bnnbench.results.score.predictions import Mixture, SplitPredictions, split_predictions

POINTS = 3000


def exact(seed: int = 0, held_out: bool = True) -> SplitPredictions:
    """Return targets from their Gaussian predictive distributions, of different widths."""
    random = np.random.default_rng(seed)

    def points() -> pd.DataFrame:
        epistemic, mean = random.uniform(0.1, 4, POINTS), random.normal(size=POINTS)
        target = mean + np.sqrt(epistemic + 1) * random.normal(size=POINTS)
        variances = {"epistemic_variance": epistemic, "noise_variance": 1.0}
        return pd.DataFrame({"target": target, "mean": mean, **variances})

    own = points()
    mixture = Mixture(*(own[[c]].to_numpy() for c in own.columns[1:]))
    return SplitPredictions(0, own, mixture, points() if held_out else pd.DataFrame())


def test_exact_gaussians_are_covered_by_every_interval() -> None:
    rows = pd.DataFrame(split_intervals(exact())).set_index("interval")
    assert rows.index.tolist() == ["raw", "constant", "cqr"]
    assert rows["coverage"].to_numpy() == pytest.approx(0.9, abs=0.02)
    assert rows["score"].idxmin() in ("raw", "cqr")  # a constant width is not proper
    assert [row["interval"] for row in split_intervals(exact(held_out=False))] == ["raw"]


@pytest.mark.slow
def test_the_section_of_a_run(tmp_path: Path) -> None:
    words = ["dataset=diabetes", "method=bbb", "method.prior_precision=1", "search=none", *TINY]
    words += ["method.noise_precision=5", "workers=1"]
    words += [f"evaluation.save_{name}=true" for name in ("predictive_mixture", "fold_predictions")]
    folder = execute(build(compose(*words, f"outputs_dir={tmp_path}")))
    for one in split_predictions(folder):
        mean, total = one.mixture.loc.mean(1), one.mixture.epistemic_deviation() ** 2
        assert mean == pytest.approx(one.points["mean"].to_numpy(), rel=1e-4)
        assert total == pytest.approx(one.points["epistemic_variance"].to_numpy(), rel=1e-3)
    files = data_files(blocks(proper_scores.section, tmp_path))
    assert len(files["intervals"]) == 2 * 4
    conformal = files["intervals"]["in_band"].dropna()
    assert len(files["proper_scores"]) == 2 and len(conformal) == 2 * 3
    runs, keys = read_runs(tmp_path), [metric.key for metric in COMPUTED]
    scored = select_runs_with_scores(runs, RunFilter(metrics=(*keys, "rmse"))).scored.iloc[0]
    for key in keys:
        assert scored[f"{key}_mean"] == pytest.approx(files["proper_scores"][key].mean())
    runs.folders[scored.name].arrays(OUT_OF_FOLD).unlink()
    with raises_user_error("--metric", "no_predictions"):
        select_runs_with_scores(replace(runs, _cache={}), RunFilter(metrics=("tail_crps",)))
    with raises_user_error("--metric", "not_in_reference"):
        compare_with_reference(runs, "reference", COMPUTED, 0.01)
