"""Editing settings.json: ours in, ours out, and nothing else ever."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leslied.cli import leslied
from leslied.errors import UserError
from leslied.hooks.settings import (
    EVENTS,
    HookCommand,
    are_hooks_disabled,
    find_commands,
    install,
    uninstall,
)
from leslied.hooks.settings_file import SettingsFile, find_settings_file

CALL = HookCommand("/opt/it's here/python", "/home/dev/.local/share/leslied")
FOREIGN = {"hooks": [{"type": "command", "command": "notify-send done"}]}

FILES = [
    "{}",
    "{}\n",
    "{ }",
    "{\n}\n",
    "{\n\n  \n}",
    "\ufeff{}\n",
    '{"model": "opus"}',
    '{"model":"opus","x":[1,2]}\n',
    '{\n  "model": "opus"\n}\n',
    '{\r\n\t"model": "opus"\r\n}\r\n',
    '{\n    "a": {"b": [1,\n 2]}, "c": "\\u00e9 é // no comment"\n}',
    '{"hooks": {}}',
    '{"hooks":{"Stop":[]}}',
    '{\n  "hooks": {}\n}\n',
    '{\n  "hooks": {\n  },\n  "model": "x"\n}\n',
    '{\n  "hooks": {\n    "Stop": []\n  }\n}\n',
    json.dumps({"hooks": {"Stop": [FOREIGN]}}),
    json.dumps({"hooks": {"Stop": [FOREIGN], "Other": []}, "z": 1}, indent=2),
    json.dumps({"hooks": {e: [FOREIGN, FOREIGN] for e in EVENTS}}, indent="\t"),
    '{\n  // why\n  "model": "opus", // this one\n  /* and */ "hooks": {},\n}\n',
    '{\n  "hooks": {\n    "Stop": [\n      // mine\n      {"x": []},\n    ],\n  },\n}',
    '{"a": 1, "hooks": {"Stop": [1]}, "hooks": {"Stop": [2]}}',
]


@pytest.mark.parametrize("text", FILES)
def test_taking_out_gives_back_every_byte(text: str):
    assert uninstall(install(text, CALL)) == text


@pytest.mark.parametrize("text", FILES)
def test_every_event_is_there_once_installed_however_often(text: str):
    once = install(text, CALL)

    assert install(once, CALL) == once
    assert set(find_commands(once)) == set(EVENTS)
    assert all(CALL.is_current(command) for command in find_commands(once).values())


@pytest.mark.parametrize("text", [t for t in FILES if "//" not in t])
def test_what_was_there_means_the_same(text: str):
    before = json.loads(text.strip("\ufeff"))
    after = json.loads(install(text, CALL).strip("\ufeff"))

    for event, groups in before.pop("hooks", {}).items():
        assert after["hooks"][event][: len(groups)] == groups
    after.pop("hooks")
    assert after == before


def test_a_file_that_was_ours_alone_goes_with_us():
    text = install(None, CALL)

    assert json.loads(text)["hooks"].keys() == set(EVENTS)
    assert uninstall(text) is None


def test_what_somebody_added_to_our_file_stays():
    text = install(None, CALL).replace('{\n  "hooks"', '{\n  "model": "x",\n  "hooks"')

    assert json.loads(uninstall(text) or "") == {"model": "x"}


def test_a_hook_put_into_our_list_stays():
    told = json.loads(install("{}", CALL))
    told["hooks"]["Stop"].append(FOREIGN)

    left = json.loads(uninstall(json.dumps(told)) or "")

    assert left == {"hooks": {"Stop": [FOREIGN]}}


def test_a_hook_put_into_our_group_stays():
    told = json.loads(install("{}", CALL))
    told["hooks"]["Stop"][0]["hooks"].insert(0, FOREIGN["hooks"][0])

    left = json.loads(uninstall(json.dumps(told, indent=1)) or "")

    assert left == {"hooks": {"Stop": [FOREIGN]}}


def test_a_comment_between_our_entry_and_its_neighbour_stays():
    text = install('{"hooks": {"Stop": [1]}}', CALL)
    text = text.replace("[1, ", "[1 /* keep */, ")

    assert uninstall(text) == '{"hooks": {"Stop": [1 /* keep */ ]}}'


def test_an_older_leslied_of_another_place_is_replaced():
    old = install('{"model": "x"}', HookCommand("/old/python", "/old/data"))

    new = install(old, CALL)

    assert "/old/" not in new
    assert uninstall(new) == '{"model": "x"}'


def test_the_command_survives_a_shell_and_never_blocks_a_prompt(tmp_path: Path):
    """Python itself leaves with 2 when a program is missing; 2 blocks a prompt."""
    command = next(iter(find_commands(install("{}", CALL)).values()))

    assert "'/opt/it'\"'\"'s here/python'" in command
    assert command.endswith(" 2>/dev/null || true")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n",
        "[]",
        "{",
        '{"a" 1}',
        '{"a": 1,, "b": 2}',
        "{} {}",
        '{"a": nope}',
        '{"a": "line\nbreak"}',
        '{"hooks": []}',
        '{"hooks": {"Stop": {}}}',
        "[" * 500,
    ],
)
def test_what_is_no_settings_file_is_refused(text: str):
    with pytest.raises(UserError):
        install(text, CALL)


def test_a_switch_that_turns_all_hooks_off_is_noticed():
    assert are_hooks_disabled('{"disableAllHooks": true}')
    assert not are_hooks_disabled("{}")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
HOOKS = st.dictionaries(
    st.sampled_from([*EVENTS, "PreToolUse"]),
    st.lists(st.sampled_from([FOREIGN, {}, {"hooks": []}]), max_size=3),
)


@st.composite
def settings_texts(draw: Any) -> str:
    told = draw(st.dictionaries(st.text(max_size=5), JSON, max_size=3))
    told.pop("hooks", None)
    if draw(st.booleans()):
        told["hooks"] = draw(HOOKS)
    if draw(st.booleans()):
        told["last"] = 1
    indent = draw(st.sampled_from([None, 0, 1, 2, 4, "\t"]))
    text = json.dumps(told, indent=indent, ensure_ascii=draw(st.booleans()))
    text = text.encode("utf-8", "replace").decode()
    spaced = draw(st.sampled_from(["", " ", "\n", "// c\n", "/* c */"]))
    text = draw(st.sampled_from(["", "\ufeff", " \n"])) + text + spaced
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


@given(settings_texts())
def test_in_and_out_again_is_nothing_at_all(text: str):
    done = install(text, CALL)

    assert uninstall(done) == text
    assert set(find_commands(done)) == set(EVENTS)


def test_mode_and_link_are_kept(tmp_path: Path):
    real = tmp_path / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text("{}\n")
    real.chmod(0o640)
    link = tmp_path / "settings.json"
    link.symlink_to(real)

    assert SettingsFile(link).update(lambda text: install(text, CALL))

    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert list(real.parent.iterdir()) == [real]
    assert find_commands(real.read_text())


def test_a_file_that_cannot_be_written_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "settings.json"
    file.write_text("{}\n")

    def fail(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(Exception, match="No space left"):
        SettingsFile(file).update(lambda text: install(text, CALL))

    assert {path.name for path in tmp_path.iterdir()} == {"home", "settings.json"}
    assert file.read_text() == "{}\n"


def test_the_agents_own_variable_says_where_the_settings_are(tmp_path: Path):
    home = tmp_path / "h"

    assert find_settings_file("user", home, {}, home) == home / ".claude/settings.json"
    moved = find_settings_file("user", home, {"CLAUDE_CONFIG_DIR": "/c,/d"}, home)
    assert moved == Path("/c/settings.json")
    local = find_settings_file("local", home, {}, Path("/p"))
    assert local == Path("/p/.claude/settings.local.json")


@pytest.mark.parametrize("scope", ["project", "local"])
def test_a_projects_own_settings_stand_in_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scope: str
):
    below = tmp_path / "app" / "src"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    words = ["hooks", "install", "--scope", scope, "--json"]
    with pytest.raises(UserError, match="no project"):
        leslied.main(words, standalone_mode=False)
    (below.parent / ".git").mkdir()

    leslied.main(words, standalone_mode=False)

    (file,) = (below.parent / ".claude").iterdir()
    assert set(find_commands(file.read_text())) == set(EVENTS)
