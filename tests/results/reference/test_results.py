"""Written results are read, compared within a track, and protected by checksums."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.reference import CODE, OTHER_CODE, published, reference_run
from support.user_errors import raises_user_error

from bnnbench.experiment.store.split_files import SPLITS
from bnnbench.results.compare.pairing import dataset_pairs
from bnnbench.results.compare.ranking import rankings
from bnnbench.results.compare.significance import ROPE, compare_pairs
from bnnbench.results.read.run_tables import read_runs
from bnnbench.results.reference.results import (
    ARCHIVE,
    PACKAGED,
    ReferenceResults,
    read_reference_results,
    reference_runs,
)
from bnnbench.results.reference.write import add, read_content, rows_digest


def results_of(outputs: Path) -> ReferenceResults:
    """Return new reference results with all runs of a folder."""
    result = add(outputs.parent / "reference", outputs)
    assert not result.faults and not result.skipped
    return read_reference_results(outputs.parent / "reference")


def test_reference_results_equal_their_run_folders(tmp_path: Path) -> None:
    outputs = tmp_path / "out"
    for dataset in ("boston", "yacht"):
        for method in ("bbb_x1", "vadam", "pbp"):
            reference_run(outputs, dataset=dataset, method=method)
    results = results_of(outputs)
    ours, theirs = read_runs(outputs), reference_runs(results)
    assert set(ours.scored.index) == set(theirs.scored.index) and len(results.splits) == 120
    columns = ["rmse_mean", "log_likelihood_mean", "crps_stderr", "total_seconds_mean", "splits"]
    expected, found = (r.scored[columns].sort_index().astype(float) for r in (ours, theirs))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert (theirs.scored["settings_differ"] == ours.scored["settings_differ"].iloc[0]).all()
    (here,), (there,) = rankings(ours), rankings(theirs)
    pd.testing.assert_frame_equal(here.by_metric[0].ranks, there.by_metric[0].ranks)
    assert (results.splits["cpu_ratio"] == 90 / 0.02).all()


def test_splits_are_paired_by_fingerprint_not_by_number(tmp_path: Path) -> None:
    folder = reference_run(tmp_path / "out")
    reference = reference_runs(results_of(tmp_path / "out"))
    table = pd.read_csv(folder.table(SPLITS))
    table.assign(split=table["split"].to_numpy()[::-1]).to_csv(folder.table(SPLITS), index=False)
    pairs = compare_pairs(dataset_pairs(read_runs(tmp_path / "out"), reference), ROPE)
    assert np.allclose(pairs["difference"], 0, atol=1e-5) and (pairs["splits"] == 20).all()


def test_adding_again_changes_nothing(tmp_path: Path) -> None:
    run = reference_run(tmp_path / "out")
    folder = results_of(tmp_path / "out").folder
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert len(add(folder, tmp_path / "out").unchanged) == 1
    reference_run(tmp_path / "label", "v2")
    assert len(add(folder, tmp_path / "label").unchanged) == 1
    assert before == {path.name: path.read_bytes() for path in folder.iterdir()}
    table = pd.read_csv(run.table(SPLITS))
    table.assign(rmse=table["rmse"] + 0.1).to_csv(run.table(SPLITS), index=False)
    assert len(add(folder, tmp_path / "out").replaced) == 1
    found = read_reference_results(folder).splits["rmse"]
    assert np.allclose(found, table["rmse"] + 0.1, rtol=1e-6)


@pytest.mark.parametrize("codes", [(OTHER_CODE,), (CODE, OTHER_CODE), ()])
def test_two_codes_under_one_digest_are_refused(tmp_path: Path, codes: tuple[dict, ...]) -> None:
    reference_run(tmp_path / "out")
    folder = results_of(tmp_path / "out").folder
    other = reference_run(tmp_path / "other", codes=codes)
    table = pd.read_csv(other.table(SPLITS))
    table.assign(rmse=table["rmse"] + 0.1).to_csv(other.table(SPLITS), index=False)
    before = (folder / ARCHIVE).read_bytes()
    result = add(folder, tmp_path / "other")
    assert len(result.faults) == 1
    assert not result.added and not result.replaced
    assert (folder / ARCHIVE).read_bytes() == before


def test_other_rows_are_refused_and_other_data_skipped(tmp_path: Path) -> None:
    same_test_rows = published().assign(training_fingerprint="0" * 16)
    reference_run(tmp_path / "out")
    folder = reference_run(tmp_path / "out", "v2")
    table = pd.read_csv(folder.table(SPLITS))
    table["training_fingerprint"] = same_test_rows["training_fingerprint"]
    table.to_csv(folder.table(SPLITS), index=False)
    reference_run(tmp_path / "out", "v3", settings={"dataset__seeded_splits": 30})
    result = add(tmp_path / "reference", tmp_path / "out")
    assert len(result.added) == 1 and len(result.faults) == 1 and result.skipped == 1


def test_ranks_leave_out_presets_and_missing_splits(tmp_path: Path) -> None:
    outputs = tmp_path / "out"
    for method in ("bbb", "bbb_x1"):
        reference_run(outputs, method=method)
    reference_run(outputs, method="vadam", n_splits=18)
    reference_run(outputs, method="dvi", diverged=[0, 0, 0, 1])
    reference_run(outputs, method="pbp", variant="s1", seed=1)
    reference_run(outputs, method="pbp", variant="s0", seed=0)
    folder = results_of(outputs).folder
    runs = read_reference_results(folder).runs
    ranked = runs[runs["unranked"] == ""]
    expected = [("bbb", 7), ("dvi", 7), ("pbp", 0)]  # dvi is ranked behind the others
    assert sorted(zip(ranked["method"], ranked["seed"], strict=True)) == expected
    assert runs.set_index("method")["unranked"]["vadam"] == "18 of 20 splits"
    reference_run(outputs, method="bbb_x1", dataset="yacht")
    add(folder, outputs)
    runs = read_reference_results(folder).runs
    assert set(runs[runs["unranked"] == ""]["method"]) == {"bbb_x1", "dvi", "pbp"}


def test_folders_and_tracks_that_do_not_exist(tmp_path: Path) -> None:
    for name in ("nowhere", tmp_path):
        with raises_user_error("folder", "no_reference"):
            read_reference_results(name)
    reference_run(tmp_path / "out")
    results = results_of(tmp_path / "out")
    for track, code in (("magic", "unknown_track"), ("free", "empty_track")):
        with raises_user_error("track", code):
            reference_runs(results, track)


def test_the_archive_of_the_package() -> None:
    """Digests of rows, splits and codes."""
    content, results = read_content(PACKAGED), read_reference_results()
    for run, line in content.lines.items():
        assert rows_digest(content.rows[run]) == line["rows"], run
        assert len(line["record"]["code_versions"]) == 1
    keys = ["dataset", "fingerprint", "training_fingerprint"]
    assert len(results.splits.merge(results.fingerprints, on=keys)) == len(results.splits)
    assert not results.splits.duplicated(["run", *keys]).any()
    protocols = results.runs[results.runs["track"] != "free"].groupby(["track", "dataset"])
    assert (protocols["protocol"].nunique() == 1).all()
    assert (PACKAGED / ARCHIVE).stat().st_size < 400_000
