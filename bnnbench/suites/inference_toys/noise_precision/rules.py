"""The rules by which the book's statements on its running example are checked on our numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bnnbench.results.answers import value_of
from bnnbench.results.claims import Finding
from bnnbench.suites.inference_toys.noise_precision import tables as words
from bnnbench.suites.inference_toys.noise_precision.run_tables import NoiseRun, chosen

ROUNDING = 1e-9
"""Nats that a bound may move by rounding alone."""

QUADRATURE = 1e-6
"""Nats, and relative differences of means, that two computations of one number may differ by."""

NOTICED = 1e-3
"""Of the exact standard deviation: what is less is no spread that shows."""

NEAR = 1e-2
"""Relative distance of numbers that are said to agree."""

SIMILAR = 0.1
"""Relative distance of numbers that are said to be similar."""

NO_WEIGHT: Finding = (None, "asked of target=joint alone")

STUCK: Finding = (None, "every update was refused")

SETTINGS = (words.GAUSSIAN_K, words.EXACT_K)


@dataclass(frozen=True)
class BoundHolds:
    """Whether coordinate ascent never lowers its bound, which never exceeds the log evidence."""

    rule: str = (
        f"no update of CAVI lowers the bound by more than {ROUNDING:g} nats, none exceeds log p(y)"
    )

    def find(self, given: NoiseRun) -> Finding:
        if not given.joint:
            return NO_WEIGHT
        bounds = given.way(words.CAVI)["objective"].to_numpy()
        exact, changes = given.exact(words.EVIDENCE), np.diff(bounds)
        falls = int((changes < -ROUNDING).sum())
        worst = f", at most by {-changes.min():.3g}" if falls else ""
        evidence = (
            f"falls in {falls} of {len(changes)} updates{worst}; last {bounds[-1]:.4f}, log p(y) "
            f"{exact:.4f}"
        )
        return falls == 0 and bool(bounds.max() <= exact + ROUNDING), evidence


@dataclass(frozen=True)
class Decomposes:
    """Whether bound plus KL is the log evidence, each computed by itself."""

    rule: str = (
        f"bound + KL is within {QUADRATURE:g} nats of log p(y) after every update of CAVI and at "
        "the end of ADVI and black-box VI"
    )

    def find(self, given: NoiseRun) -> Finding:
        if not given.joint:
            return NO_WEIGHT
        way, exact = given.way(words.CAVI), given.exact(words.EVIDENCE)
        sums = list(way["objective"] + way["gap"])
        for ends in ((words.ADVI, words.MEAN_FIELD), (words.ADVI, words.FULL), (words.SCORE, "")):
            values = (value_of(given.answers, name, *ends) for name in (words.EVIDENCE, words.GAP))
            sums.append(sum(values))
        worst = float(np.abs(np.array(sums) - exact).max())
        return worst < QUADRATURE, f"largest difference {worst:.1e} nats over {len(sums)} cases"


@dataclass(frozen=True)
class Variances:
    """Whether an algorithm's marginal variances are all too large, or all too small.

    Attributes:
        approximation: the algorithm.
        setting: under what; ADF's noise precision is the mean over its random orders.
        wider: whether too large is what is claimed.
    """

    approximation: str
    setting: str
    wider: bool

    @property
    def rule(self) -> str:
        claimed = "exceed" if self.wider else "fall short of"
        over = " (ADF: noise precision over orders)" if self.approximation == words.ADF else ""
        return f"the standard deviations of noise precision and weight{over} {claimed} exact ones"

    def find(self, given: NoiseRun) -> Finding:
        if self.approximation == words.CAVI and not given.joint:
            return NO_WEIGHT
        if given.stuck(self.approximation, self.setting):
            return STUCK
        values = {words.STD: self._std(given)}
        if given.joint:
            own = (words.WEIGHT_STD, self.approximation, self.setting)
            values[words.WEIGHT_STD] = value_of(given.answers, *own)
        held = [
            (value > given.exact(name)) if self.wider else (value < given.exact(name))
            for name, value in values.items()
        ]
        evidence = "; ".join(
            f"{name.removeprefix('std of ')} {value:.4g}, exact {given.exact(name):.4g}"
            for name, value in values.items()
        )
        return all(held), evidence

    def _std(self, given: NoiseRun) -> float:
        if self.approximation != words.ADF:
            return value_of(given.answers, words.STD, self.approximation, self.setting)
        ends = chosen(given.orders, words.ADF, self.setting)
        return float(ends.loc[ends["order"] > 0, "std"].mean())


@dataclass(frozen=True)
class DependsOnOrder:
    """Whether the order of the data matters to ADF and not to where EP comes to rest."""

    rule: str = (
        f"ADF's means have a standard deviation over random orders of more than {NOTICED:g} exact "
        f"standard deviations, EP's lie within {QUADRATURE:g} of each other"
    )

    def find(self, given: NoiseRun) -> Finding:
        if any(given.stuck(words.ADF, setting) for setting in SETTINGS):
            return STUCK
        exact, held, told = given.exact(words.STD), [], []
        for setting in SETTINGS:
            filtered, rested = (
                chosen(given.orders, name, setting)["mean"] for name in (words.ADF, words.EP)
            )
            spread = float(filtered[1:].std())
            apart = float(np.ptp(rested) / rested.mean())
            held.append(spread > NOTICED * exact and apart < QUADRATURE)
            told.append(f"{setting}: ADF ± {spread:.2g}, EP within {apart:.0e}")
        return all(held), "; ".join(told)


@dataclass(frozen=True)
class Collapses:
    """Whether including the same factors again and again makes the belief ever more certain."""

    rule: str = (
        "every further inclusion of one observation narrows the weight; passing the same data "
        "through ADF again and again, the noise precision's deviation relative to its mean falls "
        "below the exact one, and still does in the last pass"
    )

    def find(self, given: NoiseRun) -> Finding:
        if any(given.stuck(words.ADF, setting) for setting in SETTINGS):
            return STUCK
        exact = given.exact(words.STD) / given.exact(words.MEAN)
        single = given.again(words.ONE_FACTOR)["std"].to_numpy()
        held, told = [bool((np.diff(single) < 0).all())], []
        for setting in SETTINGS:
            own = given.again(f"{words.ADF}, {setting}")["relative"].to_numpy()
            held.append(bool(own[-1] < min(exact, own[-2])))
            told.append(f"ADF, {setting}: {own[0]:.3g} to {own[-1]:.3g}")
        shrunk = f"weight {single[0]:.3g} to {single[-1]:.3g} after {len(single)} inclusions"
        return all(held), f"{shrunk}; {'; '.join(told)}, exact {exact:.3g}"


@dataclass(frozen=True)
class EnergyRises:
    """Whether some pass of EP raises its energy, minus its estimate of the log evidence."""

    rule: str = f"with either K some pass raises EP's energy by more than {QUADRATURE:g} nats"

    def find(self, given: NoiseRun) -> Finding:
        if any(given.stuck(words.EP, setting) for setting in SETTINGS):
            return STUCK
        told, rises = [], []
        for setting in SETTINGS:
            changes = -np.diff(given.way(words.EP, setting)["objective"])
            rises.append(max(0.0, float(np.nanmax(changes))))
            raised = int((changes > QUADRATURE).sum())
            told.append(f"{setting}: {raised} of {len(changes)} passes, at most {rises[-1]:.2g}")
        return max(rises) > QUADRATURE, "; ".join(told)


@dataclass(frozen=True)
class Interpolates:
    """Whether an algorithm of powers leads from VI to EP.

    Attributes:
        approximation: power EP, or black-box alpha.
        tolerance: relative, of the far end from EP.
    """

    approximation: str
    tolerance: float

    @property
    def rule(self) -> str:
        return (
            f"mean and standard deviation of the noise precision are within {NEAR:g} of CAVI's at "
            f"the least power, within {self.tolerance:g} of EP's (exact K) at power 1"
        )

    def find(self, given: NoiseRun) -> Finding:
        if not given.joint:
            return NO_WEIGHT
        if given.stuck(words.EP, words.EXACT_K):
            return STUCK
        table = given.powers[given.powers["approximation"] == self.approximation]
        least, most = table.iloc[0], table.iloc[-1]
        if least["power"] > NEAR or most["power"] < 1:
            return None, f"needs powers of at most {NEAR:g} and 1"
        pairs = ((least, words.CAVI, "", NEAR), (most, words.EP, words.EXACT_K, self.tolerance))
        held, told = [], []
        for row, name, setting, tolerance in pairs:
            mean, std = (
                value_of(given.answers, quantity, name, setting)
                for quantity in (words.MEAN, words.STD)
            )
            off = max(abs(row["mean"] / mean - 1), abs(row["std"] / std - 1))
            held.append(off < tolerance)
            told.append(
                f"alpha {row['alpha']:.3g}: {row['mean']:.4g} ± {row['std']:.4g}, {name} "
                f"{mean:.4g} ± {std:.4g}"
            )
        return all(held), "; ".join(told)
