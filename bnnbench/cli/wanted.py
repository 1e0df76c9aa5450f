"""What `bnnbench report` is asked to show: of which runs, in which order, under which names."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bnnbench.types import UserError

if TYPE_CHECKING:
    from bnnbench.results.choice import Choice
    from bnnbench.results.reader import Runs


def add_arguments(parser: ArgumentParser) -> None:
    """Adds the options."""
    wanted = parser.add_argument_group("what is shown")
    wanted.add_argument(
        "--methods", metavar="A,B", type=listed, default=(), help="these only, in this order"
    )
    wanted.add_argument(
        "--datasets", metavar="A,B", type=listed, default=(), help="these only, in this order"
    )
    wanted.add_argument(
        "--metric",
        metavar="A,B",
        type=listed,
        default=(),
        help="these only, in this order; `bnnbench list metric` says what there is",
    )
    wanted.add_argument(
        "--beside",
        metavar="FILE",
        type=Path,
        help="published values of yours, as CSV: method,dataset,metric,mean and, if known, "
        "error,error_kind (stderr or std),n_splits,source,year; they stand beside the run of the "
        "same method, and in a table with all of them",
    )
    paper = parser.add_argument_group("for a paper")
    paper.add_argument(
        "--style",
        choices=("page", "paper"),
        default="page",
        help="paper: instead of the report a compact LaTeX table that fits a column or a page of "
        "two, the best in bold by the correlated t-test, and figures as wide (default: page)",
    )
    paper.add_argument(
        "--name",
        metavar="KEY=TEXT",
        action="append",
        default=[],
        help="how a method, a data set or a metric is printed in it; as often as wanted",
    )


def listed(text: str) -> tuple[str, ...]:
    """The names between commas, each once."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def choice_of(given: Namespace) -> Choice:
    """What was asked for.

    Raises:
        UserError: if a metric is unknown.
    """
    from bnnbench.results.choice import Choice

    return Choice(given.methods, given.datasets, given.metric)


def names_of(pairs: Iterable[str]) -> dict[str, str]:
    """The names given.

    Raises:
        UserError: if one is not `KEY=TEXT`.
    """
    found = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not (key.strip() and equals and text.strip()):
            raise UserError(f'--name: write KEY=TEXT, vadam="Vadam (ours)", not {pair!r}.')
        found[key.strip()] = text.strip()
    return found


def check_names(names: Iterable[str], runs: Runs) -> None:
    """Refuses names of what is not shown.

    Raises:
        UserError: naming one, and what there is.
    """
    from bnnbench.results.choice import check_known, names_in
    from bnnbench.results.labels import labels
    from bnnbench.results.metrics import BY_KEY

    known = [*names_in(runs, "method"), *labels(runs.scored), *names_in(runs, "dataset"), *BY_KEY]
    check_known("--name", tuple(names), dict.fromkeys(known))


def gathered(
    path: Path, labels: Collection[str] | None, choice: Choice, beside: Path | None
) -> Runs:
    """The runs wanted, with what stands beside them.

    Raises:
        UserError: if there is none, or a name or the file is wrong.
    """
    from bnnbench.results.choice import chosen
    from bnnbench.results.published_beside import read_beside
    from bnnbench.results.reader import read_runs

    brought = read_beside(beside) if beside else None
    runs = read_runs(path, labels)
    return chosen(runs if brought is None else replace(runs, beside=brought), choice)
