"""Tables of the report: the thesis's six tables compared with our runs, tests, and all runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from string import ascii_lowercase
from typing import Any

import pandas as pd

from bnnbench.report.blocks import (
    MISSING,
    Block,
    Column,
    DataFile,
    Heading,
    ItemList,
    Paragraph,
    Table,
    format_number,
    format_z,
    label_columns,
    number_columns,
    plus_minus,
)
from bnnbench.results.labels import difference_mark
from bnnbench.results.published.values import z_score
from bnnbench.suites.lam_density_ratio.comparison.evidence import Evidence, SprinklerRun
from bnnbench.suites.lam_density_ratio.comparison.statistics import Sample, welch
from bnnbench.suites.lam_density_ratio.comparison.thesis import (
    EXACT_KL,
    TABLES,
    Cell,
    author_repetitions,
    printed_tables,
)
from bnnbench.suites.lam_density_ratio.names import ESTIMATORS, RELU_RATIO, SYMBOLS

STATEMENT = (
    "Final average KL in nats; lower is better. Ours: mean ± standard error over the repetitions "
    "that did not fail, and the standard deviation with divisor n, as in the thesis. z is the "
    "difference divided by the combined standard error (the thesis's from its standard deviation "
    "and 30 repetitions). It is shown only if no setting except the number of repetitions differs."
)

TEST_STATEMENT = (
    "Welch's test of pairs: the first mean minus the second and the two-sided p, for our "
    "repetitions and for the thesis (from its means, standard deviations and 30 repetitions)."
)

RUN_STATEMENT = (
    "Average KL: as computed in the thesis. KL: of q from the exact posterior, by nearest "
    f"neighbours, nats; exact draws score {EXACT_KL}. Sliced Wasserstein: distance to exact "
    "posterior draws, units of z. The median is robust to repetitions that diverge without failing."
)

SHARED_STATEMENT = (
    "Repetitions of the same number start from the same weights and see the same random numbers, "
    "so that between D, r and T they differ by rounding only. First and last distance: mean "
    "absolute difference of the average KL of such repetitions at the first evaluation, after the "
    "estimator's pre-training, and at the last. Independent distance: the same at the last "
    "evaluation for repetitions of different numbers and the same estimator. Difference: mean "
    "signed difference at the last evaluation."
)

AUTHOR = "github.com/Lammyy/IHateMaths, Sprinkler/part 2"

MAX_LABEL_LENGTH = 40
"""Maximum number of characters of a remark in a table's first column."""

SCORES = ("average_kl", "kl", "sliced_wasserstein")
"""Scores in the table of all runs."""

Row = Mapping[str, Any]
"""Numbers of one row at full precision, by name."""

Cells = Mapping[str, Callable[[Row], str]]
"""The text of a row's cells by title of the column."""


def as_number(name: str, form: str) -> Callable[[Row], str]:
    """Return a function that formats one number of a row."""
    return lambda row: format_number(row[name], form)


def with_error(name: str, error: str = "{}_stderr") -> Callable[[Row], str]:
    """Return a function that formats one number of a row with its standard error."""
    return lambda row: plus_minus(row[name], row[error.format(name)])


def as_text(name: str) -> Callable[[Row], str]:
    """Return a function that returns one text of a row."""
    return lambda row: str(row[name])


COMPARISON: Cells = {
    "Ours": with_error("mean", "stderr"),
    "Std": as_number("std", ".4f"),
    "Thesis": as_number("thesis_mean", ".4f"),
    "Thesis std": as_number("thesis_std", ".4f"),
    "Difference": as_number("difference", "+.4f"),
    "z": lambda row: format_z(row["z"]),
}

PAIR: Cells = {"Pair": as_text("pair")}

TESTS: Cells = {
    "Ours": as_number("difference", "+.4f"),
    "p": as_number("p", ".2g"),
    "Thesis": as_number("thesis_difference", "+.4f"),
    "Thesis p": as_number("thesis_p", ".2g"),
}

