"""The book's comparison in the report, on made-up numbers for which its claims hold or fail."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_report import LOG_LIKELIHOOD, RMSE, make_run, make_splits

from bnnbench.report.overview import write_report
from bnnbench.results.claims import Claim
from bnnbench.suites.cinelli_book.claims import STATEMENTS, TIME, claims
from bnnbench.suites.cinelli_book.comparison import (
    CONFIGURATIONS,
    BookRuns,
    book_seconds,
    relative_time_figure,
    running_times,
    suite_of,
)
from bnnbench.suites.cinelli_book.page import (
    coverage_sentence,
    net_wins,
    quality_word,
    timing_word,
    timings,
)

TOTAL = dict(zip(CONFIGURATIONS, (60, 108, 69.6, 1, 37.4, 34), strict=True))
"""Seconds of which everything that the book says about its times is true."""

FIT = dict(zip(CONFIGURATIONS, (5, 9, 6, 10, 8, 3), strict=True))
STRENGTH = dict(zip(CONFIGURATIONS, (1, 3, 2, 4, 6, 5), strict=True))
"""Which configuration beats which, in both scores."""


def frame(totals: dict[str, dict[str, float]], **changes: Any) -> pd.DataFrame:
    """Rows like those of `gather` from seconds by data set and configuration."""
    row = {"experiment": "book_uci", "divergence": "kl", "likelihood": "gaussian", "loss": "nll"}
    row |= {"depth": 1, "variant": "v1", "splits": 20}
    rows = [
        {
            "dataset": dataset,
            "method": method,
            "total_seconds_mean": seconds,
            "total_seconds_stderr": 0.1,
            "fit_seconds_mean": FIT[method],
        }
        for dataset, times in totals.items()
        for method, seconds in times.items()
    ]
    return pd.DataFrame(rows).assign(**(row | changes))


def duels(strength: dict[str, float], dataset: str = "boston", sure: float = 0.99) -> pd.DataFrame:
    """Rows like those of `all_pairs`: the stronger is better, beyond the ROPE at chance `sure`."""
    rows = []
    for a, b in combinations(strength, 2):
        lead = float(np.sign(strength[a] - strength[b]))
        chances = {1: (sure, 0, 1 - sure), 0: (0, 1, 0), -1: (1 - sure, 0, sure)}[int(lead)]
        for metric, sign in (("rmse", -1), ("log_likelihood", 1), ("crps", -1)):
            row = dict(zip(("p_better", "p_equivalent", "p_worse"), chances, strict=True))
            row |= {"dataset": dataset, "metric": metric, "a": a, "b": b}
            rows.append(row | {"difference": sign * lead})
    return pd.DataFrame(rows)


def suite(
    total: dict[str, float] | None = None,
    strength: dict[str, float] | None = None,
    fit: dict[str, float] | None = None,
    sure: float = 0.99,
) -> BookRuns:
    """One data set on which every claim holds, but for the changes."""
    runs = frame({"boston": TOTAL | (total or {})})
    runs["fit_seconds_mean"] = runs["method"].map(FIT | (fit or {}))
    found = suite_of(runs, duels(STRENGTH | (strength or {}), sure=sure))
    assert found is not None
    return found


def claim(given: BookRuns, text: str) -> Claim:
    (found,) = [c for c in claims(given) if c.text == text]
    return found


TEXTS = [text for text, _, _ in STATEMENTS]

FALSE = {
    "PBP trains fastest.": [{"total": {"pbp": 35}}],
    "PBP is 34 times faster than the runner-up.": [
        {"total": {"pbp": 2.1}},
        {"total": {"pbp": 0.4}},
    ],
    "Without hyper-parameter search PBP would be the slowest on average.": [{"fit": {"vadam": 11}}],
    "BBBx2 is by far the slowest.": [{"total": {"vadam": 90}}, {"total": {"pbp": 109}}],
    "BBBx2, of twice the samples, takes 80 % longer than BBBx1.": [
        {"total": {"bbb_x2": 60 * 1.39}},
        {"total": {"bbb_x2": 60 * 2.61}},
    ],
    "Vadam takes 16 % longer than BBBx1.": [
        {"total": {"vadam": 60 * 1.07}},
        {"total": {"vadam": 60 * 1.33}},
    ],
    "Vadam trains faster than BBBx2.": [{"total": {"vadam": 109}}],
    "BBBx2 performs better than Vadam on average.": [{"strength": {"vadam": 3.5}}],
    "MCDOx1 takes 10 % longer than MCDOx10.": [
        {"total": {"mc_dropout_x1": 34 * 1.04}},
        {"total": {"mc_dropout_x1": 34 * 1.21}},
    ],
    "MCDOx1 performs slightly but consistently better than MCDOx10.": [
        {"strength": {"mc_dropout_x10": 7}},
        {"strength": {"mc_dropout_x10": 6}},
    ],
    # A place that is shared is nobody's.
    "MCDOx1 performs best overall.": [{"strength": {"pbp": 7}}, {"strength": {"pbp": 6}}],
    "MCDOx10 performs second best.": [{"strength": {"pbp": 5.5}}, {"strength": {"pbp": 5}}],
    "PBP performs third best.": [{"strength": {"bbb_x1": 7}}, {"strength": {"pbp": 3}}],
}


def test_every_statement_can_fail() -> None:
    assert set(FALSE) == set(TEXTS)


@pytest.mark.parametrize("text", TEXTS)
def test_a_claim_that_holds_is_confirmed(text: str) -> None:
    assert claim(suite(), text).verdict == "confirmed"


@pytest.mark.parametrize(("text", "change"), [(t, c) for t in FALSE for c in FALSE[t]])
def test_a_claim_that_fails_is_not_confirmed(text: str, change: dict[str, Any]) -> None:
    assert claim(suite(**change), text).verdict == "not confirmed"


@pytest.mark.parametrize("text", TEXTS)
def test_a_claim_without_its_runs_is_not_tested(text: str) -> None:
    lone = suite_of(frame({"boston": {"mc_dropout_x1": 1}, "yacht": {"vadam": 1}}), pd.DataFrame())
    assert lone is not None
    found = claim(lone, text)
    assert found.verdict == "not tested" and found.evidence.startswith("no data set has all of ")


def test_slight_differences_count_by_their_consistency() -> None:
    """No t-test decides anything, yet the means all lean one way; whoever comes first in a pair."""
    text = "MCDOx1 performs slightly but consistently better than MCDOx10."
    slight = suite(sure=0.6)
    evidence = "better mean in 2 of 2; t-tests won 0, lost 0 (1 data set)"
    assert (claim(slight, text).verdict, claim(slight, text).evidence) == ("confirmed", evidence)
    swapped = slight.pairs.rename(columns={"a": "b", "b": "a"})
    swapped["difference"] *= -1
    assert claim(BookRuns(slight.runs, swapped), text).evidence == evidence
    one_way = slight.pairs["metric"] == "rmse"
    mixed = slight.pairs.assign(difference=slight.pairs["difference"].where(one_way, 0))
    assert claim(BookRuns(slight.runs, mixed), text).verdict == "not confirmed"


def test_ratios_are_averaged_geometrically_over_complete_data_sets() -> None:
    totals = {
        "boston": {"bbb_x1": 1, "bbb_x2": 1.5},
        "yacht": {"bbb_x1": 10, "bbb_x2": 24},
        "wine": {"bbb_x2": 1e6},
    }
    found = suite_of(frame(totals), pd.DataFrame())
    assert found is not None
    evidence = claim(found, "BBBx2, of twice the samples, takes 80 % longer than BBBx1.").evidence
    book = math.sqrt(3279 / 1813 * 1634 / 1139)
    assert evidence == (
        f"BBBx2 {math.sqrt(1.5 * 2.4):.3g} (2 data sets); the book's table: BBBx2 {book:.3g}, "
        "confirmed"
    )


def test_the_books_own_table_bears_out_its_text() -> None:
    found = suite_of(frame(book_seconds().to_dict("index")), pd.DataFrame())
    assert found is not None
    timed = [c for c in claims(found) if c.source == TIME]
    assert {c.verdict for c in timed} == {"confirmed"}
    for c in timed:
        ours, theirs = c.evidence.split("; the book's table: ")
        assert theirs == ours.replace(" (8 data sets)", ", confirmed")
    words = timings(book_seconds()).map(timing_word)
    assert words.tolist() == ["OK", "Slow", "OK", "Very fast", "OK", "OK"]


@pytest.mark.parametrize(
    ("share", "word"), [(0.34, "Good"), (0.33, "OK"), (-0.33, "OK"), (-0.34, "Poor")]
)
def test_quality_follows_from_net_wins(share: float, word: str) -> None:
    assert quality_word(share) == word
    net = net_wins(suite())
    assert net["mc_dropout_x1"] == 1 and net["pbp"] == pytest.approx(1 / 5) and net["bbb_x1"] == -1
    assert set(net_wins(suite(sure=0.6))) == {0}


def test_timing_words_need_a_data_set_that_all_have_finished() -> None:
    gap = pd.DataFrame({"pbp": [1, math.nan], "vadam": [math.nan, 5]})
    assert set(timings(gap).map(timing_word)) == {"–"}  # noqa: RUF001


def test_running_times_stand_beside_the_books() -> None:
    found = suite_of(frame({"boston": {"pbp": 2, "vadam": 30}, "yacht": {"vadam": 7}}), duels({}))
    assert found is not None
    pbp, vadam, lone = running_times(found).to_dict("records")
    assert (pbp["seconds"], pbp["book_seconds"], pbp["speedup"]) == (2, 16, 8)
    assert (vadam["relative_to_pbp"], vadam["book_relative_to_pbp"]) == (15, 2214 / 16)
    assert math.isnan(lone["relative_to_pbp"]) and lone["book_relative_to_pbp"] == 1291 / 10
    figure = relative_time_figure(found)
    assert figure is not None
    (axes,) = figure.axes
    assert axes.get_yscale() == "log"
    assert [(bar.get_y(), bar.get_height()) for bar in axes.patches] == [(1, 14)]
    assert axes.lines[0].get_ydata().tolist() == [2214 / 16]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["boston"]
    without = suite_of(frame({"yacht": {"vadam": 7}}), duels({}))
    assert without is not None and relative_time_figure(without) is None


def test_a_time_shared_by_all_splits_has_no_error() -> None:
    found = suite_of(frame({"boston": TOTAL}, total_seconds_stderr=1e-17), duels({}))
    assert found is not None and running_times(found)["stderr"].isna().all()


@pytest.mark.parametrize(
    "change",
    [
        {"experiment": "uci"},
        {"depth": 2},
        {"likelihood": "heteroscedastic"},
        {"loss": "beta"},
        {"divergence": "renyi_0.5"},
        {"dataset": "protein"},
        {"method": "mc_dropout"},
    ],
)
def test_other_runs_are_no_part_of_the_comparison(change: dict[str, Any]) -> None:
    assert suite_of(frame({"boston": {"pbp": 1}}), pd.DataFrame()) is not None
    assert suite_of(frame({"boston": {"pbp": 1}}, **change), pd.DataFrame()) is None


def test_of_two_like_runs_that_of_more_splits_is_taken_with_its_pairs() -> None:
    runs = pd.concat(
        [
            frame({"boston": {"bbb_x1": 1}}),
            frame({"boston": {"pbp": 3}}, splits=5, variant="seed1"),
            frame({"boston": {"pbp": 2}}, variant="seed0"),
        ],
        ignore_index=True,
    )
    labels = {"bbb_x1": 1, "pbp · seed1": 2, "pbp · seed0": 3}
    found = suite_of(runs, duels(labels))
    assert found is not None
    assert found.table("total_seconds").loc["boston", ["bbb_x1", "pbp"]].tolist() == [1, 2]
    assert found.pairs[["metric", "a", "b"]].to_numpy().tolist() == [
        ["rmse", "bbb_x1", "pbp"],
        ["log_likelihood", "bbb_x1", "pbp"],
    ]
    sentence = coverage_sentence(found)
    assert sentence.startswith("2 of the 48 runs") and "wine (all)" in sentence
    assert "boston (BBBx2, Vadam, MCDOx1, MCDOx10)" in sentence
    assert "1 more was left out" in sentence and "fewer than" not in sentence


def test_the_report_holds_the_comparison_only_where_it_was_run(tmp_path: Path) -> None:
    make_run(tmp_path, make_splits())
    other = write_report(tmp_path)
    assert "The book's comparison" not in other.page.read_text()
    assert not other.table("claims").exists() and not other.table("running_times").exists()

    make_run(tmp_path, make_splits(experiment="book_uci"))
    make_run(
        tmp_path,
        make_splits(
            experiment="book_uci",
            method="pbp",
            rmse=np.array(RMSE) - 1,
            log_likelihood=np.array(LOG_LIKELIHOOD) + 0.5,
            log_likelihood_gaussian=np.array(LOG_LIKELIHOOD) + 0.25,
            total_seconds=2.0,
        ),
    )
    report = write_report(tmp_path)
    assert pd.read_csv(report.table("running_times"))["speedup"].tolist() == [1813 / 100, 16 / 2]
    found = pd.read_csv(report.table("claims"))
    assert found.columns.tolist() == ["text", "source", "verdict", "evidence", "rule"]
    assert found["text"].tolist() == TEXTS and set(found["verdict"]) == {"not tested"}
    assert report.figure("relative_time", "png").read_bytes().startswith(b"\x89PNG")
    assert report.figure("relative_time", "pdf").read_bytes().startswith(b"%PDF")
    page = report.page.read_text()
    assert "2 of the 48 runs" in page and "2 of them have fewer than 20 splits." in page
    assert "100 / 1813 (18.1x)" in page and "2 / 16 (8x)" in page
    (row,) = [line for line in page.splitlines() if line.startswith("| boston") and "-2.25" in line]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[:4] == ["boston", "PBP", "-2.00 ± 0.20", "-2.570 ± 0.090"]
    assert cells[4] == "-2.60 ± 0.20" and cells[6] == "-2.25 ± 0.20"
