"""The thesis's six tables compared with our runs, and Welch tests of both."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from string import ascii_lowercase
from typing import Any

import pandas as pd

from bnnbench.report.blocks import (
    Block,
    Column,
    DataFile,
    Heading,
    ItemList,
    Paragraph,
    Table,
    label_columns,
    number_columns,
)
from bnnbench.report.formatting import MISSING, format_number, format_z, plus_minus
from bnnbench.results.labels import difference_mark
from bnnbench.results.published.values import z_score
from bnnbench.suites.lam_density_ratio.comparison.author import author_blocks
from bnnbench.suites.lam_density_ratio.comparison.evidence import Evidence, SprinklerRun
from bnnbench.suites.lam_density_ratio.comparison.published import TABLES, Cell, printed_tables
from bnnbench.suites.lam_density_ratio.comparison.statistics import Sample, welch
from bnnbench.suites.lam_density_ratio.names import RELU_RATIO

STATEMENT = (
    "Final average KL in nats; lower is better. Ours: mean ± standard error over the repetitions "
    "that did not fail, and the standard deviation with divisor n, as in the thesis. z is the "
    "difference divided by the combined standard error (the thesis's from its standard deviation "
    "and 30 repetitions). It is shown only if no setting except the number of repetitions differs."
)

COLUMNS = (
    *label_columns("Configuration"),
    *number_columns("Repetitions", "Ours", "Std", "Thesis", "Thesis std", "Difference", "z"),
)

TEST_STATEMENT = (
    "Welch's test of pairs: the first mean minus the second and the two-sided p, for our "
    "repetitions and for the thesis (from its means, standard deviations and 30 repetitions)."
)

TEST_COLUMNS = (
    *label_columns("Pair"),
    *number_columns("Ours", "p", "Thesis", "Thesis p"),
)

RUN_COLUMNS = (
    *label_columns("Configuration", "Numerics", "Observations"),
    *number_columns("Repetitions", "Average KL", "Median average KL", "KL", "Sliced Wasserstein"),
    Column("Differs from the thesis in", "text"),
)


def table_blocks(evidence: Evidence) -> Iterator[Block]:
    """Yield every table with at least one run, each with its tests."""
    for name, title in TABLES.items():
        if not evidence.tables.get(name):
            continue
        yield Heading(f"Table {name}: {title}", 3)
        rows = list(comparison_rows(evidence, name))
        letters = footnote_letters(row["settings_differ"] for row in rows)
        yield Table(COLUMNS, tuple(_cells(row, letters) for row in rows))
        if letters:
            yield ItemList(tuple(f"{letter}: {text}" for text, letter in letters.items()))
        yield DataFile(f"density_ratio_table_{name.replace('.', '_')}", pd.DataFrame(rows))
        tests = list(test_rows(evidence, name))
        if tests:
            yield Table(TEST_COLUMNS, tuple(map(_test_cells, tests)))
            yield DataFile(f"density_ratio_tests_{name.replace('.', '_')}", pd.DataFrame(tests))
        yield from author_blocks(evidence, name)


def comparison_rows(evidence: Evidence, name: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of one table, with the thesis's and our values at full precision."""
    ours = evidence.tables.get(name, {})
    for cell, theirs in printed_tables()[name].items():
        sample, run = ours.get(cell, NO_SAMPLE), evidence.runs.get(cell)
        comparable = run is not None and not run.deviating_settings
        z = (
            z_score(sample.mean, sample.stderr, theirs.mean, theirs.stderr)
            if comparable
            else math.nan
        )
        yield {
            "configuration": cell.name,
            "settings_differ": ", ".join(run.deviations) if run else "",
            "repetitions": len(run.repetitions) if run else 0,
            "failed": len(run.repetitions) - len(run.finished) if run else 0,
            "mean": sample.mean,
            "std": sample.std,
            "stderr": sample.stderr,
            "thesis_mean": theirs.mean,
            "thesis_std": theirs.std,
            "thesis_stderr": theirs.stderr,
            "difference": sample.mean - theirs.mean,
            "z": z,
        }


NO_SAMPLE = Sample(math.nan, math.nan, 0)

MAX_LABEL_LENGTH = 40
"""Maximum number of characters of a remark in a table's first column."""


