"""Every number, mark and bold mean of a paper's table equals one recomputed by scipy."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pandas as pd
import pytest
from support.recomputed import LOWER_IS_BETTER, METHODS, against, read_scores, write_random_runs

from bnnbench.report.paper.latex_cells import PADDED, SIUNITX, NumberFormat
from bnnbench.report.paper.latex_table import latex_document, layouts
from bnnbench.report.paper.paper_table import PaperTable, paper_table
from bnnbench.report.paper.paper_writer import rows
from bnnbench.results.metric_table import BY_KEY
from bnnbench.results.read.run_tables import read_runs

pytestmark = pytest.mark.ci

MINE = "laplace"
INCOMPLETE = ("wine", "sgld")


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outputs")
    write_random_runs(folder)
    return folder


@pytest.fixture(scope="module")
def table(outputs: Path) -> PaperTable:
    return paper_table(read_runs(outputs), [BY_KEY[key] for key in LOWER_IS_BETTER], mine=MINE)


def expected(outputs: Path) -> dict[tuple[str, str, str], dict[str, object]]:
    """Return the contents of each cell by data set, method and metric."""
    scores = read_scores(outputs)
    cells: dict[tuple[str, str, str], dict[str, object]] = {}
    for dataset in ("boston", "wine"):
        own = {method: scores[dataset, method] for method in METHODS}
        rivals = [method for method in own if (dataset, method) != INCOMPLETE]
        for metric, lower in LOWER_IS_BETTER.items():
            ranked = {
                method: own[method][metric].mean()
                for method in rivals
                if own[method][metric].notna().all()
            }
            best = (min if lower else max)(ranked, key=ranked.__getitem__)
            references = {"best": best, "mine": MINE}
            found = {
                name: against(method, [one for one in rivals if one != method], own, metric)
                for name, method in references.items()
            }
            for method in METHODS:
                known = own[method][metric].dropna()
                cells[dataset, method, metric] = {
                    "mean": known.mean(),
                    "stderr": known.std(ddof=1) / math.sqrt(len(known)),
                    "bold": method == best
                    or (method in found["best"] and found["best"][method][2] != "worse"),
                    **{name: own_tests.get(method) for name, own_tests in found.items()},
                }
    return cells


def test_the_file_has_the_recomputed_numbers(outputs: Path, table: PaperTable) -> None:
    cells = expected(outputs)
    written = [*rows(table)]
    assert len(written) == len(cells)
    outcomes = set()
    for row in written:
        cell = cells[row["dataset"], row["method"], row["metric"]]
        for key in ("mean", "stderr"):
            assert row[key] == pytest.approx(cell[key], rel=1e-12)
        assert row["bold"] == cell["bold"]
        for name in ("best", "mine"):
            if cell[name] is None:
                assert row[f"{name}_outcome"] == row[f"{name}_p_holm"] == ""
                continue
            test, p, found = cell[name]  # type: ignore[misc]
            numbers = [row[f"{name}_{key}"] for key in ("difference", "low", "high", "p_holm")]
            assert numbers == pytest.approx(
                [test.difference, test.low, test.high, p], rel=1e-9, nan_ok=True
            )
            assert row[f"{name}_outcome"] == found
            outcomes.add(found)
    assert outcomes == {"better", "worse", "equivalent", "undecided"}, "all are tested"


@pytest.mark.parametrize("numbers", [PADDED, SIUNITX], ids=["padded", "siunitx"])
@pytest.mark.parametrize("place", range(4))
def test_every_printed_cell_is_the_recomputed_one(
    outputs: Path, table: PaperTable, numbers: NumberFormat, place: int
) -> None:
    layout = list(layouts(table, numbers))[place]
    lines = latex_document(table, layout).splitlines()
    body = [line for line in lines if line.startswith((*METHODS, "boston", "wine")) and "&" in line]
    printed = [cell for line in body for cell in line.removesuffix(r" \\").split(" & ")[1:]]
    cells = expected(outputs)
    assert len(printed) == len(cells)
    for key, text in zip(keys(table, layout.corner == "Method", layout.stacked), printed,
                         strict=True):  # fmt: skip
        cell = cells[key]
        mean, error, bold, mark = parsed(text)
        for digits, number in ((mean, cell["mean"]), (error, cell["stderr"])):
            decimals = len(digits.partition(".")[2])
            assert digits == f"{number:.{decimals}f}", key
        assert bold == cell["bold"], key
        compared = cell["mine"][2] if cell["mine"] else ""  # type: ignore[index]
        marks = {"better": "+", "worse": "-"}
        incomplete = r"\ddagger" if key[:2] == INCOMPLETE else ""
        assert mark == (incomplete or marks.get(compared, "")), key


def keys(table: PaperTable, by_method: bool, stacked: bool) -> list[tuple[str, str, str]]:
    """Return data set, method and metric of the cells in the order of the rows."""
    methods = [entry.key for entry in table.entries]
    metrics = [metric.key for metric in table.metrics]
    index = pd.MultiIndex.from_product([[*table.datasets], methods, metrics])
    frame = index.to_frame(index=False, name=["dataset", "method", "metric"])
    lines, columns = ("method", "dataset") if by_method else ("dataset", "method")
    order = ["metric", lines, columns] if stacked else [lines, "metric", columns]
    ranks = {"dataset": [*table.datasets], "method": methods, "metric": metrics}
    frame = frame.sort_values(order, key=lambda column: column.map(ranks[column.name].index))
    return [*frame.itertuples(index=False, name=None)]


def parsed(text: str) -> tuple[str, str, bool, str]:
    """Return mean, error, whether it is bold, and the mark of a cell."""
    bold = r"\boldmath" in text or r"\mathbf" in text
    mark = re.search(r"(?:\\sig|\$\^)\{([^{}]*)\}", text)
    bare = re.sub(r"\\pad\{(?:\{\}|[^{}])*\}|(?:\\sig|\{\$\^)\{[^{}]*\}", "", text)
    bare = re.sub(r"\\reg\{([^{}]*)\}\{([^{}]*)\}", r"\1\2", bare).replace("{-}", "-")
    mean, error = re.findall(r"-?\d[\d.]*", bare)
    return mean, error, bold, mark.group(1) if mark else ""
