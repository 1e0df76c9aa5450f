"""Every page is shown on GitHub as its source means it, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from support.rendered import PAGES, ROOT, Rendered, rendered

from bnnbench.report.renderers import markdown
from bnnbench.results.glossary import TERMS

every_page = pytest.mark.parametrize(
    "page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix()
)


@every_page
def test_a_page_is_shown_as_its_source_means_it(page: Path) -> None:
    assert rendered(page).faults() == []


@every_page
def test_every_link_resolves_in_the_repository(page: Path) -> None:
    for address in rendered(page).links:
        file, _, anchor = unquote(address).partition("#")
        if re.match(r"\w+:", file):
            continue
        target = (page.parent / file).resolve() if file else page
        assert target.exists() and target.is_relative_to(ROOT), address
        assert not anchor or anchor in rendered(target).anchors, address


def test_the_glossary_of_a_report_is_shown_as_its_source_means_it() -> None:
    page = Rendered(markdown.glossary(TERMS))
    assert page.faults() == []
    assert {link.removeprefix("#") for link in page.links} <= page.anchors


@pytest.mark.parametrize(
    "source",
    [
        "It is\n<!-- value 3 -->3<!-- /value --> of 4.",
        "- It is\n  <!-- value 3 -->3<!-- /value --> of `four`.",
        "<div>\nIt is [here](a.md).\n</div>",
        "It is [here] (a.md) or](b.md).",
        "It is `here.",
        "It is ** here**.",
        "#Heading",
        "| a | b |\n|:--|:--|\n| KL(p || q) | 1 |",
        "| a | b |\n| 1 | 2 |",
        r"The pair $\{x, y\}$.",
        "It costs $5.",
        r"The value $x_operator$.",
        r"The value $\operatorname{Var} x$.",
        "The value $√x$.",
        r"The value $\frac{x$.",
        "```math\nx = \\unknown{y}\n```",
        "```math\ndetectable = 1\n```",
    ],
)
def test_what_github_shows_otherwise_is_found(source: str) -> None:
    assert Rendered(source).faults()


def test_what_github_shows_is_no_fault() -> None:
    source = """# A `title`

<details>
<summary>Answer *1*</summary>

It is <!-- value 3 -->3<!-- /value --> of **four**, see [this](#a-title) and `a | b`.[^1]

</details>

| a | b \\* |
|:--|--:|
| KL(p \\|\\| q) | $\\mu_{sn} \\Vert x$ |

```math
p \\, \\| \\, q, \\quad \\text{where } \\int f \\, dx = 1
```

[^1]: A note costs "&lt;0.001", from `$HOME`.
"""
    page = Rendered(source)
    assert page.faults() == [] and "#a-title" in page.links and page.anchors == {"a-title"}
    assert page.code == ["title", "a | b", "$HOME"] and len(page.formulas) == 2
