"""The thesis's experiments, from configurations to report sections."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.blocks import blocks, data_files
from support.config import compose
from support.tiny_runs import finished

from bnnbench.config.assemble import build
from bnnbench.report.sections.information_criteria import criteria_table
from bnnbench.results.reader import read_runs
from bnnbench.suites.felekis_gvi.page import claims_section


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_toys_widths_depend_on_the_depth(depth: int) -> None:
    experiment = build(compose("experiment=gp_toy", f"depth={depth}", "divergence=js")).experiment
    names = experiment.metadata()
    assert names["width"] == [100, 200, 100][:depth] and names["final_epochs"] == 500
    assert names["likelihood"] == "heteroscedastic" and names["initial_points"] == 0


def test_values_fixed_by_a_data_set_are_part_of_the_identity() -> None:
    first, second = (
        build(
            compose("experiment=gp_toy", "depth=1", f"dataset.protocol.fixed.prior_precision={v}")
        )
        for v in (1.0, 2.0)
    )
    assert first.folder.root != second.folder.root


def test_the_toy_produces_criteria_and_claims(tmp_path: Path) -> None:
    small = ("training.samples=2", "evaluation.samples=5", "workers=1")
    data = ("dataset.points=12", "dataset.grid_points=21", "dataset.protocol.widths.2=[4,3]")
    for depth in (1, 2):
        words = ("experiment=gp_toy", "method=bbb", "divergence=js", f"depth={depth}")
        finished(build(compose(*words, *small, *data, f"outputs_dir={tmp_path}")))
    runs = read_runs(tmp_path)
    criteria = criteria_table(runs)
    assert sorted(criteria["parameters"]) == [2 * (8 + 15 + 8), 804]
    assert set(criteria["rows"]) == {12}
    section = blocks(claims_section, runs)
    (claims,) = data_files(section).values()
    assert set(claims["source"]) == {"5.0.2"}
    verdicts = claims.set_index("text")["verdict"]
    assert verdicts["The confidence of RKL decreases with the number of layers."] == "not tested"
