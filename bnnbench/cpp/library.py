"""The library of the C++ files in this folder, or the reason why it is not available.

A wheel may contain it for several variants of x86-64 processors; the best one that this processor
supports is used. Otherwise, the system's compiler compiles it once per machine, into the user's
cache; other processes wait, however long that takes on a busy machine. The file name contains a
hash of the sources, the compiler, its flags and the processor, so machines that share a home
directory do not share a library unless their processors are the same.

Set the environment variable `BNNBENCH_NATIVE=0` to disable it and use torch only.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from bnnbench.files import cache_folders, is_private
from bnnbench.notes import note, status_message
from bnnbench.system import read_variable
from bnnbench.types import UserError

if TYPE_CHECKING:
    import torch
    from torch import Tensor

COMPILERS = ("g++", "clang++", "c++")
FLAGS = (
    "-std=c++17", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fopenmp-simd", "-shared",
    "-fPIC",
)  # fmt: skip
"""Results must not depend on the processor, so the compiler may neither reorder sums
(`-ffast-math`) nor fuse products with sums. OpenMP is used for vectorisation only, not for
threads."""

VARIANTS = {
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
    "x86-64-v3": ("avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"),
}
"""Variants that a wheel may contain, best first: the flags of /proc/cpuinfo that each needs."""

PREBUILT = Path(__file__).with_name("prebuilt")
"""The folder of these variants, which exists only in such a wheel."""


class LibraryUnavailable(Exception):
    """The library is not available; the message gives the reason."""


def build_library(*sources: Path) -> Path:
    """Return the path of the library, after compiling it if necessary.

    One process compiles at a time, whatever its sources; the others wait and say so.

    Args:
        sources: the C++ files, including headers.

    Raises:
        LibraryUnavailable: if there is no compiler, it fails, or no folder is writable; on Windows.
    """
    if sys.platform == "win32":
        raise LibraryUnavailable("it is not compiled on Windows")
    compiler, *extra = find_compiler()
    command = [compiler, *FLAGS, *_processor_flags(), *extra]
    key = hashlib.sha256(b"\0".join(source.read_bytes() for source in sources))
    for part in (*command, _processor_identity()):
        key.update(b"\0" + part.encode())
    name = f"{sources[0].stem}-{key.hexdigest()[:16]}.so"
    for folder in cache_folders("native"):
        with suppress(OSError):
            target = folder / name
            if not _is_intact(target):
                with _compilation_lock(folder):
                    if not _is_intact(target):
                        _compile(command, [s for s in sources if s.suffix == ".cpp"], target)
            return target
    raise LibraryUnavailable("no cache folder is writable")


_one_thread = threading.Lock()


@contextmanager
def _compilation_lock(folder: Path) -> Iterator[None]:
    lock = FileLock(folder / ".compilation.lock")
    with _one_thread:
        try:
            lock.acquire(blocking=False)
        except Timeout:
            note("waiting for another process that is compiling the native code")
            lock.acquire()
        try:
            yield
        finally:
            lock.release()


def prebuilt_library() -> Path | None:
    """Return the best library of the wheel for this processor; None if there is none."""
    flags = {*_cpuinfo().get("flags", "").split()}
    files = [PREBUILT / f"{name}.so" for name, needed in VARIANTS.items() if flags >= {*needed}]
    return next((file for file in files if file.is_file()), None)


def find_compiler() -> list[str]:
    """Return the command in `CXX`, or the path of the first compiler found.

    Raises:
        LibraryUnavailable: if there is none.
    """
    no_command: list[str] = []
    chosen = read_variable("CXX", lambda text: shlex.split(text), no_command)
    for name in chosen[:1] or COMPILERS:
        path = shutil.which(name)
        if path:
            return [path, *chosen[1:]]
    raise LibraryUnavailable(
        f"there is no compiler {chosen[0]}, as given by CXX" if chosen else "there is no compiler"
    )


def _compile(command: Sequence[str], units: Sequence[Path], target: Path) -> None:
    """Compile the units in parallel, link them, and move the library into place atomically.

    Raises:
        LibraryUnavailable: if the compiler fails.
    """
    with (
        status_message("compiling the native code"),
        tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder,
    ):
        objects = {unit: str(Path(folder, f"{unit.stem}.o")) for unit in units}
        largest_first = sorted(units, key=lambda unit: -_size_with_headers(unit))
        compilations = [[*command, "-c", str(unit), "-o", objects[unit]] for unit in largest_first]
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            errors = [*threads.map(_error_of, compilations)]
        # A second attempt, one after the other, if there was too little memory for all at once.
        failed = [one for one, error in zip(compilations, errors, strict=True) if error]
        library = str(Path(folder, target.name))
        for one in (*failed, [*command, *(objects[unit] for unit in units), "-o", library]):
            if error := _error_of(one):
                raise LibraryUnavailable(f"{Path(command[0]).name} failed: {error[:200]}")
        try:
            ctypes.CDLL(library)
        except OSError:
            name = Path(command[0]).name
            raise LibraryUnavailable(f"{name} failed: it wrote no usable library") from None
        os.chmod(library, 0o755)
        digest = _digest_file(target)
        digest.unlink(missing_ok=True)
        digest.touch(mode=0o600)
        digest.write_text(_digest(Path(library)))
        os.replace(library, target)


def _size_with_headers(unit: Path) -> int:
    """Return the size of a file with its own headers, which predicts its compilation time."""
    text = unit.read_text("utf-8")
    headers = (unit.with_name(name) for name in re.findall(r'#include "(.+?)"', text))
    return len(text) + sum(map(_size_with_headers, headers))


def _error_of(command: Sequence[str]) -> str:
    """Run a compiler; return the first line that names an error, empty if it succeeds."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    except OSError as error:
        return f"it cannot be started: {error.strerror}"
    if not done.returncode:
        return ""
    if done.returncode < 0:
        return f"it was ended by signal {-done.returncode}"
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line), (lines or ["no error message"])[0])


