"""The argument parser of all commands: mistakes become user errors."""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

from bnnbench.types import UserError

ARGUMENT = re.compile(r"(?:argument |arguments: |required: )([^\s:,]+)")
"""The argument that a message of argparse is about."""


class Parser(argparse.ArgumentParser):
    """Raises `UserError` for a wrong argument; options may come before and after positionals."""

    _intermixed = False

    def __init__(self, **settings: Any) -> None:
        """Keep the line breaks of descriptions."""
        super().__init__(**{"formatter_class": argparse.RawDescriptionHelpFormatter, **settings})

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        """Parse positionals on both sides of options, where the command allows it."""
        whole = any(a.nargs in (argparse.PARSER, argparse.REMAINDER) for a in self._actions)
        if self._intermixed or whole:
            return super().parse_known_args(args, namespace)
        self._intermixed = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._intermixed = False

    def error(self, message: str) -> NoReturn:
        found = ARGUMENT.search(message)
        setting = max(found[1].split("/"), key=len) if found else None
        raise UserError(f"{message}; see `{self.prog} --help`.", setting)
