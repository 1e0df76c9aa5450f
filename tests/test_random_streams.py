"""Random numbers: the same alone as in company, other ones from step to step."""

from __future__ import annotations

import torch

from bnnbench.random_streams import Streams, derive_seed


def test_a_group_draws_the_same_alone_as_in_company() -> None:
    together = Streams([1, 2], (0, 0, 1)).normal(4, 6)
    alone = Streams([2], (0,)).normal(4, 6)
    assert together.shape == (4, 3, 6)
    assert torch.equal(together[:, 0], together[:, 1])
    assert torch.equal(together[:, 2], alone[:, 0])
    assert not torch.equal(together[:, 0], together[:, 2])


def test_streams_move_on_and_repeat_with_the_seed() -> None:
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


def test_draws_made_several_steps_at_a_time_are_all_used_in_turn() -> None:
    """As on a GPU, where a launch for every step would dominate."""
    streams = Streams([1, 2], (0, 0, 1))
    streams._chunk = 3
    draws = [streams.normal(4, 6) for _ in range(4)]
    assert {draw.shape for draw in draws} == {(4, 3, 6)}
    made = torch.stack(draws).flatten(1)
    assert (torch.pdist(made) > 1).all()
    first, second = (torch.Generator().manual_seed(seed) for seed in (1, 2))
    for group, generator in ((0, first), (2, second)):
        whole = torch.empty(3, 4, 6).normal_(generator=generator)
        assert torch.equal(torch.stack(draws[:3])[:, :, group], whole)
