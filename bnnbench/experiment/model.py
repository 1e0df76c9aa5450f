"""A method fitted to a whole table with the values that a run chose, ready for rows of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch

from bnnbench.experiment.fitting import Fitting, Values, fit_task, predict
from bnnbench.experiment.scoring import moments
from bnnbench.methods.shared.contract import Posterior
from bnnbench.preprocessing import Scaler, standardise
from bnnbench.random_streams import Streams, derive_seed
from bnnbench.types import Table, UserError

PIECE = 10_000
"""Rows that are predicted at once."""

CHOSEN = "hp."
"""How the names of the columns of chosen values begin."""


@dataclass(frozen=True)
class Model:
    """One posterior and what it takes to predict with it.

    Attributes:
        fitting: method, network and settings.
        posterior: of one replica.
        scaler: of the rows that it was fitted to.
        values: of its hyper-parameters, standardised units.
        rows: how many rows it was fitted to.
    """

    fitting: Fitting
    posterior: Posterior
    scaler: Scaler
    values: Mapping[str, float]
    rows: int

    def predict(self, inputs: np.ndarray) -> dict[str, np.ndarray]:
        """Moments of the predictive distribution of new rows.

        Args:
            inputs: `[M, D]`, original units, NaN where there is no value.

        Returns:
            `mean`, `epistemic_variance` and `noise_variance`, `[M]` each, in the target's unit. A
            row's prediction does not depend on what other rows there are but by rounding, unless
            the method draws for each row.
        """
        pieces = [self._piece(inputs[k : k + PIECE]) for k in range(0, max(1, len(inputs)), PIECE)]
        return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}

    def _piece(self, inputs: np.ndarray) -> dict[str, np.ndarray]:
        fitting = self.fitting
        seed = derive_seed(fitting.seed, "model", "prediction")  # the same weights for every piece
        streams = Streams([seed], (0,), fitting.device, fitting.dtype)
        rows = self.scaler.inputs([inputs])
        return moments(predict(fitting, self.posterior, self.scaler, rows, streams))


def chosen_values(splits: pd.DataFrame) -> dict[str, float]:
    """The typical value of each hyper-parameter: the median over the splits that did not diverge.

    Args:
        splits: of a run, with a column `hp.<name>` for each.

    Raises:
        UserError: if every split diverged.
    """
    sound = splits[splits["diverged"] == 0]
    if sound.empty:
        raise UserError("every split of this run diverged, so there is nothing to predict with.")
    names = [str(name) for name in splits.columns if str(name).startswith(CHOSEN)]
    return {name.removeprefix(CHOSEN): float(sound[name].median()) for name in names}


def fit_model(
    fitting: Fitting, table: Table, values: Values, rows: np.ndarray | None = None
) -> Model:
    """Fits the method once more, like the final fit of a split.

    Args:
        fitting: method, network and settings.
        table: the data set.
        values: of the hyper-parameters; precisions that are known in the units of the target are
            converted, whatever stands here.
        rows: which of the table's; all by default.

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
            "the fit to all rows diverged; try a smaller training.learning_rate in another run."
        )
    used = {name: value.item() for name, value in task.hyper.items()}
    return Model(fitting, posterior, scaler, used, len(rows))
