"""Training steps of adversarial variational Bayes for a stack of repetitions and configurations.

Thesis, 3.9.1 and 10.1: an encoder `G(noise; x)` returns draws of q(z|x), a decoder the logits of
Bernoulli pixels, and an estimator the log ratio of q(z|x) to the prior N(0, I). The estimator takes
several steps on fresh minibatches; then encoder and decoder together take one step on the NELBO,
`-log p(x|z)` plus the estimated log ratio. Gradients are derived by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from bnnbench.experiment.kinds.resumable_stack import State
from bnnbench.layers import Layers
from bnnbench.random_streams import Streams
from bnnbench.suites.lam_density_ratio.adversaries import Adversaries, Replica, TrainedNetwork
from bnnbench.suites.lam_density_ratio.networks import Architecture, BufferedNetwork
from bnnbench.suites.lam_density_ratio.objectives import StackedObjectives
from bnnbench.suites.lam_density_ratio.schedule import Schedule

EVALUATED_IMAGES = 500
"""Images whose reconstruction error is measured, as in the thesis."""

SHOWN, SHOWN_SAMPLES = 10, 40
"""Images of a figure that are reconstructed, and drawn from the model."""

MODERATE = 10.0
"""Log ratios up to which single precision does not matter."""


@dataclass(frozen=True)
class Networks:
    """Sizes of the three networks (Figures 10.2 to 10.4).

    Attributes:
        pixels: number of pixels, `D`.
        latents: number of latent variables, `d`.
        noise: number of the encoder's noise inputs.
        width: factor of the thesis's hidden layers.
    """

    pixels: int
    latents: int
    noise: int = 4
    width: float = 1.0

    def _hidden(self, *sizes: int) -> tuple[int, ...]:
        return tuple(max(1, round(self.width * size)) for size in sizes)

    def _two_branches(self, inputs: tuple[int, ...], outputs: int) -> Architecture:
        observation = (self.pixels, *self._hidden(200, 400))
        return Architecture(inputs, observation, (*self._hidden(200, 400), outputs))

    @property
    def encoder(self) -> Architecture:
        """Sizes of `G(noise; x)`."""
        return self._two_branches((self.noise, *self._hidden(400)), self.latents)

    @property
    def estimator(self) -> Architecture:
        """Sizes of the pre-activation `a(z, x)`."""
        return self._two_branches((self.latents, *self._hidden(200, 400)), 1)

    @property
    def decoder(self) -> Architecture:
        """Sizes of the logits of `p(x|z)`."""
        hidden = self._hidden(500, 500, 1000, 1000)
        return Architecture((self.latents, *hidden, self.pixels), (), ())


class ImageStack(Adversaries):
    """Networks, optimisers and random numbers of all replicas, and their training steps.

    All random numbers of a call are a function of the seed, the repetition and the number of the
    call, so that a saved state needs no random streams.

    Args:
        sizes: of the networks.
        replicas: the replicas, those with the same objective adjacent.
        images: pixels in [0, 1], `[N, D]`; its device and type are used.
        schedule: its `samples` are the images in a minibatch, `B`, drawn with replacement.
    """

    networks = ("encoder", "decoder", "estimator")
    score = "mae"

    def __init__(
        self, sizes: Networks, replicas: Sequence[Replica], images: Tensor, schedule: Schedule
    ) -> None:
        super().__init__(replicas, schedule, images)
        self._images, self._batch = images, schedule.samples
        self.encoder, self.decoder, self.estimator = (
            TrainedNetwork(getattr(sizes, name), name, replicas, images) for name in self.networks
        )
        self._objectives = StackedObjectives([replica.objective for replica in replicas])
        self._sampler = BufferedNetwork(self.encoder.parameters, self._batch)
        self._critic = BufferedNetwork(self.estimator.parameters, self._batch)
        self._contrast = BufferedNetwork(self.estimator.parameters, 2 * self._batch, repeats=2)
        self._slope = torch.empty_like(self._contrast.outputs)
        self._decoder, self._logits = self._decoder_of(self._batch)
        self._largest_loss, self._calls = torch.zeros_like(self.active[:, 0]), 0

    def _decoder_of(self, columns: int) -> tuple[Layers, Tensor]:
        """Return a decoder with buffers for these columns, and its outputs `[R, D, B]`."""
        logits = self._images.new_empty(len(self.active), self._images.shape[1], columns)
        layers = self.decoder.parameters.main
        return Layers(layers, columns, logits, linear_output=True), logits

    def _streams(self, *purpose: str | int) -> Streams:
        seeds = [replica.seed_for(*purpose) for replica in self.replicas]
        device, dtype = self._images.device, self._images.dtype
        return Streams(seeds, tuple(range(len(seeds))), device, dtype)

    def _next_streams(self) -> Streams:
        self._calls += 1
        return self._streams("training", self._calls)

    def _sample(self, streams: Streams) -> Tensor:
        """Draw a minibatch, and z of q for each image, `[R, d, B]`, in a buffer."""
        rows = (streams.uniform(1, self._batch)[0] * len(self._images)).long()
        images = self._images[rows.clamp_max_(len(self._images) - 1)]
        self._sampler.observations.copy_(images.mT)
        self._sampler.inputs.copy_(streams.normal(1, self._sampler.inputs.shape[1], self._batch)[0])
        return self._sampler.forward()

    def estimator_steps(self, count: int, rate: float) -> Tensor:
        """Train the estimators; return the loss before each step, `[count, R]`."""
        streams = self._next_streams()
        losses = [self._estimator_step(streams, rate) for _ in range(count)]
        if not losses:
            return self._images.new_empty(0, len(self.replicas))
        stacked = torch.stack(losses)
        self._largest_loss = torch.fmax(self._largest_loss, stacked.abs().amax(0))
        return stacked

    def _estimator_step(self, streams: Streams, rate: float) -> Tensor:
        z, one = self._sample(streams), self._contrast
        on_q, on_p = slice(0, self._batch), slice(self._batch, None)
        one.observations.copy_(self._sampler.observations)
        one.inputs[:, :, on_q] = z
        one.inputs[:, :, on_p] = streams.normal(1, z.shape[1], self._batch)[0]
        a, slope = one.forward()[:, 0], self._slope[:, 0]
        terms = ((a[:, half], slope[:, half]) for half in (on_q, on_p))
        loss = self._objectives.estimator_loss(*terms)
        one.backward(self._slope, self.estimator.gradient)
        self.estimator.update(rate, self.active)
        return loss

    def generator_step(self, rate: float) -> Tensor:
        """Take one step of encoder and decoder; return the NELBO before it, `[R]`."""
        z, x = self._sample(self._next_streams()), self._sampler.observations
        self._critic.observations.copy_(x)
        self._critic.inputs.copy_(z)
        nelbo, slope = self._objectives.log_ratio(self._critic.forward()[:, 0])
        to_z = self._critic.backward(slope[:, None], None, to_inputs=True)
        self._decoder.inputs.copy_(z)
        self._decoder.forward()
        nelbo += F.softplus(self._logits).sub_(x * self._logits).sum(1).mean(1)
        error = torch.sigmoid(self._logits).sub_(x).div_(self._batch)
        to_z.add_(self._decoder.backward(error, self.decoder.gradient.main))
        self._sampler.backward(to_z, self.encoder.gradient)
        for network in (self.encoder, self.decoder):
            network.update(rate, self.active)
        return nelbo

    def evaluate(self, iteration: int) -> dict[str, Tensor]:
        """Return errors of reconstructions and the largest loss since the last call, `[R]` each."""
        x, z = self._encoded(EVALUATED_IMAGES)
        error, largest = self._decode(z) - x, self._largest_loss
        self._largest_loss = torch.zeros_like(largest)
        mean_errors = {"mae": error.abs().mean((1, 2)), "mse": error.square().mean((1, 2))}
        return {**mean_errors, "largest_loss": largest}

    def _encoded(self, count: int) -> tuple[Tensor, Tensor]:
        """Return the first images `[D, N]`, and one draw of q for each, `[R, d, N]`."""
        x = self._images[:count].T
        encoder = BufferedNetwork(self.encoder.parameters, x.shape[1])
        encoder.observations.copy_(x)
        noise = self._streams("evaluation").normal(1, *encoder.inputs.shape[1:])
        encoder.inputs.copy_(noise[0])
        return x, encoder.forward()

    def _decode(self, z: Tensor) -> Tensor:
        """Return mean images `[R, D, N]` of `z` `[R or 1, d, N]`."""
        decoder, logits = self._decoder_of(z.shape[2])
        decoder.inputs.copy_(z)
        decoder.forward()
        return logits.sigmoid()

    @torch.inference_mode()
    def log_ratio_errors(self) -> dict[str, np.ndarray]:
        """Compare the estimates of the log ratio with the pre-activation, from which they come.

        Returns:
            `[R]` each, over draws of q for the evaluated images: `largest_log_ratio`, the largest
            absolute pre-activation; `log_ratio_error`, the largest error of the estimate; and
            `moderate_error`, the same where the pre-activation is at most `MODERATE`.
        """
        x, z = self._encoded(EVALUATED_IMAGES)
        critic = BufferedNetwork(self.estimator.parameters, x.shape[1])
        critic.observations.copy_(x)
        critic.inputs.copy_(z)
        a = critic.forward()[:, 0]
        estimates = [r.objective.log_ratio(one)[0] for r, one in zip(self.replicas, a, strict=True)]
        error = torch.stack(estimates) - a
        found = {
            "largest_log_ratio": a,
            "log_ratio_error": error,
            "moderate_error": error.where(a.abs() <= MODERATE, 0),
        }
        return {name: each.abs().amax(1).cpu().numpy() for name, each in found.items()}

    @torch.inference_mode()
    def pictures(self, k: int) -> dict[str, np.ndarray]:
        """Return images, their reconstructions and samples of replica `k`, uint8, `[n, D]` each."""
        x, z = self._encoded(SHOWN)
        prior = self._streams("samples").normal(1, z.shape[1], SHOWN_SAMPLES)[0]
        shown = {
            "originals": x,
            "reconstructions": self._decode(z)[k],
            "samples": self._decode(prior)[k],
        }
        return {name: (255 * each.T).round().byte().cpu().numpy() for name, each in shown.items()}

    def replica_state(self, k: int) -> dict[str, Any]:
        own = {"calls": self._calls, "largest_loss": self._largest_loss[k].item()}
        return {**own, **super().replica_state(k)}

    def restore_replica(self, k: int, state: State) -> None:
        super().restore_replica(k, state)
        self._calls, self._largest_loss[k] = state["calls"], state["largest_loss"]
