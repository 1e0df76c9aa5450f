"""The protocol for a stack of splits (Cinelli et al. 2021, section 4.7.3).

For each split: search on cross-validation folds of the training part, one fit on all of it,
scores on the test part. Test targets are read in `scoring.score` and nowhere else.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from bnnbench.experiment.fitting import Fitting, Values, fit_task, predict
from bnnbench.experiment.folds import Folds
from bnnbench.experiment.scoring import Scored, components, diagnosis, flat, objective, score
from bnnbench.methods.shared.contract import Posterior
from bnnbench.metrics import log_likelihood, log_likelihood_joint
from bnnbench.preprocessing import Scaler, standardise
from bnnbench.random_streams import Streams, derive_seed
from bnnbench.search.base import Trial
from bnnbench.settings import Evaluation
from bnnbench.types import Prediction, Split, Table, TrainingSet

LOG_LIKELIHOODS = {"per_point": log_likelihood, "joint": log_likelihood_joint}
"""What a search may maximise, by `Search.objective`."""


def cross_validate(
    fitting: Fitting,
    splits: Sequence[Split],
    folds: Folds,
    values: Sequence[Values],
    iteration: int,
    maximised: str = "per_point",
) -> list[list[float]]:
    """Validation log-likelihoods of one candidate per split.

    Args:
        fitting: what the candidates are fitted with.
        splits: that advance in lockstep.
        folds: of `make_folds`.
        values: the candidate of each split.
        iteration: how many candidates came before.
        maximised: which log-likelihood, one of `OBJECTIVES`.

    Returns:
        Per split, that log-likelihood of each fold in original units; NaN for a fold whose fit
        diverged.
    """
    streams = _streams(fitting, splits, folds.data, "search", iteration)
    diverged, prediction = _fit_folds(fitting, folds, values, fitting.training.epochs, streams)
    scores = LOG_LIKELIHOODS[maximised](prediction, folds.targets, folds.real)
    return scores.masked_fill(diverged, math.nan).view(-1, folds.count).tolist()


def out_of_fold(
    fitting: Fitting,
    table: Table,
    splits: Sequence[Split],
    folds: Folds,
    values: Sequence[Values],
) -> list[dict[str, np.ndarray]]:
    """Predicts every training row by a network that has not seen it, trained like the final one.

    What a recalibration may learn from: it never sees the test part.

    Returns:
        Per split, the flat arrays of `out_of_fold.npz` in original units, in fold order;
        predictions are NaN in folds whose fit diverged.
    """
    streams = _streams(fitting, splits, folds.data, "out of fold")
    epochs = fitting.training.final_epochs
    diverged, prediction = _fit_folds(fitting, folds, values, epochs, streams)
    prediction = replace(prediction, loc=prediction.loc.masked_fill(diverged[:, None], math.nan))
    pieces = [
        flat(table, splits[group], rows, prediction, replica)
        for replica, (group, rows) in enumerate(zip(folds.data.groups, folds.rows, strict=True))
    ]
    return [
        {name: np.concatenate([piece[name] for piece in own]) for name in own[0]}
        for own in (pieces[k : k + folds.count] for k in range(0, len(pieces), folds.count))
    ]


@dataclass(frozen=True)
class Outcome:
    """What one split came to.

    Attributes:
        scores: every metric, original units; with `evaluation.training_part` those of the rows
            trained on too, under names that start with `train_`.
        converted: precisions that were known in the units of the target, standardised.
        diverged: whether the fit did.
        parameters: how many numbers the fit learned.
        fit_seconds: of the final fit.
        predict_seconds: of predicting and scoring the test part.
        predictions: flat arrays in original units, of the test part.
        training: the same of the rows trained on, where asked for.
        objective: flat arrays `split`, `epoch`, `loss` and `complexity`, where asked for.
        mixture: of `components`, of the test part in standardised units, where asked for.
        diagnosis: `split`, `row` and what the method says of its prediction of each test point.
    """

    scores: dict[str, float]
    diagnostics: dict[str, float]
    converted: dict[str, float]
    diverged: bool
    parameters: int
    fit_seconds: float
    predict_seconds: float
    predictions: dict[str, np.ndarray]
    training: dict[str, np.ndarray]
    objective: dict[str, np.ndarray]
    mixture: dict[str, np.ndarray]
    diagnosis: dict[str, np.ndarray]


def final_fit(
    fitting: Fitting,
    table: Table,
    splits: Sequence[Split],
    values: Sequence[Values],
    evaluation: Evaluation,
) -> list[Outcome]:
    """Fits each split's whole training part and scores its test part.

    A split that is named more than once is fitted as often, with the same random numbers.
    """
    numbers = _numbers(splits)
    x, y = table.inputs, table.targets
    started = time.perf_counter()
    data, scaler = standardise(
        [x[s.train] for s in splits],
        [y[s.train] for s in splits],
        [numbers.index(split.index) for split in splits],
        torch.device(fitting.device),
        fitting.dtype,
    )
    streams = _streams(fitting, splits, data, "final")
    task = fit_task(fitting, data, scaler, values, fitting.training.final_epochs, streams)
    if evaluation.trace:
        task = replace(task, trace=_streams(fitting, splits, data, "trace"))
    posterior = fitting.method.fit(task)
    diverged = posterior.diverged.tolist()  # waits for the device, so the clock is honest
    fitted = time.perf_counter()
    inputs = scaler.inputs([x[s.test] for s in splits])
    prediction = predict(fitting, posterior, scaler, inputs, streams)
    scored = _scored(table, splits, [s.test for s in splits], prediction, diverged)
    finished = time.perf_counter()
    diagnosed = _diagnosed(fitting, posterior, inputs, splits)
    kept = _mixtures(splits, prediction, scaler) if evaluation.mixture else [{} for _ in splits]
    trained: list[Scored] = [({}, {}) for _ in splits]
    if evaluation.training_part:
        own = _streams(fitting, splits, data, "training part")
        prediction = predict(fitting, posterior, scaler, data.inputs, own)
        trained = _scored(table, splits, [s.train for s in splits], prediction, diverged)
    return [
        Outcome(
            scores={**scores, **{f"train_{name}": value for name, value in fit_scores.items()}},
            diagnostics=diagnosed[r][0],
            converted=fitting.converted(scaler)[r],
            diverged=diverged[r],
            parameters=fitting.method.parameters(posterior.mlp),
            fit_seconds=(fitted - started) / len(splits),
            predict_seconds=(finished - fitted) / len(splits),
            predictions=predictions,
            training=fit_predictions,
            objective=objective(posterior, splits[r], r),
            mixture=kept[r],
            diagnosis=diagnosed[r][1],
        )
        for r, ((scores, predictions), (fit_scores, fit_predictions)) in enumerate(
            zip(scored, trained, strict=True)
        )
    ]


def _diagnosed(
    fitting: Fitting, posterior: Posterior, inputs: Tensor, splits: Sequence[Split]
) -> list[tuple[dict[str, float], dict[str, np.ndarray]]]:
    """What the method says of each split's fit, and of its predictions of each test point."""
    found = fitting.method.diagnose(posterior, inputs, [len(split.test) for split in splits])
    every = {**posterior.diagnostics, **found.summary}
    summary = {name: values.tolist() for name, values in every.items()}
    return [
        (
            {name: values[r] for name, values in summary.items()},
            diagnosis(split, found.points, r),
        )
        for r, split in enumerate(splits)
    ]


