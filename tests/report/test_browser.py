"""The HTML report in a real browser: sorting, filtering, run pages, layout and accessibility.

Uses Chromium if it is installed, or the browser that `BNNBENCH_BROWSER` names.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import numpy as np
import pytest
from support.runs import RMSE, add_arrays, add_search, make_run

from bnnbench.report.blocks import Style
from bnnbench.report.report_writer import write_report
from bnnbench.results.read.run_tables import read_runs

playwright = pytest.importorskip("playwright.sync_api")

pytestmark = pytest.mark.ci

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# The last options stop it from contacting its vendor's hosts, which fails without a network.
OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
PHONE, DESK = {"width": 360, "height": 740}, {"width": 1600, "height": 1000}


@pytest.fixture(scope="module")
def browser() -> Iterator[playwright.Browser]:
    path = os.environ.get("BNNBENCH_BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), "")
    if not path:
        pytest.skip("there is no Chromium")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=path, args=list(OPTIONS))
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three methods on two data sets."""
    outputs = tmp_path_factory.mktemp("outputs")
    for dataset in ("boston", "yacht"):
        for place, method in enumerate(("vadam", "mc_dropout", "mine")):
            rmse = np.array(RMSE) + place * np.array([0.2, 0.4, 0.3, 0.3])
            folder = make_run(outputs, f"v{place}", dataset=dataset, method=method, rmse=rmse)
            add_arrays(folder)
            add_search(folder)
    return write_report(read_runs(outputs), Style(), processes=1).html.as_uri()


@pytest.fixture
def page(browser: playwright.Browser, report: str) -> Iterator[playwright.Page]:
    """The page at desktop size. Console messages, errors and further requests fail the test."""
    opened = browser.new_page(viewport=DESK)
    messages: list[str] = []
    opened.on("console", lambda message: messages.append(message.text))
    opened.on("pageerror", lambda error: messages.append(str(error)))
    opened.on("request", lambda request: messages.append(request.url))
    opened.goto(report)
    yield opened
    assert [message for message in messages if not message.startswith(report)] == []
    opened.close()


def numbers(column: playwright.Locator) -> list[float]:
    return [float(text.split()[0]) for text in column.all_inner_texts()]


def test_a_column_sorts_both_ways(page: playwright.Page) -> None:
    table = page.locator("#report .scroll", has=page.locator("td a")).first
    head, column = table.locator("th:nth-child(2)"), table.locator("td:nth-child(2)")
    shown = numbers(column)
    assert len({*shown}) == 3
    for turn, word in enumerate(("ascending", "descending")):
        head.get_by_role("button").click()
        assert numbers(column) == sorted(shown, reverse=bool(turn))
        assert head.get_attribute("aria-sort") == word


def test_rows_are_filtered_by_words_of_row_and_heading(page: playwright.Page) -> None:
    rows = page.locator("#report tbody tr:visible")
    every = rows.count()
    page.fill("#find", "Yacht vadam")
    few = rows.count()
    assert 0 < few < every
    assert all("vadam" in text.lower() for text in rows.all_inner_texts())
    named = page.locator("ul.runs li:visible").count()
    assert named == 1 and page.locator("#found").inner_text().startswith(f"{few + named} of ")
    page.fill("#find", "")
    assert rows.count() == every


def test_a_run_opens_and_closes(page: playwright.Page) -> None:
    link = page.locator("#report td a", has_text="mine").first
    link.click()
    article = page.locator("#run")
    article.wait_for()  # the hashchange event comes with a delay
    assert not page.locator("#report").is_visible()
    assert article.locator("h1").inner_text().startswith("boston, mine")
    for heading in ("Splits", "Settings", "Environment"):
        assert article.get_by_role("heading", name=heading, exact=True).is_visible()
    assert article.locator("svg.chart circle").count() == 40
    assert article.locator("svg.chart path.line0").count() == 1
    page.go_back()
    page.locator("#report").wait_for()
    assert not article.is_visible()


