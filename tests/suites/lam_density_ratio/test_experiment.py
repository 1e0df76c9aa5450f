"""The experiment from its configuration to its tables: settings, units, resuming, mistakes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.command import assert_one_line_error
from support.config import compose
from support.refusals import assert_refused
from support.tiny_runs import no_page, with_experiment

from bnnbench.config.assemble import build
from bnnbench.config.sweep import compose_configs
from bnnbench.experiment.base import Member
from bnnbench.experiment.execution import execute
from bnnbench.experiment.run import Run
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.suites.lam_density_ratio import repetition, state_file
from bnnbench.suites.lam_density_ratio.experiment import Sprinkler
from bnnbench.suites.lam_density_ratio.networks import initial_weights
from bnnbench.suites.lam_density_ratio.tables import CURVES, REPETITIONS, SAMPLES
from bnnbench.suites.lam_density_ratio.trainer import Trainer

Command = Callable[..., tuple[int, str, str]]

TINY = (
    "experiment.pretraining_steps=4", "experiment.estimator_steps=2", "experiment.iterations=6",
    "experiment.samples=4", "experiment.evaluate_every=3", "workers=1",
)  # fmt: skip


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reduce the draws of the final scores, which would take longer than the training."""
    monkeypatch.setattr(repetition, "KL_ROUNDS", 2)
    monkeypatch.setattr(repetition, "WASSERSTEIN_DRAWS", 1000)


def run_of(outputs: Path, *overrides: str, repetitions: int = 2) -> Run:
    given = (*TINY, f"experiment.repetitions={repetitions}", *overrides, f"outputs_dir={outputs}")
    return build(compose("experiment=sprinkler", *given))


def experiment_of(*overrides: str) -> Sprinkler:
    experiment = build(compose("experiment=sprinkler", *overrides)).experiment
    assert isinstance(experiment, Sprinkler)
    return experiment


