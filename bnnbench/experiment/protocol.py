"""The protocol of the book (section 4.7.3) for a stack of splits.

For each split: search on cross-validation folds of the training part, one fit on all of it,
scores on the test part. Test targets are read in `scores.score` and nowhere else.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from bnnbench.experiment.plan import Plan
from bnnbench.experiment.scoring import Scored, flat, objective, score
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.metrics import log_likelihood
from bnnbench.preprocessing import Scaler, pad, real_rows, standardise
from bnnbench.random_streams import Streams, derive_seed
from bnnbench.search.base import Trial
from bnnbench.types import Prediction, Split, TrainingSet

Values = Mapping[str, float]


@dataclass(frozen=True)
class Folds:
    """The cross-validation of some splits: one replica per split and fold.

    Attributes:
        data: standardised training folds.
        scaler: their statistics.
        inputs: standardised validation inputs `[R, M, D]`.
        targets: validation targets `[R, M]`, original units.
        real: `[R, M]`, False on padding.
        rows: per replica, the table's row numbers of the validation part.
        count: folds per split.
    """

    data: TrainingSet
    scaler: Scaler
    inputs: Tensor
    targets: Tensor
    real: Tensor
    rows: tuple[np.ndarray, ...]
    count: int


def make_folds(plan: Plan, splits: Sequence[Split]) -> Folds:
    """Shuffled, seeded folds of each split's training part, the same for all its trials."""
    from sklearn.model_selection import KFold

    count = plan.search.folds
    fits, checks, groups = [], [], []
    for g, split in enumerate(splits):
        seed = derive_seed(plan.seed, split.index, "folds") % 2**32
        for fit, check in KFold(count, shuffle=True, random_state=seed).split(split.train):
            fits.append(split.train[fit])
            checks.append(split.train[check])
            groups.append(g)
    x, y = plan.table.inputs, plan.table.targets
    device = torch.device(plan.device)
    data, scaler = standardise(
        [x[i] for i in fits], [y[i] for i in fits], groups, device, plan.dtype
    )
    held_out = [y[i] for i in checks]
    return Folds(
        data,
        scaler,
        scaler.inputs([x[i] for i in checks]),
        torch.from_numpy(pad(held_out)).to(device),
        torch.from_numpy(real_rows(held_out)).to(device),
        tuple(checks),
        count,
    )


def cross_validate(
    plan: Plan, splits: Sequence[Split], folds: Folds, values: Sequence[Values], iteration: int
) -> list[list[float]]:
    """Validation log-likelihoods of one candidate per split.

    Returns:
        Per split, the mean per-point log-likelihood of each fold in original units; NaN for a
        fold whose fit diverged.
    """
    streams = _streams(plan, splits, folds.data, "search", iteration)
    diverged, prediction = _fit_folds(plan, folds, values, plan.training.epochs, streams)
    scores = log_likelihood(prediction, folds.targets, folds.real)
    return scores.masked_fill(diverged, math.nan).view(-1, folds.count).tolist()


