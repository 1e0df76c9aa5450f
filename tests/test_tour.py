"""The notebooks run, reproduce their stored outputs and convert to pages."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from support.command import Command
from support.quick import no_figures

DOCS = Path(__file__).parents[1] / "docs"
TOOL = runpy.run_path(str(DOCS / "tools" / "notebook.py"))
TUTORIALS = DOCS / "tutorials"
NOTEBOOKS = {path.stem: json.loads(path.read_text()) for path in TUTORIALS.glob("*.ipynb")}
NOTEBOOK = NOTEBOOKS["tour"]


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def words(outputs: list[dict[str, Any]]) -> list[str]:
    """Return the words and counts in outputs, without what depends on the machine."""
    texts = ["".join(o.get("text") or o["data"]["text/plain"]) for o in outputs]
    bare = (re.sub(r"(?<!\S)(?!\d+[.,;]?(?!\S))\S*\d\S*", "#", text) for text in texts)
    return [word for text in bare for word in text.split() if not set(word) <= {"─"}]


@pytest.mark.ci
@pytest.mark.parametrize(
    "name", [pytest.param("tour", marks=pytest.mark.slow), *sorted(NOTEBOOKS.keys() - {"tour"})]
)
def test_cells_reproduce_the_stored_outputs(command: Command, name: str) -> None:
    notebook = NOTEBOOKS[name]

    def shell(line: str) -> str:
        first, *rest = line.split(" | ")
        if not first.startswith("bnnbench "):
            return subprocess.run(line, shell=True, capture_output=True, text=True).stdout
        with (
            no_figures(),
            patch("bnnbench.report.paper.paper_writer.save_figures", lambda *_: {}),
        ):
            code, out, errors = command(*first.split()[1:])
        assert code == 0, errors
        assert rest in ([], ["tail -n 1"])
        return out.splitlines(keepends=True)[-1] if rest else out

    executed = TOOL["execute"](notebook, shell)
    for new, stored in zip(code_cells(executed), code_cells(notebook), strict=True):
        assert new["execution_count"] == stored["execution_count"]
        assert words(new["outputs"]) == words(stored["outputs"]), "".join(new["source"])
    assert not (DOCS / "outputs").exists()


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_stored_outputs_contain_no_times_and_no_local_paths(name: str) -> None:
    stored = [
        "".join(output.get("text") or output["data"]["text/plain"])
        for cell in code_cells(NOTEBOOKS[name])
        for output in cell["outputs"]
    ]
    assert len(stored) >= 5
    assert not [
        text for text in stored if re.search(r"\d\d:\d\d|/tmp|/home|20\d\d-|\bs so far", text)
    ]


def test_the_notebook_converts_to_a_page() -> None:
    page, pictures = TOOL["page"](NOTEBOOK, "tour")
    assert page.startswith("# A tour in a notebook\n") and page.count("```") % 2 == 0
    assert list(pictures) == ["tour-1.png", "tour-2.png"]
    assert all(picture.startswith(b"\x89PNG") for picture in pictures.values())
    assert "](tour-2.png)" in page and "```sh\nbnnbench compare\n```" in page
    links = re.findall(r"\]\(([\w./]+\.md)\)", page)
    assert len(links) >= 4 and all((TUTORIALS / link).is_file() for link in links)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a = 2\na + 1", ["3"]),
        ("print('x')\nNone", ["x\n"]),
        ("print('x')\n'y'", ["x\n", "'y'"]),
        ("a = 1", []),
        ("!echo a\n!echo b", ["<echo a><echo b>"]),
    ],
)
def test_a_cell_outputs_what_it_prints_and_its_last_value(source: str, expected: list[str]) -> None:
    outputs = TOOL["run"](source, {}, lambda line: f"<{line}>")
    assert ["".join(o.get("text") or o["data"]["text/plain"]) for o in outputs] == expected
