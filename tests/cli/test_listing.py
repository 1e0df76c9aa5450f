"""`bnnbench list metric`; what else is listed is tested with what is found."""

from __future__ import annotations

from collections.abc import Callable

from support.command import one_sentence

from bnnbench.results.metrics import BY_KEY

Command = Callable[..., tuple[int, str, str]]


def test_every_metric_is_listed_with_what_it_is(command: Command) -> None:
    code, out, _ = command("list", "metric")
    head, *lines, last = out.splitlines()
    assert code == 0 and head == "metric" and "docs/glossary.md" in last
    assert [line.split()[0] for line in lines] == list(BY_KEY)
    assert "log of the weight samples' average density [nats, higher is better]" in out
    assert command("list")[1].count("glossary") == 0, "only where it is asked for"


def test_a_group_that_is_none_is_refused(command: Command) -> None:
    one_sentence(*command("list", "metrics"), ["metrics", "method", "metric"])
