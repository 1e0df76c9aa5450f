"""Settings in which a run differs from the source that it reproduces.

The source's settings are the defaults in the YAML file of the experiment.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bnnbench.discovery import plugin_configs, project
from bnnbench.experiment.store.provenance import read_yaml
from bnnbench.experiment.store.record import Record, read_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.files import shipped_folder
from bnnbench.results.settings import as_typed, differing_from

GROUP = "experiment"
"""Configuration group, and the key of its settings in a file that sets other groups too."""

NEVER_OF_SOURCE = ("_target_", "label", "seed", "data_seed", "repetitions")
"""Settings that no claim of a source is about."""

Values = Mapping[str, Any]
"""Settings of an experiment by name."""


@dataclass(frozen=True)
class SourceSettings:
    """What a suite adds to the defaults in the file of its experiment.

    Attributes:
        free: settings that the claims do not depend on, or whose values they check themselves.
        grids: lists that may have further values.
        counts: numbers of random draws that may be larger.
        chosen: returns the source's values of settings that the file leaves to the experiment,
            given the record of a run.
        own: returns the values of a run that are not in its identity.
    """

    free: Collection[str] = ()
    grids: Collection[str] = ()
    counts: Collection[str] = ()
    chosen: Callable[[Record], Values] = lambda record: {}
    own: Callable[[RunFolder], Values] = lambda folder: {}

    def differences(self, folder: RunFolder) -> str:
        """Return the settings that differ, as `experiment.theta 1 instead of 2`; empty if none do.

        Raises:
            UserError: if a file of the run is damaged.
        """
        record = read_record(folder)
        own = {**record.identity, **self.own(folder)}
        top, settings = default_settings(record.kind)
        settings = {**settings, **self.chosen(record)}
        source = {
            name: value
            for name, value in {**top, **settings}.items()
            if name in own and not self._may_differ(name, own[name], value)
        }
        return ", ".join(
            f"{f'{GROUP}.' * (name in settings)}{name} {as_typed(name, value)} instead of "
            f"{as_typed(name, source[name])}"
            for name, value in differing_from(own, source).items()
        )

    def _may_differ(self, name: str, own: Any, source: Any) -> bool:
        """Return whether claims about the source's value of a setting hold for the run's too."""
        return (
            name in (*self.free, *NEVER_OF_SOURCE)
            or (name in self.grids and {*source} <= {*own})
            or (name in self.counts and bool(own >= source))
        )


def default_settings(kind: str) -> tuple[Values, Values]:
    """Return the defaults in the file of an experiment, without those that it leaves open (null).

    Returns:
        The settings at the top level of the command line, such as `rows`, and those of the
        experiment. Both are empty if there is no such file.
    """
    name = f"{GROUP}/{kind}.yaml"
    file = next((folder / name for folder in _folders() if (folder / name).is_file()), None)
    if file is None:
        return {}, {}
    content = read_yaml(file)
    top, own = (content, content[GROUP]) if GROUP in content else ({}, content)
    return (
        {name: value for name, value in top.items() if not isinstance(value, dict | list)},
        {name: value for name, value in own.items() if value is not None},
    )


def _folders() -> list[Path]:
    found = project()
    return [
        shipped_folder("configs"),
        *plugin_configs().values(),
        *(found.config_dirs if found else ()),
    ]
