"""The reference results of the documentation site."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scipy import stats
from support.reference import reference_run

from bnnbench.report.blocks import plus_minus
from bnnbench.results.reference.results import ReferenceResults, read_reference_results
from bnnbench.results.reference.write import add

TOOLS = Path(__file__).parents[1] / "docs" / "tools"


@pytest.fixture(autouse=True)
def _tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> ReferenceResults:
    """Reference results with two ranked methods, one that lacks two splits, and a second preset."""
    folder = tmp_path_factory.mktemp("reference")
    outputs = folder / "outputs"
    reference_run(outputs, "a", method="bbb_x1", family="bbb")
    reference_run(outputs, "b", method="bbb_x2", family="bbb")
    reference_run(outputs, "c", method="vadam")
    reference_run(outputs, "d", method="vprop", n_splits=18)
    add(folder / "reference", outputs)
    return read_reference_results(folder / "reference")


def rows_of(results: ReferenceResults) -> Any:
    from reference_results import tracks

    (track,) = tracks(results)
    return track.tables["rmse"].set_index("method")


def test_only_complete_representatives_are_ranked(results: ReferenceResults) -> None:
    rows = rows_of(results)
    assert sorted(rows["rank"].dropna()) == [1, 2]
    assert rows["rank"].notna().to_dict() == {
        "bbb_x1": True, "bbb_x2": False, "vadam": True, "vprop": False,
    }  # fmt: skip
    assert rows.loc["vprop", "note"] == "18 of 20 splits"
    assert "bbb_x1" in rows.loc["bbb_x2", "note"]


def test_differences_are_those_of_the_splits(results: ReferenceResults) -> None:
    rows = rows_of(results)
    methods = results.runs["method"]
    rmse = results.splits.assign(method=results.splits["run"].map(methods))
    wide = rmse.pivot(index="split", columns="method", values="rmse")
    best, second = rows.sort_values("rank").index[:2]
    assert rows.loc[best, "mean"] == pytest.approx(wide[best].mean())
    difference = wide[second] - wide[best]
    assert rows.loc[second, "difference"] == pytest.approx(difference.mean())
    share = (rmse["test_rows"] / (rmse["test_rows"] + rmse["training_rows"])).mean()
    scale = difference.std() * (1 / 20 + share / (1 - share)) ** 0.5
    interval = stats.t.interval(0.95, 19, difference.mean(), scale)
    assert tuple(rows.loc[second, ["low", "high"]]) == pytest.approx(interval)
    p = 2 * stats.t.sf(abs(difference.mean()) / scale, 19)
    assert rows.loc[second, "p_holm"] == pytest.approx(p), "it is the only ranked rival"


def test_pages_and_json_have_the_same_numbers(results: ReferenceResults) -> None:
    from reference_pages import navigation, pages

    made = pages(results)
    (track,) = json.loads(made["reference_results/reference_results.json"])["tracks"].values()
    for row in track["rmse"]:
        printed = plus_minus(row["mean"], row["stderr"])
        assert printed in made[f"reference_results/methods/{row['method']}.md"]
        assert printed in made["reference_results/data/boston.md"]
    boston = str(made["reference_results/data/boston.md"])
    assert boston.count('<tr class="faint">') == 2 * len(track)
    (_, datasets, methods) = navigation(made)
    assert datasets == {"Data sets": ["reference_results/data/boston.md"]}
    assert len(methods["Methods"]) == 4


def test_text_of_others_is_shown_as_text(results: ReferenceResults) -> None:
    from reference_pages import method_page, tracks

    found = tracks(results)
    text = "<script>alert(1)</script>"
    runs = results.runs.assign(environment=[{"processor": text}] * len(results.runs))
    page = method_page(replace(results, runs=runs), "vadam", found)
    assert text not in page and page.count("&lt;script&gt;") == 1
