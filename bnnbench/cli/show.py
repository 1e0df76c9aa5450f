"""`bnnbench show`: prints a finished run again, and opens its page."""

from __future__ import annotations

import webbrowser
from argparse import RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any

from bnnbench.cli.endings import note
from bnnbench.types import UserError

DESCRIPTION = """\
Print the table and the notes of a finished run again, as `bnnbench run` did.

With --open its page opens in the browser: figures with their numbers under the pointer, every
split, the settings and what it was computed with. The page is one file, page.html in the run's
folder, made anew each time from the run's own files; nothing is trained again.
"""

EXAMPLES = """\
examples:
  bnnbench show outputs/uci/diabetes/vadam
  bnnbench show outputs/uci/diabetes/vadam --open
"""


def add_parser(subparsers: Any) -> None:
    """Adds `show`, which sets `run`, a function of the parsed arguments."""
    parser = subparsers.add_parser(
        "show",
        help="print a finished run again, and open its page",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "folder", metavar="RUN", type=Path, help="the folder of a run, or one above it alone"
    )
    parser.add_argument("--open", action="store_true", help="open its page in the browser")
    parser.set_defaults(run=lambda given: show_command(given.folder, given.open))


def show_command(path: Path, opened: bool = False) -> int:
    """Prints the run; 0 is the exit code, with a browser or without.

    Args:
        path: a folder with one finished run.
        opened: whether to write its page and open it.

    Raises:
        UserError: if there is no such run, or its page cannot be written.
    """
    from bnnbench.cli.printing import show_run
    from bnnbench.cli.run_at import run_at

    folder = run_at(path)
    if not opened:
        show_run(folder)
        return 0
    from bnnbench.report.run_page import write_run_page

    try:
        page = write_run_page(folder)
    except PermissionError as refused:
        raise UserError(f"cannot write {refused.filename}; show a copy of the run.") from None
    show_run(folder)
    if not webbrowser.open(page.resolve().as_uri()):
        note(f"no browser was found; the page is {page}.")
    return 0
