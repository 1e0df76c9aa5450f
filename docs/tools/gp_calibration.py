"""Measure how far the variances of `method=gp` are from its squared errors, and why.

`python docs/tools/gp_calibration.py` fits the 20 splits of each of `DATA_SETS` (ten minutes on one
core). Those of `AT_BOUND`, where the noise variance ends at its lower bound, are also fitted with
`SMALL_NOISE_VARIANCE` as the bound. Splits that are stored already are not fitted again.
"""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import torch
from stored_results import RESULTS, SPLITS

from bnnbench import load_table
from bnnbench.files import write_text
from bnnbench.methods import gp
from bnnbench.methods.shared.contract import FitTask
from bnnbench.preprocessing import standardise
from bnnbench.random_streams import Streams
from bnnbench.report.blocks import plus_minus
from bnnbench.results.compare.significance import mean_error
from bnnbench.settings import Network, Training
from bnnbench.types import Split, Table

PATH = RESULTS / "gp_calibration.csv"
"""Where the measurements are stored, a row per split and bound."""

DATA_SETS = ("boston", "concrete", "energy", "wine", "yacht")

AT_BOUND = "yacht"

SMALL_NOISE_VARIANCE = 1e-8
"""In standardised units."""

TEST_FRACTION = 0.1
"""Of the rows, in every split of these data sets."""

HALF_WIDTH = 1.6448536
"""Of the central 90 % interval, in standard deviations."""


def measure(data: Table, split: Split) -> dict[str, float]:
    """Fit a split and compare squared errors with predicted variances.

    Returns:
        Means of squared errors in predicted variances: of `test` rows, and of leave-one-out
        predictions of the training rows that fit the kernel, `kernel_rows`, and of the
        `other_rows`, NaN if there are none. Also the `coverage` of the 90 % interval and the
        `log_likelihood` [nats] of test rows, and `noise_variance` in standardised units.
    """
    cpu = torch.device("cpu")
    training, scaler = standardise(data, [split.train], (0,), cpu, torch.float64)
    streams = Streams([0], (0,), "cpu", torch.float64)
    method = gp.GP(label="gp")
    posterior = method.fit(FitTask(training, {}, Network(depth=0), Training(), 1, streams))
    found = method.predict(posterior, scaler.inputs([data.inputs[split.test]]), 1, streams)
    found = found.rescaled(*scaler.target_units())
    mean, variance = found.loc[0, 0].numpy(), found.variance[0, 0].numpy()
    squares = np.square(data.targets[split.test] - mean) / variance
    left_out = left_out_squares(*(posterior.state[n][0].numpy() for n in ("inverse_root", "dual")))
    fitted = np.isin(np.arange(len(left_out)), method.kernel_subset(len(left_out)))
    return {
        "test": squares.mean(),
        "kernel_rows": left_out[fitted].mean(),
        "other_rows": left_out[~fitted].mean() if (~fitted).any() else np.nan,
        "coverage": (squares <= HALF_WIDTH**2).mean(),
        "log_likelihood": -(np.log(2 * np.pi * variance) + squares).mean() / 2,
        "noise_variance": posterior.state["kernel"][0, 1].item(),
    }


def left_out_squares(inverse_root: np.ndarray, dual: np.ndarray) -> np.ndarray:
    """Return the squared error of each row in its variance, predicted from the other rows, `[N]`.

    Rasmussen & Williams 2006, eq. 5.12, with one kernel for all rows.

    Args:
        inverse_root: `[N, N]`, of the covariance of the rows.
        dual: `[N]`, the inverse covariance times the targets.
    """
    return np.square(dual) / np.square(inverse_root).sum(0)


def main(path: Path = PATH) -> None:
    """Measure the splits that are not stored, one after another."""
    rows = pd.read_csv(path).to_dict("records") if path.exists() else []
    stored = {(row["dataset"], row["bound"], row["split"]) for row in rows}
    low, high = gp.NOISE_VARIANCE_BOUNDS
    runs = [*((name, low) for name in DATA_SETS), (AT_BOUND, SMALL_NOISE_VARIANCE)]
    for name, bound in runs:
        data = load_table(name)
        for split in data.splits[:SPLITS]:
            if (name, bound, split.index) in stored:
                continue
            with patch.object(gp, "NOISE_VARIANCE_BOUNDS", (bound, high)):
                found = measure(data, split)
            rows.append({"dataset": name, "bound": bound, "split": split.index, **found})
            write_text(path, pd.DataFrame(rows).to_csv(index=False, float_format="%.6g"))


def gp_calibration() -> str:
    """Return the measurements, with a row per data set and bound: means over splits.

    Standard errors are those for splits that share training rows.
    """
    titles = {
        "test": "test rows",
        "kernel_rows": "rows that fit the kernel",
        "excess": "other training rows minus these",
        "coverage": "coverage",
        "log_likelihood": "log-likelihood",
    }
    cells = []
    rows = pd.read_csv(PATH)
    rows["excess"] = rows["other_rows"] - rows["kernel_rows"]
    for (name, bound), own in rows.groupby(["dataset", "bound"], sort=False):
        at_bound = (own["noise_variance"] < 1.01 * bound).sum()
        means = own[[*titles]].mean()
        errors = mean_error(own[[*titles]].std(), len(own), TEST_FRACTION)
        cells.append(
            {"data set": name, "bound": f"{bound:g}", "at bound": f"{at_bound} of {len(own)}"}
            | {title: plus_minus(means[key], errors[key]) for key, title in titles.items()}
        )
    return pd.DataFrame(cells).to_markdown(index=False, disable_numparse=True)


if __name__ == "__main__":
    main()
