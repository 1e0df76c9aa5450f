"""Run a notebook and turn it into a page: `python docs/tools/notebook.py NOTEBOOK ...`.

This replaces Jupyter, whose dozens of packages nothing else here needs. Cells are Python, or shell
commands that start with `!`. They run in an empty folder, so that outputs contain no local paths.
"""

from __future__ import annotations

import ast
import base64
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

Shell = Callable[[str], str]
"""Run a command and return its output."""

Cell = dict[str, Any]


def execute(notebook: dict[str, Any], shell: Shell) -> dict[str, Any]:
    """Run the cells in order and return the notebook with their outputs."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    cells, count = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            outputs = run("".join(cell["source"]), scope, shell)
            cell = {**cell, "execution_count": count, "outputs": outputs}
        cells.append(cell)
    return {**notebook, "cells": cells}


def run(source: str, scope: dict[str, Any], shell: Shell) -> list[dict[str, Any]]:
    """Return the outputs of one cell in nbformat 4."""
    if source.startswith("!"):
        return streamed("".join(shell(line[1:]) for line in source.splitlines()))
    *body, last = ast.parse(source).body
    value, printed = None, io.StringIO()
    with redirect_stdout(printed):
        if isinstance(last, ast.Expr):
            exec(compile(ast.Module(body, []), "cell", "exec"), scope)
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), scope)
        else:
            exec(compile(ast.Module([*body, last], []), "cell", "exec"), scope)
    return [*streamed(printed.getvalue()), *shown(value)]


def streamed(text: str) -> list[dict[str, Any]]:
    """Return printed text as an output; an empty list if there is none."""
    lines = text.splitlines(keepends=True)
    return [{"output_type": "stream", "name": "stdout", "text": lines}] if text else []


def shown(value: Any) -> list[dict[str, Any]]:
    """Return a value as an output: a picture, a table, or its `repr`."""
    if value is None:
        return []
    data: dict[str, Any] = {"text/plain": repr(value).splitlines(keepends=True)}
    if hasattr(value, "_repr_png_"):
        picture = base64.b64encode(value._repr_png_()).decode()
        data = {"image/png": picture, "text/plain": ["a figure"]}
    elif hasattr(value, "_repr_html_"):
        data["text/html"] = value._repr_html_().splitlines(keepends=True)
    return [{"output_type": "display_data", "metadata": {}, "data": data}]


def page(notebook: dict[str, Any], name: str) -> tuple[str, dict[str, bytes]]:
    """Return the notebook as Markdown, and its pictures by file name."""
    pictures: dict[str, bytes] = {}
    return "\n\n".join(_blocks(notebook, name, pictures)) + "\n", pictures


def _blocks(notebook: dict[str, Any], name: str, pictures: dict[str, bytes]) -> Iterator[str]:
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield source
            continue
        language = "sh" if source.startswith("!") else "python"
        yield f"```{language}\n{re.sub('^!', '', source, flags=re.M)}\n```"
        for output in cell["outputs"]:
            data = output.get("data", {"text/plain": output.get("text", [])})
            if "image/png" in data:
                file = f"{name}-{len(pictures) + 1}.png"
                pictures[file] = base64.b64decode(data["image/png"])
                yield f"![Output of the cell above]({file})"
            else:
                yield f"```text\n{''.join(data['text/plain']).rstrip()}\n```"


def shell_here(command: str) -> str:
    """Return the output of a command, run with the `bnnbench` of this Python."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        command, shell=True, env={**os.environ, "PATH": path}, stdout=subprocess.PIPE, text=True
    )
    return re.sub(r"[ \t]+$", "", done.stdout, flags=re.M)


if __name__ == "__main__":
    for file in map(Path, sys.argv[1:]):
        notebook, here = json.loads(file.read_text()), Path.cwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            found = execute(notebook, shell_here)
            os.chdir(here)
        file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
