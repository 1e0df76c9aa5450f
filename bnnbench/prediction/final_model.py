"""The final model of a finished run: fitted to all rows and saved in the run's folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml

from bnnbench.config.assemble import assemble_experiment
from bnnbench.config.instantiate import check_saved_estimator
from bnnbench.data.own_table.cells.dates import FORMATS
from bnnbench.data.own_table.columns.encoding import KINDS, NUMBER, Encoding
from bnnbench.data.own_table.read.text_file import ReadingSettings
from bnnbench.data.own_table.source import OwnTable
from bnnbench.experiment.kinds.base import Experiment
from bnnbench.experiment.splits.split_experiment import SplitExperiment
from bnnbench.experiment.store.provenance import code_version_of, describe_other_code
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.split_files import SPLITS
from bnnbench.experiment.store.stored_files import damaged_file_error
from bnnbench.files import READ_ERRORS, checksum, read_bytes
from bnnbench.notes import join_words, note, one_line, status_message
from bnnbench.portable_math import numpy_defaults
from bnnbench.prediction.conformal import HELD_OUT_NOTES, HeldOut, hold_out
from bnnbench.prediction.model import (
    Model,
    SavedModel,
    chosen_values,
    damaged_model_error,
    fit_model,
    load_model,
    save_model,
)
from bnnbench.prediction.training_region import TrainingRegion
from bnnbench.random_streams import derive_seed
from bnnbench.results.read.run_files import VerifiedRun, read_verified
from bnnbench.results.score.calibration import standard_scores
from bnnbench.results.score.run_notes import run_coverage_note
from bnnbench.results.settings import flatten
from bnnbench.types import UserError

TABLE_SETTINGS = ("table.name", "table.content")
"""Names in the identity of a run that depend on its data."""

MACHINE_SETTINGS = ("device", "training.compile")
"""Names in the identity that depend on the machine, and change results by rounding only."""

SCORES, REGION_ARRAYS = "scores", tuple(TrainingRegion.__annotations__)
"""Names of the arrays that are saved with a model."""

FittedModel = tuple[Model, dict[str, np.ndarray], dict[str, Any]]
"""A model, with the arrays and the JSON values that are saved with it."""


@dataclass(frozen=True)
class FinalModel:
    """A saved model with the columns that it needs.

    Attributes:
        saved: the model.
        encodings: of the columns of a table.
        time: the columns of `dataset.time`.
        missing_values: numbers and strings that mean a missing value in the table.
        target: name of the target.
        scores: `[n]`, standardised residuals of held-out rows for conformal intervals; empty if the
            model was not fitted for these.
        region: of the training rows.
        other_code: describes the code that computed the run; empty if it is this code.
        coverage_note: the run's note on its 90 % intervals; empty if they are calibrated.
    """

    saved: SavedModel
    encodings: tuple[Encoding, ...]
    time: tuple[str, ...]
    missing_values: tuple[str, ...]
    target: str
    scores: np.ndarray
    region: TrainingRegion
    other_code: str = ""
    coverage_note: str = ""

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the inputs."""
        return tuple(name for one in self.encodings for name in one.features)


def reading_settings(folder: RunFolder) -> ReadingSettings:
    """Return the settings with which the table of a run was read.

    Raises:
        UserError: if its configuration is damaged.
    """
    return _settings_of(_read_experiment(folder))


def _settings_of(experiment: Experiment) -> ReadingSettings:
    dataset = getattr(experiment, "dataset", None)
    return dataset.reading if isinstance(dataset, OwnTable) else ReadingSettings()


@numpy_defaults()
def load_or_fit(folder: RunFolder, conformal: bool = False) -> FinalModel:
    """Load the model of a run, or fit and save it.

    Args:
        folder: of the run.
        conformal: whether to hold out some rows for conformal intervals.

    Raises:
        UserError: if the run has no splits or is damaged, its data have changed, or the fit
            diverges.
    """
    run = read_verified(folder)
    experiment = _read_experiment(folder)
    if not isinstance(experiment, SplitExperiment):
        raise UserError(
            f"{folder.root} is a run of experiment={experiment.label}, which has no final model; "
            "give a run on train/test splits.",
            "RUN",
            "no_model",
        )
    path = folder.root / ("model-held-out" if conformal else "model")
    source = checksum(read_bytes(folder.config) + read_bytes(folder.table(SPLITS)))
    code = dict(code_version_of(experiment))
    code.pop("commit", None)  # it also changes with other files
    origin = {"source": source, "code": code}
    saved = load_model(path, experiment.fitting)
    if saved is None or not saved.about.items() >= origin.items():
        with status_message(f"fitting {experiment.method.label} to all rows"):
            fitted = _fit(run, experiment, conformal, origin)
        saved = _save_and_load(path, experiment, fitted)
    found = (describe_other_code(one, code) for one in run.record.code_versions)
    others = [*dict.fromkeys(filter(None, found))]
    return replace(
        _checked_model(saved, path),
        other_code=join_words(others) if others else "",
        coverage_note=run_coverage_note(run.calibration, flatten(run.record.identity)),
    )


