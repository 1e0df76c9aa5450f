"""Figures of tables that are made up, and names that depend on the settings of a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

from bnnbench.experiment.store.answer_tables import ANSWERS, CURVES, SCORES, Answer
from bnnbench.experiment.store.record import Record, write_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.results.claims.saved_run import SavedRun
from bnnbench.suites.latent_models import planar_flows_page
from bnnbench.suites.latent_models.latent_sizes.experiment import GRID, percentile_plane
from bnnbench.suites.latent_models.names import IWAE, PLANAR, QUANTITIES, quantities
from bnnbench.suites.latent_models.semi_supervised import page as semi_supervised
from bnnbench.suites.latent_models.semi_supervised.experiment import APPROXIMATIONS
from bnnbench.suites.latent_models.semi_supervised.stack import ENUMERATION, PAIRED, SUPERVISED


def run_folder(folder: Path, draws: int) -> RunFolder:
    """Return the folder of a run on MNIST with this number of draws."""
    identity = {"importance_samples": draws, "evaluated_images": None, "images": {"name": "digits"}}
    metadata = {"experiment": "planar_flows", "images": "mnist", "binarisation": "threshold"}
    write_record(RunFolder(folder), Record("planar_flows", "abc", metadata, identity))
    return RunFolder(folder)


def flows(folder: Path, draws: int = 1024) -> SavedRun:
    """Return a run with flows and IWAEs, in the order of their names."""
    names, units = quantities(draws), ["flow-0", "flow-16", "flow-2", "iwae-20", "iwae-5"]
    answers, scores = [], []
    for k, unit in enumerate(units):
        model, size = unit.split("-")
        name, letter = {"flow": (PLANAR, "K"), "iwae": (IWAE, "T")}[model]
        scores.append({"unit": unit, "elbo": -83.0 - k, "elbo_train": -82.0})
        for column, value in (("log_p", -74.0), ("elbo", -83.0 - k)):
            book = -73.4 if unit == "flow-0" and column == "log_p" else np.nan
            label = f"{letter} = {size}"
            answers.append(Answer(names[column], name, value, label, 0.1, published=book))
    curves = [
        {"unit": unit, "epoch": epoch, "elbo_test": -83.0, "elbo_train": -82.0}
        for unit in units
        for epoch in (1, 2)
    ]
    tables = {ANSWERS: answers, SCORES: scores, CURVES: curves}
    return SavedRun(
        run_folder(folder, draws), {name: pd.DataFrame(rows) for name, rows in tables.items()}
    )


def legend_of(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


ORDER = ["K = 0", "K = 2", "K = 16", "T = 5", "T = 20"]


def test_flows_are_in_the_order_of_their_lengths_before_iwaes(tmp_path: Path) -> None:
    run = flows(tmp_path)
    assert legend_of(planar_flows_page.elbo_by_epoch(run)) == ORDER
    (axes,) = planar_flows_page.log_p_by_length(run).axes
    places, labels = axes.get_xticks(), [text.get_text() for text in axes.get_xticklabels()]
    assert labels == ORDER and (np.diff(places) > 0).all()
    elbo = {
        x: y
        for found in axes.containers
        if isinstance(found, ErrorbarContainer) and found.get_label() == "ELBO"
        for x, y in zip(*found.lines[0].get_data(), strict=True)
    }
    assert [elbo[place] for place in places] == [-83, -85, -84, -87, -86]


def test_the_book_s_numbers_have_its_errors(tmp_path: Path) -> None:
    (axes,) = planar_flows_page.log_p_by_length(flows(tmp_path)).axes
    (book,) = [found for found in axes.containers if found.get_label().endswith("book, Table 5.1")]
    assert isinstance(book, ErrorbarContainer)
    (segment,) = book.lines[2][0].get_segments()
    assert segment[:, 1] == pytest.approx([-73.6, -73.2])


@pytest.mark.parametrize(("draws", "shown"), [(64, "64 draws"), (32768, "32,768 draws")])
def test_bounds_are_named_with_the_draws_of_the_run(draws: int, shown: str, tmp_path: Path) -> None:
    run = flows(tmp_path, draws)
    assert legend_of(planar_flows_page.log_p_by_length(run))[1] == f"bound of log p(x) with {shown}"
    assert all(shown in text for text in quantities(draws).values() if "log p" in text)
    assert not any("log p" in text for text in quantities(None).values())
    page = planar_flows_page.EXPERIMENT_PAGE
    (claim,) = replace(
        page, statements=page.statements[:1], read_evidence=lambda folder: run
    ).claims(run.folder)
    assert f"with {shown}" in claim.rule


def test_no_line_passes_sizes_that_were_not_run() -> None:
    sizes: dict[str, list[int]] = {PAIRED: [10, 20, 40], ENUMERATION: [10, 40]}
    sizes[SUPERVISED] = sizes[PAIRED]
    pairs = [(method, size) for method, found in sizes.items() for size in found]
    answers = [
        Answer(QUANTITIES["accuracy"], APPROXIMATIONS[method], 80.0, f"{size} labels", 0.1)
        for method, size in pairs
    ]
    accuracies = {"accuracy": 80.0, "accuracy_equal": 79.0}
    units = [{"unit": f"{method}-{size:05d}", **accuracies} for method, size in pairs]
    tables: dict[str, Any] = {ANSWERS: pd.DataFrame(answers), SCORES: pd.DataFrame(units)}
    figure = semi_supervised.accuracy_by_labels(SavedRun(RunFolder(Path("nowhere")), tables))
    lines = {
        found.get_label(): np.isfinite(np.asarray(found.lines[0].get_ydata(), float))
        for found in figure.axes[0].containers
        if isinstance(found, ErrorbarContainer)
    }
    assert lines["paired batches"].all()
    assert list(lines["paired batches, enumeration"]) == [True, False, True]


@pytest.mark.parametrize(("parts", "classes"), [(1, {0}), (2, {0, 1, 2, 3})])
def test_a_plane_has_each_class_in_one_part(parts: int, classes: set[int]) -> None:
    points, of_points = percentile_plane(parts)
    assert {*of_points} == classes and len(points) == len(of_points) == GRID**2
    shown = of_points.reshape(GRID, GRID)
    assert [shown[0, 0], shown[0, -1], shown[-1, 0], shown[-1, -1]] == [
        0, parts - 1, parts**2 - parts, parts**2 - 1
    ]  # fmt: skip
    for label in classes:
        own = points[of_points == label]
        assert len({*map(tuple, own)}) == len(own) == (GRID // parts) ** 2
        assert own.mean(0) == pytest.approx([0, 0])
        assert own[0, 0] < 0 < own[0, 1], "low on the left, high above"
