"""Methods in runs: folders, metadata, incompatible choices, and diagnostics."""

from __future__ import annotations

import pytest
from support.config import compose
from support.tiny_runs import Planner, finished
from support.user_errors import assert_user_error

from bnnbench.cpp.library import Library, library
from bnnbench.experiment.splits.split_experiment import SplitExperiment
from bnnbench.report.split_run_page import figure_functions, run_notes
from bnnbench.results.metric_table import heading_of
from bnnbench.results.read.run_files import read_columns, read_predictions
from bnnbench.results.read.split_means import summarise
from bnnbench.results.score.run_notes import unconverged_splits
from bnnbench.types import DuplicateConfiguration


@pytest.mark.parametrize(
    "chosen",
    [
        ("method=pbp",),
        ("method=linear", "depth=0"),
        ("method=mc_dropout", "likelihood=heteroscedastic"),
        ("method=hmc",),
    ],
)
def test_a_run_searches_and_stacks_like_its_method(tiny: Planner, chosen: tuple[str, ...]) -> None:
    experiment = tiny(*chosen).experiment
    assert isinstance(experiment, SplitExperiment)
    searched, method = [dimension.name for dimension in experiment.space], experiment.method
    assert searched == [name for name in method.hyper_names if name not in method.fixed_hyper()]
    assert experiment.lockstep == method.stack_splits


def test_every_likelihood_and_loss_has_its_own_folders(tiny: Planner) -> None:
    names = [
        tiny("method=bbb", *more).folder.root.name
        for more in ([], ["likelihood=heteroscedastic"], ["loss=beta"],
                     ["loss=beta", "loss.beta=1.2"], ["loss=gamma"])
    ]  # fmt: skip
    assert len(set(names)) == 5
    assert "-kl-heteroscedastic-nll-seed0-" in names[1]
    named = tiny("method=bbb", "likelihood=heteroscedastic", "loss=gamma").record.metadata
    assert (named["likelihood"], named["loss"]) == ("heteroscedastic", "gamma")


@pytest.mark.parametrize(
    ("method", "setting", "value"),
    [
        *(
            (name, "initial_precision", 1000.0)
            for name in ("bbb", "practical_vi", "vadam", "vprop")
        ),
        ("psgld", "step_size", 0.14),
        *((name, "noise_precision", None) for name in ("renyi_vi_2016", "svgd_liu2016")),
    ],
)
def test_defaults_for_predicted_noise_hold_for_every_likelihood_but_the_gaussian(
    method: str, setting: str, value: float | None
) -> None:
    by_label = {
        label: compose(f"method={method}", *words)["method"][setting]
        for label, words in {
            "gaussian": (),
            "heteroscedastic": ("likelihood=heteroscedastic",),
            "mine": ("likelihood=heteroscedastic", "likelihood.label=mine"),
        }.items()
    }
    assert by_label["heteroscedastic"] == by_label["mine"] == value != by_label["gaussian"]


def test_a_run_is_named_by_its_divergence(tiny: Planner) -> None:
    run = tiny("method=bbb", "divergence=renyi", "divergence.alpha=2", "depth=2")
    assert "/bbb/depth2-renyi_2-" in run.folder.root.as_posix()
    with pytest.raises(DuplicateConfiguration) as error:
        tiny("method=mc_dropout", "divergence=js")
    assert_user_error(error, setting="divergence", code="not_accepted")


def test_splits_of_pbp_are_stacked_in_torch(tiny: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    native = tiny("method=pbp").experiment
    assert native.lockstep == (library().code is None)
    monkeypatch.setattr("bnnbench.methods.shared.contract.library", Library)
    together = tiny("method=pbp").experiment
    assert together.lockstep and together.iterations == 0  # type: ignore[attr-defined]
    assert not tiny("method=vadam").experiment.lockstep


def test_chains_are_diagnosed_at_every_test_point(tiny: Planner) -> None:
    """In columns, arrays, a figure and a note; chains of four draws cannot have mixed."""
    settings = ["method.max_leapfrogs=5", "training.final_epochs=8", "evaluation.samples=50"]
    folder, splits = finished(tiny("method=hmc", *settings))
    assert splits["diag.r_hat"].notna().all() and (splits["diag.acceptance"] > 0).all()
    assert {"diag.r_hat_noise_precision", "diag.divergences"} <= {*splits}
    points, predictions = read_columns(folder, "diagnosis"), read_predictions(folder)
    assert points is not None and predictions is not None
    assert points[["split", "row"]].equals(predictions[["split", "row"]])
    assert {"r_hat", "bulk_ess", "tail_ess"} <= {*points}
    assert figure_functions(folder)["mixing"]().axes
    assert unconverged_splits(splits) == splits["split"].tolist()
    assert sum("R-hat" in note for note in run_notes(folder)) == 1


def test_diagnostics_reach_the_files_and_the_table(tiny: Planner) -> None:
    fixed = ["method.noise_precision=5", "method.prior_precision=1", "evaluation.out_of_fold=false"]
    _, splits = finished(tiny("method=sgld", *fixed, "training.final_epochs=20"))
    assert (splits["diag.kept_samples"] == 8).all(), "half of 20 epochs of 4 steps, every fifth"
    assert splits["diag.effective_samples"].between(1, 8).all()
    summary = summarise(splits).set_index("metric")
    assert summary.loc["diag.kept_samples", "mean"] == 8
    assert heading_of("diag.effective_samples") == "Effective samples"
