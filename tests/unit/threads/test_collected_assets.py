"""Plans and to-do lists collected from tool calls."""

from __future__ import annotations

import json
from typing import Any

from leslied.model.file_change import FileChange
from leslied.threads.collected_assets import collect_assets
from leslied.threads.progress import parse_progress
from tests.support.claude import ADAPTER
from tests.support.records import make_key, time_at

FILE = "/home/dev/.claude/plans/brave-oak.md"


def make_change(kind: Any, path: str = "", body: Any = "") -> FileChange:
    text = body if isinstance(body, str) else json.dumps(body)
    return FileChange(
        session=make_key(), kind=kind, path=path, body=text, at=time_at(0)
    )


def collect_texts(
    *changes: FileChange, files: dict[str, str] | None = None
) -> dict[str, str]:
    assets = collect_assets(changes, ADAPTER.is_plan_file, (files or {}).get)
    return {asset.type: asset.text for asset in assets}


def make_steps(**states: str) -> dict[str, Any]:
    return {"steps": [{"text": text, "status": s} for text, s in states.items()]}


def test_the_last_accepted_plan_is_collected():
    assets = collect_texts(
        make_change("plan", "", "# One"),
        make_change("plan", "", "# Two"),
        make_change("plan", "draft", "x"),
    )

    assert assets == {"plan": "# Two\n"}


def test_a_proposed_plan_is_collected_if_none_was_accepted():
    assert collect_texts(make_change("plan", "draft", "# One")) == {"plan": "# One\n"}


def test_a_plan_file_is_used_in_its_current_state():
    assets = collect_texts(
        make_change("write", FILE, "# Old"),
        make_change("edit", FILE),
        files={FILE: "# New"},
    )

    assert assets == {"plan": "# New\n"}


def test_the_text_of_a_deleted_plan_file_comes_from_the_write_call():
    assert collect_texts(make_change("write", FILE, "# Old")) == {"plan": "# Old\n"}


def test_the_last_todo_list_becomes_the_progress():
    assets = collect_texts(
        make_change("todos", "", make_steps(Dam="pending")),
        make_change(
            "todos",
            "",
            make_steps(Dam="completed", Wheel="in_progress", Roof="pending"),
        ),
    )

    assert assets["progress"] == (
        "# Progress\n\n**Overall Completion**: 33% (1/3)\n\n## In Progress\n\n"
        "- [ ] Wheel\n\n## To Do\n\n- [ ] Roof\n\n## Completed\n\n- [x] Dam\n"
    )


def test_progress_reflects_all_task_calls():
    assets = collect_texts(
        make_change("task", "1", {"subject": "Dam"}),
        make_change("task", "2", {"subject": "Wheel"}),
        make_change("task", "3", {"subject": "Gone"}),
        make_change("task", "2", {"addBlockedBy": ["1"]}),
        make_change("task", "3", {"status": "deleted"}),
    )
    progress = parse_progress(assets["progress"])

    (blocked,) = progress.list_items("blocked")
    assert (blocked.text, blocked.reason) == ("Wheel", "waits for Dam")
    assert [item.text for item in progress.list_items("open")] == ["Dam"]


def test_a_task_is_not_blocked_by_a_finished_task():
    assets = collect_texts(
        make_change("task", "1", {"subject": "Dam"}),
        make_change("task", "2", {"subject": "Wheel", "addBlockedBy": ["1"]}),
        make_change("task", "1", {"status": "completed"}),
    )

    assert "Blocked" not in assets["progress"]


def test_a_finished_task_waits_for_nothing():
    assets = collect_texts(
        make_change("task", "1", {"subject": "Dam"}),
        make_change("task", "2", {"subject": "Wheel", "addBlockedBy": ["1"]}),
        make_change("task", "2", {"status": "completed"}),
    )

    assert "- [x] Wheel\n" in assets["progress"]


def test_a_list_of_plan_steps_becomes_a_plan_and_a_progress_file():
    assets = collect_texts(
        make_change(
            "todos", "plan", {**make_steps(Dam="completed"), "words": "First the dam."}
        )
    )

    assert assets["plan"] == "# Plan\n\nFirst the dam.\n\n1. Dam\n"
    assert "- [x] Dam" in assets["progress"]


def test_an_empty_list_gives_no_asset():
    assert collect_texts(make_change("todos", "", {"steps": []})) == {}
    assert collect_texts() == {}
