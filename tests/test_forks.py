"""Functions done side by side: what they return, wherever they were done."""

from __future__ import annotations

import os
import threading
from functools import partial

import pytest

from bnnbench.forks import both, in_forks, is_alone


def place_and_process(k: int) -> tuple[int, int]:
    return k, os.getpid()


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("processes", [1, 2, 3, 9])
def test_results_are_in_order_whoever_found_them(processes: int) -> None:
    found = in_forks([partial(place_and_process, k) for k in range(5)], processes)
    assert [k for k, _ in found] == [0, 1, 2, 3, 4]
    assert len({process for _, process in found}) == min(processes, 5)


@pytest.mark.usefixtures("alone")
def test_the_first_stays_here_and_what_cannot_be_sent_is_found_here() -> None:
    def unsendable() -> threading.Lock:
        return threading.Lock()

    first, second = both(os.getpid, os.getpid, 2)
    assert first == os.getpid() != second
    assert all(lock.acquire() for lock in both(unsendable, unsendable, 2))


def test_no_work_is_nothing() -> None:
    assert in_forks([], 2) == []


def test_a_process_with_threads_is_not_forked() -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    assert not is_alone()
    stop.set()
    thread.join()
