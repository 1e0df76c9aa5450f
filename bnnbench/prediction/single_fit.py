"""One model for rows in memory: a search on all of them, then a fit to all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bnnbench.config.assemble import assemble_experiment
from bnnbench.config.in_memory import compose_fit
from bnnbench.data.in_memory import InMemory
from bnnbench.experiment.splits.folds import validation_parts
from bnnbench.experiment.splits.split_experiment import SplitExperiment
from bnnbench.experiment.splits.split_search import TRIALS, SplitSearch, run_search
from bnnbench.portable_math import numpy_defaults
from bnnbench.prediction.model import Model, fit_model
from bnnbench.process_state import unchanged_process
from bnnbench.search.base import best


@unchanged_process()
@numpy_defaults()
def fit_rows(
    inputs: np.ndarray,
    targets: np.ndarray,
    features: Sequence[str],
    settings: Sequence[str],
    log_target: bool,
) -> Model:
    """Choose the hyper-parameters by cross-validation on the rows, and fit the method to them.

    This is what the protocol does on the training part of a split.

    Args:
        inputs: `[N, D]`, NaN for missing values.
        targets: `[N]`.
        features: `D` names.
        settings: overrides, as on the command line.
        log_target: whether the method learns the logarithm of the target.

    Raises:
        UserError: if a setting is wrong, a target has no logarithm, or the fit diverges.
    """
    source = InMemory.of(inputs, targets, features, log_target)
    experiment = assemble_experiment(compose_fit(settings, source.rows))
    assert isinstance(experiment, SplitExperiment)
    experiment = replace(experiment, dataset=source).resolved()
    experiment.check()
    return fit_model(experiment.fitting, experiment.table, _searched_values(experiment))


def _searched_values(experiment: SplitExperiment) -> dict[str, float]:
    """Return the best values of the searched hyper-parameters; none if nothing is searched."""
    if not experiment.iterations:
        return {}
    fitting, splits = experiment.fitting, experiment.table.splits
    search = SplitSearch(experiment.search, experiment.space, fitting)
    validated = validation_parts(fitting, experiment.table, splits, experiment.search)
    with TemporaryDirectory(prefix="bnnbench-") as folder:
        (history,) = run_search(search, splits, validated, [Path(folder) / TRIALS])
    return best(history).values
