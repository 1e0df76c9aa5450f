"""What makes a thousand attempts bearable, without changing what they meet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any
from unittest.mock import patch

from hydra._internal.core_plugins.file_config_source import FileConfigSource

from bnnbench.cli.configs import config_folder


@contextmanager
def no_figures() -> Iterator[None]:
    """A run writes its tables and page without drawing, which takes most of a tiny run."""
    with patch("bnnbench.report.split_page.run_figures", lambda *_: iter(())):
        yield


@contextmanager
def files_read_once() -> Iterator[None]:
    """Hydra parses its fifty YAML files once in a process, not in every attempt."""
    load, kept = FileConfigSource.load_config, {}

    def loaded(source: FileConfigSource, path: str) -> Any:
        key = (source.path, path)
        if not source.path.startswith(str(config_folder())):
            return load(source, path)
        if key not in kept:
            kept[key] = load(source, path)
        return deepcopy(kept[key])

    with patch.object(FileConfigSource, "load_config", loaded):
        yield


@contextmanager
def no_report_figures() -> Iterator[None]:
    """A report writes its tables and its page, no figures."""
    with patch("bnnbench.report.overview.save", lambda *_: None):
        yield
