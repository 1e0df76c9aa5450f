"""The HTML page contains the whole report and loads nothing."""

from __future__ import annotations

import json
import re
from functools import partial
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure

from bnnbench.report.blocks import (
    FigureBlock,
    Heading,
    ItemList,
    Paragraph,
    TableBlock,
    label_columns,
    number_columns,
)
from bnnbench.report.figures.inline_svg import inline_svg
from bnnbench.report.figures.plotting import new_figure
from bnnbench.report.renderers import html
from bnnbench.report.run_page import Chart, RunDetails, RunSummary, Series
from bnnbench.results.glossary import TERMS

EVIL = "</script><!-- <b>&amp;"

TABLE = TableBlock(
    (*label_columns("Method"), *number_columns("RMSE")),
    (("vadam", "3.1 ± 0.2"), (EVIL, "2.9 ± 0.1")),
    title="Scores",
    runs=("one", "two"),
)

LONG_WORDS = "what does not fit on a line of a phone"
LONG_WORD = "training.learning_rate_of_the_first_half"
OF_A_GROUP = TableBlock(
    label_columns("Method", "Source"), ((LONG_WORD, LONG_WORDS),), group="yacht"
)


def details(name: str, **settings: str) -> RunDetails:
    points = Series("points", (0.0, 1.0, float("nan")), (1.23456789, 2.0, 3.0), (0.1, 0.2, 0.3))
    chart = Chart("Chart", "x", "y", (points, Series("none", (), ())))
    shown = RunSummary(TABLE, (EVIL,), (), (chart,))
    return RunDetails(name, f"../{name}", shown, {"seed": "0", **settings}, {"cores": "2"}, "")


@pytest.fixture(scope="module")
def made() -> str:
    blocks = (
        Heading("Results", 1),
        Heading("boston"),
        Heading("boston"),
        Heading("concrete", 3),
        Paragraph(EVIL),
        ItemList(("first", "second")),
        TABLE,
        Heading("yacht", 3),
        OF_A_GROUP,
        FigureBlock("bars", "Bars", Figure),
    )
    runs = [details("one"), details("two", width="50"), details("three")]
    return html.page("All", blocks, {"bars": "<svg></svg>"}, runs)


def data(page: str) -> dict:
    (found,) = re.findall(r'id="data">(.*?)</script>', page, re.DOTALL)
    return json.loads(found)


def test_user_text_is_escaped(made: str) -> None:
    assert EVIL not in made
    assert made.count("</script>") == 2
    assert data(made)["runs"]["one"]["notes"] == [EVIL]


def test_headings_with_the_same_text_have_different_anchors(made: str) -> None:
    assert re.findall(r'<h2 id="(boston[^"]*)"', made) == ["boston-1", "boston-2"]
    for anchor in re.findall(r'<a href="#([^"=]+)"', made):
        assert f'id="{anchor}"' in made


def test_contents_are_nested(made: str) -> None:
    (nav,) = re.findall(r"<nav.*?</nav>", made, re.DOTALL)
    (below,) = re.findall(r"boston</a><ul>(.*?)</ul>", nav, re.DOTALL)
    assert re.findall(r"<a[^>]*>(.*?)</a>", below) == ["concrete", "yacht"]


def test_a_table_caption_does_not_repeat_the_heading(made: str) -> None:
    assert re.findall("<caption>(.*?)</caption>", made) == ["Scores"]
    assert 'aria-label="yacht, table 2"' in made


def test_long_text_wraps_in_a_wide_column(made: str) -> None:
    assert made.count('<td class="long">') == 1
    assert f'<td class="long">{LONG_WORDS}</td>' in made
    assert f'<td class="word">{LONG_WORD}</td>' in made, "a single word needs no minimum width"


def test_definitions_are_collapsed(made: str) -> None:
    folded = made.partition('<h2 id="definitions">')[2].partition("</details>")[0]
    assert "<details><summary>" in folded
    assert folded.count("<dt id=") == made.count('<dt id="term-') == len(TERMS)


def test_nothing_is_loaded(made: str) -> None:
    assert not re.search(r'(src|href)="(?!#|\.\./)[^"]*//', made)
    assert "@import" not in made and "url(" not in made


def test_rows_link_to_existing_runs(made: str) -> None:
    linked = re.findall(r'<td><a href="#run=(\w+)"', made)
    assert linked == ["one", "two"] and {*linked} < {*data(made)["runs"]}


def test_common_settings_are_stored_once(made: str) -> None:
    found = data(made)
    assert found["settings"] == {"seed": "0"} and found["environments"] == [{"cores": "2"}]
    assert found["runs"]["one"]["settings"] == {}
    assert found["runs"]["two"]["settings"] == {"width": "50"}


def test_charts_have_only_finite_points(made: str) -> None:
    (chart,) = data(made)["runs"]["one"]["charts"]
    assert chart["series"] == [
        {"name": "points", "x": [0, 1], "y": [1.2346, 2], "joined": False, "error": [0.1, 0.2]}
    ]


def drawn() -> Figure:
    figure, (left, right) = new_figure(4, 2, 2)
    left.set_title("boston")
    left.bar([0, 1], [3.5, 2.5], yerr=[0.5, 0.5])
    left.set_xticks([0, 1], ["vadam", "bbb\nkl"])
    right.plot([1, 2, 3], [1, 4, 9], "o", label="squares")
    right.plot([1, 2, 3], [1, 4, 9], label="a line")
    figure.draw_without_rendering()
    return figure


def test_marks_have_hover_texts() -> None:
    titles = re.findall("<title>([^<]*)</title>", inline_svg(drawn(), "f"))
    assert titles == [
        "boston, vadam: 3.5", "boston, bbb kl: 2.5", "squares: 1, 1", "squares: 2, 4",
        "squares: 3, 9", "a line",
    ]  # fmt: skip


def test_styles_of_a_figure_apply_whatever_its_name() -> None:
    drawing = inline_svg(drawn(), "wheel_0.5")
    rules = re.findall(r"\.([\w-]+){", drawing)
    assert rules and {*rules} <= {*re.findall('class="([^"]*)"', drawing)}


def test_a_small_figure_is_not_enlarged_much() -> None:
    figure = drawn()
    (found,) = re.findall(r'style="width: (\d+)pt"', inline_svg(figure, "f"))
    assert int(found) == pytest.approx(1.1 * 72 * figure.get_figwidth(), rel=0.01)


def test_ids_of_two_figures_are_disjoint() -> None:
    found = []
    for make in (partial(inline_svg, name="a"), partial(inline_svg, name="b")):
        text = make(drawn())
        root = ElementTree.fromstring(text)
        ids = [one.get("id") for one in root.iter() if one.get("id")]
        assert len(ids) == len({*ids})
        referred = {*re.findall(r'(?:url\(#|href="#)([^)"]+)', text)}
        assert referred and referred <= {*ids}
        found.append({*ids})
    assert not found[0] & found[1]
