"""Claims of chapter 3 that its running example can test, checked on the saved tables of a run."""

from __future__ import annotations

from itertools import product

import numpy as np

from bnnbench.experiment.store.answer_tables import ANSWERS
from bnnbench.results.claims.claims import CheckResult, Claims, NotTestable
from bnnbench.results.claims.saved_run import SavedRun, run_reader
from bnnbench.suites.inference_toys.noise_precision import tables
from bnnbench.suites.inference_toys.pages.shared import BOOK, combine, exact_value, for_every

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

read_run = run_reader(
    {
        # The data.
        tables.POINTS: ("input", "target"),
        # Densities of the noise precision.
        tables.DENSITIES: ("noise_precision", "density"),
        # Steps of every algorithm; the objective is a bound or an estimate of the log evidence.
        tables.STEPS: ("step", "mean", "objective"),
        # Results for every order of the data; order 0 is that of the data.
        tables.ORDERS: ("order", "mean", "std"),
        # Repeated inclusion of the same factors: moments of the noise precision, or of the weight.
        tables.REPEATED: ("inclusions", "mean", "std"),
        # Power EP and black-box alpha.
        tables.POWERS: ("power", "alpha", "mean", "std", "weight_std", "log_evidence"),
        # Standard deviation of the weight by black-box alpha, with known noise precision.
        tables.SIZES: ("observations", "power", "weight_std", "exact"),
    }
)


@claims(
    "Every update of coordinate ascent with (3.29) as printed raises the evidence lower bound",
    source=f"{BOOK}, (3.28), (3.29)",
    rule=f"no update of CAVI decreases the bound by more than {ROUNDING_TOLERANCE:g} nats",
)
def printed_update_raises_bound(run: SavedRun) -> CheckResult:
    steps = run.rows(tables.STEPS, approximation=tables.CAVI, setting=tables.AS_PRINTED)
    bounds, changes = steps["objective"].to_numpy(), np.diff(steps["objective"])
    n_decreases = int((changes < -ROUNDING_TOLERANCE).sum())
    largest = f", by at most {-changes.min():.3g} nats" if n_decreases else ""
    evidence = (
        f"decreases in {n_decreases} of {len(changes)} updates{largest}; last bound "
        f"{bounds[-1]:.4f}, log p(y) {exact_value(run, tables.EVIDENCE):.4f}"
    )
    return n_decreases == 0, evidence


@claims(
    "The shape by (3.56) as printed is that of a Gamma distribution",
    source=f"{BOOK}, (3.55), (3.56)",
    rule="ADF and EP in the order of the data skip no update because its result is improper",
)
def printed_shape_is_proper(run: SavedRun) -> CheckResult:
    skipped = run.rows(ANSWERS, quantity=tables.SKIPPED)
    skipped = skipped[skipped["setting"].str.endswith(tables.AS_PRINTED)]
    numbers = (
        f"{row.approximation}, {row.setting}: {row.value:.0f}" for row in skipped.itertuples()
    )
    evidence = f"updates skipped of {len(run[tables.POINTS])}: {'; '.join(numbers) or 'none'}"
    return skipped.empty, evidence


@claims(
    "Mean-field VI underestimates the marginal variances",
    source=f"{BOOK}, 3.2.1.6, 3.3",
    rule=f"{STDS} are below the exact ones",
    approximation=tables.CAVI,
    setting="",
    overestimates=False,
)
def misestimates_variance(
    run: SavedRun, approximation: str, setting: str, overestimates: bool
) -> CheckResult:
    stds = (tables.STD, tables.WEIGHT_STD)
    values = {name: run.value(name, approximation, setting) for name in stds}
    if approximation == tables.ADF:
        orders = run.rows(tables.ORDERS, approximation=tables.ADF, setting=setting)
        values[tables.STD] = float(orders.loc[orders["order"] > 0, "std"].mean())
    results = []
    for name, value in values.items():
        exact = exact_value(run, name)
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
@for_every(lambda run: product([run], tables.NORMALISERS))
def depends_on_order(run: SavedRun, setting: str) -> CheckResult:
    adf, ep = (
        run.rows(tables.ORDERS, approximation=name, setting=setting)["mean"]
        for name in (tables.ADF, tables.EP)
    )
    std, ep_range = float(adf[1:].std()), float(np.ptp(ep) / ep.mean())
    depends = std > MIN_RELATIVE_STD * exact_value(run, tables.STD)
    evidence = (
        f"{setting}: sd of the means of ADF over orders {std:.2g}, those of EP within "
        f"{ep_range:.0e}"
    )
    return depends and ep_range < QUADRATURE_TOLERANCE, evidence


