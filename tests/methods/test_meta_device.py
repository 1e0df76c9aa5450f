"""Fits, scores and toys on torch's `meta` device, whose tensors have shapes but no numbers.

Tensors that were left on the host raise errors there, and so does code that waits for the device
implicitly: `int`, `if`, `.item()`, `.tolist()`, boolean masks. Explicit waits, `.cpu()`, are
counted: they must not occur in minibatches or leapfrogs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from support.methods import FAST_SETTINGS, Case, build_method, cases, class_of, quick_cases
from support.sprinkler import objective, problem, replicas
from torch import Tensor

from bnnbench import metrics
from bnnbench.checking.small_fits import HYPER, network_of
from bnnbench.methods.shared.contract import FitTask, Method
from bnnbench.methods.shared.estimators import EstimatorMethod
from bnnbench.methods.shared.hmc import adaptation
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.suites.lam_density_ratio.adversarial_vb.stack import ImageStack, Networks
from bnnbench.suites.lam_density_ratio.adversaries import Adversaries
from bnnbench.suites.lam_density_ratio.stack import DensityRatioStack as Sprinkler
from bnnbench.suites.latent_models.autoencoder import Shape
from bnnbench.suites.latent_models.semi_supervised.stack import (
    ENUMERATION,
    LABELLED,
    MIXED,
    PAIRED,
    SUPERVISED,
    UNLABELLED,
    SemiSupervisedStack,
    SemiTraining,
)
from bnnbench.suites.latent_models.stack import AutoencoderStack as Autoencoders
from bnnbench.suites.latent_models.training import AutoencoderReplica, Data, ReplicaStack
from bnnbench.types import Prediction, TrainingSet

COUNTS, GROUPS, SEEDS = (4, 3, 2), (0, 0, 1), [11, 12]
"""Rows of each replica: two minibatches of 3 per epoch, of which two replicas have one."""

EPOCHS = 2

HMC_WAITS = 5 + 3
"""Waits of `hmc` per epoch: for the number of leapfrogs, two arrays for each of two sampled
precisions, and at the start of a window of adaptation three for the first step size."""


class HostGenerator(torch.Generator):
    """A generator of the host for any device; `meta` has none."""

    def __new__(cls, device: object = "cpu") -> HostGenerator:
        return super().__new__(cls)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """Return the tensors that were copied to the host so far; twos take the place of numbers."""
    copied: list[Tensor] = []
    to_host = Tensor.cpu

    def cpu(tensor: Tensor) -> Tensor:
        if not tensor.is_meta:
            return to_host(tensor)
        copied.append(tensor)
        return torch.full(tensor.shape, 2, dtype=tensor.dtype)

    monkeypatch.setattr(Tensor, "cpu", cpu)
    monkeypatch.setattr(torch, "Generator", HostGenerator)
    monkeypatch.setattr(Tensor, "exponential_", lambda tensor, generator: tensor)
    monkeypatch.setattr(adaptation, "MAX_DOUBLINGS", 1)
    return copied


def meta(*shape: int, **settings: Any) -> Tensor:
    return torch.empty(shape, device="meta", **settings)


def streams() -> Streams:
    return Streams([*SEEDS], GROUPS, "meta")


ON_DEVICE = [case for case in cases() if not issubclass(class_of(case.option), EstimatorMethod)]
"""All methods and variants but those that scikit-learn and other libraries fit, on the host."""

CLASSES = {class_of(case.option): case.option for case in quick_cases() if case in ON_DEVICE}


def check_fit(method: Method, waits: list[Tensor], most_waits: int) -> None:
    """Fit and predict; the fit may wait `most_waits` times, the prediction never."""
    data = TrainingSet(meta(3, 4, 2), meta(3, 4), COUNTS, GROUPS)
    hyper = {name: meta(3, 1).fill_(HYPER[name]) for name in method.hyper_names}
    training = Training(batch_size=3, samples=2)
    task = FitTask(data, hyper, network_of(method, 3), training, EPOCHS, streams(), False)
    posterior = method.fit(task)
    assert len(waits) <= most_waits
    waits.clear()
    prediction = method.predict(posterior, data.inputs, 3, streams())
    parts = (prediction.loc, prediction.epistemic, prediction.noise, *posterior.state.values())
    assert all(part.is_meta for part in parts) and not waits


@pytest.mark.ci
@pytest.mark.parametrize(("owner", "option"), CLASSES.items(), ids=CLASSES.values())
def test_a_fit_stays_on_its_device(owner: type[Method], option: str, waits: list[Tensor]) -> None:
    if option == "bbb":
        method = build_method(Case(option))  # it needs a divergence
    else:
        method = owner(label=option, **FAST_SETTINGS.get(option, {}))
    check_fit(method, waits, EPOCHS * HMC_WAITS * (option == "hmc"))


@pytest.mark.slow
@pytest.mark.parametrize("case", ON_DEVICE, ids=str)
def test_a_fit_of_any_variant_stays_on_its_device(case: Case, waits: list[Tensor]) -> None:
    check_fit(case.method, waits, EPOCHS * HMC_WAITS * (case.option == "hmc"))


@pytest.mark.parametrize("score", metrics.SCORE_FUNCTIONS.values(), ids=metrics.SCORE_FUNCTIONS)
def test_scores_wait_only_for_the_prediction(
    score: Callable[[Prediction, Tensor, Tensor], Tensor], waits: list[Tensor]
) -> None:
    prediction = Prediction(meta(5, 3, 4), *(meta(5, 3, 1) for _ in range(2)))
    scores = score(prediction, meta(3, 4), meta(3, 4, dtype=torch.bool))
    assert scores.shape == (3,) and scores.isfinite().all()
    assert len(waits) <= 5  # the mean and two variances, targets and padding


OBJECTIVES = [objective("kl_posterior_prior", "ratio"), objective("gan", "class_probability")]


def sprinkler(joint: bool) -> Sprinkler:
    """Return the toy of the density-ratio thesis."""
    return Sprinkler(replace(problem(joint, joint), device="meta"), replicas(*OBJECTIVES))


def adversaries() -> ImageStack:
    """Return adversarial variational Bayes on images of six pixels."""
    schedule = problem(samples=7).schedule
    return ImageStack(Networks(6, 3, width=0.02), replicas(*OBJECTIVES), meta(20, 6), schedule)


@pytest.mark.parametrize("make", [partial(sprinkler, False), partial(sprinkler, True), adversaries])
def test_steps_of_adversaries_stay_on_their_device(
    make: Callable[[], Adversaries], waits: list[Tensor]
) -> None:
    stack = make()
    with torch.inference_mode():
        losses = stack.estimator_steps(2, 0.1), stack.generator_step(0.1)
    assert all(loss.is_meta for loss in losses) and not waits


SHAPE = Shape(6, (5,), 2, labels=3, classifier=True)
MEMBERS = [AutoencoderReplica(0, k, SHAPE) for k in range(2)]
IMAGES = Data(meta(12, 6), meta(12, 6), meta(12, 3), meta(12, 3))


def autoencoders(samples: int) -> Autoencoders:
    """Return variational autoencoders, with an importance-weighted bound above one sample."""
    shape = replace(SHAPE, classifier=False)
    return Autoencoders(
        shape, [replace(one, shape=shape) for one in MEMBERS], IMAGES, 8, 0.1, samples
    )


def classifiers(method: str, epoch_ends: str = UNLABELLED) -> SemiSupervisedStack:
    """Return semi-supervised autoencoders."""
    training = SemiTraining(method, 6, 4, 1e-3, 0.6, 25.0, epoch_ends)
    return SemiSupervisedStack(SHAPE, MEMBERS, IMAGES, training)


@pytest.mark.parametrize(
    "make",
    [
        *(partial(autoencoders, samples) for samples in (1, 3)),
        *(partial(classifiers, method) for method in (MIXED, PAIRED, ENUMERATION, SUPERVISED)),
        partial(classifiers, PAIRED, LABELLED),
    ],
)
def test_an_epoch_of_latent_models_stays_on_its_device(
    make: Callable[[], ReplicaStack], waits: list[Tensor]
) -> None:
    stack = make()
    waits.clear()  # labelled images are chosen on the host
    with torch.inference_mode():
        stack.train_epoch(1)
    assert stack.weights.flat.is_meta and not waits
