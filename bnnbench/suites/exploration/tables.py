"""The kind of run, its tables and the names of its rules, without importing torch."""

from __future__ import annotations

KIND = "bandit"

ARMS = UNIFORM, GREEDY, THOMPSON, EPSILON = "uniform", "greedy", "thompson", "epsilon"
"""Which action is chosen: by chance, that with the largest mean, that with the largest value of a
function drawn from the posterior, or greedy with a chance of a random one."""

STEPS = "steps"
"""Table with a row per repetition, arm and step: `repetition`, `arm`, `step` (from 1), `action`,
`reward`, `regret` (expected reward of the best action less that of this one) and `uniform_regret`,
the exact expectation if actions are chosen uniformly."""

REGRET = "regret"
"""Table with a row per repetition and arm: `repetition`, `arm`, `reward` and `regret` (sums over
all steps), `share` (regret as a fraction of the exact expectation of uniform choices) and
`second_half` (the same for the second half of the steps)."""
