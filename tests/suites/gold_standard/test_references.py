"""Stored references, and predictions of other programs compared with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.runs import add_arrays
from support.saved_mixtures import components, make_chains
from support.user_errors import raises_user_error

from bnnbench.experiment.split_files import PREDICTIONS
from bnnbench.results.reader import read_runs
from bnnbench.suites.gold_standard.references import (
    FOLDER,
    Reference,
    read_functions,
    read_reference,
    score,
    thin,
    write_reference,
)

CENTER, SCALE = np.array([5.0, -3.0, 0.0, 20.0]), np.array([2.0, 0.5, 1.0, 8.0])
ABOUT = {"dataset": "boston", "prior_precision": 1.0}


@pytest.fixture
def reference(tmp_path: Path) -> Reference:
    """The chains of `make_chains`, with 50 of 100 draws, written and read again."""
    folder, own = make_chains(tmp_path), components()
    center, scale = CENTER[own["split"]], SCALE[own["split"]]
    names = {"split": own["split"], "row": own["row"], "target": center}
    moments = {"mean": center + scale * own["loc"].mean(1), "epistemic_variance": 0 * scale,
               "noise_variance": scale**2 * own["noise"][:, 0]}  # fmt: skip
    add_arrays(folder, PREDICTIONS, {**names, **moments})
    path = tmp_path / "boston.npz"
    write_reference(path, thin(folder, read_runs(tmp_path).splits, ABOUT, 50))
    return read_reference(str(path))


def write_csv(path: Path, shift: float, rows: slice = slice(None)) -> Path:
    """Write the draws of the chains in original units, shifted, in another order."""
    own = components(shift)
    center, scale = CENTER[own["split"]], SCALE[own["split"]]
    table = pd.DataFrame(center[:, None] + scale[:, None] * own["loc"])
    table.insert(0, "row", own["row"])
    table.insert(0, "split", own["split"])
    table.iloc[::-1].iloc[rows].to_csv(path, index=False)
    return path


def test_a_reference_has_units_and_diagnostics(reference: Reference) -> None:
    assert reference.stored.mixture.loc.shape == (20, 50)
    assert reference.splits["center"].tolist() == pytest.approx(CENTER.tolist(), abs=1e-5)
    assert reference.splits["scale"].tolist() == pytest.approx(SCALE.tolist(), rel=1e-5)
    assert (reference.splits["bulk_ess"] == 400).all() and reference.about["dataset"] == "boston"


def test_predictions_in_original_units_have_their_known_distance(
    reference: Reference, tmp_path: Path
) -> None:
    found = score(read_functions(write_csv(tmp_path / "own.csv", 0.1)), reference)
    own = found[~found["halves"]]
    assert own["split"].tolist() == [0, 1, 2, 3]
    assert own[["w1", "w1_function"]].mean().tolist() == pytest.approx([0.1, 0.1], abs=0.01)
    same = score(read_functions(write_csv(tmp_path / "own.csv", 0.0)), reference)
    assert same.loc[~same["halves"], "w1"].max() < 0.02


def test_files_that_do_not_match(reference: Reference, tmp_path: Path) -> None:
    with raises_user_error("FILE", "rows"):
        score(read_functions(write_csv(tmp_path / "own.csv", 0.1, slice(1, None))), reference)
    table = tmp_path / "other.csv"
    for text, code in (
        ("split,row,a\n9,0,1.0\n", "unknown_split"),
        ("split,row,a\n0,0,x\n", "not_numbers"),
        ("split,row,a\n0,0,inf\n", "not_finite"),
        ("split,row\n0,0\n", "shape"),
        ("a,b\n0,0\n", "damaged"),
    ):
        table.write_text(text)
        with raises_user_error("FILE", code):
            score(read_functions(table), reference)
    np.savez(tmp_path / "own.npz", split=[0], row=[0])
    with raises_user_error("FILE", "arrays"):
        read_functions(tmp_path / "own.npz")
    with raises_user_error("reference", "unknown"):
        read_reference("nothing")


def test_shipped_references_match_their_checksums() -> None:
    names = [path.stem for path in FOLDER.glob("*.npz")]
    assert names
    for name in names:
        shipped = read_reference(name)
        assert shipped.about["dataset"] == name and shipped.about["licence"]
        assert (shipped.splits["r_hat"] < 1.05).all() and np.isfinite(shipped.splits).all(axis=None)
        assert np.isfinite(shipped.stored.mixture.loc).all()