def differences(page: playwright.Page) -> list[tuple[str, str, float]]:
    """Name, printed difference and horizontal place of each line of the first panel."""
    panel = page.locator('.panels[data-name="difference_rmse"] table').first
    return [
        (
            line.locator("th").inner_text(),
            line.locator(".value").inner_text(),
            line.locator(".dot").bounding_box()["x"],
        )
        for line in panel.locator("tbody tr").all()
    ]


def test_the_reader_picks_the_baseline_of_differences(page: playwright.Page) -> None:
    default = differences(page)
    assert [name for name, *_ in default] == ["vadam", "mc_dropout", "mine"]
    assert [value.split()[0] for _, value, _ in default[1:]] == ["+0.30", "+0.60"]
    page.select_option("#baseline", "vadam")
    assert [value for _, value, _ in differences(page)] == [value for _, value, _ in default]
    page.select_option("#baseline", "mine")
    picked = differences(page)
    assert [value.split()[0] for _, value, _ in picked] == ["-0.60", "-0.30", "0"]
    places = [place for *_, place in picked]
    assert places == sorted(places) and places[0] < places[2]
    likelihood = page.locator('.panels[data-name="difference_log_likelihood"] table').first
    assert likelihood.locator("tbody tr").count() == 3
    page.select_option("#baseline", "")
    assert differences(page) == default


def test_differences_are_shown_without_javascript(browser: playwright.Browser, report: str) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(report)
    assert len(differences(page)) == 3 and not page.locator("#baseline").count()
    page.close()


def test_figures_use_the_width_of_the_screen(page: playwright.Page) -> None:
    first, second = page.locator(".panels").first.locator("table").all()
    left, right = first.bounding_box(), second.bounding_box()
    assert left["y"] == right["y"] and right["x"] + right["width"] > 0.6 * DESK["width"]
    page.set_viewport_size(PHONE)
    assert second.bounding_box()["y"] > first.bounding_box()["y"]


def test_figures_are_dark_in_dark_mode(page: playwright.Page) -> None:
    figure = page.locator("svg.figure").first
    assert figure.evaluate("one => getComputedStyle(one).filter") == "none"
    page.emulate_media(color_scheme="dark")
    assert "invert" in figure.evaluate("one => getComputedStyle(one).filter")


def test_figures_have_hover_texts_and_unique_ids(page: playwright.Page) -> None:
    titles = page.locator("svg.figure title").all_text_contents()
    assert any("vadam: " in title for title in titles)
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
    assert len(ids) == len({*ids})


@pytest.mark.parametrize(
    ("size", "scheme"), [(PHONE, "dark"), (DESK, "light")], ids=["phone", "desk"]
)
def test_it_fits_the_screen_and_is_accessible(
    browser: playwright.Browser, report: str, size: playwright.ViewportSize, scheme: str
) -> None:
    """No horizontal scrolling and no violation of WCAG 2.1 AA."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = browser.new_page(viewport=size, color_scheme=scheme)
    page.goto(report)
    for place in ("", page.locator("#report td a").first.get_attribute("href")):
        page.goto(report + place)
        assert page.evaluate("document.documentElement.scrollWidth") == size["width"]
        found = axe.run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]})
        assert found.violations_count == 0, found.generate_report()
    page.close()


def test_table_rows_are_short_on_a_phone(browser: playwright.Browser, report: str) -> None:
    page = browser.new_page(viewport=PHONE)
    page.goto(report)
    table = page.locator("#report .scroll", has_text="Settings that differ").first
    rows = table.locator("tbody tr")
    assert rows.count() >= 3
    lines = rows.evaluate_all(
        "rows => rows.map(row => row.clientHeight / parseFloat(getComputedStyle(row).lineHeight))"
    )
    assert max(lines) < 5
    page.close()


def test_controls_are_not_printed(page: playwright.Page) -> None:
    page.emulate_media(media="print")
    assert not page.locator("header").is_visible() and not page.locator("nav").is_visible()
    assert page.locator("#report h1").is_visible()
