"""Where a report over many runs goes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ReportFolder:
    """Where `bnnbench report PATH` puts its tables and figures: `PATH/report`."""

    root: Path

    @classmethod
    def below(cls, path: Path) -> ReportFolder:
        return cls(path / "report")

    @property
    def page(self) -> Path:
        """Everything to read, with the figures."""
        return self.root / "results.md"

    @property
    def html(self) -> Path:
        """The same to open in a browser, with a page on every run: one file."""
        return self.root / "report.html"

    @property
    def glossary(self) -> Path:
        """What every number of the page is."""
        return self.root / "glossary.md"

    @property
    def latex(self) -> Path:
        """The results for a paper."""
        return self.root / "results.tex"

    def table(self, name: str) -> Path:
        """`<name>.csv`."""
        return self.root / f"{name}.csv"

    def figure(self, name: str, suffix: str) -> Path:
        """`<name>.<suffix>`, suffix `png` or `pdf`."""
        return self.root / f"{name}.{suffix}"
