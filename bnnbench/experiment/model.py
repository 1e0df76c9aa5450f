"""A method fitted to a whole table with the hyper-parameters of a run, to predict new rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch

from bnnbench.experiment.fitting import FitSettings, Values, fit_task, moments, predict
from bnnbench.methods.shared.contract import Posterior
from bnnbench.preprocessing import Scaler, standardise
from bnnbench.random_streams import Streams, derive_seed
from bnnbench.types import Table, UserError

CHUNK_ROWS = 10_000
"""Rows that are predicted together."""

HYPER_PREFIX = "hp."
"""Prefix of the columns with hyper-parameters."""


@dataclass(frozen=True)
class Model:
    """A fitted model.

    Attributes:
        fitting: method, network and settings.
        posterior: of one replica.
        scaler: of the training rows.
        values: hyper-parameters, standardised units.
        rows: number of training rows.
    """

    fitting: FitSettings
    posterior: Posterior
    scaler: Scaler
    values: Mapping[str, float]
    rows: int

    def predict(self, inputs: np.ndarray) -> dict[str, np.ndarray]:
        """Return the moments of the predictive distribution of new rows.

        Args:
            inputs: `[M, D]`, original units, NaN for missing values.

        Returns:
            `mean`, `epistemic_variance` and `noise_variance`, `[M]` each, in original units. The
            prediction of a row depends on the other rows only through rounding, unless the method
            draws random numbers for each row.
        """
        chunks = [
            self._predict_chunk(inputs[k : k + CHUNK_ROWS])
            for k in range(0, max(1, len(inputs)), CHUNK_ROWS)
        ]
        return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}

    def _predict_chunk(self, inputs: np.ndarray) -> dict[str, np.ndarray]:
        fitting = self.fitting
        seed = derive_seed(fitting.seed, "model", "prediction")  # the same weights for every chunk
        streams = Streams([seed], (0,), fitting.device, fitting.dtype)
        rows = self.scaler.inputs([inputs])
        return moments(predict(fitting, self.posterior, self.scaler, rows, streams))


def chosen_values(splits: pd.DataFrame) -> dict[str, float]:
    """Return the median of each hyper-parameter over the splits that did not diverge.

    Args:
        splits: rows of `splits.csv`, with columns `hp.<name>`.

    Raises:
        UserError: if every split diverged.
    """
    sound = splits[splits["diverged"] == 0]
    if sound.empty:
        raise UserError(
            "every split of this run diverged, so it has no model; try a smaller "
            "training.learning_rate in another run.",
            code="diverged",
        )
    names = [str(name) for name in splits.columns if str(name).startswith(HYPER_PREFIX)]
    return {name.removeprefix(HYPER_PREFIX): float(sound[name].median()) for name in names}


def fit_model(
    fitting: FitSettings, table: Table, values: Values, rows: np.ndarray | None = None
) -> Model:
    """Fit the method like in the final fit of a split.

    Args:
        fitting: method, network and settings.
        table: the data set.
        values: hyper-parameters; overridden by precisions that are fixed in original units.
        rows: training rows of the table; all by default.

    Raises:
        UserError: if the fit diverges.
    """
    rows = np.arange(len(table.targets)) if rows is None else rows
    device = torch.device(fitting.device)
    inputs, targets = [table.inputs[rows]], [table.targets[rows]]
    data, scaler = standardise(inputs, targets, [0], device, fitting.dtype)
    streams = Streams([derive_seed(fitting.seed, "model")], (0,), fitting.device, fitting.dtype)
    task = fit_task(fitting, data, scaler, [values], fitting.training.final_epochs, streams)
    posterior = fitting.method.fit(task)
    if bool(posterior.diverged.any()):
        raise UserError(
            "the fit to all rows diverged; try a smaller training.learning_rate in another run.",
            code="diverged",
        )
    used = {name: value.item() for name, value in task.hyper.items()}
    return Model(fitting, posterior, scaler, used, len(rows))
