"""`bnnbench`: dispatches to its commands and prints user errors as one line.

Slow imports are deferred until a command needs them, so that `bnnbench --help` is fast.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from bnnbench import __version__
from bnnbench.cli.exit_codes import (
    Parser,
    Terminated,
    check_address_space,
    configure_output,
    describe_failure,
    ignore_closed_pipe,
    raise_on_signals,
)
from bnnbench.notes import note
from bnnbench.types import UserError

DESCRIPTION = """\
Reproducible benchmarks for Bayesian neural networks. One command runs a method on a data set under
the standard 20-split protocol, with hyper-parameter search, and writes tables and figures.
"""

EXAMPLES = """\
examples:
  bnnbench run                               vadam on boston
  bnnbench run -m method=vadam,bbb dataset=boston,yacht
                                             every method on every data set
  bnnbench report                            tables and figures of all runs
  bnnbench compare --mine bbb                compare with many other methods
  bnnbench list                              names of all methods and data sets
  bnnbench recommend FILE --target COLUMN    find a method for your table
  bnnbench new method mine                   write a method of your own

`bnnbench COMMAND --help` explains a command. To complete words with Tab, add this line to
~/.bashrc:

  eval "$(register-python-argcomplete bnnbench)"
"""


COMMANDS = (
    *("run", "reproduce", "list", "check", "report", "show", "compare", "reference"),
    *("recommend", "predict", "new", "trust"),
)
"""Each is a module with `SUMMARY`, `add_arguments`, and mostly `DESCRIPTION` and `run`."""


class Version(argparse.Action):
    """Prints the version and whether native code is in use, building it first if necessary."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from bnnbench.cpp.library import library

        print(f"bnnbench {__version__}\nnative code: {library().status}")
        parser.exit()


def build_parser(names: Sequence[str] = COMMANDS) -> argparse.ArgumentParser:
    """Return the parser of some commands."""
    parser = Parser(prog="bnnbench", description=DESCRIPTION, epilog=EXAMPLES)
    parser.add_argument(
        "--version",
        action=Version,
        nargs=0,
        help="print the version and whether native code is in use",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name in names:
        module = import_module(f"bnnbench.cli.commands.{name}")
        # The help of `run` ends in what its configuration offers.
        command = commands.add_parser(name, help=module.SUMMARY, add_help=name != "run")
        command.description = getattr(module, "DESCRIPTION", None)
        command.epilog = getattr(module, "EXAMPLES", None)
        module.add_arguments(command)
        if hasattr(module, "run"):
            command.set_defaults(run=module.run)
    return parser


def dispatch(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    check_address_space()
    try:
        os.getcwd()
    except FileNotFoundError:
        raise UserError(
            "the current folder was deleted; change to another one.", code="deleted"
        ) from None
    if "_ARGCOMPLETE" in os.environ:  # called by the shell for completion
        from bnnbench.cli.completion import complete

        complete(build_parser())
    if "--version" in arguments:
        arguments = ["--version"]
    if arguments and "=" in arguments[0] and arguments[0][0] != "-":
        raise UserError(
            f"{arguments[0]} is a setting: write `bnnbench run {arguments[0]}`.", "COMMAND"
        )
    named = [name for name in COMMANDS if [name] == list(arguments[:1])]
    parser = build_parser(named or COMMANDS)
    parsed, unknown = parser.parse_known_args(arguments)
    if unknown:
        raise _unknown_argument(arguments, unknown)
    if not hasattr(parsed, "run"):
        parser.print_help()
        return 0
    return int(parsed.run(parsed))


def _unknown_argument(arguments: Sequence[str], unknown: Sequence[str]) -> UserError:
    """Return the error for the first unknown option, after which argparse rejects overrides too."""
    wrong = next((word for word in unknown if word.startswith("-")), unknown[0])
    command = f"bnnbench {arguments[0]}" if arguments[0][0] != "-" else "bnnbench"
    return UserError(f"unrecognized argument: {wrong}; see `{command} --help`.", wrong)


def _dispatch(arguments: Sequence[str]) -> int:
    """Call `dispatch`; a compiled module reports an interruption of its import as ImportError."""
    try:
        return dispatch(arguments)
    except ImportError as error:
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise error.__cause__ from None
        raise


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Returns:
        0 success; 1 a failed check or a machine failure; 2 a user error; 130 interrupted;
        143 terminated; 129 terminal closed.
    """
    configure_output()
    try:
        with raise_on_signals():
            code = _dispatch(sys.argv[1:] if arguments is None else arguments)
            sys.stdout.flush()  # raises if the disk is full or the pipe closed
            return code
    except UserError as error:
        return _exit_with(str(error), 2)
    except KeyboardInterrupt:
        print(file=sys.stderr)
        text = "interrupted; the same command resumes after the last finished evaluation."
        return _exit_with(text, 130)
    except Terminated as signal:
        text = "terminated; the same command resumes after the last finished evaluation."
        return _exit_with(text, 128 + signal.number)
    except BrokenPipeError:
        ignore_closed_pipe()
        return 0
    except Exception as error:
        failure = describe_failure(error)
        if failure is None:
            raise
        return _exit_with(*failure)


def _exit_with(text: str, code: int) -> int:
    note(text)
    return code
