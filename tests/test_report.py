"""The report layer, on runs made up of numbers that can be checked by hand."""

from __future__ import annotations

import argparse
import io
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from bnnbench.cli.report import add_parser
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.bar_charts import bars_figure
from bnnbench.report.overview import latex, results_section, write_report
from bnnbench.report.plotting import (
    best_so_far,
    predictions_figure,
    search_figure,
    splits_figure,
    unit,
)
from bnnbench.report.split_page import (
    read_points,
    read_search,
    run_figures,
    run_notes,
    run_table,
    write_run_report,
)
from bnnbench.results.published import counterpart, method_of, published, with_published, z_score
from bnnbench.results.tables import (
    METRICS,
    gather,
    labels,
    plus_minus,
    read_splits,
    statement,
    summarise,
)
from bnnbench.types import UserError

RMSE = (3.0, 4.0, 5.0, 8.0)
"""Mean 5, squared deviations 4 + 1 + 0 + 9: std sqrt(14 / 3), standard error sqrt(14 / 12)."""

LOG_LIKELIHOOD = (-2.0, -2.5, -3.0, -2.5)


def make_splits(**changes: object) -> pd.DataFrame:
    row = {
        "experiment": "uci",
        "dataset": "boston",
        "method": "bbb_x1",
        "divergence": "kl",
        "depth": 1,
        "split": range(4),
        "seed": 7,
        "rmse": RMSE,
        "log_likelihood": LOG_LIKELIHOOD,
        "log_likelihood_joint": np.array(LOG_LIKELIHOOD) - 0.1,
        "log_likelihood_gaussian": LOG_LIKELIHOOD,
        "crps": 1.5,
        "search_seconds": 90.0,
        "fit_seconds": 8.0,
        "predict_seconds": 2.0,
        "total_seconds": 100.0,
        "diverged": 0,
        "at_bound": ["noise_precision", "", "noise_precision", "noise_precision prior_precision"],
        "hp.noise_precision": 10.0,
        "hp.prior_precision": 1.0,
    }
    return pd.DataFrame(row | changes)


def make_search() -> pd.DataFrame:
    """Four splits of six evaluations; the third of each diverged."""
    generator = np.random.default_rng(0)
    rows = pd.MultiIndex.from_product([range(4), range(6)], names=["split", "iteration"])
    search = rows.to_frame(index=False)
    search["hp.noise_precision"] = np.exp(generator.uniform(0, 5, len(search)))
    search["hp.prior_precision"] = np.exp(generator.uniform(-4, 4, len(search)))
    search["objective"] = generator.normal(-3, 1, len(search))
    search.loc[search["iteration"] == 2, "objective"] = np.nan
    return search


def make_run(
    outputs: Path, splits: pd.DataFrame, variant: str = "v1", search: bool = True
) -> RunFolder:
    first = splits.iloc[0]
    run = RunFolder.of(outputs, first["experiment"], first["dataset"], first["method"], variant)
    run.root.mkdir(parents=True)
    splits.to_csv(run.splits, index=False)
    if search:
        make_search().to_csv(run.search, index=False)
    generator = np.random.default_rng(1)
    target = generator.normal(22, 9, 40)
    np.savez(
        run.predictions,
        split=np.repeat(range(4), 10),
        row=np.arange(40),
        target=target,
        mean=target + generator.normal(0, 3, 40),
        epistemic_variance=np.full(40, 1.0),
        noise_variance=np.full(40, 8.0),
    )
    run.config.write_text(
        "dataset: {target: 'median value [1000 USD]'}\nsearch: {initial_points: 3}\n"
    )
    run.done.touch()
    return run


def printed(run: RunFolder) -> str:
    console = Console(width=140, file=io.StringIO())
    with console.capture() as capture:
        console.print(run_table(run))
    return capture.get()


def test_summary_matches_hand_computed_numbers() -> None:
    rows = summarise(make_splits()).set_index("metric")
    assert list(rows.index) == list(METRICS)
    assert rows.loc["rmse"].tolist() == pytest.approx([5, math.sqrt(14 / 3), math.sqrt(14 / 12), 4])
    assert rows.loc["log_likelihood", "mean"] == pytest.approx(-2.5)
    assert rows.loc["total_seconds"].tolist() == [100, 0, 0, 4]


