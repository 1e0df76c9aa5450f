"""`bnnbench compare`: which of two methods is better, and with what probability."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bnnbench.cli import reporting
from bnnbench.cli.reporting import METRICS, NAMES, REFERENCE_OPTION, note_omitted_runs
from bnnbench.constraints import check_between
from bnnbench.experiment.store.split_files import KIND
from bnnbench.near_names import check_known_names
from bnnbench.notes import note
from bnnbench.types import UserError

if TYPE_CHECKING:
    from bnnbench.report.blocks import Block
    from bnnbench.results.read.run_filter import RunFilter
    from bnnbench.results.read.run_tables import Runs

SUMMARY = "compare methods by a test of significance"

DESCRIPTION = """\
Compare finished runs by the correlated t-test on the splits that they share.

A run is significantly better or worse if the two-sided p-value is below 0.05 after Holm's
correction over all comparisons of one data set and metric. Other pairs are equivalent or undecided.
For every pair of runs, on every data set and metric, it prints the difference with its 95 %
interval, the smallest difference that the splits can detect, and how many splits would detect the
observed one. Because training sets of different splits overlap, the test inflates the variance by
the fraction of test rows; a plain standard error ignores the overlap. Two runs share a split if
they train and test on the same rows, whatever its number. At least three common splits are needed.

