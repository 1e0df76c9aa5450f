"""A model in two files, numbers as safetensors and words as JSON: reading it runs nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bnnbench import __version__
from bnnbench.experiment.fitting import Fitting
from bnnbench.experiment.model import Model
from bnnbench.files import write_atomically, write_text
from bnnbench.methods.shared.contract import Posterior
from bnnbench.nn import MLP
from bnnbench.preprocessing import Scaler
from bnnbench.types import UserError

NUMBERS, WORDS = "model.safetensors", "model.json"

STATE, HYPER, SCALER, SCORES = "state.", "hyper.", "scaler.", "scores"

SCALES = ("input_loc", "input_scale", "target_loc", "target_scale")


@dataclass(frozen=True)
class KeptModel:
    """A model and what was kept beside it.

    Attributes:
        model: the model.
        scores: `[n]`, standardised distances of held-out rows, where it was fitted for intervals
            that these make certain; else empty.
        about: the words.
    """

    model: Model
    scores: np.ndarray
    about: Mapping[str, Any]


def save_model(folder: Path, model: Model, scores: np.ndarray, about: Mapping[str, Any]) -> None:
    """Writes both files, the words last: a model is there when they are.

    Args:
        folder: made if it is not there.
        model: what to keep.
        scores: of `KeptModel`.
        about: JSON values to keep beside.
    """
    from safetensors.torch import save

    posterior = model.posterior
    tensors = {f"{STATE}{name}": value for name, value in posterior.state.items()}
    tensors |= {f"{HYPER}{name}": value for name, value in posterior.hyper.items()}
    tensors |= {f"{SCALER}{name}": torch.from_numpy(getattr(model.scaler, name)) for name in SCALES}
    tensors |= {"counts": posterior.counts, SCORES: torch.from_numpy(scores)}
    kept = {name: value.detach().cpu().clone().contiguous() for name, value in tensors.items()}
    words = {"bnnbench": __version__, **about, "values": dict(model.values), "rows": model.rows}
    folder.mkdir(parents=True, exist_ok=True)
    content = save(kept)
    write_atomically(folder / NUMBERS, lambda file: file.write(content))
    write_text(
        folder / WORDS, json.dumps({**words, "sizes": list(posterior.mlp.sizes)}, indent=1) + "\n"
    )


def load_model(folder: Path, fitting: Fitting) -> KeptModel | None:
    """Reads a model; None if there is none, or another version made it.

    Args:
        folder: where it was kept.
        fitting: method and settings that it was fitted with.

    Raises:
        UserError: if its files are damaged.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    if not (folder / WORDS).is_file():
        return None
    try:
        about = json.loads((folder / WORDS).read_text())
        if about["bnnbench"] != __version__:
            return None
        tensors = load((folder / NUMBERS).read_bytes())
        tensors = {name: value.to(fitting.device) for name, value in tensors.items()}
        posterior = Posterior(
            _part(tensors, STATE), _part(tensors, HYPER), MLP(tuple(about["sizes"])),
            tensors["counts"], torch.zeros(1, dtype=torch.bool),
        )  # fmt: skip
        scales = {name: value.cpu().numpy() for name, value in _part(tensors, SCALER).items()}
        scaler = Scaler(**scales, device=torch.device(fitting.device), dtype=fitting.dtype)
        model = Model(fitting, posterior, scaler, about["values"], about["rows"])
        return KeptModel(model, tensors[SCORES].cpu().numpy(), about)
    except (OSError, ValueError, KeyError, TypeError, SafetensorError):
        raise UserError(f"{folder} is damaged; delete it, and it is made anew.") from None


def _part(tensors: Mapping[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }
