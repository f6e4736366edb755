"""The real program on a machine that fails: full disks, limits, stalled reads."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.cli import CommandResult, LesliedRunner
from tests.support.daemon import Daemon, get_store_path, list_prompts
from tests.support.waiting import MAX_WAIT_SECONDS, wait_until

pytestmark = pytest.mark.e2e

OTHER = "22222222-2222-4333-8444-555555555555"


def run_with_prefix(home: Path, prefix: Sequence[str], *args: str) -> CommandResult:
    """Run a command of leslied by means of another program."""
    process = LesliedRunner(home).start(
        *args, prefix=prefix, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    out, err = process.communicate(timeout=MAX_WAIT_SECONDS)
    return CommandResult(process.returncode, out, err)


def make_limit(option: str) -> list[str]:
    """Return the start of a command that runs the rest of it with a limit."""
    return ["/bin/sh", "-c", f'ulimit {option}; exec "$@"', "sh"]


def make_strace(*options: str) -> list[str]:
    """Return the start of a command whose system calls are changed; skip without it.

    The tracer is a process of its own, so that signals reach the command.
    """
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    return ["strace", "-D", "-f", "-o", "/dev/null", *options]


def run_in_namespace(home: Path, project: Path, script: str) -> str:
    """Run a shell script in which a small file system is mounted on the project.

    `$leslied` is the program. Return the output; skip if that is not allowed here.
    """
    unshare = ["unshare", "--user", "--map-root-user", "--mount"]
    mount = 'mount -t tmpfs -o size=64k,mode=700 tmpfs "$1"'
    probe = [*unshare, "sh", "-c", mount, "sh", str(project)]
    if not shutil.which("unshare") or subprocess.run(probe, check=False).returncode:
        pytest.skip("user namespaces are not allowed here")
    leslied = f'leslied="{sys.executable} -m leslied"'
    process = subprocess.run(
        [*unshare, "sh", "-ec", f"{mount}\n{leslied}\n{script}", "sh", str(project)],
        env=LesliedRunner(home).environ,
        capture_output=True,
        check=False,
        timeout=MAX_WAIT_SECONDS,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.fixture
def prompts(home: Path, claude: ClaudeHome) -> list[str]:
    """Return the prompts of a log, of which the last 300 are not read yet."""
    builder = ClaudeLogBuilder()
    prompts = [f"number {number} " + "x" * 1000 for number in range(310)]
    claude.write(*map(builder.prompt, prompts[:10]))
    assert LesliedRunner(home)("sync").code == 0
    claude.write(*map(builder.prompt, prompts[10:]))
    return [prompt.strip() for prompt in prompts]


@pytest.mark.fault("D1", "D2")
def test_writes_that_are_cut_short_lose_nothing(home: Path, prompts: list[str]):
    """The limit of file sizes makes one write short and lets the next one fail."""
    blocks = get_store_path(home).stat().st_size // 512 + 100

    result = run_with_prefix(home, make_limit(f"-f {blocks}"), "sync")

    assert result.code == 3
    assert "Traceback" not in result.err
    assert len(list_prompts(get_store_path(home))) == 10
    assert LesliedRunner(home)("sync").code == 0
    assert list_prompts(get_store_path(home)) == prompts


@pytest.mark.fault("D3")
@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_sync_to_the_disk_that_fails_loses_nothing(
    home: Path, prompts: list[str], number: int
):
    calls = "fsync,fdatasync"
    strace = make_strace(
        "-e", f"trace={calls}", "-e", f"inject={calls}:error=EIO:when={number}"
    )

    result = run_with_prefix(home, strace, "sync", "--stop-all")

    assert "Traceback" not in result.err
    assert LesliedRunner(home)("sync", "--stop-all").code == 0
    assert list_prompts(get_store_path(home)) == prompts
    assert LesliedRunner(home)("doctor").code == 0


@pytest.mark.fault("D4")
def test_entries_are_stored_although_their_project_has_no_space(
    home: Path, claude: ClaudeHome, project: Path
):
    builder = ClaudeLogBuilder(cwd=str(project))
    claude.write(builder.prompt("fix it"), builder.answer("Done."))

    output = run_in_namespace(
        home,
        project,
        f"""
        mkdir {project}/.git
        echo '[output]\nbackfill = "project"' > {home}/config.toml
        dd if=/dev/zero of={project}/filler bs=1k 2> /dev/null || true
        $leslied --config {home}/config.toml sync --stop-all || echo "failed $?"
        find {project} -name '*.txt'
        echo full
        rm {project}/filler
        $leslied --config {home}/config.toml sync --stop-all
        find {project} -name '*.txt'
        """,
    )

    full, _, empty = output.partition("full\n")
    assert list_prompts(get_store_path(home)) == ["fix it"]
    assert ".txt" not in full
    assert empty.count("-fix-it.txt") == 1


@pytest.mark.fault("D5")
def test_a_project_that_is_read_only_gets_its_transcripts_in_the_central_tree(
    home: Path, claude: ClaudeHome, project: Path
):
    builder = ClaudeLogBuilder(cwd=str(project))
    claude.write(builder.prompt("fix it"), builder.answer("Done."))

    run_in_namespace(
        home,
        project,
        f"""
        mkdir {project}/.git
        echo '[output]\nbackfill = "project"' > {home}/config.toml
        mount -o remount,ro {project}
        $leslied --config {home}/config.toml sync --stop-all
        """,
    )

    central = get_store_path(home).parent / "central"
    assert [path.name[14:] for path in central.rglob("*.txt")] == ["fix-it.txt"]


@pytest.mark.fault("B15", "F6")
@pytest.mark.parametrize("descriptors", [6, 9, 10, 12])
def test_a_lack_of_file_descriptors_loses_nothing(
    home: Path, claude: ClaudeHome, prompts: list[str], descriptors: int
):
    builder = ClaudeLogBuilder(OTHER)
    claude.write(builder.prompt("other"), name=f"-app/{OTHER}.jsonl")

    result = run_with_prefix(home, make_limit(f"-n {descriptors}"), "sync")

    status = LesliedRunner(home)("status", "--json").json["data"]
    assert "Traceback" not in result.err
    assert not any(agent["gone"] for agent in status["agents"])
    assert LesliedRunner(home)("sync").code == 0
    assert sorted(list_prompts(get_store_path(home))) == sorted(["other", *prompts])


@pytest.mark.fault("F9")
@pytest.mark.parametrize("redirection", ["2>&-", ">&- 2>&-", "2>/dev/full"])
def test_the_daemon_works_without_its_log(
    home: Path, claude: ClaudeHome, redirection: str
):
    claude.projects.mkdir(parents=True)
    script = ["/bin/sh", "-c", f'exec "$@" {redirection}', "sh"]
    daemon = Daemon(home, prefix=script)
    builder = ClaudeLogBuilder()
    try:
        wait_until(daemon.store.exists)
        claude.write(builder.prompt("one"))
        wait_until(lambda: daemon.prompts() == ["one"])
        claude.write("not an object", builder.prompt("two"))
        wait_until(lambda: daemon.prompts() == ["one", "two"])
        code = daemon.end(signal.SIGTERM)
    finally:
        if daemon.process.poll() is None:
            daemon.end(signal.SIGKILL)

    assert code == 0


STALLING_DAEMON = """
import os, sys, time
pread = os.pread

