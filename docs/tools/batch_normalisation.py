"""Train the plain VAE of Table 5.1 with batch normalisation, in a program of its own.

`python docs/tools/batch_normalisation.py` measures how much of the difference between the book's
plain VAE (K = 0) and ours batch normalisation would explain, which the book does not mention. The
package has no such layers, so this is plain torch: the layers, minibatches, optimiser and epochs of
`experiment=planar_flows images=mnist`, with batch normalisation (Ioffe & Szegedy 2015) before each
ReLU. `--plain` leaves it out, which checks this program against the package. Each takes about ten
minutes on one core.
"""

from __future__ import annotations

import argparse
import math
from itertools import pairwise

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from stored_results import RESULTS
from torch import Tensor, nn

from bnnbench.config.assemble import build_run
from bnnbench.config.compose import single_job
from bnnbench.data.images.base import load_images
from bnnbench.files import write_text
from bnnbench.suites.latent_models.experiment import PlanarFlows

NAME = "batch_normalisation"
"""The stored table `docs/results/images/batch_normalisation/mnist.csv` has a row for each training:
`bound` is the mean over all test images, in nats, of the bound of log p(x) with `draws` draws."""

SETTINGS = ("experiment=planar_flows", "images=mnist", "experiment.lengths=[0]", "device=cpu")

IMAGES_AT_ONCE = 4
"""Images in one forward pass with many draws for each."""


def layers(sizes: list[int], normalised: bool) -> nn.Sequential:
    """Return fully connected ReLU layers, the last one linear."""
    found: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes[:-1]):
        found += [nn.Linear(inputs, outputs), *([nn.BatchNorm1d(outputs)] * normalised), nn.ReLU()]
    return nn.Sequential(*found, nn.Linear(sizes[-2], sizes[-1]))


class PlainVAE(nn.Module):
    """The model (book, 5.6.2) for images `[B, D]`."""

    def __init__(self, experiment: PlanarFlows, pixels: int, normalised: bool) -> None:
        super().__init__()
        assert experiment.hidden is not None and experiment.latents is not None
        hidden, self.latents = [*experiment.hidden], experiment.latents
        self.encoder = layers([pixels, *hidden, 2 * self.latents], normalised)
        self.decoder = layers([self.latents, *hidden[::-1], pixels], normalised)

    def forward(self, images: Tensor, draws: int) -> tuple[Tensor, Tensor]:
        """Return log p(x|z), `[T, B]`, and the encoder's means and log variances, `[B, 2 d]`."""
        code = self.encoder(images)
        mean, log_variance = code.chunk(2, 1)
        self.noise = torch.randn(draws, *mean.shape)
        self.z = mean + (log_variance / 2).exp() * self.noise
        logits = self.decoder(self.z.flatten(0, 1)).unflatten(0, (draws, -1))
        return (images * logits - F.softplus(logits)).sum(2), code

    def elbo(self, images: Tensor) -> Tensor:
        """Return the ELBO with one draw, `[B]` (5.11)."""
        log_likelihood, code = self(images, 1)
        mean, log_variance = code.chunk(2, 1)
        rate = (mean.square() + log_variance.exp() - 1 - log_variance).sum(1) / 2
        return log_likelihood[0] - rate

    def bound(self, images: Tensor, draws: int) -> Tensor:
        """Return the importance-weighted bound, `[B]` (5.14)."""
        log_likelihood, code = self(images, draws)
        log_variance = code.chunk(2, 1)[1]
        rate = (self.z.square() - self.noise.square() - log_variance).sum(2) / 2
        return (log_likelihood - rate).logsumexp(0) - math.log(draws)


def train(model: PlainVAE, images: Tensor, experiment: PlanarFlows, epochs: int) -> None:
    """Train with Adam in shuffled minibatches."""
    optimiser = torch.optim.Adam(model.parameters(), experiment.learning_rate)
    for epoch in range(epochs):
        for rows in torch.randperm(len(images)).split(experiment.batch_size):
            optimiser.zero_grad()
            (-model.elbo(images[rows]).mean()).backward()
            optimiser.step()
        print(f"epoch {epoch + 1} of {epochs}", end="\r", flush=True)


@torch.inference_mode()
def measure(model: PlainVAE, test: Tensor, draws: int) -> dict[str, float]:
    """Return the ELBO and the bound of the test images, means in nats, and their errors."""
    model.eval()
    elbo, bound = model.elbo(test).double().numpy(), np.empty(len(test))
    for first in range(0, len(test), IMAGES_AT_ONCE):
        own = slice(first, first + IMAGES_AT_ONCE)
        bound[own] = model.bound(test[own], draws)
    return {
        "elbo": elbo.mean(),
        "bound": bound.mean(),
        "image_error": bound.std(ddof=1) / math.sqrt(len(bound)),
    }


def main() -> None:
    """Train once, and add the row to the stored table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--plain", action="store_true", help="without batch normalisation")
    parser.add_argument("--epochs", type=int, default=100)
    given = parser.parse_args()
    experiment = build_run(single_job(SETTINGS)).experiment
    assert isinstance(experiment, PlanarFlows)
    data = load_images(experiment.images)
    test = torch.from_numpy(data.test)
    torch.manual_seed(experiment.seed)
    model = PlainVAE(experiment, data.pixels, not given.plain)
    train(model, torch.from_numpy(data.train), experiment, given.epochs)
    draws = experiment.importance_samples
    row = {
        "normalised": not given.plain,
        "epochs": given.epochs,
        "images": len(data.test),
        "draws": draws,
        **measure(model, test, draws),
    }
    path = RESULTS / "images" / NAME / f"{experiment.images.name}.csv"
    stored = pd.read_csv(path) if path.exists() else pd.DataFrame()
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = pd.concat([stored, pd.DataFrame([row])], ignore_index=True)
    write_text(path, rows.to_csv(index=False, float_format="%.6g"))
    print(rows.to_string())


if __name__ == "__main__":
    main()
