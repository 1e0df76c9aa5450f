"""What can be chosen, for `bnnbench run --help`: `${choices:}` in its template."""

from __future__ import annotations

from functools import cache

from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from omegaconf import OmegaConf

from bnnbench.cli.configs import ALL_GROUPS, is_choice

RESOLVER = "choices"


def register() -> None:
    """Makes the resolver known; Hydra's own list of options has the parts of options too."""
    OmegaConf.register_new_resolver(RESOLVER, _choices, replace=True)


def _choices() -> str:
    """A line for each group, with what every folder brings, that of `--config-dir` too."""
    search_path = GlobalHydra.instance().config_loader().get_search_path()
    return _choices_in(tuple(folder.path or "" for folder in search_path.get_path()))


@cache  # Hydra resolves the template in every configuration that it composes
def _choices_in(folders: tuple[str, ...]) -> str:
    """The same, of the folders that Hydra searches now."""
    loader = GlobalHydra.instance().config_loader()
    found = {group: loader.get_group_options(group, ObjectType.CONFIG) for group in ALL_GROUPS}
    return "".join(
        f"{group}: {', '.join(filter(is_choice, sorted(names)))}\n"
        for group, names in found.items()
    )
