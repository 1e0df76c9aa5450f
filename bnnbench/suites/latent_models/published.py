"""The numbers of Tables 5.1 and 5.2 of the book, for runs on its images with its settings."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan
from typing import Any

from bnnbench.experiment.store.record import Record
from bnnbench.suites.latent_models.names import BINARISATION, FASHION_MNIST, IMAGES_OF_BOOK, MNIST

HIDDEN: Mapping[str, tuple[int, ...]] = {MNIST: (200,), FASHION_MNIST: (400, 200)}
"""Hidden layers of an encoder by data set (5.6.2)."""

TRAINING: Mapping[str, Any] = {"epochs": 100, "learning_rate": 0.001, "batch_size": 128}
"""Training of the book's autoencoders, unless an experiment of `SETTINGS` has its own (5.6.2)."""

SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "planar_flows": {"latents": 32, "importance_samples": 1024},
    "semi_supervised": {
        "hidden": (400, 200),
        "epochs": 40,
        "learning_rate": 0.003,
        "batch_size": 128,
        "latents": 32,
        "temperature": 0.6,
        "weight": 25.0,
    },
}
"""Settings of Tables 5.1 and 5.2 by kind of experiment (5.6.2, 5.6.3, 5.7). The book gives neither
the number of latent variables of Table 5.1 nor the widths of Table 5.2: these are our choices."""

LENGTHS = (0, 1, 2, 4, 8, 16, 32)

LABELS = (6000, 3000, 600, 300, 100)

COMPARED: Mapping[str, Mapping[str, Any]] = {
    "planar_flows": {"lengths": (0, 1, LENGTHS[-1])},
    "semi_supervised": {"labels": LABELS},
}
"""Models by kind of experiment without which no claim of the book is judged."""

LOG_P = {
    "mnist": (-73.4, -71.4, -71.7, -71.8, -71.8, -71.0, -70.0),
    "fashion_mnist": (-116.6, -112.3, -112.6, -112.5, -112.5, -112.9, -113.1),
}
"""Table 5.1: log p(x) by number of planar steps."""

LOG_P_ERRORS = {
    "mnist": (0.2, 0.1, 0.6, 0.2, 0.3, 0.3, 0.2),
    "fashion_mnist": (0.7, 0.6, 0.7, 0.7, 0.5, 0.6, 0.7),
}
"""Table 5.1: the numbers after ±. The book does not say what they are."""

ACCURACY = {
    ("fashion_mnist", "semi-supervised"): (79.2, 77.9, 72.0, 70.9, 63.5),
    ("fashion_mnist", "supervised"): (77.1, 71.6, 56.4, 46.7, 21.3),
    ("mnist", "semi-supervised"): (93.6, 91.4, 86.1, 81.7, 68.0),
    ("mnist", "supervised"): (91.4, 88.0, 44.6, 30.1, 20.4),
}
"""Table 5.2: accuracy in per cent by number of labels."""


def book_settings(kind: str, images: str) -> Mapping[str, Any]:
    """Return the book's settings of a kind of experiment; none for images that it does not have."""
    if images not in IMAGES_OF_BOOK:
        return {}
    book = {**TRAINING, "hidden": HIDDEN[images], "evaluated_images": None}
    return {**book, **SETTINGS.get(kind, {})}


def settings_of_book(record: Record) -> Mapping[str, Any]:
    """Return the book's settings of a run on its images."""
    book = book_settings(record.kind, record.identity["images"]["name"])
    return {**book, **COMPARED.get(record.kind, {})} if book else {}


def published_value(experiment: Any, approximation: str, label: str, column: str) -> float:
    """Return the book's value of a score, or NaN if there is none or other settings were run.

    Args:
        experiment: its images and settings.
        approximation: name of the model in `answers.csv`.
        label: its setting.
        column: of the scores.
    """
    images = experiment.images
    book = book_settings(experiment.kind, images.name)
    own = {name: getattr(experiment, name, None) for name in book}
    if experiment.kind not in SETTINGS or images.binarisation != BINARISATION or own != book:
        return nan
    values: tuple[float, ...] | None
    if column == "log_p" and label in (keys := [f"K = {k}" for k in LENGTHS]):
        values = LOG_P.get(images.name)
    elif column == "accuracy_equal":
        keys = [f"{count} labels" for count in LABELS]
        values = ACCURACY.get((images.name, approximation.partition(",")[0]))
    else:
        return nan
    return dict(zip(keys, values or (), strict=bool(values))).get(label, nan)


def published_error(images: str, label: str) -> float:
    """Return the book's error of a value of Table 5.1, or NaN if it prints none.

    Args:
        images: name of the data set.
        label: the setting, such as `K = 2`.
    """
    keys = [f"K = {k}" for k in LENGTHS]
    return dict(zip(keys, LOG_P_ERRORS.get(images, ()), strict=False)).get(label, nan)
