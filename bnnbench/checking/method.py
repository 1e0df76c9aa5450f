"""What every method is held to, each clause a function of a trial.

`METHOD` has them in order; the others compare fits, and so rest on the first two.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from bnnbench import metrics
from bnnbench.checking.learning import LEARNING
from bnnbench.checking.trial import SEEDS, TEST_ROWS, Trial
from bnnbench.checking.verdicts import Check, apart, equal
from bnnbench.methods.shared.contract import Posterior
from bnnbench.random_streams import Streams
from bnnbench.types import Prediction, TrainingSet

OTHER_SEEDS = [21, 22]

ABSURD = 1e300
"""A learning rate after whose first step nothing is finite."""

SURE = 0.1
"""Share of points at which a method that is no point estimate may be sure of itself."""


def shapes(trial: Trial) -> str | None:
    """The state of R replicas, and a mixture of Gaussians for each of their rows."""
    fitted, replicas = trial.posterior, trial.data.replicas
    for name, value in fitted.state.items():
        if value.shape[:1] != (replicas,):
            return f"state[{name!r}] of {replicas} replicas is {list(value.shape)}, replicas first"
    if fitted.diverged.shape != (replicas,) or fitted.diverged.dtype != torch.bool:
        return f"`diverged` must be [{replicas}] of bool, not {list(fitted.diverged.shape)}"
    if bool(fitted.diverged.any()):
        return "an ordinary fit is said to have diverged"
    found, rows = trial.prediction, (replicas, TEST_ROWS)
    if found.loc.ndim != 3 or found.loc.shape[1:] != rows:
        return f"`loc` must be [S, {rows[0]}, {rows[1]}], not {list(found.loc.shape)}"
    for name in ("epistemic", "noise"):
        own = getattr(found, name).shape
        try:
            fits = torch.broadcast_shapes(own, found.loc.shape) == found.loc.shape
        except RuntimeError:
            fits = False
        if not fits:
            return f"`{name}`, {list(own)}, does not broadcast to {list(found.loc.shape)}"
    if not (bool((found.noise > 0).all()) and bool((found.epistemic >= 0).all())):
        return "`noise` must be positive, and `epistemic` not negative"
    return None


def same_seed_same_bits(trial: Trial) -> str | None:
    """Nothing is drawn but from the streams that are handed in."""
    if any(_changed(trial.posterior, trial.fit())):
        return "two fits with one seed differ: draw from `task.streams` alone, not torch or numpy"
    if not equal(trial.prediction.loc, trial.predict(trial.posterior).loc):
        return "two predictions with one seed differ: draw from `streams` alone"
    return None


def stacked_equals_alone(trial: Trial) -> str | None:
    """One replica fitted by itself is the same as among others."""
    for r, group in enumerate(trial.data.groups):
        own = replace(trial.data.select([r]), groups=(0,))
        alone = trial.fit(own, [SEEDS[group]])
        for name, value in alone.state.items():
            by = apart(trial.posterior.state[name][r], value[0], 1e-9, 1e-11)
            if by:
                return f"state[{name!r}] of replica {r} differs {by} if it is fitted alone"
        single = trial.predict(alone, own, [SEEDS[group]])
        by = apart(trial.prediction.loc[:, r], single.loc[:, 0], 1e-9, 1e-11)
        if by:
            return f"predictions of replica {r} differ {by} if it is alone"
    return None


def replicas_never_influence_each_other(trial: Trial) -> str | None:
    """Other targets of one replica change that one to the bit, and no other."""
    targets = trial.data.targets.clone()
    targets[1, : trial.data.counts[1]] += 1
    other = trial.fit(replace(trial.data, targets=targets))
    changed = _changed(trial.posterior, other)
    if not changed[1]:
        return "other targets make no other fit"
    touched = [r for r in (0, 2) if changed[r]]
    return f"replica {touched[0]} changes with the targets of replica 1" if touched else None


def another_seed_other_bits(trial: Trial) -> str | None:
    """As the method says of itself by `trains_network` and `draws`."""
    method = trial.method
    differs = any(_changed(trial.posterior, trial.fit(seeds=OTHER_SEEDS)))
    if differs != method.trains_network:
        return (
            f"fits of two seeds {'differ' if differs else 'are equal'}, and `trains_network` is "
            f"{method.trains_network}"
        )
    elsewhere = trial.predict(trial.posterior, seeds=OTHER_SEEDS)
    differs = not equal(trial.prediction.loc, elsewhere.loc)
    if differs != method.draws:
        return (
            f"predictions with two seeds {'differ' if differs else 'are equal'}, and `draws` is "
            f"{method.draws}"
        )
    return None


def padding_is_no_data(trial: Trial) -> str | None:
    """Rows past `counts` are not there: counted, they would make another fit."""
    rows = trial.data.inputs.shape[1]
    counted = replace(trial.data, counts=(rows,) * trial.data.replicas)
    if not _changed(trial.posterior, trial.fit(counted))[1]:
        return "padding counts as data: heed `task.data.counts`, or the weights of the minibatch"
    return None


def nothing_given_is_changed(trial: Trial) -> str | None:
    """A fit leaves its data alone, and a prediction the posterior."""
    data = copy_of(trial.data)
    posterior = trial.fit(data)
    if not (equal(data.inputs, trial.data.inputs) and equal(data.targets, trial.data.targets)):
        return "`fit` writes into its data: copy before an operation in place"
    before = {name: value.clone() for name, value in posterior.state.items()}
    trial.predict(posterior, data)
    for name, value in before.items():
        if not equal(value, posterior.state[name]):
            return f"`predict` writes into state[{name!r}]"
    return None


def rows_are_predicted_by_themselves(trial: Trial) -> str | None:
    """What a row is said to be does not hang on which other rows are asked for."""
    inputs = trial.data.inputs.clone()
    inputs[:, 1:TEST_ROWS] = 3 - 2 * inputs[:, 1:TEST_ROWS]
    other = trial.predict(trial.posterior, replace(trial.data, inputs=inputs))
    for name in ("loc", "variance"):
        here, there = (getattr(p, name) for p in (trial.prediction, other))
        by = apart(here[..., :1], there[..., :1], 1e-9, 1e-11)
        if by:
            return f"`{name}` of a row changes {by} with the inputs of other rows of the test part"
    return None


def divergence_is_reported(trial: Trial) -> str | None:
    """Of the replica alone that it befalls, which rests at its last finite state."""
    targets = trial.data.targets.clone()
    targets[1, 0] = torch.nan
    sick = trial.fit(replace(trial.data, targets=targets))
    if sick.diverged.tolist() != [False, True, False]:
        return f"with NaN among the targets of replica 1 `diverged` is {sick.diverged.tolist()}"
    if not all(bool(value.isfinite().all()) for value in sick.state.values()):
        return "a diverged replica's state is not finite: keep the last that was"
    touched = [r for r in (0, 2) if _changed(trial.posterior, sick)[r]]
    return f"replica {touched[0]} changes as replica 1 diverges" if touched else None


def absurd_steps_are_reported(trial: Trial) -> str | None:
    """A learning rate of 1e300 ends in `diverged`, or means nothing to the method."""
    task = trial.task()
    lost = trial.method.fit(replace(task, training=replace(task.training, learning_rate=ABSURD)))
    if not all(bool(value.isfinite().all()) for value in lost.state.values()):
        return "the state is not finite after steps of 1e300: keep the last that was"
    found = trial.predict(lost)
    finite = found.loc.isfinite() & found.variance.isfinite()
    sound = finite.all(2).all(0)
    if not bool((sound | lost.diverged).all()):
        return "steps of 1e300 make predictions that are not finite, and `diverged` says nothing"
    return None


def scores_are_finite(trial: Trial) -> str | None:
    """Log densities among them."""
    targets = trial.data.targets[:, :TEST_ROWS]
    real = torch.ones_like(targets, dtype=torch.bool)
    for name, score in metrics.METRICS.items():
        if not bool(score(trial.prediction, targets, real).isfinite().all()):
            return f"the score {name} is not finite"
    return None


def hyper_parameters_take_part(trial: Trial) -> str | None:
    """Half as much again of each makes another prediction."""
    for name in trial.method.hyper_names:
        if not hasattr(trial.method, name):
            return f"{name} is in `hyper_names` and no field of the class"
        task = trial.task()
        more = {key: (1.5 if key == name else 1) * value for key, value in task.hyper.items()}
        other = trial.predict(trial.method.fit(replace(task, hyper=more)))
        if all(equal(a, b) for a, b in zip(_parts(trial.prediction), _parts(other), strict=True)):
            return f"another {name} makes no other prediction"
    return None


def uncertainty_is_as_said(trial: Trial) -> str | None:
    """A point estimate is sure of itself everywhere, another method almost nowhere."""
    sure = (trial.prediction.epistemic_variance() == 0).double().mean().item()
    if trial.method.point_estimate and sure < 1:
        return "`point_estimate` is True, and predictions have an epistemic variance"
    if not trial.method.point_estimate and sure >= SURE:
        return f"`point_estimate` is False, and {sure:.0%} of the epistemic variances are zero"
    return None


def recording_changes_nothing(trial: Trial) -> str | None:
    """The objective after every epoch, where the method says that it records it."""
    task = trial.task()
    own = Streams([5, 6], trial.data.groups, dtype=torch.float64)
    traced = trial.method.fit(replace(task, trace=own))
    if any(_changed(trial.posterior, traced)):
        return "a fit whose objective is recorded is another: draw from `task.trace` for that"
    names = ("loss", "complexity") if trial.method.records_objective else ()
    if {*traced.trace} != {*names}:
        return f"`records_objective` asks for {list(names)}, and `trace` has {list(traced.trace)}"
    expected = (task.epochs, trial.data.replicas)
    for name, curve in traced.trace.items():
        if curve.shape != expected or not bool(curve.isfinite().all()):
            return f"trace[{name!r}] must be {list(expected)} and finite"
    return None


def copy_of(data: TrainingSet) -> TrainingSet:
    """The same numbers elsewhere in memory."""
    return replace(data, inputs=data.inputs.clone(), targets=data.targets.clone())


def _changed(one: Posterior, other: Posterior) -> list[bool]:
    """Whether anything of each replica differs, to the bit."""
    return [
        any(not equal(value[r], other.state[name][r]) for name, value in one.state.items())
        for r in range(len(one.diverged))
    ]


def _parts(prediction: Prediction) -> tuple[Tensor, Tensor, Tensor]:
    return prediction.loc, prediction.epistemic, prediction.noise


METHOD: tuple[Check[Trial], ...] = (
    Check("it fits, and predicts in the right shapes", shapes, basic=True),
    Check("the same seed gives the same bits", same_seed_same_bits, basic=True),
    Check("a stack equals its members alone", stacked_equals_alone),
    Check("replicas never influence each other", replicas_never_influence_each_other),
    Check("another seed gives other bits, where it says so", another_seed_other_bits),
    Check("padding is no data", padding_is_no_data),
    Check("what it is given stays as it was", nothing_given_is_changed),
    Check("each row is predicted by itself", rows_are_predicted_by_themselves),
    Check("a replica that diverges is reported, its neighbours untouched", divergence_is_reported),
    Check("absurd steps are reported, not raised", absurd_steps_are_reported),
    Check("every score of its predictions is finite", scores_are_finite),
    Check("every hyper-parameter takes part", hyper_parameters_take_part),
    Check("it is as unsure of itself as it says", uncertainty_is_as_said),
    Check("recording the objective changes nothing", recording_changes_nothing),
    LEARNING,
)
