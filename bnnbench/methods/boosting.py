"""Gradient boosting of quantiles: what practitioners would take for a table.

Friedman, "Greedy function approximation", Annals of Statistics 29, 2001; Koenker & Bassett,
"Regression quantiles", Econometrica 46, 1978; scikit-learn's `HistGradientBoostingRegressor`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from bnnbench.checks import check_between, check_int
from bnnbench.methods.shared.contract import FitTask, Method, Posterior
from bnnbench.methods.shared.estimators import counts, diverged, training_parts
from bnnbench.random_streams import Streams
from bnnbench.types import Prediction

EXTRA_DEVIATIONS = np.geomspace(1e-3, 1.0, 31)
"""Tried for what boosted quantiles leave out, standardised units."""


@dataclass(frozen=True, kw_only=True)
class Boosting(Method):
    """Trees for each of some quantiles, and a Gaussian with the mean and spread of these.

    Quantile `k` of `quantiles` is that of level `(k - 1/2) / quantiles`. A Gaussian per point has
    their mean, and their variance plus that of one more deviation for all points, the one under
    which a fifth of the training rows, held out from a fit of its own, is most likely. All of it is
    noise to this method: it has no uncertainty about itself. Nothing is searched, and of settings
    for networks (depth, width, training) it has no use.

    Attributes:
        quantiles: how many are boosted.
        iterations: trees for each.
        rate: how much of a tree is added.
        leaves: at most, of a tree.
        leaf_rows: at least, in a leaf.
    """

    quantiles: int = 9
    iterations: int = 100
    rate: float = 0.1
    leaves: int = 15
    leaf_rows: int = 10
    trains_network: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for key in ("quantiles", "iterations", "leaf_rows"):
            check_int(f"method.{key}", getattr(self, key))
        check_int("method.leaves", self.leaves, least=2)
        check_between("method.rate", self.rate, 0)

    def seconds(self, rows: int) -> float:
        """Two fits of every quantile."""
        return 2 * self.quantiles * self.iterations * (1.5e-3 + 2e-6 * rows)

    @property
    def draws(self) -> bool:
        return False

    @property
    def point_estimate(self) -> bool:
        return True

    @torch.no_grad()
    def fit(self, task: FitTask) -> Posterior:
        """Quantiles of each replica one after the other, float64."""
        forests, extra = [], []
        for x, y in training_parts(task.data):
            kept = np.arange(len(y)) % 5 > 0
            tried = self._boosted(x[kept], y[kept])
            extra.append([_extra_variance(_stacked([tried], self.leaves), x[~kept], y[~kept])])
            forests.append(self._boosted(x, y))
        device = task.data.inputs.device
        state = {name: own.to(device) for name, own in _stacked(forests, self.leaves).items()}
        state["extra"] = torch.tensor(extra, dtype=torch.float64, device=device)
        return Posterior(state, task.hyper, task.mlp, counts(task.data), diverged(task.data))

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        """One Gaussian per point."""
        x, state = inputs.double(), posterior.state
        trees = {name: state[name] for name in TREE}
        found = [
            _quantiles({name: own[r] for name, own in trees.items()}, state["base"][r], x[r])
            for r in range(len(x))
        ]
        quantiles = torch.stack(found)  # [R, M, quantiles]
        noise = quantiles.var(-1, correction=0) + state["extra"]
        return Prediction(quantiles.mean(-1)[None], torch.zeros_like(noise)[None], noise[None])

    def _boosted(self, x: np.ndarray, y: np.ndarray) -> Forest:
        from sklearn.ensemble import HistGradientBoostingRegressor

        levels = (np.arange(self.quantiles) + 0.5) / self.quantiles
        models = [
            HistGradientBoostingRegressor(
                loss="quantile", quantile=level, learning_rate=self.rate, max_iter=self.iterations,
                max_leaf_nodes=self.leaves, min_samples_leaf=self.leaf_rows, early_stopping=False,
                random_state=0,
            ).fit(x, y)
            for level in levels
        ]  # fmt: skip
        return [_trees(model) for model in models]


TREE = ("feature", "threshold", "left", "right", "value")
"""Arrays over nodes; a leaf leads to itself, whatever its question."""

Forest = list[tuple[float, list[dict[str, np.ndarray]]]]
"""Per quantile where boosting starts, and its trees."""


def _trees(model: Any) -> tuple[float, list[dict[str, np.ndarray]]]:
    """A model's trees as plain arrays, so that predicting needs tensors alone."""
    found = []
    for (tree,) in model._predictors:
        nodes = tree.nodes
        own, leaf = np.arange(len(nodes)), nodes["is_leaf"].astype(bool)
        found.append(
            {
                "feature": nodes["feature_idx"].astype(np.int64) * ~leaf,
                "threshold": np.where(leaf, 0.0, nodes["num_threshold"]),
                "left": np.where(leaf, own, nodes["left"].astype(np.int64)),
                "right": np.where(leaf, own, nodes["right"].astype(np.int64)),
                "value": np.where(leaf, nodes["value"], 0.0),
            }
        )
    return float(model._baseline_prediction.item()), found


def _stacked(forests: Sequence[Forest], leaves: int) -> dict[str, Tensor]:
    """Forests as tensors, `[R, quantiles, trees, nodes]` each, padded by leaves of value 0."""
    every = [tree for forest in forests for _, trees in forest for tree in trees]
    nodes = 2 * leaves - 1
    shape = (len(forests), len(forests[0]), len(forests[0][0][1]))
    tensors = {
        name: torch.from_numpy(
            np.stack([np.pad(tree[name], (0, nodes - len(tree[name]))) for tree in every])
        ).view(*shape, nodes)
        for name in TREE
    }
    base = [[start for start, _ in forest] for forest in forests]
    return tensors | {"base": torch.tensor(base, dtype=torch.float64)}


def _quantiles(trees: dict[str, Tensor], base: Tensor, x: Tensor) -> Tensor:
    """Of one replica at `[M, D]`: `[M, quantiles]`, every tree walked down at once."""
    flat = {name: own.flatten(0, 1) for name, own in trees.items()}
    place = torch.zeros(len(flat["value"]), len(x), dtype=torch.long, device=x.device)
    while True:
        feature, threshold = flat["feature"].gather(1, place), flat["threshold"].gather(1, place)
        asked = x.T.gather(0, feature)
        left, right = flat["left"].gather(1, place), flat["right"].gather(1, place)
        below = torch.where(asked <= threshold, left, right)
        if torch.equal(below, place):
            break
        place = below
    values = flat["value"].gather(1, place).view(*trees["value"].shape[:2], len(x))
    return (values.sum(1) + base[:, None]).T


def _extra_variance(forest: dict[str, Tensor], x: np.ndarray, y: np.ndarray) -> float:
    """The variance to add under which held-out rows are most likely."""
    trees = {name: forest[name][0] for name in TREE}
    quantiles = _quantiles(trees, forest["base"][0], torch.from_numpy(x)).numpy()
    error, spread = np.square(y - quantiles.mean(1)), quantiles.var(1)
    total = spread[:, None] + np.square(EXTRA_DEVIATIONS)
    likely = -0.5 * (np.log(total) + error[:, None] / total).sum(0)
    return float(EXTRA_DEVIATIONS[likely.argmax()] ** 2)
