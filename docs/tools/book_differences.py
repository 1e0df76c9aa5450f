"""What is known of the differences between our runs and the book's Tables 5.1 and 5.2."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd

from bnnbench.experiment.answer_tables import ANSWERS, CURVES, SCORES
from bnnbench.experiment.record import read_record
from bnnbench.report.blocks import plus_minus
from bnnbench.results.saved_run import SavedRun
from bnnbench.suites.latent_models.names import PLANAR, QUANTITIES
from bnnbench.suites.latent_models.semi_supervised.claims import unit_of
from bnnbench.suites.latent_models.semi_supervised.experiment import APPROXIMATIONS
from bnnbench.suites.latent_models.semi_supervised.stack import MIXED, PAIRED, SUPERVISED


def of_flows(run: SavedRun, rows: pd.DataFrame) -> str:
    """Explain differences of bounds of log p(x) by the number of planar steps (Table 5.1)."""
    book = rows.set_index("setting")["published"]
    parts = ["Open: the book gives neither the number of latent variables nor the initial weights."]
    if {"K = 0", "K = 1"} <= {*book.index}:
        ours = run.difference("log_p", "flow-1", "flow-0")
        parts.append(
            f"Its plain VAE ({book['K = 0']:g}) does not fit its other rows: the first planar step "
            f"gains {book['K = 1'] - book['K = 0']:.1f} nats there and "
            f"{plus_minus(ours.mean, ours.stderr)} nats here."
        )
    scores = run.rows(SCORES, unit="flow-0")
    gap = (scores["elbo_train"] - scores["elbo"]).mean()
    parts.append(f"The ELBO of our plain VAE is {gap:.1f} nats higher on its training images.")
    return " ".join(parts)


def of_classifier(run: SavedRun, rows: pd.DataFrame) -> str:
    """Explain differences of the classifier alone (Table 5.2)."""
    epochs, passed = read_record(run.folder).identity["epochs"], []
    for row in rows.to_dict("records"):
        count = int(row["setting"].split()[0])
        curves = run.rows(CURVES, unit=unit_of(SUPERVISED, count))
        curve = curves[curves["epoch"] <= epochs].groupby("step")["accuracy_test"].mean()
        steps = curve.index[curve >= row["published"]]
        if len(steps):
            share = f"{steps[0]:,} of {curve.index[-1]:,}"
            passed.append(f"{row['published']:g} % with {row['setting']} after {share}")
    return (
        "The book's numbers do not fit its description. Such a classifier passes them early in "
        f"the book's {epochs} epochs: {'; '.join(passed)} steps of Adam. Whether the book's was "
        "trained for less is open."
    )


def of_batches(run: SavedRun, rows: pd.DataFrame) -> str:
    """Explain differences of the semi-supervised models (Table 5.2)."""
    distances = {}
    for method in (MIXED, PAIRED):
        name = APPROXIMATIONS[method]
        own = run.rows(ANSWERS, approximation=name, quantity=QUANTITIES["accuracy_equal"])
        if len(own):
            distances[name] = (own["value"] - own["published"]).abs().mean()
    listed = ", ".join(f"{name} {distance:.1f}" for name, distance in distances.items())
    return (
        "Open: the book does not say how labelled images enter the minibatches, nor how wide its "
        f"networks are. Mean absolute difference in points: {listed}."
    )


def of_enumeration(run: SavedRun, rows: pd.DataFrame) -> str:
    """Explain differences of models with a sum over the classes (Table 5.2)."""
    return "The book relaxes the class of an image without a label; here, all classes are summed."


EXPLANATIONS: Mapping[str, Callable[[SavedRun, pd.DataFrame], str]] = {
    PLANAR: of_flows,
    APPROXIMATIONS[SUPERVISED]: of_classifier,
    APPROXIMATIONS[MIXED]: of_batches,
    APPROXIMATIONS[PAIRED]: of_batches,
    f"{APPROXIMATIONS[MIXED]}, enumeration": of_enumeration,
    f"{APPROXIMATIONS[PAIRED]}, enumeration": of_enumeration,
}
"""The functions by name of the model, from a run and its rows of `image_runs.book_rows`."""
