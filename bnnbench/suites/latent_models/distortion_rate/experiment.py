"""The beta-VAE: distortion against rate for several beta (book, 5.3.2, 5.5.2 and Fig. 5.15)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

from bnnbench.constraints import Between, Count, ListOf
from bnnbench.suites.latent_models.autoencoder_experiment import AutoencoderExperiment
from bnnbench.suites.latent_models.experiment import ModelSetting
from bnnbench.suites.latent_models.names import BETA_VAE


@dataclass(frozen=True, kw_only=True)
class DistortionRate(AutoencoderExperiment):
    """Trains a VAE for each factor beta of the KL divergence (5.13).

    Attributes:
        latents: number of latent variables.
        betas: the factors.
    """

    identity_name = "bnnbench.suites.latent_models.distortion_rate.experiment.DistortionRate"
    latents: Count
    betas: Annotated[
        tuple[float, ...], ListOf(Between(0.001, 1000, True), order="increasing", minimum=2)
    ]
    kind: ClassVar[str] = "distortion_rate"

    @cached_property
    def settings(self) -> Mapping[str, ModelSetting]:
        shape = self.shape(self.latents)
        # Names of equal length, so that the tables of a run are in the order of beta.
        return {
            f"beta-{beta:08.3f}".replace(".", "_"): ModelSetting(
                BETA_VAE, f"beta = {beta:g}", shape, float(beta)
            )
            for beta in self.betas
        }
