"""Completion on Tab: of commands and options by argcomplete, of settings by `config`."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

from bnnbench.cli.commands import run as run_command
from bnnbench.cli.commands.list import LISTABLE, metrics
from bnnbench.cli.exit_codes import Parser
from bnnbench.config.configs import GROUPS, options
from bnnbench.discovery import built_in_suites
from bnnbench.report.sections import ALL, DEFAULT_SECTIONS, FURTHER_SECTIONS
from bnnbench.system import read_variable, whole_number
from bnnbench.types import UserError


def complete(parser: ArgumentParser) -> None:
    """Print completions for the shell and end the process.

    No code of the user is imported. A project that is not trusted offers nothing.

    Args:
        parser: of all commands.
    """
    from argcomplete.completers import DirectoriesCompleter
    from argcomplete.finders import CompletionFinder

    suites = [suite.name for suite in built_in_suites()]
    try:
        named = {group: [*options(group)] for group in GROUPS}
    except UserError:  # in the project, which commands report
        sys.exit(1)
    commands = _commands(parser)
    _offer(commands["run"], "settings", settings)
    _offer(commands["reproduce"], "name", ("small", "all", *suites))
    _offer(commands["reproduce"], "overrides", settings)
    names = dict.fromkeys([*LISTABLE, *chain(*named.values()), *suites, *metrics()])
    _offer(commands["list"], "words", [*names])
    _offer(commands["check"], "settings", settings)
    _offer(commands["check"], "config_dir", DirectoriesCompleter())
    _offer(commands["report"], "path", DirectoriesCompleter())
    _offer(commands["report"], "methods", several(named["method"]))
    _offer(commands["report"], "datasets", several(named["dataset"]))
    _offer(commands["report"], "metric", several(metrics()))
    _offer(commands["report"], "sections", several((*DEFAULT_SECTIONS, *FURTHER_SECTIONS, ALL)))
    _offer(commands["report"], "output_dir", DirectoriesCompleter())
    _offer(commands["recommend"], "methods", several(named["method"]))
    _offer(commands["compare"], "paths", DirectoriesCompleter())
    CompletionFinder()(parser, always_complete_options=False)


def several(names: Iterable[str]) -> Callable[..., list[str]]:
    """Return a completer for the last name of a comma-separated list."""

    def completer(prefix: str, **_: Any) -> list[str]:
        chosen, comma, last = prefix.rpartition(",")
        return [f"{chosen}{comma}{name}" for name in names if name.startswith(last)]

    return completer


def settings(prefix: str, **_: Any) -> list[str]:
    """Return the settings of `run` that complete a word."""
    from argcomplete.completers import FilesCompleter

    from bnnbench.config.compose import matching_settings
    from bnnbench.config.overrides import PATH_KEYS, quote_overrides

    key, equals, value = prefix.partition("=")
    if equals and key in PATH_KEYS:
        return [f"{key}={file}" for file in FilesCompleter()(value)]
    if key in GROUPS and "," in value:  # of a sweep
        chosen, comma, last = value.rpartition(",")
        return [f"{key}={chosen}{comma}{name}" for name in options(key) if name.startswith(last)]
    before = os.environ.get("COMP_LINE", "")[: read_variable("COMP_POINT", whole_number, None)]
    words = before.removesuffix(prefix).split()
    given = quote_overrides([word for word in words if "=" in word and word[0] != "-"], sweep=True)
    line = " ".join([*(["-m"] if {"-m", "--multirun"} & {*words} else []), *given, prefix])
    return matching_settings(line, _config_dir(words))


def _config_dir(words: Sequence[str]) -> str | None:
    """Return the existing folder that `--config-dir` names, if any; `words` may be incomplete."""
    parser = Parser(add_help=False)
    run_command.add_arguments(parser)
    try:
        given = parser.parse_known_args(list(words))[0].config_dir
    except UserError:  # the value is missing
        return None
    return given if given is not None and os.path.isdir(given) else None


def _commands(parser: ArgumentParser) -> dict[str, ArgumentParser]:
    assert parser._subparsers is not None
    (commands,) = (action.choices for action in parser._subparsers._group_actions)
    return dict(commands)  # type: ignore[arg-type]


def _offer(parser: ArgumentParser, dest: str, words: Any) -> None:
    """Complete an argument with these words, or with those that a function returns."""
    (action,) = (action for action in parser._actions if action.dest == dest)
    completer = words if callable(words) else lambda **_: words
    action.completer = completer  # type: ignore[attr-defined]
