"""The protocol for a stack of splits (Cinelli et al. 2021, section 4.7.3).

For each split: search on cross-validation folds of the training part, a final fit on all of it,
and scores on the test part. Only `fitting.score` reads test targets.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from bnnbench.experiment.splits.fitting import (
    FitSettings,
    Values,
    diagnosis_arrays,
    fit_task,
    fold_arrays,
    mixture_arrays,
    objective_arrays,
    predict,
    prediction_arrays,
    score,
)
from bnnbench.experiment.splits.folds import Folds
from bnnbench.experiment.store.split_files import (
    DIAGNOSIS,
    FOLDS,
    MIXTURE,
    OBJECTIVE,
    OUT_OF_FOLD,
    PREDICTIONS,
    TRAINING,
)
from bnnbench.experiment.store.unit_store import joined
from bnnbench.methods.shared.contract import Posterior
from bnnbench.metrics import log_likelihood, log_likelihood_joint
from bnnbench.preprocessing import Scaler, standardise
from bnnbench.random_streams import Streams, derive_seed
from bnnbench.settings import Evaluation
from bnnbench.types import Prediction, Split, Table, TrainingSet

LOG_LIKELIHOODS = {"per_point": log_likelihood, "joint": log_likelihood_joint}
"""Objectives of a search, by `Search.objective`."""


def cross_validate(
    fitting: FitSettings,
    splits: Sequence[Split],
    folds: Folds,
    values: Sequence[Values],
    iteration: int,
    objective: str = "per_point",
) -> list[list[float]]:
    """Return the validation log-likelihoods of one candidate per split.

    Args:
        fitting: settings of the fits.
        splits: computed in lockstep.
        folds: the validation parts.
        values: the candidate of each split.
        iteration: number of earlier candidates.
        objective: the log-likelihood, a key of `LOG_LIKELIHOODS`.

    Returns:
        Per split, the log-likelihood of each validation part in original units; NaN if its fit
        diverged.
    """
    streams = split_streams(fitting, splits, folds.data, "search", iteration)
    fitting = fitting.for_trial(values[0])  # candidates share the batch size
    posterior, prediction = _fit_folds(fitting, folds, values, fitting.training.epochs, streams)
    scores = LOG_LIKELIHOODS[objective](prediction, folds.targets, folds.real)
    return scores.masked_fill(posterior.diverged.cpu(), math.nan).view(-1, folds.count).tolist()


def out_of_fold(
    fitting: FitSettings,
    table: Table,
    splits: Sequence[Split],
    folds: Folds,
    values: Sequence[Values],
    test_rows: bool = False,
) -> list[dict[str, dict[str, np.ndarray]]]:
    """Predict every training row with networks not trained on it, fitted like the final one.

    Recalibration uses these predictions, and never the test part.

    Args:
        fitting: settings of the fits.
        table: the data.
        splits: computed in lockstep.
        folds: from `make_folds`.
        values: hyper-parameters of each split.
        test_rows: whether to predict the test rows with the networks of every fold, too.

    Returns:
        Per split, the arrays of `out_of_fold.npz` in original units, in fold order, and with
        `test_rows` those of `folds.npz`; predictions are NaN in folds whose fit diverged.
    """
    streams = split_streams(fitting, splits, folds.data, "out of fold")
    epochs = fitting.training.final_epochs
    posterior, prediction = _fit_folds(fitting, folds, values, epochs, streams)
    diverged, groups = posterior.diverged, folds.data.groups
    prediction = replace(prediction, loc=prediction.loc.masked_fill(diverged[:, None], math.nan))
    pieces = [
        prediction_arrays(table, splits[group], rows, prediction, replica)
        for replica, (group, rows) in enumerate(zip(groups, folds.rows, strict=True))
    ]
    members = [range(k, k + folds.count) for k in range(0, len(pieces), folds.count)]
    results = [{OUT_OF_FOLD: joined([pieces[r] for r in own])} for own in members]
    if test_rows:
        streams = split_streams(fitting, splits, folds.data, "out of fold", "test rows")
        inputs = folds.scaler.inputs([table.inputs[splits[group].test] for group in groups])
        tested = predict(fitting, posterior, folds.scaler, inputs, streams).mean()
        means = tested.masked_fill(diverged[:, None], math.nan).cpu().numpy()
        for result, own in zip(results, members, strict=True):
            sizes = [len(folds.rows[r]) for r in own]
            result[OUT_OF_FOLD]["fold"] = np.repeat(np.arange(folds.count), sizes)
            result[FOLDS] = fold_arrays(splits[groups[own[0]]], means[own.start : own.stop])
    return results


@dataclass(frozen=True)
class SplitResult:
    """The results of a split.

    Attributes:
        scores: every metric, original units; with `evaluation.score_training_rows` also those of
            the training rows, with the prefix `train_`.
        diagnostics: numbers that the method reports about the fit.
        target_scale: standard deviation of the training targets, or of their logarithms.
        diverged: whether the fit diverged, or a score is not finite.
        parameters: number of learned parameters.
        fit_seconds: of the final fit.
        predict_seconds: of predicting and scoring the test part.
        arrays: by the name of their file; without those that are not requested.
    """

    scores: dict[str, float]
    diagnostics: dict[str, float]
    target_scale: float
    diverged: bool
    parameters: int
    fit_seconds: float
    predict_seconds: float
    arrays: dict[str, dict[str, np.ndarray]]


def final_fit(
    fitting: FitSettings,
    table: Table,
    splits: Sequence[Split],
    values: Sequence[Values],
    evaluation: Evaluation,
) -> list[SplitResult]:
    """Fit the whole training part of each split and score its test part.

    A split that occurs several times is fitted as often, with the same random numbers.
    """
    started = time.perf_counter()
    numbers, rows = _numbers(splits), [split.train for split in splits]
    groups = [numbers.index(split.index) for split in splits]
    data, scaler = standardise(table, rows, groups, torch.device(fitting.device), fitting.dtype)
    streams = split_streams(fitting, splits, data, "final")
    task = fit_task(fitting, data, scaler, values, fitting.training.final_epochs, streams)
    if evaluation.save_objective:
        task = replace(task, trace_streams=split_streams(fitting, splits, data, "trace"))
    posterior = fitting.method.fit(task)
    diverged = posterior.diverged.tolist()  # wait for the device before stopping the clock
    fitted = time.perf_counter()
    inputs = scaler.inputs([table.inputs[split.test] for split in splits])
    prediction = predict(fitting, posterior, scaler, inputs, streams)
    scored = [
        score(table, split, split.test, prediction, r, diverged[r])
        for r, split in enumerate(splits)
    ]
    finished = time.perf_counter()
    diagnosis = fitting.method.diagnose(posterior, inputs, [len(split.test) for split in splits])
    diagnostics = {**posterior.diagnostics, **diagnosis.summary}
    scales = scaler.target_scale.tolist()
    results = []
    for r, (split, (scores, predictions)) in enumerate(zip(splits, scored, strict=True)):
        arrays = {
            PREDICTIONS: predictions,
            OBJECTIVE: objective_arrays(posterior, split, r),
            DIAGNOSIS: diagnosis_arrays(split, diagnosis.points, r),
        }
        results.append(
            SplitResult(
                scores=scores,
                diagnostics={name: tensor[r].item() for name, tensor in diagnostics.items()},
                target_scale=scales[r],
                diverged=any(map(math.isnan, scores.values())),
                parameters=fitting.method.n_parameters(posterior.mlp),
                fit_seconds=(fitted - started) / len(splits),
                predict_seconds=(finished - fitted) / len(splits),
                arrays=arrays,
            )
        )
    if evaluation.save_predictive_mixture:
        _add_mixtures(results, splits, prediction, scaler)
    if evaluation.score_training_rows:
        streams = split_streams(fitting, splits, data, "training part")
        prediction = predict(fitting, posterior, scaler, data.inputs, streams)
        _add_training_scores(results, table, splits, prediction)
    return results


def _add_mixtures(
    results: Sequence[SplitResult],
    splits: Sequence[Split],
    prediction: Prediction,
    scaler: Scaler,
) -> None:
    """Add the predictive mixtures of the test parts, converted to standardised units."""
    shift, scale = scaler.target_units()
    standardised = prediction.rescaled(-shift / scale, 1 / scale)
    for r, (result, split) in enumerate(zip(results, splits, strict=True)):
        result.arrays[MIXTURE] = mixture_arrays(split, split.test, standardised, r)


def _add_training_scores(
    results: Sequence[SplitResult], table: Table, splits: Sequence[Split], prediction: Prediction
) -> None:
    """Add the scores and predictions of the training rows."""
    for r, (result, split) in enumerate(zip(results, splits, strict=True)):
        scores, arrays = score(table, split, split.train, prediction, r, result.diverged)
        result.scores.update({f"train_{name}": value for name, value in scores.items()})
        result.arrays[TRAINING] = arrays


def _fit_folds(
    fitting: FitSettings, folds: Folds, values: Sequence[Values], epochs: int, streams: Streams
) -> tuple[Posterior, Prediction]:
    """Return the fit of each fold, and its prediction of the held-out rows."""
    compiled = fitting.training.compile == "always"
    task = fit_task(fitting, folds.data, folds.scaler, values, epochs, streams, compiled)
    posterior = fitting.method.fit(task)
    return posterior, predict(fitting, posterior, folds.scaler, folds.inputs, streams)


def _numbers(splits: Sequence[Split]) -> list[int]:
    """Return the indices of the splits without repetitions; each has one random stream."""
    return list(dict.fromkeys(split.index for split in splits))


def split_streams(
    fitting: FitSettings, splits: Sequence[Split], data: TrainingSet, *purpose: int | str
) -> Streams:
    """Return the random numbers of each split for one purpose."""
    seeds = [derive_seed(fitting.seed, number, *purpose) for number in _numbers(splits)]
    return Streams(seeds, data.groups, fitting.device, fitting.dtype)
