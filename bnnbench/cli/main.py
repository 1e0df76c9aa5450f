"""`bnnbench`: dispatches to its commands and turns every user error into one sentence.

Nothing heavy is imported before a command needs it, so `bnnbench --help` answers at once.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from bnnbench import __version__
from bnnbench.cli.endings import (
    Terminated,
    failure,
    note,
    print_no_more,
    speak_plainly,
    terminable,
)
from bnnbench.types import UserError

DESCRIPTION = """\
The experiment runner for Bayesian neural networks: one command runs a method on a data set
under the field's 20-split protocol, with hyper-parameter search, and writes tables and figures.

  bnnbench run                                   vadam on diabetes, nothing to download
  bnnbench run method=bbb dataset=boston         choose a method and a data set
  bnnbench run -m method=vadam,bbb dataset=boston,yacht
  bnnbench run --help                            every setting, with examples
  bnnbench list                                  what can be chosen
  bnnbench check method=mine                     does a method of your own keep the contract
  bnnbench report                                all finished runs in one table and chart
  bnnbench reproduce small                       published experiments, resumable
  bnnbench compare                               which method is better, and how surely
  bnnbench choose FILE --target COLUMN           which method suits your table
  bnnbench predict RUN FILE                      new rows by the method of a run
  eval "$(bnnbench completion)"                  words on Tab: a line for ~/.bashrc
"""


class Parser(argparse.ArgumentParser):
    """Reports a wrong word as every other mistake is reported; options may stand anywhere."""

    _mixing = False

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        """Takes positional words from both sides of options, where the command allows for it."""
        whole = any(a.nargs in (argparse.PARSER, argparse.REMAINDER) for a in self._actions)
        if self._mixing or whole:
            return super().parse_known_args(args, namespace)
        self._mixing = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._mixing = False

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message}; see `{self.prog} --help`.")


class Version(argparse.Action):
    """Prints the version and whether native code is in use, which may have to be built to know."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        """Ends the process."""
        from bnnbench.cpp.library import library

        print(f"bnnbench {__version__}\nnative code: {library().standing}")
        parser.exit()


def build_parser() -> argparse.ArgumentParser:
    """The parser of everything but `run`, whose arguments are Hydra's."""
    from bnnbench.cli import (
        check,
        choose,
        compare,
        completion,
        data,
        listing,
        predict,
        report,
        reproduce,
        show,
    )

    parser = Parser(
        prog="bnnbench",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version", action=Version, nargs=0, help="show it, and whether native code is in use"
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    commands.add_parser("run", help="run a method on a data set", add_help=False)
    reproduce.add_parser(commands)
    listing.add_parser(commands)
    check.add_parser(commands)
    data.add_parser(commands)
    report.add_parser(commands)
    show.add_parser(commands)
    compare.add_parser(commands)
    choose.add_parser(commands)
    predict.add_parser(commands)
    completion.add_parser(commands)
    return parser


def dispatch(arguments: Sequence[str]) -> int:
    """Runs one command and returns its exit code."""
    _check_here()
    if "_ARGCOMPLETE" in os.environ:  # the shell asks, about its own line
        from bnnbench.cli.completion import complete

        complete(build_parser())
    if "--version" in arguments:
        arguments = ["--version"]
    words = _of_run(arguments)
    if words is not None:
        from bnnbench.cli.run import run_command

        return run_command(words)
    if arguments and "=" in arguments[0] and arguments[0][0] != "-":
        raise UserError(f"{arguments[0]} is a setting: write `bnnbench run {arguments[0]}`.")
    parser = build_parser()
    parsed, unknown = parser.parse_known_args(arguments)
    if unknown:
        raise UserError(_unknown(arguments, unknown))
    if not hasattr(parsed, "run"):
        parser.print_help()
        return 0
    return parsed.run(parsed)


def _unknown(arguments: Sequence[str], unknown: Sequence[str]) -> str:
    """Names the word that is wrong: beside an option that is none settings are not understood."""
    wrong = next((word for word in unknown if word.startswith("-")), unknown[0])
    command = f"bnnbench {arguments[0]}" if arguments[0][0] != "-" else "bnnbench"
    return f"unrecognized argument: {wrong}; see `{command} --help`."


def _of_run(arguments: Sequence[str]) -> list[str] | None:
    """What follows `run`, and what options precede it; None if the command is another."""
    if {"-sc", "--shell-completion"} & {*arguments} and "run" not in arguments:
        return list(arguments)
    first = arguments[0] if arguments else ""
    of_all = first in ("-h", "--help")
    if "run" not in arguments or of_all or not (first == "run" or first.startswith("-")):
        return None
    place = list(arguments).index("run")
    return [*arguments[:place], *arguments[place + 1 :]]


def _check_here() -> None:
    try:
        os.getcwd()
    except FileNotFoundError:
        raise UserError("this folder was deleted; change to another one.") from None


def _interruptible(arguments: Sequence[str]) -> int:
    """`dispatch`, where a compiled module that was being imported hides what interrupted it."""
    try:
        return dispatch(arguments)
    except ImportError as error:
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise error.__cause__ from None
        raise


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point.

    Returns:
        0 done; 1 a check failed, or the machine did; 2 bad input; 130 interrupted;
        143 terminated, 129 by a terminal that was closed.
    """
    speak_plainly()
    try:
        with terminable():
            code = _interruptible(sys.argv[1:] if arguments is None else arguments)
            if sys.stdout:  # closed by who started us, it is None
                sys.stdout.flush()  # a full disk or a closed pipe may show here alone
            return code
    except UserError as error:
        return _ended(str(error), 2)
    except KeyboardInterrupt:
        print(file=sys.stderr)
        text = "interrupted; the same command goes on from the last finished evaluation."
        return _ended(text, 130)
    except Terminated as signal:
        text = "terminated; the same command goes on from the last finished evaluation."
        return _ended(text, 128 + signal.number)
    except BrokenPipeError:
        print_no_more()
        return 0
    except (OSError, MemoryError, RuntimeError) as error:
        ending = failure(error)
        if ending is None:
            raise
        return _ended(*ending)


def _ended(text: str, code: int) -> int:
    """Says why, and returns the exit code."""
    note(text)
    return code
