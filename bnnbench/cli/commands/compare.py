"""`bnnbench compare`: which of two methods is better, and with what probability."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bnnbench.cli.report_errors import note_omitted_runs
from bnnbench.constraints import check_between
from bnnbench.types import UserError

if TYPE_CHECKING:
    import pandas as pd

    from bnnbench.results.reader import Runs

SUMMARY = "compare methods by a Bayesian test"

DESCRIPTION = """\
Compare finished runs by the Bayesian correlated t-test on the splits that they share.

For every pair of runs, on every data set and metric, it prints the probability that the first is
better, that both are practically equivalent, and that the second is better. Training sets of
different splits overlap; the test corrects its variance for this, by the fraction of test rows,
which a plain standard error does not. Two runs share a split if they test the same rows of the same
data, whatever its number. At least three common splits are needed.
"""

EXAMPLES = """\
examples:
  bnnbench compare                                   all pairs of runs below outputs
  bnnbench compare outputs/uci/boston                all pairs on one data set
  bnnbench compare RUN_A RUN_B                       two runs, or two folders of runs
  bnnbench compare --rope 0.02                       ignore differences below 2 % (0.02 nats)
  bnnbench compare --published                       our results and published ones, with z-scores
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "paths", metavar="PATH", nargs="*", type=Path, help="one or two folders (default: outputs)"
    )
    parser.add_argument(
        "--rope",
        type=float,
        default=0.01,
        help="region of practical equivalence: a fraction of the mean for RMSE and CRPS, nats for "
        "the log-likelihood (default: 0.01)",
    )
    parser.add_argument(
        "--published",
        action="store_true",
        help="compare with published results instead: with means of the same method, and with any "
        "method whose scores of the same splits were published",
    )


def run(given: Namespace) -> int:
    """Print the comparison.

    Raises:
        UserError: if there is nothing to compare, or an option is wrong.
    """
    check_between("--rope", given.rope, 0, low_included=True)
    if len(given.paths) > (1 if given.published else 2):
        raise UserError("compare takes one or two folders; with --published, only one.", "PATH")
    # Slow to import (pandas), and not needed for `bnnbench --help`.
    from bnnbench.cli.console import stdout
    from bnnbench.config.published_protocol import use_published_protocols
    from bnnbench.results.reader import read_runs, require_scores
    from bnnbench.results.significance import tally

    use_published_protocols()
    folders = [read_runs(path) for path in given.paths or [Path("outputs")]]
    for runs in folders:
        note_omitted_runs(runs)
        require_scores(runs)
    console = stdout()
    if given.published:
        for table in _published_tables(folders[0], given.rope):
            console.print(table)
        return 0
    pairs = _pairs(folders, given.rope)
    if pairs.empty:
        raise _nothing_to_compare(folders)
    for metric, group in pairs.groupby("metric", sort=False):
        console.print(_table(f"{metric} (ROPE {given.rope:g})", group))
    console.print(_plain("wins, ties, losses", tally(pairs)))
    for note in _notes(folders):
        console.print(note, highlight=False)
    return 0


def _nothing_to_compare(folders: Sequence[Runs]) -> UserError:
    """Return the error that says why there is no pair of runs."""
    from bnnbench.results.pairing import MIN_COMMON_SPLITS

    table = _named(folders)
    if table["dataset"].is_unique:
        names = (table["label"].str.removesuffix(" *") + " on " + table["dataset"]).tolist()
        return UserError(
            f"there is only one run per data set ({', '.join(names)}); run another method on the "
            "same splits, or give a second folder.",
            "PATH",
            "one_run",
        )
    return UserError(
        f"no two of these runs have {MIN_COMMON_SPLITS} common splits (with the same test rows)"
        "; run more splits (splits=all), or the same ones.",
        "PATH",
        "few_common_splits",
    )


