"""Components that `bnnbench check` tests, built from a configuration, with their checks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from bnnbench.checking.as_in_runs import LEAKAGE
from bnnbench.checking.checks import CheckResult, run_checks
from bnnbench.checking.data_set import DATA_SET, SourceUnderTest
from bnnbench.checking.divergence import DIVERGENCE
from bnnbench.checking.method import METHOD
from bnnbench.checking.small_fits import HYPER, MethodUnderTest
from bnnbench.config.assemble import available_inputs
from bnnbench.config.group_checks import check_groups, check_method_components
from bnnbench.config.instantiate import Config, check_type, instantiate
from bnnbench.data import Source
from bnnbench.divergences.base import Divergence
from bnnbench.methods.shared.contract import Method
from bnnbench.results.reference.slowdown import describe_lost_native
from bnnbench.types import DuplicateConfiguration, UserError

PRECISION = (
    "checked in float64 on the CPU, so that rounding hides no difference; one test repeats the fit "
    "in float32, as runs compute it (training.dtype); runs may also use a GPU (device)"
)
"""Types and devices in the checks of a method, with the reasons."""


class Subject(NamedTuple):
    """A component to check.

    Attributes:
        cls: its class.
        notes: remarks on the checks, sentences without a full stop.
        results: results of its tests, computed lazily.
    """

    cls: type
    notes: tuple[str, ...]
    results: Iterator[CheckResult]


def make_subject(group: str, config: Config) -> Subject:
    """Instantiate the chosen option of a group.

    Args:
        group: `method`, `dataset` or `divergence`.
        config: a composed configuration.

    Raises:
        UserError: if that fails, or it is not a component of this group.
    """
    check_groups(config)
    inputs = available_inputs(config)
    made = instantiate(group, inputs[group])
    kinds = {"method": Method, "dataset": Source, "divergence": Divergence}
    check_type(group, made, kinds[group])
    notes: tuple[str, ...] = ()
    if group == "dataset":
        results = run_checks(DATA_SET, SourceUnderTest(made))
    elif group == "divergence":
        results = run_checks(DIVERGENCE, made)
    else:
        with suppress(DuplicateConfiguration):  # the method may take no divergence
            check_method_components(inputs, type(made))
        values = _tried_values(made, inputs["bounds"])
        results = run_checks((*METHOD, LEAKAGE), MethodUnderTest(made, values))
        notes = (PRECISION, *filter(None, [describe_lost_native(made)]))
    return Subject(type(made), notes, results)


def _tried_values(method: Method, bounds: Mapping[str, list[float]]) -> dict[str, float]:
    """Return values of fixed hyper-parameters, and of unusual ones in the middle of their bounds.

    Raises:
        UserError: if one has neither a value nor bounds.
    """
    fixed = method.fixed_hyper()
    searched = [name for name in method.hyper_names if name not in (*fixed, *HYPER)]
    for name in searched:
        if name not in bounds:
            raise UserError(
                f"method={method.label} has no bounds for the search of {name}: add "
                f"{name}: [LOW, HIGH] to protocol.bounds in its YAML file.",
                f"method.protocol.bounds.{name}",
                "missing",
            )
    return {**fixed, **{name: math.sqrt(math.prod(bounds[name])) for name in searched}}
