"""Compare a learned Gaussian with the exact posterior of a straight line.

`y_i = w0 + w1 x_i + noise`, with known noise precision and a Gaussian prior of known precision on
both weights (Marttinen, "Advanced probabilistic methods", lecture 9, Aalto University 2021). The
prior is conjugate, so the exact posterior is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.distributions import MultivariateNormal, kl_divergence

from bnnbench.constraints import Whole, check_settings
from bnnbench.data import Source
from bnnbench.data.splits import fingerprint, select_splits
from bnnbench.divergences.priors import GaussianPrior
from bnnbench.experiment.kinds.base import Experiment
from bnnbench.experiment.store.unit_store import UnitStore
from bnnbench.identity import no_identity
from bnnbench.likelihoods import Gaussian as GaussianLikelihood
from bnnbench.losses import NLL
from bnnbench.methods.shared.contract import FitTask, Method
from bnnbench.methods.shared.gaussian import GaussianPosterior
from bnnbench.random_streams import Streams, derive_seed
from bnnbench.settings import Network, Training
from bnnbench.suites.linear_regression import KIND, POINTS, POSTERIOR
from bnnbench.types import Table, TrainingSet, UserError

WEIGHTS = ("w0", "w1")


@dataclass(frozen=True, kw_only=True)
class LinearRegression(Experiment):
    """Fit a line with a Gaussian approximation over the weights, and with the exact posterior.

    Nothing is standardised: inputs, target and both precisions are in the units of the data. The
    network has no hidden layer, and the training part of a single split is fitted.

    Three posteriors are compared: `learned`, `exact`, and `mean field`, the diagonal Gaussian with
    the smallest KL divergence from the exact posterior, which is the optimum of a diagonal method.
    Coordinate ascent converges to it. Bayes by Backprop and practical VI with Gauss-Newton
    curvature approximate it; the Laplace approximation with full or Kronecker-factored curvature
    approximates the exact posterior. Vadam, Vprop and practical VI with squared gradients have
    other fixed points, with the same mean but other standard deviations (for Vadam and Vprop, these
    grow with the minibatch).

    Attributes:
        dataset: source of the points; one input.
        method: a method with a Gaussian over the weights and both precisions known.
        network: a network without hidden layers.
        training: settings of the single fit; it runs for `final_epochs`.
        seed: random seed.
        device: `cpu` or `cuda`.
        splits: list with the one split to fit; `all` if there is only one.
        loaded: the table, once `resolved`.
    """

    identity_name = "bnnbench.suites.linear_regression.experiment.LinearRegression"
    dataset: Source
    method: Method
    network: Network
    training: Training
    seed: Annotated[int, Whole(0)]
    device: str
    splits: Any = "all"
    loaded: Table | None = no_identity(None)
    kind: ClassVar[str] = KIND
    unit_noun: ClassVar[str] = "line"
    step_noun: ClassVar[str] = "lines"

    @classmethod
    def validate_components(cls, label: str, chosen: Mapping[str, type]) -> None:
        """Raise `UserError` for methods without a Gaussian over the weights."""
        method = chosen["method"]
        if not issubclass(method, GaussianPosterior):
            raise UserError(
                f"experiment={label} needs a method with a Gaussian over the weights and known "
                f"precisions, unlike {method.__name__}; choose method=bbb, practical_vi, laplace, "
                "vadam, vprop or cavi.",
                setting="method",
            )

    def resolved(self) -> Self:
        table = self.dataset.load()
        rows = max(len(split.train) for split in table.splits)
        # Compilation does not pay off for a single fit.
        training = replace(self.training.with_batch_size(rows), compile="never")
        splits = list(select_splits(table, self.splits))
        return replace(self, training=training, loaded=table, splits=splits)

    def check(self) -> None:
        """Raise a `UserError` if there is no exact posterior, or more than one line."""
        check_settings(self, "experiment", ("seed", "device"))
        columns, depth = self.table.inputs.shape[1], self.network.depth
        self.method.check_network(columns, self.network)
        likelihood = getattr(self.method, "likelihood", GaussianLikelihood())
        prior = getattr(getattr(self.method, "divergence", None), "prior", GaussianPrior())
        model = f"{likelihood.label}, {likelihood.loss.label} and {prior.label}"
        standard = (type(likelihood), type(likelihood.loss)) == (GaussianLikelihood, NLL)
        unknown = sorted({"noise_precision", "prior_precision"} - self.method.fixed_hyper().keys())
        names = [f"method.{name}" for name in unknown]
        gaussian = "an exact posterior only with likelihood=gaussian, loss=nll and prior=gaussian"
        for is_valid, setting, needs in (
            (depth == 0, "network.depth", f"needs network.depth=0, not {depth}"),
            (standard, "likelihood", f"has {gaussian}, not {model}"),
            (isinstance(prior, GaussianPrior), "prior", f"has {gaussian}, not {model}"),
            (not names, min(names, default=""), f"needs known values of {' and '.join(names)}"),
            (
                columns == 1,
                "dataset",
                f"needs a data set with one input, but {self.table.name} has {columns}; use "
                "dataset=line",
            ),
            (
                not self.table.log_target,
                "dataset.log_target",
                "cannot be used with dataset.log_target; remove it",
            ),
            (
                len(self.splits) == 1,
                "splits",
                f"needs a single split such as splits=[0], not {len(self.splits)}",
            ),
        ):
            if not is_valid:
                raise UserError(f"experiment={self.label} {needs}.", setting=setting)

    @property
    def table(self) -> Table:
        """The data set."""
        assert self.loaded is not None, "only a resolved experiment has its table"
        return self.loaded

    @property
    def title(self) -> str:
        return f"{self.method.label} on {self.table.name}"

    def identity(self) -> dict[str, Any]:
        """Return the identity, with the table's name and content."""
        table = {"name": self.table.name, "content": fingerprint(self.table)}
        return {**super().identity(), "table": table}

    def metadata(self) -> dict[str, Any]:
        divergence = getattr(self.method, "divergence", None)
        return {
            "dataset": self.table.name,
            "method": self.method.label,
            "divergence": divergence.name if divergence else "kl",
            "depth": self.network.depth,
            "seed": self.seed,
            **self.method.fixed_hyper(),
        }

    def path_parts(self) -> tuple[str, ...]:
        variant = f"{self.metadata()['divergence']}-seed{self.seed}"
        return (self.table.name, self.method.label, variant)

    def units(self) -> tuple[str, ...]:
        return (f"split-{self.splits[0]:02d}",)

    def run(self, unit: str, store: UnitStore) -> None:
        """Fit, compare and save the rows of `posterior.csv` and `points.csv`.

        Raises:
            UserError: if the fit diverges.
        """
        inputs, targets = training_part(self.table, self.splits[0])
        exact = exact_posterior(inputs, targets, **self.method.fixed_hyper())
        posteriors = {
            "learned": learn(self, inputs, targets),
            "mean field": mean_field(exact),
            "exact": exact,
        }
        names = {"dataset": self.table.name, "method": self.method.label}
        table = tabulate(posteriors, true_weights(self.table)).assign(**names)
        points = pd.DataFrame({"input": inputs[:, 0].numpy(), "target": targets.numpy()})
        tables = {POSTERIOR: table.to_dict("records"), POINTS: points.to_dict("records")}
        store.save(unit, tables, {})


