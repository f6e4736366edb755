"""Test values that a real second process makes."""

from __future__ import annotations

import os
import threading

import pytest

from leslied import forked
from leslied.errors import LesliedError, SinkError
from leslied.forked import can_fork, iter_in_fork, map_in_two_processes


def get_pid(_: object) -> int:
    return os.getpid()


def test_values_are_made_in_another_process():
    (pid,) = iter_in_fork(map(get_pid, [1]))

    assert pid != os.getpid()


def test_two_processes_share_the_work_and_keep_the_order():
    numbers = list(range(9))

    assert map_in_two_processes(lambda number: number * 2, numbers) == [
        number * 2 for number in numbers
    ]
    assert len(set(map_in_two_processes(get_pid, numbers))) == 2


def test_an_error_in_the_second_process_is_raised():
    def fail(number: int) -> int:
        if number == 3:
            raise SinkError("no space")
        return number

    with pytest.raises(SinkError, match="no space"):
        map_in_two_processes(fail, range(4))


def test_a_process_that_is_killed_is_an_error():
    def die(_: int) -> None:
        os.kill(os.getpid(), 9)

    with pytest.raises(LesliedError, match="ended unexpectedly"):
        list(iter_in_fork(map(die, [1])))


def test_a_caller_that_stops_early_ends_the_process():
    values = iter_in_fork(iter(range(10**9)))

    assert next(values) == 0
    values.close()


def test_a_process_with_threads_is_not_forked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(forked.os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        assert not can_fork()
    finally:
        stop.set()
        thread.join()
