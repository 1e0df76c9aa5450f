"""What computed a run: the version of the code, the software and the hardware.

Results of changed code are not reused silently. Code is compared by its files, not by its commit,
which also changes with files that affect no number.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import yaml

from bnnbench import __version__
from bnnbench.cpp.library import library
from bnnbench.experiment.store.own_modules import NOT_OWN, own_modules
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.stored_files import UNREADABLE, DamagedRun, read_json, reading
from bnnbench.files import checksum, write_text

PACKAGE = Path(__file__).parents[2]

NO_NUMBERS = ("checking", "cli", "report", "results", "configs", "data/uci", "cpp/prebuilt")
"""Folders of the package that cannot change a number of a run; all others count.

The first four are not used while a run is computed. A wheel also contains the last three: settings
and data are part of a run's identity, and every processor gives the same bits.
"""

SUITES = "suites"
"""Folder of the package in which only the suites used by a run count."""

SUFFIXES = (".py", ".cpp", ".h", ".csv", ".npz")
"""Files that count. The compiler's flags are constants in a Python file."""


def code_version_of(component: Any) -> dict[str, Any]:
    """Return the version of the code that determines a component's numbers.

    Args:
        component: a dataclass, with the components that it holds.

    Returns:
        `version` of the package; `commit` of its checkout, with `+` if edited, None outside a
        checkout; `digest` of its files that can change a number; `own`, the digest of the user's
        modules that define classes of the component, and of all that they import from his project,
        None if there are none.
    """
    classes, named = {*_classes(component)}, [*_named(component)]
    foreign = {name for name in classes if name.partition(".")[0] not in NOT_OWN}
    own = own_modules(foreign, named) if foreign or named else {}
    imported = {name for module in own.values() for name in module.imports}
    contents = {name: module.content for name, module in own.items()}
    return {
        "version": __version__,
        "commit": source_commit(),
        "digest": _package_digest(_suites_of(classes | imported)),
        "own": _digest(contents) if own else None,
    }


def code_label(code: Mapping[str, Any]) -> str:
    """Return a short label of a code version, to print next to times: `0.1.0+3f2a...`.

    Equal labels mean code that computes the same.
    """
    parts = (str(code[name]) for name in ("digest", "own") if code[name])
    return f"{code['version']}+{'.'.join(parts)}"


def describe_other_code(code: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Describe a code version in a few words; empty if it computes the same as another one.

    Args:
        code: from `code_version_of`, or from the record of a run.
        now: the code version to compare with.
    """
    if any(code.get(name) != now.get(name) for name in ("version", "digest")):
        commit = f", commit {code['commit']}" if code.get("commit") else ""
        return f"another version of the code (bnnbench {code.get('version')}{commit})"
    return "another version of your own code" if code.get("own") != now.get("own") else ""


def distinct_versions(codes: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """Return the code versions without those that compute the same as an earlier one."""
    found: list[Mapping[str, Any]] = []
    for code in codes:
        if all(describe_other_code(code, other) for other in found):
            found.append(code)
    return tuple(found)


def mixed_code_note(count: int) -> str:
    """Say that the means of a run mix the results of several code versions; empty for one."""
    if count < 2:
        return ""
    return (
        f"{count} versions of the code computed parts of this run, so its results belong to none "
        "of them; run all of it again with resume=false."
    )


@cache
def source_commit() -> str | None:
    """Return the commit of the source checkout, with `+` if edited; None outside a checkout."""
    source = PACKAGE.parent
    if not (source / ".git").exists():
        return None

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(source), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def counted_files(suites: Collection[str]) -> dict[str, Path]:
    """Return the files of the package that count, by their path in it.

    Args:
        suites: names of the suites that count.
    """
    left_out = {folder.name for folder in (PACKAGE / SUITES).glob("*/")} - {*suites}
    ignored = {*NO_NUMBERS, *(f"{SUITES}/{name}" for name in left_out)}
    files: dict[str, Path] = {}
    for path in sorted(PACKAGE.rglob("*")):
        inside = path.relative_to(PACKAGE)
        if path.suffix in SUFFIXES and not ignored & {part.as_posix() for part in inside.parents}:
            files[inside.as_posix()] = path
    return files


@cache
def _package_digest(suites: frozenset[str]) -> str:
    return _digest({name: path.read_bytes() for name, path in counted_files(suites).items()})


def _digest(contents: Mapping[str, bytes]) -> str:
    parts = (part for name in sorted(contents) for part in (name.encode(), contents[name]))
    return checksum(b"\0".join(parts))


def _suites_of(modules: Iterable[str]) -> frozenset[str]:
    prefix = f"bnnbench.{SUITES}."
    return frozenset(name.split(".")[2] for name in modules if name.startswith(prefix))


def _classes(component: Any) -> Iterator[str]:
    """Yield the modules of the classes of a component and of all that it holds, and their bases."""
    for part in _parts(component):
        if is_dataclass(part) and not isinstance(part, type):
            yield from (base.__module__ for base in type(part).__mro__)


def _named(component: Any) -> Iterator[str]:
    """Yield strings in a component such as `my_module.Regressor`."""
    for text in _parts(component):
        if isinstance(text, str) and "." in text and all(map(str.isidentifier, text.split("."))):
            yield text


def _parts(component: Any) -> Iterator[Any]:
    """Yield a component, and everything inside it."""
    yield component
    inside: Iterable[Any] = ()
    if is_dataclass(component) and not isinstance(component, type):
        inside = (getattr(component, field.name) for field in fields(component))
    elif isinstance(component, Mapping):
        inside = component.values()
    elif isinstance(component, list | tuple):
        inside = component
    for part in inside:
        yield from _parts(part)


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
    return str(yaml.safe_dump(dict(config), allow_unicode=True, sort_keys=False))


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


REFERENCE_FIT = (16, 32, 8, 50, 150)
"""Networks, rows, inputs, hidden units and steps of `reference_seconds`."""


def reference_seconds() -> float:
    """Return the CPU seconds of a fixed fit; times of different machines compare as ratios to it.

    Gradient descent of networks with one hidden layer of ReLU units, in numpy.
    """
    networks, rows, features, units, steps = REFERENCE_FIT
    random = np.random.default_rng(0)
    inputs = random.standard_normal((networks, rows, features), dtype=np.float32)
    targets = inputs.sum(-1, keepdims=True)
    first = random.standard_normal((networks, features, units), dtype=np.float32)
    last = random.standard_normal((networks, units, 1), dtype=np.float32)
    started = time.process_time()
    for _ in range(steps):
        hidden = np.maximum(inputs @ first, 0)
        error = (hidden @ last - targets) / rows
        back = (error @ last.transpose(0, 2, 1)) * (hidden > 0)
        last -= 1e-3 * (hidden.transpose(0, 2, 1) @ error)
        first -= 1e-3 * (inputs.transpose(0, 2, 1) @ back)
    return time.process_time() - started


@cache
def _reference_seconds_here() -> float:
    """Return the median of three measurements, of which the first also fills caches."""
    return median(reference_seconds() for _ in range(3))


def scaled_seconds(cpu_seconds: float, reference: float) -> float:
    """Return how many CPU seconds the same computation takes on this machine.

    Args:
        cpu_seconds: where it was measured.
        reference: `reference_seconds` there, in the same process. It is larger on a slower machine;
            0 if the clock was too coarse, and then nothing is scaled.
    """
    return cpu_seconds * _reference_seconds_here() / reference if reference > 0 else cpu_seconds
