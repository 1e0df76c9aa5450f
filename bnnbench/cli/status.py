"""A status message during slow steps: reading, importing, checking."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

DELAY = 0.7  # seconds before the message is printed where there is no terminal


@contextmanager
def status_message(what: str) -> Iterator[None]:
    """Print what is going on to standard error: at once on a terminal, else after `DELAY`."""
    if sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status(f"{what} ..."):
            yield
        return
    line = threading.Timer(DELAY, lambda: print(f"{what} ...", file=sys.stderr, flush=True))
    line.daemon = True
    line.start()
    try:
        yield
    finally:
        line.cancel()
