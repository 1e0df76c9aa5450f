"""The options that `bnnbench run` shares with Hydra."""

from __future__ import annotations

from argparse import ArgumentParser

from hydra._internal.utils import get_args_parser


def option_parser() -> ArgumentParser:
    """Return the parser of Hydra's options and of overrides."""
    parser: ArgumentParser = get_args_parser()
    return parser
