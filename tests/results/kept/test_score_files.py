"""Scores of other programs: every fault is found, all at once, and marks stay with the rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.kept import published, scores_of_others
from support.user_errors import raises_user_error

from bnnbench.results.kept.candidates import Claims, Submission
from bnnbench.results.kept.edition import find_edition, read_edition
from bnnbench.results.kept.plausibility import rescored
from bnnbench.results.kept.write import add, check, read_content

EDITION = read_content(find_edition())
BY = Claims(by="A. Author", tuning="folds", fits=151)


def checked(path: Path, table: pd.DataFrame) -> Submission:
    """Write a CSV file and check it against the newest edition."""
    table.to_csv(path / "scores.csv", index=False)
    return check(path / "scores.csv", EDITION, BY)


def faults(found: Submission) -> list[str]:
    return [finding.text for finding in found.findings if finding.fault]


def marks(found: Submission) -> list[str]:
    return [finding.text for finding in found.findings if not finding.fault]


def test_plausible_scores_are_added_as_level_c(tmp_path: Path) -> None:
    rows = scores_of_others().sample(frac=1, random_state=0)
    found = checked(tmp_path, rows)
    assert not found.findings and len(found.candidates) == 1
    assert len(add(tmp_path / "kept", tmp_path / "scores.csv", BY).added) == 1
    edition = read_edition(str(tmp_path / "kept"))
    (run,) = edition.runs.reset_index().to_dict("records")
    assert (run["level"], run["track"], run["tuning"], run["fits"]) == ("C", "free", "folds", 151)
    assert run["unranked"] and list(edition.splits["split"]) == list(range(20))
    expected = scores_of_others()["rmse"]
    np.testing.assert_allclose(edition.splits["rmse"], expected, rtol=1e-6)


Change = Callable[[pd.DataFrame], pd.DataFrame]

FAULTS: dict[str, Change] = {
    "units": lambda t: t.assign(rmse=t["rmse"] / published()["target_deviation"]),
    "millions": lambda t: t.assign(rmse=t["rmse"] * 1000),
    "units of crps": lambda t: t.assign(crps=t["crps"] / 1000),
    "negated": lambda t: t.assign(log_likelihood=-t["log_likelihood"]),
    "too certain": lambda t: t.assign(log_likelihood=9.0),
    "permuted rows": lambda t: t.assign(fingerprint=t["fingerprint"].to_numpy()[::-1]),
    "other data": lambda t: t.assign(dataset="yacht"),
    "repeated": lambda t: pd.concat([t, t.iloc[:1]]),
    "missing": lambda t: t.assign(rmse=t["rmse"].where(t.index > 0)),
    "text": lambda t: t.assign(rmse="3,1"),
    "infinite": lambda t: t.assign(log_likelihood=np.inf),
    "a wrong sign in the name": lambda t: t.assign(nll=2.5),
    "unknown column": lambda t: t.assign(colour="red"),
    "bad name": lambda t: t.assign(method="../mine"),
}


@pytest.mark.parametrize("change", FAULTS.values(), ids=FAULTS)
def test_each_fault_refuses_the_file(tmp_path: Path, change: Change) -> None:
    found = checked(tmp_path, change(scores_of_others()))
    assert faults(found) and not found.candidates
    result = add(tmp_path / "kept", tmp_path / "scores.csv", BY)
    assert not result.added and not (tmp_path / "kept").exists()


def test_all_faults_are_reported_at_once(tmp_path: Path) -> None:
    table = scores_of_others().assign(colour="red")
    table.loc[0, "fingerprint"] = "0" * 16
    table.loc[1, "rmse"] = np.nan
    table["log_likelihood"] *= -1
    texts = " ".join(faults(checked(tmp_path, table)))
    for word in ("colour", "row 1 ", "line 3", "log-likelihood"):
        assert word in texts


MARKS: dict[str, Change] = {
    "18 of 20 splits": lambda t: t.iloc[:18],
    "opposite sign": lambda t: t.assign(dataset="naval", rmse=0.005, log_likelihood=-3.8),
    "mean of the targets": lambda t: t.assign(rmse=2 * 9.3, log_likelihood=-4.5),
}


@pytest.mark.parametrize("word", MARKS)
def test_missing_splits_and_doubtful_scores_are_marked(tmp_path: Path, word: str) -> None:
    dataset = "naval" if word == "opposite sign" else "boston"
    table = MARKS[word](scores_of_others(dataset)).drop(columns="crps")
    found = checked(tmp_path, table)
    assert not faults(found) and word in marks(found)[0]
    assert found.candidates[0].line["marks"] == marks(found)


@pytest.mark.ci
@pytest.mark.parametrize("dataset", sorted(set(read_edition().runs["dataset"])))
def test_scores_of_our_runs_pass_and_with_wrong_units_or_sign_do_not(
    dataset: str, tmp_path: Path
) -> None:
    edition = read_edition()
    names = [*scores_of_others().columns]
    splits = edition.splits[edition.splits["dataset"] == dataset]
    means = splits.groupby("run")["rmse"].mean()
    for run in (means.idxmin(), means.idxmax()):
        rows = splits[(splits["run"] == run) & (splits["diverged"] == 0)]
        table = rows.assign(method="mine")[names].reset_index(drop=True)
        assert not faults(checked(tmp_path, table))
        deviation = published(dataset)["target_deviation"].mean()
        # Otherwise standardised units are too similar, or poor scores look like good ones.
        if not 0.5 < deviation < 2 and run == means.idxmin():
            assert checked(tmp_path, table.assign(rmse=table["rmse"] / deviation)).findings
        if abs(table["log_likelihood"].mean()) > 0.5:
            negated = table.assign(log_likelihood=-table["log_likelihood"])
            assert checked(tmp_path, negated).findings


def predictions_of(table: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Return Gaussian predictions of targets with the mean and deviation of the published ones."""
    rng, parts = np.random.default_rng(seed), []
    for row in published().itertuples():
        target = rng.normal(size=row.test_rows)
        target = (target - target.mean()) / target.std() * row.test_target_deviation
        target += row.test_target_mean
        mean = target + rng.normal(0, 3, row.test_rows)
        parts.append(pd.DataFrame({"fingerprint": row.fingerprint, "target": target, "mean": mean}))
    return pd.concat(parts).assign(method="mine", dataset="boston", variance=9.0)


