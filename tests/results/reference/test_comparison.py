"""Comparison of runs with reference results: pairs, tested and ranked runs, and data sets."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t
from support.reference import reference_run
from support.runs import LOST, lose_splits
from support.user_errors import raises_user_error

from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.split_files import SPLITS
from bnnbench.results.compare.outcomes import OUTCOMES
from bnnbench.results.compare.significance import holm
from bnnbench.results.metric_table import BY_KEY
from bnnbench.results.read.run_tables import read_runs
from bnnbench.results.reference import comparison
from bnnbench.results.reference.comparison import (
    ReferenceComparison,
    compare_with_reference,
    over_datasets,
    parse_reference,
)
from bnnbench.results.reference.joined_runs import MINE, RATIO, reference_rankings, times_and_scores
from bnnbench.results.reference.write import add

METRICS = (BY_KEY["rmse"], BY_KEY["log_likelihood"])
RMSE = METRICS[0]
FACTORS = {"bbb_x1": 1.1, "bbb_x2": 1.2, "vadam": 1.3, "pbp": 0.9}
"""RMSE of the reference methods, in multiples of a common value."""


def make(outputs: Path, method: str, factor: float = 1.0, **changes: Any) -> RunFolder:
    """Write a finished run on published splits whose RMSE is about `factor` times a common one."""
    folder = reference_run(outputs, method=method, **changes)
    path, random = folder.table(SPLITS), np.random.default_rng(round(1000 * factor))
    table = pd.read_csv(path)
    common = 3 + 0.3 * np.sin(np.arange(len(table)))
    rmse = factor * common + 0.1 * random.standard_normal(len(table))
    table.assign(rmse=rmse, log_likelihood=-1.4 - np.log(rmse)).to_csv(path, index=False)
    return folder


def change(folder: RunFolder, **columns: Any) -> None:
    """Change columns of `splits.csv`."""
    path = folder.table(SPLITS)
    pd.read_csv(path).assign(**columns).to_csv(path, index=False)


def add_runs(root: Path, *folders: RunFolder) -> None:
    """Add runs to the reference results below a folder."""
    paths = [folder.root for folder in folders]
    assert len(add(root / "reference", *paths).added) == len(folders)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with results of four methods on two data sets, and with runs of `mine`."""
    path = tmp_path_factory.mktemp("reference")
    for dataset in ("boston", "yacht"):
        for method, factor in FACTORS.items():
            make(path / "theirs", method, factor, dataset=dataset)
        make(path / "mine", "mine", dataset=dataset)
    assert len(add(path / "reference", path / "theirs").added) == 8
    return path


@pytest.fixture
def root(template: Path, tmp_path: Path) -> Path:
    """Return a copy of the template."""
    return Path(shutil.copytree(template, tmp_path, dirs_exist_ok=True))


def compared(root: Path, track: str = "", **options: Any) -> ReferenceComparison:
    """Return the comparison of the runs in `root/mine` with the results in `root/reference`."""
    runs = read_runs(root / "mine")
    reference = f"reference{track}@{root / 'reference'}"
    (result,) = compare_with_reference(runs, reference, METRICS, 0.01, **options).tracks
    return result


def rows(comparison: ReferenceComparison, method: str, metric: str = "rmse") -> pd.DataFrame:
    """Return the pairs with a reference method, by data set."""
    pairs = comparison.pairs
    own = (pairs["b"] == method) & (pairs["metric"] == metric)
    return pairs[own].set_index("dataset")


