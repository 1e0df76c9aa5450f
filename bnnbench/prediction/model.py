"""A method fitted to a whole table, which predicts new rows, and the files that it is saved in."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from bnnbench import __version__
from bnnbench.experiment.splits.fitting import FitSettings, Values, fit_task, moments, predict
from bnnbench.files import READ_ERRORS, checksum, read_bytes, read_text, write_bytes, write_text
from bnnbench.methods.shared.contract import Posterior
from bnnbench.nn import MLP
from bnnbench.portable_math import numpy_defaults
from bnnbench.preprocessing import Scaler, standardise
from bnnbench.random_streams import Streams, derive_seed
from bnnbench.types import Prediction, Table, UserError

CHUNK_ROWS = 10_000
"""Rows that are predicted together."""

HYPER_PREFIX = "hp."
"""Prefix of the columns with hyper-parameters."""

TENSOR_FILE, JSON_FILE = "model.safetensors", "model.json"

STATE, HYPER, SCALER, ARRAY = "state.", "hyper.", "scaler.", "array."

CHECKSUM = "checksum"
"""Key in the JSON file of the checksum of its other values and the tensors."""

SCALES = ("input_loc", "input_scale", "target_loc", "target_scale")


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


@dataclass(frozen=True)
class SavedModel:
    """A model loaded from its files.

    Attributes:
        model: the model.
        arrays: further arrays by name.
        about: content of the JSON file.
    """

    model: Model
    arrays: Mapping[str, np.ndarray]
    about: Mapping[str, Any]


def save_model(
    folder: Path, model: Model, arrays: Mapping[str, np.ndarray], about: Mapping[str, Any]
) -> None:
    """Write both files, the JSON file last, since it marks the model as complete.

    Args:
        folder: created if it does not exist.
        model: the model.
        arrays: further arrays to save.
        about: further JSON values to save.
    """
    from safetensors.torch import save

    posterior = model.posterior
    tensors = {f"{STATE}{name}": value for name, value in posterior.state.items()}
    tensors |= {f"{HYPER}{name}": value for name, value in posterior.hyper.items()}
    tensors |= {f"{SCALER}{name}": torch.from_numpy(getattr(model.scaler, name)) for name in SCALES}
    tensors |= {f"{ARRAY}{name}": torch.from_numpy(array) for name, array in arrays.items()}
    tensors |= {"counts": posterior.counts}
    content = save(
        {name: value.detach().cpu().clone().contiguous() for name, value in tensors.items()}
    )
    about = {
        "bnnbench": __version__,
        **about,
        "values": dict(model.values),
        "rows": model.rows,
        "sizes": list(posterior.mlp.sizes),
        "log_target": model.scaler.log,
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_bytes(folder / TENSOR_FILE, content)
    write_text(folder / JSON_FILE, json.dumps(about | {CHECKSUM: _sum(content, about)}, indent=1))


def load_model(folder: Path, fitting: FitSettings) -> SavedModel | None:
    """Load a model; None if there is none, or if another version of bnnbench saved it.

    Args:
        folder: of the model.
        fitting: method and settings that it was fitted with.

    Raises:
        UserError: if its files are damaged.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    if not (folder / JSON_FILE).is_file():
        return None
    try:
        about = json.loads(read_text(folder / JSON_FILE))
        if about["bnnbench"] != __version__:
            return None
        content = read_bytes(folder / TENSOR_FILE)
        if about.pop(CHECKSUM) != _sum(content, about):
            raise ValueError
        with torch.device("cpu"):  # of whatever device new tensors are by default
            tensors = load(content)
        tensors = {name: value.to(fitting.device) for name, value in tensors.items()}
        posterior = Posterior(
            _part(tensors, STATE), _part(tensors, HYPER), MLP(tuple(about["sizes"])),
            tensors["counts"], torch.zeros(1, dtype=torch.bool, device="cpu"),
        )  # fmt: skip
        scales, arrays = (
            {name: value.cpu().numpy() for name, value in _part(tensors, prefix).items()}
            for prefix in (SCALER, ARRAY)
        )
        device, log = torch.device(fitting.device), bool(about["log_target"])
        scaler = Scaler(**scales, device=device, dtype=fitting.dtype, log=log)
        model = Model(fitting, posterior, scaler, about["values"], about["rows"])
        return SavedModel(model, arrays, about)
    except (*READ_ERRORS, SafetensorError):
        raise damaged_model_error(folder) from None


def damaged_model_error(folder: Path) -> UserError:
    """Return the error for a model that cannot be read or used."""
    return UserError(
        f"the model in {folder} is damaged; delete this folder to fit it again.",
        code="damaged_model",
    )


def _sum(tensors: bytes, about: Mapping[str, Any]) -> str:
    """Return the checksum of both files."""
    return checksum(tensors + json.dumps(about, sort_keys=True).encode())


def _part(tensors: Mapping[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }
