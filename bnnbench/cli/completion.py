"""`bnnbench completion`, and the words that a shell offers when Tab is pressed.

argcomplete knows the commands and their options, Hydra the settings of `run`.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from bnnbench.cli.configs import ALL_GROUPS, options
from bnnbench.cli.listing import metrics, names
from bnnbench.discovery import suites

SHELLS = ("bash", "zsh", "fish")

HELP = """\
Print what makes a shell complete commands, options, settings and paths on Tab:

  eval "$(bnnbench completion)"                 bash; a line for ~/.bashrc
  eval "$(bnnbench completion zsh)"             zsh; a line for ~/.zshrc
  bnnbench completion fish | source             fish
"""


def add_parser(commands: Any) -> None:
    """Adds `bnnbench completion [SHELL]`."""
    parser = commands.add_parser(
        "completion",
        help="print what completes words on Tab",
        description=HELP,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", nargs="?", choices=SHELLS, default="bash", metavar="SHELL")
    parser.set_defaults(run=lambda given: completion_command(given.shell))


def completion_command(shell: str) -> int:
    """Prints the shell's code."""
    from argcomplete import shellcode

    print(shellcode(["bnnbench"], shell=shell))
    return 0


def complete(parser: ArgumentParser) -> None:
    """Answers the shell, and ends the process.

    Args:
        parser: of all commands.
    """
    from argcomplete import CompletionFinder
    from argcomplete.completers import DirectoriesCompleter
    from hydra._internal.utils import get_args_parser

    from bnnbench.cli.words import DRY, FORCE

    commands = _commands(parser)
    run = commands["run"]
    for action in get_args_parser()._actions:
        if action.option_strings:
            run._add_action(action)
    run.add_argument(FORCE, action="store_true")
    run.add_argument(DRY, action="store_true")
    run.add_argument("settings", nargs="*")
    _offer(run, "settings", settings)
    _offer(commands["reproduce"], "name", ("small", "all", *(suite.name for suite in suites())))
    _offer(commands["reproduce"], "overrides", settings)
    _offer(commands["list"], "words", lambda **_: names())
    _offer(commands["check"], "settings", settings)
    _offer(commands["check"], "config_dir", DirectoriesCompleter())
    _offer(commands["report"], "path", DirectoriesCompleter())
    _offer(commands["report"], "methods", several(options("method")))
    _offer(commands["report"], "datasets", several(options("dataset")))
    _offer(commands["report"], "metric", several(metrics()))
    _offer(commands["choose"], "methods", several(options("method")))
    _offer(commands["compare"], "paths", DirectoriesCompleter())
    for command in _commands(commands["data"]).values():
        _offer(command, "names", _data_sets)
    CompletionFinder()(parser, always_complete_options=False)


def several(names: Iterable[str]) -> Callable[..., list[str]]:
    """Offers names for the last place of a list between commas."""

    def offered(prefix: str, **_: Any) -> list[str]:
        chosen, comma, last = prefix.rpartition(",")
        return [f"{chosen}{comma}{name}" for name in names if name.startswith(last)]

    return offered


def settings(prefix: str, **_: Any) -> list[str]:
    """The settings of `run` that a word may become."""
    from argcomplete.completers import FilesCompleter
    from hydra.core.global_hydra import GlobalHydra
    from hydra.plugins.completion_plugin import DefaultCompletionPlugin

    from bnnbench.cli.compose import CONFIG_NAME, CONFIGURATION, initialised
    from bnnbench.cli.words import PATHS, config_dir_of, quote_words

    key, equals, value = prefix.partition("=")
    if equals and key in PATHS:
        return [f"{key}={file}" for file in FilesCompleter()(value)]
    if key in ALL_GROUPS and "," in value:  # of a sweep
        chosen, comma, last = value.rpartition(",")
        return [f"{key}={chosen}{comma}{name}" for name in options(key) if name.startswith(last)]
    before = os.environ.get("COMP_LINE", "")[: int(os.environ.get("COMP_POINT", "0")) or None]
    words = before.removesuffix(prefix).split()
    given = quote_words([word for word in words if "=" in word and word[0] != "-"], sweep=True)
    line = " ".join([*(["-m"] if {"-m", "--multirun"} & {*words} else []), *given, prefix])
    with initialised(config_dir_of(words)):
        plugin = DefaultCompletionPlugin(GlobalHydra.instance().config_loader())
        try:
            found = plugin._query(CONFIG_NAME, line or " ")
            # Options that are parts of others, and the classes that options name.
            return [word for word in found if "=_" not in word and "._" not in word]
        except CONFIGURATION:  # what was typed before is wrong, which the run will say
            return []


def _data_sets(**_: Any) -> Sequence[str]:
    from bnnbench.data.archive import FOLDERS

    return list(FOLDERS)


def _commands(parser: ArgumentParser) -> dict[str, ArgumentParser]:
    """The parsers of its commands."""
    assert parser._subparsers is not None
    (commands,) = (action.choices for action in parser._subparsers._group_actions)
    return dict(commands)  # type: ignore[arg-type]


def _offer(parser: ArgumentParser, dest: str, offered: Any) -> None:
    """Has argcomplete offer these words, or ask this function for them."""
    (action,) = (action for action in parser._actions if action.dest == dest)
    completer = offered if callable(offered) else lambda **_: offered
    action.completer = completer  # type: ignore[attr-defined]