def _save_and_load(path: Path, experiment: SplitExperiment, fitted: FittedModel) -> SavedModel:
    """Save a model and return it as loaded, even if it cannot be saved in the run's folder."""
    with TemporaryDirectory(prefix="bnnbench-") as temporary:
        try:
            save_model(path, *fitted)
        except OSError as error:  # the run may be another user's
            note(
                f"the model cannot be saved in {path} ({error.strerror}); the next command will "
                "fit it again"
            )
            path = Path(temporary)
            save_model(path, *fitted)
        saved = load_model(path, experiment.fitting)
    assert saved is not None
    return saved


def _checked_model(saved: SavedModel, path: Path) -> FinalModel:
    """Return a model that can predict: a changed file may have a valid checksum.

    Raises:
        UserError: if it cannot.
    """
    about = saved.about
    try:
        region = TrainingRegion(**{name: saved.arrays[name] for name in REGION_ARRAYS})
        scores = saved.arrays[SCORES]
        encodings = tuple(
            Encoding(**{**e, "values": tuple(e["values"])}) for e in about["encodings"]
        )
        codes, time = tuple(about["missing_values"]), tuple(about["time"])
        texts = (
            about["target"],
            about["label"],
            *codes,
            *time,
            *(t for e in encodings for t in (e.column, e.unit, *e.values)),
        )
        groups = np.asarray(about["held_out_groups"], dtype=np.int64)
        valid = (
            all(isinstance(text, str) for text in texts)
            and all(e.kind in KINDS and e.form in FORMATS for e in encodings)
            and about["held_out"] in HELD_OUT_NOTES
            and not np.isnan(scores).any()
            and scores.ndim == 1
            and groups.shape == scores.shape
            and region.is_time.dtype == bool
        )
        if not valid:
            raise ValueError
        model, inputs = saved.model, sum(len(e.features) for e in encodings)
        for rows in (2, 3):  # a wrong shape does not fit both
            model.predict(np.zeros((rows, inputs)))
        region.reasons(model.scaler, np.zeros((2, inputs)))
    except UserError:
        raise
    except READ_ERRORS:
        raise damaged_model_error(path) from None
    return FinalModel(saved, encodings, time, codes, one_line(about["target"]), scores, region)


def _read_experiment(folder: RunFolder) -> Experiment:
    """Return the experiment of a run.

    Raises:
        UserError: if its configuration is damaged.
    """
    try:
        text = read_bytes(folder.config)
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, yaml.SafeLoader)):
            raise yaml.YAMLError("an alias")  # a few lines of them can be billions of values
        config = yaml.safe_load(text)
        check_saved_estimator(config.get("method") or {})
        return assemble_experiment(config)
    except UserError:
        raise
    except (yaml.YAMLError, *READ_ERRORS):
        raise damaged_file_error(folder.config) from None


def _fit(
    run: VerifiedRun, experiment: SplitExperiment, conformal: bool, origin: Mapping[str, Any]
) -> FittedModel:
    """Return a model of all rows, or of those that are not held out, and what is saved with it."""
    experiment = experiment.resolved()
    experiment.check()
    table = experiment.table
    _check_identity(run, experiment)
    held_out = HeldOut(np.zeros(0, int), np.zeros(0, int), "rows")
    dataset = experiment.dataset
    time = dataset.split_by.get("time", ()) if isinstance(dataset, OwnTable) else ()
    if conformal:
        seed = derive_seed(experiment.seed, "held out") % 2**32
        held_out = hold_out(table, bool(time), seed)
    rows = np.setdiff1d(np.arange(len(table.targets)), held_out.rows)
    fitting = replace(experiment.fitting, searched_original_units=())  # those of runs are converted
    model = fit_model(fitting, table, chosen_values(run.splits), rows)
    encodings = table.encodings or [Encoding(name, NUMBER) for name in table.features]
    about: dict[str, Any] = {
        **origin,
        "label": experiment.title,
        "target": table.target,
        "held_out": held_out.kind,
        "held_out_groups": held_out.groups.tolist(),
        "encodings": [asdict(encoding) for encoding in encodings],
        "time": time,
        "missing_values": _settings_of(experiment).missing_values,
    }
    scores = np.zeros(0)
    if conformal:
        found = model.predict(table.inputs[held_out.rows])
        scores = np.abs(standard_scores(found, table.targets[held_out.rows]))
    is_time = np.array([one.column in time for one in encodings for _ in one.features])
    seed = derive_seed(experiment.seed, "region") % 2**32
    region = TrainingRegion.of(table.inputs[rows], is_time, seed)
    return model, {SCORES: scores, **vars(region)}, about


def _check_identity(run: VerifiedRun, experiment: SplitExperiment) -> None:
    """Raise `UserError` if the settings or data are not those of the run's record."""
    now, recorded = flatten(experiment.identity()), flatten(run.record.identity)
    different = {name for name in {*now, *recorded} if now.get(name) != recorded.get(name)}
    if different - {*MACHINE_SETTINGS, *TABLE_SETTINGS}:
        raise damaged_file_error(run.folder.config, "does not match record.json")
    if different & {*TABLE_SETTINGS}:
        raise UserError(
            f"the data of {experiment.table.name} have changed since {run.folder.root} was run; "
            "run it again.",
            "RUN",
            "data_changed",
        )