for _name, _section, _average in (
    (tables.ADF, "3.2.2.3", " (mean over orders for ADF's noise precision)"),
    (tables.EP, "3.3", ""),
):
    for _setting in tables.NORMALISERS:
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
def collapses(run: SavedRun) -> CheckResult:
    exact = exact_value(run, tables.STD) / exact_value(run, tables.MEAN)
    single = run.rows(tables.REPEATED, factors=tables.ONE_FACTOR)["std"].to_numpy()
    evidence = (
        f"std of weight from {single[0]:.3g} to {single[-1]:.3g} after {len(single)} inclusions"
    )
    results = [(bool((np.diff(single) < 0).all()), evidence)]
    for setting in tables.NORMALISERS:
        rows = run.rows(tables.REPEATED, factors=f"{tables.ADF}, {setting}")
        stds = (rows["std"] / rows["mean"]).to_numpy()
        evidence = f"ADF, {setting}: relative std from {stds[0]:.3g} to {stds[-1]:.3g}"
        results.append((bool(stds[-1] < min(exact, stds[-2])), evidence))
    holds, evidence = combine(results)
    return holds, f"{evidence}, exact {exact:.3g}"


@claims(
    "An iteration of EP may increase its energy",
    source=f"{BOOK}, 3.2.3.4",
    rule="with at least one of both K, some pass increases EP's energy by more than "
    f"{QUADRATURE_TOLERANCE:g} nats",
)
def energy_can_increase(run: SavedRun) -> CheckResult:
    evidence, largest = [], []
    for setting in tables.NORMALISERS:
        steps = run.rows(tables.STEPS, approximation=tables.EP, setting=setting)
        changes = -np.diff(steps["objective"])
        largest.append(max(0.0, float(np.nanmax(changes))))
        n_increases = int((changes > QUADRATURE_TOLERANCE).sum())
        evidence.append(
            f"{setting}: in {n_increases} of {len(changes)} passes, by at most {largest[-1]:.2g}"
        )
    return max(largest) > QUADRATURE_TOLERANCE, "; ".join(evidence)


@claims(
    "Power EP interpolates between reverse KL at alpha = -1 and EP at alpha = 1",
    source=f"{BOOK}, 3.2.3.3",
    rule=f"{AGREES_WITH_CAVI} and within {QUADRATURE_TOLERANCE:g} of EP's (exact K) at power 1",
    approximation=tables.POWER_EP,
    tolerance=QUADRATURE_TOLERANCE,
)
@claims(
    "Black-box alpha interpolates between VI and an algorithm similar to EP",
    source=f"{BOOK}, 3.2.4.2",
    rule=f"{AGREES_WITH_CAVI} and within {SIMILARITY_TOLERANCE:g} of EP's (exact K) at power 1",
    approximation=tables.BLACK_BOX_ALPHA,
    tolerance=SIMILARITY_TOLERANCE,
)
def interpolates(run: SavedRun, approximation: str, tolerance: float) -> CheckResult:
    table = run.rows(tables.POWERS, approximation=approximation)
    lowest, highest = table.iloc[0], table.iloc[-1]
    if lowest["power"] > MAX_VI_POWER or highest["power"] < 1:
        raise NotTestable(f"needs power 1 and a power of at most {MAX_VI_POWER:g}")
    results = []
    for row, name, setting, limit in (
        (lowest, tables.CAVI, "", RELATIVE_TOLERANCE),
        (highest, tables.EP, tables.EXACT_K, tolerance),
    ):
        mean, std = (run.value(quantity, name, setting) for quantity in (tables.MEAN, tables.STD))
        error = max(abs(row["mean"] / mean - 1), abs(row["std"] / std - 1))
        numbers = f"{row['mean']:.4g} (sd {row['std']:.4g}), {name} {mean:.4g} (sd {std:.4g})"
        results.append((bool(error < limit), f"alpha {row['alpha']:.3g}: {numbers}"))
    return combine(results)


@claims(
    "The fixed points of black-box alpha and power EP become equal in the limit of infinite data",
    source=f"{BOOK}, 3.2.4.2",
    rule="with known noise precision (power EP is then exact) and alpha = 0, the standard "
    f"deviation of the weight is within a relative {RELATIVE_TOLERANCE:g} of the exact one for the "
    "largest number of observations",
)
def approaches_power_ep(run: SavedRun) -> CheckResult:
    table = run[tables.SIZES]
    ratios = table["weight_std"] / table["exact"]
    numbers = zip(ratios, table["observations"], strict=True)
    evidence = ", ".join(f"{ratio:.3g} (N = {size})" for ratio, size in numbers)
    holds = bool(abs(ratios.iloc[-1] - 1) < RELATIVE_TOLERANCE)
    return holds, f"standard deviation / exact: {evidence}"
