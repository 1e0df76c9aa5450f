"""Report sections of the suite and pages of its runs."""

from __future__ import annotations

from bnnbench.report.experiment_page import make_run_page, make_section
from bnnbench.suites.lam_density_ratio.adversarial_vb.page import EXPERIMENT_PAGE
from bnnbench.suites.lam_density_ratio.adversarial_vb.tables import tables_section
from bnnbench.suites.lam_density_ratio.comparison.section import section
from bnnbench.suites.lam_density_ratio.run_page import PAGE
from bnnbench.suites.lam_density_ratio.theory.pages import FUNCTIONALS_PAGE

EXPERIMENT_PAGES = (FUNCTIONALS_PAGE, EXPERIMENT_PAGE)

SECTIONS = (section, make_section(EXPERIMENT_PAGES), tables_section)

PAGES = (PAGE, *map(make_run_page, EXPERIMENT_PAGES))
