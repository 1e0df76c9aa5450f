"""Nothing of the test part reaches a fit: the protocol's final fit with another test part."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bnnbench.checking.trial import HYPER, Trial, network_of
from bnnbench.checking.verdicts import Check
from bnnbench.experiment.fitting import Fitting, Values
from bnnbench.experiment.protocol import final_fit
from bnnbench.settings import Evaluation, Training
from bnnbench.types import Split, Table

ROWS, TRAINED = 40, 30


def small_table() -> Table:
    """A curve of two columns with gaps in it, and one split."""
    random = np.random.default_rng(5)
    inputs = random.normal(size=(ROWS, 2))
    targets = np.sin(inputs[:, 0]) + 0.1 * random.normal(size=ROWS)
    inputs[random.random(inputs.shape) < 0.1] = np.nan
    rows = random.permutation(ROWS)
    splits = (Split(0, rows[:TRAINED], rows[TRAINED:]),)
    return Table("small", inputs, targets, splits, ("a", "b"), "y")


def other_test_part(table: Table) -> Table:
    """Other targets and other inputs in the rows tested, gaps filled."""
    inputs, targets, test = table.inputs.copy(), table.targets.copy(), table.splits[0].test
    targets[test] += 100
    inputs[test] = 1e6 * np.nan_to_num(inputs[test], nan=3.0)
    return replace(table, inputs=inputs, targets=targets)


def training_predictions(fitting: Fitting, table: Table, values: Values) -> np.ndarray:
    """The predictive means of the rows trained on, after the final fit of the first split."""
    evaluation = Evaluation(samples=fitting.samples, training_part=True)
    outcome = final_fit(fitting, table, table.splits[:1], [values], evaluation)[0]
    return outcome.training["mean"]


def nothing_of_the_test_part_reaches_the_fit(trial: Trial) -> str | None:
    """Whatever stands in the rows tested, the fit is the same to the bit."""
    training = Training(epochs=2, final_epochs=2, batch_size=8, samples=2, dtype="float64")
    network = network_of(trial.method, 5)
    fitting = Fitting(trial.method, network, training, samples=5, device="cpu", seed=0)
    known = {**HYPER, **trial.values}
    values = {name: known[name] for name in trial.method.hyper_names}
    table = small_table()
    here, there = (
        training_predictions(fitting, one, values) for one in (table, other_test_part(table))
    )
    if np.array_equal(here, there):
        return None
    return "the fit changes with the targets or the inputs of the test part"


LEAKAGE: Check[Trial] = Check(
    "nothing of the test part reaches the fit", nothing_of_the_test_part_reaches_the_fit
)