@pytest.mark.slow
def test_a_pair_recomputed_from_the_files(root: Path) -> None:
    """The files are read without the package; my splits are in another order."""
    mine = next((root / "mine").rglob("splits.csv"))
    pd.read_csv(mine).sample(frac=1, random_state=0).to_csv(mine, index=False)
    ours = pd.read_csv(mine)
    dataset = ours["dataset"].iloc[0]
    packed = zipfile.ZipFile(root / "reference" / "reference_results.zip")
    reference = [json.loads(line) for line in packed.open("runs.jsonl")]
    (run,) = (
        line["run"] for line in reference
        if (line["record"]["metadata"]["method"], line["record"]["metadata"]["dataset"])
        == ("pbp", dataset)
    )  # fmt: skip
    theirs = pd.read_csv(packed.open("splits.csv"), dtype={"run": str})
    keys = ["fingerprint", "training_fingerprint"]
    both = ours.merge(theirs[theirs["run"] == run], on=keys, suffixes=("", "_kept"))
    d = (both["rmse"] - both["rmse_kept"]).to_numpy()
    n, rho = len(d), (both["test_rows"] / (both["test_rows"] + both["training_rows"])).mean()
    scale = d.std(ddof=1) * np.sqrt(1 / n + rho / (1 - rho))
    rope = 0.01 * (both["rmse"] + both["rmse_kept"]).mean() / 2
    pair = rows(compared(root), "pbp").loc[dataset]
    assert n == 20 == pair["splits"]
    half = t.ppf(0.975, n - 1) * scale
    expected = {
        "difference": d.mean(),
        "low": d.mean() - half,
        "high": d.mean() + half,
        "p_better": t.cdf((-rope - d.mean()) / scale, n - 1),
        "p_worse": t.sf((rope - d.mean()) / scale, n - 1),
        "p_value": 2 * t.sf(abs(d.mean()) / scale, n - 1),
    }
    np.testing.assert_allclose(pair[list(expected)].astype(float), list(expected.values()), 1e-4)


def test_holm_adjusts_over_the_methods_of_a_data_set(root: Path) -> None:
    pairs = compared(root).pairs
    assert len(pairs) == 2 * 4 * 2 and pairs["counted"].all()
    for _, group in pairs.groupby(["dataset", "metric"]):
        adjusted = holm(group["p_value"].to_numpy(float))
        np.testing.assert_allclose(group["p_holm"], adjusted)
        assert (group["outcome"].isin(["better", "worse"]) == (adjusted < 0.05)).all()
    for name, outcome in (("bbb_x1", "better"), ("pbp", "worse")):
        assert (pairs.loc[pairs["b"] == name, "outcome"] == outcome).all()


SAME = {"family": "pbp", "settings": {"method__class": "bnnbench.methods.pbp"}}
"""Settings of another name for `pbp`."""


def test_a_reference_configuration_counts_once(root: Path) -> None:
    for dataset in ("boston", "yacht"):
        add_runs(root, make(root / "twin", "twin", FACTORS["pbp"] + 0.001, dataset=dataset, **SAME))
    pairs = compared(root).pairs
    assert set(pairs["b"]) == set(FACTORS) and pairs["counted"].all()
    assert set(compared(root, methods=("twin", "vadam")).pairs["b"]) == {"twin", "vadam"}
    ranked = reference_rankings(compared(root), METRICS)
    assert ranked and "twin" not in ranked.by_metric[0].ranks


def test_the_configuration_of_my_run_is_only_subtracted(root: Path) -> None:
    for dataset in ("boston", "yacht"):
        make(root / "mine", "twin", dataset=dataset, **SAME)
    pairs = compared(root).pairs
    same = (pairs["a"] == "twin") & (pairs["b"] == "pbp")
    assert (~pairs["counted"] == same).all() and pairs["difference"].notna().all()
    for column in ("p_holm", "outcome"):
        assert pairs[column].isna().tolist() == same.tolist()


