"""Which runs are compared with which chains, and their distances."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.runs import add_arrays, make_run
from support.saved_mixtures import HALVES_DISTANCE, make_approximation, make_chains

from bnnbench.experiment.store.split_files import OBJECTIVE
from bnnbench.results.read.run_tables import read_runs
from bnnbench.suites.gold_standard.comparison import Comparison, build_comparisons


def compared(outputs: Path) -> Comparison:
    (found,) = build_comparisons(read_runs(outputs))
    return found


def test_known_distances(tmp_path: Path) -> None:
    """The distance of shifted components is the shift."""
    make_chains(tmp_path)
    folder = make_approximation(tmp_path, "vadam", 0.1)
    make_approximation(tmp_path, "map", 0.3, width_ratio=0.0)
    epochs = {"split": np.repeat(range(4), 20), "epoch": np.tile(range(1, 21), 4)}
    add_arrays(folder, OBJECTIVE, {**epochs, "loss": -epochs["epoch"], "complexity": np.ones(80)})
    found = compared(tmp_path)
    means = found.table.assign(name=found.table["run"].map(found.names)).groupby("name")
    means = means.mean(numeric_only=True)
    assert means.loc["hmc", ["w1", "w2"]].tolist() == pytest.approx([HALVES_DISTANCE] * 2, rel=1e-3)
    assert means.loc["vadam", "w1"] == pytest.approx(0.1, rel=1e-3)
    assert means.loc["vadam", "epistemic_ratio"] == pytest.approx(1)
    assert means.loc["vadam", "epistemic_correlation"] == pytest.approx(1)
    assert means.loc["vadam", "mass_inside"] < 0.9
    assert means.loc["vadam", "objective"] == 1 - 19.5 and np.isnan(means.loc["map", "objective"])
    assert means.loc["vadam", "w1_function"] == pytest.approx(0.1, rel=0.02)
    assert 0.01 < means.loc["vadam", "energy_distance"] < 0.1
    assert means.loc["map", "epistemic_ratio"] < 0.05
    assert means.loc["map", "w2"] >= means.loc["map", "w1"] >= 0.3 - 1e-3
    assert (means["w1_sampled"] > means["w1"] - 0.02).all()
    assert found.chain_halves["split"].tolist() == [0, 1, 2, 3] and len(found.methods) == 8


def test_splits_are_paired_by_their_test_rows(tmp_path: Path) -> None:
    """In any order, without splits that diverged or that only one run has."""
    make_chains(tmp_path, fingerprint=["a", "b", "c", "d"])
    there = {"fingerprint": ["d", "b", "x", "a"], "diverged": [0, 0, 0, 1]}
    folder = make_approximation(tmp_path, "vadam", 0.0, **there)
    with np.load(folder.arrays("mixture")) as arrays:
        kept = {name: arrays[name] for name in arrays.files}
    kept["split"] = np.repeat([3, 1, 2, 0], 5)  # its split 0 tests what the chains' split 3 does
    np.savez(folder.arrays("mixture"), **kept)
    found = compared(tmp_path)
    assert found.methods["split"].tolist() == [1, 3]
    assert found.methods["w1"].tolist() == pytest.approx([0, 0])


def test_runs_of_another_model_are_excluded_with_a_reason(tmp_path: Path) -> None:
    make_chains(tmp_path)
    make_approximation(tmp_path, "vadam", 0.1)
    make_approximation(tmp_path, "wide", 0.1, **{"hp.prior_precision": 2.0})
    make_approximation(tmp_path, "deep", 0.1, depth=2)
    make_approximation(tmp_path, "own", 0.1, **{"hp.noise_precision": np.nan})
    prior = {"method__divergence__prior": "laplace"}
    make_approximation(tmp_path, "pointed", 0.1, settings=prior)
    make_approximation(tmp_path, "strange", 0.1, fingerprint=["p", "q", "r", "s"])
    make_run(tmp_path, "bare", method="bbb", experiment="gold_standard")  # kept nothing
    found = compared(tmp_path)
    assert found.methods["run"].nunique() == 1
    assert {one.partition(":")[0]: one.partition(": ")[2] for one in found.excluded} == {
        "wide": "its prior precision is 2, not 1",
        "deep": "its depth is 2, not 1",
        "own": "its noise precision is not fixed",
        "pointed": "its prior is laplace, not gaussian",
        "strange": "it has no split in common with the reference",
    }


def test_other_chains_of_the_same_model_are_compared_too(tmp_path: Path) -> None:
    """The run with most splits is the reference; another model has its own reference."""
    make_chains(tmp_path)
    make_chains(tmp_path, variant="again", seed=8)
    make_chains(tmp_path, variant="other", **{"hp.noise_precision": 3.0})
    make_chains(tmp_path, variant="drawn", seed=9, **{"hp.noise_precision": np.nan})
    found = build_comparisons(read_runs(tmp_path))
    assert [len(one.methods) for one in found if len(one.methods)] == [4]
    assert len(found) == 3
    assert any(
        "the reference samples its noise precision" in s for one in found for s in one.excluded
    )


def test_fits_of_the_logarithm_are_not_compared(tmp_path: Path) -> None:
    """Their mixtures are in units of the logarithm, not of the target."""
    logs = {"dataset__log_target": True}
    make_chains(tmp_path, settings=logs)
    make_approximation(tmp_path, "vadam", 0.1, settings=logs)
    assert build_comparisons(read_runs(tmp_path)) == []
    make_chains(tmp_path, variant="other")
    assert compared(tmp_path).methods.empty


def test_learned_precisions_are_compared_with_sampled_ones_under_the_same_prior(
    tmp_path: Path,
) -> None:
    free = {"hp.noise_precision": np.nan, "hp.prior_precision": np.nan}
    prior = {"method__noise_gamma": (1.0, 0.1), "method__prior_gamma": (1.0, 0.1)}
    make_chains(tmp_path, settings=prior, **free)
    make_approximation(tmp_path, "svgd", 0.1, settings=prior, **free)
    make_approximation(tmp_path, "dvi", 0.1, **free)
    make_approximation(tmp_path, "map", 0.1)
    other = {**prior, "method__noise_gamma": (2.0, 0.1)}
    make_approximation(tmp_path, "other", 0.1, settings=other, **free)
    found = compared(tmp_path)
    assert {*found.methods["run"].map(found.names)} == {"svgd"}
    assert len(found.excluded) == 3
