"""The report pages of the toys."""

from __future__ import annotations

from importlib import import_module

from bnnbench.report.experiment_page import ExperimentPage, make_run_page, make_section
from bnnbench.suites.inference_toys import SUITE

EXPERIMENT_PAGES: tuple[ExperimentPage, ...] = tuple(
    import_module(f"{__package__}.pages.{sweep.experiment}").EXPERIMENT_PAGE
    for sweep in SUITE.sweeps
)

PAGES = tuple(make_run_page(page) for page in EXPERIMENT_PAGES)

SECTIONS = (make_section(EXPERIMENT_PAGES),)
