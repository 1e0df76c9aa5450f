"""Report sections of the suite and pages of its runs."""

from __future__ import annotations

from bnnbench.report.experiment_page import make_run_page, make_section
from bnnbench.suites.lam_density_ratio import parametrisations_page
from bnnbench.suites.lam_density_ratio.adversarial_vb import page as adversarial_vb
from bnnbench.suites.lam_density_ratio.comparison.section import section
from bnnbench.suites.lam_density_ratio.run_page import PAGE

EXPERIMENT_PAGES = (parametrisations_page.EXPERIMENT_PAGE, adversarial_vb.EXPERIMENT_PAGE)

SECTIONS = (section, make_section(EXPERIMENT_PAGES), adversarial_vb.tables_section)

PAGES = (PAGE, *map(make_run_page, EXPERIMENT_PAGES))
