"""Recommend a method for a data set, with the probability that others are as good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bnnbench.results.calibration import pit_values, total_deviation
from bnnbench.results.labels import labels
from bnnbench.results.metrics import BY_KEY
from bnnbench.results.pairing import MIN_COMMON_SPLITS
from bnnbench.results.reader import Runs
from bnnbench.results.run_files import exclude_diverged, read_predictions
from bnnbench.results.significance import DECISION_PROBABILITY, ROPE, all_pairs

SCORE = "log_likelihood"
"""Methods are chosen by this metric because it rewards both accuracy and calibration."""

LEVEL = 0.9
"""Of the intervals whose coverage is reported."""


@dataclass(frozen=True)
class Rival:
    """A method compared with the one that has the best mean score.

    Attributes:
        name: its label.
        better: probability that the best is better by more than the ROPE.
        equivalent: probability that the two are practically equivalent.
        worse: probability that the best is worse by more than the ROPE.
    """

    name: str
    better: float
    equivalent: float
    worse: float

    @property
    def tied(self) -> bool:
        """Whether the splits do not show that it is worse than the best."""
        return self.better <= DECISION_PROBABILITY


@dataclass(frozen=True)
class Coverage:
    """Fractions of test targets inside the 90 % interval, not recalibrated.

    Attributes:
        whole: of all test points.
        thirds: of the thirds with the smallest, medium and largest predicted deviation.
    """

    whole: float
    thirds: tuple[float, float, float]

    def __str__(self) -> str:
        low, middle, high = self.thirds
        return (
            f"{self.whole:.0%} of the test targets: {low:.0%}, {middle:.0%} and {high:.0%} in the "
            "thirds of the rows with the smallest, medium and largest predicted deviation"
        )


@dataclass(frozen=True)
class Recommendation:
    """The recommendation for one data set.

    Attributes:
        dataset: name of the data set.
        best: label of the method with the best mean score.
        run: digest of its run.
        score: mean and standard error of its score.
        rivals: the other methods that a t-test could compare with it, closest first.
        incomparable: methods that share too few splits with it.
    """

    dataset: str
    best: str
    run: str
    score: tuple[float, float]
    rivals: tuple[Rival, ...]
    incomparable: tuple[str, ...]

    def sentences(self, coverage: Coverage | None) -> list[str]:
        """Return the recommendation in words, with the `coverage` of the best method."""
        mean, error = self.score
        ties = [_describe(rival) for rival in self.rivals if rival.tied]
        worse = [rival.name for rival in self.rivals if not rival.tied]
        parts: list[tuple[object, str]] = [
            (
                True,
                f"{self.dataset}: {self.best} has the best {BY_KEY[SCORE].inline_title}, "
                f"{mean:.3f} ± {error:.3f} (mean ± standard error over splits).",
            ),
            (ties, f"Not significantly worse: {_join(ties)}."),
            (worse, f"Worse with probability over {DECISION_PROBABILITY:.0%}: {_join(worse)}."),
            (
                self.incomparable,
                f"Not compared (fewer than {MIN_COMMON_SPLITS} common splits): "
                f"{_join(self.incomparable)}.",
            ),
            (
                coverage is not None,
                f"The 90 % intervals of {self.best} contain {coverage}.",
            ),
        ]
        return [sentence for applies, sentence in parts if applies]


def recommendation(runs: Runs, rope: float = ROPE) -> Recommendation:
    """Compare the runs on one data set by the correlated t-test.

    `rope` is the half-width of the region of practical equivalence, nats.
    """
    table = runs.scored
    table = table[table[f"{SCORE}_mean"].notna()].sort_values(f"{SCORE}_mean", ascending=False)
    names = labels(table)
    best = str(table.index[0])
    pairs = all_pairs(runs, rope)
    pairs = pairs[pairs["metric"] == SCORE]
    candidates = [_rival(pair, best, names) for _, pair in pairs.iterrows()]
    rivals = sorted((r for r in candidates if r is not None), key=lambda r: r.better)
    compared = {names[best], *(rival.name for rival in rivals)}
    return Recommendation(
        str(table["dataset"].iloc[0]),
        str(names[best]),
        best,
        (float(table[f"{SCORE}_mean"].iloc[0]), float(table[f"{SCORE}_stderr"].iloc[0])),
        tuple(rivals),
        tuple(name for name in names if name not in compared),
    )


def coverage_by_deviation(runs: Runs, run: str) -> Coverage | None:
    """Compute the coverage of a run's 90 % intervals over the test points of all its splits.

    Returns:
        None if the run has no predictions.
    """
    points = read_predictions(runs.folders[run])
    if points is None:
        return None
    points = exclude_diverged(points, runs.splits[runs.splits["run"] == run])
    inside = np.abs(2 * pit_values(points) - 1) <= LEVEL
    order = np.argsort(total_deviation(points), kind="stable")
    low, middle, high = (float(inside[third].mean()) for third in np.array_split(order, 3))
    return Coverage(float(inside.mean()), (low, middle, high))


def _rival(pair: pd.Series, best: str, names: pd.Series) -> Rival | None:
    """Return the run compared with the best; None if the pair does not contain the best."""
    chances = (pair["p_better"], pair["p_equivalent"], pair["p_worse"])
    for own, other, order in (("run_a", "run_b", 1), ("run_b", "run_a", -1)):
        if pair[own] == best and pair[other] in names:
            return Rival(str(names[pair[other]]), *chances[::order])
    return None


def _describe(rival: Rival) -> str:
    if rival.equivalent > DECISION_PROBABILITY:
        return f"{rival.name} (equal within {ROPE:g} nats with probability {rival.equivalent:.2f})"
    return f"{rival.name} (worse with probability {rival.better:.2f})"


def _join(names: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
