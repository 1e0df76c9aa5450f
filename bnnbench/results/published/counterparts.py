"""The published value that a run is compared with, and how their settings differ.

Published settings follow the protocol except as `methods.toml` says.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from bnnbench.results.method_facts import is_of_user, trains_network
from bnnbench.results.published.protocol import (
    divergence_difference,
    has_protocol,
    missing_splits,
    noise_differences,
    relevant_settings,
    settings_differing_from,
)
from bnnbench.results.published.published_settings import published_settings
from bnnbench.results.published.values import Published, Values, published_values
from bnnbench.results.settings import ABSENT, describe_settings

UNPUBLISHED_METHODS = ("mc_dropout_x10",)
"""Methods of families with published values that have unpublished settings (here 40 final
epochs)."""

MINOR_SETTINGS = ("training.samples", "evaluation.samples", "search.objective")
"""Settings whose differences are reported but do not prevent a comparison."""


@dataclass(frozen=True)
class PublishedMethod:
    """A table of `methods.toml`, which describes the attributes."""

    compared_with: str = ""
    preset: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    likelihood: str = ""
    known_samples: bool = False
    undocumented: bool = False


def _read() -> dict[str, PublishedMethod]:
    text = files(__package__).joinpath("methods.toml").read_text("utf-8")
    return {name: PublishedMethod(**row) for name, row in tomllib.loads(text).items()}


METHODS: Mapping[str, PublishedMethod] = _read()
"""All published methods by their name there, best match first."""


@dataclass(frozen=True)
class Difference:
    """How a run differs from the settings of a published value.

    Attributes:
        description: all known differences, `epochs 5, samples 10`; empty if there are none.
        comparable: whether the two may be compared despite the differences.
        n_major: number of settings that prevent a comparison; fewer splits do not count.
        known: whether anything is known about the published settings.
    """

    description: str
    comparable: bool
    n_major: int
    known: bool = True


def difference(run: Mapping[str, Any], method: str) -> Difference:
    """Return how a run differs from the settings of a published method.

    `run` has the metadata of its record, its `settings` and its number of `splits`.
    """
    published = METHODS[method]
    if published.undocumented:
        return Difference("unknown", comparable=False, n_major=0, known=False)
    family = str(run["family"])
    settings = published_settings(published.preset or family, family, str(run["dataset"]))
    added = ("training.samples",) if published.known_samples else ()
    known = relevant_settings(settings, run, added)
    differing = settings_differing_from(run, {**known, **published.settings})
    if differing.get("likelihood", ABSENT) == published.likelihood:
        del differing["likelihood"]
    other, fewer = divergence_difference(run), missing_splits(run)
    n_major = len(other) + len(set(differing) - set(MINOR_SETTINGS))
    description = ", ".join([*describe_settings(differing), *other, *fewer])
    return Difference(description, not (n_major or fewer), n_major)


def counterpart(
    run: Mapping[Any, Any], metric: str, user_published: Values = MappingProxyType({})
) -> Published | None:
    """Return the published value to compare a run with, if there is one.

    A value from the user's file for the run's method takes precedence. Otherwise, the published
    networks have one hidden layer, a Gaussian likelihood and KL, so other runs match nothing. Of
    several values, the one whose settings are most like the run's is returned, one with unknown
    settings last, then the first of `METHODS`. `difference` tells whether the two are
    comparable. `run` has the metadata of its record, its `settings` and its number of `splits`.
    """
    if user_value := user_published.get((run["dataset"], metric, run["method"])):
        return user_value
    is_comparable = (
        has_protocol(run)
        and not is_of_user(run)
        and run["depth"] == int(trains_network(run))
        and not divergence_difference(run)
        and not noise_differences(run)
        and run["method"] not in UNPUBLISHED_METHODS
    )
    names = compared_methods(run["family"]) or compared_methods(run["method"])
    candidates = [
        value
        for name in (names if is_comparable else ())
        if (value := published_values().get((run["dataset"], metric, name)))
    ]

    def distance(value: Published) -> tuple[bool, int]:
        found = difference(run, value.method)
        return not found.known, found.n_major

    return min(candidates, key=distance, default=None)


def compared_methods(ours: str) -> list[str]:
    """Return the published methods that a family or a preset of ours is compared with."""
    return [name for name, method in METHODS.items() if ours and method.compared_with == ours]


def z_score(ours: float, our_stderr: float, theirs: float, their_stderr: float) -> float:
    """Return `ours - theirs` in combined standard errors; NaN if either error is unknown."""
    combined = math.hypot(our_stderr, their_stderr)
    return (ours - theirs) / combined if combined > 0 else math.nan


def run_difference(run: Mapping[Any, Any], theirs: Published) -> Difference:
    """Return how a run differs from the settings of a published value, as far as known."""
    if not theirs.by_user:
        return difference(run, theirs.method)
    fewer = missing_splits(run, theirs.splits)  # empty if the number is NaN
    return Difference(", ".join(["unknown", *fewer]), comparable=not fewer, n_major=0, known=False)


def run_z_score(run: Mapping[Any, Any], metric: str, theirs: Published) -> float:
    """Return the z-score of a run against a published value; NaN if major settings differ."""
    if not run_difference(run, theirs).comparable:
        return math.nan
    return z_score(run[f"{metric}_mean"], run[f"{metric}_stderr"], theirs.mean, theirs.stderr)
