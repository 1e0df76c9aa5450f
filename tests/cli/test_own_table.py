"""The table of a paper and `compare --mine` agree with each other, and with scipy."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from support.command import Command
from support.recomputed import LOWER_IS_BETTER, against, read_scores
from support.reference import reference_run

from bnnbench.report.sections.reference_results import DATASET_COLUMNS
from bnnbench.results.compare.significance import ROPE
from bnnbench.results.metric_table import printed_in
from bnnbench.results.read.run_tables import read_runs
from bnnbench.results.reference.comparison import compare_with_reference
from bnnbench.results.reference.write import add

pytestmark = pytest.mark.ci

DATASETS, METHODS = ("boston", "energy", "yacht"), ("vadam", "pbp", "swag", "svgd", "ivon")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return reference results of five methods, some of them much worse, and runs of mine."""
    root = tmp_path_factory.mktemp("own")
    for dataset in DATASETS:
        for place, method in enumerate(METHODS):
            folder = reference_run(root / "theirs", dataset=dataset, method=method)
            table = pd.read_csv(folder.root / "splits.csv")
            moved = table["rmse"] * (1 + 0.02 * place**2) + 0.3 * (table["split"] % (3 + place))
            worse = table.assign(rmse=moved, log_likelihood=table["log_likelihood"] - moved / 40)
            worse.to_csv(folder.root / "splits.csv", index=False)
        reference_run(root / "mine", dataset=dataset, method="mine")
    add(root / "reference", root / "theirs")
    return root


def test_the_table_the_comparison_and_scipy_agree(
    command: Command, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bnnbench.report.paper.paper_writer.save_figures", lambda *_: {})
    option = f"reference@{root / 'reference'}"
    words = ("--style", "paper", "--mine", "mine", "--with", option)
    code, _, _ = command("report", str(root / "mine"), *words, "--output-dir", str(tmp_path))
    assert code == 0
    printed = pd.read_csv(tmp_path / "paper.csv").set_index(["dataset", "method", "metric"])
    (compared,) = compare_with_reference(
        read_runs(root / "mine"), option, printed_in("figures"), ROPE
    ).tracks
    pairs = compared.pairs.set_index(["dataset", "b", "metric"])
    scores = {**read_scores(root / "theirs"), **read_scores(root / "mine")}
    tex, outcomes = (tmp_path / "paper.tex").read_text(), set[str]()
    for dataset in DATASETS:
        own = {method: rows for (data, method), rows in scores.items() if data == dataset}
        for metric in LOWER_IS_BETTER:
            found = against("mine", METHODS, own, metric)
            for method, (test, p, outcome) in found.items():
                row, pair = printed.loc[dataset, method, metric], pairs.loc[dataset, method, metric]
                expected = (test.difference, test.low, test.high, p)
                names = ("difference", "low", "high", "p_holm")
                assert tuple(row[f"mine_{n}"] for n in names) == pytest.approx(expected, rel=1e-4)
                assert row["mine_outcome"] == outcome
                mirrored = (-test.difference, -test.high, -test.low, p)
                assert tuple(pair[n] for n in names) == pytest.approx(mirrored, rel=1e-4)
                assert {pair["outcome"], outcome} in (
                    {"better", "worse"}, {"undecided"}, {"equivalent"},
                )  # fmt: skip
                outcomes.add(outcome)
                assert outcome not in ("better", "worse") or test.low * test.high > 0
    assert {"worse", "undecided"} <= outcomes and r"\sig{-}" in tex


def test_the_screen_prints_the_differences_of_the_table(command: Command, root: Path) -> None:
    option = f"reference@{root / 'reference'}"
    words = (str(root / "mine"), "--mine", "mine", "--with", option, "--metric", "rmse")
    code, out, _ = command("compare", *words)
    (compared,) = compare_with_reference(
        read_runs(root / "mine"), option, printed_in("figures")[:1], ROPE
    ).tracks
    significant = compared.pairs[compared.pairs["outcome"].isin(["better", "worse"])]
    difference, holm = (column.cell for column in DATASET_COLUMNS if column.title in
                        ("Difference", "Holm p"))  # fmt: skip
    assert code == 0 and len(significant) > 0
    cells = [
        [pair["dataset"], pair["outcome"], pair["b"], *difference(pair).split(), holm(pair)]
        for pair in significant.to_dict("records")
    ]
    listed = [line.split() for line in out.splitlines() if line.startswith("  ") and "]" in line]
    assert 3 < len(listed) <= len(cells) and all(line in cells for line in listed)
