"""Claims of chapter 3 that its running example can test, checked on the saved tables of a run."""

from __future__ import annotations

import numpy as np

from bnnbench.results.answers import value_of
from bnnbench.results.claims import CheckResult, Claims, NotTestable
from bnnbench.suites.inference_toys.checks import combine, for_every
from bnnbench.suites.inference_toys.noise_precision import names
from bnnbench.suites.inference_toys.noise_precision.saved_run import NoisePrecisionRun, select
from bnnbench.suites.inference_toys.sources import BOOK

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

STDS = "the standard deviations of noise precision and weight"
AGREES_WITH_CAVI = (
    "mean and standard deviation of the noise precision are within a relative "
    f"{RELATIVE_TOLERANCE:g} of CAVI's at the lowest power"
)

claims = Claims()


def _require_joint(run: NoisePrecisionRun) -> None:
    if not run.joint:
        raise NotTestable("tested only for target=joint")


def _require_updates(run: NoisePrecisionRun, approximation: str, *settings: str) -> None:
    if any(run.skipped_all_updates(approximation, setting) for setting in settings):
        raise NotTestable("every update was skipped")


@claims(
    "Coordinate ascent never decreases the evidence lower bound, which stays below log p(y)",
    source=f"{BOOK}, 3.2.1.4, (3.6), (3.7)",
    rule=f"no update of CAVI decreases the bound by more than {ROUNDING_TOLERANCE:g} nats, and the "
    "bound never exceeds log p(y)",
)
def is_lower_bound(run: NoisePrecisionRun) -> CheckResult:
    _require_joint(run)
    bounds = run.trajectory(names.CAVI)["objective"].to_numpy()
    exact, changes = run.exact(names.EVIDENCE), np.diff(bounds)
    n_decreases = int((changes < -ROUNDING_TOLERANCE).sum())
    largest = f", by at most {-changes.min():.3g} nats" if n_decreases else ""
    evidence = (
        f"decreases in {n_decreases} of {len(changes)} updates{largest}; last bound "
        f"{bounds[-1]:.4f}, log p(y) {exact:.4f}"
    )
    return n_decreases == 0 and bool(bounds.max() <= exact + ROUNDING_TOLERANCE), evidence


@claims(
    "log p(y) is the sum of the lower bound and KL(q || posterior)",
    source=f"{BOOK}, (3.6)",
    rule=f"bound + KL is within {QUADRATURE_TOLERANCE:g} nats of log p(y) after every update of "
    "CAVI and at the end of ADVI and black-box VI",
)
def decomposes_evidence(run: NoisePrecisionRun) -> CheckResult:
    _require_joint(run)
    steps = run.trajectory(names.CAVI)
    keys = ((names.ADVI, names.MEAN_FIELD), (names.ADVI, names.FULL), (names.BLACK_BOX_VI, ""))
    sums = [
        *(steps["objective"] + steps["gap"]),
        *(sum(value_of(run.answers, q, *key) for q in (names.EVIDENCE, names.GAP)) for key in keys),
    ]
    error = float(np.abs(np.array(sums) - run.exact(names.EVIDENCE)).max())
    evidence = f"largest difference {error:.1e} nats over {len(sums)} cases"
    return error < QUADRATURE_TOLERANCE, evidence


@claims(
    "Mean-field VI underestimates the marginal variances",
    source=f"{BOOK}, 3.2.1.6, 3.3",
    rule=f"{STDS} are below the exact ones",
    approximation=names.CAVI,
    setting="",
    overestimates=False,
)
def misestimates_variance(
    run: NoisePrecisionRun, approximation: str, setting: str, overestimates: bool
) -> CheckResult:
    if approximation == names.CAVI:
        _require_joint(run)
    _require_updates(run, approximation, setting)
    quantities = (names.STD, names.WEIGHT_STD) if run.joint else (names.STD,)
    values = {name: value_of(run.answers, name, approximation, setting) for name in quantities}
    if approximation == names.ADF:
        orders = select(run.orders, names.ADF, setting)
        values[names.STD] = float(orders.loc[orders["order"] > 0, "std"].mean())
    results = []
    for name, value in values.items():
        exact = run.exact(name)
        evidence = f"{name.removeprefix('std of ')} {value:.4g}, exact {exact:.4g}"
        results.append((value > exact if overestimates else value < exact, evidence))
    return combine(results)


@claims(
    "ADF depends on the ordering of the factors; EP removes this dependence by cycling",
    source=f"{BOOK}, 3.2.2.3, 3.2.3",
    rule="over random orders, the standard deviation of ADF's mean exceeds "
    f"{MIN_RELATIVE_STD:g} exact standard deviations, and EP's means agree to a relative "
    f"{QUADRATURE_TOLERANCE:g}",
)
@for_every(lambda run: names.NORMALISERS)
def depends_on_order(run: NoisePrecisionRun, setting: str) -> CheckResult:
    _require_updates(run, names.ADF, setting)
    adf, ep = (select(run.orders, name, setting)["mean"] for name in (names.ADF, names.EP))
    std, ep_range = float(adf[1:].std()), float(np.ptp(ep) / ep.mean())
    holds = std > MIN_RELATIVE_STD * run.exact(names.STD) and ep_range < QUADRATURE_TOLERANCE
    return holds, f"{setting}: ADF ± {std:.2g}, EP within {ep_range:.0e}"


