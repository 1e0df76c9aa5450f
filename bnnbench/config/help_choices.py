"""The resolver `${choices:}` of the template of `bnnbench run --help`: every group's options."""

from __future__ import annotations

from functools import cache

from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from omegaconf import OmegaConf

from bnnbench.config.configs import GROUPS, is_option

RESOLVER = "choices"


def register() -> None:
    """Register the resolver; Hydra's own list includes the files that options are made of."""
    OmegaConf.register_new_resolver(RESOLVER, _choices, replace=True)


def _choices() -> str:
    search_path = GlobalHydra.instance().config_loader().get_search_path()
    return _choices_in(tuple(folder.path or "" for folder in search_path.get_path()))


@cache  # Hydra resolves the template in every configuration that it composes
def _choices_in(folders: tuple[str, ...]) -> str:
    """Return a line for each group; `folders` is the current search path, the key of the cache."""
    loader = GlobalHydra.instance().config_loader()
    found = {group: loader.get_group_options(group, ObjectType.CONFIG) for group in GROUPS}
    return "".join(
        f"{group}: {', '.join(filter(is_option, sorted(names)))}\n"
        for group, names in found.items()
    )
