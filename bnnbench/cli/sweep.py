"""All runs of a sweep before it starts, so that its progress can be shown as one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from hydra.errors import HydraException
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from bnnbench.types import UserError


def jobs_of(overrides: Sequence[str]) -> list[list[str]]:
    """The overrides of each job that `bnnbench run -m OVERRIDES` starts.

    Hydra must be initialised.

    Raises:
        HydraException: if they cannot be composed.
    """
    from hydra import compose
    from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
    from hydra.core.override_parser.overrides_parser import OverridesParser

    parser = OverridesParser.create()
    given = parser.parse_overrides(list(overrides))
    plain = [str(o.input_line) for o in given if not o.is_sweep_override()]
    config = compose("run", overrides=plain, return_hydra_config=True)
    swept = config.hydra.sweeper.params or {}
    parsed = parser.parse_overrides([f"{key}={value}" for key, value in swept.items()])
    (jobs,) = BasicSweeper.split_arguments([*parsed, *given], None)
    return [[o for o in job if not o.startswith("hydra.")] for job in jobs]


def configs_of(overrides: Sequence[str]) -> list[dict[str, Any]]:
    """The resolved configuration of each of those jobs, as plain containers.

    Raises:
        UserError: if one of them cannot be composed.
    """
    from hydra import compose, initialize_config_dir

    from bnnbench.cli.configs import config_folder, quote_options
    from bnnbench.cli.run import CONFIG_NAME, sentence

    try:
        with initialize_config_dir(str(config_folder()), version_base="1.3"):
            found = [compose(CONFIG_NAME, job) for job in jobs_of(quote_options(overrides))]
            return [_plain(config) for config in found]
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(sentence(error)) from None


def _plain(config: DictConfig) -> dict[str, Any]:
    return OmegaConf.to_container(config, resolve=True, throw_on_missing=True)  # type: ignore[return-value]


class ShowSweep(Callback):
    """Tells the progress view about all runs of a sweep; without it each run would stand alone."""

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        """Builds every plan; a launcher with processes of its own shows each run by itself."""
        if "n_jobs" in config.hydra.launcher:
            return
        from hydra import compose

        from bnnbench.cli.build import build
        from bnnbench.experiment import sweep_progress as suite

        plans = []
        for job in jobs_of(list(config.hydra.overrides.task)):
            # What is wrong with a job it says itself, when its turn comes.
            with suppress(UserError, HydraException, OmegaConfBaseException):
                plans.append(build(_plain(compose("run", job)))[1])
        suite.begin(plans)

    def on_multirun_end(self, config: DictConfig, **_: Any) -> None:
        from bnnbench.experiment import sweep_progress as suite

        suite.end()
