"""Pages of experiments with known answers, for one run and in a report over several."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure
from support.blocks import blocks, figures
from support.runs import make_folder

from bnnbench.discovery import plugins
from bnnbench.experiment.store.answer_tables import ANSWERS, Answer
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.report.blocks import DataFile, FigureBlock, Heading, Paragraph, TableBlock
from bnnbench.report.experiment_page import (
    ExperimentPage,
    Figures,
    answers_table,
    make_run_page,
    make_section,
)
from bnnbench.report.figures.plotting import save_figures
from bnnbench.report.split_run_page import SPLIT_RUN_PAGE
from bnnbench.results.claims.claims import CheckResult, Claims
from bnnbench.results.claims.saved_run import CLAIMS, SourceSettings, read_answers
from bnnbench.results.read.run_tables import Runs

KIND = "dice"


claims = Claims()


@claims("dice are fair", source="1.1", rule="within the bound", bound=0.2)
@claims("exactly fair", source="1.2", rule="within the bound", bound=0.01)
def is_near(answers: pd.DataFrame, bound: float) -> CheckResult:
    error = abs(answers.set_index("approximation").at["samples", "value"] - 3.5)
    return error < bound, f"off by {error:.2f}"


dice = Figures()


@dice("Mean by throw")
def eyes(answers: pd.DataFrame) -> Figure:
    return Figure()


EXPERIMENT_PAGE = ExperimentPage(
    kind=KIND,
    title="Dice",
    caption="Means in eyes.",
    figures=dice,
    statements=claims,
    notes=lambda folder: ["Thrown by hand."],
)


def made(root: Path, variant: str = "v1") -> RunFolder:
    folder = make_folder(
        root, {"experiment": KIND, "dataset": "two", "method": "throw"}, variant, KIND
    )
    answers = (
        Answer("mean", "samples", 3.4, standard_error=0.05, exact=3.5),
        Answer("mean", "exact", 3.5),
    )
    pd.DataFrame([one.row() for one in answers]).to_csv(folder.table(ANSWERS), index=False)
    return folder


def runs_of(folders: dict[str, RunFolder], settings: list[dict[str, object]]) -> Runs:
    table = pd.DataFrame({"settings": settings}, index=pd.Index(list(folders), name="run"))
    return Runs(Path(), {KIND: table}, pd.DataFrame(), folders)


def test_a_page_writes_figures_and_verdicts(tmp_path: Path) -> None:
    folder, page = made(tmp_path), make_run_page(EXPERIMENT_PAGE)
    page.write(folder)
    save_figures(page.figures(folder), folder.figure)
    assert folder.figure("eyes", "png").exists() and folder.figure("eyes", "pdf").exists()
    assert list(pd.read_csv(folder.table(CLAIMS))["verdict"]) == ["confirmed", "contradicted"]
    assert page.notes(folder) == [
        "Thrown by hand.",
        "confirmed: dice are fair (1.1): off by 0.10",
        "contradicted: exactly fair (1.2): off by 0.10",
    ]


def test_a_run_with_other_settings_has_a_sentence_instead_of_verdicts(tmp_path: Path) -> None:
    folder = made(tmp_path)
    other = SourceSettings(own=lambda folder: {"eyes": 8}, chosen=lambda record: {"eyes": 6})
    page = replace(EXPERIMENT_PAGE, settings=other)
    sentence = "Not judged on these settings (experiment.eyes 8 instead of 6): dice are fair; "
    assert make_run_page(page).notes(folder)[1:] == [f"{sentence}exactly fair."]
    section = blocks(make_section((page,)), runs_of({"aaa": folder}, [{}]))
    assert [one.text for one in section if isinstance(one, Paragraph)][1:] == [
        f"{sentence}exactly fair."
    ]
    assert len([one for one in section if isinstance(one, TableBlock)]) == 1, "the answers"
    make_run_page(page).write(folder)
    assert pd.read_csv(folder.table(CLAIMS))["verdict"].isna().all()


def test_every_figure_of_every_page_has_a_caption() -> None:
    modules = [*plugins("page")]
    pages = [page for module in modules for page in getattr(module, "EXPERIMENT_PAGES", ())]
    assert len(pages) >= 10
    for page in pages:
        captions = make_run_page(page).captions
        assert set(page.figures) == set(captions), page.kind
    run_pages = [page for module in modules for page in getattr(module, "PAGES", ())]
    texts = [text for page in (SPLIT_RUN_PAGE, *run_pages) for text in page.captions.values()]
    assert min(map(len, texts)) >= 30 and not any(text.endswith(".") for text in texts)


def test_empty_columns_are_omitted(tmp_path: Path) -> None:
    table = answers_table(read_answers(made(tmp_path)), "Dice")
    assert [c.title for c in table.columns] == ["quantity", "approximation", "value", "exact"]
    assert table.rows[0] == ("mean", "samples", "3.400 ± 0.050", "3.5")


def test_runs_of_one_kind_are_named_by_their_differing_settings(tmp_path: Path) -> None:
    folders = {"aaa": made(tmp_path, "v1"), "bbb": made(tmp_path, "v2")}
    runs = runs_of(folders, [{"dice": 1}, {"dice": 2}])
    section = blocks(make_section((EXPERIMENT_PAGE,)), runs)
    headings = [block.text for block in section if isinstance(block, Heading)]
    assert headings == ["Dice: dice 1", "Dice: dice 2"]
    names = [block.name for block in section if isinstance(block, DataFile | FigureBlock)]
    assert names[:3] == ["dice_answers_1", "dice_eyes_1", "dice_claims_1"]
    captions = {figure.caption for figure in figures(section).values()}
    assert captions == {"Mean by throw"}
    assert len(set(names)) == len(names) == 6
    verdicts = [block for block in section if isinstance(block, TableBlock)][1]
    assert verdicts.rows[0][:3] == ("dice are fair", "1.1", "confirmed")


def test_files_of_runs_without_distinct_settings_are_named_by_digest(tmp_path: Path) -> None:
    folders = {"aaa": made(tmp_path, "v1"), "bbb": made(tmp_path, "v2")}
    alike: list[list[dict[str, object]]] = [[{"dice": 1}] * 2, [{"dice": "a b"}, {"dice": "a/b"}]]
    for settings in alike:
        section = blocks(make_section((EXPERIMENT_PAGE,)), runs_of(folders, settings))
        assert list(figures(section)) == ["dice_eyes_aaa", "dice_eyes_bbb"]


def test_a_single_run_has_no_suffix_and_no_runs_no_section(tmp_path: Path) -> None:
    section = make_section((EXPERIMENT_PAGE,))
    runs = runs_of({"aaa": made(tmp_path)}, [{"dice": 1}])
    assert blocks(section, runs)[0] == Heading("Dice")
    assert not blocks(section, Runs(Path(), {}, pd.DataFrame(), {}))