def _mixtures(
    splits: Sequence[Split], prediction: Prediction, scaler: Scaler
) -> list[dict[str, np.ndarray]]:
    """The predictive mixtures of the test parts, back in standardised units."""
    shift, scale = scaler.target_units()
    standardised = prediction.rescaled(-shift / scale, 1 / scale)
    return [components(split, split.test, standardised, r) for r, split in enumerate(splits)]


def _scored(
    table: Table,
    splits: Sequence[Split],
    rows: Sequence[np.ndarray],
    prediction: Prediction,
    diverged: Sequence[bool],
) -> list[Scored]:
    return [
        score(table, split, own, prediction, replica, diverged[replica])
        for replica, (split, own) in enumerate(zip(splits, rows, strict=True))
    ]


def trial_from(
    values: Values, folds: Sequence[float], seconds: float, suggest_seconds: float
) -> Trial:
    """A trial's record; its objective is NaN as soon as one fold diverged."""
    return Trial(dict(values), float(np.mean(folds)), tuple(folds), seconds, suggest_seconds)


def _fit_folds(
    fitting: Fitting, folds: Folds, values: Sequence[Values], epochs: int, streams: Streams
) -> tuple[Tensor, Prediction]:
    """Whether each fold's fit diverged, `[R]`, and its prediction of the rows held out."""
    compiled = fitting.training.compile == "always"
    task = fit_task(fitting, folds.data, folds.scaler, values, epochs, streams, compiled)
    posterior = fitting.method.fit(task)
    return posterior.diverged, predict(fitting, posterior, folds.scaler, folds.inputs, streams)


def _numbers(splits: Sequence[Split]) -> list[int]:
    """The number of each split once, in order: one stream of random numbers each."""
    return list(dict.fromkeys(split.index for split in splits))


def _streams(
    fitting: Fitting, splits: Sequence[Split], data: TrainingSet, *purpose: int | str
) -> Streams:
    seeds = [derive_seed(fitting.seed, number, *purpose) for number in _numbers(splits)]
    return Streams(seeds, data.groups, fitting.device, fitting.dtype)