for _name, _section, _average in (
    (names.ADF, "3.2.2.3", " (mean over orders for ADF's noise precision)"),
    (names.EP, "3.3", ""),
):
    for _setting in names.NORMALISERS:
        claims(
            f"{_name} overestimates the marginal variances ({_setting})",
            source=f"{BOOK}, {_section}",
            rule=f"{STDS}{_average} exceed the exact ones",
            approximation=_name,
            setting=_setting,
            overestimates=True,
        )(misestimates_variance)


@claims(
    "Including the same factor repeatedly collapses the posterior into a point",
    source=f"{BOOK}, 3.2.3, Fig. 3.10",
    rule="every further inclusion of one observation decreases the standard deviation of the "
    "weight; with repeated ADF passes over the same data, the relative standard deviation of the "
    "noise precision falls below the exact one and still decreases in the last pass",
)
def collapses(run: NoisePrecisionRun) -> CheckResult:
    _require_updates(run, names.ADF, *names.NORMALISERS)
    exact = run.exact(names.STD) / run.exact(names.MEAN)
    single = run.repeated_inclusions(names.ONE_FACTOR)["std"].to_numpy()
    evidence = f"weight {single[0]:.3g} to {single[-1]:.3g} after {len(single)} inclusions"
    results = [(bool((np.diff(single) < 0).all()), evidence)]
    for setting in names.NORMALISERS:
        stds = run.repeated_inclusions(f"{names.ADF}, {setting}")["relative"].to_numpy()
        evidence = f"ADF, {setting}: {stds[0]:.3g} to {stds[-1]:.3g}"
        results.append((bool(stds[-1] < min(exact, stds[-2])), evidence))
    holds, evidence = combine(results)
    return holds, f"{evidence}, exact {exact:.3g}"


@claims(
    "An iteration of EP may increase its energy",
    source=f"{BOOK}, 3.2.3.4",
    rule="with at least one of both K, some pass increases EP's energy by more than "
    f"{QUADRATURE_TOLERANCE:g} nats",
)
def energy_can_increase(run: NoisePrecisionRun) -> CheckResult:
    _require_updates(run, names.EP, *names.NORMALISERS)
    evidence, largest = [], []
    for setting in names.NORMALISERS:
        changes = -np.diff(run.trajectory(names.EP, setting)["objective"])
        largest.append(max(0.0, float(np.nanmax(changes))))
        n_increases = int((changes > QUADRATURE_TOLERANCE).sum())
        evidence.append(
            f"{setting}: {n_increases} of {len(changes)} passes, by at most {largest[-1]:.2g}"
        )
    return max(largest) > QUADRATURE_TOLERANCE, "; ".join(evidence)


@claims(
    "Power EP interpolates between reverse KL at alpha = -1 and EP at alpha = 1",
    source=f"{BOOK}, 3.2.3.3",
    rule=f"{AGREES_WITH_CAVI} and within {QUADRATURE_TOLERANCE:g} of EP's (exact K) at power 1",
    approximation=names.POWER_EP,
    tolerance=QUADRATURE_TOLERANCE,
)
@claims(
    "Black-box alpha interpolates between VI and an algorithm similar to EP",
    source=f"{BOOK}, 3.2.4.2",
    rule=f"{AGREES_WITH_CAVI} and within {SIMILARITY_TOLERANCE:g} of EP's (exact K) at power 1",
    approximation=names.BLACK_BOX_ALPHA,
    tolerance=SIMILARITY_TOLERANCE,
)
def interpolates(run: NoisePrecisionRun, approximation: str, tolerance: float) -> CheckResult:
    _require_joint(run)
    _require_updates(run, names.EP, names.EXACT_K)
    table = run.powers[run.powers["approximation"] == approximation]
    lowest, highest = table.iloc[0], table.iloc[-1]
    if lowest["power"] > MAX_VI_POWER or highest["power"] < 1:
        raise NotTestable(f"needs power 1 and a power of at most {MAX_VI_POWER:g}")
    results = []
    for row, name, setting, limit in (
        (lowest, names.CAVI, "", RELATIVE_TOLERANCE),
        (highest, names.EP, names.EXACT_K, tolerance),
    ):
        mean, std = (value_of(run.answers, q, name, setting) for q in (names.MEAN, names.STD))
        error = max(abs(row["mean"] / mean - 1), abs(row["std"] / std - 1))
        numbers = f"{row['mean']:.4g} ± {row['std']:.4g}, {name} {mean:.4g} ± {std:.4g}"
        results.append((bool(error < limit), f"alpha {row['alpha']:.3g}: {numbers}"))
    return combine(results)
