"""Isolates the Hydra of bnnbench from that of the calling program.

Hydra and OmegaConf have one set of plug-ins, of resolvers and of initialised objects per process.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import RLock
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from hydra.core.singleton import Singleton
from hydra.core.utils import setup_globals
from omegaconf import OmegaConf
from omegaconf.basecontainer import BaseContainer

from bnnbench.config import auto_protocol

FOREIGN = "hydra_plugins"
"""The package in which Hydra looks for other people's sweepers and launchers."""

OPTIONS_OF_HYDRA = ("hydra", "_dummy_empty_config_.yaml")
"""Entries of Hydra in its store, where those of a program would be schemas of our files."""

_lock = RLock()


@contextmanager
def own_hydra() -> Iterator[None]:
    """Use our plug-ins and resolver in the block, in one thread at a time, and restore the others.

    Hydra is not initialised at the beginning of a block, even of a nested one.
    """
    with _lock:
        before = Singleton._instances, BaseContainer._resolvers
        store = ConfigStore.instance().repo
        Singleton._instances = {}
        BaseContainer._resolvers = {**BaseContainer._resolvers}
        try:
            ConfigStore.instance().repo = {name: store[name] for name in OPTIONS_OF_HYDRA}
            Singleton._instances |= _plugins()
            setup_globals()
            OmegaConf.register_new_resolver(
                auto_protocol.RESOLVER, auto_protocol.resolve, replace=True
            )
            yield
        finally:
            Singleton._instances, BaseContainer._resolvers = before


@cache
def _plugins() -> dict[type, Any]:
    """Load Hydra's own plug-ins; it would import foreign ones from any folder on the path."""
    before = sys.modules.get(FOREIGN)
    sys.modules[FOREIGN] = None  # type: ignore[assignment]  # importing it raises ImportError
    try:
        Plugins.instance()
        return {**Singleton._instances}
    finally:
        del sys.modules[FOREIGN]
        sys.modules |= {} if before is None else {FOREIGN: before}
