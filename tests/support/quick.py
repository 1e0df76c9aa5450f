"""Patches that speed up thousands of command lines in one process."""

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

from bnnbench.config.configs import config_folder


@contextmanager
def no_figures() -> Iterator[None]:
    """Do not draw the figures of runs, which take most of the time of a tiny run."""
    with patch("bnnbench.report.run_output.save_figures", lambda *_: None):
        yield


@contextmanager
def no_report_figures() -> Iterator[None]:
    """Do not draw the figures of reports."""

    def nothing(drawings: Iterable[str], *_: Any) -> dict[str, str]:
        return dict.fromkeys(drawings, "<svg/>")

    with patch("bnnbench.report.report_writer.save_and_inline", nothing):
        yield


@contextmanager
def without_fsync() -> Iterator[None]:
    """Do not force files to disk, which takes longer than a tiny run."""
    with patch("os.fsync", lambda file: None):
        yield


@contextmanager
def cached_yaml_files() -> Iterator[None]:
    """Cache the YAML files of Hydra and of bnnbench."""
    cached: dict[tuple[str, str], bytes] = {}

    def cache_source(scheme: str) -> Any:
        source = SourcesRegistry.instance().resolve(scheme)
        load = source.load_config

        def loaded(self: Any, config_path: str) -> Any:
            if scheme == "file" and not self.path.startswith(str(config_folder())):
                return load(self, config_path)
            key = (self.path, config_path)
            if key not in cached:
                cached[key] = pickle.dumps(load(self, config_path))
            return pickle.loads(cached[key])

        return patch.object(source, "load_config", loaded)

    Plugins.instance()  # finds the sources
    with cache_source("file"), cache_source("pkg"):
        yield


@contextmanager
def cached_parsing() -> Iterator[None]:
    """Cache OmegaConf's parsed expressions, and resolve only names with interpolations.

    Hydra would collect all choices for every entry of a defaults list.
    """
    resolve = InputDefault._resolve_interpolation_impl

    def resolved(self: InputDefault, choices: partial[Any], name: str | None) -> str:
        has_interpolation = name is None or "${" in name
        return resolve(self, choices(), name) if has_interpolation else name

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
