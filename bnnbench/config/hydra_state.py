"""The global objects of Hydra and OmegaConf: bnnbench has its own, and a program keeps its own.

Hydra has one instance per process of its configuration, plug-ins and stored options, and OmegaConf
one set of resolvers. A program may use Hydra itself, in `hydra.main` or in an open context. Hydra's
own `Singleton.get_state` would load the plug-ins of others from any folder on the module path.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from hydra.core.singleton import Singleton
from omegaconf import OmegaConf
from omegaconf.basecontainer import BaseContainer

FOREIGN = "hydra_plugins"
"""The package in which Hydra looks for sweepers and launchers of others."""

PROVIDER = "hydra"
"""The provider of Hydra's own options in its store."""

_lock = RLock()
"""The objects are of the process, and several threads may use bnnbench."""

_instances: dict[type, Any] = {}
"""Our instances, by class."""

_resolvers: dict[str, Any] = {}
"""The resolvers of OmegaConf and ours, by name."""


@contextmanager
def own_hydra() -> Iterator[None]:
    """Use our objects in the block, in one thread at a time; then those of the program again.

    Hydra is not initialised at the beginning of a block, also not of one in another.
    """
    with _lock:
        if not _instances:
            raise RuntimeError("call `set_up` first")
        with _state(dict(_instances), BaseContainer._resolvers | _resolvers):
            yield


def set_up(register: Callable[[], object]) -> None:
    """Make our objects.

    Args:
        register: registers our plug-ins and resolvers.
    """
    store = ConfigStore()
    with _lock, _state({}, {}):
        OmegaConf.clear_resolvers()  # registers those of OmegaConf
        ConfigStore().repo = _options_of_hydra(store.repo)
        _load_plugins_of_hydra()
        register()
        _instances.update(Singleton._instances)
        _resolvers.update(BaseContainer._resolvers)


@contextmanager
def _state(instances: dict[type, Any], resolvers: dict[str, Any]) -> Iterator[None]:
    """Replace the global objects in the block."""
    before = Singleton._instances, BaseContainer._resolvers
    Singleton._instances, BaseContainer._resolvers = instances, resolvers
    try:
        yield
    finally:
        Singleton._instances, BaseContainer._resolvers = before


def _options_of_hydra(repo: dict[str, Any]) -> dict[str, Any]:
    """Return the options in a store without those of the program."""
    groups = {name: _options_of_hydra(one) for name, one in repo.items() if isinstance(one, dict)}
    return groups | {
        name: one for name, one in repo.items() if getattr(one, "provider", "") == PROVIDER
    }


def _load_plugins_of_hydra() -> None:
    """Load Hydra's own plug-ins; it would import foreign ones from any folder on the path."""
    before = sys.modules.get(FOREIGN)
    sys.modules[FOREIGN] = None  # type: ignore[assignment]  # importing it raises ImportError
    try:
        Plugins.instance()
    finally:
        del sys.modules[FOREIGN]
        sys.modules |= {} if before is None else {FOREIGN: before}
