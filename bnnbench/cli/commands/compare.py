"""`bnnbench compare`: which of two methods is better, and with what probability."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bnnbench.cli import report_options
from bnnbench.cli.report_errors import note_omitted_runs
from bnnbench.cli.report_options import METRICS, NAMES, REFERENCE_OPTION
from bnnbench.constraints import check_between
from bnnbench.notes import note
from bnnbench.types import UserError

if TYPE_CHECKING:
    from bnnbench.report.blocks import Block
    from bnnbench.results.metrics import Metric
    from bnnbench.results.run_filter import RunFilter
    from bnnbench.results.run_tables import Runs

SUMMARY = "compare methods by a Bayesian test"

DESCRIPTION = """\
Compare finished runs by the Bayesian correlated t-test on the splits that they share.

For every pair of runs, on every data set and metric, it prints the probability that the first is
better, that both are practically equivalent, and that the second is better; the smallest difference
that the splits can detect; and how many splits would detect the observed one. Training sets of
different splits overlap; the test corrects its variance for this, by the fraction of test rows,
which a plain standard error does not. Two runs share a split if they train and test on the same
rows, whatever its number. At least three common splits are needed.

With --with reference, every run is compared with the reference results of its track (runs under the
same protocol): p-values are corrected for the number of methods (Holm), and data sets are combined
by wins, ties, losses and mean ranks, from six data sets on also by the Bayesian signed-rank test.
Runs of other protocols are only subtracted.
"""

EXAMPLES = """\
examples:
  bnnbench compare                                   all pairs of runs below outputs
  bnnbench compare outputs/uci/boston                all pairs on one data set
  bnnbench compare RUN_A RUN_B                       two runs, or two folders of runs
  bnnbench compare --rope 0.02                       ignore differences below 2 % (0.02 nats)
  bnnbench compare --published                       our results and published ones, with z-scores
  bnnbench compare outputs/uci --with reference      each run and all reference methods of its track
  bnnbench compare outputs/uci --with reference:book@mine --methods vadam,pbp --metric rmse
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
    parser.add_argument("--with", dest="reference", default="", **REFERENCE_OPTION)
    text = "only these, in this order; with --with reference, only these reference methods"
    parser.add_argument("--methods", **NAMES | {"help": text})
    parser.add_argument("--metric", **METRICS)
    report_options.add_run_selection(parser)


def run(given: Namespace) -> int:
    """Print the comparison.

    Raises:
        UserError: if there is nothing to compare, or an option is wrong.
    """
    check_between("--rope", given.rope, 0, low_included=True)
    if given.published and given.reference:
        raise UserError("use either --published or --with reference.", "--with")
    if len(given.paths) > (1 if given.published or given.reference else 2):
        raise UserError(
            "compare takes one or two folders; with --published or --with, only one.", "PATH"
        )
    # Slow to import (pandas), and not needed for `bnnbench --help`.
    from bnnbench.cli.console import stdout
    from bnnbench.report.renderers.terminal import render
    from bnnbench.results.configurations import without_duplicates
    from bnnbench.results.readable_runs import use_readable
    from bnnbench.results.run_filter import RunFilter, filter_runs
    from bnnbench.results.run_tables import read_runs, require_scores

    # Those of --methods are the reference methods, with --with reference.
    methods = () if given.reference else given.methods
    where = report_options.parse_where(given.where)
    run_filter = RunFilter(methods, (), given.metric, where, given.trials)
    folders = [read_runs(path) for path in given.paths or [Path("outputs")]]
    for runs in folders:
        require_scores(runs)
    selected = [use_readable(runs, lambda r: filter_runs(r, run_filter))[1] for runs in folders]
    if not given.published:
        selected = [*map(without_duplicates, selected)]
    for runs in selected:
        note_omitted_runs(runs)
        require_scores(runs)
    console = stdout()
    for renderable in render(_blocks(selected, given, run_filter)):
        console.print(renderable, highlight=False)
    return 0


def _blocks(folders: Sequence[Runs], given: Namespace, run_filter: RunFilter) -> Iterable[Block]:
    """Return the blocks of the comparison that the options ask for."""
    from bnnbench.report.pair_comparison import pair_blocks
    from bnnbench.results.metrics import printed_in

    if given.reference:
        metrics = run_filter.metrics_or(printed_in("figures"))
        return _reference_blocks(folders[0], given.reference, metrics, given.rope, given.methods)
    if given.published:
        return _published_blocks(folders[0], given.rope)
    return pair_blocks(folders, run_filter.metrics_or(printed_in("pairs")), given.rope)


def _reference_blocks(
    runs: Runs,
    with_reference: str,
    metrics: Sequence[Metric],
    rope: float,
    methods: tuple[str, ...],
) -> Iterator[Block]:
    """Yield the comparison of every run with the reference results of its track."""
    from bnnbench.report.reference_tables import reference_blocks
    from bnnbench.results.reference.comparison import compare_with_reference

    comparisons = compare_with_reference(runs, with_reference, metrics, rope, methods)
    for message in comparisons.left_out:
        note(message)
    for comparison in comparisons.tracks:
        yield from reference_blocks(comparison, metrics)


def _published_blocks(runs: Runs, rope: float) -> list[Block]:
    """Return our means next to published ones, and comparisons on the same splits by metric."""
    from bnnbench.report.pair_tables import pair_tables
    from bnnbench.report.sections.results import comparison_tables
    from bnnbench.results.metrics import BY_KEY
    from bnnbench.results.published.comparison import pairs_with_published, with_published

    tables: list[Block] = [*comparison_tables(with_published(runs)).values()]
    for metric, own in pairs_with_published(runs, rope).groupby("metric", sort=False):
        title = f"{BY_KEY[metric].inline_title}, published scores of the same splits"
        tables += pair_tables(own, f"{title} (ROPE {rope:g})")
    if not tables:
        raise UserError(
            f"no published result is comparable with the runs below {runs.path}.", "--published"
        )
    return tables