def test_summary_leaves_diverged_splits_out() -> None:
    rmse = (3.0, 4.0, 5.0, math.nan)
    rows = summarise(make_splits(rmse=rmse, diverged=[0, 0, 0, 1])).set_index("metric")
    assert rows.loc["rmse"].tolist() == pytest.approx([4, 1, 1 / math.sqrt(3), 3])


def test_one_split_has_a_mean_and_no_spread() -> None:
    rmse = summarise(make_splits().head(1)).set_index("metric").loc["rmse"]
    assert rmse["mean"] == 3
    assert math.isnan(rmse["std"]) and math.isnan(rmse["stderr"])


@pytest.mark.parametrize(
    ("mean", "error", "text"),
    [
        (3.4567, 0.1432, "3.46 ± 0.14"),
        (3.4567, 0.0996, "3.46 ± 0.10"),
        (0.0054671, 0.000072, "0.005467 ± 0.000072"),
        (1813.4, 120.3, "1813 ± 120"),
        (0.1, math.nan, "0.1"),
        (0.2, 3e-17, "0.2"),
    ],
)
def test_plus_minus_gives_both_numbers_the_same_decimals(
    mean: float, error: float, text: str
) -> None:
    assert plus_minus(mean, error) == text


def test_gather_has_a_row_per_finished_run(tmp_path: Path) -> None:
    make_run(tmp_path, make_splits())
    make_run(tmp_path, make_splits(method="vadam", divergence="none"))
    make_run(tmp_path, make_splits(method="pbp")).done.unlink()
    make_run(tmp_path / "report", make_splits(dataset="yacht"))
    results = gather(tmp_path)
    assert results["method"].tolist() == ["bbb_x1", "vadam"]
    assert results["variant"].tolist() == ["v1", "v1"]
    assert results["splits"].tolist() == [4, 4] and results["diverged"].tolist() == [0, 0]
    assert results["rmse_stderr"].tolist() == pytest.approx([math.sqrt(14 / 12)] * 2)
    assert gather(tmp_path / "uci" / "boston" / "vadam" / "v1")["method"].tolist() == ["vadam"]


def test_gather_tells_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"There is no folder .*nowhere"):
        gather(tmp_path / "nowhere")
    with pytest.raises(UserError, match="holds no finished run"):
        gather(tmp_path)
    make_run(tmp_path, make_splits()).splits.write_text("")
    with pytest.raises(UserError, match=r"splits\.csv is missing or not a table"):
        gather(tmp_path)


def test_labels_name_only_what_differs(tmp_path: Path) -> None:
    make_run(tmp_path, make_splits())
    make_run(tmp_path, make_splits(depth=2), "v2")
    make_run(tmp_path, make_splits(depth=2), "v3")
    make_run(tmp_path, make_splits(dataset="yacht"))
    assert labels(gather(tmp_path)) == [
        "bbb_x1 · depth 1",
        "bbb_x1 · depth 2 · v2",
        "bbb_x1 · depth 2 · v3",
        "bbb_x1",
    ]


def test_a_predicted_noise_or_a_robust_loss_is_named_and_has_no_published_counterpart(
    tmp_path: Path,
) -> None:
    """Runs from before either could be chosen count as plain ones."""
    make_run(tmp_path, make_splits(), "old")
    make_run(tmp_path, make_splits(likelihood="heteroscedastic", loss="nll"), "predicted")
    make_run(tmp_path, make_splits(likelihood="gaussian", loss="beta"), "robust")
    results = with_published(gather(tmp_path))
    assert results[["likelihood", "loss"]].to_numpy().tolist() == [
        ["gaussian", "nll"], ["heteroscedastic", "nll"], ["gaussian", "beta"],
    ]  # fmt: skip
    assert np.isfinite(results["rmse_published"]).tolist() == [True, False, False]
    assert labels(results) == [
        "bbb_x1 · gaussian · nll", "bbb_x1 · heteroscedastic", "bbb_x1 · gaussian · beta",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("label", "method"),
    [
        ("vadam", "vadam"),
        ("bbb_x2", "bbb"),
        ("mc_dropout_x1", "mc_dropout"),
        ("vprop", "vprop"),
        ("pbp", "pbp"),
        ("bbbx", None),
        ("ensemble", None),
    ],
)
def test_labels_map_to_the_published_method(label: str, method: str | None) -> None:
    assert method_of(label) == method


