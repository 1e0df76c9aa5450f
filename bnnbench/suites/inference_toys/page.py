"""What the toys show: each has an exhibit of its own."""

from __future__ import annotations

from bnnbench.report.exhibit import Exhibit, page_of, section_of

EXHIBITS: tuple[Exhibit, ...] = ()

PAGES = tuple(page_of(exhibit) for exhibit in EXHIBITS)

SECTIONS = (section_of(EXHIBITS),)
