"""The report over many runs: its sections, the files it reads and the files it writes."""

from __future__ import annotations

from pathlib import Path
from pkgutil import iter_modules

import pandas as pd
import pytest
from support.quick import no_report_figures
from support.runs import make_run
from support.user_errors import raises_user_error

from bnnbench import discovery
from bnnbench.discovery import plugins
from bnnbench.report import report_writer, sections
from bnnbench.report.blocks import Paragraph, Style
from bnnbench.report.report_writer import SECTIONS, build_sections, section_functions, write_report
from bnnbench.report.sections import ALL, DEFAULT_SECTIONS, FURTHER_SECTIONS
from bnnbench.results.read.run_tables import Runs, read_runs

NO_LABELS = pd.DataFrame({"experiment": []})

ON_SPLITS = {"splits": pd.DataFrame({"experiment": ["uci"]})}

TRACE = {"split": [0, 0], "epoch": [1, 2], "loss": [2.0, 1.0], "complexity": [0.5, 0.5]}


def test_generic_sections_come_before_those_of_suites() -> None:
    modules = {f"{sections.__name__}.{name}" for _, name, _ in iter_modules(sections.__path__)}
    generic = list(SECTIONS.values())
    assert {section.__module__ for section in generic} == modules
    assert len(generic) == len(modules) and generic[0].__module__.endswith(".verdict")
    suites = [section for page in plugins("page") for section in getattr(page, "SECTIONS", ())]
    every_kind = {sweep.experiment for suite in discovery.suites() for sweep in suite.sweeps}
    tables = {**dict.fromkeys(every_kind, NO_LABELS), **ON_SPLITS}
    runs = Runs(Path(), tables, pd.DataFrame(), {})
    everything = Style(sections=(ALL,))
    assert list(section_functions(runs, everything)) == [*generic, *suites] and len(suites) > 4


def test_further_sections_are_shown_if_they_are_named() -> None:
    """Those of suites, of reference results and of published values are not named."""
    runs = Runs(Path(), ON_SPLITS, pd.DataFrame(), {})
    names = {function: name for name, function in SECTIONS.items()}

    def shown(*named: str) -> list[str]:
        found = section_functions(runs, Style(sections=named))
        return [names[function] for function in found if function in names]

    default = ["verdict", "scores", "differences", "results", "time", "reference", "calibration"]
    assert shown() == shown("time") == [*default, "published"] and shown(ALL) == [*SECTIONS]
    assert {*shown("ranks", "spread")} - {*shown()} == {"ranks", "spread"}
    assert {*SECTIONS} == {*DEFAULT_SECTIONS, *FURTHER_SECTIONS, "reference", "published"}
    with raises_user_error("--sections", "unknown_name"):
        Style(sections=("ranks", "ranking"))


def test_runs_without_scores_have_only_the_section_on_predictions() -> None:
    runs = Runs(Path(), {"regions": NO_LABELS}, pd.DataFrame(), {})
    found = section_functions(runs, Style(sections=(ALL,)))
    generic = [section for section in found if section in SECTIONS.values()]
    assert generic == [SECTIONS["intervals"]]


def test_runs_of_another_kind_with_the_label_of_a_suite_have_no_section_on_its_scores() -> None:
    table = pd.DataFrame({"experiment": ["other"], "dataset": ["boston"]}, index=["0"])
    runs = Runs(Path(), {"other": table}, pd.DataFrame(), {})
    written = [section for page in plugins("page") for section in getattr(page, "SECTIONS", ())]
    assert written and not any(list(section(runs, Style())) for section in written)


def test_the_last_line_names_the_sections_that_are_not_shown(tmp_path: Path) -> None:
    make_run(tmp_path)
    runs = read_runs(tmp_path)
    last = build_sections(runs, Style(sections=("ranks",)))[-1]
    assert isinstance(last, Paragraph) and "--sections all" in last.text
    assert "ranks" not in last.text and ": orders, spread, " in last.text
    assert not isinstance(build_sections(runs, Style(sections=(ALL,)))[-1], Paragraph)


@pytest.mark.parametrize(
    ("kind", "label", "suites"),
    [
        ("splits", "uci", {"felekis_gvi", "gold_standard"}),
        ("splits", "gal_uci", {"felekis_gvi", "gal_dropout", "gold_standard"}),
        ("sprinkler", "mine", {"lam_density_ratio"}),
        ("linear_regression", "linear_regression", set()),
    ],
)
def test_only_suites_that_present_some_of_the_runs_add_sections(
    kind: str, label: str, suites: set[str]
) -> None:
    runs = Runs(Path(), {kind: pd.DataFrame({"experiment": [label]})}, pd.DataFrame(), {})
    found = section_functions(runs, Style(sections=(ALL,)))
    modules = {section.__module__ for section in found if "suites" in section.__module__}
    assert {module.split(".")[2] for module in modules} == suites


@pytest.mark.slow
@pytest.mark.usefixtures("forks_allowed")
def test_every_table_and_figure_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(tmp_path)
    make_run(tmp_path, method="my_method")
    report = write_report(read_runs(tmp_path), Style("stderr"))
    assert report.root == tmp_path / "report"
    assert pd.read_csv(report.table("results"))["rmse_mean"].tolist() == pytest.approx([5, 5])
    page = report.page.read_text()
    for name in ("rmse", "log_likelihood", "difference_rmse"):
        assert report.figure(name, "png").read_bytes().startswith(b"\x89PNG")
        assert report.figure(name, "pdf").read_bytes().startswith(b"%PDF")
        assert f"]({name}.png)" in page
    paper = report.latex.read_text()
    assert "BBB (SLANG paper baseline)" in page and paper.count(r"\toprule") == 2
    pages = (report.page, report.latex, report.table("results"))
    serial = [path.read_bytes() for path in pages]
    monkeypatch.setattr(report_writer, "MIN_PARALLEL_RUNS", 2)
    with no_report_figures():
        write_report(read_runs(tmp_path), Style("stderr"), processes=2)
    assert [path.read_bytes() for path in pages] == serial


def test_unknown_error_bars_are_refused() -> None:
    with raises_user_error("--error-bars"):
        Style("variance")
