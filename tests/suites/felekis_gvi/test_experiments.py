"""The thesis's experiments, from configurations to report sections."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.blocks import blocks, data_files
from support.config import compose
from support.tiny_runs import finished

from bnnbench.config.assemble import build
from bnnbench.report.sections.information_criteria import criteria_table
from bnnbench.results.claims.claims import NOT_JUDGED
from bnnbench.results.read.run_tables import read_runs
from bnnbench.suites.felekis_gvi.page import claims_section


@pytest.mark.slow
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
    assert verdicts["The confidence of RKL decreases with the number of layers."] == NOT_JUDGED
