"""The software and hardware that computed a run."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from bnnbench.cpp.library import library
from bnnbench.experiment.store.code_version import source_commit
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.stored_files import UNREADABLE, DamagedRun, read_json, reading
from bnnbench.files import write_text

LIBRARIES = (
    "bnnbench",
    "torch",
    "numpy",
    "scikit-optimize",
    "scikit-learn",
    "hydra-core",
    "pandas",
)


def write_environment(folder: RunFolder, workers: int) -> None:
    """Write `environment.json`; entries of earlier processes are kept under `earlier`."""
    import torch  # slow, and reports read records without it

    facts = {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "workers": workers,
        "cuda": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "native": library().status,
        "commit": source_commit(),
        "versions": {name: version(name) for name in LIBRARIES},
    }
    before = read_environment(folder)
    kept = before.pop("earlier", [])
    earlier = [*(kept if isinstance(kept, list) else ()), *([before] if before else ())]
    text = json.dumps({**facts, **({"earlier": earlier} if earlier else {})}, indent=2)
    write_text(folder.environment, text + "\n")


def hardware(device: str) -> dict[str, str]:
    """Return the name of the machine and the model of its processor or GPU.

    Args:
        device: `cpu` or `cuda`.
    """
    import torch

    model = torch.cuda.get_device_name() if device == "cuda" else processor()
    return {"host": platform.node(), "device": model}


@cache
def processor() -> str:
    """Return the model of the CPU, which can change the last bits of a number."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def as_yaml(config: Mapping[str, Any]) -> str:
    """Return a resolved configuration as YAML; a string such as `${x}` refers to nothing."""
    return yaml.safe_dump(dict(config), allow_unicode=True, sort_keys=False)


def read_yaml(file: Path) -> Any:
    """Return the content of a configuration file, without resolving what refers to others."""
    from omegaconf import OmegaConf

    return OmegaConf.to_container(OmegaConf.load(file), resolve=False)


def read_environment(folder: RunFolder) -> dict[str, Any]:
    """Read `environment.json`; empty if it is missing or damaged, since no result depends on it.

    Raises:
        DamagedRun: if the user may not read it.
    """
    if not folder.environment.exists():
        return {}
    try:
        with reading(folder.environment):
            return dict(read_json(folder.environment))
    except DamagedRun as error:
        if error.code == UNREADABLE:
            raise
        return {}
