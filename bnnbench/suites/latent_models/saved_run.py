"""Readers of the runs of autoencoders."""

from __future__ import annotations

from bnnbench.experiment.answer_tables import CURVES, SCORES
from bnnbench.experiment.record import read_record
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.saved_run import run_reader
from bnnbench.suites.latent_models.names import IMAGES_OF_BOOK
from bnnbench.suites.latent_models.published import HIDDEN, SETTINGS, TRAINING

read_run = run_reader({
    SCORES: ("repetition", "elbo_train", "elbo", "log_p", "rate", "distortion", "active_units",
             "probe_accuracy"),
    CURVES: ("repetition", "epoch", "step", "elbo_train", "elbo_test", "rate_train", "rate_test"),
})  # fmt: skip
"""Reads a run of autoencoders."""


def draws_of(folder: RunFolder) -> int:
    """Return a run's number of draws for each image in the bound of log p(x)."""
    return int(read_record(folder).identity["importance_samples"])


def differences(folder: RunFolder) -> str:
    """Say how the training of a run differs from the book's."""
    record = read_record(folder)
    name, own = record.identity["images"]["name"], record.identity
    if name not in IMAGES_OF_BOOK:
        return ""
    book = {**TRAINING, "hidden": HIDDEN[name]}
    book |= {key: value for key, value in SETTINGS.get(record.kind, {}).items() if key in book}
    return ", ".join(
        f"{key} {own[key]} (book: {value})"
        for key, value in book.items()
        if own[key] != (list(value) if isinstance(value, tuple) else value)
    )


def subset_notes(folder: RunFolder) -> list[str]:
    """Return a sentence if not all test images were evaluated."""
    images = read_record(folder).identity["evaluated_images"]
    if images is None:
        return []
    return [
        f"Bounds, rate and distortion are means over {images:,} test images, or all if there are "
        "fewer: a random subset, the same for all models."
    ]