def _is_intact(target: Path) -> bool:
    """Return whether a library and its digest are files of the user, and the digest is correct."""
    digest = _digest_file(target)
    try:
        files_are_private = is_private(target) and is_private(digest)
        return files_are_private and digest.read_text() == _digest(target)
    except OSError:
        return False


def _digest_file(target: Path) -> Path:
    return target.with_name(f".{target.name}.sha256")


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _processor_flags() -> tuple[str, ...]:
    if platform.machine().lower() in ("arm64", "aarch64"):
        return ("-mcpu=native",)
    info = _cpuinfo()
    # Compilers older than the processor do not distinguish Zen 4 and Zen 5.
    zen_4 = info.get("vendor_id") == "AuthenticAMD" and info.get("cpu family") == "25"
    return ("-march=native", "-DBY_HALVES") if zen_4 else ("-march=native",)


def _processor_identity() -> str:
    """Return a string that identifies the processor's instruction set."""
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


SOURCES = tuple(
    Path(__file__).with_name(name)
    for name in (
        "kernel.cpp",
        "conditioning.cpp",
        "elementwise.cpp",
        "gaussian_process.cpp",
        "propagation.cpp",
        "random.cpp",
        "trajectories.cpp",
        "averager.h",
        "energy.h",
        "lanes.h",
        "moments.h",
        "network.h",
        "particles.h",
        "portable.h",
        "products.h",
        "random.h",
        "shallow.h",
        "squares.h",
        "updates.h",
    )
)
NATIVE_VARIABLE = "BNNBENCH_NATIVE"

NUMBER, WORD, REAL, ARRAY = ctypes.c_int64, ctypes.c_uint64, ctypes.c_double, ctypes.c_void_p


@dataclass(frozen=True)
class Library:
    """The native code that is available in this process.

    Attributes:
        code: the functions of the C++ files; None if they are not available.
        path: the library file.
        enabled: whether native code is not disabled by the environment variable.
        reason: why the code is not available.
    """

    code: ctypes.CDLL | None = None
    path: Path | None = None
    enabled: bool = True
    reason: str = ""

    @property
    def status(self) -> str:
        """A clause for `bnnbench --version` and a run's record."""
        return f"in use ({self.path})" if self.code else f"not in use: {self.reason}"


@cache
def library() -> Library:
    """Return the library, which is compiled on first use unless the wheel contains it."""
    if os.environ.get(NATIVE_VARIABLE) == "0":
        return Library(enabled=False, reason=f"{NATIVE_VARIABLE}=0")
    try:
        path = prebuilt_library() or build_library(*SOURCES)
        return Library(_load(path), path)
    except LibraryUnavailable as missing:
        return Library(reason=str(missing))
    except (OSError, AttributeError) as error:
        return Library(reason=f"it cannot be loaded: {error}")


def _load(path: Path) -> ctypes.CDLL:
    code = ctypes.CDLL(str(path))
    code.gradient_moments.argtypes = [
        ARRAY, *[NUMBER] * 6, *[ARRAY] * 7, ctypes.c_bool, *[ARRAY] * 3,
    ]  # fmt: skip
    code.evaluate.argtypes = [ARRAY, *[NUMBER] * 4, *[ARRAY] * 3]
    code.propagate_moments.argtypes = [ARRAY, *[NUMBER] * 3, *[ARRAY] * 5]
    taking_one = (
        code.train_epochs, code.condition_networks, code.propagate, code.take_trajectories,
    )  # fmt: skip
    for function in taking_one:
        function.argtypes = [ARRAY]
    for function in (code.exponentials, code.logarithms):
        function.argtypes, function.restype = [NUMBER, *[ARRAY] * 2], None
    code.mixture_crps.argtypes, code.mixture_crps.restype = [*[NUMBER] * 2, *[ARRAY] * 4], None
    code.ordered_product.argtypes, code.ordered_product.restype = (
        [*[NUMBER] * 3, *[ARRAY] * 3],
        None,
    )
    code.invert_positive.argtypes = [NUMBER, *[ARRAY] * 3]
    code.draw_numbers.argtypes = [WORD, WORD, ctypes.c_int, NUMBER, ARRAY]
    code.draw_numbers.restype = None
    code.output_moments.argtypes = [ARRAY, *[NUMBER] * 3, *[ARRAY] * 5]
    code.linearised_moments.argtypes = [ARRAY, *[NUMBER] * 3, ctypes.c_bool, *[ARRAY] * 5]
    code.marginal_likelihood.argtypes = [*[NUMBER] * 2, REAL, *[ARRAY] * 4]
    code.posterior.argtypes = [*[NUMBER] * 3, REAL, *[ARRAY] * 6]
    predicting = (
        code.evaluate, code.propagate_moments, code.output_moments, code.linearised_moments,
    )  # fmt: skip
    of_search = code.marginal_likelihood, code.posterior
    for function in (code.gradient_moments, *predicting, *of_search, *taking_one):
        function.errcheck = _check_memory  # type: ignore[assignment]
    return code


