"""Checks of the types of tensors: of the initial state, and of a fit in float32."""

from __future__ import annotations

from dataclasses import replace

import torch

from bnnbench.checking.checks import Check, difference
from bnnbench.checking.small_fits import MethodUnderTest, with_dtype
from bnnbench.methods.shared.minibatches import MinibatchMethod
from bnnbench.methods.shared.trainer import describe_misshaped
from bnnbench.types import TrainingSet

TOLERANCE = 1e-3
"""Maximal difference of predictions, relative and in deviations of the target. After four epochs
rounding changes the predictions of the methods of the package by less than a tenth of it."""


def wrong_initial_state(subject: MethodUnderTest, data: TrainingSet) -> str | None:
    """Describe the first tensor that `init` returns in a wrong shape, dtype or device."""
    method = subject.method
    if not isinstance(method, MinibatchMethod):
        return None
    task = replace(subject.task(data), outputs=method.likelihood.outputs)
    state = method.init(task)
    misshaped = describe_misshaped(state, data.replicas)
    if misshaped:
        return misshaped
    for name, value in state.items():
        expected = (data.inputs.dtype if value.is_floating_point() else value.dtype, "cpu")
        if (value.dtype, value.device.type) != expected:
            return (
                f"`init` returns state[{name!r}] with dtype {value.dtype} on {value.device}; "
                f"expected: {expected[0]} on cpu, like the data"
            )
    return None


def runs_equal_checks(subject: MethodUnderTest) -> str | None:
    """Predictions in float32, by native code if there is any, equal those in float64."""
    data = with_dtype(subject.data, torch.float32)
    try:
        found = subject.predict(subject.fit(data), data)
    except Exception:
        wrong = wrong_initial_state(subject, data)
        if wrong:
            return wrong
        raise
    for name in ("loc", "variance"):
        single, double = (getattr(p, name).double() for p in (found, subject.prediction))
        by = difference(single, double, TOLERANCE, TOLERANCE)
        if by:
            code = "native code" if subject.method.native else "PyTorch"
            return f"`{name}` in float32, computed by {code}, differs {by} from that in float64"
    return None


RUNS: Check[MethodUnderTest] = Check(
    "a run in float32 gives the same predictions",
    runs_equal_checks,
    "If native code ignores a function of yours, write `def native_update(self): return None`; "
    "otherwise avoid operations that magnify rounding: `torch.expm1(x)` for `torch.exp(x) - 1`",
)
