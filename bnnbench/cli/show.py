"""`bnnbench show`: prints the results of a finished run, and opens its page."""

from __future__ import annotations

from argparse import RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any

from bnnbench.types import UserError

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


def add_parser(subparsers: Any) -> None:
    """Add the command `show`."""
    parser = subparsers.add_parser(
        "show",
        help="print the results of a finished run, and open its page",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "folder", metavar="RUN", type=Path, help="the folder of a run, or one that contains it"
    )
    parser.add_argument("--open", action="store_true", help="open its page in the browser")
    parser.set_defaults(run=lambda given: show_command(given.folder, given.open))


def show_command(path: Path, open_page: bool = False) -> int:
    """Print the results of a run and return 0.

    Args:
        path: a folder with one finished run.
        open_page: whether to write its page and open it.

    Raises:
        UserError: if there is no such run, or its page cannot be written.
    """
    from bnnbench.cli.console import open_in_browser
    from bnnbench.cli.result_table import show_run
    from bnnbench.experiment.run_folder import find_run

    folder = find_run(path)
    if not open_page:
        show_run(folder)
        return 0
    from bnnbench.report.run_html import write_run_html

    try:
        page = write_run_html(folder)
    except PermissionError as error:
        raise UserError(
            f"cannot write {error.filename}; copy the run to a writable folder.", "RUN", "read_only"
        ) from None
    show_run(folder)
    open_in_browser(page)
    return 0
