"""The experiment from its configuration to its tables: settings, units, going on, mistakes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.command import one_sentence
from support.config import compose
from support.tiny_runs import no_page, with_experiment

from bnnbench.cli.build import build
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
    "schedule.pretraining_steps=4", "schedule.estimator_steps=2", "schedule.iterations=6",
    "schedule.samples=4", "schedule.evaluate_every=3", "workers=1",
)  # fmt: skip


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is measured at the end takes longer than such training."""
    monkeypatch.setattr(repetition, "ROUNDS", 2)
    monkeypatch.setattr(repetition, "WASSERSTEIN_DRAWS", 1000)


def run_of(outputs: Path, *overrides: str, repetitions: int = 2) -> Run:
    given = (*TINY, f"repetitions={repetitions}", *overrides, f"outputs_dir={outputs}")
    return build(compose("experiment=sprinkler", *given))


def experiment_of(*overrides: str) -> Sprinkler:
    experiment = build(compose("experiment=sprinkler", *overrides)).experiment
    assert isinstance(experiment, Sprinkler)
    return experiment


def tables(folder: RunFolder) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both, without what a clock says."""
    curves, ends = (pd.read_csv(folder.table(name)) for name in (CURVES, REPETITIONS))
    return curves, ends.drop(columns="seconds")


def test_a_run_leaves_the_tables_that_pages_read(tmp_path: Path) -> None:
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


def test_direct_kl_is_the_metric_less_its_floor(tmp_path: Path) -> None:
    """Both measure the same generator: 1.3239 apart, but for the density estimates."""
    _, ends = tables(execute(run_of(tmp_path, repetitions=1), no_page))
    assert (ends["average_kl"] - 1.3239 - ends["kl"]).abs().max() < 1.0


@pytest.mark.parametrize("contrast", ["prior", "joint"])
def test_a_repetition_does_not_depend_on_which_others_are_asked_for(
    tmp_path: Path, contrast: str
) -> None:
    few = execute(run_of(tmp_path, f"contrast={contrast}", repetitions=1), no_page)
    few_curves, few_ends = tables(few)
    more = execute(run_of(tmp_path, f"contrast={contrast}", repetitions=3), no_page)
    curves, ends = tables(more)
    assert more.root == few.root  # they share the work
    pd.testing.assert_frame_equal(curves[curves["repetition"] < 1], few_curves)
    pd.testing.assert_frame_equal(ends[ends["repetition"] < 1], few_ends)
    assert ends["average_kl"].nunique() == 3


class Killed(Exception):
    """Stands for a signal."""


def test_a_repetition_goes_on_where_it_was_killed(
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
    assert run.experiment.share(unit, run.store) == pytest.approx(5 / 7)

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


def test_a_damaged_state_is_named_and_the_repetition_begins_again(
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
    assert f"{path} is damaged; this repetition begins again" in capsys.readouterr().err


def test_configurations_in_one_stack_are_what_they_are_alone(tmp_path: Path) -> None:
    """As on a GPU, where all repetitions of all configurations are replicas of one stack."""
    words = [f"divergence={d}" for d in ("reverse_kl", "gan")]
    alone = [tables(execute(run_of(tmp_path / "alone", word), no_page)) for word in words]
    runs = [run_of(tmp_path / "together", word) for word in words]
    for run in runs:
        run.folder.create()
    Sprinkler.run_group([Member(*run.member) for run in runs], runs[0].experiment.units())
    for run, (curves, ends) in zip(runs, alone, strict=True):
        ours = tables(execute(run, no_page))
        pd.testing.assert_frame_equal(ours[0], curves, rtol=1e-3)
        np.testing.assert_allclose(ours[1]["average_kl"], ends["average_kl"], rtol=1e-3)


def test_repetitions_of_a_stack_that_are_not_as_far_go_on_apart(
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
    made = Trainer.__init__
    monkeypatch.setattr(
        Trainer, "__init__", lambda t, p, r: (sizes.append(len(r)), made(t, p, r))[1]
    )
    Sprinkler.run_group([Member(*run.member)], experiment.units())
    assert sizes == [1, 1]
    for ours, theirs in zip(tables(execute(run, no_page)), whole, strict=True):
        pd.testing.assert_frame_equal(ours, theirs)


def test_a_repetition_lost_before_its_first_iteration_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = initial_weights
    monkeypatch.setattr(
        "bnnbench.suites.lam_density_ratio.stack.initial_weights",
        lambda architecture, seed: made(architecture, seed) * float("inf"),
    )
    folder = execute(run_of(tmp_path, repetitions=1), no_page)
    ends = pd.read_csv(folder.table(REPETITIONS)).iloc[0]
    assert (ends["status"], ends["failed_at"]) == ("not finite", 0)
    scores = ["average_kl", "average_kl_last5", "kl", "sliced_wasserstein", "nelbo"]
    assert ends[scores].isna().all()
    assert not folder.table(CURVES).exists()


def test_on_a_gpu_everything_is_one_stack_and_on_a_cpu_each_is_alone(tmp_path: Path) -> None:
    run = run_of(tmp_path, repetitions=4)
    units = run.experiment.units()
    other = run_of(tmp_path, "divergence=gan", "estimator=D", repetitions=4).experiment
    assert run.experiment.groups(units) == tuple((unit,) for unit in units)
    assert not run.experiment.lockstep and not run.experiment.stacks_with(other)
    gpu = with_experiment(run, device="cuda").experiment
    same = with_experiment(run, device="cuda", divergence=other.divergence).experiment  # type: ignore[attr-defined]
    later = with_experiment(run, device="cuda", seed=1).experiment
    assert gpu.lockstep and gpu.groups(units) == (units,)
    assert gpu.stacks_with(same) and not gpu.stacks_with(later)
    assert gpu.stack_room(7) == 7


PUBLISHED = {
    ("undertrained", "prior"): (5000, 11, 2000, 100, 4e-5, 2e-4),
    ("undertrained", "joint"): (5000, 11, 4000, 200, 4e-5, 2e-4),
    ("published", "prior"): (5000, 100, 10_000, 200, 1e-4, 1e-4),
    ("published", "joint"): (5000, 50, 40_000, 200, 1e-5, 1e-5),
}


@pytest.mark.parametrize(("protocol", "contrast"), PUBLISHED)
def test_protocols_are_those_of_the_thesis(protocol: str, contrast: str) -> None:
    experiment = experiment_of(f"protocol={protocol}", f"contrast={contrast}")
    one = experiment.schedule
    assert (one.pretraining_steps, one.estimator_steps, one.iterations, one.samples,
            one.estimator_rate, one.posterior_rate) == PUBLISHED[protocol, contrast]  # fmt: skip
    assert one.decay_from == 1 and len(experiment.units()) == 30
    assert experiment.data == (0, 5, 8, 12, 50)


def test_quick_is_the_first_repetitions_of_undertrained(tmp_path: Path) -> None:
    quick, whole = (
        build(compose("experiment=sprinkler", f"protocol={name}", f"outputs_dir={tmp_path}"))
        for name in ("quick", "undertrained")
    )
    assert quick.folder.root == whole.folder.root
    assert quick.experiment.units() == whole.experiment.units()[:5]
    default = build(compose("experiment=sprinkler", f"outputs_dir={tmp_path}"))
    assert default.folder.root == quick.folder.root


def test_optimal_is_a_small_part_of_the_published_work() -> None:
    optimal, published = (
        experiment_of(f"protocol={name}").schedule for name in ("optimal", "published")
    )
    work = optimal.steps * optimal.samples / (published.steps * published.samples)
    assert work < 0.04 and optimal.decay_from == 0.5


def test_what_names_a_run(tmp_path: Path) -> None:
    run = run_of(tmp_path, "estimator=r", "divergence=gan", "contrast=joint", "seed=3")
    names = run.experiment.names()
    assert (names["contrast"], names["divergence"], names["estimator"]) == ("joint", "gan", "r")
    assert (names["iterations"], names["samples"], names["seed"]) == (6, 4, 3)
    assert run.experiment.title == "sprinkler, joint, gan, r"
    assert run.folder.root.parent.name == "joint-gan-r"
    whole = build(compose("experiment=sprinkler", "experiment.data=[0.0,5.0,8.0,12.0,50.0]"))
    assert whole.folder.root == build(compose("experiment=sprinkler")).folder.root
    assert run.experiment.cost(2) > 0


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["estimator=null"], ["estimator=null does not exist"]),
        (["estimator=T,D"], ["add -m to run both."]),
        (["estimator=X"], ["estimator=X does not exist", "T"]),
        (["estimator=relu", "numerics=stable"], ["estimator=relu has no stable form"]),
        (["estimator=D", "numerics=stable"], ["same algorithm as estimator=T"]),
        (["repetitions=0"], ["repetitions", "at least 1", "0"]),
        (["repetitions=1001"], ["repetitions", "at most 1000"]),
        (["schedule.samples=20001"], ["schedule.samples", "at most 20000"]),
        (["schedule.decay_from=-1"], ["schedule.decay_from", "at least 0", "-1"]),
        (["experiment.data=[0,-1]"], ["experiment.data", "at least 0", "-1"]),
        (["experiment.data=[1,1]"], ["different observations"]),
        (["experiment.data=[]"], ["list of observations"]),
        (["experiment.data=5"], ["list of observations"]),
        (["experiment.data=[a]"], ["experiment.data", "'a'"]),
        (["experiment.data=[inf]"], ["experiment.data", "inf"]),
        (["numerics=x"], ["numerics must be one of published, stable"]),
        (["observations=x"], ["observations must be one of data, model"]),
        (["divergence=kl"], ["divergence=reverse_kl or divergence=gan"]),
        (["protocol=book"], ["protocol=book sets the training", "experiment=sprinkler"]),
        (["protocol=trial"], ["protocol=trial sets the training", "schedule"]),
        (["method=bbb"], ["no use for method"]),
        (["schedule.samples=1"], ["schedule.samples", "at least 2"]),
        (["schedule.estimator_rate=0"], ["schedule.estimator_rate", "greater than 0"]),
        (["schedule=null"], ["schedule must be a group of settings"]),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence(
    command: Command, tmp_path: Path, overrides: list[str], words: list[str]
) -> None:
    out = ["run", "experiment=sprinkler", *overrides, f"outputs_dir={tmp_path / 'none'}"]
    one_sentence(*command(*out), words)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["method=bbb", "divergence=gan"], ["divergence=gan", "method=bbb does not train"]),
        (["method=vadam", "divergence=reverse_kl"], ["divergence=reverse_kl", "method=vadam"]),
        (["experiment=uci", "protocol=quick"], ["protocol=quick", "experiment=uci", "training"]),
        (["experiment=linear_regression", "protocol=optimal"], ["protocol=optimal"]),
        (["contrast=joint"], ["contrast is chosen with experiment=sprinkler only"]),
    ],
)
def test_other_experiments_have_no_use_for_its_choices(
    command: Command, tmp_path: Path, overrides: list[str], words: list[str]
) -> None:
    one_sentence(*command("run", *overrides, f"outputs_dir={tmp_path / 'none'}"), words)
    assert not (tmp_path / "none").exists()


def test_choices_may_stand_before_the_experiment_and_be_swept() -> None:
    from bnnbench.cli.line import configs_of

    words = ["estimator=T,D,r,relu", "contrast=joint", "experiment=sprinkler", "divergence=gan"]
    jobs = configs_of(words)
    assert [job["estimator"]["label"] for job in jobs] == ["T", "D", "r", "relu"]
    assert {(job["contrast"]["label"], job["divergence"]["label"]) for job in jobs} == {
        ("joint", "gan")
    }
