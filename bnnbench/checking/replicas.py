"""Checks that the replicas of a stack do not influence each other."""

from __future__ import annotations

from dataclasses import replace

from bnnbench.checking.checks import Check, bitwise_equal, difference
from bnnbench.checking.small_fits import SEEDS, MethodUnderTest
from bnnbench.methods.shared.contract import Posterior


def stack_equals_single_fits(subject: MethodUnderTest) -> str | None:
    """A replica fitted alone equals the same replica in a stack."""
    for r, group in enumerate(subject.data.groups):
        data = replace(subject.data.select([r]), groups=(0,))
        alone = subject.fit(data, [SEEDS[group]])
        for name, value in alone.state.items():
            by = difference(subject.posterior.state[name][r], value[0], 1e-9, 1e-11)
            if by:
                return f"state[{name!r}] of replica {r} differs {by} if the replica is fitted alone"
        single = subject.predict(alone, data, [SEEDS[group]])
        by = difference(subject.prediction.loc[:, r], single.loc[:, 0], 1e-9, 1e-11)
        if by:
            return f"predictions of replica {r} differ {by} if the replica is alone"
    return None


def replicas_are_independent(subject: MethodUnderTest) -> str | None:
    """Different targets of one replica change this replica and no other."""
    targets = subject.data.targets.clone()
    targets[1, : subject.data.counts[1]] += 1
    other = subject.fit(replace(subject.data, targets=targets))
    changed = changed_replicas(subject.posterior, other)
    if not changed[1]:
        return "the fit does not depend on the targets"
    affected = [r for r in (0, 2) if changed[r]]
    return f"replica {affected[0]} changes with the targets of replica 1" if affected else None


def padding_has_no_effect(subject: MethodUnderTest) -> str | None:
    """Rows beyond `counts` have no effect: the fit differs if they are counted as data."""
    rows = subject.data.inputs.shape[1]
    counted = replace(subject.data, counts=(rows,) * subject.data.replicas)
    if not changed_replicas(subject.posterior, subject.fit(counted))[1]:
        return "padding is used as data: use `task.data.counts` or the weights of the minibatch"
    return None


def changed_replicas(one: Posterior, other: Posterior) -> list[bool]:
    """Return for each replica whether its states differ."""
    return [
        any(not bitwise_equal(value[r], other.state[name][r]) for name, value in one.state.items())
        for r in range(len(one.diverged))
    ]


REPLICAS: tuple[Check[MethodUnderTest], ...] = (
    Check(
        "a stack equals its replicas fitted alone",
        stack_equals_single_fits,
        "In `init`, `update` and `predict`, reduce over rows or samples, never over replicas: "
        "`targets.mean(1, keepdim=True)` for [R, B], `gradient.mean(0)` for [S, R, P]",
    ),
    Check(
        "replicas do not influence each other",
        replicas_are_independent,
        "In `update`, use `batch.targets` and reduce over rows or samples, never over replicas: "
        "`gradient.mean(0)` for [S, R, P], `x.mean(1, keepdim=True)` for [R, B]",
    ),
    Check(
        "padding has no effect",
        padding_has_no_effect,
        "In `update`, weight rows by `batch.weights`: `(batch.weights * error).sum(1)`; in `fit`, "
        "use the first `task.data.counts[r]` rows of replica r",
    ),
)
