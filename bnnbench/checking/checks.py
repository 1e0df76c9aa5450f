"""Run checks and collect their results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, is_dataclass, replace
from pathlib import Path
from sysconfig import get_paths
from traceback import FrameSummary, extract_tb
from typing import Generic, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")

AUTOGRAD_ADVICE = (
    "Training runs under `torch.no_grad()`: write `with torch.enable_grad():` around the code that "
    "needs autograd"
)
"""Advice if autograd failed."""

DTYPE_ADVICE = (
    "Give every new tensor the dtype and the device of the data: `torch.zeros(replicas, n, "
    "dtype=task.data.inputs.dtype, device=task.data.inputs.device)` in `init`, "
    "`torch.zeros_like(state['loc'])` or `inputs.new_zeros(...)` elsewhere"
)
"""Advice if tensors of different dtypes or devices were combined."""

DTYPE_ERROR = re.compile(r"\bdtypes?\b|scalar type|same device", re.IGNORECASE)
"""Pattern of torch's messages about such tensors."""

PACKAGE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Check(Generic[T]):
    """One requirement of a contract.

    Attributes:
        name: the property that is checked, as a statement.
        run: describes the failure of a subject in a sentence, or returns None.
        advice: what to write instead: the function or attribute to change, and an example of code.
        is_prerequisite: whether later checks are meaningless if this one fails.
    """

    name: str
    run: Callable[[T], str | None]
    advice: str
    is_prerequisite: bool = False


@dataclass(frozen=True)
class CheckResult:
    """The result of a check.

    Attributes:
        name: the name of the check.
        failure: a description of the failure; None if there is none.
        advice: what to write instead; None without a failure.
        was_run: False after the failure of a prerequisite.
    """

    name: str
    failure: str | None = None
    advice: str | None = None
    was_run: bool = True


def run_checks(checks: Sequence[Check[T]], subject: T) -> Iterator[CheckResult]:
    """Run the checks in order, but skip the rest after the failure of a prerequisite."""
    proceed = True
    for check in checks:
        result = run_check(check, subject) if proceed else CheckResult(check.name, was_run=False)
        proceed = proceed and not (check.is_prerequisite and result.failure)
        yield result


def run_check(check: Check[T], subject: T) -> CheckResult:
    """Run one check; an exception is a failure, reported with its file and line."""
    try:
        failure = check.run(subject)
    except Exception as error:
        # A prerequisite also fails because of mistakes that are unrelated to its property.
        advice = None if check.is_prerequisite else check.advice
        if "does not require grad" in str(error):
            advice = AUTOGRAD_ADVICE
        elif DTYPE_ERROR.search(str(error)) or _passes_in_float64(check, subject):
            advice = DTYPE_ADVICE
        return CheckResult(check.name, f"it raised {describe_error(error)}", advice)
    if failure and (DTYPE_ERROR.search(failure) or _passes_in_float64(check, subject)):
        return CheckResult(check.name, failure, DTYPE_ADVICE)
    return CheckResult(check.name, failure, check.advice if failure else None)


def _passes_in_float64(check: Check[T], subject: T) -> bool:
    """Whether a failed check passes if tensors without a dtype are float64, like the data."""
    if not is_dataclass(subject) or isinstance(subject, type):
        return False
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        return check.run(replace(subject)) is None  # a copy without cached fits
    except Exception:
        return False
    finally:
        torch.set_default_dtype(before)


def describe_error(error: Exception) -> str:
    """Describe an exception and where it was raised.

    The location is the last line in the subject's own code if possible, not in bnnbench or a
    library that it calls.
    """
    frames = extract_tb(error.__traceback__)
    own_frames = [frame for frame in frames if _is_own(frame)]
    frame_shown = (own_frames or list(frames))[-1]
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__} in {frame_shown.filename}, line {frame_shown.lineno}: {text}"


def _is_own(frame: FrameSummary) -> bool:
    """Whether a frame belongs to the subject's own code."""
    path = Path(frame.filename).resolve()
    libraries = {Path(get_paths()[name]).resolve() for name in ("purelib", "platlib", "stdlib")}
    return not any(folder in path.parents for folder in (PACKAGE, *libraries))


def bitwise_equal(a: Tensor, b: Tensor) -> bool:
    """Whether all elements of two tensors are equal, including NaN."""
    return a.shape == b.shape and bool(((a == b) | (a.isnan() & b.isnan())).all())


def difference(a: Tensor, b: Tensor, rtol: float, atol: float) -> str | None:
    """Describe the maximal difference of two tensors; None if it is within the tolerance."""
    if a.shape != b.shape:
        return f"shapes {list(a.shape)} and {list(b.shape)}"
    if torch.allclose(a, b, rtol, atol, equal_nan=True):
        return None
    return f"by up to {(a - b).abs().max().item():.2g}"
