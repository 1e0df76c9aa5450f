"""Which of some methods to take for one data set, in words, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from bnnbench.results.labels import labels
from bnnbench.results.metrics import BY_KEY
from bnnbench.results.reader import Runs
from bnnbench.results.significance import DECIDED, ROPE, all_pairs

SCORE = "log_likelihood"
"""What methods are chosen by: it asks for the right mean and for the right uncertainty."""

INTERVAL = "coverage_90"


@dataclass(frozen=True)
class Rival:
    """A method beside the one with the best mean score.

    Attributes:
        name: its label.
        better: the probability that it is worse than the best by more than the ROPE.
        equivalent: the probability that the two are practically equivalent.
        worse: the probability that it is better by more than the ROPE.
    """

    name: str
    better: float
    equivalent: float
    worse: float

    @property
    def level(self) -> bool:
        """Whether it may be taken instead, for all that the splits can tell."""
        return self.better <= DECIDED


@dataclass(frozen=True)
class Recommendation:
    """The outcome for one data set.

    Attributes:
        dataset: its name.
        best: label of the method with the best mean score.
        run: its digest.
        score: mean and standard error of its score.
        rivals: the others that a t-test could compare with it, the nearest first.
        incomparable: those that it could not.
    """

    dataset: str
    best: str
    run: str
    score: tuple[float, float]
    rivals: tuple[Rival, ...]
    incomparable: tuple[str, ...]

    def sentences(self, coverage: Mapping[str, float]) -> list[str]:
        """The recommendation in words.

        Args:
            coverage: share of test targets inside the 90 % interval, by run.
        """
        mean, error = self.score
        title = BY_KEY[SCORE].word
        said = [
            f"{self.dataset}: {self.best} has the best {title}, {mean:.3f} ± {error:.3f} "
            "(mean ± standard error over splits)."
        ]
        level = [r for r in self.rivals if r.level]
        worse = [r.name for r in self.rivals if not r.level]
        if level:
            said.append(f"It may as well be {_listed([_chances(r) for r in level], 'or')}.")
        if worse:
            verb = "are" if len(worse) > 1 else "is"
            said.append(f"{_listed(worse, 'and')} {verb} worse, with more than {DECIDED:.0%}.")
        if self.incomparable:
            said.append(f"Of {_listed(self.incomparable, 'and')} nothing can be said.")
        if self.run in coverage:
            said.append(
                f"The 90 % intervals of {self.best} hold {coverage[self.run]:.0%} of the test "
                "targets."
            )
        return said


def recommendation(runs: Runs, rope: float = ROPE) -> Recommendation:
    """Compares the runs on one data set by the correlated t-test.

    Args:
        runs: of several methods on one data set.
        rope: half-width of the region of practical equivalence, nats.
    """
    table = runs.scored
    table = table[table[f"{SCORE}_mean"].notna()].sort_values(f"{SCORE}_mean", ascending=False)
    names = labels(table)
    best = str(table.index[0])
    pairs = all_pairs(runs, rope)
    pairs = pairs[pairs["metric"] == SCORE]
    found = [_rival(pair, best, names) for _, pair in pairs.iterrows()]
    rivals = sorted((r for r in found if r is not None), key=lambda r: r.better)
    compared = {names[best], *(rival.name for rival in rivals)}
    return Recommendation(
        str(table["dataset"].iloc[0]),
        str(names[best]),
        best,
        (float(table[f"{SCORE}_mean"].iloc[0]), float(table[f"{SCORE}_stderr"].iloc[0])),
        tuple(rivals),
        tuple(name for name in names if name not in compared),
    )


def coverages(runs: Runs) -> dict[str, float]:
    """The share of test targets inside the 90 % interval of each run, as it predicts."""
    found = {}
    for run, table in runs.calibrations.items():
        plain = table[table["recalibration"] == "none"]
        found[run] = float(plain[INTERVAL].mean())
    return found


def _rival(pair: pd.Series, best: str, names: pd.Series) -> Rival | None:
    """The other of a pair, seen from the best; None if that is not in it."""
    chances = (pair["p_better"], pair["p_equivalent"], pair["p_worse"])
    if pair["run_a"] == best and pair["run_b"] in names:
        return Rival(str(names[pair["run_b"]]), *chances)
    if pair["run_b"] == best and pair["run_a"] in names:
        return Rival(str(names[pair["run_a"]]), *chances[::-1])
    return None


def _chances(rival: Rival) -> str:
    if rival.equivalent > DECIDED:
        return f"{rival.name} (equal within {ROPE:g} nats with probability {rival.equivalent:.2f})"
    return f"{rival.name} (worse with probability {rival.better:.2f})"


def _listed(names: Sequence[str], word: str) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"