def out_of_fold(
    plan: Plan, splits: Sequence[Split], values: Sequence[Values]
) -> list[dict[str, np.ndarray]]:
    """Predicts every training row by a network that has not seen it, trained like the final one.

    What a recalibration may learn from: it never sees the test part.

    Returns:
        Per split, the flat arrays of `out_of_fold.npz` in original units, in fold order;
        predictions are NaN in folds whose fit diverged.
    """
    folds = make_folds(plan, splits)
    streams = _streams(plan, splits, folds.data, "out of fold")
    diverged, prediction = _fit_folds(plan, folds, values, plan.training.final_epochs, streams)
    prediction = replace(prediction, loc=prediction.loc.masked_fill(diverged[:, None], math.nan))
    pieces = [
        flat(plan, splits[group], rows, prediction, replica)
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
        diverged: whether the fit did.
        parameters: how many numbers the fit learned.
        fit_seconds: of the final fit.
        predict_seconds: of predicting and scoring the test part.
        predictions: flat arrays in original units, of the test part.
        training: the same of the rows trained on, where asked for.
        objective: flat arrays `split`, `epoch`, `loss` and `complexity`, where asked for.
    """

    scores: dict[str, float]
    diagnostics: dict[str, float]
    diverged: bool
    parameters: int
    fit_seconds: float
    predict_seconds: float
    predictions: dict[str, np.ndarray]
    training: dict[str, np.ndarray]
    objective: dict[str, np.ndarray]


def final_fit(plan: Plan, splits: Sequence[Split], values: Sequence[Values]) -> list[Outcome]:
    """Fits each split's whole training part and scores its test part.

    A split that is named more than once is fitted as often, with the same random numbers.
    """
    numbers = _numbers(splits)
    x, y = plan.table.inputs, plan.table.targets
    device = torch.device(plan.device)
    started = time.perf_counter()
    data, scaler = standardise(
        [x[s.train] for s in splits],
        [y[s.train] for s in splits],
        [numbers.index(split.index) for split in splits],
        device,
        plan.dtype,
    )
    streams = _streams(plan, splits, data, "final")
    task = _task(plan, data, values, plan.training.final_epochs, streams)
    if plan.evaluation.trace:
        task = replace(task, trace=_streams(plan, splits, data, "trace"))
    posterior = plan.method.fit(task)
    diverged = posterior.diverged.tolist()  # waits for the device, so the clock is honest
    diagnostics = {name: values.tolist() for name, values in posterior.diagnostics.items()}
    fitted = time.perf_counter()
    inputs = scaler.inputs([x[s.test] for s in splits])
    prediction = _predict(plan, posterior, scaler, inputs, streams)
    scored = [
        score(plan, split, split.test, prediction, replica, diverged[replica])
        for replica, split in enumerate(splits)
    ]
    finished = time.perf_counter()
    trained: list[Scored] = [({}, {}) for _ in splits]
    if plan.evaluation.training_part:
        own = _streams(plan, splits, data, "training part")
        prediction = _predict(plan, posterior, scaler, data.inputs, own)
        trained = [
            score(plan, split, split.train, prediction, replica, diverged[replica])
            for replica, split in enumerate(splits)
        ]
    share = len(splits)
    return [
        Outcome(
            {**scores, **{f"train_{name}": value for name, value in fit_scores.items()}},
            {name: values[r] for name, values in diagnostics.items()},
            diverged[r],
            plan.method.parameters(posterior.mlp),
            (fitted - started) / share,
            (finished - fitted) / share,
            predictions,
            fit_predictions,
            objective(posterior, splits[r], r),
        )
        for r, ((scores, predictions), (fit_scores, fit_predictions)) in enumerate(
            zip(scored, trained, strict=True)
        )
    ]


def trial_from(
    values: Values, folds: Sequence[float], seconds: float, suggest_seconds: float
) -> Trial:
    """A trial's record; its objective is NaN as soon as one fold diverged."""
    return Trial(dict(values), float(np.mean(folds)), tuple(folds), seconds, suggest_seconds)


def _fit_folds(
    plan: Plan, folds: Folds, values: Sequence[Values], epochs: int, streams: Streams
) -> tuple[Tensor, Prediction]:
    """Whether each fold's fit diverged, `[R]`, and its prediction of the rows held out."""
    compiled = plan.training.compile == "always"
    posterior = plan.method.fit(_task(plan, folds.data, values, epochs, streams, compiled))
    return posterior.diverged, _predict(plan, posterior, folds.scaler, folds.inputs, streams)


def _numbers(splits: Sequence[Split]) -> list[int]:
    """The number of each split once, in order: one stream of random numbers each."""
    return list(dict.fromkeys(split.index for split in splits))


def _streams(
    plan: Plan, splits: Sequence[Split], data: TrainingSet, *purpose: int | str
) -> Streams:
    seeds = [derive_seed(plan.seed, number, *purpose) for number in _numbers(splits)]
    return Streams(seeds, data.groups, plan.device, plan.dtype)


def _task(
    plan: Plan,
    data: TrainingSet,
    values: Sequence[Values],
    epochs: int,
    streams: Streams,
    compiled: bool = False,
) -> FitTask:
    per_replica = [{**plan.method.fixed(), **values[group]} for group in data.groups]
    hyper = {
        name: data.inputs.new_tensor([[v[name]] for v in per_replica])
        for name in plan.method.hyper_names
    }
    return FitTask(data, hyper, plan.network, plan.training, epochs, streams, compiled)


def _predict(
    plan: Plan, posterior: Posterior, scaler: Scaler, inputs: Tensor, streams: Streams
) -> Prediction:
    """In original units and float64."""
    raw = plan.method.predict(posterior, inputs, plan.evaluation.samples, streams)
    double = Prediction(raw.loc.double(), raw.epistemic.double(), raw.noise.double())
    return double.rescaled(*scaler.target_units())
