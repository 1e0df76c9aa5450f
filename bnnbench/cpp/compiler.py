"""Builds the C++ files with the system's compiler, once for a machine.

What is built lies in the user's cache under a name that says what it is made of: the sources, the
compiler and its flags, and the processor, whose instructions it uses. A home that is shared by
different machines therefore has one for each.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from filelock import FileLock

COMPILERS = ("g++", "clang++", "c++")
FLAGS = ("-std=c++17", "-O3", "-fno-math-errno", "-fopenmp-simd", "-shared", "-fPIC")
"""No `-ffast-math`: NaN and infinity are to do what they do in torch, and what is added says itself
in which order, or that any will do. Of OpenMP the lanes alone, no threads."""

PATIENCE = 120.0  # seconds; a build takes some five


class Unavailable(Exception):
    """Why there is no library, as what follows `since`."""


def built(*sources: Path) -> Path:
    """The library made of C++ files, which are compiled if that was not done before.

    Headers among them are what the others include.

    Processes that ask at once wait for the first of them.

    Raises:
        Unavailable: if there is no compiler, it fails, or nothing can be written anywhere.
    """
    command = [*found_compiler(), *FLAGS, *_for_this_processor()]
    key = hashlib.sha256(b"\0".join(source.read_bytes() for source in sources))
    for part in (*command, _processor()):
        key.update(b"\0" + part.encode())
    name = f"{sources[0].stem}-{key.hexdigest()[:16]}.so"
    for folder in _folders():
        with suppress(OSError):
            target = folder / name
            if not target.exists():
                with FileLock(folder / f".{name}.lock", timeout=PATIENCE):
                    if not target.exists():
                        units = [str(one) for one in sources if one.suffix == ".cpp"]
                        _compile([*command, *units], target)
            return target
    raise Unavailable("no folder for it can be written to")


def found_compiler() -> list[str]:
    """The words that `CXX` holds, or the path of the first compiler there is.

    Raises:
        Unavailable: if there is none.
    """
    chosen = shlex.split(os.environ.get("CXX", ""))
    for name in chosen[:1] or COMPILERS:
        path = shutil.which(name)
        if path:
            return [path, *chosen[1:]]
    raise Unavailable(f"there is no {chosen[0]}, as CXX says" if chosen else "there is no compiler")


def _compile(command: list[str], target: Path) -> None:
    """Compiles into a sibling that is then moved into place: a reader sees all of it or none."""
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(handle)
    try:
        done = subprocess.run(
            [*command, "-o", temporary], capture_output=True, text=True, timeout=PATIENCE
        )
        if done.returncode:
            said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
            words = next(
                (line for line in said if "error" in line), (said or ["without a word"])[0]
            )
            raise Unavailable(f"{Path(command[0]).name} failed: {words[:200]}")
        os.chmod(temporary, 0o755)
        os.replace(temporary, target)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{Path(command[0]).name} did not end in {PATIENCE:.0f} s") from None
    finally:
        Path(temporary).unlink(missing_ok=True)


def _folders() -> Iterator[Path]:
    """Where it may lie: the user's cache, or else a folder of the user's own for passing files."""
    with suppress(OSError, RuntimeError):  # a user without a home
        given = os.environ.get("XDG_CACHE_HOME", "")
        cache = Path(given) if os.path.isabs(given) else Path.home() / ".cache"
        folder = cache / "bnnbench" / "native"
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
    with suppress(OSError):
        folder = Path(tempfile.gettempdir()) / f"bnnbench-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        # Others may write beside it: what they prepared under its name is not to be run.
        if (
            stat.S_ISDIR(found.st_mode)
            and found.st_uid == os.getuid()
            and not found.st_mode & 0o022
        ):
            yield folder


def _for_this_processor() -> tuple[str, ...]:
    if platform.machine().lower() in ("arm64", "aarch64"):
        return ("-mcpu=native",)
    told = _cpuinfo()
    # Compilers older than a processor take Zen 4 and Zen 5 for the same one.
    zen_4 = told.get("vendor_id") == "AuthenticAMD" and told.get("cpu family") == "25"
    return ("-march=native", "-DBY_HALVES") if zen_4 else ("-march=native",)


def _processor() -> str:
    """What tells one processor's instructions from another's."""
    told = _cpuinfo() or {"model name": f"{platform.machine()} {platform.processor()}"}
    return "\n".join(told.get(name, "") for name in ("model name", "flags", "Features", "CPU part"))


def _cpuinfo() -> dict[str, str]:
    """What Linux tells of the first processor; empty elsewhere."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.partition(":") for line in reversed(lines))
    return {name.strip(): value.strip() for name, _, value in pairs}
