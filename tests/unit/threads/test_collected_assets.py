"""Plans and lists from elsewhere look as a thread's own would."""

from __future__ import annotations

import json
from typing import Any

from leslied.model.file_change import FileChange
from leslied.threads.collected_assets import collect_assets
from leslied.threads.progress import parse_progress
from tests.support.records import make_key, time_at

FILE = "/home/dev/.claude/plans/brave-oak.md"


def touch(kind: Any, path: str = "", body: Any = "", **more: Any) -> FileChange:
    text = body if isinstance(body, str) else json.dumps(body)
    return FileChange(
        session=make_key(), kind=kind, path=path, body=text, at=time_at(0), **more
    )


def texts(*touches: FileChange, files: dict[str, str] | None = None) -> dict[str, str]:
    found = collect_assets(touches, (files or {}).get)
    return {each.type: each.text for each in found}


def steps(**states: str) -> dict[str, Any]:
    return {"steps": [{"text": text, "status": s} for text, s in states.items()]}


def test_the_last_plan_that_was_agreed_to_counts():
    told = texts(
        touch("plan", "", "# One"),
        touch("plan", "", "# Two"),
        touch("plan", "draft", "x"),
    )

    assert told == {"plan": "# Two\n"}


def test_a_plan_nobody_agreed_to_is_better_than_none():
    assert texts(touch("plan", "draft", "# One")) == {"plan": "# One\n"}


def test_a_plans_file_says_what_it_holds_now():
    told = texts(
        touch("write", FILE, "# Old"), touch("edit", FILE), files={FILE: "# New"}
    )

    assert told == {"plan": "# New\n"}


def test_a_plans_file_that_is_gone_was_what_was_written():
    assert texts(touch("write", FILE, "# Old")) == {"plan": "# Old\n"}


def test_the_last_list_is_the_progress():
    told = texts(
        touch("todos", "", steps(Dam="pending")),
        touch("todos", "", steps(Dam="completed", Wheel="in_progress", Roof="pending")),
    )

    assert told["progress"] == (
        "# Progress\n\n**Overall Completion**: 33% (1/3)\n\n## In Progress\n\n"
        "- [ ] Wheel\n\n## To Do\n\n- [ ] Roof\n\n## Completed\n\n- [x] Dam\n"
    )


def test_tasks_are_what_all_calls_made_of_them():
    told = texts(
        touch("task", "1", {"subject": "Dam"}),
        touch("task", "2", {"subject": "Wheel"}),
        touch("task", "3", {"subject": "Gone"}),
        touch("task", "2", {"addBlockedBy": ["1"]}),
        touch("task", "3", {"status": "deleted"}),
    )
    progress = parse_progress(told["progress"])

    (blocked,) = progress.list_items("blocked")
    assert (blocked.text, blocked.reason) == ("Wheel", "waits for Dam")
    assert [item.text for item in progress.list_items("open")] == ["Dam"]


def test_a_task_waits_for_nothing_once_the_other_is_done():
    told = texts(
        touch("task", "1", {"subject": "Dam"}),
        touch("task", "2", {"subject": "Wheel", "addBlockedBy": ["1"]}),
        touch("task", "1", {"status": "completed"}),
    )

    assert "Blocked" not in told["progress"]


def test_a_plan_of_steps_is_plan_and_progress():
    told = texts(
        touch("todos", "plan", {**steps(Dam="completed"), "words": "First the dam."})
    )

    assert told["plan"] == "# Plan\n\nFirst the dam.\n\n1. Dam\n"
    assert "- [x] Dam" in told["progress"]


def test_an_empty_list_is_none():
    assert texts(touch("todos", "", {"steps": []})) == {}
    assert texts() == {}