def footnote_letters(differing: Iterable[str]) -> dict[str, str]:
    """Return a letter for each text that is too long for a table."""
    footnotes = dict.fromkeys(text for text in differing if len(text) > MAX_LABEL_LENGTH)
    return dict(zip(footnotes, ascii_lowercase, strict=False))


def _cells(row: Mapping[str, Any], letters: Mapping[str, str]) -> tuple[str, ...]:
    differing = row["settings_differ"]
    total, finished = row["repetitions"], row["repetitions"] - row["failed"]
    repetitions = f"{total}" if finished == total else f"{finished} of {total}"
    return (
        row["configuration"] + difference_mark(letters.get(differing, differing)),
        repetitions if total else MISSING,
        plus_minus(row["mean"], row["stderr"]),
        format_number(row["std"], ".4f"),
        f"{row['thesis_mean']:.4f}",
        f"{row['thesis_std']:.4f}",
        format_number(row["difference"], "+.4f"),
        format_z(row["z"]),
    )


def test_rows(evidence: Evidence, name: str) -> Iterator[dict[str, Any]]:
    """Yield Welch's tests of the comparable pairs of a table, for our runs and for the thesis.

    Comparable pairs differ only in their estimator or only in their divergence. In Table 5.1, ReLU
    ratio and class probability, which differ in both, are compared too.
    """
    ours, theirs = evidence.tables.get(name, {}), printed_tables()[name]
    for first, second in combinations(theirs, 2):
        if first.contrast == second.contrast and _comparable(first, second):
            our_test = welch(ours.get(first, NO_SAMPLE), ours.get(second, NO_SAMPLE))
            thesis_test = welch(theirs[first], theirs[second])
            yield {
                "pair": f"{first.name} - {second.name}",
                "difference": our_test.difference,
                "t": our_test.t,
                "p": our_test.p,
                "thesis_difference": thesis_test.difference,
                "thesis_t": thesis_test.t,
                "thesis_p": thesis_test.p,
            }


def _comparable(first: Cell, second: Cell) -> bool:
    same = (first.divergence == second.divergence) + (first.estimator == second.estimator)
    return same == 1 or RELU_RATIO in (first.estimator, second.estimator)


def _test_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        row["pair"],
        format_number(row["difference"], "+.4f"),
        format_number(row["p"], ".2g"),
        format_number(row["thesis_difference"], "+.4f"),
        format_number(row["thesis_p"], ".2g"),
    )


def run_blocks(runs: Sequence[SprinklerRun]) -> Iterator[Block]:
    """Yield a table of every run, with scores that need no kernel density too."""
    rows = sorted(map(run_row, runs), key=lambda row: row["configuration"])
    yield Heading("Every run", 3)
    yield Paragraph(
        "Average KL: as computed in the thesis. KL: of q from the exact posterior, by nearest "
        "neighbours, nats. Sliced Wasserstein: distance to exact posterior draws, units of z. The "
        "median is robust to repetitions that diverge without failing."
    )
    cells = tuple(
        (
            row["configuration"],
            str(row["numerics"]),
            str(row["observations"]),
            f"{row['repetitions'] - row['failed']} of {row['repetitions']}",
            plus_minus(row["average_kl"], row["average_kl_stderr"]),
            format_number(row["average_kl_median"], ".4f"),
            *(plus_minus(row[name], row[f"{name}_stderr"]) for name in SCORES[1:]),
            row["settings_differ"],
        )
        for row in rows
    )
    yield Table(RUN_COLUMNS, cells)
    yield DataFile("density_ratio_runs", pd.DataFrame(rows))


SCORES = ("average_kl", "kl", "sliced_wasserstein")


def run_row(run: SprinklerRun) -> dict[str, Any]:
    """Return the scores of a run at full precision."""
    configuration = f"{run.metadata['schedule']}, {run.name}"
    failed = len(run.repetitions) - len(run.finished)
    row = {
        "run": run.digest,
        "configuration": configuration,
        **{name: run.metadata[name] for name in ("numerics", "observations", "seed")},
        "repetitions": len(run.repetitions),
        "failed": failed,
        "stuck": run.stuck,
        "settings_differ": ", ".join(run.deviations),
    }
    for name in (*SCORES, "seconds"):
        sample = run.sample(name)
        row |= {name: sample.mean, f"{name}_std": sample.std, f"{name}_stderr": sample.stderr}
    return {**row, "average_kl_median": run.finished["average_kl"].median()}