def tables(folder: RunFolder) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both tables without the measured times."""
    curves, ends = (pd.read_csv(folder.table(name)) for name in (CURVES, REPETITIONS))
    return curves, ends.drop(columns="seconds")


def test_a_run_writes_the_tables_that_pages_read(tmp_path: Path) -> None:
    folder = execute(run_of(tmp_path), no_page)
    curves, ends = (pd.read_csv(folder.table(name)) for name in (CURVES, REPETITIONS))
    assert list(curves) == ["repetition", "iteration", "average_kl", "estimator_loss", "nelbo"]
    assert curves[["repetition", "iteration"]].to_numpy().tolist() == [
        [r, i] for r in range(2) for i in (0, 3, 6)
    ]
    assert list(ends) == ["repetition", "average_kl", "average_kl_last5", "kl",
                          "sliced_wasserstein", "estimator_loss", "nelbo", "status", "failed_at",
                          "seconds"]  # fmt: skip
    last = curves.groupby("repetition").last()
    np.testing.assert_array_equal(ends["average_kl"], last["average_kl"])
    mean = curves.groupby("repetition")["average_kl"].mean()
    np.testing.assert_allclose(ends["average_kl_last5"], mean)
    assert ends["status"].tolist() == ["ok", "ok"] and ends["failed_at"].isna().all()
    with np.load(folder.arrays(SAMPLES)) as arrays:
        samples = arrays["samples"]
    assert samples.shape == (2, 5, 1000, 2) and samples.dtype == np.float32
    assert not list(folder.work.glob(f"*.{state_file.SUFFIX}"))


def test_nearest_neighbour_kl_is_the_average_kl_minus_its_floor(tmp_path: Path) -> None:
    """Both measure the same generator: 1.3239 apart, up to the density estimates."""
    _, ends = tables(execute(run_of(tmp_path, repetitions=1), no_page))
    assert (ends["average_kl"] - 1.3239 - ends["kl"]).abs().max() < 1.0


@pytest.mark.parametrize("contrast", ["prior", "joint"])
def test_a_repetition_does_not_depend_on_the_number_of_repetitions(
    tmp_path: Path, contrast: str
) -> None:
    few = execute(run_of(tmp_path, f"experiment.contrast={contrast}", repetitions=1), no_page)
    few_curves, few_ends = tables(few)
    more = execute(run_of(tmp_path, f"experiment.contrast={contrast}", repetitions=3), no_page)
    curves, ends = tables(more)
    assert more.root == few.root
    pd.testing.assert_frame_equal(curves[curves["repetition"] < 1], few_curves)
    pd.testing.assert_frame_equal(ends[ends["repetition"] < 1], few_ends)
    assert ends["average_kl"].nunique() == 3


class Killed(Exception):
    """Simulates a signal."""


def test_a_killed_repetition_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = tables(execute(run_of(tmp_path / "whole"), no_page))
    monkeypatch.setattr("bnnbench.suites.lam_density_ratio.trainer.SAVE_EVERY", 2)
    run = run_of(tmp_path / "killed")
    iterate, done = Trainer._iterate, []

    def killed_after_five(trainer: Trainer) -> None:
        if len(done) == 5:
            raise Killed
        done.append(trainer.iteration)
        iterate(trainer)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_iterate", killed_after_five)
        with pytest.raises(Killed):
            execute(run, no_page)
    unit, state = "repetition-00", run.store.file("repetition-00", state_file.SUFFIX)
    assert state_file.iteration(state) == 4
    assert run.experiment.steps(unit, run.store) == (5, 7)
    assert run.experiment.progress(unit, run.store) == pytest.approx(5 / 7)

    restarted: list[int] = []
    monkeypatch.setattr(
        Trainer, "_iterate", lambda t: (restarted.append(t.iteration), iterate(t))[1]
    )
    resumed = tables(execute(run, no_page))
    assert restarted == [5, 6, *range(7)]  # the second repetition from its start
    for ours, theirs in zip(resumed, whole, strict=True):
        pd.testing.assert_frame_equal(ours, theirs)
    assert run.experiment.steps(unit, run.store) == (7, 7)
    assert "damaged" not in capsys.readouterr().err


def test_a_repetition_with_a_damaged_state_starts_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = tables(execute(run_of(tmp_path / "whole"), no_page))
    run = run_of(tmp_path / "damaged")
    path = run.store.file("repetition-01", state_file.SUFFIX)
    path.parent.mkdir(parents=True)
    path.write_bytes(b'{"iteration": 3, "checksum": "0123456789abcdef"}\nbroken')
    again = tables(execute(run, no_page))
    for ours, theirs in zip(again, whole, strict=True):
        pd.testing.assert_frame_equal(ours, theirs)
    assert f"{path} is damaged" in capsys.readouterr().err


def test_stacked_configurations_give_the_results_of_separate_runs(tmp_path: Path) -> None:
    """As on a GPU, where all repetitions of all configurations form one stack."""
    words = [f"experiment.divergence={d}" for d in ("kl_posterior_prior", "gan")]
    alone = [tables(execute(run_of(tmp_path / "alone", word), no_page)) for word in words]
    runs = [run_of(tmp_path / "together", word) for word in words]
    for run in runs:
        run.folder.create()
    Sprinkler.run_group([Member(*run.member) for run in runs], runs[0].experiment.units())
    for run, (curves, ends) in zip(runs, alone, strict=True):
        ours = tables(execute(run, no_page))
        pd.testing.assert_frame_equal(ours[0], curves, rtol=1e-3)
        np.testing.assert_allclose(ours[1]["average_kl"], ends["average_kl"], rtol=1e-3)


def test_states_of_different_iterations_are_resumed_in_separate_stacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tables(execute(run_of(tmp_path / "whole"), no_page))
    run = run_of(tmp_path / "apart")
    run.folder.create()
    experiment = run.experiment
    assert isinstance(experiment, Sprinkler)
    trainer = Trainer(experiment._problem, [experiment._replica("repetition-01")])
    trainer.run(lambda _: None, stop=2)
    state_file.write(run.store.file("repetition-01", state_file.SUFFIX), trainer.state(0))
    sizes: list[int] = []
    original = Trainer.__init__
    monkeypatch.setattr(
        Trainer, "__init__", lambda t, p, r: (sizes.append(len(r)), original(t, p, r))[1]
    )
    Sprinkler.run_group([Member(*run.member)], experiment.units())
    assert sizes == [1, 1]
    for ours, theirs in zip(tables(execute(run, no_page)), whole, strict=True):
        pd.testing.assert_frame_equal(ours, theirs)


def test_a_repetition_that_fails_in_pretraining_has_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = initial_weights
    monkeypatch.setattr(
        "bnnbench.suites.lam_density_ratio.stack.initial_weights",
        lambda architecture, seed: original(architecture, seed) * float("inf"),
    )
    folder = execute(run_of(tmp_path, repetitions=1), no_page)
    ends = pd.read_csv(folder.table(REPETITIONS)).iloc[0]
    assert (ends["status"], ends["failed_at"]) == ("not finite", 0)
    scores = ["average_kl", "average_kl_last5", "kl", "sliced_wasserstein", "nelbo"]
    assert ends[scores].isna().all()
    assert not folder.table(CURVES).exists()


def test_repetitions_are_stacked_on_a_gpu_only(tmp_path: Path) -> None:
    run = run_of(tmp_path, repetitions=4)
    units = run.experiment.units()
    other = run_of(
        tmp_path,
        "experiment.divergence=gan",
        "experiment.estimator=class_probability",
        repetitions=4,
    ).experiment
    assert run.experiment.groups(units) == tuple((unit,) for unit in units)
    assert not run.experiment.lockstep and not run.experiment.can_stack_with(other)
    gpu = with_experiment(run, device="cuda").experiment
    same = with_experiment(run, device="cuda", divergence="gan").experiment
    later = with_experiment(run, device="cuda", seed=1).experiment
    assert gpu.lockstep and gpu.groups(units) == (units,)
    assert gpu.can_stack_with(same) and not gpu.can_stack_with(later)
    assert gpu.max_stack_size(7) == 7


PUBLISHED = {
    ("undertrained", "prior"): (5000, 11, 2000, 100, 4e-5, 2e-4),
    ("undertrained", "joint"): (5000, 11, 4000, 200, 4e-5, 2e-4),
    ("published", "prior"): (5000, 100, 10_000, 200, 1e-4, 1e-4),
    ("published", "joint"): (5000, 50, 40_000, 200, 1e-5, 1e-5),
}


@pytest.mark.parametrize(("schedule", "contrast"), PUBLISHED)
def test_schedules_are_those_of_the_thesis(schedule: str, contrast: str) -> None:
    experiment = experiment_of(f"experiment.schedule={schedule}", f"experiment.contrast={contrast}")
    one = experiment._training
    assert (one.pretraining_steps, one.estimator_steps, one.iterations, one.samples,
            one.estimator_rate, one.posterior_rate) == PUBLISHED[schedule, contrast]  # fmt: skip
    assert one.decay_from == 1 and len(experiment.units()) == 30
    assert experiment.data == (0, 5, 8, 12, 50)


def test_quick_is_the_first_repetitions_of_undertrained(tmp_path: Path) -> None:
    quick, whole = (
        build(
            compose(
                "experiment=sprinkler", f"experiment.schedule={name}", f"outputs_dir={tmp_path}"
            )
        )
        for name in ("quick", "undertrained")
    )
    assert quick.folder.root == whole.folder.root
    assert quick.experiment.units() == whole.experiment.units()[:5]
    default = build(compose("experiment=sprinkler", f"outputs_dir={tmp_path}"))
    assert default.folder.root == quick.folder.root
    joint = experiment_of("experiment.schedule=quick", "experiment.contrast=joint")
    assert len(joint.units()) == 3


def test_an_overridden_setting_replaces_that_of_the_schedule(tmp_path: Path) -> None:
    run = run_of(tmp_path, "experiment.iterations=2000", "experiment.evaluate_every=100")
    names = run.experiment.metadata()
    assert (names["iterations"], names["estimator_steps"], names["samples"]) == (2000, 2, 4)
    explicit, default = (
        build(compose("experiment=sprinkler", *more, f"outputs_dir={tmp_path}"))
        for more in (["experiment.iterations=2000", "experiment.samples=100"], [])
    )
    assert explicit.folder.root == default.folder.root


def test_optimal_takes_a_small_part_of_the_published_work() -> None:
    optimal, published = (
        experiment_of(f"experiment.schedule={name}")._training for name in ("optimal", "published")
    )
    work, published_work = (one.total_estimator_steps * one.samples for one in (optimal, published))
    assert work < 0.04 * published_work and optimal.decay_from == 0.5


def test_metadata_title_and_folder_of_a_run(tmp_path: Path) -> None:
    run = run_of(
        tmp_path,
        "experiment.estimator=ratio",
        "experiment.divergence=gan",
        "experiment.contrast=joint",
        "seed=3",
    )
    names = run.experiment.metadata()
    assert (names["contrast"], names["divergence"], names["estimator"]) == ("joint", "gan", "ratio")
    assert names["schedule"] == "undertrained"
    assert (names["iterations"], names["samples"], names["seed"]) == (6, 4, 3)
    assert run.experiment.title == "sprinkler, joint, gan, ratio"
    assert run.folder.root.parent.name == "joint-gan-ratio"
    whole = build(compose("experiment=sprinkler", "experiment.data=[0.0,5.0,8.0,12.0,50.0]"))
    assert whole.folder.root == build(compose("experiment=sprinkler")).folder.root
    assert run.experiment.cost(2) > 0


E = "experiment."


@pytest.mark.parametrize(
    ("overrides", "setting", "code"),
    [
        ([E + "estimator=null"], E + "estimator", None),
        ([E + "estimator=T"], E + "estimator", None),
        ([E + "divergence=kl"], E + "divergence", None),
        ([E + "contrast=both"], E + "contrast", None),
        ([E + "schedule=book"], E + "schedule", None),
        ([E + "schedule=null"], E + "schedule", None),
        ([E + "numerics=x"], E + "numerics", None),
        ([E + "observations=x"], E + "observations", None),
        ([E + "estimator=relu_ratio", E + "numerics=stable"], E + "numerics", "no_stable_form"),
        ([E + "estimator=ratio", E + "numerics=stable"], E + "estimator", "same_algorithm"),
        ([E + "repetitions=0"], E + "repetitions", None),
        ([E + "repetitions=1001"], E + "repetitions", "too_large"),
        ([E + "samples=1"], E + "samples", None),
        ([E + "samples=20001"], E + "samples", "too_large"),
        ([E + "decay_from=-1"], E + "decay_from", None),
        ([E + "estimator_rate=0"], E + "estimator_rate", None),
        ([E + "data=[0,-1]"], E + "data", None),
        ([E + "data=[a]"], E + "data", None),
        ([E + "data=[inf]"], E + "data", None),
        ([E + "data=[1,1]"], E + "data", "repeated"),
        ([E + "data=[]"], E + "data", "not_a_list"),
        ([E + "data=5"], E + "data", "not_a_list"),
        (["method=bbb"], "method", "no_effect"),
        (["divergence=tv"], "divergence", "no_effect"),
    ],
)
def test_a_mistake_names_its_setting(overrides: list[str], setting: str, code: str | None) -> None:
    assert_refused(["experiment=sprinkler", *overrides], setting=setting, code=code)


def test_several_values_without_multirun_are_one_sentence(command: Command, tmp_path: Path) -> None:
    words = ["experiment.estimator=log_ratio,ratio", f"outputs_dir={tmp_path / 'none'}"]
    assert_one_line_error(*command("run", "experiment=sprinkler", *words), ["add -m to run both"])
    assert not (tmp_path / "none").exists()


def test_settings_may_come_before_the_experiment_and_be_swept() -> None:
    estimators = ["log_ratio", "class_probability", "ratio", "relu_ratio"]
    jobs = compose_configs(
        [
            f"experiment.estimator={','.join(estimators)}",
            "experiment.contrast=joint",
            "experiment=sprinkler",
            "experiment.divergence=gan",
        ]
    )
    settings = [job["experiment"] for job in jobs]
    assert [one["estimator"] for one in settings] == estimators
    assert {(one["contrast"], one["divergence"]) for one in settings} == {("joint", "gan")}
