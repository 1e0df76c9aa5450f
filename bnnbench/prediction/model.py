"""A method fitted to a whole table with the hyper-parameters of a run, to predict new rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import torch

from bnnbench.experiment.splits.fitting import FitSettings, Values, fit_task, moments, predict
from bnnbench.methods.shared.contract import Posterior
from bnnbench.portable_math import numpy_defaults
from bnnbench.preprocessing import Scaler, standardise
from bnnbench.random_streams import Streams, derive_seed
from bnnbench.types import Prediction, Table, UserError

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

    @numpy_defaults()
    def predict(self, inputs: np.ndarray) -> dict[str, np.ndarray]:
        """Return the moments of the predictive distribution of new rows.

        Args:
            inputs: `[M, D]`, original units, NaN for missing values.

        Returns:
            `mean`, `epistemic_variance` and `noise_variance`, `[M]` each, in original units (see
            `fitting.moments`). The prediction of a row depends on the other rows only through
            rounding, unless the method draws random numbers for each row.
        """
        return joined([moments(chunk) for chunk in self.predictive(inputs)])

    def predictive(self, inputs: np.ndarray) -> Iterator[Prediction]:
        """Yield the predictive distributions of chunks of the rows, in original units.

        Args:
            inputs: `[M, D]`, original units, NaN for missing values.
        """
        fitting = self.fitting
        seed = derive_seed(fitting.seed, "model", "prediction")  # the same weights for every chunk
        for k in range(0, max(1, len(inputs)), CHUNK_ROWS):
            streams = Streams([seed], (0,), fitting.device, fitting.dtype)
            rows = self.scaler.inputs([inputs[k : k + CHUNK_ROWS]])
            yield predict(fitting, self.posterior, self.scaler, rows, streams)

    def to_double(self) -> Model:
        """Return the model in float64.

        The rounding of a prediction, which depends on the other rows, is then negligible.
        """
        posterior = self.posterior
        double = replace(
            posterior,
            state={name: _double(value) for name, value in posterior.state.items()},
            hyper={name: _double(value) for name, value in posterior.hyper.items()},
            counts=_double(posterior.counts),
        )
        training = replace(self.fitting.training, dtype="float64")
        return replace(
            self,
            fitting=replace(self.fitting, training=training),
            posterior=double,
            scaler=replace(self.scaler, dtype=torch.float64),
        )


def joined(chunks: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return the moments of all rows, given those of successive chunks."""
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}


def _double(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.double() if tensor.is_floating_point() else tensor


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
        values: hyper-parameters, in the units of the search; overridden by precisions that are
            fixed in original units.
        rows: training rows of the table; all by default.

    Raises:
        UserError: if the fit diverges.
    """
    fitting = fitting.with_batch_size(values)
    rows = np.arange(len(table.targets)) if rows is None else rows
    device = torch.device(fitting.device)
    data, scaler = standardise(table, [rows], [0], device, fitting.dtype)
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
