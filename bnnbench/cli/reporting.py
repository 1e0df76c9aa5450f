"""What commands that report share: options that select runs, metrics and names, and messages."""

from __future__ import annotations

import errno
from argparse import ArgumentParser, _ActionsContainer
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bnnbench.files import check_regular_files, real_path
from bnnbench.near_names import check_known_names
from bnnbench.notes import note
from bnnbench.types import UserError

if TYPE_CHECKING:
    from bnnbench.results.read.run_filter import RunFilter
    from bnnbench.results.read.run_tables import Runs


def split_names(text: str) -> tuple[str, ...]:
    """Return the distinct names of a comma-separated list."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


NAMES: dict[str, Any] = {
    "metavar": "A,B", "type": split_names, "default": (), "help": "only these, in this order",
}  # fmt: skip
"""Arguments of an option that selects by names, shared by several commands."""

METRICS = NAMES | {"help": "only these, in this order; see `bnnbench list metric`"}
"""Arguments of `--metric`."""

REFERENCE_OPTION: dict[str, Any] = {
    "metavar": "reference[:TRACK][@FOLDER]",
    "help": "compare with reference results: of the track of each run, or of a named one; those of "
    "bnnbench, or those in a folder",
}
"""Arguments of `--with`."""


def add_run_selection(parser: _ActionsContainer) -> None:
    """Add the options that select runs by their settings."""
    parser.add_argument(
        "--where",
        metavar="SETTING=VALUE",
        action="append",
        default=[],
        help="only runs with this value of a setting, such as search.iterations=30 or search=none; "
        "may be repeated",
    )
    parser.add_argument(
        "--trials",
        action="store_true",
        help="include runs under protocol=trial, which are not results",
    )


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options to a parser."""
    selection = parser.add_argument_group("selection")
    selection.add_argument("--methods", **NAMES)
    selection.add_argument("--datasets", **NAMES)
    selection.add_argument("--metric", **METRICS)
    add_run_selection(selection)
    selection.add_argument(
        "--published-values",
        metavar="FILE",
        type=Path,
        help="a CSV file of published values to compare with, in addition to ours: columns "
        "method,dataset,metric,mean and, if known, error,error_kind (stderr or std),n_splits,"
        "source,year",
    )
    paper = parser.add_argument_group("for a paper")
    paper.add_argument(
        "--style",
        choices=("page", "paper"),
        default="page",
        help="paper: instead of the report, write a compact LaTeX table that fits one or two "
        "columns, with the best values in bold by the correlated t-test, and figures of the same "
        "width (default: page)",
    )
    paper.add_argument(
        "--mine",
        metavar="NAME",
        default="",
        help="mark every mean that is significantly better (+) or worse (-) than the one of this "
        "method, by the correlated t-test with Holm's correction",
    )
    paper.add_argument(
        "--siunitx",
        action="store_true",
        help="align the numbers by columns `S` of the LaTeX package siunitx",
    )
    paper.add_argument(
        "--rename",
        metavar="KEY=TEXT",
        action="append",
        default=[],
        help="print a method, data set or metric under this name; may be repeated",
    )


def parse_renames(pairs: Iterable[str]) -> dict[str, str]:
    """Return the printed names by key.

    Raises:
        UserError: if one is not `KEY=TEXT`.
    """
    found = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not (key.strip() and equals and text.strip()):
            raise UserError(
                f'--rename: write KEY=TEXT, such as vadam="Vadam (ours)", not {pair!r}.',
                "--rename",
                "syntax",
            )
        found[key.strip()] = text.strip()
    return found


def check_renames(names: Iterable[str], runs: Runs) -> None:
    """Reject names of anything that the report does not contain.

    Raises:
        UserError: for the first one.
    """
    from bnnbench.results.metric_table import BY_KEY
    from bnnbench.results.read.labels import labels
    from bnnbench.results.read.run_filter import available_names

    known = [
        *available_names(runs, "method"),
        *labels(runs.scored),
        *available_names(runs, "dataset"),
        *BY_KEY,
    ]
    check_known_names("--rename", tuple(names), dict.fromkeys(known))


