"""Answers are computed once, until the store changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from leslied.web.answer_cache import MAX_AGE_SECONDS, AnswerCache
from tests.support.clock import FakeClock


class Counter:
    """A question that counts how often it was answered."""

    def __init__(self) -> None:
        self.count = 0

    def answer(self, _queries: Any, arguments: Any) -> dict[str, Any]:
        self.count += 1
        return dict(arguments)


@pytest.fixture
def store_file(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    path.write_bytes(b"1")
    return path


@pytest.fixture
def ask(store_file: Path, clock: FakeClock) -> Callable[..., Any]:
    """Return a function that asks a question with arguments, at the clock's time."""

    def ask(answer: Callable[..., Any], **arguments: Any) -> Any:
        paths = SimpleNamespace(store_file=store_file)
        queries = SimpleNamespace(paths=paths, now=clock.now())
        return answer(queries, arguments)

    return ask


@pytest.fixture
def question() -> Counter:
    return Counter()


def test_the_same_question_is_answered_once(ask, question: Counter):
    answer = AnswerCache().wrap(question.answer)

    answers = [ask(answer, by="day"), ask(answer, by="day")]

    assert (question.count, answers) == (1, [{"by": "day"}, {"by": "day"}])


def test_other_arguments_are_another_question(ask, question: Counter):
    answer = AnswerCache().wrap(question.answer)

    assert ask(answer, by="day") != ask(answer, by="week")


@pytest.mark.parametrize("name", ["store.db", "store.db-wal"])
def test_a_written_store_makes_answers_old(
    ask, question: Counter, store_file: Path, name: str
):
    answer = AnswerCache().wrap(question.answer)

    ask(answer)
    store_file.with_name(name).write_bytes(b"22")
    ask(answer)

    assert question.count == 2


def test_an_answer_is_not_kept_for_long(ask, question: Counter, clock: FakeClock):
    answer = AnswerCache().wrap(question.answer)

    ask(answer)
    clock.advance(MAX_AGE_SECONDS)
    ask(answer)

    assert question.count == 2


def test_only_the_latest_answers_are_kept(ask, question: Counter):
    answer = AnswerCache(maximum=2).wrap(question.answer)

    for limit in (1, 2, 1, 3, 1, 2):
        ask(answer, limit=limit)

    assert question.count == 4


def test_two_questions_do_not_share_answers(ask, question: Counter):
    cache, other = AnswerCache(), Counter()

    ask(cache.wrap(question.answer))
    ask(cache.wrap(other.answer))

    assert (question.count, other.count) == (1, 1)
