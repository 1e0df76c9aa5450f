"""A word while nothing else is to be seen: reading, importing, checking."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 0.7  # seconds of silence; a start takes one before it can say anything


@contextmanager
def announced(what: str) -> Iterator[None]:
    """Says what is going on, on standard error: at once on a terminal, else after a moment."""
    if sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status(f"{what} ..."):
            yield
        return
    line = threading.Timer(PATIENCE, lambda: print(f"{what} ...", file=sys.stderr, flush=True))
    line.daemon = True
    line.start()
    try:
        yield
    finally:
        line.cancel()
