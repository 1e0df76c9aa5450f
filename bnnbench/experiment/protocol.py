"""The protocol for a stack of splits (Cinelli et al. 2021, section 4.7.3).

For each split: search on cross-validation folds of the training part, one fit on all of it,
scores on the test part. Test targets are read in `scoring.score` and nowhere else.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from bnnbench.experiment.scoring import Scored, flat, objective, score
from bnnbench.methods.shared.contract import FitTask, Method, Posterior
from bnnbench.metrics import log_likelihood, log_likelihood_joint
from bnnbench.preprocessing import Scaler, pad, real_rows, standardise
from bnnbench.random_streams import Streams, derive_seed
from bnnbench.search.base import Trial
from bnnbench.settings import Evaluation, Network, Training
from bnnbench.types import Prediction, Split, Table, TrainingSet

Values = Mapping[str, float]

LOG_LIKELIHOODS = {"per_point": log_likelihood, "joint": log_likelihood_joint}
"""What a search may maximise, by `Search.objective`."""


@dataclass(frozen=True)
class Fitting:
    """What a fit and its predictions need beside data, values and random numbers.

    Attributes:
        method: what is fitted.
        network: the architecture.
        training: settings of the fits.
        samples: Monte Carlo weight samples of a prediction.
        device: `cpu` or `cuda`.
        seed: of everything random.
        in_target_units: by name, known precisions in the units of the target.
    """

    method: Method
    network: Network
    training: Training
    samples: int
    device: str
    seed: int
    in_target_units: Values = field(default_factory=dict)

    @property
    def dtype(self) -> torch.dtype:
        return getattr(torch, self.training.dtype)

    def converted(self, scaler: Scaler) -> list[dict[str, float]]:
        """Those precisions in the standardised units of each part that is trained on."""
        return [
            {name: value * scale**2 for name, value in self.in_target_units.items()}
            for scale in scaler.target_scale.tolist()
        ]


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


def shuffled_folds(rows: int, count: int, seed: int) -> list[np.ndarray]:
    """Which rows each fold holds out, masks `[rows]`.

    The folds of scikit-learn's `KFold(count, shuffle=True, random_state=seed)`, which takes a
    second to import where it is needed for nothing else.
    """
    order = np.random.RandomState(seed).permutation(rows)
    return [np.isin(np.arange(rows), part) for part in np.array_split(order, count)]


def grouped_folds(groups: np.ndarray, count: int, seed: int) -> list[np.ndarray]:
    """Which rows each fold holds out, masks `[rows]`, those of one group all or none.

    Args:
        groups: `[rows]`, the number of each row's group.
        count: how many folds, each with as many groups as the others, or one more.
        seed: of the order that the groups are dealt in.
    """
    order = np.random.RandomState(seed).permutation(np.unique(groups))
    return [np.isin(groups, part) for part in np.array_split(order, count)]


def make_folds(fitting: Fitting, table: Table, splits: Sequence[Split], count: int) -> Folds:
    """Shuffled, seeded folds of each split's training part, the same for all its trials."""
    fits, checks, groups = [], [], []
    for g, split in enumerate(splits):
        seed = derive_seed(fitting.seed, split.index, "folds") % 2**32
        held_out = (
            shuffled_folds(len(split.train), count, seed)
            if table.groups is None
            else grouped_folds(table.groups[split.train], count, seed)
        )
        for out in held_out:
            fits.append(split.train[~out])
            checks.append(split.train[out])
            groups.append(g)
    x, y = table.inputs, table.targets
    device = torch.device(fitting.device)
    data, scaler = standardise(
        [x[i] for i in fits], [y[i] for i in fits], groups, device, fitting.dtype
    )
    checked = [y[i] for i in checks]
    return Folds(
        data,
        scaler,
        scaler.inputs([x[i] for i in checks]),
        torch.from_numpy(pad(checked)).to(device),
        torch.from_numpy(real_rows(checked)).to(device),
        tuple(checks),
        count,
    )


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
    diagnostics = {name: values.tolist() for name, values in posterior.diagnostics.items()}
    fitted = time.perf_counter()
    inputs = scaler.inputs([x[s.test] for s in splits])
    prediction = predict(fitting, posterior, scaler, inputs, streams)
    scored = _scored(table, splits, [s.test for s in splits], prediction, diverged)
    finished = time.perf_counter()
    trained: list[Scored] = [({}, {}) for _ in splits]
    if evaluation.training_part:
        own = _streams(fitting, splits, data, "training part")
        prediction = predict(fitting, posterior, scaler, data.inputs, own)
        trained = _scored(table, splits, [s.train for s in splits], prediction, diverged)
    return [
        Outcome(
            scores={**scores, **{f"train_{name}": value for name, value in fit_scores.items()}},
            diagnostics={name: values[r] for name, values in diagnostics.items()},
            converted=fitting.converted(scaler)[r],
            diverged=diverged[r],
            parameters=fitting.method.parameters(posterior.mlp),
            fit_seconds=(fitted - started) / len(splits),
            predict_seconds=(finished - fitted) / len(splits),
            predictions=predictions,
            training=fit_predictions,
            objective=objective(posterior, splits[r], r),
        )
        for r, ((scores, predictions), (fit_scores, fit_predictions)) in enumerate(
            zip(scored, trained, strict=True)
        )
    ]


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


def fit_task(
    fitting: Fitting,
    data: TrainingSet,
    scaler: Scaler,
    values: Sequence[Values],
    epochs: int,
    streams: Streams,
    compiled: bool = False,
) -> FitTask:
    """What the method is given to fit, hyper-parameters in standardised units.

    Those that carry a value give way to `values`, of each group of replicas, and both to what is
    known in the units of the target.
    """
    per_replica: list[dict[str, float]] = [
        {**fitting.method.fixed(), **values[group], **converted}
        for group, converted in zip(data.groups, fitting.converted(scaler), strict=True)
    ]
    hyper = {
        name: data.inputs.new_tensor([[v[name]] for v in per_replica])
        for name in fitting.method.hyper_names
    }
    return FitTask(data, hyper, fitting.network, fitting.training, epochs, streams, compiled)


def predict(
    fitting: Fitting, posterior: Posterior, scaler: Scaler, inputs: Tensor, streams: Streams
) -> Prediction:
    """Predicts standardised inputs `[R, M, D]`, in original units and float64."""
    raw = fitting.method.predict(posterior, inputs, fitting.samples, streams)
    double = Prediction(raw.loc.double(), raw.epistemic.double(), raw.noise.double())
    return double.rescaled(*scaler.target_units())
