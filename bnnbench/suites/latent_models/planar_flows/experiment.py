"""Planar flows by length and importance-weighted autoencoders (book, 5.4 and Table 5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, ClassVar, Self

from bnnbench.constraints import ListOf, Whole
from bnnbench.suites.latent_models.autoencoder_experiment import AutoencoderExperiment
from bnnbench.suites.latent_models.experiment import ModelSetting
from bnnbench.suites.latent_models.names import IWAE, PLANAR


@dataclass(frozen=True, kw_only=True)
class PlanarFlows(AutoencoderExperiment):
    """Trains a VAE for each length of a planar flow, and IWAEs without a flow.

    Attributes:
        latents: number of latent variables; None for 8 on digits and 32 otherwise.
        lengths: numbers of planar steps, whose parameters are outputs of the encoder.
        training_samples: numbers of samples in the bounds that IWAEs maximise.
    """

    identity_name = "bnnbench.suites.latent_models.planar_flows.experiment.PlanarFlows"
    latents: Annotated[int | None, Whole(1, 1000)] = None
    lengths: Annotated[tuple[int, ...], ListOf(Whole(0, 1000), order="increasing")]
    training_samples: Annotated[
        tuple[int, ...], ListOf(Whole(2, 1000), length=None, order="increasing", minimum=0)
    ]
    kind: ClassVar[str] = "planar_flows"

    def resolved(self) -> Self:
        latents = 8 if self.images.name == "digits" else 32
        return replace(
            super().resolved(), latents=latents if self.latents is None else self.latents
        )

    @cached_property
    def settings(self) -> Mapping[str, ModelSetting]:
        assert self.latents is not None
        flows = {
            f"flow-{length}": ModelSetting(
                PLANAR, f"K = {length}", self.shape(self.latents, flow=length)
            )
            for length in self.lengths
        }
        weighted = {
            f"iwae-{samples}": ModelSetting(
                IWAE, f"T = {samples}", self.shape(self.latents), samples=samples
            )
            for samples in self.training_samples
        }
        return {**flows, **weighted}
