"""`bnnbench compare`: which of two methods is better, and by how sure a margin."""

from __future__ import annotations

from argparse import RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bnnbench.checks import check_between
from bnnbench.cli.reporting import say_left_out
from bnnbench.types import UserError

if TYPE_CHECKING:
    import pandas as pd

    from bnnbench.results.reader import Runs

DESCRIPTION = """\
Compare finished runs by the Bayesian correlated t-test on the splits that they share.

For every pair on every data set and metric: the probability that the first is better, that both
are practically equivalent, and that the second is better. The splits share training points; the
test widens its variance for that, by the share of the rows that is tested on, which a plain
standard error does not. Two runs share a split where they test the same rows of the same data,
whatever its number. It takes three of them: of two nothing can be said.
"""

EXAMPLES = """\
examples:
  bnnbench compare                                   every pair of runs below outputs
  bnnbench compare outputs/uci/boston                every pair on one data set
  bnnbench compare RUN_A RUN_B                       two runs, or two folders of runs
  bnnbench compare --rope 0.02                       differences below 2 % (0.02 nats) do not count
  bnnbench compare --published                       ours beside published results, as z-scores
"""


def add_parser(subparsers: Any) -> None:
    """Adds `compare`, which sets `run`, a function of the parsed arguments."""
    parser = subparsers.add_parser(
        "compare",
        help="say which method is better, and how surely",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=RawDescriptionHelpFormatter,
    )
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
        "--published", action="store_true", help="compare with published results instead"
    )
    parser.set_defaults(run=lambda given: compare_command(given.paths, given.rope, given.published))


def compare_command(paths: Sequence[Path], rope: float = 0.01, published: bool = False) -> int:
    """Prints the comparison.

    Raises:
        UserError: if there is nothing to compare, or an option is wrong.
    """
    check_between("--rope", rope, 0, low_included=True)
    if len(paths) > 2 or (published and len(paths) > 1):
        raise UserError("compare takes one or two folders, and one with --published.")
    # Slow to import (pandas), and `bnnbench --help` needs none of it.
    from bnnbench.cli.console import stdout
    from bnnbench.results.pairing import LEAST_SPLITS
    from bnnbench.results.reader import read_runs, require_scores
    from bnnbench.results.significance import tally

    folders = [read_runs(path) for path in paths or [Path("outputs")]]
    for runs in folders:
        say_left_out(runs)
        require_scores(runs)
    console = stdout()
    if published:
        console.print(_published_table(folders[0]))
        return 0
    pairs = _pairs(folders, rope)
    if pairs.empty:
        raise UserError(
            f"no two of these finished runs share {LEAST_SPLITS} splits of a data set, that is "
            "test the same rows, and of fewer nothing can be said; run more splits (splits=all), "
            "or the same ones."
        )
    for metric, group in pairs.groupby("metric", sort=False):
        console.print(_table(f"{metric} (ROPE {rope:g})", group))
    console.print(_plain("wins, ties, losses", tally(pairs)))
    for note in _notes(folders):
        console.print(note, highlight=False)
    return 0


def _notes(folders: Sequence[Runs]) -> list[str]:
    """What must be known of the runs: whose settings differ, and of which nothing can be said."""
    from bnnbench.results.pairing import LEAST_SPLITS, meetings, unpaired

    table = _named(folders)
    whose = (table["label"].str.removesuffix(" *") + " on " + table["dataset"]).tolist()
    marks = table["mark"].tolist()
    few = (table["splits"] - table["diverged"] < LEAST_SPLITS).tolist()
    return [
        *(
            f"* {name}: settings differ: {words}"
            for name, words in zip(whose, marks, strict=True)
            if words
        ),
        *(
            f"{name}: nothing can be said of fewer than {LEAST_SPLITS} splits"
            for name, short in zip(whose, few, strict=True)
            if short
        ),
        *unpaired(meetings(*folders), table["label"]),
    ]


def _named(folders: Sequence[Runs]) -> pd.DataFrame:
    """The runs of all folders with `label`, which has a star where settings differ."""
    import pandas as pd

    from bnnbench.results.labels import labels

    every = pd.concat([runs.scored for runs in folders])
    table = every[~every.index.duplicated()]
    stars = table["mark"].map(lambda words: " *" if words else "")
    return table.assign(label=labels(table) + stars)


def _pairs(folders: Sequence[Runs], rope: float) -> pd.DataFrame:
    """Every pair, with names that tell its runs apart."""
    from bnnbench.results.significance import all_pairs, named, pairs_between

    names = _named(folders)["label"]
    if len(folders) == 1:
        return named(all_pairs(folders[0], rope), names)
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


def _published_table(runs: Runs) -> Any:
    from bnnbench.report.sections.results import COMPARISON, comparison_tables
    from bnnbench.results.with_published import with_published

    tables = comparison_tables(with_published(runs))
    rows = [(dataset, *row) for dataset, table in tables.items() for row in table.rows]
    if not rows:
        raise UserError(f"nothing published is comparable with the runs below {runs.path}.")
    names = ["data set", *(column.title for column in COMPARISON)]
    return _grid("ours beside published results", names, rows)


def _plain(title: str, frame: pd.DataFrame) -> Any:
    return _grid(title, list(frame.columns), frame.astype(str).itertuples(index=False))


def _grid(title: str, names: Sequence[str], rows: Any) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(*names, title=title, title_justify="left", box=SIMPLE_HEAD)
    for row in rows:
        table.add_row(*row)
    return table
