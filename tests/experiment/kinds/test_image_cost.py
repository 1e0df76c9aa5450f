"""Estimated times of experiments on images, against measured ones."""

from __future__ import annotations

import numpy as np
import pytest
from support.config import compose

from bnnbench.config.assemble import assemble_experiment
from bnnbench.data.images.base import ImageSet
from bnnbench.experiment.kinds.image_experiment import ImageExperiment

SUITES = "bnnbench.suites.latent_models"

READERS = (
    *("bnnbench.experiment.kinds.image_experiment", f"{SUITES}.experiment"),
    *(f"{SUITES}.latent_sizes.experiment", f"{SUITES}.semi_supervised.experiment"),
    "bnnbench.suites.lam_density_ratio.adversarial_vb.experiment",
)
"""Modules that read images."""

MEASURED = {
    "latent_sizes": {"vae-d2": 548, "vae-d32": 555, "cvae-d32": 602},
    "planar_flows": {"flow-0": 567, "flow-8": 782, "flow-32": 1405, "iwae-20": 5157},
    "distortion_rate": {"beta-0000_100": 552},
    "semi_supervised": {
        "mixed-00100": 733,
        "paired-00100": 1102,
        "enumeration-06000": 3504,
        "supervised-06000": 568,
    },
    "adversarial_vb": {"d0002-kl-D": 633},
}
"""Processor seconds of units on MNIST, on one core: the mean of 12 steps, one evaluation of curves
and the log p(x) of four images, each multiplied by their number in the unit."""


@pytest.mark.parametrize("kind", MEASURED)
def test_estimates_are_within_a_factor_of_two(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    images, labels = np.broadcast_to(np.float32(0), (70_000, 784)), np.arange(70_000) % 10
    mnist = ImageSet(images[10_000:], images[:10_000], labels[10_000:], labels[:10_000], (28, 28))
    for module in READERS:
        monkeypatch.setattr(f"{module}.load_images", lambda source: mnist)
    experiment = assemble_experiment(compose(f"experiment={kind}", "images=mnist")).resolved()
    assert isinstance(experiment, ImageExperiment)
    for unit, seconds in MEASURED[kind].items():
        assert 0.5 < experiment.unit_seconds(unit) / seconds < 2, unit
