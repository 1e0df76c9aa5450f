"""Tables of a run of the factory: one unit per random start, and one for the closed form."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from bnnbench.experiment.table_experiment import Tables
from bnnbench.results.answers import ANSWERS, Answer
from bnnbench.results.saved_tables import table_reader
from bnnbench.suites.inference_toys.em_factory import factory as model
from bnnbench.suites.inference_toys.em_factory.factory import Factory

KIND = "em_factory"

ITERATES = "iterates"
"""The parameters after every iteration of EM, by start; `error` is relative to the maximum."""

COUNTS = "counts"
"""The counts, including the two hidden ones."""

EM, LBFGS, PRINTED = "EM", "L-BFGS", "(2.63)-(2.66) as printed"
"""Approximations of answers."""

PARAMETERS = ("beta", "tau_1", "tau_n")
RATE = "rate of convergence"

read_run = table_reader(
    {
        ITERATES: ("start", "iteration", *PARAMETERS, "log_likelihood", "error"),
        COUNTS: ("product", "impure", "faulty"),
    }
)


def closed_form_tables(factory: Factory) -> Tables:
    """Return the counts, and the closed form as printed."""
    counts = {"impure": factory.impure, "faulty": factory.faulty}
    products = np.arange(1, len(factory.impure) + 1)
    return {
        ANSWERS: [*_answers(factory, PRINTED, model.closed_form(factory, printed=True))],
        COUNTS: pd.DataFrame({"product": products, **counts}),
    }


def start_tables(
    factory: Factory, number: int, start: np.ndarray, iterations: int, tolerance: float
) -> Tables:
    """Run EM and L-BFGS from the start with this number."""
    maximum = model.closed_form(factory)
    iterates = model.run_em(factory, start, iterations, tolerance)
    errors = np.abs(iterates / maximum - 1).max(1)
    setting = f"start {number}"
    fraction = model.missing_information_fraction(factory, maximum)
    answers = [
        *_answers(factory, EM, iterates[-1], setting),
        *_answers(factory, LBFGS, model.maximise_numerically(factory, start), setting),
        Answer(RATE, EM, model.convergence_rate(errors), setting, exact=fraction),
        Answer("iterations", EM, float(len(iterates) - 1), setting),
    ]
    columns = {
        "iteration": np.arange(len(iterates)),
        **dict(zip(PARAMETERS, iterates[:, [0, 1, -1]].T, strict=True)),
        "log_likelihood": [model.log_likelihood(factory, theta) for theta in iterates],
        "error": errors,
    }
    return {ANSWERS: answers, ITERATES: pd.DataFrame({"start": number, **columns})}


def _answers(factory: Factory, name: str, theta: np.ndarray, setting: str = "") -> Iterator[Answer]:
    """Compare an estimate with the maximum."""
    maximum = model.closed_form(factory)
    for quantity, index in zip(PARAMETERS, (0, 1, -1), strict=True):
        yield Answer(quantity, name, theta[index], setting, exact=maximum[index])
    value, exact = model.log_likelihood(factory, theta), model.log_likelihood(factory, maximum)
    yield Answer("log-likelihood", name, value, setting, exact=exact)
