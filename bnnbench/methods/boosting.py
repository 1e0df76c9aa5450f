"""Gradient-boosted quantile regression, a strong baseline for tabular data.

Friedman, "Greedy function approximation", Annals of Statistics 29, 2001; Koenker & Bassett,
"Regression quantiles", Econometrica 46, 1978; scikit-learn's `HistGradientBoostingRegressor`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from bnnbench.constraints import Count, Positive, Whole
from bnnbench.methods.shared.contract import FitTask, Method, Posterior
from bnnbench.methods.shared.estimators import counts, diverged, training_parts
from bnnbench.random_streams import Streams
from bnnbench.types import Prediction

EXTRA_DEVIATIONS = np.geomspace(1e-3, 1.0, 31)
"""Candidates of the additional standard deviation, standardised units."""


@dataclass(frozen=True, kw_only=True)
class Boosting(Method):
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

    quantiles: Count = 9
    iterations: Count = 100
    learning_rate: Positive = 0.1
    max_leaf_nodes: Annotated[int, Whole(2)] = 15
    min_samples_leaf: Count = 10
    trains_network: ClassVar[bool] = False

    def fit_seconds(self, rows: int) -> float:
        """Return the duration of two fits of every quantile."""
        return 2 * self.quantiles * self.iterations * (1.5e-3 + 2e-6 * rows)

    @property
    def is_stochastic(self) -> bool:
        return False

    @property
    def point_estimate(self) -> bool:
        return True

    @torch.no_grad()
    def fit(self, task: FitTask) -> Posterior:
        """Fit the replicas one after the other, in float64."""
        forests, extra = [], []
        for x, y in training_parts(task.data):
            train = np.arange(len(y)) % 5 > 0
            held_out = self._stack([self._fit_forest(x[train], y[train])])
            extra.append([_extra_variance(held_out, x[~train], y[~train])])
            forests.append(self._fit_forest(x, y))
        device = task.data.inputs.device
        state = {name: value.to(device) for name, value in self._stack(forests).items()}
        state["extra"] = torch.tensor(extra, dtype=torch.float64, device=device)
        return Posterior(state, task.hyper, task.mlp, counts(task.data), diverged(task.data))

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        """Predict one Gaussian per point."""
        x, state = inputs.double(), posterior.state
        trees = {name: state[name] for name in NODE_FIELDS}
        by_replica = [
            _quantiles({name: values[r] for name, values in trees.items()}, state["base"][r], x[r])
            for r in range(len(x))
        ]
        quantiles = torch.stack(by_replica)  # [R, M, quantiles]
        noise = quantiles.var(-1, correction=0) + state["extra"]
        return Prediction(quantiles.mean(-1)[None], torch.zeros_like(noise)[None], noise[None])

    def _stack(self, forests: Sequence[Forest]) -> dict[str, Tensor]:
        return _stacked(forests, self.max_leaf_nodes)

    def _fit_forest(self, x: np.ndarray, y: np.ndarray) -> Forest:
        from sklearn.ensemble import HistGradientBoostingRegressor

        levels = (np.arange(self.quantiles) + 0.5) / self.quantiles
        models = [
            HistGradientBoostingRegressor(
                loss="quantile", quantile=level, learning_rate=self.learning_rate,
                max_iter=self.iterations, max_leaf_nodes=self.max_leaf_nodes,
                min_samples_leaf=self.min_samples_leaf, early_stopping=False, random_state=0,
            ).fit(x, y)
            for level in levels
        ]  # fmt: skip
        return [_trees(model) for model in models]


NODE_FIELDS = ("feature", "threshold", "left", "right", "value")
"""Arrays over nodes; both children of a leaf are the leaf itself."""

Forest = list[tuple[float, list[dict[str, np.ndarray]]]]
"""Initial prediction and trees of each quantile."""


def _trees(model: Any) -> tuple[float, list[dict[str, np.ndarray]]]:
    """Return the initial prediction of a model, and its trees as plain arrays."""
    trees = []
    for (tree,) in model._predictors:
        nodes = tree.nodes
        index, leaf = np.arange(len(nodes)), nodes["is_leaf"].astype(bool)
        trees.append(
            {
                "feature": nodes["feature_idx"].astype(np.int64) * ~leaf,
                "threshold": np.where(leaf, 0.0, nodes["num_threshold"]),
                "left": np.where(leaf, index, nodes["left"].astype(np.int64)),
                "right": np.where(leaf, index, nodes["right"].astype(np.int64)),
                "value": np.where(leaf, nodes["value"], 0.0),
            }
        )
    return float(model._baseline_prediction.item()), trees


def _stacked(forests: Sequence[Forest], max_leaf_nodes: int) -> dict[str, Tensor]:
    """Stack forests into tensors `[R, quantiles, trees, nodes]`, padded with leaves of value 0."""
    every = [tree for forest in forests for _, trees in forest for tree in trees]
    nodes = 2 * max_leaf_nodes - 1
    shape = (len(forests), len(forests[0]), len(forests[0][0][1]))
    tensors = {
        name: torch.from_numpy(
            np.stack([np.pad(tree[name], (0, nodes - len(tree[name]))) for tree in every])
        ).view(*shape, nodes)
        for name in NODE_FIELDS
    }
    base = [[initial for initial, _ in forest] for forest in forests]
    return tensors | {"base": torch.tensor(base, dtype=torch.float64)}


def _quantiles(trees: dict[str, Tensor], base: Tensor, x: Tensor) -> Tensor:
    """Return the quantiles of one replica at `[M, D]`, `[M, quantiles]`."""
    flat = {name: values.flatten(0, 1) for name, values in trees.items()}
    node = torch.zeros(len(flat["value"]), len(x), dtype=torch.long, device=x.device)
    while True:
        feature, threshold = flat["feature"].gather(1, node), flat["threshold"].gather(1, node)
        left, right = flat["left"].gather(1, node), flat["right"].gather(1, node)
        child = torch.where(x.T.gather(0, feature) <= threshold, left, right)
        if torch.equal(child, node):
            break
        node = child
    values = flat["value"].gather(1, node).view(*trees["value"].shape[:2], len(x))
    return (values.sum(1) + base[:, None]).T


def _extra_variance(forest: dict[str, Tensor], x: np.ndarray, y: np.ndarray) -> float:
    """Return the additional variance that maximises the likelihood of held-out rows."""
    trees = {name: forest[name][0] for name in NODE_FIELDS}
    quantiles = _quantiles(trees, forest["base"][0], torch.from_numpy(x)).numpy()
    error, spread = np.square(y - quantiles.mean(1)), quantiles.var(1)
    total = spread[:, None] + np.square(EXTRA_DEVIATIONS)
    log_likelihood = -0.5 * (np.log(total) + error[:, None] / total).sum(0)
    return float(EXTRA_DEVIATIONS[log_likelihood.argmax()] ** 2)
