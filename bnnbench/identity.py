"""What makes two runs the same run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def digest(settings: Mapping[str, Any]) -> str:
    """Eight hexadecimal digits that identify settings, whatever the order of their keys."""
    text = json.dumps(settings, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:8]
