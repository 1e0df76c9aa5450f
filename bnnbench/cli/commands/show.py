"""`bnnbench show`: prints the results of a finished run, and opens its page."""

from __future__ import annotations

import errno
from argparse import ArgumentParser, Namespace
from pathlib import Path

from bnnbench.types import UserError

SUMMARY = "print the results of a finished run, and open its page"

DESCRIPTION = """\
Print the table and the notes of a finished run again, as `bnnbench run` did.

With --open, its page opens in the browser: interactive figures, every split, the settings, and the
software and hardware of the run. The page is page.html in the run's folder, written each time from
the other files of the run; nothing is trained.
"""

EXAMPLES = """\
examples:
  bnnbench show outputs/uci/diabetes/vadam
  bnnbench show outputs/uci/diabetes/vadam --open
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "folder", metavar="RUN", type=Path, help="the folder of a run, or one that contains it"
    )
    parser.add_argument("--open", action="store_true", help="open its page in the browser")


def run(arguments: Namespace) -> int:
    """Print the results of a run; with `--open`, also write and open its page.

    Raises:
        UserError: if there is no such run, it is damaged, or its page cannot be written.
    """
    from bnnbench.cli.console import open_in_browser, show_run
    from bnnbench.experiment.store.run_folder import find_run
    from bnnbench.results.read.run_files import read_verified

    folder = find_run(arguments.folder)
    read_verified(folder)
    if not arguments.open:
        show_run(folder)
        return 0
    from bnnbench.report.run_html import write_run_html

    try:
        page = write_run_html(folder)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        raise UserError(
            f"cannot write {error.filename}; copy the run to a writable folder.", "RUN", "read_only"
        ) from None
    show_run(folder)
    open_in_browser(page)
    return 0
