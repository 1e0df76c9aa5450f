"""Adds the native library to a wheel, if `BNNBENCH_NATIVE_WHEEL=1` is set on x86-64 Linux.

Without it the wheel is pure Python: the library is then compiled on first use, and without a
compiler methods train with torch only.
"""

from __future__ import annotations

import ast
import os
import platform
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VARIABLE = "BNNBENCH_NATIVE_WHEEL"

CPP = Path(__file__).parent / "bnnbench" / "cpp"

STATIC = ("-static-libstdc++", "-static-libgcc", "-Wl,--exclude-libs,ALL", "-Wl,--gc-sections")
"""The library then needs no more than the C library, and no unused part of libstdc++ needs a recent
version of that."""


class NativeLibrary(BuildHookInterface):
    """Compiles a library for each variant of processor, and tags the wheel accordingly."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the libraries and add them to the wheel."""
        wanted = os.environ.get(VARIABLE) == "1" and version == "standard"
        if not wanted or self.target_name != "wheel":
            return
        if (sys.platform, platform.machine()) != ("linux", "x86_64"):
            raise SystemExit(f"{VARIABLE}=1 needs x86-64 Linux; omit it elsewhere.")
        self.folder = tempfile.TemporaryDirectory()
        glibc = 17  # of manylinux2014
        for variant in constant("VARIANTS"):
            file = Path(self.folder.name) / f"{variant}.so"
            compiler = shlex.split(os.environ.get("CXX", "g++"))
            units = [str(path) for path in sorted(CPP.glob("*.cpp"))]
            command = [*compiler, *constant("FLAGS"), *STATIC, f"-march={variant}", *units]
            subprocess.run([*command, "-o", str(file)], check=True)
            needed = re.findall(rb"GLIBC_2\.(\d+)", file.read_bytes())
            glibc = max([glibc, *map(int, needed)])
            build_data["force_include"][str(file)] = f"bnnbench/cpp/prebuilt/{file.name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_2_{glibc}_x86_64"


def constant(name: str) -> Any:
    """Return a constant of `library.py`, whose imports are not installed while building."""
    for node in ast.parse((CPP / "library.py").read_text()).body:
        targets = node.targets if isinstance(node, ast.Assign) else ()
        if [ast.unparse(target) for target in targets] == [name]:
            return ast.literal_eval(node.value)
    raise LookupError(name)
