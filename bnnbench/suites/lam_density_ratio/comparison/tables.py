"""Tables of the report: the thesis's six tables compared with our runs, and all runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from bnnbench.experiment.store.answer_tables import Sample
from bnnbench.report.blocks import (
    Block,
    Cell,
    Column,
    DataFile,
    Heading,
    Paragraph,
    Row,
    columns,
    fill,
    with_stderr,
)
from bnnbench.report.pair_tables import p_value_text
from bnnbench.results.claims.mean_tests import welch
from bnnbench.suites.lam_density_ratio.comparison.evidence import SprinklerEvidence, SprinklerRun
from bnnbench.suites.lam_density_ratio.comparison.thesis import (
    EXACT_KL,
    TABLES,
    author_repetitions,
    printed_tables,
)

P_STATEMENT = (
    "p: Welch's two-sided t-test of the difference, uncorrected, with 30 repetitions of the "
    "thesis. It is shown only if no setting except the number of repetitions differs and at least "
    "two repetitions finished."
)

STATEMENT = (
    "Final average KL in nats; lower is better. Ours: mean ± standard error over the repetitions "
    "that did not fail, and the standard deviation with divisor n, as in the thesis. Difference: "
    f"ours minus the thesis's. {P_STATEMENT}"
)

RUN_STATEMENT = (
    "Average KL: as computed in the thesis. KL: of q from the exact posterior, by nearest "
    f"neighbours, nats; exact draws score {EXACT_KL}. All are over the repetitions that did not "
    "fail."
)

AUTHOR = "github.com/Lammyy/IHateMaths, Sprinkler/part 2"

ONE_RUN = "D, r and T: one run, by the lemma"
"""Marks a run with stable numerics, which represents every estimator of its divergence."""

SCORES = ("average_kl", "kl")
"""Scores in the table of all runs."""

COMPARISON: Mapping[str, Cell] = {
    "Ours": with_stderr("mean", "stderr"),
    "Std": "{std:.4f}",
    "Thesis": "{thesis_mean:.4f}",
    "Thesis std": "{thesis_std:.4f}",
    "Difference": "{difference:+.4f}",
    "p": lambda row: p_value_text(row["p"]),
}
"""Cells with the numbers of `comparison`."""


def finished(row: Row) -> str:
    """Return `9 of 10` for the repetitions that did not fail; empty without a run."""
    total = row["repetitions"]
    return f"{total - row['failed']} of {total}" if total else ""


DIFFERENCES: Mapping[str, Cell] = {"Differs from the thesis in": "{settings_differ}"}

TABLE = columns(
    {"Configuration": "{configuration}"},
    {"Repetitions": finished, "Failed": "{failures}", **COMPARISON},
    DIFFERENCES,
)

RUNS = columns(
    {name.capitalize(): f"{{{name}}}" for name in ("configuration", "numerics", "observations")},
    {
        "Repetitions": finished,
        "Failed": "{failures}",
        "Average KL": with_stderr("average_kl"),
        "Median average KL": "{average_kl_median:.4f}",
        "KL": with_stderr("kl"),
    },
    DIFFERENCES,
)


def blocks_of(name: str, cells: Sequence[Column], rows: Sequence[Row]) -> Iterator[Block]:
    """Yield a table and, at full precision, the file `name` with its rows."""
    yield fill(cells, rows)
    yield DataFile(name, pd.DataFrame(rows))


def table_blocks(evidence: SprinklerEvidence) -> Iterator[Block]:
    """Yield every table with at least one run."""
    for number, title in TABLES.items():
        if evidence.tables.get(number):
            yield Heading(f"Table {number}: {title}", 3)
            name = f"density_ratio_table_{number.replace('.', '_')}"
            yield from blocks_of(name, TABLE, list(comparison_rows(evidence, number)))
            yield from author_blocks(evidence, number)


def comparison_rows(evidence: SprinklerEvidence, number: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of one table, with the thesis's and our values at full precision."""
    for cell, theirs in printed_tables()[number].items():
        run = evidence.runs.get(cell) or evidence.shared_run(cell)
        differences = [*run.deviations, *([ONE_RUN] if run.is_stable else [])] if run else []
        yield {
            "configuration": cell.name,
            "settings_differ": ", ".join(differences),
            "repetitions": len(run.repetitions) if run else 0,
            "failed": run.failed if run else 0,
            "failures": run.failures if run else "",
            **comparison(
                run.sample() if run else Sample(),
                theirs,
                comparable=run is not None and not run.deviating_settings,
            ),
        }


def comparison(ours: Sample, theirs: Sample, comparable: bool) -> dict[str, float]:
    """Return both samples, their difference and, if they are comparable, its p by column."""
    tested = comparable and min(ours.size, theirs.size) > 1
    return {
        f"{prefix}{key}": getattr(sample, key)
        for prefix, sample in (("", ours), ("thesis_", theirs))
        for key in ("mean", "std", "stderr")
    } | {"difference": ours.mean - theirs.mean, "p": welch(ours, theirs).p if tested else math.nan}


def author_blocks(evidence: SprinklerEvidence, number: str) -> Iterator[Block]:
    """Yield a sentence on each configuration of a table for which the author published runs."""
    ours, table = evidence.tables.get(number, {}), printed_tables()[number]
    for cell, theirs in author_repetitions().items():
        if cell in table:
            sentence = (
                f"The author's own {theirs.size} repetitions of {cell.name} ({AUTHOR}) end at "
                f"{theirs.mean:.4f} ± {theirs.stderr:.4f}, std {theirs.std:.4f}; the table prints "
                f"{table[cell].mean:.4f} and {table[cell].std:.4f}."
            )
            if cell in ours and ours[cell].size > 1:
                sentence += f" Ours minus these: {welch(ours[cell], theirs)} (Welch)."
            yield Paragraph(sentence)


def run_blocks(runs: Sequence[SprinklerRun]) -> Iterator[Block]:
    """Yield a table of every run, with a score that needs no kernel density too."""
    yield Heading("Every run", 3)
    yield Paragraph(RUN_STATEMENT)
    rows = sorted(map(run_row, runs), key=lambda row: row["configuration"])
    yield from blocks_of("density_ratio_runs", RUNS, rows)


def run_row(run: SprinklerRun) -> dict[str, Any]:
    """Return the scores of a run at full precision."""
    row = {
        "run": run.digest,
        "configuration": f"{run.metadata['schedule']}, {run.name}",
        **{name: run.metadata[name] for name in ("numerics", "observations", "seed")},
        "repetitions": len(run.repetitions),
        "failed": run.failed,
        "failures": run.failures,
        "settings_differ": ", ".join(run.deviations),
    }
    for name in (*SCORES, "seconds"):
        sample = run.sample(name)
        row |= {name: sample.mean, f"{name}_std": sample.std, f"{name}_stderr": sample.stderr}
    return {**row, "average_kl_median": run.finished["average_kl"].median()}
