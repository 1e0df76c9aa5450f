"""`bnnbench run`: Hydra composes the configuration, launches sweeps, completes words."""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Sequence
from multiprocessing import current_process
from typing import Any

from hydra import main as hydra_main
from hydra.errors import HydraException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from bnnbench.cli.configs import config_folder, quote_options
from bnnbench.types import Redundant, UserError

CONFIG_NAME = "run"


def run_command(overrides: Sequence[str]) -> int:
    """Runs Hydra on the overrides.

    Raises:
        UserError: for everything the configuration can get wrong.
    """
    os.environ["HYDRA_FULL_ERROR"] = "1"  # errors come back here instead of ending the process
    _hide_subcommand()
    _check_launcher(overrides)
    sys.argv = ["bnnbench", *quote_options(overrides)]
    decorate = hydra_main(
        version_base="1.3", config_path=str(config_folder()), config_name=CONFIG_NAME
    )
    _refused.clear()
    _passed.clear()
    _ran.clear()
    try:
        decorate(run_one)()
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(sentence(error)) from None
    if _refused:
        raise UserError(" ".join(dict.fromkeys(_refused)))  # one sentence for many jobs
    if _passed and not _ran:
        raise UserError(_passed[0])
    if _passed:
        jobs = f"{len(_passed)} combination{'s' if len(_passed) > 1 else ''}"
        print(f"bnnbench: passed over {jobs} that differ from others in name only", file=sys.stderr)
    return 0


_refused: list[str] = []
"""What was wrong with jobs of this process; a sweep goes on with its other jobs."""

_passed: list[str] = []
"""Why a sweep passed over some of its combinations."""

_ran: list[str] = []
"""The folders of what this process ran."""


def run_one(config: DictConfig) -> None:
    """One job; in the main process a user error is kept for the end, without Hydra's preamble."""
    try:
        _run_one(config)
    except UserError as error:
        if isinstance(error, Redundant) and _sweeping():
            _passed.append(str(error))
            return
        if current_process().name != "MainProcess":
            raise
        _refused.append(str(error))


def _run_one(config: DictConfig) -> None:
    """Builds the plan, runs the experiment, shows what came out."""
    from bnnbench.cli.build import build
    from bnnbench.cli.show import show_run
    from bnnbench.report.pages import write_any_report

    jobs = _concurrent_jobs()
    try:
        plain = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        raise UserError(sentence(error)) from None
    experiment, plan = build(plain, jobs)  # type: ignore[arg-type]
    folder = experiment.run(plan, write_any_report)
    _ran.append(str(folder.root))
    show_run(folder)


def _sweeping() -> bool:
    from hydra.core.hydra_config import HydraConfig

    mode = HydraConfig.get().mode
    return mode is not None and mode.name == "MULTIRUN"


def _concurrent_jobs() -> int:
    """How many jobs the launcher runs side by side; -1 is one per core."""
    from hydra.core.hydra_config import HydraConfig
    from joblib import cpu_count

    jobs = HydraConfig.get().launcher.get("n_jobs", 1) if _sweeping() else 1
    return cpu_count() if jobs == -1 else jobs


def _check_launcher(overrides: Sequence[str]) -> None:
    """Refuses more jobs than cores here, since the launcher starts its processes before any job.

    Raises:
        UserError: naming the key.
    """
    from joblib import cpu_count

    for override in overrides:
        key, _, value = override.partition("=")
        allowed = {"-1", *map(str, range(1, cpu_count() + 1))}
        if key.lstrip("+") == "hydra.launcher.n_jobs" and value not in allowed:
            raise UserError(f"{key} must be -1 or 1 to {cpu_count()} (cores), not {value!r}.")


def _hide_subcommand() -> None:
    """Shows Hydra's completion `bnnbench method=` where `bnnbench run method=` was typed."""
    line = os.environ.get("COMP_LINE", "")
    hidden = re.sub(r"^(\S+\s+)run\s+", r"\1", line)
    if hidden != line:
        point = int(os.environ.get("COMP_POINT", len(line)))
        os.environ["COMP_POINT"] = str(max(0, point - (len(line) - len(hidden))))
        os.environ["COMP_LINE"] = hidden


def sentence(error: Exception) -> str:
    """One sentence for an error of Hydra or OmegaConf."""
    text = str(error)
    option = re.search(r"Could not find '([\w/]+)/([^'/]+)'", text)
    if option:
        group, choice = option.groups()
        offered = re.findall(r"^\t(\S+)$", text, re.MULTILINE)
        names = ", ".join(name for name in offered if not name.startswith("_"))
        return f"{group}={choice} does not exist; {group} is one of {names}."
    key = re.search(r"Could not override '([\w./]+)'|No match in the defaults list", text)
    if key and key.group(1):
        close = difflib.get_close_matches(key.group(1), _all_keys(), n=1)
        hint = (
            f"did you mean {close[0]}?"
            if close and close[0] != key.group(1)
            else "see `bnnbench run --help`."
        )
        return f"{key.group(1)} is not a setting; {hint}"
    missing = re.search(r"Missing mandatory value: ([\w.]+)", text)
    if missing:
        return f"{missing.group(1)} needs a value: give {missing.group(1)}=VALUE."
    if isinstance(error, OverrideParseException):
        return f"{error.override} cannot be read as KEY=VALUE: {text.splitlines()[0].rstrip('.')}."
    lines = [line.strip() for line in text.splitlines()]
    useful = [line for line in lines if line and not line.startswith(("object_type", "See http"))]
    return "; ".join(useful).rstrip(".") + "."


def _all_keys() -> list[str]:
    """Dotted keys of the default configuration, and the groups."""
    from hydra import compose, initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra

    GlobalHydra.instance().clear()
    with initialize_config_dir(str(config_folder()), version_base="1.3"):
        config = compose(CONFIG_NAME)

    def keys(node: Any, prefix: str = "") -> list[str]:
        found = []
        for key, value in node.items_ex(resolve=False):
            found.append(prefix + str(key))
            if isinstance(value, DictConfig):
                found += keys(value, f"{prefix}{key}.")
        return found

    return keys(config)
