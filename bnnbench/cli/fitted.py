"""The model of a finished run: fitted once to all rows, kept in its folder, found there again."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from bnnbench.cli.build import assembled
from bnnbench.cli.waiting import announced
from bnnbench.data.own_table.columns import NUMBER, Encoding
from bnnbench.experiment.model import Model, chosen_values, fit_model
from bnnbench.experiment.model_file import KeptModel, load_model, save_model
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.split_experiment import SplitExperiment
from bnnbench.random_streams import derive_seed
from bnnbench.results.calibration import total_deviation
from bnnbench.results.run_files import read_splits
from bnnbench.types import UserError

HELD_OUT = 0.2
"""Share of the rows that a model with certain intervals is not fitted to."""

LEAST_HELD_OUT = 19
"""Rows below which no 90 % interval can be made certain (their number plus one, times 0.05)."""


@dataclass(frozen=True)
class Fitted:
    """A kept model with what its run says of columns and target.

    Attributes:
        kept: the model.
        encodings: how the columns of a file become its inputs.
        target: the target's name.
        label: method and data set, for messages.
    """

    kept: KeptModel
    encodings: tuple[Encoding, ...]
    target: str
    label: str


def fitted_model(folder: RunFolder, certain: bool = False) -> Fitted:
    """The model of a run, fitted now if it never was.

    Args:
        folder: of the run.
        certain: whether to leave out a part of the rows, whose distances from their predictions
            make intervals certain.

    Raises:
        UserError: if the run has no splits, its data have changed, or the fit diverges.
    """
    config = yaml.safe_load(folder.config.read_text("utf-8"))
    experiment = assembled(config)
    if not isinstance(experiment, SplitExperiment):
        raise UserError(
            f"{folder.root} is a run of {experiment.label}, which has no model to keep."
        )
    place = folder.root / ("model-held-out" if certain else "model")
    kept = load_model(place, experiment.fitting)
    if kept is None:
        with announced(f"fitting {experiment.method.label} to all rows"):
            _fit_and_keep(folder, experiment, place, certain)
        kept = load_model(place, experiment.fitting)
    assert kept is not None
    about = kept.about
    encodings = tuple(Encoding(**{**e, "values": tuple(e["values"])}) for e in about["encodings"])
    return Fitted(kept, encodings, about["target"], about["label"])


def _fit_and_keep(
    folder: RunFolder, experiment: SplitExperiment, place: Path, certain: bool
) -> None:
    experiment = experiment.resolved()
    table, splits = experiment.table, read_splits(folder)
    _check_unchanged(folder, experiment)
    rows = np.arange(len(table.targets))
    held = rows[:0]
    if certain:
        seed = derive_seed(experiment.seed, "held out") % 2**32
        order = np.random.RandomState(seed).permutation(len(rows))
        count = math.ceil(HELD_OUT * len(rows))
        if count < LEAST_HELD_OUT:
            raise UserError(
                f"{table.name} has {len(rows)} rows, too few to hold {LEAST_HELD_OUT} out; use "
                "--calibrate isotonic."
            )
        held, rows = np.sort(order[:count]), np.sort(order[count:])
    model = fit_model(experiment.fitting, table, chosen_values(splits), rows)
    encodings = table.encodings or [Encoding(name, NUMBER) for name in table.features]
    about: dict[str, Any] = {
        "label": experiment.title,
        "target": table.target,
        "encodings": [asdict(encoding) for encoding in encodings],
    }
    scores = _distances(model, table.inputs[held], table.targets[held]) if certain else np.zeros(0)
    save_model(place, model, scores, about)


def _check_unchanged(folder: RunFolder, experiment: SplitExperiment) -> None:
    """Refuses data that are not those the run was made with, where rows are compared by number."""
    from bnnbench.data.fingerprint import fingerprints_of_parts

    splits = read_splits(folder)
    chosen = {split.index: split for split in experiment.table.splits}
    numbers = [int(number) for number in splits["split"] if int(number) in chosen]
    now = fingerprints_of_parts(experiment.table, [chosen[number].test for number in numbers])
    if len(numbers) < len(splits) or now != list(splits["fingerprint"]):
        raise UserError(
            f"the data of {experiment.table.name} are not those that {folder.root} was made with; "
            "run it again."
        )


def _distances(model: Model, inputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Of targets from their predictions, in predictive standard deviations."""
    found = model.predict(inputs)
    return np.abs(targets - found["mean"]) / total_deviation(found)
