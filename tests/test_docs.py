"""The pages of `docs` agree with what they describe."""

from __future__ import annotations

import ast
import math
import re
import runpy
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from support.runs import make_run

import bnnbench
from bnnbench.report.numbers import MISSING
from bnnbench.results.reader import read_runs

PACKAGE = Path(bnnbench.__file__).parent
DOCS = PACKAGE.parent / "docs"
LARGEST = 500_000
"""Bytes of a table in git: larger ones can be written again by the command that made them."""


def layers() -> list[set[str]]:
    """What the page on the architecture prints, from the first line to the last."""
    page = (DOCS / "architecture.md").read_text()
    block = re.findall(r"^```\n(.*?)^```$", page, re.M | re.S)[0]
    return [set(line.split("  ")[0].split()) for line in block.splitlines()]


def test_the_printed_layers_are_the_packages_parts() -> None:
    printed = layers()
    found = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert set().union(*printed) == {name for name in found if not name.startswith("__")}
    assert sum(map(len, printed)) == len(set().union(*printed))


@pytest.mark.parametrize("level", range(len(layers())))
def test_a_printed_layer_imports_nothing_from_those_below(level: int) -> None:
    below = set().union(*layers()[level + 1 :])
    for name in layers()[level]:
        part = PACKAGE / name
        for file in sorted(part.rglob("*.py")) or [part.with_suffix(".py")]:
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bnnbench."):
                    assert (node.module or "").split(".")[1] not in below, f"{file}: {node.module}"


def test_the_tables_of_the_pages_are_those_of_the_published_results() -> None:
    blocks = runpy.run_path(str(DOCS / "tools" / "update_readme.py"))
    for page in blocks["BLOCKS"]:
        assert page.read_text() == blocks["filled"](page), "run docs/tools/update_readme.py"


def test_no_large_table_is_published() -> None:
    large = [path for path in DOCS.rglob("*.csv") if path.stat().st_size > LARGEST]
    assert not large, "see `docs/tools/update_results.py`"


def test_every_split_of_published_runs_is_kept(tmp_path: Path) -> None:
    tool = runpy.run_path(str(DOCS / "tools" / "update_results.py"))
    for dataset in ("boston", "yacht"):
        make_run(tmp_path / "runs", dataset=dataset, times=5)
        make_run(tmp_path / "runs", dataset=dataset, method="pbp", **{"hp.noise_precision": 3.0})
    runs = read_runs(tmp_path / "runs")
    tool["keep_splits"](runs, tmp_path)
    tables = [pd.read_csv(tmp_path / f"splits_{name}.csv") for name in ("boston", "yacht")]
    kept = pd.concat(tables)
    assert len(kept) == len(runs.splits) and {"hp.noise_precision", "fingerprint"} <= {*kept}
    means = kept.groupby("run")["rmse"].mean()
    assert means[runs.scored.index].tolist() == pytest.approx(runs.scored["rmse_mean"].tolist())
    monster = pd.concat([runs.splits] * 500)
    with pytest.raises(ValueError, match="more than"):
        tool["keep_splits"](replace(runs, splits=monster), tmp_path)


def test_methods_on_a_bound_of_the_search_are_counted() -> None:
    tool = runpy.run_path(str(DOCS / "tools" / "update_readme.py"))
    splits = pd.DataFrame({
        "method": ["vadam", "vadam", "bbb_x1", "bbb_x1", "pbp"],
        "at_bound": ["noise_precision", "noise_precision dropout", "noise_precision", "", ""],
        "hp.noise_precision": [148.4, 148.0, 1.0, 148.4, math.nan],
        "hp.prior_precision": [1.0, 54.5, 1.0, 1.0, math.nan],
    })  # fmt: skip
    highest = tool["on_bound"](splits, "boston", "noise_precision", "highest")
    assert highest == "vadam 2"
    assert tool["on_bound"](splits, "boston", "noise_precision", "lowest") == "bbb_x1 1"
    assert tool["on_bound"](splits, "boston", "prior_precision", "lowest") == MISSING
