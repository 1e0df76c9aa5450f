"""Report section with Tables 10.1 and 10.2 of the thesis compared with our runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from bnnbench.experiment.store.answer_tables import SCORES, Sample
from bnnbench.experiment.store.record import read_record
from bnnbench.report.blocks import Block, Heading, Paragraph, Style, columns
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.settings import format_value
from bnnbench.suites.lam_density_ratio.adversarial_vb.evidence import ImageEvidence, evidence_of
from bnnbench.suites.lam_density_ratio.adversarial_vb.names import (
    KIND,
    PUBLISHED,
    EstimatorSetting,
    differing_settings,
)
from bnnbench.suites.lam_density_ratio.comparison.tables import (
    COMPARISON,
    P_STATEMENT,
    blocks_of,
    comparison,
)
from bnnbench.suites.lam_density_ratio.names import OK, describe_failures

TABLES = {"10.1": 2, "10.2": 10}
"""Number of latent variables of each table."""

COLUMNS = columns(
    {"Configuration": "{configuration}"},
    {"Repetitions": "{repetitions}", "Failed": "{failures}", **COMPARISON},
)

STATEMENT = (
    "Mean absolute error of reconstructions after the last iteration. Ours: mean ± standard error "
    "over the repetitions that did not fail, and the standard deviation with divisor n. "
    f"{P_STATEMENT} "
    "Settings that differ: {}."
)


def tables_section(runs: Runs, style: Style) -> Iterator[Block]:
    """Yield both tables for every run."""
    found = list(runs.tables.get(KIND, pd.DataFrame()).index)
    for run in found:
        folder, suffix = runs.folders[run], f"_{run}" if len(found) > 1 else ""
        evidence = evidence_of(folder)
        differing = deviations(read_record(folder).identity)
        for number, latents in TABLES.items():
            rows = list(comparison_rows(evidence, latents, bool(differing)))
            if rows:
                yield Heading(f"Table {number} of the thesis: {latents} latent variables", 3)
                yield Paragraph(STATEMENT.format(", ".join(differing) or "none"))
                name = f"density_ratio_table_{number.replace('.', '_')}{suffix}"
                yield from blocks_of(name, COLUMNS, rows)


def comparison_rows(
    evidence: ImageEvidence, latents: int, settings_differ: bool
) -> Iterator[dict[str, Any]]:
    """Yield our values at full precision next to those of the thesis, by configuration."""
    assert evidence.run is not None
    scores = evidence.run.rows(SCORES, latents=latents)
    for key, rows in scores.groupby([*EstimatorSetting._fields], sort=False):
        setting = EstimatorSetting(*key)
        ours = evidence.errors.get(setting, Sample())
        yield {
            "configuration": setting.label,
            "repetitions": len(rows),
            "failed": int((rows["status"] != OK).sum()),
            "failures": describe_failures(rows["status"].tolist()),
            **comparison(ours, PUBLISHED.get(setting, Sample()), comparable=not settings_differ),
        }


def deviations(identity: Mapping[str, Any]) -> list[str]:
    """Return every setting of a run that differs from the thesis, such as `batch size 64`."""
    images = identity["images"]
    found = differing_settings(identity, images["name"], images["binarisation"])
    return [f"{name.replace('_', ' ')} {format_value(value)}" for name, value in found.items()]