def test_published_values_and_their_standard_errors() -> None:
    vadam = counterpart("vadam", "boston", "rmse")
    assert vadam is not None
    assert (vadam.mean, vadam.stderr) == (3.85754, 0.26262)
    assert vadam.source == "Khan et al. 2018: Vadam"
    dropout = counterpart("mc_dropout_x1", "boston", "log_likelihood")
    assert dropout is not None and dropout.mean == -2.460037
    ensembles = published("boston", "rmse").query("error_kind == 'std'").iloc[0]
    assert ensembles["stderr"] == pytest.approx(ensembles["error"] / math.sqrt(20))
    rounded = counterpart("pbp", "kin8nm", "rmse")
    assert rounded is not None and math.isnan(rounded.stderr)


def test_only_like_is_compared_with_like() -> None:
    assert counterpart("bbb_x1", "boston", "log_likelihood") is None
    joint = counterpart("bbb_x1", "boston", "log_likelihood_joint")
    assert joint is not None and "SLANG" in joint.method
    assert set(published("boston", "log_likelihood")["metric"]) == {"log_likelihood"}
    assert counterpart("vadam", "boston", "rmse", depth=2) is None
    assert counterpart("bbb_x1", "boston", "rmse", divergence="renyi_0.5") is None
    assert counterpart("vadam", "protein", "rmse") is None


def test_z_counts_combined_standard_errors(tmp_path: Path) -> None:
    assert z_score(5, 3, 15, 4) == -2
    assert math.isnan(z_score(5, 3, 15, math.nan))
    assert math.isnan(z_score(5, 0, 15, 0))
    make_run(tmp_path, make_splits())
    row = with_published(gather(tmp_path)).iloc[0]
    assert row["rmse_z"] == pytest.approx((5 - 3.58808) / math.sqrt(14 / 12 + 0.20933**2))
    assert math.isnan(row["log_likelihood_z"]) and row["log_likelihood_source"] == ""


def test_run_report_writes_summary_and_figures(tmp_path: Path) -> None:
    run = make_run(tmp_path, make_splits())
    write_run_report(run)
    assert pd.read_csv(run.summary)["mean"][0] == pytest.approx(5)
    for name in ("splits", "predictions", "calibration", "search"):
        assert run.figure(name, "png").read_bytes().startswith(b"\x89PNG")
        assert run.figure(name, "pdf").read_bytes().startswith(b"%PDF")


def test_search_figure_shades_the_random_phase_of_the_configuration(tmp_path: Path) -> None:
    figures = dict(run_figures(make_run(tmp_path, make_splits())))
    shaded = figures["search"].axes[0].patches[0].get_extents()
    evaluation = figures["search"].axes[0].transData.inverted().transform(shaded.get_points())
    assert evaluation[:, 0] == pytest.approx([0.5, 3.5])


def test_run_report_without_a_search_draws_none(tmp_path: Path) -> None:
    run = make_run(tmp_path, make_splits(), search=False)
    run.search.write_text("")
    write_run_report(run)
    assert run.figure("splits", "png").exists()
    assert not run.figure("search", "png").exists()


def test_run_table_and_notes(tmp_path: Path) -> None:
    run = make_run(tmp_path, make_splits())
    text = printed(run)
    assert "RMSE [1000 USD]" in text and "5.0 ± 1.1" in text and "3.59 ± 0.21" in text
    assert "+1.3" in text and "Khan et al. 2018: BBVI" in text and "Total [s]" in text
    notes = run_notes(run)
    assert notes[0].startswith("chosen noise_precision on a search bound in 3 of 4 splits")
    assert notes[1].startswith("chosen prior_precision on a search bound in 1 of 4 splits")


def test_diverged_splits_are_mentioned_everywhere(tmp_path: Path) -> None:
    rmse = (3.0, 4.0, 5.0, math.nan)
    run = make_run(tmp_path, make_splits(rmse=rmse, diverged=[0, 0, 0, 1], at_bound=""))
    write_run_report(run)
    assert run_notes(run)[0].startswith("1 of 4 splits diverged (split 3)")
    page = write_report(tmp_path).page.read_text()
    assert "4 (1 diverged)" in page and "Diverged splits (1 in all) are left out." in page
    lines = splits_figure(read_splits(run), "y").axes[0].lines
    crosses = [line for line in lines if line.get_marker() == "x"]
    assert [line.get_xdata().tolist() for line in crosses] == [[3]]


