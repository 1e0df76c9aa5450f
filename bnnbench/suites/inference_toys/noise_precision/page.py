"""The page of a run on the unknown noise precision."""

from __future__ import annotations

import numpy as np

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.experiment_page import ExperimentPage
from bnnbench.results.answers import value_of
from bnnbench.suites.inference_toys.noise_precision import names
from bnnbench.suites.inference_toys.noise_precision.claims import ROUNDING_TOLERANCE, claims
from bnnbench.suites.inference_toys.noise_precision.figures import (
    densities_figure,
    objectives_figure,
    orders_figure,
    repeated_figure,
)
from bnnbench.suites.inference_toys.noise_precision.saved_run import NoisePrecisionRun, read_run

CAPTION = (
    "Noise precision and weight of a linear model, in the units of the data; log evidence and KL "
    "in nats. The log evidence of VI is its lower bound, that of ADF and EP their estimate. Exact: "
    "the target by quadrature. Gaussian K: normalisers by (3.52); exact K: by quadrature. ADF and "
    "EP: in the order of the data, or mean ± standard error over random orders. alpha as in "
    "(3.68): -1 is VI, 1 is EP."
)


def notes(folder: RunFolder) -> list[str]:
    """Return notes on skipped updates and on the effects of misprints."""
    run = read_run(folder)
    lines = [*_skipped_updates(run), *_decreases(run)]
    if not run.joint:
        target_mean = value_of(run.answers, names.MEAN, names.EXACT)
        exact_mean = run.answers.loc[run.answers["approximation"] == names.EXACT, "exact"].iloc[0]
        lines.append(
            "The target is (3.48), which integrates the weight out of every factor separately: its "
            f"exact mean is {target_mean:.4g}, the posterior's {exact_mean:.4g}."
        )
    return lines


def _skipped_updates(run: NoisePrecisionRun) -> list[str]:
    """Return a sentence on skipped updates, if there are any."""
    rows = run.answers[(run.answers["quantity"] == names.SKIPPED) & (run.answers["value"] > 0)]
    counts = [
        f"{row['approximation']}, {row['setting']}: {row['value']:.0f}"
        for row in rows.to_dict("records")
    ]
    if not counts:
        return []
    return [f"Updates skipped because of an improper cavity or result: {', '.join(counts)}."]


def _decreases(run: NoisePrecisionRun) -> list[str]:
    """Return a sentence on a lower bound that decreased, which indicates wrong updates."""
    if not run.joint:
        return []
    is_decrease = np.diff(run.trajectory(names.CAVI)["objective"]) < -ROUNDING_TOLERANCE
    if not is_decrease.any():
        return []
    return [
        f"The bound of CAVI decreased in {is_decrease.sum()} of {len(is_decrease)} updates, so the "
        "updates are wrong for this model."
    ]


EXPERIMENT_PAGE = ExperimentPage(
    kind=names.KIND,
    title="Linear model with unknown noise precision",
    caption=CAPTION,
    figures={
        "densities": densities_figure,
        "objectives": objectives_figure,
        "orders": orders_figure,
        "repeated": repeated_figure,
    },
    captions={
        "densities": "Exact and approximate densities of the noise precision, and their "
        "differences from the exact density (dashed line: zero). With the joint target, the last "
        "panel shows the standard deviation by alpha for power EP and black-box alpha; dashed "
        "line: the exact value",
        "objectives": "Lower bounds and estimates of the log evidence by iteration; EP's estimate "
        "is its negative energy. Dashed lines: the exact log evidence or, for stochastic "
        "gradients (gap on a log scale), the gap of CAVI after convergence",
        "orders": "Left: mean of the noise precision after each pass of EP, one line per "
        "normaliser K. Right: results of ADF and EP, one marker per random order of the data; "
        "crosses: the original order. Dashed lines: the exact mean",
        "repeated": "Left: density of the weight as one observation is included repeatedly, "
        "darker with each inclusion. Right: standard deviation relative to the mean by number of "
        "inclusions, for the weight and the noise precision; dashed line: the exact value for the "
        "noise precision",
    },
    statements=claims,
    read_evidence=read_run,
    notes=notes,
)
