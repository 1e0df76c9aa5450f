"""What makes thousands of command lines bearable, without changing what they meet."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any
from unittest.mock import patch

from hydra import version
from hydra._internal import defaults_list
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.default_element import InputDefault
from hydra.core.plugins import Plugins
from omegaconf import grammar_parser

from bnnbench.cli.configs import config_folder


@contextmanager
def no_figures() -> Iterator[None]:
    """A run writes its tables and page without drawing, which takes most of a tiny run."""
    with patch("bnnbench.report.pages.save_all", lambda *_: None):
        yield


@contextmanager
def no_report_figures() -> Iterator[None]:
    """A report writes its tables and its pages, no figures."""

    def nothing(drawings: Iterable[str], *_: Any) -> dict[str, str]:
        return dict.fromkeys(drawings, "<svg/>")

    with patch("bnnbench.report.overview.save_for_page", nothing):
        yield


@contextmanager
def left_to_the_system() -> Iterator[None]:
    """What is written is not forced to the disk, for which a run waits longer than it computes."""
    with patch("os.fsync", lambda file: None):
        yield


@contextmanager
def files_read_once() -> Iterator[None]:
    """Hydra parses its own and our YAML files once in a process, not for every command."""
    kept: dict[tuple[str, str], bytes] = {}

    def once(scheme: str) -> Any:
        source = SourcesRegistry.instance().resolve(scheme)
        load = source.load_config

        def loaded(self: Any, config_path: str) -> Any:
            if scheme == "file" and not self.path.startswith(str(config_folder())):
                return load(self, config_path)
            key = (self.path, config_path)
            if key not in kept:
                kept[key] = pickle.dumps(load(self, config_path))
            return pickle.loads(kept[key])

        return patch.object(source, "load_config", loaded)

    Plugins.instance()  # finds the sources
    with once("file"), once("pkg"):
        yield


@contextmanager
def parsed_once() -> Iterator[None]:
    """OmegaConf parses an expression once in a process; a name without one is not resolved.

    Hydra gathers all choices for every entry of a list of defaults, to look up what it refers to.
    """
    resolve = InputDefault._resolve_interpolation_impl

    def resolved(self: InputDefault, choices: partial[Any], name: str | None) -> str:
        refers = name is None or "${" in name
        return resolve(self, choices(), name) if refers else name

    gather = partial(partial, defaults_list._create_interpolation_map)
    parse, version_of = cache(grammar_parser.parse), cache(version._get_version)
    with (
        patch("omegaconf.base.parse", parse),
        patch("omegaconf._utils.parse", parse),
        patch.object(version, "_get_version", version_of),
        patch.object(defaults_list, "_create_interpolation_map", gather),
        patch.object(InputDefault, "_resolve_interpolation_impl", resolved),
    ):
        yield
