"""Paths of the files of a report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ReportFolder:
    """The folder to which `bnnbench report PATH` writes, by default `PATH/report`."""

    root: Path

    @classmethod
    def below(cls, path: Path) -> ReportFolder:
        return cls(path / "report")

    @property
    def page(self) -> Path:
        """The report as Markdown, with links to its figures and tables."""
        return self.root / "results.md"

    @property
    def html(self) -> Path:
        """The report as one HTML file, with a page for every run."""
        return self.root / "report.html"

    @property
    def glossary(self) -> Path:
        """Definitions of all reported quantities."""
        return self.root / "glossary.md"

    @property
    def latex(self) -> Path:
        """The result tables in LaTeX."""
        return self.root / "results.tex"

    def table(self, name: str) -> Path:
        """`<name>.csv`."""
        return self.root / f"{name}.csv"

    def figure(self, name: str, suffix: str) -> Path:
        """`<name>.<suffix>`, where the suffix is `png` or `pdf`."""
        return self.root / f"{name}.{suffix}"
