"""Checks that differences between models lie within a margin."""

from __future__ import annotations

from collections.abc import Mapping

from bnnbench.experiment.store.answer_tables import Sample
from bnnbench.results.claims.claims import CheckResult
from bnnbench.results.claims.mean_tests import LEVEL, are_within, one_sample
from bnnbench.results.compare.significance import INTERVAL

EQUAL = (
    f"(with the whole {INTERVAL} of the t-test over repetitions; contradicted if the "
    f"margin is significantly exceeded, p below {LEVEL} after Holm's correction)"
)
"""Description of the tests in a rule."""


def check_margin(
    samples: Mapping[str, Sample], margin: float, below: bool = True, above: bool = True
) -> CheckResult:
    """Check whether differences, paired by repetition, lie within a margin, as `are_within`."""
    tests = map(one_sample, samples.values())
    evidence = "; ".join(f"{name}: {sample}" for name, sample in samples.items())
    return are_within(tests, margin, below=below, above=above), evidence