def _notes(folders: Sequence[Runs]) -> list[str]:
    """Return notes on runs with different settings, and on those that cannot be compared."""
    from bnnbench.results.pairing import MIN_COMMON_SPLITS, dataset_pairs, unpaired_messages

    table = _named(folders)
    names = (table["label"].str.removesuffix(" *") + " on " + table["dataset"]).tolist()
    marks = table["mark"].tolist()
    few = (table["splits"] - table["diverged"] < MIN_COMMON_SPLITS).tolist()
    return [
        *(
            f"* {name}: settings differ: {mark}"
            for name, mark in zip(names, marks, strict=True)
            if mark
        ),
        *(
            f"{name}: not compared, since it has fewer than {MIN_COMMON_SPLITS} splits"
            for name, short in zip(names, few, strict=True)
            if short
        ),
        *unpaired_messages(dataset_pairs(*folders), table["label"]),
    ]


def _named(folders: Sequence[Runs]) -> pd.DataFrame:
    """Return the runs of all folders with a column `label`, starred if settings differ."""
    import pandas as pd

    from bnnbench.results.labels import labels

    every = pd.concat([runs.scored for runs in folders])
    table = every[~every.index.duplicated()]
    stars = table["mark"].map(lambda mark: " *" if mark else "")
    return table.assign(label=labels(table) + stars)


def _pairs(folders: Sequence[Runs], rope: float) -> pd.DataFrame:
    """Return all pairs, with distinct names of their runs."""
    from bnnbench.results.significance import add_names, all_pairs, pairs_between

    names = _named(folders)["label"]
    if len(folders) == 1:
        return add_names(all_pairs(folders[0], rope), names)
    first, second = folders
    pairs = pairs_between(first, second, rope)
    a, b = pairs["run_a"].map(names), pairs["run_b"].map(names)
    return pairs.assign(a=a.where(a != b, a + " (1st)"), b=b.where(a != b, b + " (2nd)"))


def _table(title: str, pairs: pd.DataFrame) -> Any:
    from bnnbench.results.significance import verdicts

    found = verdicts(pairs)
    won = pairs["a"].where(found == "a", pairs["b"].where(found == "b"))
    shown = pairs.assign(verdict=won.fillna(found))
    for column in ("p_better", "p_equivalent", "p_worse"):
        shown[column] = shown[column].map("{:.3f}".format)
    shown["difference"] = shown["difference"].map("{:+.3g}".format)
    pairs_of_counts = zip(shown["splits"], shown["of_splits"], strict=True)
    shown["splits"] = [f"{splits} of {most}" for splits, most in pairs_of_counts]
    names = {
        "dataset": "data set", "a": "a", "b": "b", "splits": "shared", "difference": "a - b",
        "p_better": "P(a better)", "p_equivalent": "P(equivalent)", "p_worse": "P(b better)",
        "verdict": "verdict",
    }  # fmt: skip
    return _plain(title, shown[list(names)].rename(columns=names))


def _published_tables(runs: Runs, rope: float) -> list[Any]:
    """Return the comparison of means, and the comparisons split by split by metric."""
    from bnnbench.report.sections.results import COMPARISON_COLUMNS, comparison_tables
    from bnnbench.results.published.comparison import with_published
    from bnnbench.results.published.splits import pairs_with_published

    tables = comparison_tables(with_published(runs))
    rows = [(dataset, *row) for dataset, table in tables.items() for row in table.rows]
    pairs = pairs_with_published(runs, rope)
    if not rows and pairs.empty:
        raise UserError(
            f"no published result is comparable with the runs below {runs.path}.", "--published"
        )
    names = ["data set", *(column.title for column in COMPARISON_COLUMNS)]
    means = [_grid("our results and published ones", names, rows)] if rows else []
    return means + [
        _table(f"{metric}, published scores of the same splits (ROPE {rope:g})", group)
        for metric, group in pairs.groupby("metric", sort=False)
    ]


def _plain(title: str, frame: pd.DataFrame) -> Any:
    return _grid(title, list(frame.columns), frame.astype(str).itertuples(index=False))


def _grid(title: str, names: Sequence[str], rows: Any) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(*names, title=title, title_justify="left", box=SIMPLE_HEAD)
    for row in rows:
        table.add_row(*row)
    return table
