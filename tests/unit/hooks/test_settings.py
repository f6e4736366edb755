"""Editing settings.json: only our entries are inserted and removed."""

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
from leslied.hooks.settings_file import Scope, SettingsFile, get_settings_path
from tests.support.records import list_modes

COMMAND = HookCommand("/opt/it's here/python", "/home/dev/.local/share/leslied")
FOREIGN_GROUP = {"hooks": [{"type": "command", "command": "notify-send done"}]}

SETTINGS_EXAMPLES = [
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
    json.dumps({"hooks": {"Stop": [FOREIGN_GROUP]}}),
    json.dumps({"hooks": {"Stop": [FOREIGN_GROUP], "Other": []}, "z": 1}, indent=2),
    json.dumps(
        {"hooks": {e: [FOREIGN_GROUP, FOREIGN_GROUP] for e in EVENTS}}, indent="\t"
    ),
    '{\n  // why\n  "model": "opus", // this one\n  /* and */ "hooks": {},\n}\n',
    '{\n  "hooks": {\n    "Stop": [\n      // mine\n      {"x": []},\n    ],\n  },\n}',
    '{"a": 1, "hooks": {"Stop": [1]}, "hooks": {"Stop": [2]}}',
]


@pytest.mark.threat("X3")
@pytest.mark.parametrize("text", SETTINGS_EXAMPLES)
def test_uninstalling_restores_every_byte(text: str):
    assert uninstall(install(text, COMMAND)) == text


@pytest.mark.parametrize("text", SETTINGS_EXAMPLES)
def test_installing_twice_is_the_same_as_installing_once(text: str):
    once = install(text, COMMAND)

    assert install(once, COMMAND) == once
    assert set(find_commands(once)) == set(EVENTS)
    assert all(COMMAND.is_current(command) for command in find_commands(once).values())


@pytest.mark.parametrize("text", [*SETTINGS_EXAMPLES, None])
def test_an_older_installation_gets_the_new_hooks(
    text: str | None, monkeypatch: pytest.MonkeyPatch
):
    older_events = tuple(event for event in EVENTS if event != "Notification")
    with monkeypatch.context() as patch:
        patch.setattr("leslied.hooks.settings.EVENTS", older_events)
        older = install(text, COMMAND)

    newer = install(older, COMMAND)

    assert set(find_commands(newer)) == set(EVENTS)
    assert uninstall(newer) == text


@pytest.mark.threat("X3")
@pytest.mark.parametrize("text", [t for t in SETTINGS_EXAMPLES if "//" not in t])
def test_existing_settings_keep_their_values(text: str):
    before = json.loads(text.strip("\ufeff"))
    after = json.loads(install(text, COMMAND).strip("\ufeff"))

    for event, groups in before.pop("hooks", {}).items():
        assert after["hooks"][event][: len(groups)] == groups
    after.pop("hooks")
    assert after == before


def test_uninstalling_deletes_a_file_that_leslied_created():
    text = install(None, COMMAND)

    assert json.loads(text)["hooks"].keys() == set(EVENTS)
    assert uninstall(text) is None


def test_settings_added_to_a_file_that_leslied_created_stay():
    text = install(None, COMMAND).replace(
        '{\n  "hooks"', '{\n  "model": "x",\n  "hooks"'
    )

    assert json.loads(uninstall(text) or "") == {"model": "x"}


def test_a_hook_added_to_our_list_stays():
    settings = json.loads(install("{}", COMMAND))
    settings["hooks"]["Stop"].append(FOREIGN_GROUP)

    remaining = json.loads(uninstall(json.dumps(settings)) or "")

    assert remaining == {"hooks": {"Stop": [FOREIGN_GROUP]}}


def test_a_hook_added_to_our_group_stays():
    settings = json.loads(install("{}", COMMAND))
    settings["hooks"]["Stop"][0]["hooks"].insert(0, FOREIGN_GROUP["hooks"][0])

    remaining = json.loads(uninstall(json.dumps(settings, indent=1)) or "")

    assert remaining == {"hooks": {"Stop": [FOREIGN_GROUP]}}


def test_a_comment_between_our_entry_and_its_neighbour_stays():
    text = install('{"hooks": {"Stop": [1]}}', COMMAND)
    text = text.replace("[1, ", "[1 /* keep */, ")

    assert uninstall(text) == '{"hooks": {"Stop": [1 /* keep */ ]}}'


def test_entries_of_another_installation_are_replaced():
    old = install('{"model": "x"}', HookCommand("/old/python", "/old/data"))

    new = install(old, COMMAND)

    assert "/old/" not in new
    assert uninstall(new) == '{"model": "x"}'


@pytest.mark.threat("X1", "X2")
def test_the_command_is_quoted_and_never_blocks_a_prompt():
    """Python exits with 2 if a program is missing, and 2 blocks the prompt."""
    command = next(iter(find_commands(install("{}", COMMAND)).values()))

    assert "'/opt/it'\"'\"'s here/python'" in command
    assert command.endswith(" 2>/dev/null || true")


@pytest.mark.threat("X3")
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
def test_an_invalid_settings_file_is_refused(text: str):
    with pytest.raises(UserError):
        install(text, COMMAND)


def test_the_setting_that_disables_all_hooks_is_detected():
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
    st.lists(st.sampled_from([FOREIGN_GROUP, {}, {"hooks": []}]), max_size=3),
)