@pytest.mark.parametrize("name", LOST)
def test_my_run_that_lacks_splits_is_last_or_not_ranked(root: Path, name: str) -> None:
    lose_splits(make(root / "mine", "short", 0.1, dataset="yacht"), **LOST[name])
    make(root / "mine", "short", 0.1, dataset="boston")
    comparison = compared(root)
    ranked = reference_rankings(comparison, [RMSE])
    assert ranked is not None
    ranks, label = ranked.by_metric[0].ranks, f"short{MINE}"
    own = comparison.pairs[
        (comparison.pairs["a"] == "short") & (comparison.pairs["metric"] == "rmse")
    ]
    over = over_datasets(own, RMSE, 0.01)
    if "kept" in LOST[name]:
        assert label not in ranks and over.empty
    else:
        assert ranks[label].to_dict() == {"boston": 1, "yacht": ranks.shape[1]}
    if LOST[name] in ({"diverged": 17}, {"diverged": 1}):
        assert (over["better"] == 1).all() and (over["worse"] == 1).all()


def test_a_family_is_ranked_once_and_mine_replaces_its_own(root: Path) -> None:
    ranked = reference_rankings(compared(root), METRICS)
    assert ranked and set(ranked.by_metric[0].ranks) == {f"mine{MINE}", "bbb_x1", "vadam", "pbp"}
    assert ranked.by_metric[0].mean_ranks.index.tolist()[:2] == ["pbp", f"mine{MINE}"]
    for dataset in ("boston", "yacht"):
        make(root / "mine", "bbb_x3", 0.8, dataset=dataset)
    ranked = reference_rankings(compared(root), METRICS)
    assert ranked and "bbb_x1" not in ranked.by_metric[0].ranks
    assert ranked.by_metric[0].mean_ranks.index[0] == f"bbb_x3{MINE}"


def test_methods_are_selected(root: Path) -> None:
    assert set(compared(root, methods=("vadam", "pbp")).pairs["b"]) == {"vadam", "pbp"}
    with raises_user_error("--methods", "unknown_name"):
        compared(root, methods=("svgd",))


def test_incomplete_runs_are_compared_on_shared_splits_but_not_ranked(root: Path) -> None:
    add_runs(root, make(root / "few", "swag", 0.5, n_splits=10, dataset="yacht"))
    add_runs(root, make(root / "few", "swag", 0.5, dataset="boston"))
    comparison = compared(root)
    pairs = rows(comparison, "swag")
    assert pairs["splits"].to_dict() == {"boston": 20, "yacht": 10} and pairs["counted"].all()
    assert pairs.loc["yacht", "remark"] == "10 of 20 splits" and not pairs.loc["boston", "remark"]
    ranked = reference_rankings(comparison, METRICS)
    assert ranked and "swag" not in ranked.by_metric[0].ranks


def test_runs_of_another_track_are_only_subtracted(root: Path) -> None:
    (root / "mine").rename(root / "other")
    for dataset in ("boston", "yacht"):
        make(root / "mine", "mine", dataset=dataset, settings={"search__iterations": 5})
    with raises_user_error("--with", "nothing_comparable"):
        compared(root)
    comparison = compared(root, ":book")
    pairs = comparison.pairs
    assert not pairs["counted"].any() and (pairs["remark"] == "track book").all()
    assert pairs["difference"].notna().all() and pairs["p_holm"].isna().all()
    ranked = reference_rankings(comparison, METRICS)
    assert ranked is None or not any(MINE in name for name in ranked.by_metric[0].ranks)


