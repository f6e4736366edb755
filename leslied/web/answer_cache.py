"""Answers that are costly to compute, kept until the store changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

    from leslied.queries.context import QueryContext
    from leslied.web.endpoint import Answer, AnswerFunction, Arguments

MAX_ANSWERS = 32
MAX_AGE_SECONDS = 600


class AnswerCache:
    """The latest answers; all threads share them.

    An answer is used again while the store's files stay the same, but for at most ten
    minutes, because relative times such as `7d` depend on the current time.
    """

    def __init__(self, maximum: int = MAX_ANSWERS) -> None:
        self._maximum = maximum
        self._answers: OrderedDict[Hashable, Answer] = OrderedDict()
        self._lock = threading.Lock()

    def wrap(self, answer: AnswerFunction) -> AnswerFunction:
        """Return a function that calls `answer` only if the cache has no answer."""

        def answer_from_cache(queries: QueryContext, arguments: Arguments) -> Answer:
            # The state is read first: if the store changes meanwhile, the answer is
            # saved under the old state, and is not found again.
            key = (answer, _read_state(queries), *sorted(arguments.items()))
            if (cached_answer := self._find(key)) is not None:
                return cached_answer
            new_answer = answer(queries, arguments)
            self._save(key, new_answer)
            return new_answer

        return answer_from_cache

    def _find(self, key: Hashable) -> Answer | None:
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
            return self._answers.get(key)

    def _save(self, key: Hashable, answer: Answer) -> None:
        with self._lock:
            self._answers[key] = answer
            while len(self._answers) > self._maximum:
                self._answers.popitem(last=False)


def _read_state(queries: QueryContext) -> tuple[int, ...]:
    """Return numbers that change when the store is written, and every ten minutes."""
    store = queries.paths.store_file
    state = [int(queries.now.timestamp() // MAX_AGE_SECONDS)]
    # SQLite's own data_version cannot be compared between the threads' connections.
    for path in (store, store.with_name(f"{store.name}-wal")):
        with suppress(OSError):
            status = path.stat()
            state += status.st_ino, status.st_size, status.st_mtime_ns
    return tuple(state)
