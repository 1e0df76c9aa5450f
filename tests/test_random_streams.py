"""Random streams: independence of the stack, seeds, and chunks."""

from __future__ import annotations

import math

import torch

from bnnbench.random_streams import GeneratorSource, Streams, counters_used, derive_seed, draw


def test_a_group_draws_the_same_numbers_alone() -> None:
    together = Streams([1, 2], (0, 0, 1)).normal(4, 6)
    alone = Streams([2], (0,)).normal(4, 6)
    assert together.shape == (4, 3, 6)
    assert torch.equal(together[:, 0], together[:, 1])
    assert torch.equal(together[:, 2], alone[:, 0])
    assert not torch.equal(together[:, 0], together[:, 2])


def test_streams_advance_and_repeat_with_the_seed() -> None:
    first, again = Streams([5], (0,)), Streams([5], (0,))
    draws = [first.uniform(1, 8) for _ in range(2)]
    assert not torch.equal(*draws)
    assert torch.equal(draws[0], again.uniform(1, 8))


def test_seeds_differ_along_every_step_of_the_path() -> None:
    paths = [(0, 1, "search", 2), (0, 1, "search", 3), (0, 2, "search", 2), (1, 1, "search", 2)]
    paths += [(0, 1, "final"), (0, 1, "suggest", 2)]
    seeds = {derive_seed(*path) for path in paths}
    assert len(seeds) == len(paths)
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert derive_seed(0, 1, "final") == derive_seed(0, 1, "final")


def test_draws_of_several_steps_are_used_in_order() -> None:
    """As on a GPU, where a kernel launch per step would dominate."""
    source = GeneratorSource([1, 2], "cpu", chunk=3)
    draws = [source.draw("normal", (4, 6)) for _ in range(4)]
    assert {draw.shape for draw in draws} == {(4, 2, 6)}
    made = torch.stack(draws).flatten(1)
    assert (torch.pdist(made) > 1).all()
    for group, seed in enumerate((1, 2)):
        whole = torch.empty(3, 4, 6).normal_(generator=torch.Generator().manual_seed(seed))
        assert torch.equal(torch.stack(draws[:3])[:, :, group], whole)


def test_a_draw_continues_after_the_last_one() -> None:
    """Draws of any size use disjoint counters."""
    streams = Streams([3], (0,))
    made = torch.cat([streams.uniform(1, n).flatten() for n in (5, 64, 65, 200)])
    assert len(made.unique()) == len(made)


def test_float64_has_the_same_numbers() -> None:
    narrow, wide = (
        Streams([3], (0,), dtype=t).normal(2, 9) for t in (torch.float32, torch.float64)
    )
    assert wide.dtype == torch.float64
    assert torch.equal(narrow.double(), wide)


def test_reserved_numbers_equal_single_draws() -> None:
    requests = [("normal", (3, 5)), ("uniform", (2, 7, 11)), ("normal", (1, 64))]
    reserving, single = (Streams([1, 2], (0, 0, 1)) for _ in range(2))
    for start in (reserving, single):
        start.uniform(1, 9)
    place = reserving.reserve(sum(counters_used(math.prod(shape)) for _, shape in requests))
    for law, shape in requests:
        expected, count = getattr(single, law)(*shape)[:, [0, 2]], math.prod(shape)
        for group, key in enumerate(reserving.keys):
            made = draw(key, place, count, law == "normal").view(shape)
            assert torch.equal(made, expected[:, group])
        place += counters_used(count)
    assert torch.equal(reserving.normal(2, 3), single.normal(2, 3))


def test_requests_are_recorded_without_drawing() -> None:
    streams, untouched = Streams([1, 2], (0, 1)), Streams([1, 2], (0, 1))

    def drawing(given: Streams) -> tuple[torch.Tensor, ...]:
        return given.normal(1, 4)[0], given.uniform(3, 2, 2)

    assert streams.record_requests(drawing) == [("normal", (1, 4)), ("uniform", (3, 2, 2))]
    assert torch.equal(streams.normal(1, 4), untouched.normal(1, 4))
