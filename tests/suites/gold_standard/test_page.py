"""The report section on distances to the posterior: numbers and figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.blocks import blocks, data_files, figures
from support.runs import add_arrays, make_run
from support.saved_mixtures import make_approximation, make_chains
from support.synthetic_data import make_curve_run

from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.split_files import MIXTURE, PREDICTIONS
from bnnbench.report.blocks import Block, Paragraph
from bnnbench.report.renderers import markdown
from bnnbench.suites.gold_standard.page import NO_REFERENCE, section


def shown(outputs: Path) -> list[Block]:
    return blocks(section, outputs)


def test_the_section_needs_stored_mixtures_and_a_reference(tmp_path: Path) -> None:
    make_run(tmp_path)
    assert not blocks(section, tmp_path)
    make_approximation(tmp_path, "vadam", 0.1)
    assert shown(tmp_path)[1:] == [Paragraph(NO_REFERENCE)]


def test_tables_notes_and_figures(tmp_path: Path) -> None:
    make_chains(tmp_path, final_epochs=1500)
    likely = np.array([-2.0, -2.1, -1.9, -2.0])
    make_approximation(tmp_path, "near", 0.1, log_likelihood=likely - 1)
    make_approximation(tmp_path, "certain", 0.3, 0.0, log_likelihood=likely, **{"hp.dropout": 0.05})
    found = shown(tmp_path)
    page = markdown.page(found)
    for words in (
        "### boston: hmc (gold standard)",
        "prior precision 1, noise precision 10.",
        "epochs 1500 (hmc), 40 (certain, near), dropout 0.05 (certain).",
        "on 1 of 1 data sets (boston)",
    ):
        assert words in page
    rows = [line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| ")]
    assert rows == [
        "Method", "between halves of hmc", "near", "certain", "Method", "near", "certain",
    ]  # fmt: skip
    ((name, table),) = data_files(found).items()
    assert name == "distances" and table["method"].nunique() == 3
    for figure in figures(found).values():
        figure.draw().draw_without_rendering()


def test_chains_that_have_not_converged_are_not_a_gold_standard(tmp_path: Path) -> None:
    make_chains(tmp_path, **{"diag.r_hat": 1.3})
    make_approximation(tmp_path, "near", 0.1)
    page = markdown.page(shown(tmp_path))
    assert "### boston: hmc (reference, not a gold standard)" in page
    assert "4 of 4 splits" in page


def store_curve(outputs: Path, method: str, shift: float, spread: float) -> RunFolder:
    """A one-dimensional run whose mixtures match its curve, with two halves of chains."""
    model = {"hp.prior_precision": 1.0, "hp.noise_precision": 4.0, "diag.r_hat": 1.0}
    names = {"method": method, "experiment": "gold_toy", "dataset": "toy"}
    folder = make_curve_run(outputs, 0.5, fingerprint="same", **names, **model)
    with np.load(folder.arrays(PREDICTIONS)) as arrays:
        points = {name: arrays[name] for name in arrays.files}
    points["row"] = np.arange(len(points["mean"]))
    add_arrays(folder, PREDICTIONS, points)
    loc = np.tile(points["mean"][:, None] + shift, 4) + spread * np.array([-1, 1, -1, 1.01])
    parts = {"epistemic": 0.0, "noise": 0.25}
    columns = {name: np.full((len(loc), 1), value) for name, value in parts.items()}
    rows = {"split": np.zeros(len(loc), int), "row": points["row"][::-1]}
    add_arrays(folder, MIXTURE, {**rows, "loc": loc[::-1], **columns})
    return folder


def test_one_dimensional_data_with_an_exact_process(tmp_path: Path) -> None:
    """Rows are matched in any order; a shift of one half gives W1 everywhere."""
    store_curve(tmp_path, "hmc", 0.0, 0.1)
    store_curve(tmp_path, "vadam", 0.5, 0.1)
    found = shown(tmp_path)
    table = data_files(found)["gold_along"]
    means = table.groupby("method")["w1"].mean()
    assert means["vadam"] == pytest.approx(0.5, rel=1e-3) and means["hmc"] == 0
    assert np.isfinite(means["exact GP"]) and means["exact GP"] > 0
    assert len(figures(found)["gold_bands"].draw().axes) == 3
