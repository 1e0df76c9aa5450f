"""What the suite adds to reports, and the pages of the kinds of its runs."""

from __future__ import annotations

from bnnbench.report.exhibit import page_of, section_of
from bnnbench.suites.lam_density_ratio.comparison.section import section
from bnnbench.suites.lam_density_ratio.run_page import PAGE
from bnnbench.suites.lam_density_ratio.theory.bounds_page import EXHIBIT as BOUNDS
from bnnbench.suites.lam_density_ratio.theory.parametrisations_page import EXHIBIT as FUNCTIONALS

EXHIBITS = (BOUNDS, FUNCTIONALS)

SECTIONS = (section, section_of(EXHIBITS))

PAGES = (PAGE, *(page_of(exhibit) for exhibit in EXHIBITS))
