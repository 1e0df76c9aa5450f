"""Rules that check the book's claims about its running example on a run's results."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bnnbench.results.answers import value_of
from bnnbench.results.claims import CheckResult
from bnnbench.suites.inference_toys.noise_precision import names
from bnnbench.suites.inference_toys.noise_precision.saved_run import NoisePrecisionRun, select

ROUNDING_TOLERANCE = 1e-9
"""Rounding error allowed in a bound, nats."""

QUADRATURE_TOLERANCE = 1e-6
"""Difference allowed between two computations of one number: nats, or relative for means."""

MIN_RELATIVE_STD = 1e-3
"""Standard deviation over orders, relative to the exact one, that counts as dependence."""

RELATIVE_TOLERANCE = 1e-2
"""Relative difference within which numbers agree."""

MAX_VI_POWER = 1e-2
"""Largest power close enough to 0 to be compared with VI."""

SIMILARITY_TOLERANCE = 0.1
"""Relative difference within which numbers are similar."""

JOINT_ONLY: CheckResult = (None, "tested only for target=joint")

ALL_SKIPPED: CheckResult = (None, "every update was skipped")

SETTINGS = (names.GAUSSIAN_K, names.EXACT_K)


@dataclass(frozen=True)
class IsLowerBound:
    """Coordinate ascent never decreases its bound, which never exceeds the log evidence."""

    rule: str = (
        f"no update of CAVI decreases the bound by more than {ROUNDING_TOLERANCE:g} nats, and the "
        "bound never exceeds log p(y)"
    )

    def check(self, run: NoisePrecisionRun) -> CheckResult:
        if not run.joint:
            return JOINT_ONLY
        bounds = run.trajectory(names.CAVI)["objective"].to_numpy()
        exact, changes = run.exact(names.EVIDENCE), np.diff(bounds)
        n_decreases = int((changes < -ROUNDING_TOLERANCE).sum())
        largest = f", by at most {-changes.min():.3g} nats" if n_decreases else ""
        evidence = (
            f"decreases in {n_decreases} of {len(changes)} updates{largest}; last bound "
            f"{bounds[-1]:.4f}, log p(y) {exact:.4f}"
        )
        return n_decreases == 0 and bool(bounds.max() <= exact + ROUNDING_TOLERANCE), evidence


@dataclass(frozen=True)
class DecomposesEvidence:
    """Bound plus KL, computed independently, is the log evidence."""

    rule: str = (
        f"bound + KL is within {QUADRATURE_TOLERANCE:g} nats of log p(y) after every update of "
        "CAVI and at the end of ADVI and black-box VI"
    )

    def check(self, run: NoisePrecisionRun) -> CheckResult:
        if not run.joint:
            return JOINT_ONLY
        steps, exact = run.trajectory(names.CAVI), run.exact(names.EVIDENCE)
        sums = list(steps["objective"] + steps["gap"])
        keys = (
            (names.ADVI, names.MEAN_FIELD),
            (names.ADVI, names.FULL),
            (names.BLACK_BOX_VI, ""),
        )
        for key in keys:
            values = (value_of(run.answers, name, *key) for name in (names.EVIDENCE, names.GAP))
            sums.append(sum(values))
        error = float(np.abs(np.array(sums) - exact).max())
        evidence = f"largest difference {error:.1e} nats over {len(sums)} cases"
        return error < QUADRATURE_TOLERANCE, evidence


@dataclass(frozen=True)
class MisestimatesVariance:
    """An algorithm overestimates, or underestimates, both marginal variances.

    Attributes:
        approximation: the algorithm.
        setting: its setting.
        overestimates: whether the claim is that variances are too large.
    """

    approximation: str
    setting: str
    overestimates: bool

    @property
    def rule(self) -> str:
        comparison = "exceed" if self.overestimates else "are below"
        average = " (mean over orders for ADF's noise precision)"
        return (
            "the standard deviations of noise precision and weight"
            f"{average if self.approximation == names.ADF else ''} {comparison} the exact ones"
        )

    def check(self, run: NoisePrecisionRun) -> CheckResult:
        if self.approximation == names.CAVI and not run.joint:
            return JOINT_ONLY
        if run.skipped_all_updates(self.approximation, self.setting):
            return ALL_SKIPPED
        values = {names.STD: self._std(run)}
        if run.joint:
            key = (names.WEIGHT_STD, self.approximation, self.setting)
            values[names.WEIGHT_STD] = value_of(run.answers, *key)
        holds = [
            (value > run.exact(name)) if self.overestimates else (value < run.exact(name))
            for name, value in values.items()
        ]
        evidence = "; ".join(
            f"{name.removeprefix('std of ')} {value:.4g}, exact {run.exact(name):.4g}"
            for name, value in values.items()
        )
        return all(holds), evidence

    def _std(self, run: NoisePrecisionRun) -> float:
        if self.approximation != names.ADF:
            return value_of(run.answers, names.STD, self.approximation, self.setting)
        orders = select(run.orders, names.ADF, self.setting)
        return float(orders.loc[orders["order"] > 0, "std"].mean())


@dataclass(frozen=True)
class DependsOnOrder:
    """ADF depends on the order of the data, the fixed point of EP does not."""

    rule: str = (
        "over random orders, the standard deviation of ADF's mean exceeds "
        f"{MIN_RELATIVE_STD:g} exact standard deviations, and EP's means agree to a relative "
        f"{QUADRATURE_TOLERANCE:g}"
    )

    def check(self, run: NoisePrecisionRun) -> CheckResult:
        if any(run.skipped_all_updates(names.ADF, setting) for setting in SETTINGS):
            return ALL_SKIPPED
        exact, holds, evidence = run.exact(names.STD), [], []
        for setting in SETTINGS:
            adf, ep = (select(run.orders, name, setting)["mean"] for name in (names.ADF, names.EP))
            std = float(adf[1:].std())
            ep_range = float(np.ptp(ep) / ep.mean())
            holds.append(std > MIN_RELATIVE_STD * exact and ep_range < QUADRATURE_TOLERANCE)
            evidence.append(f"{setting}: ADF ± {std:.2g}, EP within {ep_range:.0e}")
        return all(holds), "; ".join(evidence)


@dataclass(frozen=True)
class Collapses:
    """Including the same factors repeatedly makes the belief ever more certain."""

    rule: str = (
        "every further inclusion of one observation decreases the standard deviation of the "
        "weight; with repeated ADF passes over the same data, the relative standard deviation of "
        "the noise precision falls below the exact one and still decreases in the last pass"
    )

    def check(self, run: NoisePrecisionRun) -> CheckResult:
        if any(run.skipped_all_updates(names.ADF, setting) for setting in SETTINGS):
            return ALL_SKIPPED
        exact = run.exact(names.STD) / run.exact(names.MEAN)
        single = run.repeated_inclusions(names.ONE_FACTOR)["std"].to_numpy()
        holds = [bool((np.diff(single) < 0).all())]
        evidence = [f"weight {single[0]:.3g} to {single[-1]:.3g} after {len(single)} inclusions"]
        for setting in SETTINGS:
            stds = run.repeated_inclusions(f"{names.ADF}, {setting}")["relative"].to_numpy()
            holds.append(bool(stds[-1] < min(exact, stds[-2])))
            evidence.append(f"ADF, {setting}: {stds[0]:.3g} to {stds[-1]:.3g}")
        return all(holds), f"{'; '.join(evidence)}, exact {exact:.3g}"


@dataclass(frozen=True)
class EnergyCanIncrease:
    """A pass of EP can increase its energy, the negative estimate of the log evidence."""

    rule: str = (
        "with at least one of both K, some pass increases EP's energy by more than "
        f"{QUADRATURE_TOLERANCE:g} nats"
    )

    def check(self, run: NoisePrecisionRun) -> CheckResult:
        if any(run.skipped_all_updates(names.EP, setting) for setting in SETTINGS):
            return ALL_SKIPPED
        evidence, largest = [], []
        for setting in SETTINGS:
            changes = -np.diff(run.trajectory(names.EP, setting)["objective"])
            largest.append(max(0.0, float(np.nanmax(changes))))
            n_increases = int((changes > QUADRATURE_TOLERANCE).sum())
            evidence.append(
                f"{setting}: {n_increases} of {len(changes)} passes, by at most {largest[-1]:.2g}"
            )
        return max(largest) > QUADRATURE_TOLERANCE, "; ".join(evidence)


@dataclass(frozen=True)
class Interpolates:
    """An algorithm with powers interpolates between VI and EP.

    Attributes:
        approximation: power EP or black-box alpha.
        tolerance: relative difference from EP allowed at power 1.
    """

    approximation: str
    tolerance: float

    @property
    def rule(self) -> str:
        return (
            "mean and standard deviation of the noise precision are within a relative "
            f"{RELATIVE_TOLERANCE:g} of CAVI's at the lowest power and within {self.tolerance:g} "
            "of EP's (exact K) at power 1"
        )

    def check(self, run: NoisePrecisionRun) -> CheckResult:
        if not run.joint:
            return JOINT_ONLY
        if run.skipped_all_updates(names.EP, names.EXACT_K):
            return ALL_SKIPPED
        table = run.powers[run.powers["approximation"] == self.approximation]
        lowest, highest = table.iloc[0], table.iloc[-1]
        if lowest["power"] > MAX_VI_POWER or highest["power"] < 1:
            return None, f"needs power 1 and a power of at most {MAX_VI_POWER:g}"
        cases = (
            (lowest, names.CAVI, "", RELATIVE_TOLERANCE),
            (highest, names.EP, names.EXACT_K, self.tolerance),
        )
        holds, evidence = [], []
        for row, name, setting, tolerance in cases:
            mean, std = (
                value_of(run.answers, quantity, name, setting)
                for quantity in (names.MEAN, names.STD)
            )
            error = max(abs(row["mean"] / mean - 1), abs(row["std"] / std - 1))
            holds.append(error < tolerance)
            evidence.append(
                f"alpha {row['alpha']:.3g}: {row['mean']:.4g} ± {row['std']:.4g}, {name} "
                f"{mean:.4g} ± {std:.4g}"
            )
        return all(holds), "; ".join(evidence)