def training_part(table: Table, split: int) -> tuple[Tensor, Tensor]:
    """Return the inputs `[N, 1]` and targets `[N]` to fit, float64."""
    rows = next(s.train for s in table.splits if s.index == split)
    # Clone: the alignment of NumPy's memory varies and affects the last bits of products.
    inputs, targets = torch.from_numpy(table.inputs[rows]), torch.from_numpy(table.targets[rows])
    return inputs.clone(), targets.clone()


def exact_posterior(
    inputs: Tensor, targets: Tensor, noise_precision: float, prior_precision: float
) -> MultivariateNormal:
    """Return the conjugate posterior over `(w0, w1)`.

    Args:
        inputs: `[N, 1]`.
        targets: `[N]`.
        noise_precision: inverse noise variance.
        prior_precision: precision of the zero-mean prior of both weights.
    """
    design = torch.cat([torch.ones_like(inputs), inputs], 1)
    precision = noise_precision * design.T @ design
    precision += prior_precision * torch.eye(len(precision), dtype=precision.dtype, device="cpu")
    mean = torch.linalg.solve(precision, noise_precision * design.T @ targets)
    return MultivariateNormal(mean, precision_matrix=precision)


def mean_field(exact: MultivariateNormal) -> MultivariateNormal:
    """Return the diagonal Gaussian `q` with the smallest `KL(q || exact)`.

    It has the exact mean and the diagonal of the exact precision (Bishop, "Pattern Recognition and
    Machine Learning", section 10.1.2).
    """
    scale = exact.precision_matrix.diagonal().rsqrt()
    return MultivariateNormal(exact.mean, scale_tril=torch.diag(scale))