def stall(fd, *args):
    if os.readlink(f"/proc/self/fd/{fd}").endswith(name):
        time.sleep(1_000_000)
    return pread(fd, *args)

os.pread = stall
name, sys.argv = sys.argv[1], ["leslied", "run"]
from leslied.cli import main
main()
"""
"""A daemon whose reads of one file do not return."""


@pytest.mark.fault("B20")
def test_a_log_whose_reads_stall_waits_in_quarantine_after_two_restarts(
    home: Path, claude: ClaudeHome
):
    """A service manager kills a daemon that does not report for a minute."""
    builder, other = ClaudeLogBuilder(), ClaudeLogBuilder(OTHER)
    stalled = claude.write(builder.prompt("one"))
    claude.write(other.prompt("other"), name=f"-app/{OTHER}.jsonl")
    run = LesliedRunner(home)
    assert run("sync").code == 0
    claude.write(builder.answer("x" * 1_100_000), builder.prompt("two"))
    command = [sys.executable, "-c", STALLING_DAEMON, stalled.name]
    store = get_store_path(home)
    marker = store.with_name("in-progress")
    for _ in range(2):
        with subprocess.Popen(command, env=run.environ) as daemon:
            wait_until(lambda: marker.exists() and SESSION in marker.read_text())
            daemon.kill()
    claude.write(other.prompt("more"), name=f"-app/{OTHER}.jsonl")

    with subprocess.Popen(command, env=run.environ) as daemon:
        wait_until(lambda: "more" in list_prompts(store))
        daemon.terminate()

    assert sorted(list_prompts(store)) == ["more", "one", "other"]
    assert daemon.returncode == 0
    assert run("sync").code == 0
    assert sorted(list_prompts(store)) == ["more", "one", "other", "two"]
