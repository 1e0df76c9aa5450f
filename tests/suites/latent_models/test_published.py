"""The book's numbers are shown only next to runs with its images and settings."""

from __future__ import annotations

from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from support.config import compose

from bnnbench.config.assemble import build
from bnnbench.data.images import base
from bnnbench.experiment.run.run import Run
from bnnbench.experiment.store.record import write_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.suites.latent_models.page import EXPERIMENT_PAGES
from bnnbench.suites.latent_models.published import published_value


def experiment_of(kind: str, images: str, outputs: Path) -> Any:
    """Return an experiment on images that need not exist."""
    digits = build(compose(f"experiment={kind}", "workers=1", f"outputs_dir={outputs}")).experiment
    assert isinstance(digits.images, base.ImageSource)
    source = replace(digits.images, name=images)
    unset: dict[str, Any] = {"hidden": None, "epochs": None}
    if kind != "distortion_rate":
        unset["latents"] = None
    if kind == "semi_supervised":
        unset["labels"] = None
    return replace(digits, images=source, **unset).resolved()


@pytest.mark.parametrize(
    ("kind", "images", "row", "expected", "others"),
    [
        (
            "planar_flows",
            "mnist",
            ("planar flow", "K = 0", "log_p"),
            -73.4,
            {
                "epochs": 10, "hidden": (400,), "latents": 8, "learning_rate": 0.01,
                "batch_size": 64, "importance_samples": 64, "evaluated_images": 1000,
            },
        ),
        (
            "semi_supervised",
            "fashion_mnist",
            ("semi-supervised, mixed batches", "100 labels", "accuracy_equal"),
            63.5,
            {
                "epochs": 10, "hidden": (400,), "latents": 8, "learning_rate": 0.01,
                "batch_size": 64, "temperature": 0.5, "weight": 1.0,
            },
        ),
    ],
)  # fmt: skip
def test_published_numbers_need_the_settings_and_images_of_the_book(
    kind: str,
    images: str,
    row: tuple[str, str, str],
    expected: float,
    others: dict[str, Any],
    tmp_path: Path,
) -> None:
    experiment = experiment_of(kind, images, tmp_path)
    assert published_value(experiment, *row) == expected
    assert published_value(replace(experiment, repetitions=20), *row) == expected
    for name, value in others.items():
        assert isnan(published_value(replace(experiment, **{name: value}), *row)), name
    stochastic = replace(experiment.images, binarisation="stochastic")
    assert isnan(published_value(replace(experiment, images=stochastic), *row))
    assert isnan(published_value(experiment_of(kind, "digits", tmp_path), *row))
    assert isnan(published_value(experiment_of("latent_sizes", images, tmp_path), *row))


@pytest.mark.parametrize("kind", ["latent_sizes", "distortion_rate", "planar_flows"])
def test_claims_need_the_training_of_the_book(kind: str, tmp_path: Path) -> None:
    def differing(images: str, **settings: Any) -> str:
        experiment = replace(experiment_of(kind, images, tmp_path), **settings)
        record = Run(experiment, tmp_path, {}).record
        folder = RunFolder(tmp_path / record.digest)
        folder.root.mkdir(exist_ok=True)
        write_record(folder, record)
        (page,) = (page for page in EXPERIMENT_PAGES if page.kind == kind)
        return page.settings.differences(folder)

    assert differing("mnist") == differing("fashion_mnist") == "", "as in the book"
    other = differing("mnist", epochs=3, repetitions=2, importance_samples=64)
    assert {*other.split(", ")} == {
        "experiment.epochs 3 instead of 100", "experiment.importance_samples 64 instead of 1024",
    }  # fmt: skip
    assert "hidden" in differing("fashion_mnist", hidden=(200,))
    assert differing("digits", epochs=3) == "", "claims are about other images"