RUNS: Cells = {
    "Repetitions": lambda row: f"{row['repetitions'] - row['failed']} of {row['repetitions']}",
    "Average KL": with_error("average_kl"),
    "Median average KL": as_number("average_kl_median", ".4f"),
    "KL": with_error("kl"),
    "Sliced Wasserstein": with_error("sliced_wasserstein"),
}

SHARED: Cells = {
    "Repetitions": lambda row: str(row["repetitions"]),
    "First distance": as_number("first_distance", ".4f"),
    "Last distance": as_number("last_distance", ".4f"),
    "Independent distance": as_number("independent_distance", ".4f"),
    "Difference": with_error("difference"),
}


def blocks_of(
    name: str, rows: Sequence[Row], labels: Cells, numbers: Cells, texts: Cells | None = None
) -> Iterator[Block]:
    """Yield a table and, at full precision, the file `name` with its rows."""
    texts = texts or {}
    cells = [*labels.values(), *numbers.values(), *texts.values()]
    last = (Column(title, "text") for title in texts)
    columns = (*label_columns(*labels), *number_columns(*numbers), *last)
    yield Table(columns, tuple(tuple(cell(row) for cell in cells) for row in rows))
    yield DataFile(name, pd.DataFrame(rows))


def table_blocks(evidence: Evidence) -> Iterator[Block]:
    """Yield every table with at least one run, each with its tests."""
    for number, title in TABLES.items():
        if not evidence.tables.get(number):
            continue
        yield Heading(f"Table {number}: {title}", 3)
        suffix = number.replace(".", "_")
        yield from comparison_blocks(evidence, number, f"density_ratio_table_{suffix}")
        if tests := list(test_rows(evidence, number)):
            name = f"density_ratio_tests_{suffix}"
            yield from blocks_of(name, tests, PAIR, TESTS)
        yield from author_blocks(evidence, number)


def comparison_blocks(evidence: Evidence, number: str, name: str) -> Iterator[Block]:
    """Yield one table, with footnotes for long lists of deviating settings."""
    rows = list(comparison_rows(evidence, number))
    differing = (row["settings_differ"] for row in rows)
    footnotes = dict.fromkeys(words for words in differing if len(words) > MAX_LABEL_LENGTH)
    letters: dict[str, str] = dict(zip(footnotes, ascii_lowercase, strict=False))

    def configuration(row: Row) -> str:
        words = str(row["settings_differ"])
        return str(row["configuration"]) + difference_mark(letters.get(words, words))

    def repetitions(row: Row) -> str:
        total, failed = row["repetitions"], row["failed"]
        return (f"{total - failed} of {total}" if failed else str(total)) if total else MISSING

    numbers = {"Repetitions": repetitions, **COMPARISON}
    table, file = blocks_of(name, rows, {"Configuration": configuration}, numbers)
    yield table
    if letters:
        yield ItemList(tuple(f"{letter}: {words}" for words, letter in letters.items()))
    yield file


