"""The section that compares MC dropout with its published table."""

from __future__ import annotations

from pathlib import Path

from support.blocks import blocks, data_files
from support.runs import make_run

from bnnbench.report.renderers import markdown
from bnnbench.results.published.values import published_splits
from bnnbench.suites.gal_dropout.page import section

GAL = {"experiment": "gal_uci", "method": "mc_dropout_gal2016", "family": "mc_dropout"}


def test_the_section_exists_only_if_the_suite_was_run(tmp_path: Path) -> None:
    make_run(tmp_path, method="mc_dropout_x1", family="mc_dropout")
    assert not blocks(section, tmp_path)


def test_equal_scores_have_no_difference(tmp_path: Path) -> None:
    theirs = published_splits().query("dataset == 'boston'").head(4)
    columns = ("rmse", "log_likelihood", "fingerprint")
    scores = {name: theirs[name].to_numpy() for name in columns}
    make_run(tmp_path, **scores, **GAL)
    make_run(tmp_path, "v2", **{**scores, "rmse": scores["rmse"] + 1}, method="mc_dropout_x1",
             family="mc_dropout")  # fmt: skip
    found = blocks(section, tmp_path)
    (data,) = data_files(found).values()
    assert data["rmse_difference"].round(9).tolist() == [0, 1]
    page = markdown.page(found)
    row = next(line for line in page.splitlines() if "mc_dropout_gal2016" in line and "|" in line)
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells == ["boston", "mc_dropout_gal2016", "4", "2.489", "2.489", "0", "1.00"]
