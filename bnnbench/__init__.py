"""bnnbench: the experiment runner for Bayesian neural networks."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bnnbench.matplotlib_import import DefaultsFinder

if TYPE_CHECKING:
    from bnnbench.api import FinishedRun, fit, load_run, load_table, predict, reference
    from bnnbench.choice import recommend
    from bnnbench.estimator import BNNRegressor

__version__ = "0.1.0"

OTHER_MODULES = {"BNNRegressor": "estimator", "recommend": "choice"}
"""Where the names are that are not in `api`."""

__all__ = [
    "BNNRegressor",
    "FinishedRun",
    "fit",
    "load_run",
    "load_table",
    "predict",
    "recommend",
    "reference",
]

sys.meta_path.insert(0, DefaultsFinder())


def __getattr__(name: str) -> Any:
    """Import the Python interface on first access, so that the command line starts fast."""
    if name in __all__:
        return getattr(import_module(f"bnnbench.{OTHER_MODULES.get(name, 'api')}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the Python interface, so that completion finds it before it is imported."""
    return ["__version__", *__all__]
