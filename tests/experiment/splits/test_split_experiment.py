"""The split experiment: identity of runs, choice of splits, and grouping."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.config import TINY, compose
from support.tiny_runs import Planner, with_experiment
from support.user_errors import raises_user_error

from bnnbench.config.assemble import build
from bnnbench.cpp.library import library
from bnnbench.data.splits import select_splits
from bnnbench.experiment.run.run import Run
from bnnbench.experiment.splits import split_experiment
from bnnbench.experiment.splits.split_cost import MAX_REPLICAS, max_stacked_replicas
from bnnbench.experiment.splits.split_experiment import SplitExperiment
from bnnbench.experiment.store import provenance
from bnnbench.methods.pbp import PBP

FIXED = ("method=bbb", "method.noise_precision=10", "method.prior_precision=1")


OTHER_SETTINGS = """
seed=1 training.epochs=3 method.noise_precision=3 search.iterations=4 search.objective=joint
method.label=mine dataset.split_seed=1 dataset.protocol.bounds.noise_precision=[1,2]
evaluation.samples=6 method=bbb likelihood=heteroscedastic loss=beta depth=2
"""


@pytest.mark.slow
def test_other_settings_use_another_folder(tiny: Planner) -> None:
    folders = {tiny(override).folder.root for override in OTHER_SETTINGS.split()}
    assert len({*folders, tiny().folder.root}) == len(OTHER_SETTINGS.split()) + 1


@pytest.mark.slow
def test_settings_without_effect_on_results_use_the_same_folder(
    tiny: Planner, table_csv: Path
) -> None:
    base = tiny().folder
    moved = table_csv.parent / "elsewhere" / table_csv.name
    moved.parent.mkdir()
    moved.write_bytes(table_csv.read_bytes())
    saved = "evaluation.save_predictive_mixture=true"
    same = ("workers=auto", "figures=both", "splits=[0]", saved)
    for override in (*same, f"dataset.path={moved}"):
        assert tiny(override).folder == base, override
    orders = ["divergence=alpha_2"], ["divergence=alpha", "divergence.alpha=2"]
    assert len({tiny("method=bbb", *order).folder for order in orders}) == 1
    rates = (tiny(f"training.learning_rate={rate}").folder for rate in ("1", "1.0"))
    assert len(set(rates)) == 1
    fixed = (
        ("search=none", "search=bayesian_optimisation"),
        ("training.compile=always", "training.compile=never"),
    )
    for one, other in fixed:
        given = [*FIXED, "evaluation.out_of_fold=false"]
        assert tiny(*given, one).folder == tiny(*given, other).folder


def test_two_files_with_equal_content_are_two_data_sets(tiny: Planner, table_csv: Path) -> None:
    twin = table_csv.with_name("twin.csv")
    twin.write_bytes(table_csv.read_bytes())
    assert tiny(f"dataset.path={twin}").record.digest != tiny().record.digest


def test_an_unused_divergence_is_not_part_of_the_identity(tiny: Planner) -> None:
    identity = tiny("method=mc_dropout").record.identity
    assert "divergence" not in identity["method"] and "likelihood" in identity["method"]
    assert tiny("method=bbb").record.identity["method"]["divergence"]["weight"] == 1.0


def test_values_fixed_by_a_data_set_are_part_of_the_identity() -> None:
    first, second = (
        build(
            compose("experiment=gp_toy", "depth=1", f"dataset.protocol.fixed.prior_precision={v}")
        )
        for v in (1.0, 2.0)
    )
    assert first.folder.root != second.folder.root


def test_the_network_of_a_toy_depends_on_the_depth() -> None:
    run = build(compose("experiment=gp_toy", "depth=2", "divergence=js"))
    experiment = run.experiment
    assert isinstance(experiment, SplitExperiment)
    assert experiment.network.widths == (100, 200)
    assert experiment.training.final_epochs == 500
    assert experiment.training.batch_size == 401 == len(experiment.table.splits[0].train)
    assert run.record.metadata["likelihood"] == "heteroscedastic"
    assert (
        experiment.method.fixed_hyper() == {"prior_precision": 1.0} and experiment.iterations == 0
    )


@pytest.mark.parametrize(
    ("divergence", "family", "order"),
    [("alpha_renyi divergence.alpha=1.75", "alpha_renyi", 1.75), ("kl", "kl", None),
     ("wasserstein2", "wasserstein2", None), ("chi2", "chi2", None),
     ("alpha_2 divergence.estimator=monte_carlo", "alpha_mc", 2.0),
     ("alpha_2 divergence.weight=0.5", "alpha_weight_0.5", 2.0),
     ("renyi divergence.alpha=1e-12", "renyi", 1e-12)],
)  # fmt: skip
def test_metadata_contain_family_and_order_of_the_divergence(
    tiny: Planner, divergence: str, family: str, order: float | None
) -> None:
    names = tiny("method=bbb", *f"divergence={divergence}".split()).record.metadata
    assert (names["divergence_family"], names["order"]) == (family, order)
    assert names["family"] == "bbb" == tiny("method=bbb_x2").record.metadata["family"]


@pytest.mark.parametrize(
    ("requested", "expected"), [("all", (0, 1, 2)), (2, (0, 1)), ([2, 0], (0, 2))]
)
def test_selection_of_splits(tiny: Planner, requested: Any, expected: tuple[int, ...]) -> None:
    table = tiny("dataset.n_splits=3").experiment.table  # type: ignore[attr-defined]
    assert select_splits(table, requested) == expected


@pytest.mark.parametrize(
    ("code", "requested"),
    [*(("count_out_of_range", count) for count in (0, 4)), ("unknown_split", [3]),
     ("repeated", [0, 0]),
     *(("invalid", value) for value in ([], "some", [0.5], [[0]], True, None))],
)  # fmt: skip
def test_wrong_splits_are_refused(tiny: Planner, code: str, requested: Any) -> None:
    table = tiny("dataset.n_splits=3").experiment.table  # type: ignore[attr-defined]
    with raises_user_error("splits", code):
        select_splits(table, requested)


def sizes(run: Run) -> list[int]:
    return [len(group) for group in run.experiment.groups(run.experiment.units())]


def test_splits_are_stacked_only_without_a_search(
    tiny: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ("splits=7", "evaluation.out_of_fold=false")
    stacked = tiny(*FIXED, *given)
    assert sizes(stacked) == [MAX_REPLICAS, 2] and not stacked.experiment.lockstep
    cuda = with_experiment(stacked, device="cuda")
    assert sizes(cuda) == [7] and cuda.experiment.lockstep
    assert sizes(tiny("method=bbb", *given)) == [1] * 7
    assert sizes(tiny(*FIXED, "splits=2")) == [1, 1]
    monkeypatch.setattr(PBP, "stack_splits", True)  # as without native code
    assert sizes(tiny("method=pbp", *given)) == [7]


def test_activations_limit_the_size_of_a_stack(tiny: Planner) -> None:
    given = (*FIXED, "splits=7", "evaluation.out_of_fold=false", "training.batch_size=all")
    whole = tiny(*given, "network.width=100", "training.samples=10")
    experiment = whole.experiment
    assert isinstance(experiment, SplitExperiment)
    assert experiment.training.batch_size == len(experiment.table.splits[0].train) == 54
    assert max_stacked_replicas(experiment.network, experiment.training) == 2
    assert sizes(whole) == [2, 2, 2, 1]
    assert sizes(tiny(*given, "network.width=100", "training.samples=100")) == [1] * 7
    assert sizes(tiny(*given)) == [MAX_REPLICAS, 2]
    assert sizes(tiny(*given, "evaluation.samples=1500000")) == [2, 2, 2, 1]


def test_the_cost_is_proportional_to_the_work(tiny: Planner) -> None:
    def work(*overrides: str) -> float:
        return tiny(*overrides).experiment.cost(1)

    base = work()
    assert work("splits=4") == pytest.approx(2 * base)
    more = work("search.iterations=30", "training.epochs=20", "training.final_epochs=20")
    assert 5 * base < more < 100 * base
    assert work("training.samples=4") > base
    two = tiny("splits=4")
    assert two.experiment.cost(2) == pytest.approx(base)


def test_steps_are_evaluations_and_final_fits(tiny: Planner) -> None:
    run = tiny()
    assert run.steps() == (0, 2 * (3 + 1)) and len(run.unfinished_units()) == 2
    path = run.store.file("split-00", "trials.jsonl")
    path.parent.mkdir(parents=True)
    path.write_text("{}\n{}\n")
    assert run.steps() == (2, 8)
    run.store.file("split-00", "json").write_text("{}")
    assert run.steps() == (4, 8) and run.unfinished_units() == ["split-01"]


def test_a_search_shorter_than_its_random_points_is_random(tiny: Planner) -> None:
    run = tiny("search.initial_points=9")
    assert run.record.metadata["initial_points"] == 3
    assert any("random" in warning for warning in run.warnings())
    assert not any("random" in warning for warning in tiny().warnings())


def test_only_a_resolved_experiment_has_its_table(tiny: Planner) -> None:
    with pytest.raises(AssertionError, match="resolved"):
        _ = replace(tiny().experiment, loaded=None).table  # type: ignore[attr-defined]


def test_a_fixed_value_is_a_number_or_null() -> None:
    key = "dataset.protocol.fixed.prior_precision"
    toy = ("experiment=toy_1d", "dataset=sine_20", "method=bbb", "search=bayesian_optimisation")
    experiment = build(compose(*toy, f"{key}=null")).experiment
    assert isinstance(experiment, SplitExperiment)
    assert [d.name for d in experiment.space] == ["prior_precision"]
    noise = "dataset.protocol.fixed_original_units.noise_std"
    searched = build(compose(*toy, f"{noise}=null")).experiment
    assert [d.name for d in searched.space] == ["noise_precision"]  # type: ignore[attr-defined]
    for value in ("two words", "0", "[1]"):
        with raises_user_error(key):
            build(compose(*toy, f"{key}={value}"))


Finished = tuple[dict[str, float], list[float], dict[str, Any]]

MEASURED: dict[str, tuple[list[Finished], float | None]] = {
    "one": ([({"cpu": 50}, [], {})], 50.0),
    "of two the lower": ([({"cpu": 90}, [], {}), ({"cpu": 50}, [], {})], 50.0),
    "of three the median": (
        [({"cpu": 90}, [], {}), ({"cpu": 40}, [], {}), ({"cpu": 50}, [], {})], 50.0
    ),
    "waiting for other programs": ([({"cpu": 50, "total": 400}, [], {})], 50.0),
    "out-of-fold predictions": ([({"cpu": 50, "total": 10}, [], {})], 50.0),
    "a slower machine": ([({"cpu": 50, "reference": 0.08}, [], {})], 12.5),
    "a faster machine": ([({"cpu": 50, "reference": 0.01}, [], {})], 100.0),
    "several machines": (
        [
            ({"cpu": 80, "reference": 0.04}, [], {}),
            ({"cpu": 50}, [], {}),
            ({"cpu": 10, "reference": 0.01}, [], {}),
        ],
        40.0,
    ),
    "a clock that is too coarse": ([({"cpu": 50, "reference": 0}, [], {})], 50.0),
    "a resumed search": ([({"cpu": math.nan, "total": 50}, [], {})], None),
    "a first evaluation that compiles": ([({"cpu": 50}, [12.0, 2.0, 4.0, 3.0], {})], 41.0),
    "later evaluations that are slower": ([({"cpu": 50}, [2.0, 3.0, 4.0], {})], 50.0),
    "one evaluation": ([({"cpu": 50}, [12.0], {})], 50.0),
    "own code before an edit": ([({"cpu": 50}, [], {"own": "other"})], None),
    "another version": ([({"cpu": 50}, [], {"digest": "other"}), ({"cpu": 20}, [], {})], 20.0),
    "another commit": ([({"cpu": 50}, [], {"commit": "other"})], 50.0),
    "native code that was or was not there": (
        [({"cpu": 50}, [], {"native": library().code is None}), ({"cpu": 20}, [], {})], 20.0
    ),
}  # fmt: skip
"""Times of finished splits (total and reference by default 50 s and 0.02 s), seconds of their
evaluations, changes of their code version; and the estimate for a split where the reference is
0.02 s, None if it is not measured."""


@pytest.mark.parametrize("name", MEASURED)
def test_estimates_use_the_seconds_of_splits_of_this_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(provenance, "_reference_seconds_here", lambda: 0.02)
    splits, each = MEASURED[name]
    run = build(compose(*TINY, "splits=4", f"outputs_dir={tmp_path}"))
    assert run.cost() == run.experiment.cost(run.workers)
    (code,) = run.record.code_versions
    for unit, (own, evaluations, changes) in zip(run.experiment.units(), splits, strict=False):
        times = {"total": 50.0, "reference": 0.02, **own}
        tables = {
            "splits": [{f"{key}_seconds": seconds for key, seconds in times.items()}],
            "search": [{"seconds": seconds} for seconds in evaluations],
        }
        run.store.save(unit, tables, {})
        run.store.add_code(unit, {**code, "native": library().code is not None, **changes})
    groups = len(run.experiment.groups(run.experiment.units()))
    expected = run.experiment.cost(run.workers)
    if each is not None:
        expected = 4 * each / min(run.workers, groups)
    assert run.cost() == pytest.approx(expected)


def test_modules_are_loaded_before_the_first_split(
    tiny: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also without worker processes, so that no split's seconds contain it."""
    events: list[str] = []
    run = tiny("splits=1", "search=bayesian_optimisation", "search.initial_points=2")
    monkeypatch.setattr(split_experiment, "import_module", events.append)
    monkeypatch.setattr(
        SplitExperiment, "run_group", lambda self, units, store, workers: events.append("run")
    )
    (task,) = run.tasks(run.unfinished_units())
    task.run()
    assert events[-1] == "run" and "skopt.acquisition" in events


@pytest.mark.parametrize(
    "word",
    ["network.width=1000000000", "training.samples=1000000000", "evaluation.samples=100000000000"],
)
def test_what_exceeds_the_memory_is_refused(tiny: Planner, word: str) -> None:
    with raises_user_error("network.width", "too_large"):
        tiny(word)