def comparison_rows(evidence: Evidence, number: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of one table, with the thesis's and our values at full precision."""
    ours = evidence.tables.get(number, {})
    for cell, theirs in printed_tables()[number].items():
        sample, run = ours.get(cell, Sample()), evidence.runs.get(cell)
        z = math.nan
        if run and not run.deviating_settings:
            z = z_score(sample.mean, sample.stderr, theirs.mean, theirs.stderr)
        yield {
            "configuration": cell.name,
            "settings_differ": ", ".join(run.deviations) if run else "",
            "repetitions": len(run.repetitions) if run else 0,
            "failed": run.failed if run else 0,
            **sample_columns(sample, "{}"),
            **sample_columns(theirs, "thesis_{}"),
            "difference": sample.mean - theirs.mean,
            "z": z,
        }


def sample_columns(sample: Sample, name: str) -> dict[str, float]:
    """Return mean, standard deviation and standard error by column, such as `thesis_mean`."""
    return {name.format(key): getattr(sample, key) for key in ("mean", "std", "stderr")}


def test_rows(evidence: Evidence, number: str) -> Iterator[dict[str, Any]]:
    """Yield Welch's tests of the comparable pairs of a table, for our runs and for the thesis.

    Comparable pairs differ only in their estimator or only in their divergence. In Table 5.1, ReLU
    ratio and class probability, which differ in both, are compared too.
    """
    ours, theirs = evidence.tables.get(number, {}), printed_tables()[number]
    for first, second in combinations(theirs, 2):
        if first.contrast == second.contrast and _comparable(first, second):
            our_test = welch(ours.get(first, Sample()), ours.get(second, Sample()))
            thesis_test = welch(theirs[first], theirs[second])
            yield {
                "pair": f"{first.name} - {second.name}",
                **asdict(our_test),
                **{f"thesis_{name}": value for name, value in asdict(thesis_test).items()},
            }


def _comparable(first: Cell, second: Cell) -> bool:
    same = (first.divergence == second.divergence) + (first.estimator == second.estimator)
    return same == 1 or RELU_RATIO in (first.estimator, second.estimator)


def author_blocks(evidence: Evidence, number: str) -> Iterator[Block]:
    """Yield a sentence on each configuration of a table of which the author published runs."""
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
    """Yield a table of every run, with scores that need no kernel density too."""
    rows = sorted(map(run_row, runs), key=lambda row: row["configuration"])
    labels = {
        name.capitalize(): as_text(name) for name in ("configuration", "numerics", "observations")
    }
    differences = {"Differs from the thesis in": as_text("settings_differ")}
    yield Heading("Every run", 3)
    yield Paragraph(RUN_STATEMENT)
    yield from blocks_of("density_ratio_runs", rows, labels, RUNS, differences)


def run_row(run: SprinklerRun) -> dict[str, Any]:
    """Return the scores of a run at full precision."""
    row = {
        "run": run.digest,
        "configuration": f"{run.metadata['schedule']}, {run.name}",
        **{name: run.metadata[name] for name in ("numerics", "observations", "seed")},
        "repetitions": len(run.repetitions),
        "failed": run.failed,
        "stuck": run.stuck,
        "settings_differ": ", ".join(run.deviations),
    }
    for name in (*SCORES, "seconds"):
        sample = run.sample(name)
        row |= {name: sample.mean, f"{name}_std": sample.std, f"{name}_stderr": sample.stderr}
    return {**row, "average_kl_median": run.finished["average_kl"].median()}


def shared_blocks(evidence: Evidence) -> Iterator[Block]:
    """Yield a table of estimators with the same initial weights and random numbers, if any.

    Repetitions of the same number start from the same weights and see the same random numbers in
    every configuration. Estimators of one divergence are one algorithm, so such repetitions differ
    only by single-precision rounding, which training amplifies.
    """
    if rows := list(shared_rows(evidence)):
        yield Heading("Effect of rounding", 3)
        yield Paragraph(SHARED_STATEMENT)
        yield from blocks_of("density_ratio_shared_starts", rows, PAIR, SHARED)


def shared_rows(evidence: Evidence) -> Iterator[dict[str, Any]]:
    """Yield a row per pair of runs that differ only in their estimator, at full precision."""
    for (first, run), (second, other) in combinations(sorted(evidence.runs.items()), 2):
        if not {first.estimator, second.estimator} <= {*ESTIMATORS}:
            continue
        if not run.differs_only_in("estimator", other):
            continue
        wide = [
            r.curves_of("average_kl", index="repetition", columns="iteration") for r in (run, other)
        ]
        shared = wide[0].index.intersection(wide[1].index)
        if len(shared) < 2:
            continue
        a, b = (table.loc[shared] for table in wide)
        distance = (a - b).abs().mean()
        last_a, last_b = a.iloc[:, -1], b.iloc[:, -1]
        last = run.differences(other)
        yield {
            "pair": f"{first.setting}, {first.name} - {SYMBOLS[second.estimator]}",
            "repetitions": len(shared),
            "first_distance": distance.iloc[0],
            "last_distance": distance.iloc[-1],
            "independent_distance": (_mean_distance(last_a) + _mean_distance(last_b)) / 2,
            "difference": last.mean,
            "difference_stderr": last.stderr,
        }


def _mean_distance(values: Iterable[float]) -> float:
    """Return the mean absolute difference of all pairs."""
    pairs = list(combinations(values, 2))
    return sum(abs(a - b) for a, b in pairs) / len(pairs)
