"""The `bnnbench` command as the shell calls it: `main` in a process of its own."""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
from contextlib import suppress

# Before numpy and torch, which read it when they are imported. A run's processes fill the cores,
# and threads only slow products of small matrices. Other libraries' numbers of threads follow it.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def command() -> None:
    """Runs the command line and ends the process with its exit code."""
    # A start makes a million objects that stay. To look for rubbish among them at every 700 new
    # ones, as Python does, takes a sixth of it.
    gc.set_threshold(20_000)
    from bnnbench.cli.main import main

    leave(main())


def leave(code: int) -> None:
    """Ends the process without taking apart what is loaded, half a second where torch is.

    What was registered for the end is done first. Where other threads still work Python ends as it
    does, which waits for them.
    """
    if threading.active_count() > 1:
        sys.exit(code)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # `main` has said what there is to say
            stream.flush()
    os._exit(code)
