"""The loop over runs: results and errors."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.config import compose
from support.tiny_runs import Planner, with_experiment

from bnnbench.config.assemble import build
from bnnbench.cpp.library import Library, library
from bnnbench.experiment.run.execution import execute
from bnnbench.experiment.run.run import Run, run_status
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.methods.vadam import Vadam
from bnnbench.report.run_output import write_page
from bnnbench.results.reference.slowdown import MEASURED
from bnnbench.run_all import report_slow_training, run_all
from bnnbench.types import UserError

quick = pytest.mark.usefixtures("without_figures")


@quick
def test_every_run_is_executed_in_order(tiny: Planner) -> None:
    runs = [tiny("splits=1"), tiny("splits=1", "seed=1")]
    shown: list[RunFolder] = []
    folders = run_all(runs, shown.append)
    assert folders == shown == [run.folder for run in runs]
    assert all(run.complete() for run in runs)


@quick
def test_an_error_of_one_run_does_not_stop_the_others(tiny: Planner) -> None:
    runs = [tiny("splits=1"), tiny("splits=1", "seed=1")]
    error = UserError("refused.", "splits")

    def show(folder: RunFolder) -> None:
        if folder == runs[0].folder:
            raise error

    errors: list[UserError] = []
    run_all(runs, show, errors.append)
    assert errors == [error] and runs[1].complete()
    with pytest.raises(UserError) as raised:
        run_all(runs, show)
    assert raised.value is error


FIGURES = {"calibration.png", "predictions.png", "search.png", "splits.png"}


def drawn(run: Run) -> set[str]:
    return {path.name for path in run.folder.root.glob("figures/*")}


@pytest.mark.ci
@pytest.mark.parametrize("seeds", [[0, 1], [0]])
def test_figures_are_drawn_when_the_runs_are_finished(tiny: Planner, seeds: list[int]) -> None:
    runs = [tiny("splits=1", f"seed={seed}") for seed in seeds]

    def no_figure(folder: RunFolder) -> None:
        assert not list(folder.root.glob("figures/*")) and folder.finished()

    run_all(runs, no_figure)
    assert all(drawn(run) == FIGURES for run in runs)
    more = [tiny("splits=2"), *runs[1:]]
    run_all(more, lambda folder: no_figure(folder) if folder == more[0].folder else None)
    assert all(drawn(run) == FIGURES for run in more), "figures of fewer splits were replaced"


def kill_before_drawing(folder: RunFolder) -> None:
    raise KeyboardInterrupt


def lose_a_figure(folder: RunFolder) -> None:
    folder.figure("splits", "png").unlink()


@pytest.mark.ci
@pytest.mark.parametrize("lose", [kill_before_drawing, lose_a_figure])
def test_a_missing_figure_is_drawn_by_the_next_command(
    tiny: Planner, lose: Callable[[RunFolder], None]
) -> None:
    run, said = tiny("splits=1"), list[str]()
    if lose is kill_before_drawing:
        with pytest.raises(KeyboardInterrupt):
            run_all([run], lose)
    else:
        lose(run_all([run])[0])
    before = run.folder.done.read_bytes(), run.folder.table("splits").read_bytes()
    assert run_status(run).intact and drawn(run) < FIGURES
    shutil.rmtree(run.folder.work)
    run_all([run], say=said.append)
    assert drawn(run) == FIGURES and len(said) == 1, "nothing was run"
    assert before == (run.folder.done.read_bytes(), run.folder.table("splits").read_bytes())
    run_all([replace(run, figures="pdf")])
    assert drawn(run) == {name.replace("png", "pdf") for name in FIGURES}


@pytest.mark.ci
@pytest.mark.parametrize(
    ("target", "sentences"),
    [
        ("bnnbench.report.split_run_page.splits_figure", 1),
        ("bnnbench.report.split_run_page.search_figure", 1),
        ("bnnbench.report.split_run_page.figure_functions", 0),
        ("bnnbench.report.run_output.run_page_for", 1),
        ("bnnbench.report.run_output.save_figures", 1),
    ],
)
@pytest.mark.parametrize("error", [ZeroDivisionError("of mine"), OSError(28, "disk full")])
def test_a_figure_that_raises_is_one_sentence(
    tiny: Planner,
    monkeypatch: pytest.MonkeyPatch,
    target: str,
    sentences: int,
    error: Exception,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(target, fail)
    run, said = tiny("splits=1", "search.iterations=2"), list[str]()
    assert run_all([run], say=said.append) == [run.folder]
    assert run_status(run).intact and len(said) == sentences
    assert all(str(error) in text and str(run.folder.root) in text for text in said)
    monkeypatch.undo()
    run_all([run])
    assert drawn(run) == FIGURES


def test_tables_of_a_page_follow_new_results(tiny: Planner, tmp_path: Path) -> None:
    """`claims.csv`, which no report reads."""
    words = ["experiment=conjugate_pairs", "experiment.sizes=[1]", f"outputs_dir={tmp_path}"]
    run = build(compose(*words, "workers=1"))
    folder = execute(run)
    assert write_page(folder) == []
    claims = folder.table("claims")
    before, _ = claims.read_text(), claims.write_text("old")
    assert write_page(folder) == [] and claims.read_text() == "old"
    folder.done.touch()
    assert write_page(folder) == [] and claims.read_text() == before


@quick
def test_missing_native_code_is_said_once(tiny: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = Library(reason="there is no compiler")
    monkeypatch.setattr("bnnbench.run_all.library", lambda: missing)
    runs, said = [tiny("splits=1"), tiny("splits=1", "seed=1")], list[str]()
    run_all(runs, say=said.append)
    (sentence,) = (text for text in said if "there is no compiler" in text)
    factors = pd.read_csv(MEASURED, index_col="method")["factor"]
    assert f"{factors['vadam']:.2g} times" in sentence
    said.clear()
    run_all(runs, say=said.append)
    assert not [text for text in said if "compiler" in text], "nothing is trained"


class OwnStep(Vadam):
    """An update from outside, without native code."""

    def update(self, *given: Any) -> Any:
        return super().update(*given)


@pytest.mark.skipif(library().code is None, reason=library().reason)
@pytest.mark.parametrize(
    ("words", "methods", "count"),
    [
        ((), [Vadam], 0),
        ((), [OwnStep, Vadam, OwnStep], 1),
        (("training.dtype=float64",), [OwnStep], 0),
    ],
)
def test_a_class_that_ends_native_code_is_named_once(
    tiny: Planner, words: tuple[str, ...], methods: list[type[Vadam]], count: int
) -> None:
    runs = [
        with_experiment(tiny("splits=1", f"seed={seed}", *words), method=cls(label="own"))
        for seed, cls in enumerate(methods)
    ]
    said: list[str] = []
    report_slow_training(runs, said.append)
    assert len([text for text in said if "OwnStep.update" in text]) == count == len(said)
