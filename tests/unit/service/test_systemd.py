"""The systemd user unit: its text and the calls of systemctl."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leslied.errors import LesliedError, UserError
from leslied.service import ProgramResult, SubprocessRunner, find_program
from leslied.service.systemd import (
    NAMESPACE_DIRECTIVES,
    Systemd,
    quote_word,
    render_unit,
)

PROGRAM = ("/opt/bin/leslied",)
ACTIVE_PROPERTIES = """MainPID=42
ActiveState=active
SubState=running
UnitFileState=enabled
ActiveEnterTimestamp=Mon 2026-11-16 05:08:53 UTC
"""


class FakeSystemd:
    """A runner that answers like systemctl and records its calls."""

    def __init__(self, home: Path) -> None:
        self.path = home / ".config/systemd/user/leslied.service"
        self.calls: list[str] = []
        self.answers: dict[str, ProgramResult] = {
            "show --property=UnitPath": ProgramResult(
                0, f"UnitPath=/etc {self.path.parent}\n"
            ),
            "show leslied.service --property=ActiveState": ProgramResult(
                0, ACTIVE_PROPERTIES
            ),
        }
        self.can_start: Callable[[str], bool] = lambda _: True
        self.exit_status = "226"

    def __call__(self, command, *, seconds=30.0, to_terminal=False) -> ProgramResult:
        call = " ".join(command).removeprefix("systemctl --user ")
        self.calls.append(call)
        if call == "restart leslied.service":
            return ProgramResult(0 if self.can_start(self.path.read_text()) else 1)
        if call.endswith("--property=Result,ExecMainStatus"):
            return ProgramResult(
                0, f"Result=exit-code\nExecMainStatus={self.exit_status}\n"
            )
        matching = (
            result for prefix, result in self.answers.items() if call.startswith(prefix)
        )
        return next(matching, ProgramResult(0))


@pytest.fixture
def fake(home: Path) -> FakeSystemd:
    return FakeSystemd(home)


@pytest.fixture
def manager(home: Path, fake: FakeSystemd) -> Systemd:
    return Systemd(home=home, config_home="", user=7, program=PROGRAM, run=fake)


def list_directives(text: str) -> set[str]:
    return {line.split("=")[0] for line in text.split("\n") if "=" in line}


@pytest.mark.usefixtures("manager")
def test_creating_a_manager_changes_nothing(fake, home):
    assert fake.calls == []
    assert list(home.iterdir()) == []


def test_installing_writes_then_enables_then_starts_the_unit(manager, fake):
    installation = manager.install({})

    verbs = [call.split()[0] for call in fake.calls]
    assert verbs == [
        "show",
        "daemon-reload",
        "reset-failed",
        "enable",
        "restart",
        "loginctl",
    ]
    assert installation.path == fake.path
    assert installation.notes == ()
    assert "\nExecStart=/opt/bin/leslied run\n" in fake.path.read_text()
    assert fake.path.stat().st_mode & 0o777 == 0o600
    assert list(fake.path.parent.iterdir()) == [fake.path]


def test_without_user_namespaces_an_unsandboxed_unit_is_installed(manager, fake):
    fake.can_start = lambda text: "ProtectSystem" not in text

    installation = manager.install({"CODEX_HOME": "/c"})

    text = fake.path.read_text()
    assert not list_directives(text) & NAMESPACE_DIRECTIVES
    assert {"SystemCallFilter", "NoNewPrivileges", "MemoryMax"} <= list_directives(text)
    assert "Environment=CODEX_HOME=/c\n" in text
    assert "exit-code, status 226" in installation.notes[0]
    assert "without a sandbox" in installation.notes[0]


def test_a_unit_that_never_starts_leaves_no_file(manager, fake, home):
    fake.can_start = lambda _: False

    with pytest.raises(LesliedError, match="did not start: exit-code, status 226"):
        manager.install({})

    assert "disable --now leslied.service" in fake.calls
    assert list((home / ".config").iterdir()) == []


@pytest.mark.parametrize(
    ("status", "reason"), [("4", "another leslied"), ("78", "config file is invalid")]
)
def test_if_leslied_itself_fails_no_other_unit_is_tried(
    manager, fake, status: str, reason: str
):
    fake.can_start, fake.exit_status = lambda _: False, status

    with pytest.raises(LesliedError, match=reason):
        manager.install({})

    assert fake.calls.count("restart leslied.service") == 1
    assert not manager.is_installed()


def test_without_a_user_manager_nothing_is_written(manager, fake, home):
    fake.answers["show"] = fake.answers["show --property=UnitPath"] = ProgramResult(
        1, err="Failed to connect to bus: No medium found\n"
    )

    with pytest.raises(
        UserError, match="systemd user manager does not answer"
    ) as caught:
        manager.install({})

    assert caught.value.exit_code == 2
    assert "No medium found" in caught.value.message
    assert "leslied run" in caught.value.hint
    assert list(home.iterdir()) == []


@pytest.mark.fault("F13")
def test_a_note_warns_if_a_logout_stops_the_service(manager, fake):
    fake.answers["loginctl show-user 7"] = ProgramResult(0, "Linger=no\n")

    assert "loginctl enable-linger" in manager.install({}).notes[0]


def test_the_config_folder_of_the_shell_is_used_only_if_systemd_searches_it(
    home, fake, tmp_path
):
    def make_manager(searched_folder: Path) -> Systemd:
        fake.path = searched_folder / "systemd/user/leslied.service"
        answer = ProgramResult(0, f"UnitPath=/etc {fake.path.parent} /usr\n")
        fake.answers["show --property=UnitPath"] = answer
        config_home = str(tmp_path / "elsewhere")
        return Systemd(
            home=home, config_home=config_home, user=7, program=PROGRAM, run=fake
        )

    manager = make_manager(tmp_path / "elsewhere")
    assert manager.install({}).path.is_relative_to(tmp_path / "elsewhere")
    assert manager.uninstall()
    assert make_manager(home / ".config").install({}).path.is_relative_to(home)


def test_uninstalling_twice_is_harmless(manager, fake, home):
    manager.install({})
    wants = fake.path.parent / "default.target.wants"
    wants.mkdir()
    (wants / fake.path.name).symlink_to(fake.path)

    assert [manager.uninstall(), manager.uninstall()] == [True, False]
    assert list((home / ".config").iterdir()) == []
    assert fake.calls[-3:] == [
        "disable --now leslied.service",
        "daemon-reload",
        "reset-failed leslied.service",
    ]


def test_uninstalling_keeps_other_units(manager, fake):
    manager.install({})
    other_unit = fake.path.with_name("other.service")
    other_unit.touch()

    manager.uninstall()

    assert other_unit.exists()


def test_the_status_contains_the_start_time(manager):
    manager.install({})
    status = manager.status()

    assert (status.is_installed, status.is_enabled, status.is_active) == (True,) * 3
    assert status.since == datetime(2026, 11, 16, 5, 8, 53, tzinfo=UTC)
    assert status.pid == 42


def test_the_status_of_a_missing_unit_is_inactive(manager, fake):
    answer = "MainPID=0\nActiveState=inactive\nSubState=dead\nUnitFileState=\n"
    fake.answers["show leslied.service --property=ActiveState"] = ProgramResult(
        0, answer
    )

    status = manager.status()

    assert (status.is_installed, status.is_enabled, status.is_active) == (False,) * 3
    assert (status.since, status.pid, status.description) == (
        None,
        None,
        "inactive (dead)",
    )


def test_logs_are_read_from_the_journal(manager, fake):
    manager.show_logs(20, is_followed=True)
    manager.show_logs(5, is_followed=False)

    assert fake.calls == [
        "journalctl --user -u leslied -n 20 -f",
        "journalctl --user -u leslied -n 5",
    ]


@pytest.mark.parametrize(
    ("word", "quoted"),
    [
        ("/usr/bin/leslied", "/usr/bin/leslied"),
        ("/a b/c", '"/a b/c"'),
        ("/100%h", '"/100%%h"'),
        ('a"b\\c', '"a\\"b\\\\c"'),
        ("two\nlines\t", '"two\\x0alines\\x09"'),
        ("", '""'),
        ("漢", '"漢"'),
    ],
)
def test_a_word_is_quoted_for_systemd(word: str, quoted: str):
    assert quote_word(word) == quoted


def test_a_dollar_in_the_program_is_not_expanded():
    text = render_unit(("/a $HOME/leslied",), {})

    assert '\nExecStart=":/a $HOME/leslied" run\n' in text


def test_folders_outside_of_the_home_folder_can_be_made_writable():
    text = render_unit(PROGRAM, {}, [Path("/srv/my 5%")])

    assert '\nReadWritePaths=%h\nReadWritePaths="-/srv/my 5%%"\n' in text


@pytest.mark.fault("F4", "F5")
def test_restarts_are_limited():
    """A failing service is not restarted forever."""
    text = render_unit(PROGRAM, {})
    head, service = text.split("[Service]")

    assert "StartLimitIntervalSec=300\nStartLimitBurst=5\n" in head
    for line in (
        *("Type=notify", "NotifyAccess=main", "WatchdogSec=60", "TimeoutStopSec=10"),
        *("Restart=on-failure", "RestartSec=5", "RestartPreventExitStatus=2 4 78"),
    ):
        assert f"\n{line}\n" in service


@pytest.mark.threat("S9", "W4")
@pytest.mark.parametrize("is_unsandboxed", [False, True])
def test_the_service_has_no_network(is_unsandboxed: bool):  # noqa: FBT001
    text = render_unit(PROGRAM, {}, is_unsandboxed=is_unsandboxed)

    assert "\nRestrictAddressFamilies=AF_UNIX\n" in text
    assert ("\nPrivateNetwork=yes\n" in text) != is_unsandboxed


@pytest.mark.skipif(
    not shutil.which("systemd-analyze"), reason="systemd is not installed"
)
@pytest.mark.parametrize(("is_unsandboxed", "limit"), [(False, 2.0), (True, 6.5)])
@pytest.mark.parametrize("serves_page", [False, True])
def test_the_exposure_of_the_service_is_low(
    tmp_path: Path,
    is_unsandboxed: bool,  # noqa: FBT001
    limit: float,
    serves_page: bool,  # noqa: FBT001
):
    """systemd rates a unit without any restriction 9.6."""
    unit = tmp_path / "leslied.service"
    unit.write_text(
        render_unit(PROGRAM, {}, is_unsandboxed=is_unsandboxed, serves_page=serves_page)
    )

    result = subprocess.run(
        ["systemd-analyze", "--offline=true", "security", str(unit)],
        capture_output=True,
        check=True,
        text=True,
    )

    rating = re.search(r"Overall exposure level for \S+: ([\d.]+)", result.stdout)
    assert rating
    # The page needs the network of the machine, which systemd cannot rate further.
    assert float(rating[1]) <= (limit + 0.5 if serves_page else limit)


@pytest.mark.threat("W4")
def test_the_unit_has_no_network_by_default():
    text = render_unit(PROGRAM, {})

    assert "\nRestrictAddressFamilies=AF_UNIX\n" in text
    assert "\nPrivateNetwork=yes\n" in text
    assert "IPAddress" not in text


@pytest.mark.threat("W4")
@pytest.mark.parametrize("is_unsandboxed", [False, True])
def test_a_unit_that_serves_the_page_has_the_loopback_interface_only(
    is_unsandboxed: bool,  # noqa: FBT001
):
    text = render_unit(PROGRAM, {}, is_unsandboxed=is_unsandboxed, serves_page=True)

    assert "\nRestrictAddressFamilies=AF_UNIX AF_INET\n" in text
    assert "\nIPAddressDeny=any\nIPAddressAllow=localhost\n" in text
    assert "PrivateNetwork" not in text


def test_installing_for_the_page_writes_that_unit(manager, fake):
    manager.install({}, serves_page=True)

    assert "IPAddressAllow=localhost" in fake.path.read_text()


def test_a_value_that_is_not_utf8_is_refused_before_a_file_is_written(manager, home):
    with pytest.raises(UserError, match="not UTF-8"):
        manager.install({"CODEX_HOME": "/\udcff"})

    assert list(home.iterdir()) == []


def test_a_folder_that_cannot_be_created_is_an_error(manager, home):
    (home / ".config").touch()

    with pytest.raises(LesliedError, match="cannot be written"):
        manager.install({})


def make_script(folder: Path) -> Path:
    folder.mkdir()
    script = folder / "leslied"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    return script


def test_the_program_is_the_script_that_was_called(tmp_path, monkeypatch):
    script = make_script(tmp_path / "bin")
    link = tmp_path / "leslied"
    link.symlink_to(script)
    monkeypatch.chdir(tmp_path)

    assert find_program("leslied", "/nowhere/python", "") == (str(link),)


def test_a_run_as_a_module_finds_the_script_next_to_python(tmp_path):
    script = make_script(tmp_path / "venv")
    make_script(tmp_path / "path")

    program = find_program(
        "/x/leslied/__main__.py", str(script.with_name("python")), str(tmp_path)
    )

    assert program == (str(script),)


def test_the_script_on_the_path_or_the_module_is_the_fallback(tmp_path):
    script = make_script(tmp_path / "path")

    assert find_program("-c", "/no/python", str(script.parent)) == (str(script),)
    assert find_program("-c", "/no/python", "") == ("/no/python", "-m", "leslied")


def test_a_runner_returns_a_result_for_missing_and_slow_programs():
    run = SubprocessRunner({"PATH": os.environ["PATH"]})

    missing = run(["leslied-no-such-program"])
    slow = run([sys.executable, "-c", "import signal; signal.pause()"], seconds=0.05)

    assert (missing.code, slow.code) == (127, 124)
    assert "No such file" in missing.err
    assert "did not end" in slow.err


def test_a_runner_sets_the_language_to_english_and_the_zone_to_utc():
    run = SubprocessRunner({"LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Tokyo"})
    code = "import os; print(os.environ['LC_ALL'], os.environ['TZ'])"

    assert run([sys.executable, "-c", code]).out == "C UTC\n"
