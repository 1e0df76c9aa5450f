"""Checks of a method as runs use it: its types, a fit in float32, and an unseen test part."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from bnnbench.checking.checks import Check, difference
from bnnbench.checking.small_fits import HYPER, MethodUnderTest, network_of, with_dtype
from bnnbench.experiment.splits.fitting import FitSettings, Values
from bnnbench.experiment.splits.protocol import final_fit
from bnnbench.experiment.store.split_files import TRAINING
from bnnbench.methods.shared.minibatches import MinibatchMethod
from bnnbench.methods.shared.trainer import describe_misshaped
from bnnbench.settings import Evaluation, Training
from bnnbench.types import Split, Table, TrainingSet

TOLERANCE = 1e-3
"""Maximal difference of predictions, relative and in deviations of the target. After four epochs
rounding changes the predictions of the methods of the package by less than a tenth of it."""


def wrong_initial_state(subject: MethodUnderTest, data: TrainingSet) -> str | None:
    """Describe the first tensor that `init` returns in a wrong shape, dtype or device."""
    method = subject.method
    if not isinstance(method, MinibatchMethod):
        return None
    task = replace(subject.task(data), outputs=method.likelihood.outputs)
    state = method.init(task)
    misshaped = describe_misshaped(state, data.replicas)
    if misshaped:
        return misshaped
    for name, value in state.items():
        expected = (data.inputs.dtype if value.is_floating_point() else value.dtype, "cpu")
        if (value.dtype, value.device.type) != expected:
            return (
                f"`init` returns state[{name!r}] with dtype {value.dtype} on {value.device}; "
                f"expected: {expected[0]} on cpu, like the data"
            )
    return None


def runs_equal_checks(subject: MethodUnderTest) -> str | None:
    """Predictions in float32, by native code if there is any, equal those in float64."""
    data = with_dtype(subject.data, torch.float32)
    try:
        found = subject.predict(subject.fit(data), data)
    except Exception:
        wrong = wrong_initial_state(subject, data)
        if wrong:
            return wrong
        raise
    for name in ("loc", "variance"):
        single, double = (getattr(p, name).double() for p in (found, subject.prediction))
        by = difference(single, double, TOLERANCE, TOLERANCE)
        if by:
            code = "native code" if subject.method.native else "PyTorch"
            return f"`{name}` in float32, computed by {code}, differs {by} from that in float64"
    return None


RUNS: Check[MethodUnderTest] = Check(
    "a run in float32 gives the same predictions",
    runs_equal_checks,
    "If native code ignores a function of yours, write `def native_update(self): return None`; "
    "otherwise avoid operations that magnify rounding: `torch.expm1(x)` for `torch.exp(x) - 1`",
)


ROWS, TRAINED = 40, 30


def example_table() -> Table:
    """Return a data set with two inputs, missing values and one split."""
    random = np.random.default_rng(5)
    inputs = random.normal(size=(ROWS, 2))
    targets = np.sin(inputs[:, 0]) + 0.1 * random.normal(size=ROWS)
    inputs[random.random(inputs.shape) < 0.1] = np.nan
    rows = random.permutation(ROWS)
    splits = (Split(0, rows[:TRAINED], rows[TRAINED:]),)
    return Table("small", inputs, targets, splits, ("a", "b"), "y")


def other_test_part(table: Table) -> Table:
    """Replace the inputs and targets of the test rows; missing values are filled."""
    inputs, targets, test = table.inputs.copy(), table.targets.copy(), table.splits[0].test
    targets[test] += 100
    inputs[test] = 1e6 * np.nan_to_num(inputs[test], nan=3.0)
    return replace(table, inputs=inputs, targets=targets)


def training_predictions(fitting: FitSettings, table: Table, values: Values) -> np.ndarray:
    """Return the predictive means of the training rows after the final fit of the first split."""
    evaluation = Evaluation(samples=fitting.samples, score_training_rows=True)
    outcome = final_fit(fitting, table, table.splits[:1], [values], evaluation)[0]
    return outcome.arrays[TRAINING]["mean"]


def fit_ignores_test_part(subject: MethodUnderTest) -> str | None:
    """The fit is bitwise equal for different test rows."""
    training = Training(epochs=2, final_epochs=2, batch_size=8, samples=2, dtype="float64")
    network = network_of(subject.method, 5)
    fitting = FitSettings(subject.method, network, training, samples=5, device="cpu", seed=0)
    known = {**HYPER, **subject.values}
    values = {name: known[name] for name in subject.method.hyper_names}
    table = example_table()
    original, changed = (
        training_predictions(fitting, one, values) for one in (table, other_test_part(table))
    )
    if np.array_equal(original, changed):
        return None
    return "the fit depends on the inputs or targets of the test part"


LEAKAGE: Check[MethodUnderTest] = Check(
    "the test part does not influence the fit",
    fit_ignores_test_part,
    "In `fit` and `predict`, use `task.data`, `posterior` and `inputs` only; store nothing between "
    "calls in `self`, its class or the module: return it as `state['name']`",
)