@st.composite
def settings_texts(draw: Any) -> str:
    settings = draw(st.dictionaries(st.text(max_size=5), JSON, max_size=3))
    settings.pop("hooks", None)
    if draw(st.booleans()):
        settings["hooks"] = draw(HOOKS)
    if draw(st.booleans()):
        settings["last"] = 1
    indent = draw(st.sampled_from([None, 0, 1, 2, 4, "\t"]))
    text = json.dumps(settings, indent=indent, ensure_ascii=draw(st.booleans()))
    text = text.encode("utf-8", "replace").decode()
    trailing = draw(st.sampled_from(["", " ", "\n", "// c\n", "/* c */"]))
    text = draw(st.sampled_from(["", "\ufeff", " \n"])) + text + trailing
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


@pytest.mark.threat("X3")
@given(settings_texts())
def test_installing_and_uninstalling_any_file_restores_it(text: str):
    edited = install(text, COMMAND)

    assert uninstall(edited) == text
    assert set(find_commands(edited)) == set(EVENTS)


def test_an_update_preserves_the_mode_and_a_symbolic_link(tmp_path: Path):
    target = tmp_path / "dotfiles" / "claude.json"
    target.parent.mkdir()
    target.write_text("{}\n")
    target.chmod(0o640)
    link = tmp_path / "settings.json"
    link.symlink_to(target)

    file = SettingsFile(link)
    change = file.update(lambda text: install(text, COMMAND), tmp_path / "backups")

    assert change.is_changed
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert list(target.parent.iterdir()) == [target]
    assert find_commands(target.read_text())


@pytest.mark.threat("X3")
def test_a_file_that_cannot_be_written_does_not_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "settings.json"
    file.write_text("{}\n")

    def fail(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(Exception, match="No space left"):
        SettingsFile(file).update(lambda text: install(text, COMMAND), tmp_path / "b")

    assert [*tmp_path.glob("*settings*")] == [file]
    assert file.read_text() == "{}\n"


@pytest.mark.threat("X3")
@pytest.mark.parametrize("mode", [0o600, 0o644])
@pytest.mark.parametrize("text", SETTINGS_EXAMPLES)
def test_uninstalling_restores_the_bytes_and_the_mode(
    tmp_path: Path, text: str, mode: int
):
    path = tmp_path / "settings.json"
    path.write_bytes(text.encode())
    path.chmod(mode)
    file, backups = SettingsFile(path, "project"), tmp_path / "backups"
    installed = file.update(lambda text: install(text, COMMAND), backups)
    edited = path.read_bytes()
    file.update(lambda text: text and uninstall(text), backups)

    assert installed.is_changed
    assert find_commands(edited.decode())
    assert path.read_bytes() == text.encode()
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.threat("X3")
def test_the_last_version_of_a_changed_file_is_kept(tmp_path: Path):
    path = tmp_path / "settings.json"
    path.write_bytes(b'{ "a":1 }')
    backups = tmp_path / "data" / "backups"
    backup = (
        SettingsFile(path).update(lambda text: install(text, COMMAND), backups).backup
    )

    assert backup is not None
    assert backup.read_bytes() == b'{ "a":1 }'
    assert list_modes([backups, backup]) == {0o700, 0o600}


@pytest.mark.threat("X3", "P6")
@pytest.mark.parametrize("scope", ["project", "local"])
@pytest.mark.parametrize("place", ["file", "folder", "dangling file", "loop"])
def test_a_link_in_a_project_is_not_followed(tmp_path: Path, place: str, scope: Scope):
    victim = tmp_path / "victim"
    victim.mkdir()
    path = get_settings_path(scope, tmp_path, {}, tmp_path / "app")
    path.parent.parent.mkdir()
    if place == "folder":
        path.parent.symlink_to(victim)
    else:
        path.parent.mkdir()
        path.symlink_to(path if place == "loop" else victim / path.name)
    if place in ("file", "folder"):
        (victim / path.name).write_text("{}")
    before = {file: file.read_bytes() for file in victim.iterdir()}

    with pytest.raises(UserError, match="does not follow links"):
        SettingsFile(path, scope).update(
            lambda text: install(text, COMMAND), tmp_path / "backups"
        )
    assert {file: file.read_bytes() for file in victim.iterdir()} == before


def test_a_file_that_changes_meanwhile_is_not_overwritten(tmp_path: Path):
    path = tmp_path / "settings.json"
    path.write_text("{}")

    def edit(text: str | None) -> str:
        path.write_text('{"model": "opus"}')
        return install(text, COMMAND)

    with pytest.raises(UserError, match="just changed"):
        SettingsFile(path).update(edit, tmp_path / "backups")
    assert path.read_text() == '{"model": "opus"}'


def test_the_settings_file_depends_on_scope_and_environment(tmp_path: Path):
    home = tmp_path / "h"

    assert get_settings_path("user", home, {}, home) == home / ".claude/settings.json"
    custom = get_settings_path("user", home, {"CLAUDE_CONFIG_DIR": "/c,/d"}, home)
    assert custom == Path("/c/settings.json")
    local = get_settings_path("local", home, {}, Path("/p"))
    assert local == Path("/p/.claude/settings.local.json")


@pytest.mark.parametrize("scope", ["project", "local"])
def test_settings_of_a_project_are_written_to_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scope: str
):
    subfolder = tmp_path / "app" / "src"
    subfolder.mkdir(parents=True)
    monkeypatch.chdir(subfolder)
    arguments = ["hooks", "install", "--scope", scope, "--json"]
    with pytest.raises(UserError, match="not in a project"):
        leslied.main(arguments, standalone_mode=False)
    (subfolder.parent / ".git").mkdir()

    leslied.main(arguments, standalone_mode=False)

    (file,) = (subfolder.parent / ".claude").iterdir()
    assert set(find_commands(file.read_text())) == set(EVENTS)