def submission(folder: Path, table: pd.DataFrame, predictions: pd.DataFrame) -> Path:
    """Write a folder with scores and predictions."""
    folder.mkdir(exist_ok=True)
    (folder / "submission.toml").write_text('by = "B. Author"\ntuning = "folds"\nfits = 151\n')
    table.to_csv(folder / "splits.csv", index=False)
    predictions.to_csv(folder / "predictions.csv", index=False)
    return folder


@pytest.fixture
def predicted() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return scores and the predictions that give them."""
    predictions = predictions_of(scores_of_others())
    scores = {str(name): rescored(part) for name, part in predictions.groupby("fingerprint")}
    table = scores_of_others().drop(columns=["rmse", "log_likelihood", "crps"])
    return table.join(pd.DataFrame(scores).T, on="fingerprint"), predictions


def test_predictions_confirm_the_scores(
    tmp_path: Path, predicted: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    table, predictions = predicted
    folder = submission(tmp_path / "theirs", table, predictions)
    result = add(tmp_path / "kept", folder, Claims())
    assert len(result.added) == 1 and not result.findings
    (run,) = read_edition(str(tmp_path / "kept")).runs.to_dict("records")
    assert (run["level"], run["by"], run["unranked"]) == ("B", "B. Author", "")


def test_predictions_that_contradict_the_scores_are_refused(
    tmp_path: Path, predicted: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    table, predictions = predicted
    for wrong_table, wrong in (
        (table.assign(log_likelihood=-table["log_likelihood"]), predictions),
        (table.assign(rmse=table["rmse"] / 9), predictions),
        (table, predictions.assign(target=predictions["target"] + 0.1)),
        (table, predictions.iloc[51:]),
        (table, predictions.assign(target=predictions["target"].to_numpy()[::-1])),
    ):
        folder = submission(tmp_path / "theirs", wrong_table, wrong)
        assert faults(check(folder, EDITION, Claims()))


def test_unreadable_files(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    for content, code in (("", "unreadable"), ("a,b\n1,2\n", "columns"), ("\0\n", "columns")):
        path.write_text(content)
        with raises_user_error("PATH", code):
            check(path, EDITION, BY)
    scores_of_others().iloc[:0].to_csv(path, index=False)
    with raises_user_error("PATH", "no_rows"):
        check(path, EDITION, BY)
    folder = submission(tmp_path / "theirs", scores_of_others(), predictions_of(pd.DataFrame()))
    (folder / "submission.toml").write_text('colour = "red"\n')
    with raises_user_error("colour", "entry"):
        check(folder, EDITION, Claims())
    with raises_user_error("tuning"):
        Claims(tuning="magic")
