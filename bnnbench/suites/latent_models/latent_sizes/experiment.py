"""VAE and conditional VAE by number of latent variables: Figs. 5.9 to 5.14 of the book."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, ClassVar, Self

import numpy as np
import torch
from scipy.stats import norm

from bnnbench.constraints import ListOf, OneOf, Whole
from bnnbench.data.images.base import load_images
from bnnbench.experiment.store.unit_store import Arrays
from bnnbench.suites.latent_models.experiment import AutoencoderExperiment, ModelSetting
from bnnbench.suites.latent_models.names import CODES, CVAE, IMAGES, VAE
from bnnbench.suites.latent_models.stack import AutoencoderStack

MODELS = {"vae": VAE, "cvae": CVAE}

SAMPLED, PATHS, PATH_STEPS, GRID = 40, 4, 10, 20
"""Sampled images; interpolations and their images; rows and columns of the manifold."""

QUARTERS = 2
"""The manifold of a conditional model shows the first four classes, in two rows and columns."""

SHOWN_CODES = 2000
"""Maximum number of test images whose codes are saved."""


@dataclass(frozen=True, kw_only=True)
class LatentSizes(AutoencoderExperiment):
    """Trains a VAE and a conditional VAE for each number of latent variables.

    Attributes:
        models: `vae`, `cvae` or both.
        latents: numbers of latent variables; None for 2, 4, 8 and 32 on digits, and the book's 2,
            8, 32 and 128 otherwise.
    """

    identity_name = "bnnbench.suites.latent_models.latent_sizes.experiment.LatentSizes"
    models: Annotated[tuple[str, ...], ListOf(OneOf(*MODELS), order="distinct")]
    latents: Annotated[tuple[int, ...] | None, ListOf(Whole(1, 1000), order="increasing")] = None
    kind: ClassVar[str] = "latent_sizes"

    def resolved(self) -> Self:
        sizes = (2, 4, 8, 32) if self.images.name == "digits" else (2, 8, 32, 128)
        return replace(super().resolved(), latents=sizes if self.latents is None else self.latents)

    @cached_property
    def settings(self) -> Mapping[str, ModelSetting]:
        classes = load_images(self.images).classes
        return {
            f"{model}-d{d}": ModelSetting(
                MODELS[model], f"d = {d}", self.shape(d, labels=classes if model == "cvae" else 0)
            )
            for model in self.models
            for d in self.latents or ()
        }

    def arrays(
        self, unit: AutoencoderStack, codes: np.ndarray, setting: ModelSetting
    ) -> dict[str, Arrays]:
        """Return images and codes of the first repetition, each with a leading axis of length 1."""
        data, d = unit.data, setting.shape.latents
        classes = data.test_labels.shape[1]
        random = np.random.default_rng(unit.replicas[0].seed_for("figures"))
        each = torch.eye(classes, device=data.test.device, dtype=torch.float32)

        def decode(z: np.ndarray, labels: torch.Tensor) -> np.ndarray:
            padded = np.zeros((len(z), unit.shape.latents), np.float32)
            padded[:, :d] = z
            images = unit.decode(torch.from_numpy(padded).to(labels.device), labels)[0]
            return (255 * images).round().byte().cpu().numpy()[None]

        labels = each.repeat(-(-SAMPLED // classes), 1)[:SAMPLED]
        ends = random.normal(size=(2, PATHS, 1, d))
        fractions = np.linspace(0, 1, PATH_STEPS)[:, None]
        paths = (ends[0] + fractions * (ends[1] - ends[0])).reshape(-1, d)
        of_path = each[torch.arange(PATHS, device="cpu") % classes].repeat_interleave(PATH_STEPS, 0)
        points, classes_of_points = percentile_plane(QUARTERS if setting.shape.labels else 1)
        plane = np.zeros((len(points), d))
        plane[:, :2] = points[:, :d]
        snapshots = (255 * torch.stack(unit.logs[0].snapshots)).round().byte().numpy()
        images = {
            "originals": data.test[: snapshots.shape[1]].cpu().numpy()[None],
            "reconstructions": snapshots[None],
            "samples": decode(random.normal(size=(SAMPLED, d)), labels),
            "interpolation": decode(paths, of_path),
            "manifold": decode(plane, each[torch.from_numpy(classes_of_points) % classes]),
        }
        kept = np.zeros((1, min(len(codes), SHOWN_CODES), max(self.latents or ())), np.float32)
        kept[0, :, :d] = codes[:SHOWN_CODES, :d]
        classes_of = data.test_labels[:SHOWN_CODES].argmax(1).cpu().numpy()[None]
        return {IMAGES: images, CODES: {"codes": kept, "labels": classes_of}}


def percentile_plane(parts: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points at percentiles of the prior of two latent variables, and their classes.

    Args:
        parts: rows and columns of smaller planes, one for each class.

    Returns:
        `[GRID^2, 2]` and `[GRID^2]`, in the order of the rows of images.
    """
    side = GRID // parts
    quantiles = norm.ppf((np.arange(side) + 0.5) / side)
    points = np.stack(np.meshgrid(quantiles, quantiles[::-1]), -1)
    part = np.arange(GRID) // side
    classes = part[:, None] * parts + part
    return np.tile(points, (parts, parts, 1)).reshape(-1, 2), classes.ravel()
