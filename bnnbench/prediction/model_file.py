"""A model saved as safetensors and JSON, so that loading it cannot execute code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bnnbench import __version__
from bnnbench.experiment.splits.fitting import FitSettings
from bnnbench.files import READ_ERRORS, checksum, read_bytes, read_text, write_bytes, write_text
from bnnbench.methods.shared.contract import Posterior
from bnnbench.nn import MLP
from bnnbench.prediction.model import Model
from bnnbench.preprocessing import Scaler
from bnnbench.types import UserError

TENSOR_FILE, JSON_FILE = "model.safetensors", "model.json"

STATE, HYPER, SCALER, ARRAY = "state.", "hyper.", "scaler.", "array."

CHECKSUM = "checksum"
"""Key in the JSON file of the checksum of its other values and the tensors."""

SCALES = ("input_loc", "input_scale", "target_loc", "target_scale")


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
