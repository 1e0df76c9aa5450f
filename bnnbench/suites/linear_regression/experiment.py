"""A learned Gaussian beside the exact posterior of a straight line.

`y_i = w0 + w1 x_i + noise`, with known noise precision and a Gaussian prior of known precision on
both weights (Marttinen, "Advanced probabilistic methods", lecture 9, Aalto University 2021). The
posterior is conjugate, so what Bayes by Backprop learns can be held against the truth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd
import torch
from torch import Tensor
from torch.distributions import MultivariateNormal, kl_divergence

from bnnbench.divergences.priors import Gaussian
from bnnbench.experiment.plan import Experiment, Plan, Report
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.run_lock import once
from bnnbench.files import write_text
from bnnbench.methods.shared.contract import FitTask, Method
from bnnbench.methods.shared.gaussian import GaussianMethod
from bnnbench.random_streams import Streams, derive_seed
from bnnbench.types import Table, TrainingSet, UserError

WEIGHTS = ("w0", "w1")


@dataclass(frozen=True, kw_only=True)
class LinearRegression(Experiment):
    """Fits a line by a method with a Gaussian over the weights, and by Bayes' rule.

    Nothing is standardised: inputs, target and both precisions are in the units of the data. The
    network has no hidden layer, and the training part of the one chosen split is fitted.

    Three posteriors stand side by side: `learned`, `exact`, and `mean field`, the diagonal
    Gaussian with the least KL divergence from the exact posterior, which is the best that a
    diagonal method can do. Bayes by Backprop, and practical VI with its Gauss-Newton curvature,
    aim at it; the Laplace approximation with its full or Kronecker-factored curvature aims at the
    exact one. Vadam, Vprop and practical VI with squared gradients have their own resting points:
    the same mean, but other deviations, for Vadam and Vprop the wider the larger the minibatch.
    """

    label: str
    summary: str = ""

    def admit(self, method: type[Method]) -> None:
        """Refuses methods that learn precisions of their own, or no Gaussian."""
        if not issubclass(method, GaussianMethod):
            raise UserError(
                f"experiment={self.label} needs known precisions and a Gaussian over the "
                f"weights, which {method.__name__} has not; choose method=bbb, practical_vi, "
                "laplace, vadam or vprop."
            )

    def run(self, plan: Plan, report: Report) -> RunFolder:
        """Fits, compares and writes `posterior.csv` and `points.csv`.

        Args:
            plan: the run.
            report: adds the figure before the run counts as complete.

        Raises:
            UserError: if the plan is not one of a line and one split, if the fit diverges, if the
                folder is not writable or another process works in it.
        """
        if plan.network.depth != 0:
            raise UserError(
                f"network.depth must be 0 for experiment={self.label}, not {plan.network.depth}."
            )
        unknown = {"noise_precision", "prior_precision"} - plan.method.fixed().keys()
        if unknown and plan.standard:
            raise UserError(
                f"experiment={self.label} needs both precisions known; give "
                f"{' and '.join(f'method.{name}' for name in sorted(unknown))} a value."
            )
        prior = getattr(getattr(plan.method, "divergence", None), "prior", Gaussian())
        if not plan.standard or not isinstance(prior, Gaussian):
            raise UserError(
                f"experiment={self.label} has an exact posterior only with likelihood=gaussian, "
                f"loss=nll and prior=gaussian, not {plan.likelihood}, {plan.loss} and "
                f"{prior.label}."
            )
        columns = plan.table.inputs.shape[1]
        if columns != 1:
            raise UserError(
                f"experiment={self.label} fits a line to one input and {plan.table.name} has "
                f"{columns}; use dataset=line."
            )
        if len(plan.splits) != 1:
            raise UserError(
                f"splits must be one split for experiment={self.label}, such as [0], "
                f"not {len(plan.splits)}."
            )
        return once(plan, report, lambda: self._work(plan))

    def _work(self, plan: Plan) -> None:
        inputs, targets = training_part(plan.table, plan.splits[0])
        exact = exact_posterior(inputs, targets, **plan.method.fixed())
        posteriors = {
            "learned": learn(plan, inputs, targets),
            "mean field": mean_field(exact),
            "exact": exact,
        }
        names = {"dataset": plan.table.name, "method": plan.method.label}
        table = tabulate(posteriors, true_weights(plan.table)).assign(**names)
        points = pd.DataFrame({"input": inputs[:, 0].numpy(), "target": targets.numpy()})
        write_text(plan.folder.points, points.to_csv(index=False))
        write_text(plan.folder.posterior, table.to_csv(index=False))


def training_part(table: Table, split: int) -> tuple[Tensor, Tensor]:
    """The inputs `[N, 1]` and targets `[N]` that are fitted, float64."""
    rows = next(s.train for s in table.splits if s.index == split)
    return torch.from_numpy(table.inputs[rows]), torch.from_numpy(table.targets[rows])


def exact_posterior(
    inputs: Tensor, targets: Tensor, noise_precision: float, prior_precision: float
) -> MultivariateNormal:
    """The conjugate posterior over `(w0, w1)`.

    Args:
        inputs: `[N, 1]`.
        targets: `[N]`.
        noise_precision: one over the variance of the targets about the line.
        prior_precision: of both weights, whose prior means are zero.
    """
    design = torch.cat([torch.ones_like(inputs), inputs], 1)
    precision = noise_precision * design.T @ design
    precision += prior_precision * torch.eye(len(precision), dtype=precision.dtype)
    mean = torch.linalg.solve(precision, noise_precision * design.T @ targets)
    return MultivariateNormal(mean, precision_matrix=precision)


def mean_field(exact: MultivariateNormal) -> MultivariateNormal:
    """The diagonal Gaussian `q` with the least `KL(q || exact)`.

    It has the exact mean and the exact precision's diagonal (Bishop, "Pattern Recognition and
    Machine Learning", section 10.1.2).
    """
    return diagonal(exact.mean, exact.precision_matrix.diagonal().rsqrt())


def diagonal(loc: Tensor, scale: Tensor) -> MultivariateNormal:
    """A Gaussian of independent weights with these means and standard deviations, `[K]` each."""
    return MultivariateNormal(loc, scale_tril=torch.diag(scale))


def learn(plan: Plan, inputs: Tensor, targets: Tensor) -> MultivariateNormal:
    """What the method makes of the same data, over `(w0, w1)`.

    Args:
        plan: the run; its method has passed `LinearRegression.admit`.
        inputs: `[N, 1]`.
        targets: `[N]`.

    Raises:
        UserError: if the fit diverges.
    """
    assert isinstance(plan.method, GaussianMethod)
    torch.set_num_threads(1)
    inputs, targets = (t[None].to(plan.device, plan.dtype) for t in (inputs, targets))
    data = TrainingSet(inputs, targets, (len(targets[0]),), (0,))
    hyper = {name: inputs.new_full((1, 1), value) for name, value in plan.method.fixed().items()}
    seed = derive_seed(plan.seed, plan.splits[0], "final")
    streams = Streams([seed], data.groups, plan.device, plan.dtype)
    epochs = plan.training.final_epochs
    task = FitTask(data, hyper, plan.network, plan.training, epochs, streams)
    posterior = plan.method.fit(task)
    if posterior.diverged.any():
        raise UserError(
            f"{plan.method.label} diverged on {plan.table.name}; try a smaller "
            f"training.learning_rate than {plan.training.learning_rate:g}."
        )
    # The network keeps its bias, w0, after the weight of the input.
    loc = plan.method.moments(posterior)[0][0].double().cpu().flip(0)
    return MultivariateNormal(loc, plan.method.covariance(posterior)[0].double().cpu().flip(0, 1))


def true_weights(table: Table) -> tuple[float, float]:
    """`(w0, w1)` of the line through the noise-free targets; NaN where there is no such line."""
    if table.truth is not None:
        inputs = torch.from_numpy(table.inputs)
        design = torch.cat([torch.ones_like(inputs), inputs], 1)
        truth = torch.from_numpy(table.truth)
        weights = torch.linalg.lstsq(design, truth[:, None]).solution[:, 0]
        if torch.allclose(design @ weights, truth):
            return weights[0].item(), weights[1].item()
    return float("nan"), float("nan")


def tabulate(
    posteriors: Mapping[str, MultivariateNormal], truth: tuple[float, float]
) -> pd.DataFrame:
    """One row per posterior and weight, in the units of the data.

    Args:
        posteriors: by name, one of them `exact`.
        truth: the weights that made the data.

    Returns:
        Columns `posterior`, `weight`, `truth`, `mean`, `std`, `correlation` of the two weights,
        and `kl`, `KL(posterior || exact)` in nats.
    """
    rows = []
    for name, q in posteriors.items():
        std = q.variance.sqrt()
        shared = {
            "correlation": (q.covariance_matrix[0, 1] / std.prod()).item(),
            "kl": kl_divergence(q, posteriors["exact"]).item(),
        }
        for k, weight in enumerate(WEIGHTS):
            moments = {"mean": q.mean[k].item(), "std": std[k].item()}
            rows.append(
                {"posterior": name, "weight": weight, "truth": truth[k], **moments, **shared}
            )
    return pd.DataFrame(rows)
