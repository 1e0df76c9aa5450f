"""The contract of methods. The first three checks are prerequisites of the others."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from bnnbench import metrics
from bnnbench.checking.as_in_runs import RUNS, wrong_initial_state
from bnnbench.checking.checks import Check, bitwise_equal, difference
from bnnbench.checking.small_fits import SEEDS, TEST_ROWS, MethodUnderTest, network_of
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.methods.shared.trainer import StochasticMethod
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.types import Prediction, TrainingSet

OTHER_SEEDS = [21, 22]

HUGE_LEARNING_RATE = 1e300
"""A learning rate at which no number is finite after the first step."""

MAX_ZERO_VARIANCES = 0.1
"""Maximal fraction of zero epistemic variances for methods that are not point estimates."""


def has_correct_shapes(subject: MethodUnderTest) -> str | None:
    """State and predictions have the documented shapes and ranges."""
    wrong = wrong_initial_state(subject, subject.data)
    if wrong:
        return wrong
    fitted, replicas = subject.posterior, subject.data.replicas
    for name, value in fitted.state.items():
        if value.shape[:1] != (replicas,):
            return (
                f"state[{name!r}] must be [{replicas}, ...], one entry per replica, not "
                f"{list(value.shape)}"
            )
    if fitted.diverged.shape != (replicas,) or fitted.diverged.dtype != torch.bool:
        return (
            f"`diverged` must be [{replicas}] of bool, not {list(fitted.diverged.shape)} of "
            f"{fitted.diverged.dtype}"
        )
    if bool(fitted.diverged.any()):
        return "`diverged` is True for an ordinary fit"
    prediction, rows = subject.prediction, (replicas, TEST_ROWS)
    if prediction.loc.ndim != 3 or prediction.loc.shape[1:] != rows:
        return f"`loc` must be [S, {rows[0]}, {rows[1]}], not {list(prediction.loc.shape)}"
    for name in ("epistemic", "noise"):
        variance: Tensor = getattr(prediction, name)
        try:
            variance.expand(prediction.loc.shape)
        except RuntimeError:
            of_loc = list(prediction.loc.shape)
            return f"`{name}` {list(variance.shape)} does not broadcast to {of_loc}"
    if not (bool((prediction.noise > 0).all()) and bool((prediction.epistemic >= 0).all())):
        return "`noise` must be positive and `epistemic` non-negative"
    return None


def is_deterministic(subject: MethodUnderTest) -> str | None:
    """All random numbers come from the given streams."""
    if any(changed_replicas(subject.posterior, subject.fit())):
        return "two fits with the same seed differ: use only `task.streams`, not torch or numpy"
    if not bitwise_equal(subject.prediction.loc, subject.predict(subject.posterior).loc):
        return "two predictions with the same seed differ: use only `streams`"
    return None


def depends_on_seed_as_declared(subject: MethodUnderTest) -> str | None:
    """Fit and predictions depend on the seed as `trains_network` and `is_stochastic` declare."""
    method = subject.method
    differs = any(changed_replicas(subject.posterior, subject.fit(seeds=OTHER_SEEDS)))
    if differs != method.trains_network:
        return (
            f"fits with two seeds {'differ' if differs else 'are equal'}, but `trains_network` is "
            f"{method.trains_network}"
        )
    elsewhere = subject.predict(subject.posterior, seeds=OTHER_SEEDS)
    differs = not bitwise_equal(subject.prediction.loc, elsewhere.loc)
    if differs != method.is_stochastic:
        return (
            f"predictions with two seeds {'differ' if differs else 'are equal'}, but "
            f"`is_stochastic` is {method.is_stochastic}"
        )
    return None


def arguments_are_not_modified(subject: MethodUnderTest) -> str | None:
    """`fit` does not modify its data, and `predict` does not modify the posterior."""
    inputs, targets = subject.data.inputs.clone(), subject.data.targets.clone()
    data = replace(subject.data, inputs=inputs, targets=targets)
    posterior = subject.fit(data)
    if not (
        bitwise_equal(data.inputs, subject.data.inputs)
        and bitwise_equal(data.targets, subject.data.targets)
    ):
        return "`fit` modifies its data: copy them before in-place operations"
    before = {name: value.clone() for name, value in posterior.state.items()}
    subject.predict(posterior, data)
    for name, value in before.items():
        if not bitwise_equal(value, posterior.state[name]):
            return f"`predict` modifies state[{name!r}]"
    return None


def stack_equals_single_fits(subject: MethodUnderTest) -> str | None:
    """A replica fitted alone equals the same replica in a stack."""
    for r, group in enumerate(subject.data.groups):
        data = replace(subject.data.select([r]), groups=(0,))
        alone = subject.fit(data, [SEEDS[group]])
        for name, value in alone.state.items():
            by = difference(subject.posterior.state[name][r], value[0], 1e-9, 1e-11)
            if by:
                return f"state[{name!r}] of replica {r} differs {by} if the replica is fitted alone"
        single = subject.predict(alone, data, [SEEDS[group]])
        by = difference(subject.prediction.loc[:, r], single.loc[:, 0], 1e-9, 1e-11)
        if by:
            return f"predictions of replica {r} differ {by} if the replica is alone"
    return None


def replicas_are_independent(subject: MethodUnderTest) -> str | None:
    """Different targets of one replica change this replica and no other."""
    targets = subject.data.targets.clone()
    targets[1, : subject.data.counts[1]] += 1
    other = subject.fit(replace(subject.data, targets=targets))
    changed = changed_replicas(subject.posterior, other)
    if not changed[1]:
        return "the fit does not depend on the targets"
    affected = [r for r in (0, 2) if changed[r]]
    return f"replica {affected[0]} changes with the targets of replica 1" if affected else None


def padding_has_no_effect(subject: MethodUnderTest) -> str | None:
    """Rows beyond `counts` have no effect: the fit differs if they are counted as data."""
    rows = subject.data.inputs.shape[1]
    counted = replace(subject.data, counts=(rows,) * subject.data.replicas)
    if not changed_replicas(subject.posterior, subject.fit(counted))[1]:
        return "padding is used as data: use `task.data.counts` or the weights of the minibatch"
    return None


def rows_are_predicted_independently(subject: MethodUnderTest) -> str | None:
    """The prediction of a row does not depend on the other rows."""
    inputs = subject.data.inputs.clone()
    inputs[:, 1:TEST_ROWS] = 3 - 2 * inputs[:, 1:TEST_ROWS]
    other = subject.predict(subject.posterior, replace(subject.data, inputs=inputs))
    for name in ("loc", "variance"):
        before, after = (getattr(p, name) for p in (subject.prediction, other))
        by = difference(before[..., :1], after[..., :1], 1e-9, 1e-11)
        if by:
            return f"`{name}` of a row changes {by} with the inputs of other test rows"
    return None


def divergence_is_reported(subject: MethodUnderTest) -> str | None:
    """Only the diverged replica is reported, and it keeps its last finite state."""
    targets = subject.data.targets.clone()
    targets[1, 0] = torch.nan
    posterior = subject.fit(replace(subject.data, targets=targets))
    if posterior.diverged.tolist() != [False, True, False]:
        return f"with NaN in the targets of replica 1 `diverged` is {posterior.diverged.tolist()}"
    if not all(bool(value.isfinite().all()) for value in posterior.state.values()):
        return "the state of a diverged replica is not finite: keep its last finite state"
    affected = [r for r in (0, 2) if changed_replicas(subject.posterior, posterior)[r]]
    return f"replica {affected[0]} changes when replica 1 diverges" if affected else None


def huge_steps_are_reported(subject: MethodUnderTest) -> str | None:
    """A learning rate of 1e300 is reported in `diverged`, or is not used by the method."""
    task = subject.task()
    posterior = subject.method.fit(
        replace(task, training=replace(task.training, learning_rate=HUGE_LEARNING_RATE))
    )
    if not all(bool(value.isfinite().all()) for value in posterior.state.values()):
        return "the state is not finite after steps of 1e300: keep the last finite state"
    prediction = subject.predict(posterior)
    finite = prediction.loc.isfinite() & prediction.variance.isfinite()
    sound = finite.all(2).all(0)
    if not bool((sound | posterior.diverged).all()):
        return "predictions are not finite after steps of 1e300, but `diverged` is False"
    return None


def scores_are_finite(subject: MethodUnderTest) -> str | None:
    """All scores of the predictions are finite, including log densities."""
    targets = subject.data.targets[:, :TEST_ROWS]
    real = torch.ones_like(targets, dtype=torch.bool)
    for name, score in metrics.SCORE_FUNCTIONS.items():
        if not bool(score(subject.prediction, targets, real).isfinite().all()):
            return f"the score {name} is not finite"
    return None


def hyper_parameters_have_an_effect(subject: MethodUnderTest) -> str | None:
    """Increasing any hyper-parameter by half changes the predictions."""
    for name in subject.method.hyper_names:
        task = subject.task()
        more = {key: (1.5 if key == name else 1) * value for key, value in task.hyper.items()}
        other = subject.predict(subject.method.fit(replace(task, hyper=more)))
        if all(
            bitwise_equal(a, b)
            for a, b in zip(_parts(subject.prediction), _parts(other), strict=True)
        ):
            return f"predictions do not depend on {name}"
    return None


def uncertainty_is_as_declared(subject: MethodUnderTest) -> str | None:
    """The epistemic variance is zero for point estimates and almost never zero otherwise."""
    sure = (subject.prediction.epistemic_variance() == 0).double().mean().item()
    if subject.method.point_estimate and sure < 1:
        return "`point_estimate` is True, but some epistemic variances are positive"
    if not subject.method.point_estimate and sure >= MAX_ZERO_VARIANCES:
        return f"`point_estimate` is False, but {sure:.0%} of the epistemic variances are zero"
    return None


def recording_changes_nothing(subject: MethodUnderTest) -> str | None:
    """Recording yields the objective after every epoch and does not change the fit."""
    task = subject.task()
    streams = Streams([5, 6], subject.data.groups, dtype=torch.float64)
    traced = subject.method.fit(replace(task, trace_streams=streams))
    if any(changed_replicas(subject.posterior, traced)):
        return "recording the objective changes the fit: use `task.trace_streams` to record"
    names = ("loss", "complexity") if subject.method.records_objective else ()
    if {*traced.trace} != {*names}:
        return f"`trace` must have the entries {list(names)}, not {list(traced.trace)}"
    expected = (task.epochs, subject.data.replicas)
    for name, curve in traced.trace.items():
        if curve.shape != expected or not bool(curve.isfinite().all()):
            return f"trace[{name!r}] must be {list(expected)} and finite"
    return None


def training_reduces_the_error(subject: MethodUnderTest) -> str | None:
    """Compare the squared error before and after training.

    The number of rows suffices to distinguish mean and noise; methods that are not trained by
    minibatches get fewer rows because they are slower. The prior is narrow enough to sample
    networks from a posterior over all weights.
    """
    method = subject.method
    if not method.trains_network:
        return None
    least = 0 if method.linear_only else 1  # one sweep over a linear model almost converges
    rows, epochs = (400, 60) if isinstance(method, StochasticMethod) else (60, 20)
    data = _many_rows(rows)
    before, after = (_error_after(subject, data, passes) for passes in (least, epochs))
    if after < 0.5 * before:
        return None
    return (
        f"the squared error must fall by half, but it is {before:.3g} after {least} epochs and "
        f"{after:.3g} after {epochs}"
    )


def _error_after(subject: MethodUnderTest, data: TrainingSet, epochs: int) -> float:
    known = subject.task(data).hyper
    hyper = {name: 10 * v if name == "prior_precision" else v for name, v in known.items()}
    training = Training(batch_size=100, samples=3, dtype="float64")
    streams = Streams(SEEDS[:1], (0,), dtype=torch.float64)
    network = network_of(subject.method, 10)
    task = FitTask(data, hyper, network, training, epochs, streams)
    loc = subject.method.predict(subject.method.fit(task), data.inputs, 50, streams).mean()
    return (loc - data.targets).square().mean().item()


def _many_rows(rows: int) -> TrainingSet:
    generator = torch.Generator().manual_seed(3)
    inputs = torch.randn(1, rows, 2, generator=generator, dtype=torch.float64, device="cpu")
    noise = 0.1 * torch.randn(1, rows, generator=generator, dtype=torch.float64, device="cpu")
    return TrainingSet(inputs, inputs[..., 0].sin() + noise, (rows,), (0,))


def changed_replicas(one: Posterior, other: Posterior) -> list[bool]:
    """Return for each replica whether its states differ."""
    return [
        any(not bitwise_equal(value[r], other.state[name][r]) for name, value in one.state.items())
        for r in range(len(one.diverged))
    ]


def _parts(prediction: Prediction) -> tuple[Tensor, Tensor, Tensor]:
    return prediction.loc, prediction.epistemic, prediction.noise


METHOD: tuple[Check[MethodUnderTest], ...] = (
    Check(
        "fits and predictions have the correct shapes",
        has_correct_shapes,
        "Return `Posterior(state, task.hyper, task.mlp, counts, diverged)` from `fit`, with the "
        "replica axis first, such as `state = {'loc': initial.expand(task.data.replicas, -1)}`; "
        "return `Prediction(loc, epistemic, noise)` from `predict`, with `loc` [samples, replicas, "
        "rows] and `noise = 1 / posterior.hyper['noise_precision']`",
        is_prerequisite=True,
    ),
    Check(
        "its arguments are not modified",
        arguments_are_not_modified,
        "Write `x = 0.5 * task.data.inputs` in `fit` instead of `task.data.inputs.mul_(0.5)`, and "
        "`loc = posterior.state['loc'].clone()` in `predict` before an operation that ends in `_`",
        is_prerequisite=True,
    ),
    Check(
        "the same seed gives identical results",
        is_deterministic,
        "Draw with `streams.normal(samples, mlp.n_weights)` in `sample_noise`, `sample_weights` "
        "and `predict`, and with `task.streams.normal(...)` in `init` and `fit`",
        is_prerequisite=True,
    ),
    Check(
        "a stack equals its replicas fitted alone",
        stack_equals_single_fits,
        "In `init`, `update` and `predict`, reduce over rows or samples, never over replicas: "
        "`targets.mean(1, keepdim=True)` for [R, B], `gradient.mean(0)` for [S, R, P]",
    ),
    Check(
        "replicas do not influence each other",
        replicas_are_independent,
        "In `update`, use `batch.targets` and reduce over rows or samples, never over replicas: "
        "`gradient.mean(0)` for [S, R, P], `x.mean(1, keepdim=True)` for [R, B]",
    ),
    Check(
        "padding has no effect",
        padding_has_no_effect,
        "In `update`, weight rows by `batch.weights`: `(batch.weights * error).sum(1)`; in `fit`, "
        "use the first `task.data.counts[r]` rows of replica r",
    ),
    Check(
        "other seeds change the results as declared",
        depends_on_seed_as_declared,
        "If `predict` draws nothing, write `is_stochastic = False` in the class; if `fit` draws "
        "nothing, `trains_network = False`; otherwise draw from the given streams, not from a "
        "fixed seed",
    ),
    Check(
        "each row is predicted independently",
        rows_are_predicted_independently,
        "In `predict`, use no statistic of `inputs` over rows; compute it in `init` or `fit` from "
        "`task.data.inputs` and store it: `state['centre'] = inputs.mean(1)`",
    ),
    Check(
        "a diverged replica is reported and affects no other",
        divergence_is_reported,
        "In `fit`, set `diverged = ~loc.isfinite().all(1)` and return "
        "`torch.where(diverged[:, None], before, loc)`, with `before` the last finite state; "
        "`StochasticMethod.fit` does both",
    ),
    Check(
        "huge steps are reported without an exception",
        huge_steps_are_reported,
        "Neither assert nor raise in `update`; in `fit`, set `diverged = ~loc.isfinite().all(1)` "
        "and keep the last finite state, as `StochasticMethod.fit` does",
    ),
    Check(
        "all scores of its predictions are finite",
        scores_are_finite,
        "Return finite `loc` and `epistemic` and positive `noise` from `predict`; keep variances "
        "away from zero: `scale.clamp(min=1e-6)`",
    ),
    Check(
        "every hyper-parameter has an effect",
        hyper_parameters_have_an_effect,
        "Declare a field `name: float | None = None`, and use `hyper['name']` in `update` or "
        "`posterior.hyper['name']` in `moments`; or remove the name from `own_hyper_names`",
    ),
    Check(
        "its epistemic uncertainty is as declared",
        uncertainty_is_as_declared,
        "For a single network write `point_estimate = True` in the class; for several, return one "
        "sample each, `loc` [S, R, M], or their variance as `epistemic`",
    ),
    Check(
        "recording the objective does not change the fit",
        recording_changes_nothing,
        "In `fit`, draw with `task.streams` for the fit and with `task.trace_streams` for "
        "`Posterior(trace=...)`; write `records_objective = False` if there is no trace",
    ),
    RUNS,
    Check(
        "training reduces the error",
        training_reduces_the_error,
        "In `update`, step against the gradient of the batch's mean loss plus that of the prior "
        "over the number of rows, `hyper['prior_precision'] / batch.counts * loc`: "
        "`return adam_on('loc', state, gradient, batch.bias_correction, training)`",
    ),
)
