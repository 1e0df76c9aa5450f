"""The thesis's six tables with our runs beside them, and Welch tests of both."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from string import ascii_lowercase
from typing import Any

import pandas as pd

from bnnbench.report.numbers import MISSING, number, plus_minus, z_value
from bnnbench.report.section import (
    Block,
    Column,
    Data,
    Heading,
    Items,
    Paragraph,
    Table,
    numbers,
    words,
)
from bnnbench.results.labels import mark
from bnnbench.results.published import z_score
from bnnbench.suites.lam_density_ratio.comparison.author import author_blocks
from bnnbench.suites.lam_density_ratio.comparison.evidence import Evidence, SprinklerRun
from bnnbench.suites.lam_density_ratio.comparison.published import TABLES, Cell, printed
from bnnbench.suites.lam_density_ratio.comparison.statistics import Sample, welch

STATEMENT = (
    "Average KL in nats, at the end; lower is better. Ours: mean ± standard error over the "
    "repetitions that did not fail, and the standard deviation with divisor n, as the thesis has "
    "it. z is the difference over both standard errors (the thesis's from its standard deviation "
    "and 30 repetitions); it stands only where no setting differs but the number of repetitions."
)

COLUMNS = (
    *words("Configuration"),
    *numbers("Repetitions", "Ours", "Std", "Thesis", "Its std", "Difference", "z"),
)

TEST_STATEMENT = (
    "Welch's test of pairs: the first mean less the second, and the two-sided p, of our "
    "repetitions and of the thesis's (from its means, standard deviations and 30 repetitions)."
)

TEST_COLUMNS = (
    *words("Pair"),
    *numbers("Ours", "p", "Thesis", "its p"),
)

RUN_COLUMNS = (
    *words("Configuration", "Numerics", "Observations"),
    *numbers("Repetitions", "Average KL", "its median", "KL", "Sliced Wasserstein"),
    Column("Differs from the thesis in", "text"),
)


def table_blocks(evidence: Evidence) -> Iterator[Block]:
    """Every table of which we have a configuration, each with its tests."""
    for name, title in TABLES.items():
        if not evidence.tables.get(name):
            continue
        yield Heading(f"Table {name}: {title}", 3)
        rows = list(compared(evidence, name))
        letters = lettered(row["settings_differ"] for row in rows)
        yield Table(COLUMNS, tuple(_cells(row, letters) for row in rows))
        if letters:
            yield Items(tuple(f"{letter}: {words}" for words, letter in letters.items()))
        yield Data(f"density_ratio_table_{name.replace('.', '_')}", pd.DataFrame(rows))
        tests = list(tests_of(evidence, name))
        if tests:
            yield Table(TEST_COLUMNS, tuple(map(_test_cells, tests)))
            yield Data(f"density_ratio_tests_{name.replace('.', '_')}", pd.DataFrame(tests))
        yield from author_blocks(evidence, name)


def compared(evidence: Evidence, name: str) -> Iterator[dict[str, Any]]:
    """The rows of one table: what the thesis prints and what we have, at full precision."""
    ours = evidence.tables.get(name, {})
    for cell, theirs in printed()[name].items():
        own, run = ours.get(cell, NOTHING), evidence.runs.get(cell)
        alike = run is not None and not run.other_settings
        z = z_score(own.mean, own.stderr, theirs.mean, theirs.stderr) if alike else math.nan
        yield {
            "configuration": cell.name,
            "settings_differ": ", ".join(run.departures) if run else "",
            "repetitions": len(run.repetitions) if run else 0,
            "failed": len(run.repetitions) - len(run.finished) if run else 0,
            "mean": own.mean,
            "std": own.std,
            "stderr": own.stderr,
            "thesis_mean": theirs.mean,
            "thesis_std": theirs.std,
            "thesis_stderr": theirs.stderr,
            "difference": own.mean - theirs.mean,
            "z": z,
        }


NOTHING = Sample(math.nan, math.nan, 0)

LONG = 40
"""Letters that fit into a table's first column."""


def lettered(differing: Iterable[str]) -> dict[str, str]:
    """A letter for each of the differences that are too long for a table."""
    long = dict.fromkeys(words for words in differing if len(words) > LONG)
    return dict(zip(long, ascii_lowercase, strict=False))


