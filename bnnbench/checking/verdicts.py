"""What a check is, and what comes of several."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from sysconfig import get_paths
from traceback import FrameSummary, extract_tb
from typing import Generic, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")

OURS = Path(__file__).parents[1]


@dataclass(frozen=True)
class Check(Generic[T]):
    """One clause of a contract.

    Attributes:
        name: what holds if it does.
        find: what is wrong with a subject, a sentence; None if nothing is.
        basic: whether those after it rest on it, and would say what is not so.
    """

    name: str
    find: Callable[[T], str | None]
    basic: bool = False


@dataclass(frozen=True)
class Verdict:
    """What came of a check.

    Attributes:
        name: of the check.
        fault: what is wrong; None if nothing is.
        tried: whether it was, which it is not after a basic check that failed.
    """

    name: str
    fault: str | None = None
    tried: bool = True


def verdicts(checks: Sequence[Check[T]], subject: T) -> Iterator[Verdict]:
    """What comes of the checks, one by one; the rest is not tried where a basic one fails."""
    resting = True
    for check in checks:
        verdict = tried(check, subject) if resting else Verdict(check.name, tried=False)
        resting = resting and not (check.basic and verdict.fault)
        yield verdict


def tried(check: Check[T], subject: T) -> Verdict:
    """What comes of one; an exception is a fault, with the line where it arose."""
    try:
        return Verdict(check.name, check.find(subject))
    except Exception as error:
        return Verdict(check.name, f"it ended with {said(error)}")


def said(error: Exception) -> str:
    """An exception and its place, in a file that is neither ours nor a library's if there is one.

    Where the subject calls a library wrongly, its author looks for the call.
    """
    frames = extract_tb(error.__traceback__)
    own = [frame for frame in frames if _is_own(frame)]
    place = (own or list(frames))[-1]
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__} in {place.filename}, line {place.lineno}: {text}"


def _is_own(frame: FrameSummary) -> bool:
    """Whether a line is of the subject's author."""
    path = Path(frame.filename)
    libraries = {Path(get_paths()[name]) for name in ("purelib", "platlib", "stdlib")}
    return not any(place in path.parents for place in (OURS, *libraries))


def equal(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors have the same bits in every place, NaN included."""
    return a.shape == b.shape and bool(((a == b) | (a.isnan() & b.isnan())).all())


def apart(a: Tensor, b: Tensor, rtol: float, atol: float) -> str | None:
    """By how much two tensors differ at most, in words; None if no more than rounding does."""
    if a.shape != b.shape:
        return f"shapes {list(a.shape)} and {list(b.shape)}"
    if torch.allclose(a, b, rtol, atol, equal_nan=True):
        return None
    return f"by up to {(a - b).abs().max().item():.2g}"
