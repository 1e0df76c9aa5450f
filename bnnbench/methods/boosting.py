"""Gradient-boosted quantile regression, a strong baseline for tabular data.

Friedman, "Greedy function approximation", Annals of Statistics 29, 2001; Koenker & Bassett,
"Regression quantiles", Econometrica 46, 1978; scikit-learn's `HistGradientBoostingRegressor`.

CatBoost's loss `MultiQuantile`, one fit for all quantiles with as many trees and the same learning
rate, is faster on boston and protein. On boston RMSE and CRPS are better; whether the
log-likelihoods are as good is undecided on both, so we do not use it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from bnnbench.constraints import Count, Positive, Whole
from bnnbench.methods.shared.contract import Posterior
from bnnbench.methods.shared.estimators import EstimatorMethod
from bnnbench.random_streams import Streams
from bnnbench.types import Prediction

EXTRA_DEVIATIONS = np.geomspace(1e-3, 1.0, 31)
"""Candidates of the additional standard deviation, standardised units."""


@dataclass(frozen=True, kw_only=True)
class Boosting(EstimatorMethod):
    """Gradient-boosted trees for several quantiles; predicts a Gaussian with their mean and spread.

    Quantile `k` of `quantiles` has the level `(k - 1/2) / quantiles`. The Gaussian at a point has
    the mean of the quantiles, and their variance plus a constant. The constant maximises the
    likelihood of a fifth of the training rows, held out from a separate fit. All variance counts as
    noise: there is no epistemic uncertainty. Nothing is searched, and network and training settings
    have no effect.

    Attributes:
        quantiles: number of quantiles.
        iterations: trees per quantile.
        learning_rate: factor of each tree.
        max_leaf_nodes: per tree.
        min_samples_leaf: rows per leaf.
    """

    identity_name = "bnnbench.methods.boosting.Boosting"
    family = "boosting"
    quantiles: Count = 9
    iterations: Count = 100
    learning_rate: Positive = 0.1
    max_leaf_nodes: Annotated[int, Whole(2)] = 15
    min_samples_leaf: Count = 10
    point_estimate: ClassVar[bool] = True

    def fit_seconds(self, rows: int) -> float:
        """Return the duration of two fits of every quantile."""
        return 2 * self.quantiles * self.iterations * (1.5e-3 + 2e-6 * rows)

    def fit_replica(self, x: np.ndarray, y: np.ndarray, rows: int) -> dict[str, np.ndarray]:
        train = np.arange(len(y)) % 5 > 0
        held_out = self._fit_forest(x[train], y[train])
        extra = _extra_variance(held_out, x[~train], y[~train])
        return {**self._fit_forest(x, y), "extra": np.array([extra])}

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        """Predict one Gaussian per point."""
        x, state = inputs.double(), posterior.state
        by_replica = [
            _quantiles({name: values[r] for name, values in state.items()}, rows)
            for r, rows in enumerate(x)
        ]
        quantiles = torch.stack(by_replica)  # [R, M, quantiles]
        noise = quantiles.var(-1, correction=0) + state["extra"]
        return Prediction(quantiles.mean(-1)[None], torch.zeros_like(noise)[None], noise[None])

    def _fit_forest(self, x: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
        """Return the nodes, `[quantiles, trees, nodes]`, and initial predictions, `[quantiles]`."""
        from sklearn.ensemble import HistGradientBoostingRegressor

        models = [
            HistGradientBoostingRegressor(
                loss="quantile", quantile=(k + 0.5) / self.quantiles,
                learning_rate=self.learning_rate, max_iter=self.iterations,
                max_leaf_nodes=self.max_leaf_nodes, min_samples_leaf=self.min_samples_leaf,
                early_stopping=False, random_state=0,
            ).fit(x, y)
            for k in range(self.quantiles)
        ]  # fmt: skip
        size = 2 * self.max_leaf_nodes - 1
        forest = [[_nodes(tree.nodes, size) for (tree,) in m._predictors] for m in models]
        fields = {name: np.array([[t[name] for t in trees] for trees in forest]) for name in NODES}
        return {**fields, "base": np.array([m._baseline_prediction.item() for m in models])}


NODES = ("feature", "threshold", "left", "right", "value")
"""Arrays over nodes; both children of a leaf are the leaf itself."""


def _nodes(nodes: Any, size: int) -> dict[str, np.ndarray]:
    """Return the nodes of a tree as arrays, padded to `size` with leaves of value 0."""
    index, leaf = np.arange(len(nodes)), nodes["is_leaf"].astype(bool)
    arrays = (
        nodes["feature_idx"].astype(np.int64) * ~leaf,
        np.where(leaf, 0.0, nodes["num_threshold"]),
        np.where(leaf, index, nodes["left"].astype(np.int64)),
        np.where(leaf, index, nodes["right"].astype(np.int64)),
        np.where(leaf, nodes["value"], 0.0),
    )
    padding = (0, size - len(nodes))
    return {name: np.pad(array, padding) for name, array in zip(NODES, arrays, strict=True)}


def _quantiles(forest: Mapping[str, Tensor], x: Tensor) -> Tensor:
    """Return the quantiles of one replica at `[M, D]`, `[M, quantiles]`."""
    flat = {name: forest[name].flatten(0, 1) for name in NODES}
    node = torch.zeros(len(flat["value"]), len(x), dtype=torch.long, device=x.device)
    for _ in range(flat["value"].shape[1]):  # no path is longer, unless a saved model is damaged
        feature, threshold = flat["feature"].gather(1, node), flat["threshold"].gather(1, node)
        left, right = flat["left"].gather(1, node), flat["right"].gather(1, node)
        child = torch.where(x.T.gather(0, feature) <= threshold, left, right)
        if torch.equal(child, node):
            break
        node = child
    values = flat["value"].gather(1, node).view(*forest["value"].shape[:2], len(x))
    return (values.sum(1) + forest["base"][:, None]).T


def _extra_variance(forest: Mapping[str, np.ndarray], x: np.ndarray, y: np.ndarray) -> float:
    """Return the additional variance that maximises the likelihood of held-out rows."""
    tensors = {name: torch.from_numpy(values) for name, values in forest.items()}
    quantiles = _quantiles(tensors, torch.from_numpy(x)).numpy()
    error, spread = np.square(y - quantiles.mean(1)), quantiles.var(1)
    total = spread[:, None] + np.square(EXTRA_DEVIATIONS)
    log_likelihood = -0.5 * (np.log(total) + error[:, None] / total).sum(0)
    return float(EXTRA_DEVIATIONS[log_likelihood.argmax()] ** 2)
