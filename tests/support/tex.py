"""Compile LaTeX, if it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

PREAMBLE = r"""\documentclass[twocolumn]{article}
\usepackage[textwidth=6.75in,columnsep=0.25in]{geometry}
\usepackage{booktabs,siunitx}
\newsavebox{\x}
\begin{document}
"""
"""A document with two columns of 3.25 inches."""


@cache
def has_tex() -> bool:
    """Return whether pdflatex and all packages of `PREAMBLE` are installed."""
    if not (shutil.which("pdflatex") and shutil.which("kpsewhich")):
        return False
    styles = ["booktabs.sty", "siunitx.sty", "geometry.sty"]
    return subprocess.run(["kpsewhich", *styles], capture_output=True).returncode == 0


def compile_tex(folder: Path, body: str) -> str:
    """Compile a document and return its log."""
    (folder / "t.tex").write_text(f"{PREAMBLE}{body}\n\\end{{document}}\n", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    environment = {**os.environ, "max_print_line": "10000"}  # do not break lines of the log
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, errors="replace", env=environment
    )
    assert done.returncode == 0, done.stdout[-2000:]
    return (folder / "t.log").read_text(encoding="utf-8", errors="replace")