def learn(line: LinearRegression, inputs: Tensor, targets: Tensor) -> MultivariateNormal:
    """Fit the method to the data and return its Gaussian over `(w0, w1)`.

    Args:
        line: the experiment, already checked.
        inputs: `[N, 1]`.
        targets: `[N]`.

    Raises:
        UserError: if the fit diverges.
    """
    method, training = line.method, line.training
    assert isinstance(method, GaussianPosterior)
    dtype = getattr(torch, training.dtype)
    inputs, targets = (t[None].to(line.device, dtype) for t in (inputs, targets))
    data = TrainingSet(inputs, targets, (len(targets[0]),), (0,))
    hyper = {name: inputs.new_full((1, 1), value) for name, value in method.fixed_hyper().items()}
    seed = derive_seed(line.seed, line.splits[0], "final")
    streams = Streams([seed], data.groups, line.device, dtype)
    task = FitTask(data, hyper, line.network, training, training.final_epochs, streams)
    posterior = method.fit(task)
    if posterior.diverged.any():
        raise UserError(
            f"{method.label} diverged on {line.table.name}; try a smaller "
            f"training.learning_rate than {training.learning_rate:g}.",
            setting="training.learning_rate",
        )
    # The network stores its bias w0 after the input weight w1.
    loc = method.moments(posterior)[0][0].double().cpu().flip(0)
    return MultivariateNormal(loc, method.covariance(posterior)[0].double().cpu().flip(0, 1))


def true_weights(table: Table) -> tuple[float, float]:
    """Return `(w0, w1)` of the line through the noise-free targets; NaN if there is none."""
    if table.truth is not None:
        # In closed form, because the last bits of a solver's result depend on memory alignment.
        inputs, truth = table.inputs[:, 0], table.truth
        centred = inputs - inputs.mean()
        slope = (centred * (truth - truth.mean())).sum() / (centred**2).sum()
        intercept = truth.mean() - slope * inputs.mean()
        if np.allclose(intercept + slope * inputs, truth):
            return float(intercept), float(slope)
    return float("nan"), float("nan")


def tabulate(
    posteriors: Mapping[str, MultivariateNormal], truth: tuple[float, float]
) -> pd.DataFrame:
    """Return a row per posterior and weight, in the units of the data.

    One of the posteriors is `exact`.

    Returns:
        Columns `posterior`, `weight`, `truth`, `mean`, `std`, `correlation` of the two weights,
        and `kl`, `KL(posterior || exact)` in nats.
    """
    tables = []
    for name, q in posteriors.items():
        std = q.variance.sqrt()
        columns = {
            "posterior": name,
            "weight": WEIGHTS,
            "truth": truth,
            "mean": q.mean.tolist(),
            "std": std.tolist(),
            "correlation": (q.covariance_matrix[0, 1] / std.prod()).item(),
            "kl": kl_divergence(q, posteriors["exact"]).item(),
        }
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)
