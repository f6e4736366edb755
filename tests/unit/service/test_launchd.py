"""The launchd agent: its property list and the calls of launchctl."""

from __future__ import annotations

import plistlib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leslied.errors import UserError
from leslied.service import ProgramResult
from leslied.service.launchd import Launchd, render_plist

PROGRAM = ("/My Apps/100%/leslied",)
LAUNCHCTL_PRINT = """gui/501/io.leslied = {
\tactive count = 1
\tpath = /x/io.leslied.plist
\tstate = running

\tprogram = /opt/bin/leslied
\tpid = 4242
}
"""


class FakeLaunchd:
    """A runner that answers like launchctl and records its calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.answers: dict[str, ProgramResult] = {}

    def __call__(self, command, *, seconds=30.0, to_terminal=False) -> ProgramResult:
        call = " ".join(command).removeprefix("launchctl ")
        self.calls.append(call)
        return self.answers.get(call, ProgramResult(0))


@pytest.fixture
def fake() -> FakeLaunchd:
    return FakeLaunchd()


@pytest.fixture
def manager(home: Path, fake: FakeLaunchd) -> Launchd:
    return Launchd(home=home, user=501, program=PROGRAM, run=fake)


@pytest.fixture
def path(home: Path) -> Path:
    return home / "Library/LaunchAgents/io.leslied.plist"


@pytest.mark.usefixtures("manager")
def test_creating_a_manager_changes_nothing(fake, home):
    assert fake.calls == []
    assert list(home.iterdir()) == []


def test_installing_replaces_a_loaded_agent(manager, fake, path):
    installation = manager.install({"CODEX_HOME": "/my codex"})

    assert installation.path == path
    assert fake.calls == [
        "print gui/501",
        "bootout gui/501/io.leslied",
        "enable gui/501/io.leslied",
        f"bootstrap gui/501 {path}",
    ]
    plist = plistlib.loads(path.read_bytes())
    assert plist["ProgramArguments"] == ["/My Apps/100%/leslied", "run"]
    assert plist["EnvironmentVariables"] == {"CODEX_HOME": "/my codex"}


def test_the_agent_has_a_low_priority_and_limited_restarts(tmp_path):
    plist = render_plist(PROGRAM, {}, tmp_path / "log")

    assert plist["Label"] == "io.leslied"
    assert plist["KeepAlive"] == {"SuccessfulExit": False}
    assert plist["ThrottleInterval"] == 10
    assert (plist["ProcessType"], plist["LowPriorityIO"]) == ("Background", True)
    assert plist["Umask"] == 0o077
    assert plist["StandardErrorPath"] == str(tmp_path / "log")
    assert "EnvironmentVariables" not in plist


def test_without_a_login_session_nothing_is_written(manager, fake, home):
    fake.answers["print gui/501"] = ProgramResult(
        125, err="Could not find domain for\n"
    )

    with pytest.raises(UserError, match="Could not find domain") as caught:
        manager.install({})

    assert "leslied run" in caught.value.hint
    assert list(home.iterdir()) == []


def test_an_agent_that_launchd_refuses_leaves_no_file(manager, fake, path):
    fake.answers[f"bootstrap gui/501 {path}"] = ProgramResult(
        5, err="Bootstrap failed: 5\n"
    )

    with pytest.raises(UserError, match="Bootstrap failed: 5"):
        manager.install({})

    assert not manager.is_installed()
    assert list(path.parent.iterdir()) == []


def test_uninstalling_twice_is_harmless(manager, fake, home, path):
    manager.install({})
    log = home / "Library/Logs/leslied.log"
    log.parent.mkdir()
    log.touch()

    assert [manager.uninstall(), manager.uninstall()] == [True, False]
    assert not path.exists()
    assert not log.exists()
    assert fake.calls[-1] == "bootout gui/501/io.leslied"


def test_the_status_contains_the_start_time(manager, fake):
    manager.install({})
    fake.answers["print gui/501/io.leslied"] = ProgramResult(0, LAUNCHCTL_PRINT)
    fake.answers["ps -o lstart= -p 4242"] = ProgramResult(
        0, "Mon Nov 16 05:08:53 2026\n"
    )

    status = manager.status()

    assert (status.is_installed, status.is_enabled, status.is_active) == (True,) * 3
    assert status.since == datetime(2026, 11, 16, 5, 8, 53, tzinfo=UTC)
    assert (status.pid, status.description) == (4242, "running")


@pytest.mark.parametrize("value", ["true", "disabled"])
def test_a_disabled_agent_is_not_enabled(manager, fake, value: str):
    manager.install({})
    fake.answers["print-disabled gui/501"] = ProgramResult(
        0, f'\t"io.leslied" => {value}\n'
    )
    fake.answers["print gui/501/io.leslied"] = ProgramResult(
        113, err="Could not find service"
    )

    status = manager.status()

    assert status.is_installed
    assert (status.is_enabled, status.is_active) == (False, False)
    assert (status.since, status.description) == (None, "not loaded")


def test_logs_are_read_from_the_log_file(manager, fake, home):
    log = home / "Library/Logs/leslied.log"
    with pytest.raises(UserError, match="no log"):
        manager.show_logs(20, is_followed=False)
    log.parent.mkdir(parents=True)
    log.touch()

    manager.show_logs(20, is_followed=True)

    assert fake.calls == [f"tail -n 20 -F {log}"]
