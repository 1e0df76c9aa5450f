"""The numbers of Tables 5.1 and 5.2 of the book, for runs on its images with its binarisation."""

from __future__ import annotations

from math import nan

from bnnbench.data.images.base import ImageSource

LENGTHS = (0, 1, 2, 4, 8, 16, 32)

LABELS = (6000, 3000, 600, 300, 100)

LOG_P = {
    "mnist": (-73.4, -71.4, -71.7, -71.8, -71.8, -71.0, -70.0),
    "fashion_mnist": (-116.6, -112.3, -112.6, -112.5, -112.5, -112.9, -113.1),
}
"""Table 5.1: log p(x) by number of planar steps."""

ACCURACY = {
    ("fashion_mnist", "semi-supervised"): (79.2, 77.9, 72.0, 70.9, 63.5),
    ("fashion_mnist", "supervised"): (77.1, 71.6, 56.4, 46.7, 21.3),
    ("mnist", "semi-supervised"): (93.6, 91.4, 86.1, 81.7, 68.0),
    ("mnist", "supervised"): (91.4, 88.0, 44.6, 30.1, 20.4),
}
"""Table 5.2: accuracy in per cent by number of labels."""


def published_value(images: ImageSource, approximation: str, label: str, column: str) -> float:
    """Return the book's value of a score, or NaN.

    Args:
        images: the images of the run.
        approximation: name of the model in `answers.csv`.
        label: its setting.
        column: of the scores.
    """
    if images.binarisation != "threshold":
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
