"""The final model of a finished run: fitted to all rows and saved in the run's folder."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from bnnbench.config.assemble import assemble_experiment
from bnnbench.data.own_table.columns import NUMBER, Encoding
from bnnbench.experiment.model import Model, chosen_values, fit_model
from bnnbench.experiment.model_file import SavedModel, load_model, save_model
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.split_experiment import SplitExperiment
from bnnbench.notes import status_message
from bnnbench.random_streams import derive_seed
from bnnbench.results.calibration import total_deviation
from bnnbench.results.run_files import read_splits
from bnnbench.types import UserError

HELD_OUT_FRACTION = 0.2
"""Fraction of the rows held out for conformal intervals."""

MIN_HELD_OUT = 19
"""Held-out rows needed for a 90 % conformal interval."""


@dataclass(frozen=True)
class FinalModel:
    """A saved model with the columns that it needs.

    Attributes:
        saved: the model.
        encodings: of the columns of a table.
        target: name of the target.
        label: method and data set, for messages.
    """

    saved: SavedModel
    encodings: tuple[Encoding, ...]
    target: str
    label: str


def load_or_fit(folder: RunFolder, conformal: bool = False) -> FinalModel:
    """Load the model of a run, or fit and save it.

    Args:
        folder: of the run.
        conformal: whether to hold out some rows for conformal intervals.

    Raises:
        UserError: if the run has no splits, its data have changed, or the fit diverges.
    """
    config = yaml.safe_load(folder.config.read_text("utf-8"))
    experiment = assemble_experiment(config)
    if not isinstance(experiment, SplitExperiment):
        raise UserError(
            f"{folder.root} is a run of experiment={experiment.label}, which has no final model.",
            "RUN",
            "no_model",
        )
    path = folder.root / ("model-held-out" if conformal else "model")
    saved = load_model(path, experiment.fitting)
    if saved is None:
        with status_message(f"fitting {experiment.method.label} to all rows"):
            _fit_and_save(folder, experiment, path, conformal)
        saved = load_model(path, experiment.fitting)
    assert saved is not None
    about = saved.about
    encodings = tuple(Encoding(**{**e, "values": tuple(e["values"])}) for e in about["encodings"])
    return FinalModel(saved, encodings, about["target"], about["label"])


def _fit_and_save(
    folder: RunFolder, experiment: SplitExperiment, path: Path, conformal: bool
) -> None:
    experiment = experiment.resolved()
    table, splits = experiment.table, read_splits(folder)
    _check_unchanged(folder, experiment)
    rows = np.arange(len(table.targets))
    held_out = rows[:0]
    if conformal:
        seed = derive_seed(experiment.seed, "held out") % 2**32
        order = np.random.RandomState(seed).permutation(len(rows))
        count = math.ceil(HELD_OUT_FRACTION * len(rows))
        if count < MIN_HELD_OUT:
            raise UserError(
                f"{table.name} has {len(rows)} rows, too few to hold out {MIN_HELD_OUT}; use "
                "--calibrate isotonic.",
                "--calibrate",
                "few_rows",
            )
        held_out, rows = np.sort(order[:count]), np.sort(order[count:])
    model = fit_model(experiment.fitting, table, chosen_values(splits), rows)
    encodings = table.encodings or [Encoding(name, NUMBER) for name in table.features]
    about: dict[str, Any] = {
        "label": experiment.title,
        "target": table.target,
        "encodings": [asdict(encoding) for encoding in encodings],
    }
    scores = np.zeros(0)
    if conformal:
        scores = _distances(model, table.inputs[held_out], table.targets[held_out])
    save_model(path, model, scores, about)


def _check_unchanged(folder: RunFolder, experiment: SplitExperiment) -> None:
    """Raise `UserError` if the data have changed since the run."""
    from bnnbench.data.splits import subset_fingerprints

    splits = read_splits(folder)
    chosen = {split.index: split for split in experiment.table.splits}
    numbers = [int(number) for number in splits["split"] if int(number) in chosen]
    now = subset_fingerprints(experiment.table, [chosen[number].test for number in numbers])
    if len(numbers) < len(splits) or now != list(splits["fingerprint"]):
        raise UserError(
            f"the data of {experiment.table.name} have changed since {folder.root} was run; run it "
            "again.",
            "RUN",
            "data_changed",
        )


def _distances(model: Model, inputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return distances of targets from their predictions, in predictive standard deviations."""
    found = model.predict(inputs)
    return np.abs(targets - found["mean"]) / total_deviation(found)
