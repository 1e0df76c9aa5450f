"""The kind of run, its tables and the names of its rules, without importing torch."""

from __future__ import annotations

KIND = "bandit"

POOL = "pool"
"""The environment with another score."""

UNIFORM, GREEDY, THOMPSON, EPSILON = "uniform", "greedy", "thompson", "epsilon"

STEPS = "steps"
"""Table with a row per repetition, arm and step: `repetition`, `arm`, `step` (from 1), `action`,
`reward`, `regret` (expected reward of the best action less that of this one) and `uniform_regret`,
the exact expectation if actions are chosen uniformly."""

REGRET = "regret"
"""Table with a row per repetition and arm: `repetition`, `arm`, `reward` and `regret` (sums over
all steps), `share` (regret as a fraction of the exact expectation of uniform choices) and
`second_half` (the same for the second half of the steps)."""
