"""Settings behind the thesis's tables, and how a run deviates from them.

If the thesis's text and programs disagree, both count as its settings: undertrained with the prior
contrast, 100 draws per observation (programs) or 200 (text); trained to the optimum with the joint
contrast, 51 steps of the estimator (programs) or 100 (text).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bnnbench.results.settings import format_value
from bnnbench.suites.lam_density_ratio.comparison.published import REPETITIONS

SETTING_OF_SCHEDULE = {
    "undertrained": "undertrained",
    "published": "optimal",
    "optimal": "optimal",
}
"""The thesis's setting with which a schedule is compared."""

OPTIMAL: Mapping[str, Sequence[Any]] = {
    "pretraining_steps": (5000,),
    "samples": (200,),
    "decay_from": (1.0,),
}

UNDERTRAINED: Mapping[str, Sequence[Any]] = {
    "pretraining_steps": (5000,),
    "estimator_steps": (11,),
    "estimator_rate": (4e-5,),
    "posterior_rate": (2e-4,),
    "decay_from": (1.0,),
}

THESIS_SETTINGS: Mapping[tuple[str, str], Mapping[str, Sequence[Any]]] = {
    ("optimal", "prior"): {
        **OPTIMAL,
        "estimator_steps": (100, 101),
        "iterations": (10_000,),
        "estimator_rate": (1e-4,),
        "posterior_rate": (1e-4,),
    },
    ("optimal", "joint"): {
        **OPTIMAL,
        "estimator_steps": (50, 51, 100),
        "iterations": (40_000,),
        "estimator_rate": (1e-5,),
        "posterior_rate": (1e-5,),
    },
    ("undertrained", "prior"): {**UNDERTRAINED, "iterations": (2000,), "samples": (100, 200)},
    ("undertrained", "joint"): {**UNDERTRAINED, "iterations": (4000,), "samples": (200,)},
}
"""By setting and contrast, the values that count as those of the thesis."""

COMMON: Mapping[str, Sequence[Any]] = {
    "numerics": ("published",),
    "observations": ("data",),
    "data": ([0.0, 5.0, 8.0, 12.0, 50.0],),
}
"""Values that hold for every table."""

SETTING_NAMES = {
    "pretraining_steps": "pre-training steps",
    "estimator_steps": "estimator steps",
    "samples": "draws per observation",
    "estimator_rate": "estimator rate",
    "posterior_rate": "posterior rate",
    "decay_from": "rates fall from fraction",
}


def deviating_settings(metadata: Mapping[str, Any], setting: str) -> Iterator[str]:
    """Yield every setting of a run that differs from the thesis, such as `iterations 4000`.

    Args:
        metadata: metadata of the run.
        setting: `optimal` or `undertrained`.
    """
    for name, values in {**COMMON, **THESIS_SETTINGS[setting, metadata["contrast"]]}.items():
        actual = metadata[name]
        if actual not in values:
            value = tuple(actual) if isinstance(actual, list) else actual
            yield f"{SETTING_NAMES.get(name, name)} {format_value(value)}"


def fewer_repetitions(size: int) -> Iterator[str]:
    """Yield `5 of 30 repetitions` if there are fewer than in the thesis."""
    if size < REPETITIONS:
        yield f"{size} of {REPETITIONS} repetitions"