def _cells(row: Mapping[str, Any], letters: Mapping[str, str]) -> tuple[str, ...]:
    differing = row["settings_differ"]
    kept, all_of_them = row["repetitions"] - row["failed"], row["repetitions"]
    many = f"{all_of_them}" if kept == all_of_them else f"{kept} of {all_of_them}"
    return (
        row["configuration"] + mark(letters.get(differing, differing)),
        many if all_of_them else MISSING,
        plus_minus(row["mean"], row["stderr"]),
        number(row["std"], ".4f"),
        f"{row['thesis_mean']:.4f}",
        f"{row['thesis_std']:.4f}",
        number(row["difference"], "+.4f"),
        z_value(row["z"]),
    )


def tests_of(evidence: Evidence, name: str) -> Iterator[dict[str, Any]]:
    """Welch's test of every pair of a table that says something, ours beside the thesis's.

    Pairs differ in their estimator or in their divergence alone; ReLU and class probability in
    Table 5.1, which differ in both, are one too.
    """
    ours, theirs = evidence.tables.get(name, {}), printed()[name]
    for first, second in combinations(theirs, 2):
        if first.contrast == second.contrast and _one_apart(first, second):
            found = welch(ours.get(first, NOTHING), ours.get(second, NOTHING))
            print_found = welch(theirs[first], theirs[second])
            yield {
                "pair": pair_name(first, second),
                "difference": found.value,
                "t": found.t,
                "p": found.p,
                "thesis_difference": print_found.value,
                "thesis_t": print_found.t,
                "thesis_p": print_found.p,
            }


def _one_apart(first: Cell, second: Cell) -> bool:
    same = (first.divergence == second.divergence) + (first.estimator == second.estimator)
    return same == 1 or "relu" in (first.estimator, second.estimator)


def pair_name(first: Cell, second: Cell) -> str:
    """`prior, reverse KL, D - prior, reverse KL, r`."""
    return f"{first.name} - {second.name}"


def _test_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        row["pair"],
        number(row["difference"], "+.4f"),
        number(row["p"], ".2g"),
        number(row["thesis_difference"], "+.4f"),
        number(row["thesis_p"], ".2g"),
    )


def run_blocks(runs: Sequence[SprinklerRun]) -> Iterator[Block]:
    """Every run with the scores that need no kernel density beside the thesis's."""
    rows = sorted(map(run_row, runs), key=lambda row: row["configuration"])
    yield Heading("Every run", 3)
    yield Paragraph(
        "Average KL: as the thesis computes it. KL: of q from the exact posterior, by nearest "
        "neighbours, nats. Sliced Wasserstein: distance to exact posterior draws, units of z. A "
        "repetition that went astray without failing moves a mean as far as it likes, and hardly "
        "the median."
    )
    printed_rows = tuple(
        (
            row["configuration"],
            str(row["numerics"]),
            str(row["observations"]),
            f"{row['repetitions'] - row['failed']} of {row['repetitions']}",
            plus_minus(row["average_kl"], row["average_kl_stderr"]),
            number(row["average_kl_median"], ".4f"),
            *(plus_minus(row[name], row[f"{name}_stderr"]) for name in SCORES[1:]),
            row["settings_differ"],
        )
        for row in rows
    )
    yield Table(RUN_COLUMNS, printed_rows)
    yield Data("density_ratio_runs", pd.DataFrame(rows))


SCORES = ("average_kl", "kl", "sliced_wasserstein")


def run_row(run: SprinklerRun) -> dict[str, Any]:
    """What a run came to, at full precision."""
    configuration = ", ".join(
        str(run.names[name]) for name in ("protocol", "contrast", "divergence", "estimator")
    )
    failed = len(run.repetitions) - len(run.finished)
    row = {
        "run": run.digest,
        "configuration": configuration,
        **{name: run.names[name] for name in ("numerics", "observations", "seed")},
        "repetitions": len(run.repetitions),
        "failed": failed,
        "stuck": run.stuck,
        "settings_differ": ", ".join(run.departures),
    }
    for name in (*SCORES, "seconds"):
        own = run.sample(name)
        row |= {name: own.mean, f"{name}_std": own.std, f"{name}_stderr": own.stderr}
    return {**row, "average_kl_median": run.finished["average_kl"].median()}