def test_a_run_without_any_finite_score_is_still_reported(tmp_path: Path) -> None:
    lost = dict.fromkeys(("rmse", "log_likelihood", "log_likelihood_joint", "crps"), math.nan)
    run = make_run(tmp_path, make_splits(**lost, diverged=1))
    with np.load(run.predictions) as arrays:
        np.savez(run.predictions, **{**arrays, "mean": np.full(40, np.nan)})
    make_search().assign(objective=math.nan).to_csv(run.search, index=False)
    write_run_report(run)
    report = write_report(tmp_path)
    assert "4 (4 diverged)" in report.page.read_text()
    axes = bars_figure(with_published(gather(tmp_path)), "rmse").axes[0]
    assert "diverged" in [text.get_text().strip() for text in axes.texts]


def test_a_single_split_has_no_standard_error() -> None:
    assert statement([1, 1]).startswith("value on one split; ")
    assert statement([1, 20]).startswith("mean ± standard error over 1 to 20 splits; ")


def test_best_so_far_ignores_diverged_evaluations() -> None:
    search = pd.DataFrame(
        {"split": 0, "iteration": range(4), "objective": [math.nan, -3.0, -5.0, -2.0]}
    )
    best = best_so_far(search)[0].tolist()
    assert math.isnan(best[0]) and best[1:] == [-3, -3, -2]


def test_search_figure_has_a_second_panel_only_for_a_pair_of_precisions() -> None:
    search = make_search()
    tried = search_figure(search).axes[1]
    best = search.loc[search.groupby("split")["objective"].idxmax(), "hp.noise_precision"]
    assert sorted(tried.collections[1].get_offsets()[:, 0]) == pytest.approx(sorted(best))
    assert len(search_figure(search.drop(columns="hp.prior_precision")).axes) == 1


def test_predictions_figure_names_the_target_and_skips_lost_points(tmp_path: Path) -> None:
    points = read_points(make_run(tmp_path, make_splits()))
    points.loc[0, "mean"] = math.nan
    axes = predictions_figure(points, "median value [1000 USD]").axes[0]
    assert axes.get_xlabel() == "observed median value [1000 USD]"
    assert len(axes.collections[0].get_offsets()) == len(points) - 1
    assert unit("median value [1000 USD]") == " [1000 USD]" and unit("quality") == ""


def test_write_report_writes_every_table_and_figure(tmp_path: Path) -> None:
    make_run(tmp_path, make_splits())
    make_run(tmp_path, make_splits(method="my_method"))
    report = write_report(tmp_path, "stderr")
    assert report.root == tmp_path / "report"
    assert pd.read_csv(report.table("results"))["rmse_mean"].tolist() == pytest.approx([5, 5])
    for name in ("rmse", "log_likelihood"):
        assert report.figure(name, "png").read_bytes().startswith(b"\x89PNG")
        assert report.figure(name, "pdf").read_bytes().startswith(b"%PDF")
        assert f"]({name}.png)" in report.page.read_text()
    again = {path: path.read_bytes() for path in report.root.iterdir()}
    write_report(tmp_path, "stderr")
    assert {path: path.read_bytes() for path in report.root.iterdir()} == again
    with pytest.raises(UserError, match="--error must be one of std, stderr"):
        write_report(tmp_path, "variance")


def test_markdown_and_latex_state_what_the_numbers_are(tmp_path: Path) -> None:
    make_run(tmp_path, make_splits())
    results = with_published(gather(tmp_path))
    page, paper = "\n".join(results_section(results, "std").parts), latex(results)
    for text in (page, paper):
        assert "standard error over 4 splits; original units; log-likelihood = mean over" in text
    assert "| bbb_x1" in page and "BBB (SLANG paper baseline)" in page
    assert r"\quad bbb\_x1 & $5.0 \pm 1.1$ &" in paper and r"\textit{boston}" in paper
    assert paper.count(r"\toprule") == paper.count(r"\bottomrule") == 2


def test_command_prints_a_table_and_ends_with_the_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run(tmp_path, make_splits())
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    arguments = parser.parse_args(["report", str(tmp_path), "--error", "stderr"])
    assert arguments.run(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("bbb_x1" in line and "5.0 ± 1.1" in line for line in lines)
    assert lines[-1] == f"report: {tmp_path / 'report'}"


def test_search_file_may_be_absent(tmp_path: Path) -> None:
    assert read_search(RunFolder(tmp_path)).empty
