"""Service files, checked by systemd, and the service commands."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from leslied.cli.commands.service import command
from leslied.errors import UserError
from leslied.service import find_program
from leslied.service.systemd import render_unit
from tests.support.waiting import MAX_WAIT_SECONDS

pytestmark = pytest.mark.e2e
ROOT = Path(__file__).resolve().parents[2]
MAX_EXPOSURE = 2.5
"""Highest accepted score of `systemd-analyze security`; 0 is best, 10 is worst."""
needs_systemd = pytest.mark.skipif(
    not shutil.which("systemd-analyze"), reason="systemd is not installed"
)


def run_systemd_analyze(tmp_path: Path, *args: str) -> subprocess.CompletedProcess[str]:
    runtime = tmp_path / "runtime"
    runtime.mkdir(exist_ok=True)
    return subprocess.run(
        ["systemd-analyze", "--user", "--no-pager", *args],
        env=os.environ | {"XDG_RUNTIME_DIR": str(runtime), "LC_ALL": "C"},
        capture_output=True,
        check=False,
        text=True,
        timeout=MAX_WAIT_SECONDS,
    )


@pytest.fixture(params=["bin", "my bin", "100%h", "a $HOME b", "漢字"])
def program(request, tmp_path: Path) -> Path:
    """Create an executable; the names of most folders have to be escaped in a unit."""
    program = tmp_path / request.param / "leslied"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


@needs_systemd
@pytest.mark.parametrize("is_unsandboxed", [False, True])
@pytest.mark.parametrize("serves_page", [False, True])
def test_systemd_accepts_the_unit_for_any_program_path(
    program: Path, tmp_path: Path, *, is_unsandboxed: bool, serves_page: bool
):
    variables = {"CODEX_HOME": str(program.parent), "CLAUDE_CONFIG_DIR": "a\nb%n$c"}
    unit = tmp_path / "leslied.service"
    unit.write_text(
        render_unit(
            (str(program),),
            variables,
            [tmp_path / "5% x"],
            is_unsandboxed=is_unsandboxed,
            serves_page=serves_page,
        )
    )

    result = run_systemd_analyze(tmp_path, "verify", str(unit))

    assert (result.returncode, result.stderr) == (0, "")


@needs_systemd
def test_systemd_rejects_a_unit_with_a_wrong_path(tmp_path: Path):
    unit = tmp_path / "leslied.service"
    unit.write_text(render_unit((str(tmp_path / "nowhere"),), {}))

    assert "not executable" in run_systemd_analyze(tmp_path, "verify", str(unit)).stderr


@needs_systemd
def test_systemd_rates_the_unit_as_well_sandboxed(tmp_path: Path):
    unit = tmp_path / "leslied.service"
    unit.write_text(render_unit(find_program("", sys.executable, None), {}))

    result = run_systemd_analyze(tmp_path, "security", "--offline=true", str(unit))
    if "unrecognized option" in result.stderr:
        pytest.skip("this systemd-analyze has no --offline")

    level = re.search(r"Overall exposure level for .*: ([\d.]+)", result.stdout)
    assert level, result.stderr
    assert float(level[1]) <= MAX_EXPOSURE


def test_the_unit_starts_the_leslied_that_wrote_it():
    text = render_unit(find_program("", sys.executable, os.environ["PATH"]), {})
    args = shlex.split(re.search("^ExecStart=(.*)$", text, re.MULTILINE)[1])

    assert args.pop() == "run"
    result = subprocess.run([*args, "--version"], capture_output=True, check=True)
    assert result.stdout.startswith(b"leslied")


def test_the_notifier_sends_all_states_to_the_service_manager(
    tmp_path: Path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    script = (
        "from leslied.paths import read_environ\n"
        "from leslied.daemon.notify import Notifier\n"
        "notifier = Notifier(read_environ())\n"
        "notifier.ready(); notifier.ping(); notifier.stopping()\n"
    )
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind("notify")
        server.settimeout(10)
        subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"NOTIFY_SOCKET": "notify"},
            check=True,
            timeout=MAX_WAIT_SECONDS,
        )
        messages = [server.recv(100).decode() for _ in range(3)]

    assert messages == ["READY=1", "WATCHDOG=1", "STOPPING=1"]


def test_the_wheel_contains_the_templates_unchanged(tmp_path: Path):
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path],
        cwd=ROOT,
        capture_output=True,
        check=True,
        timeout=MAX_WAIT_SECONDS,
    )

    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for name in ("systemd/leslied.service", "launchd/io.leslied.plist"):
            packed = archive.read(f"leslied/service/templates/{Path(name).name}")
            assert packed == (ROOT / name).read_bytes()


@pytest.fixture
def without_user_manager(tmp_path: Path, monkeypatch) -> None:
    """Hide the user manager: use an empty runtime directory and no D-Bus address."""
    if sys.platform != "linux":
        pytest.skip("needs systemctl")
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)


@pytest.mark.usefixtures("without_user_manager")
@pytest.mark.parametrize("verb", ["install", "status"])
def test_a_missing_user_manager_is_reported_with_a_hint(home: Path, verb: str):
    with pytest.raises(UserError, match="user manager does not answer") as caught:
        CliRunner().invoke(command, [verb], catch_exceptions=False)

    assert caught.value.exit_code == 2
    assert "leslied run" in caught.value.hint
    assert list(home.iterdir()) == []


@pytest.mark.usefixtures("without_user_manager")
def test_uninstalling_needs_no_user_manager(home: Path):
    unit = home / ".config/systemd/user/leslied.service"
    unit.parent.mkdir(parents=True)
    unit.touch()

    results = [CliRunner().invoke(command, ["uninstall", "--json"]) for _ in range(2)]

    assert [result.exit_code for result in results] == [0, 0]
    assert ['"removed": true' in result.stdout for result in results] == [True, False]
    assert not unit.exists()


def test_the_service_command_has_four_subcommands():
    assert list(command.commands) == ["install", "uninstall", "status", "logs"]
