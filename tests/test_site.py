"""The documentation site: what its hook does to pages."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]

pytest.importorskip("mkdocs")


@pytest.fixture(autouse=True)
def _tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "tools"))


def rendered(text: str) -> str:
    """Return a page in HTML."""
    from markdown import markdown
    from site_pages import on_page_markdown

    page = SimpleNamespace(file=SimpleNamespace(src_uri="page.md"))
    return markdown(on_page_markdown(text, page), extensions=["md_in_html", "tables"])


def test_a_mark_at_the_start_of_a_line_does_not_end_a_list() -> None:
    text = "- one\n  <!-- value f('>') -->2<!-- /value --> `three`\n- four\n"
    assert re.sub(r"\s", "", rendered(text)) == (
        "<ul><li>one2<code>three</code></li><li>four</li></ul>"
    )
    block = "<!-- block -->\n\n| a |\n|:--|\n| 1 |\n\n<!-- /block -->"
    assert "<table>" in rendered(block) and "block" not in rendered(block)
    assert "value" in rendered("`<!-- value ... -->`")


def test_markdown_in_a_folded_answer_is_rendered() -> None:
    text = "<details>\n<summary>Answer</summary>\n\nSee `code` and\n\n- [a](b.md)\n\n</details>\n"
    html = rendered(text)
    assert "<code>code</code>" in html and '<a href="b.md">' in html and "</details>" in html


def test_a_site_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import site_pages
    from mkdocs.exceptions import PluginError

    (tmp_path / "page.html").write_text("1234")
    config = SimpleNamespace(site_dir=str(tmp_path))
    monkeypatch.setattr(site_pages, "MAX_BYTES", 4)
    site_pages.on_post_build(config)
    monkeypatch.setattr(site_pages, "MAX_BYTES", 3)
    with pytest.raises(PluginError):
        site_pages.on_post_build(config)
