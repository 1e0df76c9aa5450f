"""Remove shares of a network's weights by several rules, without training again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from bnnbench.constraints import Between, ListOf, OneOf, check_settings
from bnnbench.experiment.fitting import FitSettings, fit_task, predict, score
from bnnbench.experiment.protocol import split_streams, training_parts
from bnnbench.experiment.run_folder import UnitStore
from bnnbench.experiment.split_experiment import SplitExperiment
from bnnbench.methods.map import MAP
from bnnbench.methods.shared.chunking import predict_outputs
from bnnbench.methods.shared.contract import Method, Posterior
from bnnbench.methods.shared.gaussian import GaussianMethod, GaussianPosterior
from bnnbench.methods.shared.trainer import MAX_DRAWN_WEIGHTS, StochasticMethod
from bnnbench.preprocessing import Scaler
from bnnbench.random_streams import Streams
from bnnbench.suites.pruning.tables import ARMS, KIND, MAGNITUDE, PRUNED, RANDOM, SCORES, SNR
from bnnbench.types import Prediction, Split, Table, UserError


@dataclass(frozen=True, kw_only=True)
class Pruning(SplitExperiment):
    """Remove weights in the order of a rule (Blundell et al. 2015, section 5.1).

    A removed weight is zero in every network that is drawn from the posterior, so its mean and its
    deviation are zero. Biases are kept. Networks are drawn with the same random numbers for all
    shares. Nothing is trained again.

    Attributes:
        arms: rules, of `ARMS`; a single network has no `snr`.
        shares: of the weights that are removed.
    """

    arms: Annotated[tuple[str, ...], ListOf(OneOf(*ARMS), order="distinct")]
    shares: Annotated[
        tuple[float, ...],
        ListOf(Between(0, 1, low_included=True, high_included=True), order="increasing"),
    ]
    kind: ClassVar[str] = KIND

    def check(self) -> None:
        super().check()
        check_settings(self, "experiment")
        draws = type(self.method).predict is StochasticMethod.predict
        if not (isinstance(self.method, GaussianMethod) and draws) and type(self.method) is not MAP:
            raise UserError(
                f"method={self.method.label} does not draw networks from a Gaussian posterior; "
                "choose bbb, vadam, vprop, ivon, practical_vi, renyi_vi or map.",
                "method",
                "not_prunable",
            )
        if self.space:
            raise UserError(
                f"experiment={self.label} does not search; give method.{self.space[0].name}=VALUE.",
                "search",
                "searched",
            )

    def run_group(self, units: Sequence[str], store: UnitStore, workers: int = 1) -> None:
        """Fit some splits in one stack and predict with every share of their weights."""
        splits = [self.requested[unit] for unit in units]
        rows = pruned_rows(self.fitting, self.table, splits, self.arms, self.shares)
        for unit, own in zip(units, rows, strict=True):
            store.save(unit, {PRUNED: own}, {})


class Fitted(NamedTuple):
    """Fits to the training parts of R splits, and what their predictions need.

    Attributes:
        posterior: of the fits.
        scaler: of the training parts.
        streams: in the state after the fits.
    """

    posterior: Posterior
    scaler: Scaler
    streams: Streams


@torch.no_grad()
def pruned_rows(
    fitting: FitSettings,
    table: Table,
    splits: Sequence[Split],
    arms: Sequence[str],
    shares: Sequence[float],
) -> list[list[dict[str, Any]]]:
    """Return the rows of each split in `PRUNED`.

    Fits and random numbers are those of `protocol.final_fit`.
    """
    data, scaler = training_parts(fitting, table, splits)
    streams = split_streams(fitting, splits, data, "final")
    epochs = fitting.training.final_epochs
    task = fit_task(fitting, data, scaler, [{}] * len(splits), epochs, streams)
    fitted = Fitted(fitting.method.fit(task), scaler, streams)
    inputs = scaler.inputs([table.inputs[split.test] for split in splits])
    importance = importances(fitting.method, fitted.posterior, splits)
    rows: list[list[dict[str, Any]]] = [[] for _ in splits]
    for arm, share in product([arm for arm in arms if arm in importance], shares):
        removed = round(share * int(importance[arm][0].isfinite().sum()))
        keep = importance[arm].argsort(dim=1, stable=True).argsort(1) >= removed
        pruned = predict_pruned(fitting, fitted, inputs, keep)
        for r, (own, split) in enumerate(zip(rows, splits, strict=True)):
            diverged = bool(fitted.posterior.diverged[r])
            scores, _ = score(table, split, split.test, pruned, r, diverged)
            kept = {name: scores[name] for name in SCORES}
            facts = {"split": split.index, "arm": arm, "share": share, "removed": removed}
            own.append({**facts, **kept})
    return rows


def importances(method: Method, posterior: Posterior, splits: Sequence[Split]) -> dict[str, Tensor]:
    """Return the importance of each weight by each rule, `[R, P]`, infinite for biases."""
    sizes = posterior.mlp.sizes
    biases = [torch.arange((d + 1) * o) >= d * o for d, o in pairwise(sizes)]
    drawn = [np.random.RandomState([s.index]).uniform(size=posterior.mlp.n_weights) for s in splits]
    found = {RANDOM: torch.from_numpy(np.stack(drawn))}
    if isinstance(method, GaussianPosterior):
        loc, scale = method.moments(posterior)
        found |= {SNR: loc.abs() / scale, MAGNITUDE: loc.abs()}
    else:
        found[MAGNITUDE] = posterior.state["loc"].abs()
    return {arm: value.masked_fill(torch.cat(biases), math.inf) for arm, value in found.items()}


def predict_pruned(
    fitting: FitSettings, fitted: Fitted, inputs: Tensor, keep: Tensor
) -> Prediction:
    """Predict with networks in which only some weights are kept, original units and float64.

    Args:
        fitting: settings of the fits.
        fitted: the fits; their streams are not changed.
        inputs: standardised, `[R, M, D]`.
        keep: which weights to keep, `[R, P]`.
    """
    method, (posterior, scaler, streams) = fitting.method, fitted
    assert isinstance(method, StochasticMethod)
    weights = keep.to(inputs.dtype)
    if isinstance(method, MAP):
        state = {**posterior.state, "loc": posterior.state["loc"] * weights}
        return predict(fitting, replace(posterior, state=state), scaler, inputs, streams)
    shape = (fitting.samples, *inputs.shape[:2], method.likelihood.outputs)
    outputs, streams = inputs.new_empty(shape), deepcopy(streams)
    for part in outputs.split(max(1, MAX_DRAWN_WEIGHTS // posterior.mlp.n_weights)):
        networks = method.sample_weights(posterior, len(part), streams) * weights
        predict_outputs(posterior.mlp, networks, inputs, part)
    raw = method.likelihood.prediction(outputs, posterior.hyper)
    double = Prediction(raw.loc.double(), raw.epistemic.double(), raw.noise.double())
    return double.rescaled(*scaler.target_units())