With --mine, the runs of one or several methods are compared with the reference results of their
track (runs under the same protocol), on one screen: which differences are significant, which are
undecided, and which data were used. --all adds a table per data set, outcomes over data sets, and
the power. On data sets without reference results, they are compared with the other runs below PATH.
"""

EXAMPLES = """\
examples:
  bnnbench compare                                   all pairs of runs below outputs
  bnnbench compare outputs/uci/boston                all pairs on one data set
  bnnbench compare RUN_A RUN_B                       two runs, or two folders of runs
  bnnbench compare --rope 0.02                       ignore differences below 2 % (0.02 nats)
  bnnbench compare --published                       our results and published ones, with z-scores
  bnnbench compare --mine mymethod                   my runs and all reference methods, one screen
  bnnbench compare --mine mymethod --all             the same with every difference and the power
  bnnbench compare --mine a,b --methods vadam,pbp --metric rmse --with reference:book@results
  bnnbench compare outputs/uci --with reference      every run and all reference methods
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        type=Path,
        help="one or two folders, with --mine or --with any number (default: outputs)",
    )
    parser.add_argument(
        "--mine",
        metavar="NAME[,NAME]",
        type=reporting.split_names,
        default=(),
        help="methods of mine, or folders of my runs, to compare with reference results",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="print every difference of a comparison with reference "
        "results, probabilities and the power",
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
    text = "only these, in this order; with reference results, only these reference methods"
    parser.add_argument("--methods", **NAMES | {"help": text})
    parser.add_argument("--metric", **METRICS)
    reporting.add_run_selection(parser)


def run(arguments: Namespace) -> int:
    """Print the comparison.

    Raises:
        UserError: if there is nothing to compare, or an option is wrong.
    """
    _check_options(arguments)
    # Slow to import (pandas), and not needed for `bnnbench --help`.
    from bnnbench.cli.console import stdout
    from bnnbench.report.renderers.terminal import render

    console = stdout()
    for renderable in render(_blocks(arguments)):
        console.print(renderable, highlight=False)
    return 0


def _check_options(arguments: Namespace) -> None:
    """Raise a `UserError` for options that do not go together."""
    check_between("--rope", arguments.rope, 0, low_included=True)
    with_reference = arguments.reference or arguments.mine
    if arguments.published and with_reference:
        message = "--published cannot be combined with --mine or --with; leave out one of them."
        raise UserError(message, "--published")
    if arguments.all and not with_reference:
        raise UserError("--all needs --mine or --with reference.", "--all")
    if (arguments.published and len(arguments.paths) > 1) or (
        not with_reference and len(arguments.paths) > 2
    ):
        raise UserError(
            "compare takes one or two folders; with --published one, with --mine or --with "
            "reference any number.",
            "PATH",
        )


def _blocks(arguments: Namespace) -> Iterable[Block]:
    """Return the blocks of the comparison that the options ask for."""
    from bnnbench.report.comparisons import pair_blocks, published_blocks
    from bnnbench.results.metric_table import printed_in
    from bnnbench.results.read.configurations import without_duplicates
    from bnnbench.results.read.run_filter import Condition, RunFilter
    from bnnbench.results.read.run_tables import with_distinct_data_sets

    where = tuple(map(Condition.parse, arguments.where))
    # Those of --methods are the reference methods, with --mine or --with reference.
    methods = () if arguments.mine or arguments.reference else arguments.methods
    run_filter = RunFilter(methods, (), arguments.metric, where, arguments.trials)
    paths = arguments.paths or [Path("outputs")]
    if arguments.mine or arguments.reference:
        return _reference_blocks(arguments, run_filter)
    folders = with_distinct_data_sets([_read([path], run_filter) for path in paths])
    if arguments.published:
        return published_blocks(folders[0], arguments.rope)
    selected = [*map(without_duplicates, folders)]
    return pair_blocks(selected, run_filter.metrics_or(printed_in("pairs")), arguments.rope)


def _read(paths: Sequence[Path], run_filter: RunFilter) -> Runs:
    """Return the selected runs with scores below some folders, and print what was left out."""
    from bnnbench.results.read.run_tables import read_runs, require_scores
    from bnnbench.results.score.later_scores import select_runs_with_scores

    runs = read_runs(paths[0], others=paths[1:])
    require_scores(runs)
    selected = select_runs_with_scores(runs, run_filter)
    note_omitted_runs(selected)
    require_scores(selected)
    return selected


def _reference_blocks(arguments: Namespace, run_filter: RunFilter) -> Iterator[Block]:
    """Yield the comparison of my runs with the reference results of their tracks."""
    from bnnbench.report.blocks import Paragraph
    from bnnbench.report.reference_summary import summary_blocks
    from bnnbench.report.sections.reference_results import choice_note, reference_blocks
    from bnnbench.results.metric_table import printed_in
    from bnnbench.results.reference.comparison import REFERENCE, compare_with_reference

    mine, others = _mine_and_others(arguments, run_filter)
    metrics = run_filter.metrics_or(printed_in("figures"))
    comparisons = compare_with_reference(
        mine, arguments.reference or REFERENCE, metrics, arguments.rope, arguments.methods, others
    )
    for message in comparisons.left_out:
        note(message)
    for comparison in comparisons.tracks:
        yield from summary_blocks(comparison, metrics)
        if arguments.all:
            yield from reference_blocks(comparison, metrics)
    names = [name for one in comparisons.tracks for name in one.pairs["a"].unique()]
    for text in choice_note(names):
        yield Paragraph(text)


def _mine_and_others(arguments: Namespace, run_filter: RunFilter) -> tuple[Runs, Runs | None]:
    """Return the runs of `--mine`, by default all, and the other ones."""
    import pandas as pd

    from bnnbench.experiment.store.run_folder import finished_runs
    from bnnbench.results.read.configurations import without_duplicates
    from bnnbench.results.read.run_filter import with_tables
    from bnnbench.results.read.run_tables import is_folder

    found = [Path(name) for name in arguments.mine if is_folder(Path(name))]
    folders = [folder for folder in found if any(finished_runs(folder))]
    names = [name for name in arguments.mine if Path(name) not in folders]
    paths = arguments.paths or ([] if folders and not names else [Path("outputs")])
    runs = _read([*paths, *folders], run_filter)
    if not arguments.mine:
        return without_duplicates(runs), None
    table = runs.scored
    check_known_names("--mine", names, dict.fromkeys(sorted(table["method"].unique())))
    roots = [folder.resolve() for folder in folders]
    inside = [
        any(runs.folders[str(run)].root.resolve().is_relative_to(root) for root in roots)
        for run in table.index
    ]
    is_mine = table["method"].isin(names) | pd.Series(inside, table.index, dtype=bool)
    mine = without_duplicates(with_tables(runs, {KIND: table[is_mine]}))
    if is_mine.all():
        return mine, None
    return mine, without_duplicates(with_tables(runs, {KIND: table[~is_mine]}))
