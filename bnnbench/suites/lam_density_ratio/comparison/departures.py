"""The settings behind the thesis's tables, and in what a run departs from them.

Where the thesis's text and its programs say different things, either is its setting: with the
prior contrast 100 draws for each observation (programs) or 200 (text) when undertrained, with the
joint contrast 51 steps of the estimator (programs), or 100 (text), when trained to the optimum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bnnbench.results.settings import written
from bnnbench.suites.lam_density_ratio.comparison.published import REPETITIONS

SETTINGS = {"undertrained": "undertrained", "published": "optimal", "optimal": "optimal"}
"""Which of the thesis's two settings a protocol stands for."""

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

READINGS: Mapping[tuple[str, str], Mapping[str, Sequence[Any]]] = {
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
"""By setting and contrast, the values that count as the thesis's own."""

COMMON: Mapping[str, Sequence[Any]] = {
    "numerics": ("published",),
    "observations": ("data",),
    "data": ([0.0, 5.0, 8.0, 12.0, 50.0],),
}
"""Of every table."""

WORDS = {
    "pretraining_steps": "pre-training steps",
    "estimator_steps": "estimator steps",
    "samples": "draws per observation",
    "estimator_rate": "estimator rate",
    "posterior_rate": "posterior rate",
    "decay_from": "rates fall from share",
}


def other_settings(names: Mapping[str, Any], setting: str) -> Iterator[str]:
    """Every setting of a run that is not the thesis's, `iterations 4000` for one.

    Args:
        names: of the run's record.
        setting: `optimal` or `undertrained`.
    """
    for name, values in {**COMMON, **READINGS[setting, names["contrast"]]}.items():
        own = names[name]
        if own not in values:
            value = tuple(own) if isinstance(own, list) else own
            yield f"{WORDS.get(name, name)} {written(value)}"


def fewer_repetitions(size: int) -> Iterator[str]:
    """`5 of 30 repetitions`, if there are fewer than the thesis's."""
    if size < REPETITIONS:
        yield f"{size} of {REPETITIONS} repetitions"
