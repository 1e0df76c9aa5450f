"""The `bnnbench` command: runs `main` and ends the process with its exit code."""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
from contextlib import suppress

# Set before numpy and torch are imported, which read it. The processes of a run fill the cores;
# threads only slow products of small matrices. Other libraries follow this setting.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# No window is opened, and matplotlib cannot be imported with a name that it does not know.
os.environ["MPLBACKEND"] = "agg"


def command() -> None:
    """Run the command line and end the process with its exit code."""
    open_closed_streams()
    # Start-up creates a million objects that stay. Searching them for garbage after every 700
    # new ones, as Python does by default, takes a sixth of the start-up time.
    gc.set_threshold(20_000)
    from bnnbench.cli.main import main

    leave(main())


def open_closed_streams() -> None:
    """Open the null device for standard streams that the parent process closed.

    Otherwise a file could get their descriptor, and libraries would write into it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115


def leave(code: int) -> None:
    """End the process without unloading modules, which takes half a second with torch.

    Exit handlers run first. If other threads are running, Python exits as usual and waits for
    them.
    """
    if threading.active_count() > 1:
        sys.exit(code)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # `main` has reported errors already
            stream.flush()
    os._exit(code)