def _check_memory(failed: int, function: Any, arguments: tuple[Any, ...]) -> None:
    if failed:
        raise MemoryError("native code ran out of memory")


def has_native_code(like: Tensor, dtype: torch.dtype | None = None) -> bool:
    """Whether native code is in use and supports tensors like `like`.

    They must be on the CPU and have this `dtype`, by default float32.
    """
    import torch  # slow, and the library is also used without it

    if like.dtype != (dtype or torch.float32) or like.device.type != "cpu":
        return False
    # Native code would break the graph of a step that torch compiles.
    return not torch.compiler.is_compiling() and library().code is not None


class Addresses:
    """The only way to pass a tensor to native code, which knows neither its type nor its shape.

    The tensors live as long as this object.
    """

    def __init__(self) -> None:
        self._tensors: list[Tensor] = []

    def read(self, name: str, tensor: Tensor, dtype: torch.dtype, *shape: int) -> int:
        """Return the address of the elements of a tensor that native code reads.

        As in torch, a first axis of length 1 is repeated, and a type that `dtype` contains is
        converted.

        Args:
            name: of the tensor, in errors.
            tensor: the tensor.
            dtype: of the elements that native code reads.
            shape: of what it reads, in row-major order.

        Raises:
            UserError: if the tensor is on another device or has another type or shape.
        """
        if not _is_exactly(tensor, dtype, shape):
            import torch

            is_contained = torch.promote_types(tensor.dtype, dtype) == dtype
            if not (is_contained and tensor.device.type == "cpu" and _expands(tensor, shape)):
                raise _wrong_tensor(name, tensor, dtype, shape)
            tensor = tensor.to(dtype).expand(shape).contiguous()
        self._tensors.append(tensor)
        return tensor.data_ptr()

    def integers(self, values: Sequence[Any], maximum: int | None = None) -> int:
        """Return the address of 64-bit integers, nested as in an array.

        Raises:
            UserError: if one of them is greater than the maximum, a number of rows.
        """
        import torch

        array = torch.tensor(values, dtype=torch.int64, device="cpu")
        if maximum is not None and int(array.max()) > maximum:
            raise UserError(
                f"`data.counts` is up to {int(array.max())}, but the data have {maximum} rows.",
                "method",
                "tensor",
            )
        self._tensors.append(array)
        return array.data_ptr()

    def write(self, name: str, tensor: Tensor, dtype: torch.dtype, *shape: int) -> int:
        """Return the address of a tensor that native code changes; see `read`.

        Raises:
            UserError: if the tensor does not have exactly this type, shape and order.
        """
        if not _is_exactly(tensor, dtype, shape):
            raise _wrong_tensor(name, tensor, dtype, shape)
        self._tensors.append(tensor)
        return tensor.data_ptr()


def _is_exactly(tensor: Tensor, dtype: torch.dtype, shape: tuple[int, ...]) -> bool:
    has_form = tensor.dtype == dtype and tensor.shape == shape and tensor.is_contiguous()
    return has_form and tensor.device.type == "cpu"


def _expands(tensor: Tensor, shape: tuple[int, ...]) -> bool:
    first, *others = (*[1] * (len(shape) - tensor.dim()), *tensor.shape)
    return first in (1, shape[0]) and others == [*shape[1:]]


def _wrong_tensor(
    name: str, tensor: Tensor, dtype: torch.dtype, shape: tuple[int, ...]
) -> UserError:
    found = (tensor.dtype, tensor.device, f"of shape {[*tensor.shape]}")
    expected = (dtype, "cpu", f"of shape {[*shape]}")
    pairs = [(str(one).removeprefix("torch."), str(other).removeprefix("torch."))
             for one, other in zip(found, expected, strict=True)]  # fmt: skip
    own, needed = next((pair for pair in pairs if len({*pair}) > 1), ("not contiguous", "so"))
    return UserError(
        f"the tensor {name} is {own}, expected {needed}; give every new tensor the dtype, the "
        "device and the replicas of the data.",
        "method",
        "tensor",
    )