def test_a_diverged_split_loses_its_data_set(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`mine` is much better than vadam on the splits on which both finished."""
    monkeypatch.setattr(comparison, "MIN_SIGNED_RANK_DATASETS", 2)
    before = compared(root)
    of_vadam = before.pairs[(before.pairs["b"] == "vadam") & (before.pairs["metric"] == "rmse")]
    assert of_vadam["outcome"].tolist() == ["better", "better"]
    better = over_datasets(of_vadam, RMSE, 0.01).iloc[0]
    folder = RunFolder(next((root / "mine/uci/boston").rglob("splits.csv")).parent)
    scores = pd.read_csv(folder.table(SPLITS))[["rmse", "log_likelihood", "crps"]]
    scores.iloc[0] = np.nan
    change(folder, diverged=[1] + 19 * [0], **scores)
    after = compared(root)
    of_vadam = after.pairs[(after.pairs["b"] == "vadam") & (after.pairs["metric"] == "rmse")]
    by_dataset = of_vadam.set_index("dataset")["outcome"]
    assert by_dataset.to_dict() == {"boston": "worse", "yacht": "better"}
    total = over_datasets(of_vadam, RMSE, 0.01).iloc[0]
    assert total[[*OUTCOMES]].to_dict() == {
        "better": 1, "equivalent": 0, "undecided": 0, "worse": 1,
    }  # fmt: skip
    assert total["p_better"] < better["p_better"] - 0.4


def test_a_reference_run_equals_itself(root: Path) -> None:
    make(root / "mine", "vadam", FACTORS["vadam"], dataset="boston")
    comparison = compared(root)
    own = comparison.pairs[comparison.pairs["a"] == "vadam"]
    same = own[own["b"] == "vadam"]
    np.testing.assert_allclose(same["difference"], 0, atol=1e-5)  # seven digits are kept
    np.testing.assert_allclose(same["p_equivalent"], 1)
    assert (same["p_value"] == 1).all()


def test_other_training_rows_are_no_pair(root: Path) -> None:
    for path in (root / "mine").rglob("splits.csv"):
        table = pd.read_csv(path)
        table.assign(training_fingerprint="0123456789abcdef").to_csv(path, index=False)
    with raises_user_error("--with", "nothing_comparable"):
        compared(root)


def test_times_are_ratios_of_runs_on_processors(root: Path) -> None:
    """Mine takes 2 s where the reference fit takes 0.02 s; one reference run used a GPU."""
    for path in (root / "mine").rglob("splits.csv"):
        pd.read_csv(path).assign(cpu_seconds=2.0).to_csv(path, index=False)
    gpu = make(root / "gpu", "swag", dataset="boston")
    change(gpu, device="NVIDIA")
    gpu.environment.write_text(json.dumps({"cuda": "NVIDIA"}))
    add_runs(root, gpu)
    times = times_and_scores(compared(root))
    assert set(times["method"]) == {f"mine{MINE}", *FACTORS}
    ratios = times.groupby("method")[f"{RATIO}_mean"].first()
    assert ratios[f"mine{MINE}"] == pytest.approx(100) and ratios["pbp"] == pytest.approx(4500)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("reference", (None, None)),
        ("reference:book", ("book", None)),
        ("reference:book@mine", ("book", "mine")),
        ("reference@a/b:c", (None, "a/b:c")),
    ],
)
def test_track_and_folder_are_parsed(text: str, expected: tuple[str | None, str | None]) -> None:
    assert parse_reference(text) == expected


@pytest.mark.parametrize(
    "text", ["", "all", "reference:", "reference@", "reference:@mine", "Reference"]
)
def test_other_words_are_refused(text: str) -> None:
    with raises_user_error("--with", "syntax"):
        parse_reference(text)


def test_only_pairs_with_one_protocol_are_tested(tmp_path: Path) -> None:
    """Mine and half of the reference runs have the same noise."""
    for dataset in ("boston", "yacht"):
        for precision in (5.0, 6.0):
            own = {"method__prior_precision": 2.0, "method__noise_precision": precision}
            given = {"settings": {**own, "search": None}, "dataset": dataset}
            for method in ("vadam", "pbp"):
                make(tmp_path / "theirs", method, precision, variant=str(precision), **given)
        make(tmp_path / "mine", "map", 6.0, variant="6.0", **given)
    add(tmp_path / "reference", tmp_path / "theirs")
    found = compared(tmp_path)
    protocol, theirs = found.mine.scored["protocol"].iloc[0], found.reference.scored["protocol"]
    same = theirs.loc[found.pairs["run_b"]].to_numpy() == protocol
    assert 0 < same.sum() < len(same)
    assert (found.pairs["counted"] == same).all()
    assert (found.pairs.loc[~same, "remark"] == "another protocol").all()
