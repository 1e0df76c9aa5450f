"""The software and hardware that computed a run, and the version of the code behind it.

Results of changed code are not reused silently.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bnnbench import __version__
from bnnbench.cpp.library import library
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.files import (
    READ_ERRORS,
    checksum,
    raise_disk_error,
    read_text,
    write_text,
)

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
        "commit": _commit(),
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


@cache
def _commit() -> str | None:
    """Return the commit of the source checkout, with `+` if edited; None outside a checkout."""
    source = Path(__file__).parents[2]
    if not (source / ".git").exists():
        return None

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(source), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def as_yaml(config: Mapping[str, Any]) -> str:
    from omegaconf import OmegaConf

    return OmegaConf.to_yaml(OmegaConf.create(dict(config)), sort_keys=False)


PACKAGE = Path(__file__).parents[1]

NUMERIC = (
    "data.images", "data.splits", "divergences", "experiment.fitting", "experiment.folds",
    "experiment.image_experiment", "experiment.joint", "experiment.protocol",
    "experiment.repetitions", "experiment.resumable_stack", "experiment.split_experiment",
    "experiment.split_plan", "experiment.split_search", "experiment.table_experiment",
    "likelihoods", "losses", "methods", "metrics", "native", "nn", "optim", "portable_math",
    "preprocessing", "random_streams", "search", "suites",
)  # fmt: skip
"""Modules and packages in `bnnbench` whose code can change a number, besides the C++ code."""

NOT_OWN = {"bnnbench", "torch", "numpy", *sys.stdlib_module_names}
"""Packages whose classes are not the user's own."""


def code_version_of(component: Any) -> dict[str, Any]:
    """Return the version of the code that a component's numbers rest on.

    Args:
        component: a dataclass, with the dataclasses that it holds.

    Returns:
        `version` of the package; `commit` of its checkout, with `+` if edited, None outside a
        checkout; `digest` of its numeric code; `own`, the digest of the user's modules that define
        classes of the component or their bases, None if there are none.
    """
    return {
        "version": __version__,
        "commit": _commit(),
        "digest": _package_digest(),
        "own": _own_digest(component),
    }


def describe_other_code(code: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Describe a code version in a few words; empty if it computes the same as another one.

    The commit does not decide: it also changes with files that no number rests on.

    Args:
        code: from `code_version_of`, or from the record of a run.
        now: the code version to compare with.
    """
    if any(code.get(name) != now.get(name) for name in ("version", "digest")):
        commit = f", commit {code['commit']}" if code.get("commit") else ""
        return f"another version of the code (bnnbench {code.get('version')}{commit})"
    return "another version of your own code" if code.get("own") != now.get("own") else ""


@cache
def _package_digest() -> str:
    """Return the digest of the files of `NUMERIC` and of the C++ code."""
    files = [*(PACKAGE / "cpp").glob("*.cpp"), *(PACKAGE / "cpp").glob("*.h")]
    for name in NUMERIC:
        path = PACKAGE.joinpath(*name.split("."))
        files += path.rglob("*.py") if path.is_dir() else [path.with_suffix(".py")]
    parts = [(file.relative_to(PACKAGE).as_posix().encode(), file) for file in files]
    return checksum(
        b"\0".join(b"\0".join((name, file.read_bytes())) for name, file in sorted(parts))
    )


def _own_digest(component: Any) -> str | None:
    modules = {cls.__module__ for cls in _classes(component)}
    own = sorted(name for name in modules if name.partition(".")[0] not in NOT_OWN)
    return checksum(b"\0".join(_source(name) for name in own)) if own else None


def _classes(component: Any) -> Iterator[type]:
    """Yield the classes of a component and of all that it holds, with their bases."""
    if not is_dataclass(component) or isinstance(component, type):
        return
    yield from type(component).__mro__
    for field in fields(component):
        yield from _classes(getattr(component, field.name))


@cache  # a file may be edited after it was imported
def _source(module: str) -> bytes:
    """Return the content of a module's file; empty if it has none, as in a notebook."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return Path(file).read_bytes() if file and Path(file).is_file() else b""


def read_environment(folder: RunFolder) -> dict[str, Any]:
    """Read `environment.json`; empty if it is missing or damaged, since no result depends on it."""
    try:
        return dict(json.loads(read_text(folder.environment)))
    except READ_ERRORS as error:
        raise_disk_error(error)
        return {}
