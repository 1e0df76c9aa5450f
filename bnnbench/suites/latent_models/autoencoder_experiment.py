"""Base class of the experiments with autoencoders: training, and bounds of log p(x)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from bnnbench.constraints import Whole
from bnnbench.data.images.base import load_images
from bnnbench.experiment.kinds.image_experiment import FORWARD, count_weights
from bnnbench.experiment.store.unit_store import Arrays
from bnnbench.random_streams import derive_seed
from bnnbench.suites.latent_models.bounds import count_active_units, probe_predictions
from bnnbench.suites.latent_models.experiment import LatentModelExperiment, ModelSetting
from bnnbench.suites.latent_models.networks import Shape
from bnnbench.suites.latent_models.stack import OTHER_LABELS, TRAIN_ROWS, AutoencoderStack
from bnnbench.suites.latent_models.training import AutoencoderReplica, Data

PLANAR_STEP = 2000
"""Weights that take as long as a planar step of a column: 1300 with 8 latent variables, 2300 with
32."""


@dataclass(frozen=True, kw_only=True)
class AutoencoderExperiment(LatentModelExperiment[AutoencoderStack]):
    """Trains variational autoencoders and computes bounds of log p(x) of test images.

    Attributes:
        importance_samples: draws of q(z|x) for each image in the bound of log p(x).
        evaluated_images: size of the random subset of the test images on which bounds of log p(x)
            are computed, the same for all models of a run; None for all.
    """

    importance_samples: Annotated[int, Whole(2, 100_000)]
    evaluated_images: Annotated[int | None, Whole(1, 1_000_000)] = None

    def new_replicas(
        self,
        shape: Shape,
        replicas: Sequence[AutoencoderReplica],
        data: Data,
        setting: ModelSetting,
    ) -> AutoencoderStack:
        training = self.batch_size, self.learning_rate, setting.samples
        return AutoencoderStack(shape, replicas, data, *training)

    @property
    def draws(self) -> int:
        return self.importance_samples

    def evaluated_rows(self, images: int) -> slice | list[int]:
        """Return which test images bounds of log p(x) are computed on, in increasing order."""
        if self.evaluated_images is None or self.evaluated_images >= images:
            return slice(None)
        random = np.random.default_rng(derive_seed(self.seed, "evaluated images"))
        return sorted(random.permutation(images)[: self.evaluated_images].tolist())

    def work(self, unit: str) -> float:
        setting, images = self.settings[unit], load_images(self.images)
        encoder, decoder = (count_weights([chain]) for chain in setting.shape.chains)
        of_sample = decoder + PLANAR_STEP * setting.shape.flow
        epoch = len(images.train) * (encoder + setting.samples * of_sample)
        evaluated = min(len(images.train), TRAIN_ROWS) + len(images.test)
        curves = self.evaluations(unit) * evaluated * (encoder + of_sample)
        labellings = 1 + setting.shape.labels / OTHER_LABELS
        points = min(len(images.test), self.evaluated_images or len(images.test))
        draws = points * self.importance_samples * labellings
        return self.total_steps(unit) * epoch + FORWARD * (curves + draws * of_sample)

    def measure(
        self, stack: AutoencoderStack, members: range, setting: ModelSetting
    ) -> tuple[list[dict[str, Any]], dict[str, Arrays]]:
        unit, data = stack.part(members), stack.data
        rows = self.evaluated_rows(len(data.test))
        images = data.test[rows], data.test_labels[rows]
        found = unit.importance_sampling(*images, self.importance_samples)
        codes = unit.codes(data.train[:TRAIN_ROWS], data.train_labels)
        test_codes = unit.codes(data.test, data.test_labels)
        labels, test_labels = (
            part.argmax(1).cpu().numpy() for part in (data.train_labels, data.test_labels)
        )
        scores = []
        for k in range(len(members)):
            predicted = probe_predictions(codes[k], labels[: len(codes[k])], test_codes[k])
            values = {name: float(each[k].mean()) for name, each in found.items()}
            log_p = found["log_p"][k]
            scores.append({
                "elbo_train": unit.logs[k].curve[-1]["elbo_train"],
                **values,
                "log_p_image_error": float(log_p.std(ddof=1) / math.sqrt(len(log_p))),
                "active_units": count_active_units(codes[k]),
                "probe_accuracy": 100 * float((predicted == test_labels).mean()),
            })  # fmt: skip
        return scores, self.arrays(unit, test_codes[0], setting)

    def arrays(
        self, unit: AutoencoderStack, codes: np.ndarray, setting: ModelSetting
    ) -> dict[str, Arrays]:
        """Return the arrays of figures, by file: none.

        Args:
            unit: the replicas of the unit.
            codes: means of q(z|x) of the test images in the first repetition, `[M, d]`.
            setting: of the unit.
        """
        return {}
