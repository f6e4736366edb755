"""The service files, judged by the programs that will read them."""

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

from leslied.cli.service_command import command
from leslied.errors import UserError
from leslied.service import find_program
from leslied.service.systemd import render_unit
from tests.support.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.e2e
ROOT = Path(__file__).resolve().parents[2]
MOST_EXPOSED = 2.5
needs_systemd = pytest.mark.skipif(
    not shutil.which("systemd-analyze"), reason="no systemd here"
)


def analyze(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    runtime = tmp_path / "runtime"
    runtime.mkdir(exist_ok=True)
    return subprocess.run(
        ["systemd-analyze", "--user", "--no-pager", *words],
        env=os.environ | {"XDG_RUNTIME_DIR": str(runtime), "LC_ALL": "C"},
        capture_output=True,
        check=False,
        text=True,
        timeout=PATIENCE_SECONDS,
    )


@pytest.fixture(params=["bin", "my bin", "100%h", "a $HOME b", "漢字"])
def script(request, tmp_path: Path) -> Path:
    script = tmp_path / request.param / "leslied"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    return script


@needs_systemd
@pytest.mark.parametrize("is_light", [False, True])
def test_systemd_accepts_the_unit_wherever_the_program_is(
    script: Path, tmp_path: Path, *, is_light: bool
):
    variables = {"CODEX_HOME": str(script.parent), "CLAUDE_CONFIG_DIR": "a\nb%n$c"}
    unit = tmp_path / "leslied.service"
    unit.write_text(
        render_unit(
            (str(script),), variables, [tmp_path / "5% x"], is_unsandboxed=is_light
        )
    )

    checked = analyze(tmp_path, "verify", str(unit))

    assert (checked.returncode, checked.stderr) == (0, "")


@needs_systemd
def test_the_check_would_notice_a_wrong_path(tmp_path: Path):
    unit = tmp_path / "leslied.service"
    unit.write_text(render_unit((str(tmp_path / "nowhere"),), {}))

    assert "not executable" in analyze(tmp_path, "verify", str(unit)).stderr


@needs_systemd
def test_the_unit_is_well_shut(tmp_path: Path):
    unit = tmp_path / "leslied.service"
    unit.write_text(render_unit(find_program("", sys.executable, None), {}))

    checked = analyze(tmp_path, "security", "--offline=true", str(unit))
    if "unrecognized option" in checked.stderr:
        pytest.skip("this systemd-analyze cannot judge a file")

    found = re.search(r"Overall exposure level for .*: ([\d.]+)", checked.stdout)
    assert found, checked.stderr
    assert float(found[1]) <= MOST_EXPOSED


def test_the_unit_starts_the_leslied_that_wrote_it(home: Path):
    text = render_unit(find_program("", sys.executable, os.environ["PATH"]), {})
    words = shlex.split(re.search("^ExecStart=(.*)$", text, re.MULTILINE)[1])

    assert words.pop() == "run"
    ran = subprocess.run([*words, "--version"], capture_output=True, check=True)
    assert ran.stdout.startswith(b"leslied")


def test_a_service_manager_hears_a_whole_life(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    life = (
        "from leslied.paths import read_environ\n"
        "from leslied.daemon.notify import Notifier\n"
        "notifier = Notifier(read_environ())\n"
        "notifier.ready(); notifier.status('reading'); notifier.ping()\n"
        "notifier.stopping()\n"
    )
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.bind("notify")
        ear.settimeout(10)
        subprocess.run(
            [sys.executable, "-c", life],
            env=os.environ | {"NOTIFY_SOCKET": "notify"},
            check=True,
            timeout=PATIENCE_SECONDS,
        )
        heard = [ear.recv(100).decode() for _ in range(4)]

    assert heard == ["READY=1", "STATUS=reading", "WATCHDOG=1", "STOPPING=1"]


def test_the_wheel_holds_the_templates_as_they_are(tmp_path: Path):
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path],
        cwd=ROOT,
        capture_output=True,
        check=True,
        timeout=PATIENCE_SECONDS,
    )

    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for name in ("systemd/leslied.service", "launchd/io.leslied.plist"):
            packed = archive.read(f"leslied/service/templates/{Path(name).name}")
            assert packed == (ROOT / name).read_bytes()


@pytest.fixture
def no_manager(tmp_path: Path, monkeypatch) -> None:
    """An empty runtime folder and no bus: no user manager can answer."""
    if sys.platform != "linux":
        pytest.skip("asks systemctl")
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)


@pytest.mark.usefixtures("no_manager")
@pytest.mark.parametrize("verb", ["install", "status"])
def test_without_a_manager_a_sentence_tells_what_to_do(home: Path, verb: str):
    with pytest.raises(UserError, match="No systemd user manager answers") as caught:
        CliRunner().invoke(command, [verb], catch_exceptions=False)

    assert caught.value.exit_code == 2
    assert "leslied run" in caught.value.hint
    assert list(home.iterdir()) == []


@pytest.mark.usefixtures("no_manager")
def test_uninstalling_needs_no_manager(home: Path):
    unit = home / ".config/systemd/user/leslied.service"
    unit.parent.mkdir(parents=True)
    unit.touch()

    ran = [CliRunner().invoke(command, ["uninstall", "--json"]) for _ in range(2)]

    assert [each.exit_code for each in ran] == [0, 0]
    assert ['"removed": true' in each.stdout for each in ran] == [True, False]
    assert not unit.exists()


def test_the_command_has_its_four_verbs():
    assert list(command.commands) == ["install", "uninstall", "status", "logs"]
