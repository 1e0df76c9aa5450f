"""The blocks that sections of a report print."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from bnnbench.report.blocks import (
    Block,
    DataFile,
    FigureBlock,
    ItemList,
    Paragraph,
    SectionFunction,
    Style,
    TableBlock,
)
from bnnbench.results.read.run_tables import Runs, read_runs


def blocks(section: SectionFunction, runs: Runs | Path, style: Style | None = None) -> list[Block]:
    """Return the blocks of a section on some runs, or on all runs of a folder."""
    read = read_runs(runs) if isinstance(runs, Path) else runs
    return list(section(read, style or Style()))


def tables(shown: Iterable[Block]) -> list[TableBlock]:
    return [block for block in shown if isinstance(block, TableBlock)]


def figures(shown: Iterable[Block]) -> dict[str, FigureBlock]:
    return {block.name: block for block in shown if isinstance(block, FigureBlock)}


def data_files(shown: Iterable[Block]) -> dict[str, pd.DataFrame]:
    return {block.name: block.table for block in shown if isinstance(block, DataFile)}


def texts(shown: Iterable[Block]) -> list[str]:
    """Return the paragraphs and the items of lists."""
    pairs = [block.texts if isinstance(block, ItemList) else (block.text,)
             for block in shown if isinstance(block, ItemList | Paragraph)]  # fmt: skip
    return [text for pair in pairs for text in pair]
