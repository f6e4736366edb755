"""The table of tools: kinds and arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from leslied.sessions import tools
from leslied.sessions.tools import (
    ToolKind,
    add_tools,
    add_tools_on_first_use,
    find_shell_command,
    find_tool_kind,
    list_tool_names,
    parse_arguments,
)


@pytest.fixture
def no_scribe() -> Iterator[None]:
    """Remove the tool of an imaginary agent after the test."""
    yield
    del tools._KINDS["Scribe"]
    del tools._KINDS_BY_LOWER_NAME["scribe"]


@pytest.fixture
def scribe(no_scribe: None) -> str:
    """Add the tool of an imaginary agent."""
    add_tools({"Scribe": "write"})
    return "Scribe"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Write", "write"),
        ("write", "write"),
        ("MultiEdit", "edit"),
        ("functions.apply_patch", "patch"),
        ("run_shell_command", "shell"),
        ("todowrite", "todos"),
        ("Read", None),
        ("", None),
    ],
)
def test_a_tool_is_found_in_any_spelling(name: str, kind: str | None):
    assert find_tool_kind(name) == kind


def test_a_namespace_can_tell_a_tool_from_others(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(tools._KINDS_BY_LOWER_NAME, "process.start", "shell")

    assert find_tool_kind("process.start") == "shell"
    assert find_tool_kind("start") is None


def test_an_agent_can_add_its_tools(scribe: str):
    assert find_tool_kind("scribe") == "write"
    assert scribe in list_tool_names(["write"])


@pytest.mark.usefixtures("no_scribe")
def test_tools_are_loaded_once_when_one_is_first_asked_for():
    loads: list[str] = []

    def load() -> list[dict[str, ToolKind]]:
        loads.append("loaded")
        return [{"Scribe": "write"}]

    add_tools_on_first_use(load)

    assert loads == []
    assert find_tool_kind("scribe") == "write"
    assert "Scribe" in list_tool_names(["write"])
    assert loads == ["loaded"]


def test_an_agent_cannot_change_the_tools_of_others():
    add_tools({"Bash": "write"})

    assert find_tool_kind("Bash") == "shell"


def test_names_are_listed_as_agents_spell_them():
    # Adapters that were loaded before may have added others.
    assert list_tool_names(["todos"])[:4] == (
        "TodoWrite",
        "todowrite",
        "todo_write",
        "write_todos",
    )


@pytest.mark.parametrize(
    ("tool_input", "arguments"),
    [
        ("", {}),
        ('{"a": 1}', {"a": 1}),
        ("[1]", {"input": [1]}),
        ("text", {"input": "text"}),
    ],
)
def test_arguments_that_are_not_an_object_are_named_input(
    tool_input: str, arguments: dict
):
    assert parse_arguments(tool_input) == arguments


@pytest.mark.parametrize(
    "words", [[], ["bash", "-c"], ["python", "-c", "x"], ["bash", "-x", "y"], [1, 2, 3]]
)
def test_other_words_are_not_a_shell_command(words: list[Any]):
    assert find_shell_command(words) is None
