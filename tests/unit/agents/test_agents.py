"""The adapters are found by their modules and imported when they are used."""

from __future__ import annotations

import subprocess
import sys

import pytest

from leslied.agents import load_adapters
from leslied.sessions.tools import ToolKind

LIST_IMPORTED = """
print(*(name for name in sys.modules if name.startswith("leslied.agents.")
    and not name.startswith("leslied.agents._")))
"""
"""Code that prints which adapters were imported."""


def list_imported(code: str) -> list[str]:
    """Run code that uses `adapters`; return the modules of adapters it imported."""
    start = "import sys; from leslied.agents import load_adapters\n"
    script = f"{start}adapters = load_adapters()\n{code}\n{LIST_IMPORTED}"
    command = [sys.executable, "-c", script]
    result = subprocess.run(command, capture_output=True, check=True, text=True)
    return result.stdout.split()


@pytest.mark.parametrize(
    "code",
    ["list(adapters), len(adapters)", "'claude-code' in adapters", "'x' in adapters"],
)
def test_names_need_no_import(code: str):
    assert list_imported(code) == []


def test_only_the_adapter_that_is_used_is_imported():
    assert list_imported("adapters['codex'].title") == ["leslied.agents.codex"]


def test_the_tools_of_all_agents_are_loaded_when_one_is_asked_for():
    code = "from leslied.sessions.tools import find_tool_kind; find_tool_kind('x')"

    imported = {name for name in list_imported(code) if name.count(".") == 2}
    assert len(imported) == len(load_adapters())


def test_an_unknown_agent_has_no_adapter():
    assert load_adapters().get("none") is None
    assert "none" not in load_adapters()


def test_every_adapter_has_the_name_of_its_module():
    adapters = load_adapters()

    assert [adapter.name for adapter in adapters.values()] == list(adapters)


def test_no_two_agents_disagree_about_a_tool():
    # The table of tools has one kind for each name, whichever agent is loaded first.
    kinds: dict[str, set[ToolKind]] = {}
    for adapter in load_adapters().values():
        for name, kind in adapter.tools.items():
            kinds.setdefault(name.lower(), set()).add(kind)

    assert {name: each for name, each in kinds.items() if len(each) > 1} == {}
