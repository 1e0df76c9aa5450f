"""Readers of the runs of autoencoders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bnnbench.experiment.store.answer_tables import CURVES, SCORES
from bnnbench.experiment.store.record import Record, read_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.results.claims.saved_run import run_reader
from bnnbench.suites.latent_models.names import IMAGES_OF_BOOK
from bnnbench.suites.latent_models.published import HIDDEN, LABELS, LENGTHS, SETTINGS, TRAINING

read_run = run_reader({
    SCORES: ("repetition", "elbo_train", "elbo", "log_p", "rate", "distortion", "active_units",
             "probe_accuracy"),
    CURVES: ("repetition", "epoch", "step", "elbo_train", "elbo_test", "rate_train", "rate_test"),
})  # fmt: skip
"""Reads a run of autoencoders."""


def draws_of(folder: RunFolder) -> int:
    """Return a run's number of draws for each image in the bound of log p(x)."""
    return int(read_record(folder).identity["importance_samples"])


COMPARED: Mapping[str, Mapping[str, Any]] = {
    "planar_flows": {"lengths": (0, 1, LENGTHS[-1])},
    "semi_supervised": {"labels": LABELS},
}
"""Models by kind of experiment without which no claim of the book is judged."""


def settings_of_book(record: Record) -> Mapping[str, Any]:
    """Return the book's settings of a run on its images."""
    name = record.identity["images"]["name"]
    if name not in IMAGES_OF_BOOK:
        return {}
    book = {**TRAINING, "hidden": HIDDEN[name], "evaluated_images": None}
    return {**book, **SETTINGS.get(record.kind, {}), **COMPARED.get(record.kind, {})}


def subset_notes(folder: RunFolder) -> list[str]:
    """Return a sentence if not all test images were evaluated."""
    images = read_record(folder).identity["evaluated_images"]
    if images is None:
        return []
    return [
        f"Bounds, rate and distortion are means over {images:,} test images, or all if there are "
        "fewer: a random subset, the same for all models."
    ]
