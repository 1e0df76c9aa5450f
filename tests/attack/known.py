"""Attacks that still succeed, each with the reason: the one place where they are listed.

A test listed here has to fail: one that passes again is to be taken out.
"""

from __future__ import annotations

KNOWN: dict[str, str] = {}
"""Reason by the test's name with its parameters, as pytest prints it."""
