"""Compile the C++ files with the system's compiler, once per machine.

The library is stored in the user's cache. Its name contains a hash of the sources, the compiler,
its flags and the processor, so machines that share a home directory do not share a library unless
their processors are the same.
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
FLAGS = (
    "-std=c++17", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fopenmp-simd", "-shared",
    "-fPIC",
)  # fmt: skip
"""Results must not depend on the processor, so the compiler may neither reorder sums
(`-ffast-math`) nor fuse products with sums. OpenMP is used for vectorisation only, not for
threads."""

TIMEOUT = 120.0  # seconds; a build takes about five


class LibraryUnavailable(Exception):
    """The library is not available; the message gives the reason."""


def build_library(*sources: Path) -> Path:
    """Return the path of the library, after compiling it if necessary.

    If several processes call this at the same time, one compiles and the others wait.

    Args:
        sources: the C++ files, including headers.

    Raises:
        LibraryUnavailable: if there is no compiler, it fails, or no folder is writable.
    """
    compiler, *extra = find_compiler()
    command = [compiler, *FLAGS, *_processor_flags(), *extra]
    key = hashlib.sha256(b"\0".join(source.read_bytes() for source in sources))
    for part in (*command, _processor_identity()):
        key.update(b"\0" + part.encode())
    name = f"{sources[0].stem}-{key.hexdigest()[:16]}.so"
    for folder in _cache_folders():
        with suppress(OSError):
            target = folder / name
            if not target.exists():
                with FileLock(folder / f".{name}.lock", timeout=TIMEOUT):
                    if not target.exists():
                        units = [str(one) for one in sources if one.suffix == ".cpp"]
                        _compile([*command, *units], target)
            return target
    raise LibraryUnavailable("no cache folder is writable")


def find_compiler() -> list[str]:
    """Return the command in `CXX`, or the path of the first compiler found.

    Raises:
        LibraryUnavailable: if there is none.
    """
    chosen = shlex.split(os.environ.get("CXX", ""))
    for name in chosen[:1] or COMPILERS:
        path = shutil.which(name)
        if path:
            return [path, *chosen[1:]]
    raise LibraryUnavailable(
        f"there is no compiler {chosen[0]}, as given by CXX" if chosen else "there is no compiler"
    )


def _compile(command: list[str], target: Path) -> None:
    """Compile to a temporary file and move it into place atomically."""
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(handle)
    try:
        done = subprocess.run(
            [*command, "-o", temporary], capture_output=True, text=True, timeout=TIMEOUT
        )
        if done.returncode:
            lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
            reason = next(
                (line for line in lines if "error" in line), (lines or ["no error message"])[0]
            )
            raise LibraryUnavailable(f"{Path(command[0]).name} failed: {reason[:200]}")
        os.chmod(temporary, 0o755)
        os.replace(temporary, target)
    except subprocess.TimeoutExpired:
        raise LibraryUnavailable(
            f"{Path(command[0]).name} did not finish within {TIMEOUT:.0f} s"
        ) from None
    finally:
        Path(temporary).unlink(missing_ok=True)


def _cache_folders() -> Iterator[Path]:
    """Yield the folders to try: the user's cache, then a private temporary folder."""
    with suppress(OSError, RuntimeError):  # no home directory
        cache_home = os.environ.get("XDG_CACHE_HOME", "")
        cache = Path(cache_home) if os.path.isabs(cache_home) else Path.home() / ".cache"
        folder = cache / "bnnbench" / "native"
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
    with suppress(OSError):
        folder = Path(tempfile.gettempdir()) / f"bnnbench-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
        # Others can write to the parent folder; never load a library that they may have placed.
        if (
            stat.S_ISDIR(status.st_mode)
            and status.st_uid == os.getuid()
            and not status.st_mode & 0o022
        ):
            yield folder


def _processor_flags() -> tuple[str, ...]:
    if platform.machine().lower() in ("arm64", "aarch64"):
        return ("-mcpu=native",)
    info = _cpuinfo()
    # Compilers older than the processor do not distinguish Zen 4 and Zen 5.
    zen_4 = info.get("vendor_id") == "AuthenticAMD" and info.get("cpu family") == "25"
    return ("-march=native", "-DBY_HALVES") if zen_4 else ("-march=native",)


def _processor_identity() -> str:
    """Return a text that identifies the processor's instruction set."""
    info = _cpuinfo() or {"model name": f"{platform.machine()} {platform.processor()}"}
    return "\n".join(info.get(name, "") for name in ("model name", "flags", "Features", "CPU part"))


def _cpuinfo() -> dict[str, str]:
    """Return the first processor of /proc/cpuinfo; empty on systems other than Linux."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.partition(":") for line in reversed(lines))
    return {name.strip(): value.strip() for name, _, value in pairs}
