"""The semi-supervised objective: derivatives, relaxed labels, and their limits."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from support.latent_models import semi_supervised_loss
from torch import Tensor

from bnnbench.experiment.store.record import Record, write_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.layers import Weights
from bnnbench.random_streams import Streams
from bnnbench.suites.latent_models.autoencoder import Shape
from bnnbench.suites.latent_models.semi_supervised.page import EXPERIMENT_PAGE
from bnnbench.suites.latent_models.semi_supervised.stack import (
    ENUMERATION,
    LABELLED,
    MIXED,
    PAIRED,
    SUPERVISED,
    UNLABELLED,
    LabelledBatch,
    SemiSupervisedStack,
    SemiTraining,
    relax,
)
from bnnbench.suites.latent_models.training import AutoencoderReplica, Data

SHAPE = Shape(6, (5, 4), 2, labels=3, classifier=True)
TAU, ALPHA = 0.6, 25.0
PI = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)


def make_stack(method: str, epoch_ends: str = UNLABELLED) -> SemiSupervisedStack:
    random = torch.Generator().manual_seed(0)
    images = torch.rand(12, 6, dtype=torch.float64, generator=random).round()
    labels = torch.eye(3, dtype=torch.float64).repeat(4, 1)
    replicas = [AutoencoderReplica(0, k, SHAPE) for k in range(2)]
    training = SemiTraining(method, 6, 4, 1e-3, TAU, ALPHA, epoch_ends)
    return SemiSupervisedStack(SHAPE, replicas, Data(images, images, labels, labels), training)


def streams() -> Streams:
    return Streams([1, 2], (0, 1), dtype=torch.float64)


@pytest.mark.parametrize("method", [MIXED, PAIRED, ENUMERATION])
def test_gradients_equal_those_of_autograd(method: str) -> None:
    stack = make_stack(method)
    rows = torch.tensor([[0, 5, 7, 11], [3, 1, 2, 8]])
    pairs = next(iter(stack._pairs(1)))
    batch = stack._batch(rows, pairs)
    if method == MIXED:
        batch = LabelledBatch(
            batch.images, batch.labels, torch.rand(2, 1, 4) < 0.5, batch.weight, 0
        )
    flat = stack.weights.flat.clone().requires_grad_()
    weights = Weights(SHAPE.chains, flat)
    semi_supervised_loss(SHAPE, weights, batch, stack.training, streams()).backward()
    stack._step(batch, streams())
    scale = flat.grad.abs().max().item()
    torch.testing.assert_close(stack._gradients.flat, flat.grad, rtol=0, atol=1e-12 * max(1, scale))


def test_labelled_images_are_balanced_and_nested() -> None:
    few, many = make_stack(PAIRED), make_stack(PAIRED)
    few._labelled = torch.stack([few._choose_labelled(r) for r in few.replicas])
    labels = few.data.train_labels.argmax(1)[few._labelled]
    assert [torch.bincount(own).tolist() for own in labels] == [[2, 2, 2]] * 2
    object.__setattr__(many.training, "labels", 12)
    more = torch.stack([many._choose_labelled(r) for r in many.replicas])
    assert all(set(a.tolist()) <= set(b.tolist()) for a, b in zip(few._labelled, more, strict=True))


@pytest.mark.parametrize(
    ("method", "epoch_ends", "sizes"),
    [
        (PAIRED, UNLABELLED, [8, 8, 8]),
        (ENUMERATION, UNLABELLED, [8, 8, 8]),
        (PAIRED, LABELLED, [8, 6]),
        (ENUMERATION, LABELLED, [8, 6]),
        (MIXED, UNLABELLED, [4, 4, 4]),
        (SUPERVISED, UNLABELLED, [4, 2]),
        (SUPERVISED, LABELLED, [4, 2]),
    ],
)
def test_an_epoch_ends_with_its_minibatches(
    method: str, epoch_ends: str, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    stack, trained = make_stack(method, epoch_ends), []
    monkeypatch.setattr(stack, "_step", lambda batch, streams: trained.append(batch.images))
    monkeypatch.setattr(stack, "_supervised_step", lambda rows: trained.append(rows[:, None]))
    for epoch in (1, 2):
        stack.train_epoch(epoch)
    assert [batch.shape[2] for batch in trained] == sizes * 2
    stack.evaluate(2)
    assert stack.logs[0].curve[0]["step"] == len(trained)
    first, second = (torch.cat(trained[k : k + len(sizes)], 2) for k in (0, len(sizes)))
    assert not torch.equal(first, second), "each epoch has an order of its own"


def test_an_epoch_that_ends_with_the_labelled_images_uses_each_of_them_once() -> None:
    stack = make_stack(PAIRED, LABELLED)
    epochs = [torch.cat([*stack._pairs(epoch)], 1) for epoch in (1, 2)]
    for rows in epochs:
        assert torch.equal(rows.sort(1).values, stack._labelled.sort(1).values)
    assert not torch.equal(*epochs)


def draws(temperature: float, count: int = 200_000) -> Tensor:
    """Draws of the Concrete distribution with probabilities PI, `[3, count]`."""
    uniform = torch.rand(
        1, 3, count, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    )
    return relax(PI.log()[None, :, None].expand_as(uniform), uniform, temperature)[0]


@pytest.mark.parametrize(
    ("temperature", "mean", "largest"),
    [(5, (0.365, 0.330, 0.305), 0.41), (0.6, (0.473, 0.308, 0.218), 0.77), (0.01, PI, 0.996)],
)
def test_relaxed_labels_tend_to_one_hot_ones(
    temperature: float, mean: tuple[float, ...], largest: float
) -> None:
    drawn = draws(temperature)
    shares = torch.bincount(drawn.argmax(0)) / drawn.shape[1]
    torch.testing.assert_close(shares.double(), PI, atol=0.004, rtol=0)
    torch.testing.assert_close(drawn.mean(1), torch.as_tensor(mean).double(), atol=0.004, rtol=0)
    assert drawn.max(0).values.mean().item() == pytest.approx(largest, abs=0.005)


@pytest.mark.parametrize(("settings", "count"), [({}, 0), ({"epoch_ends": LABELLED}, 1)])
def test_the_page_says_that_epochs_end_with_the_labelled_images(
    settings: dict[str, str], count: int, tmp_path: Path
) -> None:
    folder = RunFolder(tmp_path)
    write_record(folder, Record("semi_supervised", "abc", {}, settings))
    assert len(EXPERIMENT_PAGE.notes(folder)) == count
