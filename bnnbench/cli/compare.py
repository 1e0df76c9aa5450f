"""`bnnbench compare`: which of two methods is better, and by how sure a margin."""

from __future__ import annotations

from argparse import RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bnnbench.checks import check_between
from bnnbench.types import UserError

if TYPE_CHECKING:
    import pandas as pd

DESCRIPTION = """\
Compare finished runs by the Bayesian correlated t-test on their common splits.

For every pair on every data set and metric: the probability that the first is better, that both
are practically equivalent, and that the second is better. The splits share training points; the
test widens its variance for that, which a plain standard error does not.
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
    from bnnbench.cli.console import stdout
    from bnnbench.results.significance import all_pairs, tally, two_paths

    console = stdout()
    first = paths[0] if paths else Path("outputs")
    if published:
        console.print(_published_table(first))
        return 0
    pairs = two_paths(first, paths[1], rope) if len(paths) == 2 else all_pairs(first, rope)
    if pairs.empty:
        raise UserError("no two of these finished runs share two splits of a data set.")
    for metric, group in pairs.groupby("metric", sort=False):
        console.print(_table(f"{metric} (ROPE {rope:g})", group))
    console.print(_plain("wins, ties, losses", tally(pairs)))
    return 0


def _table(title: str, pairs: pd.DataFrame) -> Any:
    from bnnbench.results.significance import verdict

    shown = pairs.assign(verdict=pairs.apply(verdict, axis=1))
    for column in ("p_better", "p_equivalent", "p_worse"):
        shown[column] = shown[column].map("{:.3f}".format)
    shown["difference"] = shown["difference"].map("{:+.3g}".format)
    names = {
        "dataset": "data set", "a": "a", "b": "b", "difference": "a - b",
        "p_better": "P(a better)", "p_equivalent": "P(equivalent)", "p_worse": "P(b better)",
        "verdict": "verdict",
    }  # fmt: skip
    return _plain(title, shown[list(names)].rename(columns=names))


def _published_table(path: Path) -> Any:
    from bnnbench.results.published import with_published
    from bnnbench.results.tables import COMPARISON, comparison_rows, gather

    results = with_published(gather(path))
    rows = [
        (str(dataset), *row)
        for dataset, more in zip(results["dataset"], comparison_rows(results), strict=True)
        for row in more
    ]
    if not rows:
        raise UserError(f"nothing published is comparable with the runs below {path}.")
    return _grid("ours beside published results", ["data set", *COMPARISON], rows)


def _plain(title: str, frame: pd.DataFrame) -> Any:
    return _grid(title, list(frame.columns), frame.astype(str).itertuples(index=False))


def _grid(title: str, names: Sequence[str], rows: Any) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(*names, title=title, title_justify="left", box=SIMPLE_HEAD)
    for row in rows:
        table.add_row(*row)
    return table
