"""`bnnbench report --style paper`, and what any report can be asked to show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.command import one_sentence
from support.runs import make_run

from bnnbench.cli.wanted import listed, names_of
from bnnbench.types import UserError

Command = Callable[..., tuple[int, str, str]]

FILES = ["paper.csv", "paper.tex", "paper_rmse.pdf"]


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    for dataset in ("boston", "yacht"):
        for method in ("pbp", "vadam"):
            make_run(tmp_path / "outputs", dataset=dataset, method=method)
    (tmp_path / "mine.csv").write_text("method,dataset,metric,mean\nswag,yacht,rmse,1.50\n")
    return tmp_path / "outputs"


def test_a_table_and_a_figure_are_written_and_nothing_else(command: Command, outputs: Path) -> None:
    beside = str(outputs.parent / "mine.csv")
    words = ["--style", "paper", "--methods", "vadam,swag,pbp", "--datasets", "yacht,boston"]
    more = ["--metric", "rmse", "--beside", beside, "--name", "vadam=Vadam (ours)"]
    code, out, errors = command("report", str(outputs), *words, *more, "--name", "yacht=Yacht")
    assert code == 0, errors
    assert out == f"paper: {outputs / 'report' / 'paper.tex'}\n"
    assert sorted(path.name for path in (outputs / "report").iterdir()) == FILES
    text = (outputs / "report" / "paper.tex").read_text()
    places = [text.index(name) for name in ("Vadam (ours)", "swag$^\\dagger$", "{pbp}")]
    assert places == sorted(places) and text.index("\nYacht") < text.index("\nboston")
    assert "Log-likelihood" not in text and "$1.5$" in text


def test_a_value_on_data_that_nothing_ran_on_is_named(command: Command, outputs: Path) -> None:
    beside = outputs.parent / "mine.csv"
    beside.write_text("method,dataset,metric,mean\nswag,Yacht,rmse,1.5\nswag,yacht,rmse,1.5\n")
    words = ["--style", "paper", "--metric", "rmse", "--beside", str(beside)]
    code, _, errors = command("report", str(outputs), *words)
    assert code == 0
    assert errors == "bnnbench: left out of --beside: no run here is on Yacht\n"


def test_a_report_shows_what_is_asked_for_in_that_order(
    command: Command, outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []

    def written(runs: object, style: object, *_: object) -> object:
        from bnnbench.report.folder import ReportFolder
        from bnnbench.report.overview import sections_of
        from bnnbench.report.renderers.markdown import page

        shown.append(page(sections_of(runs, style)))  # type: ignore[arg-type]
        return ReportFolder(outputs / "report")

    monkeypatch.setattr("bnnbench.report.overview.write_report", written)
    words = ["--methods", "vadam,pbp", "--datasets", "yacht,boston", "--metric", "crps,rmse"]
    code, out, errors = command("report", str(outputs), *words)
    assert code == 0, errors
    assert out.index("yacht") < out.index("boston") and out.index("vadam") < out.index("pbp")
    assert out.index("CRPS") < out.index("RMSE")
    (text,) = shown
    results = text[: text.index("## Which method is better")]
    assert results.index("### yacht") < results.index("### boston")
    assert results.index("](crps.png)") < results.index("](rmse.png)")
    assert "log_likelihood.png" not in text and "| Log-likelihood" not in results
    compared = text[text.index("|   Wins |") :]
    assert compared.index("| crps     | vadam") < compared.index("| crps     | pbp")
    assert compared.index("| crps") < compared.index("| rmse")


MISTAKES = {
    "an unknown method": (["--methods", "vadm"], ["--methods", "'vadm'", "pbp, vadam"]),
    "an unknown data set": (["--datasets", "wine"], ["--datasets", "'wine'", "boston, yacht"]),
    "an unknown metric": (["--metric", "mse"], ["--metric", "'mse'", "rmse, log_likelihood"]),
    "a name without a text": (["--style", "paper", "--name", "pbp"], ["--name", "KEY=TEXT"]),
    "a name of nothing": (["--style", "paper", "--name", "x=X"], ["--name", "'x'", "boston"]),
    "a name in a report": (["--name", "pbp=PBP"], ["--name", "--style paper"]),
    "all that is published": (["--style", "paper", "--published", "all"], ["--published"]),
    "no such file": (["--beside", "nowhere.csv"], ["--beside", "nowhere.csv"]),
    "a bad file": (["--beside", "bad.csv"], ["--beside", "bad.csv", "lacks the column method"]),
    "another style": (["--style", "poster"], ["--style", "poster"]),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_sentence_and_writes_nothing(
    name: str, command: Command, outputs: Path
) -> None:
    words, said = MISTAKES[name]
    Path("bad.csv").write_text("a,b\n1,2\n")
    one_sentence(*command("report", str(outputs), *words), said)
    assert not (outputs / "report").exists()


def test_a_place_that_cannot_be_written_is_one_sentence(command: Command, outputs: Path) -> None:
    Path("file").touch()
    outcome = command("report", str(outputs), "--style", "paper", "--to", "file")
    one_sentence(*outcome, ["cannot write the report to file"])


def test_a_table_too_wide_is_written_and_said(
    command: Command, outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bnnbench.report.paper.layout.PAGE", 0.5)
    monkeypatch.setattr("bnnbench.report.paper.layout.COLUMN", 0.4)
    monkeypatch.setattr("bnnbench.report.paper.writing.save_all", lambda *_: None)
    code, _, errors = command("report", str(outputs), "--style", "paper")
    assert code == 0 and "inches wide" in errors and "--methods" in errors


def test_words_between_commas() -> None:
    assert listed("a, b,,a") == ("a", "b") and listed(" ,") == ()
    assert names_of(["a=b = c", "d= e"]) == {"a": "b = c", "d": "e"}
    for wrong in ("a", "=b", "a="):
        with pytest.raises(UserError, match="KEY=TEXT"):
            names_of([wrong])
