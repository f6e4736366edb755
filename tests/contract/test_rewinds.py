"""Test that each agent's log tells which units the user took back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leslied.agents import load_adapters
from tests.support.agent_home import AgentHome, StoreContents
from tests.support.claude import ClaudeLogBuilder
from tests.support.clock import FakeClock
from tests.support.gemini import GeminiLogBuilder

SESSION = "11111111-2222-4333-8444-555555555555"
MakeHome = Callable[[str], AgentHome]


@pytest.fixture
def make_home(home: Path, tmp_path: Path, clock: FakeClock) -> MakeHome:
    """Return a function that returns the home of the agent with this name."""
    return lambda name: AgentHome(
        load_adapters()[name], home, tmp_path / "store.db", clock
    )


def list_rewound(contents: StoreContents) -> list[str]:
    """Return the prompts of rewound units."""
    return [unit.prompt for unit in contents.units() if unit.is_rewound]


# All agents


@pytest.mark.parametrize(
    ("agent", "case", "rewound"),
    [
        ("claude-code", "rewind", ["slow", "long", "green"]),
        ("claude-code", "rewind-old", ["red", "blue", "green", "yellow"]),
        ("claude-code", "parallel", []),
        ("claude-code", "parallel-old", []),
        ("codex", "rewind", ["blue", "green", "black"]),
        ("gemini-cli", "rewind", ["blue", "green"]),
        ("qwen-code", "rewind", ["blue", "green"]),
    ],
)
def test_only_prompts_that_the_user_took_back_are_rewound(
    make_home: MakeHome, agent: str, case: str, rewound: list[str]
):
    contents = make_home(agent).read_case(case)

    assert [prompt.split()[2] for prompt in list_rewound(contents)] == rewound


# Claude Code


def test_in_a_log_without_links_no_prompt_takes_anything_back(make_home: MakeHome):
    claude, builder = make_home("claude-code"), ClaudeLogBuilder()
    prompts = [builder.prompt(f"{number}", parentUuid=None) for number in range(3)]
    claude.write(f".claude/projects/-home-dev-app/{SESSION}.jsonl", *prompts)

    contents = claude.read()

    assert (contents.main.units, list_rewound(contents)) == (3, [])


def test_a_rewind_to_the_beginning_gives_the_session_another_title(make_home: MakeHome):
    claude, builder = make_home("claude-code"), ClaudeLogBuilder()
    claude.write(
        f".claude/projects/-home-dev-app/{SESSION}.jsonl",
        builder.prompt("one"),
        builder.answer("1"),
        builder.prompt("two", parentUuid=None, version="2.1.197"),
    )

    contents = claude.read()

    assert (contents.main.title, list_rewound(contents)) == ("two", ["one"])


# Gemini CLI


def test_gemini_names_the_first_message_that_was_taken_back(make_home: MakeHome):
    gemini, builder = make_home("gemini-cli"), GeminiLogBuilder()
    turns = [(builder.prompt(text), builder.answer(text)) for text in "abc"]
    log = ".gemini/tmp/app/chats/session-2026-11-16T10-00-11111111.jsonl"
    gemini.write(log, builder.header(), *(line for turn in turns for line in turn))
    gemini.read()

    gemini.write(log, {"$rewindTo": turns[1][0]["id"]})

    assert list_rewound(gemini.read()) == ["b", "c"]


def test_a_gemini_turn_of_which_only_the_answer_was_taken_back_is_current(
    make_home: MakeHome,
):
    gemini, builder = make_home("gemini-cli"), GeminiLogBuilder()
    lines = [builder.prompt("a"), answer := builder.answer("a"), builder.prompt("b")]
    log = ".gemini/tmp/app/chats/session-2026-11-16T10-00-11111111.jsonl"

    gemini.write(log, builder.header(), *lines, {"$rewindTo": answer["id"]})

    assert list_rewound(gemini.read()) == ["b"]


# Codex


def make_codex_line(type_: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-11-16T10:00:00Z", "type": type_, "payload": payload}


def make_codex_turn(text: str) -> list[dict[str, Any]]:
    content = [{"type": "input_text", "text": text}]
    answer = [{"type": "output_text", "text": text.upper()}]
    return [
        make_codex_line("event_msg", type="task_started", turn_id=text),
        make_codex_line("response_item", type="message", role="user", content=content),
        make_codex_line("event_msg", type="user_message", message=text),
        make_codex_line(
            "response_item", type="message", role="assistant", content=answer
        ),
        make_codex_line("event_msg", type="task_complete", turn_id=text),
    ]


def test_codex_counts_the_turns_that_were_taken_back(make_home: MakeHome):
    codex = make_home("codex")
    thread = "019c2310-0000-7000-8000-00000000000a"
    log = f".codex/sessions/2026/11/16/rollout-2026-11-16T10-00-00-{thread}.jsonl"
    codex.write(log, make_codex_line("session_meta", id=thread, cwd="/home/dev/app"))
    codex.write(log, *(line for text in "abc" for line in make_codex_turn(text)))
    codex.read()

    codex.write(
        log, make_codex_line("event_msg", type="thread_rolled_back", num_turns=2)
    )
    codex.write(log, *make_codex_turn("d"))

    assert list_rewound(codex.read()) == ["b", "c"]


# Copilot CLI


def make_copilot_line(type_: str, number: int, parent: int, **data: Any) -> Any:
    ids = [f"00000000-0000-4000-8000-{each:012}" for each in (number, parent)]
    return {
        "type": type_,
        "data": data,
        "id": ids[0],
        "timestamp": f"2026-11-16T10:00:{number:02}.000Z",
        "parentId": ids[1] if parent else None,
    }


def test_copilot_removes_what_was_taken_back_from_its_log(make_home: MakeHome):
    copilot = make_home("copilot-cli")
    log = f".copilot/session-state/{SESSION}/events.jsonl"
    remaining_lines = [
        make_copilot_line("session.start", 1, 0),
        make_copilot_line("user.message", 2, 1, content="a"),
        make_copilot_line("assistant.turn_end", 3, 2),
    ]
    copilot.write(
        log, *remaining_lines, make_copilot_line("user.message", 4, 3, content="b")
    )
    copilot.read()
    (copilot.home / log).unlink()

    copilot.write(
        log,
        *remaining_lines,
        make_copilot_line("session.info", 5, 3, infoType="rewind"),
        make_copilot_line("user.message", 6, 5, content="c"),
    )

    assert list_rewound(copilot.read()) == ["b"]


# Qwen Code


def make_qwen_line(type_: str, number: int, parent: int, **fields: Any) -> Any:
    ids = [f"00000000-0000-4000-8000-{each:012}" for each in (number, parent)]
    return {
        "uuid": ids[0],
        "parentUuid": ids[1] if parent else None,
        "sessionId": SESSION,
        "timestamp": f"2026-11-16T10:00:{number:02}.000Z",
        "type": type_,
        **fields,
    }


@pytest.mark.parametrize(("parent", "rewound"), [(1, ["b"]), (0, ["a", "b"])])
def test_a_rewind_of_qwen_follows_the_last_line_that_remains(
    make_home: MakeHome, parent: int, rewound: list[str]
):
    qwen = make_home("qwen-code")
    messages = [{"parts": [{"text": text}]} for text in "abc"]

    qwen.write(
        f".qwen/projects/-home-dev-app/chats/{SESSION}.jsonl",
        make_qwen_line("user", 1, 0, message=messages[0]),
        make_qwen_line("user", 2, 1, message=messages[1]),
        make_qwen_line("system", 3, parent, subtype="rewind", systemPayload={}),
        make_qwen_line("user", 4, 3, message=messages[2]),
    )

    assert list_rewound(qwen.read()) == rewound