def find_mine(name: str, runs: Runs) -> str:
    """Return the label of the run that `--mine` names by its method or label.

    Raises:
        UserError: if no run has this name, or runs with several labels do.
    """
    from bnnbench.results.read.labels import labels

    methods = dict(zip(labels(runs.scored), map(str, runs.scored["method"]), strict=True))
    check_known_names("--mine", (name,), dict.fromkeys([*methods.values(), *methods]))
    found = [name] if name in methods else [key for key, own in methods.items() if own == name]
    if len(found) > 1:
        raise UserError(
            f"--mine: {name!r} has several settings; choose one of {'; '.join(map(repr, found))}.",
            "--mine",
            "ambiguous",
        )
    return found[0]


def read_filtered_runs(
    path: Path,
    labels: Collection[str] | None,
    run_filter: RunFilter,
    published_values: Path | None,
    others: Sequence[Path] = (),
) -> Runs:
    """Read the selected runs of a folder and `others`, and the published values of the user.

    Raises:
        UserError: if there are none, or a name or the file is wrong.
    """
    from bnnbench.results.published.values import read_user_published
    from bnnbench.results.read.run_tables import read_runs
    from bnnbench.results.score.later_scores import select_runs_with_scores

    values = read_user_published(published_values) if published_values else None
    runs = read_runs(path, labels, others)
    runs = runs if values is None else replace(runs, user_published=values)
    return select_runs_with_scores(runs, run_filter)


def note_omitted_runs(runs: Runs) -> None:
    """Print notes about runs left out, and about the user's values on data sets without runs."""
    for message in runs.skipped:
        note(f"left out: {message}")
    for message in runs.notes:
        note(message)
    tables = [table for table in runs.tables.values() if "dataset" in table]
    datasets = {str(name) for table in tables for name in table["dataset"]}
    if unused := sorted({str(name) for name in runs.user_published["dataset"]} - datasets):
        note(f"--published-values: left out {', '.join(unused)}, since no run uses them.")


@contextmanager
def report_write_errors(path: Path, output_dir: Path | None) -> Iterator[None]:
    """Turn an error of writing the report into a user error, unless the disk is full.

    Args:
        path: of the runs.
        output_dir: where the report goes; `path/report` if not given.

    Raises:
        UserError: if the folder is that of a run, not writable, or leads elsewhere through a link
            although the user did not name it.
    """
    from bnnbench.experiment.store.run_folder import RunFolder
    from bnnbench.report.report_folder import ReportFolder

    if output_dir is not None and RunFolder(output_dir).done.exists():
        raise UserError(
            f"--output-dir: {output_dir} contains a run, whose files the report would overwrite; "
            "choose another folder.",
            "--output-dir",
            "run_folder",
        )
    if output_dir is None:  # received runs may come with a report of links
        folder = ReportFolder.below(path).root
        if folder.is_symlink():
            raise UserError(
                f"{folder} is a link; delete it, or name the folder that it leads to with "
                "--output-dir.",
                "--output-dir",
                "irregular_file",
            )
        check_regular_files(folder)
    try:
        yield
    except OSError as error:
        target = output_dir or ReportFolder.below(path).root
        with suppress(OSError):  # remove it if it is empty
            target.rmdir()
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO) or _is_elsewhere(error, target):
            raise
        raise UserError(
            f"cannot write the report to {output_dir or path} ({error.strerror}); choose a "
            "writable folder with --output-dir DIR.",
            "--output-dir",
        ) from None


def _is_elsewhere(error: OSError, folder: Path) -> bool:
    """Whether an error is about a file outside the folder, such as one of the runs."""
    file, folder = real_path(Path(error.filename or folder)), real_path(folder)
    return not (file.is_relative_to(folder) or folder.is_relative_to(file))
