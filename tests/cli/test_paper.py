"""`bnnbench report --style paper`, and the options that select what a report shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command import Command
from support.runs import make_run
from support.user_errors import raises_user_error

from bnnbench.cli.reporting import parse_renames, split_names

FILES = ["paper.csv", "paper.tex", "paper_rmse.pdf"]


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    for dataset in ("boston", "yacht"):
        for method in ("pbp", "vadam"):
            make_run(tmp_path / "outputs", dataset=dataset, method=method)
    (tmp_path / "mine.csv").write_text("method,dataset,metric,mean\nswag,yacht,rmse,1.50\n")
    return tmp_path / "outputs"


@pytest.mark.slow
def test_only_a_table_and_a_figure_are_written(command: Command, outputs: Path) -> None:
    values = str(outputs.parent / "mine.csv")
    words = ["--style", "paper", "--methods", "vadam,swag,pbp", "--datasets", "yacht,boston"]
    more = ["--metric", "rmse", "--published-values", values, "--rename", "vadam=Vadam (ours)"]
    code, out, errors = command("report", str(outputs), *words, *more, "--rename", "yacht=Yacht")
    assert code == 0, errors
    assert out == f"paper: {outputs / 'report' / 'paper.tex'}\n"
    assert sorted(path.name for path in (outputs / "report").iterdir()) == FILES
    text = (outputs / "report" / "paper.tex").read_text()
    places = [text.index(name) for name in ("Vadam (ours)", "swag$^\\dagger$", "{pbp}")]
    assert places == sorted(places) and text.index("\nYacht") < text.index("\nboston")
    assert "Log-likelihood" not in text and r"\reg{1}{.50}" in text


def test_options_of_the_table(
    command: Command, outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bnnbench.report.paper.paper_writer.save_figures", lambda *_: {})
    make_run(outputs, experiment="gvi_uci", method="vadam")
    command.assert_refused(
        *("report", str(outputs), "--style", "paper", "--mine", "vadam"),
        setting="--mine",
        code="ambiguous",
    )
    words = ["--style", "paper", "--siunitx", "--mine", "vadam, gvi_uci"]
    code, _, errors = command("report", str(outputs), *words)
    assert code == 0, errors
    text = (outputs / "report" / "paper.tex").read_text()
    assert "S[table-format=" in text and r"than vadam, gvi\_uci by the same test" in text
    assert r"no comparison with vadam, gvi\_uci on yacht" in text
    assert "mine_outcome" in (outputs / "report" / "paper.csv").read_text()


@pytest.mark.slow
def test_a_value_on_an_unused_data_set_is_named(command: Command, outputs: Path) -> None:
    values = outputs.parent / "mine.csv"
    values.write_text("method,dataset,metric,mean\nswag,Yacht,rmse,1.5\nswag,yacht,rmse,1.5\n")
    words = ["--style", "paper", "--metric", "rmse", "--published-values", str(values)]
    code, _, errors = command("report", str(outputs), *words)
    (line,) = errors.splitlines()
    assert code == 0 and "--published-values" in line and "Yacht" in line


@pytest.mark.slow
def test_a_report_shows_a_selection_in_order(
    command: Command, outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []

    def written(runs: object, style: object, *_: object) -> object:
        from bnnbench.report.renderers.markdown import page
        from bnnbench.report.report_folder import ReportFolder
        from bnnbench.report.report_writer import build_sections

        shown.append(page(build_sections(runs, style)))  # type: ignore[arg-type]
        return ReportFolder(outputs / "report")

    monkeypatch.setattr("bnnbench.report.report_writer.write_report", written)
    words = ["--methods", "vadam,pbp", "--datasets", "yacht,boston", "--metric", "crps,rmse"]
    code, out, errors = command("report", str(outputs), *words)
    assert code == 0, errors
    assert out.index("yacht") < out.index("boston") and out.index("vadam") < out.index("pbp")
    assert out.index("CRPS") < out.index("RMSE")
    (text,) = shown
    results = text[text.index("## Results by data set") :]
    assert results.index("### yacht") < results.index("### boston")
    assert text.index("](crps.png)") < text.index("](rmse.png)")
    assert "log_likelihood.png" not in text and "| Log-likelihood" not in results
    compared = text[text.index("| crps     | vadam") :]
    assert compared.index("| crps     | pbp") < compared.index("| rmse")


MISTAKES = {
    "an unknown method": (["--methods", "vadm"], "--methods", "unknown_name"),
    "an unknown data set": (["--datasets", "wine"], "--datasets", "unknown_name"),
    "an unknown metric": (["--metric", "mse"], "--metric", "unknown_name"),
    "a name without text": (["--style", "paper", "--rename", "pbp"], "--rename", "syntax"),
    "an unused name": (["--style", "paper", "--rename", "x=X"], "--rename", "unknown_name"),
    "one name for two methods": (
        ["--style", "paper", "--rename", "pbp=Ours", "--rename", "vadam=Ours"],
        "--rename", "same_name",
    ),
    "the name of another method": (
        ["--style", "paper", "--rename", "pbp=vadam"], "--rename", "same_name",
    ),
    "one name for two data sets": (
        ["--style", "paper", "--rename", "boston=A", "--rename", "yacht=A"],
        "--rename", "same_name",
    ),
    "the name of another metric": (
        ["--style", "paper", "--rename", "log_likelihood=RMSE"], "--rename", "same_name",
    ),
    "a name in a report": (["--rename", "pbp=PBP"], "--rename", None),
    "an unknown method to compare with": (
        ["--style", "paper", "--mine", "vadm"], "--mine", "unknown_name",
    ),
    "a method without runs to compare with": (
        ["--style", "paper", "--methods", "pbp", "--mine", "vadam"], "--mine", "unknown_name",
    ),
    "a method to compare with in a report": (["--mine", "vadam"], "--mine", None),
    "columns of siunitx in a report": (["--siunitx"], "--siunitx", None),
    "all published values": (["--style", "paper", "--all-published"], "--all-published", None),
    "an unknown section": (["--sections", "ranks,ranking"], "--sections", "unknown_name"),
    "sections of a paper": (["--style", "paper", "--sections", "ranks"], "--sections", None),
    "a missing file": (
        ["--published-values", "nowhere.csv"], "--published-values", "unreadable",
    ),
    "a bad file": (["--published-values", "bad.csv"], "--published-values", "columns"),
    "an unknown style": (["--style", "poster"], "--style", None),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_sentence_and_writes_nothing(
    name: str, command: Command, outputs: Path
) -> None:
    words, setting, code = MISTAKES[name]
    Path("bad.csv").write_text("a,b\n1,2\n")
    command.assert_refused("report", str(outputs), *words, setting=setting, code=code)
    assert not (outputs / "report").exists()


def test_a_table_that_is_too_wide_is_written_with_a_note(
    command: Command, outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bnnbench.report.paper.latex_table.PAGE_WIDTH", 0.5)
    monkeypatch.setattr("bnnbench.report.paper.latex_table.COLUMN_WIDTH", 0.4)
    monkeypatch.setattr("bnnbench.report.paper.paper_writer.save_figures", lambda *_: {})
    code, _, errors = command("report", str(outputs), "--style", "paper")
    assert code == 0 and "inches wide" in errors and "--methods" in errors


def test_a_table_that_is_too_high_is_written_with_a_note(
    command: Command, outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bnnbench.report.paper.latex_table.PAGE_HEIGHT", 1.6)
    monkeypatch.setattr("bnnbench.report.paper.paper_writer.save_figures", lambda *_: {})
    code, _, errors = command("report", str(outputs), "--style", "paper")
    assert code == 0 and "inches high" in errors and "--methods" in errors


def test_parsing_of_names() -> None:
    assert split_names("a, b,,a") == ("a", "b") and split_names(" ,") == ()
    assert parse_renames(["a=b = c", "d= e"]) == {"a": "b = c", "d": "e"}
    for wrong in ("a", "=b", "a="):
        with raises_user_error("--rename", "syntax"):
            parse_renames([wrong])
